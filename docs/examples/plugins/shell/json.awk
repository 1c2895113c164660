# Reads one JSON text a line. Prints the values of the paths in `want` (such as "id params.call"), one a line,
# as they stand there; an empty line for one that is missing, and only "bad" for what is no JSON.
# With `decode` set, `want` is one path, and the text there is printed itself, with a "." behind its end.

BEGIN {
  for (i = 1; i < 256; i++) byte[i] = sprintf("%c", i)
  for (i = 0; i < 16; i++) digit[substr("0123456789abcdef", i + 1, 1)] = digit[substr("0123456789ABCDEF", i + 1, 1)] = i
  plain["n"] = "\n"; plain["t"] = "\t"; plain["r"] = "\r"; plain["b"] = "\b"; plain["f"] = "\f"
  count = split(want, wanted, " ")
}

{
  split("", found)
  rest = $0
  bad = 0
  value("")
  space()
  if (bad || rest != "") { print "bad"; next }
  if (decode) { printf "%s.", text(found[wanted[1]]); next }
  for (i = 1; i <= count; i++) print found[wanted[i]]
}

function space() { sub(/^[ \t\r]+/, "", rest) }

function take(length_) {
  token = substr(rest, 1, length_)
  rest = substr(rest, length_ + 1)
  return token
}

function value(path,   first) {
  space()
  first = substr(rest, 1, 1)
  if (first == "{") members(path, "}", 1)
  else if (first == "[") members(path, "]", 0)
  else if (first == "\"") found[path] = string()
  else if (match(rest, /^(true|false|null|-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?)/)) found[path] = take(RLENGTH)
  else bad = 1
}

function members(path, end, named,   key, number) {
  take(1)
  space()
  if (substr(rest, 1, 1) == end) { take(1); return }
  for (number = 0; !bad; number++) {
    space()
    key = number
    if (named) {
      if (substr(rest, 1, 1) != "\"") { bad = 1; return }
      key = string()
      key = substr(key, 2, length(key) - 2)
      space()
      if (take(1) != ":") { bad = 1; return }
    }
    value(path == "" ? key : path "." key)
    space()
    if (substr(rest, 1, 1) == end) { take(1); return }
    if (take(1) != ",") bad = 1
  }
}

# A string with its quotes: to the next quote that has an even number of backslashes before it.
function string(   said, at, slashes, before) {
  said = take(1)
  while ((at = index(rest, "\"")) > 0) {
    said = said take(at)
    before = length(said) - 1
    for (slashes = 0; substr(said, before - slashes, 1) == "\\"; slashes++) ;
    if (slashes % 2 == 0) {
      if (said ~ /[\001-\037]/) bad = 1
      return said
    }
  }
  bad = 1
}

# The text that a JSON string stands for, in UTF-8.
function text(quoted,   parts, n, i, out, letter, code, low) {
  n = split(substr(quoted, 2, length(quoted) - 2), parts, "\\")
  out = parts[1]
  for (i = 2; i <= n; i++) {
    letter = substr(parts[i], 1, 1)
    if (letter == "") { out = out "\\" parts[++i]; continue }
    if (letter != "u") { out = out (letter in plain ? plain[letter] : letter) substr(parts[i], 2); continue }
    code = hex(substr(parts[i], 2, 4))
    low = substr(parts[i + 1], 1, 1) == "u" ? hex(substr(parts[i + 1], 2, 4)) : 0
    if (code >= 55296 && code < 56320 && low >= 56320 && length(parts[i]) == 5) {
      code = 65536 + (code - 55296) * 1024 + low - 56320
      i++
    }
    out = out utf8(code) substr(parts[i], 6)
  }
  return out
}

function hex(digits,   i, code) {
  code = 0
  for (i = 1; i <= 4; i++) code = code * 16 + digit[substr(digits, i, 1)]
  return code
}

function utf8(code) {
  if (code < 128) return code ? byte[code] : ""
  if (code < 2048) return byte[192 + int(code / 64)] byte[128 + code % 64]
  if (code < 65536) return byte[224 + int(code / 4096)] byte[128 + int(code / 64) % 64] byte[128 + code % 64]
  return byte[240 + int(code / 262144)] byte[128 + int(code / 4096) % 64] byte[128 + int(code / 64) % 64] byte[128 + code % 64]
}
