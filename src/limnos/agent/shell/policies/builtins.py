"""Commands of the shell itself: which print, and which change what later words mean."""

import re

from limnos.agent.shell.options import Call, Options, Policy
from limnos.agent.shell.place import UNKNOWN, is_inside, meanings
from limnos.agent.shell.tables import names

NAMES = names(
    ". : [ alias bg bind break builtin caller cd command compgen complete compopt "
    "continue declare dirs disown echo "
    "enable eval exec exit export false fc fg getopts hash help history jobs kill let "
    "local logout mapfile popd printf "
    "pushd pwd read readarray readonly return set shift shopt source suspend test "
    "times trap true type typeset ulimit "
    "umask unalias unset wait"
)
_MEANINGS = "changes what later commands mean"
_SETS = "sets a variable"
ALWAYS: dict[str, str] = {
    ".": "runs a file of commands",
    "source": "runs a file of commands",
    "eval": "runs its words as commands",
    "alias": _MEANINGS,
    "unalias": _MEANINGS,
    "enable": _MEANINGS,
    "bind": _MEANINGS,
    "trap": "keeps a command for later",
    "complete": "keeps a command for later",
    "compgen": "can run a command",
    "compopt": _MEANINGS,
    "set": _MEANINGS,
    "shopt": _MEANINGS,
    "let": "computes, which can run commands",
    "declare": _SETS,
    "typeset": _SETS,
    "local": _SETS,
    "readonly": _SETS,
    "read": _SETS,
    "mapfile": _SETS,
    "readarray": _SETS,
    "getopts": _SETS,
    "unset": _SETS,
    "exec": "replaces the shell",
    "export": _SETS,
    "fc": "runs earlier commands",
    "popd": _MEANINGS,
    "pushd": _MEANINGS,
    "caller": "",
    "suspend": _MEANINGS,
    "logout": _MEANINGS,
    "disown": _MEANINGS,
    "umask": "",
    "builtin": "",
    "coproc": "starts a process",
}
_INDEX = re.compile(r"\[")
_COMPARES_NUMBERS = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"})
_NUMBER = re.compile(r"-?\d+")


def _test(call: Call, options: Options) -> str:
    """`-v NAME`, `-R NAME` and comparisons of numbers evaluate the index of a name."""
    del options
    for place, word in enumerate(call.args):
        following = call.args[place + 1 : place + 2]
        if word in ("-v", "-R") and following and "[" in following[0]:
            return "computes the index of a name, which can run commands"
        if word in _COMPARES_NUMBERS:
            around = call.args[max(place - 1, 0) : place] + following
            if any(not _NUMBER.fullmatch(one) for one in around if UNKNOWN not in one):
                return "computes its words, which can run commands"
    return ""


def _no_words(call: Call, options: Options) -> str:
    del call
    return _MEANINGS if options.operands else ""


POLICIES: dict[str, Policy] = {
    "printf": Policy("", "version help", (("v:", _SETS),), stops=True),
    "pwd": Policy("LP", "logical physical version help"),
    ":": Policy(),
    "times": Policy(),
    "exit": Policy(),
    "return": Policy(),
    "break": Policy(),
    "continue": Policy(),
    "shift": Policy(),
    "wait": Policy("nf"),
    "jobs": Policy("lnprs"),
    "history": Policy("", "", operands=_no_words),
    "type": Policy("afptP"),
    "help": Policy("dms"),
    "dirs": Policy("lpv"),
    "umask": Policy("Sp", "", operands=_no_words),
    "hash": Policy("lt", "", (("p: r d:", _MEANINGS),), _no_words),
    "caller": Policy(),
    "fg": Policy(),
    "bg": Policy(),
    "cd": Policy("LPe"),
}


def builtin_fault(call: Call) -> str | None:
    """What is wrong with a command of the shell; None when the tables of flags judge it."""
    if call.name in ("test", "["):
        return _test(call, Options((), {}, ()))
    if call.name == "echo":
        return ""
    if call.name in ALWAYS:
        phrase = ALWAYS[call.name]
        if not call.args and call.name in (
            "alias",
            "trap",
            "export",
            "set",
            "declare",
            "shopt",
            "complete",
            "enable",
        ):
            return ""
        if call.name == "export" and call.args == ("-p",):
            return ""
        return phrase or None
    return None


def leaves_folder(call: Call) -> str:
    """Why the commands after this `cd` run where nobody looked; "" when the folder stays inside."""
    operands = [word for word in call.args if word == "-" or not word.startswith("-")]
    if not operands or operands[0] == "-":
        return "goes to a folder that is not shown"
    paths = meanings(operands[0], call.place, call.folders)
    return "" if is_inside(paths, call.place) else f"goes to {operands[0]}, outside the working folder"
