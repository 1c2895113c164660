"""Hard denials about programs of a language that stand in words, as far as their text shows what they do.

No reader sees through a program: what only its run would show is for the sandbox.
"""

import re

from limnos.agent.shell.machine import names_disk
from limnos.agent.shell.options import Call
from limnos.agent.shell.policies.unsafe import is_interpreter
from limnos.agent.shell.refusal import refuse
from limnos.agent.shell.trees import removes_tree
from limnos.kernel.messages import ToolError

MAX_TEXT = 20_000
_REMOVERS = (
    r"rmtree|rm_rf|rm_r\b|rmSync|rmdirSync|remove_tree|removeSync|deltree|remove_dir_all|RemoveAll|delete-directory"
    r"|unlink\s*\(?\s*glob|unlink\s*<"
)
_HOMES = (
    r"Path\.home\(\)|(os\.)?homedir\(\)|os\.environ\[.HOME.\]|os\.getenv\(.HOME.\)|process\.env\.HOME|Dir\.home"
    r"|ENV\[.HOME.\]|\$ENV\{.?HOME.?\}|getenv\(.HOME.\)"
)
_REMOVES = re.compile(_REMOVERS)
_REMOVES_HOME = re.compile(rf"({_REMOVERS})\s*\(?\s*({_HOMES})\s*[,);}}]")
_LITERAL = re.compile(r"[\"'`]([^\"'`]*)[\"'`]")
_FORKS = re.compile(
    r"fork.{0,40}\bwhile\b|\bwhile\b.{0,60}fork|\bloop\b.{0,40}fork|for\s*\(\s*;\s*;\s*\).{0,40}fork|forever.{0,40}fork"
    r"|fork.{0,40}\b(iter|count|cycle|repeat)\(|fork\s*\{?\s*(load|exec)\s*\$0|spawn\(.{0,60}__filename"
    r"|while\s+(true|1)\s+do.{0,40}execute\(.{0,30}&",
    re.DOTALL,
)
_ENDS_ALL = re.compile(r"\bkill\(\s*-1\b|\bkill\s+['\"\w]+\s*,\s*-1\b")
_WRITES = re.compile(r"[Ww]rite|['\"][wa]b?\+?['\"]|['\"]r\+b?['\"]|>\s*/(dev|proc|sys)|unlink|truncate")
_RUNS_TEXT = re.compile(r"\b(exec|eval|system|popen|instance_eval|vm\.run\w+)\b(?!\s*\{)")
_FETCHES = re.compile(
    r"urlopen|urlretrieve|requests\.get|httpx|aiohttp|LWP|Net::HTTP|open-uri|URI\.open|HTTP::Tiny|fetch\(|https?\.get\("
    r"|file_get_contents\(.https?:|XMLHttpRequest|axios|socket\.socket|IO::Socket|fsockopen|TCPSocket"
)


def code_denial(call: Call) -> ToolError | None:
    """The denial of code in words of an interpreter: whole trees, disks, forks without end, foreign text."""
    if not is_interpreter(call.name):
        return None
    for word in call.args:
        if error := _of_text(word[:MAX_TEXT], call):
            return error
    return None


def runs_its_input(call: Call) -> bool:
    """Whether the code in the words of `call` may run what it reads."""
    return is_interpreter(call.name) and any(_RUNS_TEXT.search(word[:MAX_TEXT]) for word in call.args)


def _of_text(text: str, call: Call) -> ToolError | None:
    if _FORKS.search(text):
        return refuse("this starts copies of itself without end", "start a fixed number of processes")
    if _ENDS_ALL.search(text):
        return refuse("this ends everything that runs", "end only what you started, by its number")
    if _RUNS_TEXT.search(text) and _FETCHES.search(text):
        return refuse(
            "text from another machine would run without anybody having seen it",
            "download it to a file, read it, then ask to run the file",
        )
    if names_disk(text) and _WRITES.search(text):
        return refuse("this writes to a disk of the machine", "work with a file of the working folder")
    return _trees(text, call)


def _trees(text: str, call: Call) -> ToolError | None:
    if _REMOVES_HOME.search(text):
        return refuse("this deletes all of the home", "delete only what you made")
    if not _REMOVES.search(text):
        return None
    for path in _LITERAL.findall(text) + re.findall(r"<([^<>\s]+)>", text):
        home = path.replace("~", call.place.home, 1) if path.startswith("~") else path
        if home and removes_tree(home, call.place, call.folders):
            return refuse(f"this deletes all of {path}", "delete only what you made")
    return None
