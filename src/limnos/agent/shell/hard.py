"""Hard denials: what no mode, rule or person lifts. The refusal says what, and what to do instead."""

import re
from collections.abc import Iterator

from limnos.agent.shell.code import code_denial
from limnos.agent.shell.machine import device_denial, machine_denial
from limnos.agent.shell.options import Call
from limnos.agent.shell.place import MAX_FOLDERS, Place, is_within, meanings, reaches_state
from limnos.agent.shell.policies.unsafe import REASONS, is_interpreter
from limnos.agent.shell.refusal import refuse
from limnos.agent.shell.trees import tree_denial
from limnos.kernel.messages import ToolError

TEXT_ONLY = frozenset(
    {"echo", "printf", ":", "true", "false", "basename", "dirname", "logger", "notify-send"}
    | {"cowsay", "figlet", "toilet", "espeak", "say", "wall", "banner"}
)
_PATTERN_FIRST = frozenset(
    {"grep", "egrep", "fgrep", "rg", "ag", "zgrep", "sed", "gsed", "awk", "gawk", "jq", "yq", "tr", "expr"}
)
_GIVES_PATTERN = re.compile(r"-[A-Za-z]*[ef]|--(regexp|file|expression|from-file)")
_SAID = re.compile(r"--(grep|author|committer|message|format|pretty|body|title|subject|notes|description)=")
_CONTAINERS = frozenset({"docker", "podman", "nerdctl", "docker-compose"})
_MOUNTS = re.compile(r"(?:(?:source|src)=([^,]+)|([^:,=]+):[^:].*)")
_SCRIPT_FILE = re.compile(r"(?:^|[;\n}\d$/\s])[rRwW]\s*([~/.][^\s;}]*)|[\"']([~/.][^\"']*)[\"']")
_FOLDER_FLAGS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(
        ("git", "make", "gmake", "ninja", "pnpm", "go", "cargo"), ("-C", "--work-tree", "--directory")
    ),
    **dict.fromkeys(("tar", "bsdtar"), ("-C", "--directory", "--cd")),
    "env": ("-C", "--chdir"),
    "sudo": ("-D", "--chdir"),
    "patch": ("-d", "--directory"),
    "uv": ("--directory", "--project"),
    "npm": ("--prefix", "-C"),
}
_CODE = re.compile(r"[\s\"'(;]")
_MODULE = re.compile(r"-[A-Za-z]*m")
_OWN_MODULE = re.compile(r"-[A-Za-z]*mlimnos")
_OWN_COMMANDS = frozenset({"approvals", "approval", "secrets", "secret", "rules"})
_OWN_CHANGES = frozenset({"set", "unset", "edit", "add", "remove", "import", "reset"})


def call_denial(call: Call) -> ToolError | None:
    """The hard denial of one command, None when there is none."""
    if not call.args:
        return machine_denial(call)
    return _state(call) or tree_denial(call) or machine_denial(call) or _own_rules(call) or code_denial(call)


def file_denial(path: str, place: Place, folders: tuple[str, ...]) -> ToolError | None:
    """The hard denial of a redirection to `path`."""
    paths = meanings(path, place, folders)
    if reaches_state(paths, place):
        return _state_error()
    return device_denial(path, "this", paths.absolute)


def entered_folders(call: Call) -> tuple[str, ...]:
    """The folders that flags of `call` make it work in."""
    flags = _FOLDER_FLAGS.get(call.name, ())
    words = [value for flag in flags for value in _given(call.args, flag)]
    if len(words) > MAX_FOLDERS:
        words = [*words[: MAX_FOLDERS // 2], *words[-MAX_FOLDERS // 2 :]]
    return tuple(path for word in words for path in meanings(word, call.place, call.folders).absolute)


def _given(args: tuple[str, ...], flag: str) -> Iterator[str]:
    for place, word in enumerate(args):
        if word == flag:
            yield from args[place + 1 : place + 2]
        elif word.startswith(flag) and (word[len(flag)] == "=" or len(flag) == 2):
            yield word[len(flag) :].removeprefix("=")


def _state_error() -> ToolError:
    return refuse(
        "limnos' own state (settings, secrets, logs, journals) cannot be reached by a command",
        "use the tools of limnos for what you need to know; a person changes its settings",
    )


def _state(call: Call) -> ToolError | None:
    if call.name in TEXT_ONLY:
        return None
    for word in dict.fromkeys(_without_pattern(call)):
        for path in _paths_in(word):
            if reaches_state(meanings(path, call.place, call.folders), call.place):
                return _state_error()
    if _mounts_state(call) or _text_names_state(call):
        return _state_error()
    return None


def _without_pattern(call: Call) -> list[str]:
    """The words without the one that is searched for. Of a script, only the files that it names."""
    words = [word for word in call.args if not _SAID.match(word)]
    if call.name in _PATTERN_FIRST and not any(_GIVES_PATTERN.match(word) for word in words):
        operands = [place for place, word in enumerate(words) if not word.startswith("-")]
        if len(operands) > 1:
            script = words.pop(operands[0])
            if call.name in ("sed", "gsed", "awk", "gawk"):
                words += [one for match in _SCRIPT_FILE.findall(script[:20_000]) for one in match if one]
    return words


def _paths_in(word: str) -> Iterator[str]:
    """Where a path may start in a word: at its start, behind a sign such as `=`, behind a short flag."""
    if not word:
        return
    yield word
    if word.startswith("-") and len(word) > 2:
        yield word[2:]
    for sign in ("=", "@", ":", ",", "<"):
        if sign in word:
            yield from (piece for piece in word.split(sign)[1:] if piece)
    if ":" in word:
        yield from (piece for piece in re.split("[:=,]", word) if piece)
    if "," in word:
        yield from (piece for piece in re.split("[=,]", word) if piece)
    if word.startswith("file://"):
        yield word[7:]


def _mounts_state(call: Call) -> bool:
    """A container that gets a folder which holds the state."""
    if call.name not in _CONTAINERS:
        return False
    for match in filter(None, map(_MOUNTS.fullmatch, _mounted(call.args))):
        path = match.group(1) or match.group(2)
        path = call.place.home + path[1:] if path.startswith("~") else path
        absolute = meanings(path, call.place, call.folders).absolute if path.startswith(("/", ".")) else ()
        if any(is_within(call.place.state, one) for one in absolute):
            return True
    return False


def _mounted(args: tuple[str, ...]) -> Iterator[str]:
    for flag in ("-v", "--volume", "--mount"):
        for value in _given(args, flag):
            source = re.search(r"(?:^|,)((?:source|src)=[^,]+)", value)
            yield source.group(1) if source else value


def _text_names_state(call: Call) -> bool:
    """A program or a command line of a language in the words that names the state."""
    if not (is_interpreter(call.name) or call.name in REASONS or call.name == "sqlite3"):
        return False
    state = call.place.state
    folder = state.rpartition("/")[2]
    paths = (re.escape(state), re.escape("~/" + state.removeprefix(call.place.home + "/")))
    named = re.compile(rf"({'|'.join(paths)})(?![\w.-])")
    if any(named.search(word[:20_000]) for word in call.args):
        return True
    if not (is_interpreter(call.name) and folder.startswith(".")):
        return False
    part = re.compile(rf"(?<![\w.-]){re.escape(folder)}(?![\w.-])")
    return any(part.search(word[:20_000]) for word in call.args if _CODE.search(word))


def _own_rules(call: Call) -> ToolError | None:
    """The agent may not answer its own questions nor change its own rules."""
    words = [word for word in call.args if not word.startswith("-")]
    if call.name != "limnos":
        starts = "limnos" in words[:2] and any(_MODULE.fullmatch(word) for word in call.args)
        glued = any(_OWN_MODULE.fullmatch(word) for word in call.args)
        if not (is_interpreter(call.name) and (starts or glued)):
            return None
        words = words[words.index("limnos") + 1 :] if starts else words
    named = set(words[:3])
    if named & _OWN_COMMANDS or ("config" in named and set(words) & _OWN_CHANGES):
        return refuse(
            "limnos' approvals, secrets and settings are not the agent's to answer or change",
            "ask the person to do it",
        )
    return None
