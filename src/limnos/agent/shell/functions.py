"""Functions of the shell that start copies of themselves without end."""

import re

from limnos.agent.shell.grammar import Compound, Item, Simple
from limnos.agent.shell.pieces import Token
from limnos.agent.shell.refusal import refuse
from limnos.kernel.messages import ToolError

_OWN_FILE = re.compile(r"\$\{?0\b")
_ALWAYS = {"while": ([":"], ["true"], ["[", "1", "]"]), "until": (["false"],)}
_ENDLESS_HEAD = re.compile(r"[^;]*;\s*(1|true)?\s*;")
_NAME = re.compile(r"[\w:.-]+")


class Functions:
    """Which function calls which, and which of them run two things at once."""

    def __init__(self) -> None:
        self._calls: dict[str, tuple[set[str], bool]] = {}
        self._bodies: dict[str, tuple[Item, ...]] = {}

    def body(self, name: str) -> tuple[Item, ...]:
        """What the function `name` does; nothing when there is none."""
        return self._bodies.get(name, ())

    def define(self, name: str, body: tuple[Item, ...]) -> ToolError | None:
        """Take in a definition; an error when it closes a circle that multiplies."""
        self._calls[name] = _called(body)
        self._bodies[name] = body
        reached: set[str] = set()
        waiting = [name]
        while waiting:
            one = waiting.pop()
            if one in self._calls and one not in reached:
                reached.add(one)
                waiting += self._calls[one][0]
        returns = any(name in self._calls[one][0] for one in reached)
        return fork_bomb() if returns and any(self._calls[one][1] for one in reached) else None


def starts_itself_twice(items: tuple[Item, ...]) -> bool:
    """`$0 | $0` or `$0 & $0`: a file that runs itself twice at once."""
    count = 0
    for item in items:
        stages = [stage for stage in item.pipeline.stages if isinstance(stage, Simple) and stage.words]
        own = sum(1 for stage in stages if "$" in (word := stage.words[0].text) and _OWN_FILE.search(word))
        if own > 1:
            return True
        count += own
    return count > 1 and any(item.background for item in items)


def starts_without_end(node: Compound) -> bool:
    """An endless loop that waits for nothing and starts something beside it in each round."""
    body = node.body
    if node.kind in ("while", "until"):
        stage = body[0].pipeline.stages[0] if body else None
        words = [token.text for token in stage.words] if isinstance(stage, Simple) else []
        if words not in _ALWAYS[node.kind] and not (isinstance(stage, Compound) and stage.kind == "(("):
            return False
        body = body[1:]
    elif node.kind != "for" or not any(map(_is_endless, node.head)):
        return False
    return _only_starts(body)


def _is_endless(token: Token) -> bool:
    """`((;;))`"""
    return token.text == "((" and bool(_ENDLESS_HEAD.match("".join(piece.text for piece in token.pieces)))


def _only_starts(items: tuple[Item, ...]) -> bool:
    for item in items:
        inner = [stage for stage in item.pipeline.stages if isinstance(stage, Compound)]
        if item.background:
            continue
        if len(inner) != len(item.pipeline.stages) or not all(_only_starts(stage.body) for stage in inner):
            return False
    return bool(items)


def fork_bomb() -> ToolError:
    """The refusal."""
    return refuse("this starts copies of itself without end", "start a fixed number of processes")


def _called(items: tuple[Item, ...]) -> tuple[set[str], bool]:
    """Words that may be calls (wrappers may stand before them), and whether two things run at once."""
    names: set[str] = set()
    multiplies = False
    waiting = list(items)
    while waiting:
        item = waiting.pop()
        multiplies = multiplies or item.background or len(item.pipeline.stages) > 1
        for stage in item.pipeline.stages:
            if isinstance(stage, Compound):
                waiting += stage.body
            else:
                names |= {token.text.strip("'\"\\") for token in stage.words[:3]}
                lines = [token.text for token in stage.words[1:4] if "|" in token.text or "&" in token.text]
                names.update(name for line in lines for name in _NAME.findall(line[:1_000]))
                multiplies = multiplies or bool(lines)
    return names, multiplies
