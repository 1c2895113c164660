"""Compares what a real bash starts with what was read."""

from pathlib import Path
from random import Random

from limnos.agent.shell import Argv, Inspection, Place, Script, Text, inspect
from tests.agent.shell.generating import anything, plain
from tests.agent.shell.recorder import run_all

PLACE = Place(cwd="/home/u/project", home="/home/u", state="/home/u/.limnos", user="u")


def check_rebuilt(seed: int, count: int, folder: Path) -> None:
    """Plain commands: the text, the rebuilt plan and the parts are the same commands, byte for byte."""
    random = Random(seed)
    check_texts([plain(random) for _ in range(count)], folder)


def check_texts(texts: list[str], folder: Path) -> None:
    """The same for given texts."""
    inspections = [inspect(text, PLACE) for text in texts]
    for name in ("given", "made"):
        (folder / name).mkdir()
    started = run_all(texts, folder / "given")
    again = run_all([_script(inspection) for inspection in inspections], folder / "made")
    for text, inspection, given, made in zip(texts, inspections, started, again, strict=True):
        shown = _commands(inspection)
        assert set(given) <= set(shown), f"{text!r} started {given}, shown was {shown}"
        if " | " in _script(inspection):  # both sides start at once
            assert sorted(given) == sorted(made), f"{text!r} started {given}, its plan {made}"
        else:
            assert given == made, f"{text!r} started {given}, its plan {made}"
            assert _in_order(given, shown), f"{text!r} started {given}, shown was {shown}"


def check_everything_seen(seed: int, count: int, folder: Path) -> None:
    """Commands in any construct: whatever bash starts is among the parts, and such a text always asks."""
    random = Random(seed)
    texts = [anything(random) for _ in range(count)]
    for text, started in zip(texts, run_all(texts, folder), strict=True):
        inspection = inspect(text, PLACE)
        parts = inspection.findings.parts
        programs = {words[0] for part in parts for words in (part.words, *part.also) if words}
        missing = [words for words in started if words[0] not in programs]
        assert not missing, f"{text!r} started {missing}, which were not seen"
        assert inspection.findings.reasons or not isinstance(inspection.plan, Text), text


def _commands(inspection: Inspection) -> list[tuple[str, ...]]:
    match inspection.plan:
        case Argv(words):
            return [words]
        case Script(_, commands):
            return list(commands)
        case Text(command):
            raise AssertionError(f"{command!r} was not rebuilt: {inspection.findings.reasons}")


def _script(inspection: Inspection) -> str:
    match inspection.plan:
        case Argv(words):
            return " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)
        case Script(text, _):
            return text
        case Text(command):
            return command


def _in_order(given: list[tuple[str, ...]], shown: list[tuple[str, ...]]) -> bool:
    rest = iter(shown)
    return all(words in rest for words in given)
