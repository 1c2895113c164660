"""Hard denials about whole folders: the root, the home, what belongs to the system."""

import re
from collections.abc import Callable, Iterable

from limnos.agent.shell.options import Call, Policy, read_options
from limnos.agent.shell.place import Place, has_pattern, is_within, meanings, normal
from limnos.agent.shell.policies import text
from limnos.agent.shell.policies.archives import spread_tar
from limnos.agent.shell.policies.files import POLICIES as FILES
from limnos.agent.shell.policies.find import read_search
from limnos.agent.shell.refusal import refuse
from limnos.agent.shell.tables import names
from limnos.kernel.messages import ToolError

_WHOLE = names(
    "bin boot dev etc lib lib32 lib64 libx32 media mnt opt proc root run sbin snap srv "
    "sys tmp usr var home nix "
    "applications library system users volumes private"
)
_DEEP = names("bin boot dev etc lib lib32 lib64 libx32 proc sbin sys")
_SECOND = frozenset({"usr", "var", "home"})
_RM = Policy(
    "fiIrRdvWPx",
    "force interactive? one-file-system preserve-root? no-preserve-root recursive dir verbose help version",
)
_RECURSIVE = frozenset({"-r", "-R", "--recursive"})
_TRASHES = names("srm trash trash-put rmtrash rimraf del-cli trash-cli")
_REMOVERS = names("rm unlink shred rmdir truncate mv srm")
_ONE_BY_ONE = frozenset({"shred", "truncate", "unlink"})
_SHARED = frozenset({"/tmp", "/mnt", "/media", "/opt", "/srv"})
_RIGHTS = names("chmod chown chgrp setfacl chattr")


def tree_denial(call: Call) -> ToolError | None:
    """The denial of a command that deletes a whole folder of the system or changes its rights."""
    return _deletion(call) or _rights(call)


def removes_tree(path: str, place: Place, folders: tuple[str, ...]) -> str:
    """The folder of the system or the home whose whole tree `path` names; "" when it is none."""
    for absolute in meanings(path, place, folders).absolute:
        if found := _whole_tree(absolute, place):
            return found
    return ""


def _whole_tree(absolute: str, place: Place) -> str:
    folded = _folder_of(absolute)
    homes = _homes(place)
    if folded == "/" or folded in homes or any(is_within(home, folded) for home in homes if folded != "/"):
        return absolute
    if has_pattern(folded) and any(
        is_within(folded, home) and folded.count("/") == home.count("/") for home in homes
    ):
        return absolute
    if is_within(place.state.casefold(), folded):
        return absolute
    parts = folded.split("/")[1:]
    if not _is_system(parts[0]):
        return ""
    if len(parts) == 1 or parts[0] in _DEEP or (len(parts) == 2 and parts[0] in _SECOND):
        return absolute
    return (
        absolute if len(parts) == 3 and parts[:2] == ["usr", "local"] and parts[2] in ("bin", "lib") else ""
    )


def _folder_of(absolute: str) -> str:
    """The folder all of whose entries a path names: `/a/*` is `/a`."""
    folded = absolute.casefold()
    while True:
        head, _, last = folded.rpartition("/")
        if not last or not _takes_all(last):
            return normal(folded or "/")
        folded = head or "/"


def _homes(place: Place) -> set[str]:
    return {place.home.casefold(), place.resolve(place.home).casefold()}


def _takes_all(pattern: str) -> bool:
    """`*`, `.*`, `[!.]*`, `.??*`: names of (nearly) everything in a folder."""
    return has_pattern(pattern) and not re.sub(r"\[[^]]*\]", "", pattern).strip("*.?")


def _is_system(name: str) -> bool:
    if not has_pattern(name):
        return name in _WHOLE
    return any(is_within("/" + name, "/" + whole) for whole in _WHOLE)


def _deletion(call: Call) -> ToolError | None:
    for path in dict.fromkeys(_deleted(call)):
        if found := removes_tree(path, call.place, call.folders):
            return refuse(
                f"this deletes all of {found}, a folder of the system or the home",
                "delete only what you made, by its full name below the working folder",
            )
    return None


def _deleted(call: Call) -> Iterable[str]:
    """The paths whose whole tree goes."""
    if call.name in _TRASHES or (call.unseen == "words" and call.name in _REMOVERS - {"rm", "mv"}):
        return _plain_words(call)
    if call.name == "gio" and call.args[:1] in (("trash",), ("remove",)):
        return _plain_words(call)[1:]
    if call.name == "rsync" and any(word.startswith("--del") for word in call.args):
        return call.args[-1:]
    if call.name in ("tar", "bsdtar") and "--remove-files" in call.args:
        return _plain_words(spread_tar(call))
    if call.name == "zip" and _has_letter(call, "m", "--move"):
        return _plain_words(call)
    if call.name in ("7z", "7za", "7zz") and "-sdel" in call.args:
        return _plain_words(call)
    if call.name in _ONE_BY_ONE:
        return _all_files(call, _plain_words(call))
    special = _SPECIAL.get(call.name)
    return special(call) if special else ()


def _plain_words(call: Call) -> list[str]:
    return [word for word in call.args if not word.startswith("-")]


def _has_letter(call: Call, letter: str, long: str) -> bool:
    """Whether a flag is given, alone, in a cluster or by its long name."""
    clusters = [word for word in call.args if word.startswith("-") and not word.startswith("--")]
    return long in call.args or any(letter in word for word in clusters)


def _rm(call: Call) -> Iterable[str]:
    options = read_options(_RM, call.args)
    abbreviated = any(word.startswith("--r") and "--recursive".startswith(word) for word in call.args)
    recursive = call.name != "rm" or call.unseen == "words" or options.values.keys() & _RECURSIVE
    if recursive or abbreviated:
        return options.operands
    return _all_files(call, options.operands)


def _all_files(call: Call, words: Iterable[str]) -> Iterable[str]:
    """`~/*`: without going deeper, but everything in the home or in a folder of the system."""
    return [
        word
        for word in words
        if _takes_all(word.rpartition("/")[2])
        and not any(path.startswith("/tmp/") for path in meanings(word, call.place, call.folders).absolute)
    ]


def _moved(call: Call) -> Iterable[str]:
    options = read_options(FILES["mv"], call.args)
    named = options.values.keys() & {"-t", "--target-directory"}
    return options.operands if named else options.operands[:-1]


def _cleaned(call: Call) -> Iterable[str]:
    """`git clean -f`: what is not in the repository of a folder."""
    if "clean" not in call.args or _has_letter(call, "n", "--dry-run"):
        return ()
    if not _has_letter(call, "f", "--force"):
        return ()
    behind = call.args[call.args.index("clean") + 1 :]
    return [word for word in behind if not word.startswith("-")] or (".",)


def _found(call: Call) -> Iterable[str]:
    return _searched(call, _REMOVERS)


def _searched(call: Call, wanted: frozenset[str]) -> Iterable[str]:
    """The roots of a search that hands what it finds to one of `wanted`, or deletes it."""
    if call.name != "find":
        return _by_fd(call, wanted)
    search = read_search(call.args)
    deletes = search.deletes and "rm" in wanted
    runs = any(_runs_one_of(call.args[first:last], wanted) for first, last in search.commands)
    return search.roots if (deletes or runs) and not search.narrow else ()


def _by_fd(call: Call, wanted: frozenset[str]) -> Iterable[str]:
    runs = ("-x", "-X", "--exec", "--exec-batch")
    place = next((at for at, word in enumerate(call.args) if word in runs), None)
    if place is None or not _runs_one_of(call.args[place + 1 :], wanted):
        return ()
    pattern, *roots = read_options(text.POLICIES["fd"], call.args[:place]).operands or ("",)
    return (roots or (".",)) if _takes_all(pattern or "*") or pattern == "." else ()


def _runs_one_of(words: tuple[str, ...], wanted: frozenset[str]) -> bool:
    """One of `wanted` behind any wrapper; a shell line with rm in it; a copy over what is found."""
    called = [word.rpartition("/")[2] for word in words]
    if any(name in wanted for name in called):
        return True
    if "rm" not in wanted:
        return False
    over = "of={}" in words or (called[:1] == ["cp"] and words[-1:] == ("{}",))
    return over or any(re.search(r"\brm\b", word) for word in words if " " in word)


_SPECIAL: dict[str, Callable[[Call], Iterable[str]]] = {
    "mv": _moved,
    "git": _cleaned,
    **dict.fromkeys(("rm", "grm"), _rm),
    **dict.fromkeys(("find", "fd", "fdfind"), _found),
}


def _rights(call: Call) -> ToolError | None:
    """Owners and rights of everything: nothing runs any more, or everybody may do everything."""
    if call.name in _RIGHTS:
        recursive = _has_letter(call, "R", "--recursive") or call.unseen == "words"
        paths = _plain_words(call) if recursive else []
    elif call.name in ("find", "fd", "fdfind"):
        paths = list(_searched(call, _RIGHTS))
    else:
        return None
    homes = _homes(call.place)
    for path in paths:
        found = removes_tree(path, call.place, call.folders)
        folder = _folder_of(found) if found else ""
        if folder in homes or (folder.count("/") == 1 and folder not in _SHARED):
            return refuse(
                f"this changes the rights of everything in {found}",
                "change only files that you made, by their names below the working folder",
            )
    return None
