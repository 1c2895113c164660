#!/bin/sh
# A plugin in a POSIX shell: the loop reads frames, each call runs in a process of its own.
# It needs awk, and from coreutils dd, head, mkdir, mktemp, mv, rm, rmdir, sleep, tr and wc.
export LC_ALL=C
here=$(dirname "$0")
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 0' TERM INT
inline=65536
limit=1000000
arena=

# pick PATHS: these values of the JSON text that comes in, one a line
pick() { awk -f "$here/json.awk" -v want="$1"; }

# send FRAME: one at a time, since calls run side by side
send() {
  until mkdir "$tmp/sending" 2>/dev/null; do
    [ -d "$tmp" ] || exit 0
    sleep 0.01
  done
  printf '{"jsonrpc":"2.0",%s}\n' "$1"
  rmdir "$tmp/sending"
}

reply() { send "\"id\":$1,\"result\":$2"; }
fail() { send "\"id\":$1,\"error\":{\"code\":$2,\"message\":\"$3\"}"; }

# quoted: what comes in, as a JSON string
quoted() {
  { cat; echo .; } | awk '
    BEGIN { for (i = 1; i < 32; i++) escaped[sprintf("%c", i)] = sprintf("\\u%04x", i) }
    NR > 1 { printf "%s\\n", line(last) }
    { last = $0 }
    END { printf "%s", line(substr(last, 1, length(last) - 1)) }
    function line(text,   i, letter) {
      gsub(/\\/, "&&", text)
      gsub(/"/, "\\\"", text)
      if (text ~ /[\001-\037]/) for (letter in escaped) gsub(letter, "\\" escaped[letter], text)
      return text
    }' | { printf '"'; cat; printf '"'; }
}

# answer ID NAME: the text of the file NAME, inline or through the arena
answer() {
  size=$(($(wc -c < "$tmp/$2")))
  if [ "$size" -le $inline ] || [ -z "$arena" ]; then
    said="{\"text\":$(quoted < "$tmp/$2")}"
    if [ ${#said} -gt $((limit - 1000)) ]; then fail "$1" -32003 'the text is too large for a frame'
    else reply "$1" "$said"; fi
    return
  fi
  asked="lease-$2"
  send "\"id\":\"$asked\",\"method\":\"arena.lease\",\"params\":{\"size\":$size}"
  until [ -e "$tmp/$asked" ]; do
    [ -d "$tmp" ] || exit 0
    sleep 0.02
  done
  { read -r lease; read -r offset; } < "$tmp/$asked"
  if [ -z "$lease" ]; then
    fail "$1" -32002 'the arena is full'
    return
  fi
  dd bs=4096 seek=$((offset / 4096)) conv=notrunc of="/proc/self/fd/$arena" < "$tmp/$2" 2>/dev/null
  reply "$1" "{\"text_at\":{\"lease\":$lease,\"offset\":$offset,\"size\":$size}}"
}

# argument FRAME NAME: the text of an argument, and a "." behind its end
argument() {
  { read -r at; read -r bytes; } <<END
$(printf '%s\n' "$1" | pick 'params.arguments_at.offset params.arguments_at.size')
END
  if [ -n "$at" ]; then
    dd bs=4096 skip=$((at / 4096)) count=$(((bytes + 4095) / 4096)) < "/proc/self/fd/$arena" 2>/dev/null |
      head -c "$bytes" | awk -f "$here/json.awk" -v decode=1 -v want="$2"
  else
    printf '%s\n' "$1" | awk -f "$here/json.awk" -v decode=1 -v want="params.arguments.$2"
  fi
}

# plain NAME: the text of NAME.in without that "."
plain() { head -c -1 "$tmp/$1.in" > "$tmp/$1.text"; }

call() { # ID TOOL CALL FRAME
  name="c$5"
  case $2 in
  '"words_count"')
    argument "$4" text > "$tmp/$name.in"
    plain "$name"
    wc < "$tmp/$name.text" | awk '{ printf "%d lines, %d words, %d bytes", $1, $2, $3 }' > "$tmp/$name.out"
    answer "$1" "$name.out"
    ;;
  '"words_upper"')
    argument "$4" text > "$tmp/$name.in"
    plain "$name"
    tr '[:lower:]' '[:upper:]' < "$tmp/$name.text" > "$tmp/$name.out"
    answer "$1" "$name.out"
    ;;
  '"words_wait"')
    seconds=$(printf '%s\n' "$4" | pick params.arguments.seconds)
    waited=0
    while [ $waited -lt $((seconds * 10)) ]; do
      [ -d "$tmp" ] || exit 0
      if [ -e "$tmp/stop-$3" ]; then
        reply "$1" '{"text":"","stopped":true,"error":{"reason":"failed","detail":"the call was stopped","hint":""}}'
        return
      fi
      if [ $((waited % 10)) -eq 0 ]; then
        send "\"method\":\"tool.progress\",\"params\":{\"call\":$3,\"text\":\"$((waited / 10)) of $seconds s\"}"
      fi
      sleep 0.1
      waited=$((waited + 1))
    done
    reply "$1" "{\"text\":\"waited $seconds s\"}"
    ;;
  *) fail "$1" -32601 'there is no such tool' ;;
  esac
}

run() { # in a process of its own, so that the loop can go on
  call "$@"
  rm -f "$tmp/c$5."* "$tmp/lease-c$5."* "$tmp/stop-$3"
}

number=0
while IFS= read -r frame; do
  { read -r id; read -r method; read -r call; read -r tool; read -r protocol; read -r descriptor
    read -r lease; read -r offset; read -r version; } <<END
$(printf '%s\n' "$frame" | pick \
  'id method params.call params.tool params.protocol params.arena.descriptor result.lease result.offset jsonrpc')
END
  if [ "$version" != '"2.0"' ]; then
    fail null -32700 'this is no frame'
    continue
  fi
  case $method in
  '"initialize"')
    if [ "$protocol" != 1 ]; then
      fail "$id" -32000 'this plugin speaks protocol 1'
      continue
    fi
    arena=$descriptor
    if [ -n "$arena" ]; then reply "$id" '{"protocol":1,"arena":"rw"}'
    else reply "$id" '{"protocol":1,"arena":"none"}'; fi
    ;;
  '"start"')
    reply "$id" '{}'
    send '"method":"ready","params":{"facilities":[]}'
    ;;
  '"ping"') reply "$id" '{}' ;;
  '"stop"') reply "$id" '{}' ;;
  '"tool.call"')
    number=$((number + 1))
    run "$id" "$tool" "$call" "$frame" "$number" &
    ;;
  '"tool.cancel"') : > "$tmp/stop-$call" ;;
  '')
    case $id in
    '"lease-'*)
      asked=${id#\"}
      asked=${asked%\"}
      printf '%s\n%s\n' "$lease" "$offset" > "$tmp/part"
      mv "$tmp/part" "$tmp/$asked"
      ;;
    esac
    ;;
  *) [ -z "$id" ] || fail "$id" -32601 'there is no such method' ;;
  esac
done
