"""Programs that no table knows: plain words and files of the working folder, and nothing else.

What such a program does with `|cmd`, `@file`, `NAME=value`, an address or another command is not known.
"""

import re

from limnos.agent.shell.options import UNSEEN_WORDS, Call, Policy
from limnos.agent.shell.place import MAX_PATHS, first_fault
from limnos.agent.shell.policies.targets import first_is
from limnos.agent.shell.policies.unsafe import is_interpreter, is_shell
from limnos.agent.shell.tables import names

_ANSWERS = (("--version",), ("--help",), ("-V",), ("-version",), ("version",), ("help",))
_STRANGE_START = re.compile(r"[|@!~+&<>%^]")
_PREFIXED = re.compile(r"[A-Za-z][\w.+-]*:")
_SIGNS = re.compile(r"[;|&<>`$\n]|\*")
_COMMANDS = names(
    "rm mv cp dd chmod chown ln tee truncate shred sudo doas env xargs curl wget ssh scp nc find sed git "
    "make mkfs kill mount"
)
INSTALLER = Policy(
    "qv",
    "quiet verbose version help installed available",
    (("y yes assume-yes", "changes the installed programs"),),
    first_is("list", "info", "search", "show", "repolist", "check-update", "provides", "policy", bare=True),
)


def unlisted_fault(call: Call) -> str:
    """Why an unlisted program may do more than it is for; "" when its words are plain."""
    if call.args in _ANSWERS:
        return ""
    if call.unseen:
        return UNSEEN_WORDS
    flag = next((word for word in call.args if word.startswith("-") and len(word) > 1), "")
    if flag:
        return f"the flag {flag} is not known"
    different = dict.fromkeys(call.args)
    if len(different) > MAX_PATHS:
        return f"gets {len(different)} words, more than can be looked at"
    return next((fault for word in different if (fault := _odd(word, call))), "")


def _odd(word: str, call: Call) -> str:
    """What is not plain in a word of a program that is not known."""
    first = word.split(" ", maxsplit=1)[0].rpartition("/")[2]
    if first in _COMMANDS or is_shell(first) or is_interpreter(first):
        return f"may run {word}, and it is not known"
    if _STRANGE_START.match(word) or _PREFIXED.match(word) or _SIGNS.search(word):
        return f"may read {word} as more than a name, and it is not known"
    if "=" in word and " " not in word:
        return f"is told {word}, and it is not known"
    fault = "" if " " in word else first_fault([word], call.place, call.folders)
    return f"may reach {fault}, and it is not known" if fault else ""
