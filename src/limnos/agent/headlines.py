"""What a command line does, in a few words: the first line of its question."""

from collections.abc import Sequence

from limnos.kernel.findings import Part

_MOST_PARTS = 3
_MOST_CHARACTERS = 60
_WITH_OPERANDS = {
    "rm": "removes", "rmdir": "removes", "unlink": "removes", "shred": "destroys", "mv": "moves",
    "cp": "copies", "ln": "links", "mkdir": "makes", "touch": "makes", "chmod": "changes the rights of",
    "tee": "writes", "chown": "changes the owner of", "truncate": "cuts", "install": "copies",
    "kill": "ends", "pkill": "ends",
}  # fmt: skip
_ALONE = {
    "make": "runs what the Makefile says", "tar": "packs or unpacks files", "unzip": "unpacks files",
    "zip": "packs files", "sed": "reads or changes text", "patch": "changes files", "dd": "copies bytes",
    "pytest": "runs the tests", "cargo": "builds or runs a Rust project",
    "go": "builds or runs a Go project", "npm": "runs or installs packages",
    "yarn": "runs or installs packages", "pnpm": "runs or installs packages",
    "pip": "installs or shows packages", "pip3": "installs or shows packages", "docker": "uses containers",
    "apt": "installs or shows packages", "apt-get": "installs or shows packages",
    "ssh": "works on another machine", "curl": "talks to another machine",
    "wget": "talks to another machine", "scp": "copies between machines", "rsync": "copies files",
    "sudo": "asks for the rights of root", "cd": "changes the folder",
}  # fmt: skip
_GIT = {
    "add": "stages files", "commit": "records a commit", "push": "sends commits away",
    "pull": "fetches and merges", "fetch": "fetches commits", "clone": "copies a repository",
    "merge": "merges", "rebase": "rewrites commits", "checkout": "changes the files of the working tree",
    "switch": "changes the branch", "stash": "puts changes aside",
    "restore": "changes the files of the working tree", "reset": "moves the branch back, or unstages",
    "clean": "removes files that Git does not know", "rm": "removes files", "mv": "moves files",
    "tag": "names a commit", "branch": "lists or changes branches", "config": "changes settings of Git",
    "revert": "takes a commit back", "cherry-pick": "takes over a commit", "init": "makes a repository",
}  # fmt: skip
INTERPRETERS = frozenset({
    "python", "node", "ruby", "perl", "php", "lua", "bash", "sh", "zsh", "dash", "deno", "bun",
    "java",
})  # fmt: skip
_READERS = frozenset({
    "ls", "cat", "head", "tail", "wc", "grep", "rg", "find", "fd", "sort", "uniq", "cut", "tr", "diff",
    "cmp", "stat", "file", "du", "df", "tree", "pwd", "echo", "printf", "true", "false", "test", "[",
    "date", "which", "type", "env", "jq", "awk", "less", "ps", "id", "uname", "hostname", "nl", "column",
    "basename", "dirname", "realpath", "sleep",
})  # fmt: skip


def headline(parts: Sequence[Part]) -> str:
    """A few words about the parts that do more than read; that nothing does, where that is so."""
    said = [text for part in parts if part.words and not part.reason and (text := _doing(part.words))]
    if not said:
        return "it only reads, and no rule covers it"
    more = len(said) - _MOST_PARTS
    return "; ".join(said[:_MOST_PARTS]) + (f"; and {more} more" if more > 0 else "")


def _doing(words: Sequence[str]) -> str:
    program, operands = words[0].rsplit("/", 1)[-1], [word for word in words[1:] if not word.startswith("-")]
    if program in (">", ">>"):
        return f"writes {_cut(operands)}"
    if program in _WITH_OPERANDS:
        return f"{program} {_WITH_OPERANDS[program]} {_cut(operands)}".rstrip()
    if program == "git" and operands:
        known = _GIT.get(operands[0])
        return f"git {operands[0]} {known}" if known else ""
    if program in _ALONE:
        return f"{program} {_ALONE[program]}"
    if program.rstrip("0123456789.") in INTERPRETERS:
        return f"{program} runs a program of its own"
    return "" if program in _READERS or not program[:1].isalnum() else f"it runs {program}"


def _cut(operands: Sequence[str]) -> str:
    text = ", ".join(operands)
    return text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]}..."
