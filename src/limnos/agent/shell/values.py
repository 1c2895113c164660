"""What variables hold and pipes carry, as far as the text of a command shows it."""

from collections.abc import Sequence

from limnos.agent.shell.grammar import Node, Simple
from limnos.agent.shell.options import Call, read_options
from limnos.agent.shell.place import UNKNOWN
from limnos.agent.shell.policies import text
from limnos.agent.shell.policies.find import read_search
from limnos.agent.shell.words import Known, formatted, guesses

READERS = frozenset({"read", "mapfile", "readarray"})
SETTERS = frozenset({"export", "declare", "typeset", "local", "readonly"})
LEARNS = READERS | SETTERS | {"printf", "set"}
_LISTERS = frozenset({"find", "fd", "fdfind", "ls", "rg", "locate"})
_HERE_DOCUMENTS = frozenset({"<<", "<<-"})
MAX_TEXT = 20_000


def printed_by(stage: Node, known: Known) -> tuple[str, ...]:
    """What a command in front of a pipe prints: its words, a here-document, the folders that it lists."""
    if not isinstance(stage, Simple) or not stage.words:
        return ()
    name = stage.words[0].text.rpartition("/")[2]
    words = tuple(field for token in stage.words[1:] for field in guesses(token.pieces, known))
    if name == "echo":
        return tuple(word.replace("\\n", "\n") for word in words if word not in ("-n", "-e", "-en", "-ne"))
    if name == "printf":
        return (formatted(words),) if words else ()
    if name == "cat" and len(stage.words) == 1:
        return tuple(text_of_document(one.body) for one in stage.redirects if one.operator in _HERE_DOCUMENTS)
    return _listed(name, words) if name in _LISTERS else ()


def text_of_document(body: Sequence[object]) -> str:
    """A here-document as it is written."""
    return "".join(getattr(piece, "text", "") for piece in body)[:MAX_TEXT]


def _listed(name: str, words: tuple[str, ...]) -> tuple[str, ...]:
    """The folders of which everything is listed."""
    if name == "find":
        search = read_search(words)
        return () if search.narrow else search.roots
    if name == "rg":
        plain = tuple(word for word in words if not word.startswith("-"))
        return plain if "--files" in words else ()
    if name == "ls":
        clusters = [word for word in words if word.startswith("-") and not word.startswith("--")]
        whole = any("d" in word for word in clusters)
        return tuple(word for word in words if not word.startswith("-")) if whole else ()
    pattern, *roots = read_options(text.POLICIES["fd"], words).operands or ("",)
    return tuple(roots) if not pattern.strip("*.?^$") else ()


def learned(call: Call, read: Sequence[str]) -> dict[str, list[str]]:
    """Variables that `call` sets; `read` is what its input holds, when that is known."""
    if call.name in READERS:
        values = [" ".join(read)] if read else [UNKNOWN]
        names = ("REPLY", "MAPFILE", *(word for word in call.args if word.isidentifier()))
        return dict.fromkeys(names, values)
    if call.name in SETTERS:
        pairs = (word.partition("=") for word in call.args if "=" in word)
        return {name.rstrip("+"): [value] for name, _, value in pairs}
    if call.name == "printf" and call.args[:1] == ("-v",) and len(call.args) > 2:
        return {call.args[1]: [formatted(call.args[2:])]}
    if call.name == "set" and call.args:
        return positional(tuple(word for word in call.args if word != "--"), call.name)
    return {}


def positional(words: Sequence[str], name: str) -> dict[str, list[str]]:
    """`$0`, `$1`, … and all of them together."""
    values = {str(number): [value] for number, value in enumerate((name, *words))}
    return {**values, "@": list(words), "*": list(words)}
