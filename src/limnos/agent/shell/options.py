"""Flags of programs: which are known to be harmless, which write or run something, and how words are read."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple, TypeAlias

from limnos.agent.shell.place import Place

WRITES = "writes a file"
RUNS = "is able to run a program"
SENDS = "sends something away"
SETTINGS = "takes settings that nobody saw"
ELSEWHERE = "works in another folder"
CHANGES = "changes or deletes something"
UNSEEN = "takes its words from a file that nobody saw"
UNSEEN_WORDS = "gets words that nobody saw"


class Call(NamedTuple):
    """A program and its words, as far as they can be known. `unseen`: more follows that
    nobody saw, names of files found (`paths`) or any `words`."""

    name: str
    args: tuple[str, ...]
    place: Place
    folders: tuple[str, ...]
    unseen: Literal["", "paths", "words"] = ""


class Options(NamedTuple):
    """The words of a call, sorted. `values` has every flag that was given (with dashes) and its values."""

    operands: tuple[str, ...]
    values: dict[str, list[str]]
    faults: tuple[str, ...]
    behind: int = 0  # the place of the first operand


_ANSWERS = frozenset({"--version", "--help", "-v", "-V", "-h"})
OperandRule: TypeAlias = Callable[[Call, Options], str]


class Policy(NamedTuple):
    """What a program may be told without a question.

    `shorts` are letters as for getopt (`a`, `b:` takes a value, `c?` only one glued to it), `longs` are
    names with the same suffixes, `asks` are pairs of such names (a single letter is a short flag) and what
    they do. `operands` judges the rest and returns what is wrong with it. `numbers`: `-5` is a flag.
    `dashes` "one": long names have one dash and there are no clusters. `stops`: flags end at an operand.
    `judges_unseen`: `operands` knows what to say of words that nobody saw; otherwise they ask.
    """

    shorts: str = ""
    longs: str = ""
    asks: tuple[tuple[str, str], ...] = ()
    operands: OperandRule | None = None
    numbers: bool = False
    dashes: Literal["two", "one"] = "two"
    stops: bool = False
    judges_unseen: bool = False


class _Flag(NamedTuple):
    arity: str
    phrase: str


@lru_cache(maxsize=2_000)
def _table(policy: Policy) -> dict[str, _Flag]:
    one = policy.dashes == "one"
    table: dict[str, _Flag] = {}
    letters = policy.shorts
    for place, letter in enumerate(letters):
        if letter not in ":?" or place == 0:
            suffix = letters[place + 1 : place + 2]
            table["-" + letter] = _Flag(suffix if suffix in (":", "?") else "", "")
    named = [(name, "") for name in policy.longs.split()]
    named += [(name, phrase) for names, phrase in policy.asks for name in names.split()]
    for written, phrase in named:
        name = written.rstrip(":?")
        flag = _Flag(written[len(name) :], phrase)
        table[("-" if one or len(name) == 1 else "--") + name] = flag
    return table


def read_options(policy: Policy, args: Sequence[str]) -> Options:
    """Sort `args`. Flags that the policy does not have are faults: whether they take a value is not known."""
    reader = _Reader(policy, args)
    reader.read()
    behind = reader.behind if reader.behind >= 0 else len(args)
    return Options(tuple(reader.operands), reader.values, tuple(reader.faults), behind)


class _Reader:
    def __init__(self, policy: Policy, args: Sequence[str]) -> None:
        self._policy = policy
        self._flags = _table(policy)
        self._args = args
        self._place = 0
        self.operands: list[str] = []
        self.values: dict[str, list[str]] = {}
        self.faults: list[str] = []
        self.behind = -1

    def read(self) -> None:
        while self._place < len(self._args):
            word = self._args[self._place]
            if word == "--":
                self._operands_from(self._place + 1)
                return
            if not word.startswith("-") or word == "-":
                if self._policy.stops:
                    self._operands_from(self._place)
                    return
                self.behind = self._place if self.behind < 0 else self.behind
                self.operands.append(word)
                self._place += 1
                continue
            self._flag(word)
            self._place += 1

    def _operands_from(self, place: int) -> None:
        self.behind = place if self.behind < 0 else self.behind
        self.operands += self._args[place:]
        self._place = len(self._args)

    def _flag(self, word: str) -> None:
        if self._policy.numbers and word[1:2].isdigit():
            letters = word[1:].lstrip("0123456789")
            if letters:
                self._cluster("-" + letters)
            return
        if word.startswith("--") or self._policy.dashes == "one":
            self._long(word)
        else:
            self._cluster(word)

    def _long(self, word: str) -> None:
        name, equals, value = word.partition("=")
        if self._policy.dashes == "one" and name.startswith("--"):
            name = name[1:]
        flag = self._flags.get(name)
        if flag is None:
            self._unknown(name)
            return
        if flag.arity == ":" and not equals:
            self._place += 1
            value = self._args[self._place] if self._place < len(self._args) else ""
        self._note(name, value, flag)

    def _unknown(self, name: str) -> None:
        phrases = [
            flag.phrase for known, flag in self._flags.items() if known.startswith(name) and flag.phrase
        ]
        self.faults.append(f"the flag {name} {phrases[0] if phrases else 'is not known'}")

    def _cluster(self, word: str) -> None:
        for place in range(1, len(word)):
            name = "-" + word[place]
            flag = self._flags.get(name)
            if flag is None:
                self._unknown(name if len(word) == 2 else f"{name} in {word}")
                return
            if flag.arity == "":
                self._note(name, "", flag)
                continue
            value = word[place + 1 :]
            if flag.arity == ":" and not value:
                self._place += 1
                value = self._args[self._place] if self._place < len(self._args) else ""
            self._note(name, value, flag)
            return

    def _note(self, name: str, value: str, flag: _Flag) -> None:
        self.values.setdefault(name, []).append(value)
        if flag.phrase:
            self.faults.append(f"the flag {name} {flag.phrase}")


class Family(NamedTuple):
    """A program with subcommands. `subs` gives each its policy, or says in words why it always asks."""

    flags: Policy
    subs: dict[str, Policy | str]
    alone: str = ""  # what is wrong with no subcommand at all
    unknown: str = "is not known to be harmless"


def judge(call: Call, policy: Policy) -> str:
    """Why `call` does more than its program is for, a phrase to stand behind its name; "" if not."""
    options = read_options(policy, call.args)
    if options.faults:
        return options.faults[0]
    if policy.operands is None:
        return ""
    if call.unseen and not policy.judges_unseen:
        return UNSEEN_WORDS
    return policy.operands(call, options)


def judge_family(call: Call, family: Family) -> tuple[str, str]:
    """The subcommand, and why it does more than it is for."""
    options = read_options(family.flags, call.args)
    if options.faults:
        return "", options.faults[0]
    if not options.operands:
        tells = options.values.keys() & _ANSWERS
        return "", UNSEEN_WORDS if call.unseen else "" if tells else family.alone
    sub = options.operands[0]
    policy = family.subs.get(sub)
    if policy is None:
        return sub, family.unknown
    if isinstance(policy, str):
        return sub, policy
    if call.unseen == "words" and policy.asks and "--" not in options.operands:
        return sub, f"{UNSEEN_WORDS}, which may be flags"
    return sub, judge(call._replace(args=options.operands[1:]), policy)
