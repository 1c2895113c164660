"""What is found while a command is looked at: parts, reasons, a denial, programs that need the network."""

from typing import Literal, NamedTuple

from limnos.agent.shell.refusal import refuse
from limnos.kernel.findings import Findings, Part
from limnos.kernel.messages import ToolError

MAX_REASONS = 50
MAX_HINTS = 64


class Argument(NamedTuple):
    """A word: as `shown`, as it probably is (`guess`), whether another machine wrote it (`foreign`).

    `written` has the tilde that `shown` has replaced.
    """

    shown: str
    guess: str
    written: str
    foreign: bool = False


class Input(NamedTuple):
    """What a command reads: from a pipe, from another machine, or `words` that are known."""

    piped: bool = False
    foreign: bool = False
    words: tuple[str, ...] = ()


NO_INPUT = Input()


class Scope(NamedTuple):
    """Around a command: its input, how many texts stand around it, what is added to its words.

    `silent`: it is not known to run at all, so it is looked at for hard denials, and when `hints` for rules
    that deny or ask. `program`: the command whose redirections are looked at.
    """

    input: Input = NO_INPUT
    depth: int = 0
    unseen: Literal["", "paths", "words"] = ""
    silent: bool = False
    hints: bool = False
    program: str = ""


OUTSIDE = Scope()


class Record:
    """Collects; the order is that of the text, and nothing stands twice but parts."""

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self.network: dict[str, None] = {}
        self._reasons: dict[str, None] = {}
        self._hints: dict[tuple[str, ...], None] = {}
        self._denied: ToolError | None = None

    def part(self, part: Part, scope: Scope) -> None:
        """A thing that the command does."""
        if not scope.silent:
            self.parts.append(part)
        else:
            self.hint(part.words, *part.also, scope=scope)

    def hint(self, *commands: tuple[str, ...], scope: Scope) -> None:
        """Commands that may run as well: rules that deny or ask meet them, no rule has to cover them."""
        if (scope.hints or not scope.silent) and len(self._hints) < MAX_HINTS:
            self._hints.update(dict.fromkeys(words for words in commands if words and words[0]))

    def ask(self, sentence: str, scope: Scope = OUTSIDE) -> None:
        """Why no rule lets this pass."""
        if not scope.silent and len(self._reasons) < MAX_REASONS:
            self._reasons[sentence] = None

    def deny(self, error: ToolError | None) -> None:
        """A hard denial; the first one counts."""
        self._denied = self._denied or error

    def deny_depth(self) -> None:
        """What nobody can follow does not run: behind enough wrappers anything could hide."""
        instead = "say it in fewer steps, one inside the other"
        self.deny(refuse("commands are nested too deep to be understood", instead))

    @property
    def asks(self) -> bool:
        """Whether there is a reason to ask."""
        return bool(self._reasons)

    def findings(self) -> Findings:
        """All of it, for the gate."""
        parts = self.parts
        if self._hints and parts:
            parts = [parts[0]._replace(also=(*parts[0].also, *self._hints)), *parts[1:]]
        elif self._hints:
            parts = [Part(words) for words in self._hints]
        return Findings(tuple(parts), tuple(self._reasons), denied=self._denied)
