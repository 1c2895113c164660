"""The rules a person keeps: `rules.toml` of a persona, and the one of the home that holds everywhere.

A rule may carry examples and counter-examples, which are checked when the file is read: a rule that does
not do what its writer meant is an error, not a surprise.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

from limnos import lazy
from limnos.agent.settings import read_table
from limnos.kernel.deciding import by_rules
from limnos.kernel.errors import SettingsError, UsageError
from limnos.kernel.findings import Findings, Part
from limnos.kernel.seams import Rule
from limnos.store.locking import locked
from limnos.store.whole import storage_error, write_whole

EFFECTS = ("allow", "ask", "deny")
SHELL = "run_command"
_EXAMPLES, _COUNTER = "examples", "counter_examples"
_KEYS = ("effect", "tool", "match", "folder", "program", _EXAMPLES, _COUNTER)
_MOST_RULES = 2_000
_LOCK_SECONDS = 10.0

Understand = Callable[[str], Findings]
Locate = Callable[[str], str]


class Kept(NamedTuple):
    """A stored rule with its short name, which is made of what it says, and the file it stands in."""

    id: str
    rule: Rule
    path: Path


class Reading(NamedTuple):
    """How a command line is understood, and which file a program word stands for (empty: none)."""

    understand: Understand
    locate: Locate


class RuleFile:
    """One `rules.toml`; read again only when the file is another one."""

    def __init__(self, path: Path, scope: str, reading: Reading) -> None:
        self.path = path
        self._scope = scope
        self._reading = reading
        self._seen: tuple[int, int, int] | None = None
        self._rules: list[Rule] = []

    def rules(self) -> list[Rule]:
        """Its rules. Raises SettingsError that names the rule, and an example that it gets wrong."""
        try:
            info = self.path.stat()
        except (FileNotFoundError, NotADirectoryError):
            self._seen, self._rules = None, []
            return []
        except OSError as error:
            raise storage_error(self.path, error, "try again") from None
        seen = (info.st_mtime_ns, info.st_size, info.st_ino)
        if seen != self._seen:
            self._rules = [self._rule(number, entry) for number, entry in self._entries()]
            self._seen = seen
        return self._rules

    def add(self, rule: Rule, examples: Sequence[str] = (), counter: Sequence[str] = ()) -> None:
        """Write `rule` to the end of the file, once. Raises SettingsError or StorageError."""
        with locked(self.path.parent, self.path.name, _LOCK_SECONDS):
            self._add(rule, examples, counter)

    def _add(self, rule: Rule, examples: Sequence[str], counter: Sequence[str]) -> None:
        self._seen = None
        if rule._replace(scope=self._scope) in self.rules():
            return
        entry: dict[str, Any] = {
            name: value for name, value in rule._asdict().items() if name != "scope" and value
        }
        entry |= {key: list(value) for key, value in ((_EXAMPLES, examples), (_COUNTER, counter)) if value}
        self._rule(len(self._rules) + 1, entry)
        document = self._document()
        if not document.get("rule", []):
            document.pop("rule", None)
        rules = document.setdefault("rule", lazy.tomlkit.aot())
        rules.append(lazy.tomlkit.item(entry))
        self._write(document)

    def remove(self, rule: Rule) -> None:
        """Take `rule` out of the file. Raises SettingsError or StorageError."""
        with locked(self.path.parent, self.path.name, _LOCK_SECONDS):
            self._seen = None
            self._remove(rule)

    def _remove(self, rule: Rule) -> None:
        kept = self.rules()
        document = self._document()
        for number in reversed(range(len(kept))):
            if kept[number] == rule:
                del document["rule"][number]
        if not document.get("rule", []):  # an empty list would stand where the next [[rule]] has to
            document.pop("rule", None)
        self._write(document)

    def _entries(self) -> Iterator[tuple[int, Mapping[str, Any]]]:
        table = read_table(self.path)
        given = table.get("rule", [])
        if set(table) - {"rule"} or not isinstance(given, list):
            raise SettingsError(f"{self.path} holds more than [[rule]] tables", "write each rule as [[rule]]")
        entries = cast("list[Any]", given)
        if len(entries) > _MOST_RULES:
            raise SettingsError(f"{self.path} has more than {_MOST_RULES} rules", "remove some")
        for number, entry in enumerate(entries, 1):
            if not isinstance(entry, Mapping):
                raise SettingsError(f"rule {number} in {self.path} is no table", "write it as [[rule]]")
            yield number, cast("Mapping[str, Any]", entry)

    def _rule(self, number: int, entry: Mapping[str, Any]) -> Rule:
        where = f"rule {number} in {self.path}"
        _check_entry(where, entry)
        effect, tool, match = (str(entry[name]) for name in ("effect", "tool", "match"))
        program = str(entry.get("program", ""))
        if tool == SHELL and effect == "allow" and not program:
            program = self._reading.locate(program_word(match))
        rule = Rule(effect, tool, match, self._scope, str(entry.get("folder", "")), program)
        self._check_examples(where, rule, entry)
        return rule

    def _check_examples(self, where: str, rule: Rule, entry: Mapping[str, Any]) -> None:
        for key, wanted in ((_EXAMPLES, True), (_COUNTER, False)):
            for example in cast("list[str]", entry.get(key, [])):
                unbound = rule._replace(program="")  # an example is about words, not about this machine
                if (by_rules(self._findings(rule, example), [unbound]) == rule.effect) is not wanted:
                    said = "does not cover its example" if wanted else "covers its counter-example"
                    raise SettingsError(
                        f"{where} ({rule.effect} {rule.match}) {said} {example!r}",
                        "change `match`, or the example",
                    )

    def _findings(self, rule: Rule, example: str) -> Findings:
        if rule.tool != SHELL:
            return Findings((Part(subject=example),))
        return self._reading.understand(example)

    def _document(self) -> Any:
        try:
            text = self.path.read_text(encoding="utf-8") if self.path.exists() else ""
            return lazy.tomlkit.parse(text)
        except OSError as error:
            raise storage_error(self.path, error, "try again") from None

    def _write(self, document: Any) -> None:
        text: str = lazy.tomlkit.dumps(document)  # pyright: ignore[reportUnknownMemberType]
        try:
            write_whole(self.path, text.encode())
        except OSError as error:
            raise storage_error(self.path, error, "try again") from None


class StoredRules:
    """Implements `kernel.seams.RuleBook`: the rules of one persona and those that hold everywhere."""

    def __init__(self, home: Path, persona: str, reading: Reading) -> None:
        self._persona = RuleFile(home / "personas" / persona / "rules.toml", "persona", reading)
        self._everywhere = RuleFile(home / "rules.toml", "everywhere", reading)

    def rules(self) -> list[Rule]:
        """See `RuleBook`."""
        return [*self._persona.rules(), *self._everywhere.rules()]

    def keep(self, rule: Rule) -> None:
        """See `RuleBook`."""
        self.add(rule)

    def add(self, rule: Rule, examples: Sequence[str] = (), counter: Sequence[str] = ()) -> None:
        """Store `rule` where its scope says, with what it shall and shall not cover."""
        self._file(rule.scope).add(rule, examples, counter)

    def listed(self) -> list[Kept]:
        """All of them with their short names, those of the persona first."""
        files = (self._persona, self._everywhere)
        return [Kept(short_name(rule), rule, file.path) for file in files for rule in file.rules()]

    def remove(self, name: str) -> Kept:
        """Forget the rule called `name`. Raises UsageError when there is none."""
        found = next((kept for kept in self.listed() if kept.id == name), None)
        if found is None:
            raise UsageError(f"no rule is called {name}", "limnos approvals list")
        self._file(found.rule.scope).remove(found.rule)
        return found

    def _file(self, scope: str) -> RuleFile:
        return self._everywhere if scope == "everywhere" else self._persona


def short_name(rule: Rule) -> str:
    """A name of eight characters, made of what the rule says: the same rule has the same one."""
    said = "\0".join(rule)
    return "r-" + hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:6]


def program_word(match: str) -> str:
    """The program that a rule is for: `ls` of `ls -l` and of `ls*`; empty for a pattern of names."""
    word = match.split(" ", 1)[0].rstrip("*")
    return "" if "*" in word else word


def _check_entry(where: str, entry: Mapping[str, Any]) -> None:
    unknown = sorted(set(entry) - set(_KEYS))
    if unknown:
        raise SettingsError(f"{where} has an unknown key {unknown[0]!r}", f"one of: {', '.join(_KEYS)}")
    if entry.get("effect") not in EFFECTS:
        raise SettingsError(f"{where}: effect is {entry.get('effect')!r}", f"one of: {', '.join(EFFECTS)}")
    for key in ("tool", "match"):
        if not isinstance(entry.get(key), str) or not entry[key]:
            raise SettingsError(f"{where}: {key} is missing, or no text", f'write {key} = "..."')
    for key in ("folder", "program"):
        if not isinstance(entry.get(key, ""), str):
            raise SettingsError(f"{where}: {key} is no text", f'write {key} = "/..."')
    for key in (_EXAMPLES, _COUNTER):
        given = entry.get(key, [])
        if not isinstance(given, list) or not all(isinstance(one, str) for one in cast("list[Any]", given)):
            raise SettingsError(f"{where}: {key} is no list of texts", f'write {key} = ["..."]')
