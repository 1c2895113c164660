"""find: tests and printing are its purpose; it can run, delete and write as well."""

from typing import NamedTuple

from limnos.agent.shell.options import Call
from limnos.agent.shell.tables import names

_LONE = names(
    "-H -L -P -O0 -O1 -O2 -O3 -print -print0 -ls -prune -quit -depth -d -xdev -mount "
    "-daystart -follow -noleaf -nouser "
    "-nogroup -empty -true -false -executable -readable -writable -warn -nowarn -ignore_readdir_race "
    "-noignore_readdir_race -not -a -and -o -or ! ( ) , -help --help -version --version -E -X -x -s"
)
_VALUED = names(
    "-name -iname -path -ipath -wholename -iwholename -regex -iregex -lname -ilname "
    "-type -xtype -size -mtime -atime "
    "-ctime -mmin -amin -cmin -newer -anewer -cnewer -perm -user -group -uid -gid "
    "-links -inum -samefile -maxdepth "
    "-mindepth -fstype -used -context -regextype -printf -D"
)
_RUNS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_WRITES = frozenset({"-fprint", "-fprint0", "-fprintf", "-fls"})
_NARROWING = names(
    "-name -iname -path -ipath -wholename -iwholename -regex -iregex -lname -ilname -inum -samefile"
)
_OR = frozenset({"-o", "-or", ","})
_NOT = frozenset({"!", "-not"})


class Search(NamedTuple):
    """What a find does: from which `roots`, `commands` it runs (words of each), whether it `deletes`.

    `narrow`: a test on names holds for all that is found. `fault` is what goes beyond searching.
    """

    roots: tuple[str, ...]
    commands: tuple[tuple[int, int], ...] = ()
    deletes: bool = False
    narrow: bool = False
    fault: str = ""


def read_search(args: tuple[str, ...]) -> Search:
    """Read the words of find. `commands` are (from, to) places of words in `args`."""
    place, roots = _roots(args)
    commands: list[tuple[int, int]] = []
    faults: list[str] = []
    tests = 0
    while place < len(args):
        word = args[place]
        if word in _RUNS:
            end = _command_end(args, place + 1)
            commands.append((place + 1, end))
            place = end
        elif word in _VALUED or word in _WRITES or word.startswith("-newer"):
            place += 1
            tests += _narrows(args, place)
        tests += word == "-empty"
        if fault := _fault_of(word):
            faults.append(fault)
        place += 1
    narrow = tests > sum(1 for word in args if word in _OR)
    return Search(roots, tuple(commands), "-delete" in args, narrow, faults[0] if faults else "")


def _roots(args: tuple[str, ...]) -> tuple[int, tuple[str, ...]]:
    """Where the expression starts, and the folders before it."""
    place = 0
    roots: list[str] = []
    while place < len(args) and not _starts_expression(args[place]):
        if args[place] == "-D":
            place += 1
        elif args[place] not in _LONE:
            roots.append(args[place])
        place += 1
    return place, tuple(roots or ["."])


def _fault_of(word: str) -> str:
    if word == "-delete":
        return "deletes what it finds"
    if word in _WRITES:
        return f"writes a file ({word})"
    if word in _LONE or word in _RUNS or word in _VALUED or word.startswith("-newer"):
        return ""
    return f"has {word}, which is not known"


def _narrows(args: tuple[str, ...], place: int) -> bool:
    """Whether the test with its value at `place` lets only some names through."""
    if args[place - 1] not in _NARROWING or place >= len(args) or _NOT & set(args[place - 2 : place - 1]):
        return False
    return args[place].strip("*/.?[]^$+") != ""


def _starts_expression(word: str) -> bool:
    return (
        word in ("!", "(", ")", ",")
        or (word.startswith("-") and word not in _LONE and word != "-D")
        or word
        in (
            "-print",
            "-print0",
            "-ls",
            "-prune",
            "-quit",
            "-depth",
            "-xdev",
            "-mount",
            "-empty",
            "-not",
            "-true",
            "-false",
        )
    )


def _command_end(args: tuple[str, ...], start: int) -> int:
    for place in range(start, len(args)):
        if args[place] == ";" or (args[place] == "+" and args[place - 1] == "{}"):
            return place
    return len(args)


def find_fault(call: Call) -> str:
    """Why this find does more than search; commands that it runs are judged as parts of their own."""
    if call.unseen:
        return "gets words that nobody saw"
    return read_search(call.args).fault
