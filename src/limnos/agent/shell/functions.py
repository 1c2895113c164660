"""Functions of the shell that start copies of themselves without end."""

import re

from limnos.agent.shell.grammar import Compound, Item, Pipeline, Simple
from limnos.agent.shell.hard import refuse
from limnos.kernel.messages import ToolError

_OWN_FILE = re.compile(r"\$\{?0\b")


class Functions:
    """Which function calls which, and which of them run two things at once."""

    def __init__(self) -> None:
        self._calls: dict[str, tuple[set[str], bool]] = {}

    def define(self, name: str, body: tuple[Item, ...]) -> ToolError | None:
        """Take in a definition; an error when it closes a circle that multiplies."""
        self._calls[name] = _called(body)
        reached: set[str] = set()
        waiting = [name]
        while waiting:
            one = waiting.pop()
            if one in self._calls and one not in reached:
                reached.add(one)
                waiting += self._calls[one][0]
        returns = any(name in self._calls[one][0] for one in reached)
        return fork_bomb() if returns and any(self._calls[one][1] for one in reached) else None


def starts_itself_twice(pipeline: Pipeline) -> bool:
    """`$0 | $0`: a file that runs itself on both sides of a pipe."""
    stages = [stage for stage in pipeline.stages if isinstance(stage, Simple) and stage.words]
    return sum(1 for stage in stages if _OWN_FILE.search(stage.words[0].text)) > 1


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
    return names, multiplies
