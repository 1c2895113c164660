"""awk: printing what it reads. Its programs can also run commands and write files."""

import re

from limnos.agent.shell.options import RUNS, UNSEEN, WRITES, Call, Policy, read_options

POLICY = Policy(
    "F:v:Nnrbchs",
    "field-separator: assign: posix re-interval characters-as-bytes traditional help "
    "version non-decimal-data sandbox "
    "use-lc-numeric csv lint? gen-pot copyright",
    (
        ("f: file: E: exec:", UNSEEN),
        ("i: include: l: load:", "loads further code"),
        ("o? pretty-print? p? profile? d? dump-variables?", WRITES),
        ("D? debug? e: source:", RUNS),
    ),
    stops=True,
)
_TOKEN = re.compile(
    r"(?P<string>\"(?:[^\"\\\n]|\\.)*\")|(?P<name>@?[A-Za-z_][A-Za-z0-9_]*(?:::[A-Za-z_]\w*)?)|(?P<number>\d[\d.eE]*|\.\d+)"
    r"|(?P<comment>#[^\n]*)|(?P<blank>[ \t\n\r;\\]+)|(?P<sign>\|\||\|&|\||>>|>=|>|&&|.)",
    re.DOTALL,
)
_REGEX = re.compile(r"/(?:[^/\\\n\[]|\\.|\[\^?\]?[^\]\n]*\])*/")
_ENDS_VALUE = frozenset({"name", "number", "string"})
_FORBIDDEN = {
    "system": "runs a command",
    "getline": "reads a further file or command",
    "close": "talks to a command",
}


def awk_fault(call: Call) -> str:
    """Why this awk does more than print."""
    options = read_options(POLICY, call.args)
    if options.faults:
        return options.faults[0]
    if call.unseen == "words":
        return "gets words that nobody saw"
    if not options.operands:
        return "has no program that could be read"
    assigned = next((one for one in options.operands[1:] if re.match(r"[A-Za-z_]\w*=", one)), "")
    return program_fault(options.operands[0]) or (f"sets {assigned}" if assigned else "")


def program_fault(program: str) -> str:
    """What an awk program does beyond printing, as far as it can be read; careful where it cannot."""
    place = 0
    last = "sign"
    depth = parentheses = 0
    while place < len(program):
        if program[place] == "/" and program[:place].rstrip().endswith(("++", "--")):
            return "has a program that cannot be read for sure"
        if program[place] == "/" and last not in _ENDS_VALUE:
            match = _REGEX.match(program, place)
            if match is None:
                return "has a program that cannot be read"
            place, last = match.end(), "string"
            continue
        token = _TOKEN.match(program, place)
        if token is None:
            return "has a program that cannot be read"
        place = token.end()
        kind, text = token.lastgroup or "", token.group()
        if fault := _token_fault(kind, text, depth > 0 and parentheses == 0):
            return fault
        depth += {"{": 1, "}": -1}.get(text, 0)
        parentheses = max(0, parentheses + {"(": 1, ")": -1}.get(text, 0))
        if kind not in ("blank", "comment"):
            last = "name" if text in (")", "]") else kind
            last = "sign" if text in ("return", "print", "printf", "in", "case") else last
    return ""


def _token_fault(kind: str, text: str, prints: bool) -> str:
    if kind == "name" and text.startswith("@"):
        return "has a program that loads code"
    if kind == "name" and text in _FORBIDDEN:
        return f"has a program that {_FORBIDDEN[text]}"
    if kind == "sign" and text in ("|", "|&"):
        return "has a program that prints into a command"
    if kind == "sign" and text in (">", ">>") and (prints or text == ">>"):
        return "has a program that may print into a file"
    if kind == "sign" and text in ('"', "`", "@"):
        return "has a program that cannot be read"
    return ""
