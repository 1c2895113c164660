"""Reading one table of a `plugin.toml` field by field.

What is wrong is noted with its place, and reading goes on.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any, cast

from limnos import lazy
from limnos.plugins.faults import Fault
from limnos.plugins.lines import Path, Places

MOST_TEXT = 2000
MOST_ITEMS = 512  # of a list
_MOST_PATH = 120  # characters of a field's name in a message
_MOST_GUESSES = 100  # fields that a nearest one is looked for; a file of nothing else takes minutes
_SIZES = {"": 1, "B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}
_SIZE = re.compile(r"([0-9]{1,12}) ?(B|KB|MB|GB|)")
# Beside control characters: what has no shape of its own, and what turns the order of a line around.
_UNSEEN = ("Cc", "Cf", "Co", "Cs", "Zl", "Zp")
_NAMES = {str: "a text", bool: "true or false", int: "a whole number", list: "a list", dict: "a table"}


class Page:
    """One file that is read: where its values stand, and what was found wrong so far."""

    def __init__(self, file: str, places: Places) -> None:
        self._file = file
        self._places = places
        self.faults: list[Fault] = []

    def fault(self, path: Path, what: str, fix: str) -> None:
        """Note a fault of the value at `path`."""
        self.faults.append(Fault(self._file, self._places.line(path), dotted(path), what, fix))


class Table:
    """The table at `path`. A reader of a field notes its faults, and returns what does no further harm."""

    def __init__(self, page: Page, path: Path, values: Mapping[str, Any]) -> None:
        self.page = page
        self.path = path
        self.values = values
        self._known: list[str] = []

    def fault(self, key: str, what: str, fix: str) -> None:
        """Note a fault of the field `key`."""
        self.page.fault((*self.path, key), what, fix)

    def has(self, key: str) -> bool:
        """Whether the field is there; it counts as known."""
        self._known.append(key)
        return key in self.values

    def text(
        self, key: str, default: str | None = None, *, form: str = "", says: str = "", most: int = MOST_TEXT
    ) -> str:
        """A text that fits the expression `form`, which `says` in words; empty for one that is wrong."""
        value = self._get(key, str, default)
        if value is None:
            return ""
        wrong = text_fault(value, most)
        if wrong or (default is None and not value.strip()):
            self.fault(key, wrong or "says nothing", "write it anew")
        elif form and value != default and not re.fullmatch(form, value):
            self.fault(key, f"is {shown(value)}", f"write {says}")
        else:
            return value
        return ""

    def flag(self, key: str, default: bool) -> bool:
        """True or false."""
        value = self._get(key, bool, default)
        return default if value is None else value

    def number(self, key: str, default: float | None, least: float, most: float) -> float | None:
        """A number from `least` to `most`, whole where both are of type int."""
        if not self.has(key):
            return default
        value = self.values[key]
        whole = isinstance(least, int) and isinstance(most, int)
        if type(value) not in ((int,) if whole else (int, float)) or not isfinite(value):
            self.fault(key, f"is {shown(value)}", f"write a {'whole ' if whole else ''}number")
        elif not least <= value <= most:
            self.fault(key, f"is {shown(value)}", f"write a number from {least:,} to {most:,}")
        else:
            return value
        return default

    def size(self, key: str, default: int, least: int, most: int) -> int:
        """Bytes, as a whole number or as a text such as `512 MB` (1024 to the KB)."""
        if not self.has(key):
            return default
        value = self.values[key]
        found = _SIZE.fullmatch(value) if isinstance(value, str) else None
        size = int(found[1]) * _SIZES[found[2]] if found else value
        if type(size) is not int:
            self.fault(key, f"is {shown(value)}", 'write bytes, or a text such as "512 MB"')
        elif not least <= size <= most:
            self.fault(key, f"is {size:,} bytes", f"write from {least:,} to {most:,} bytes")
        else:
            return size
        return default

    def choice(self, key: str, choices: Sequence[str], default: str | None) -> str:
        """One of `choices`."""
        value = self._get(key, str, default)
        if value is not None and value not in choices:
            self.fault(key, f"is {shown(value)}", f"write one of: {', '.join(choices)}")
            value = default
        return choices[0] if value is None else value

    def items(self, key: str) -> list[Any]:
        """A list of anything."""
        return self._get(key, list, cast("list[Any]", [])) or []

    def texts(self, key: str, form: str = "", says: str = "") -> tuple[str, ...]:
        """A list of texts, each once, that fit the expression `form`, which `says` in words."""
        found: list[str] = []
        values = self.items(key)
        if len(values) > MOST_ITEMS:
            self.fault(key, f"has {len(values):,} items", f"write at most {MOST_ITEMS}")
        for number, value in enumerate(values[:MOST_ITEMS]):
            place = (*self.path, key, number)
            if not isinstance(value, str) or text_fault(value, MOST_TEXT) or not value:
                self.page.fault(place, f"is {shown(value)}", "write a text")
            elif form and not re.fullmatch(form, value):
                self.page.fault(place, f"is {shown(value)}", f"write {says}")
            elif value in found:
                self.page.fault(place, f"{shown(value)} stands twice", "remove one")
            else:
                found.append(value)
        return tuple(found)

    def table(self, key: str) -> "Table":
        """The table at `key`; an empty one when there is none."""
        values = self._get(key, dict, {})
        return Table(self.page, (*self.path, key), values or {})

    def named(self, key: str) -> "list[tuple[str, Table]]":
        """The tables in the table at `key`, by name."""
        inner = self.table(key)
        return [(name, inner.table(name)) for name in inner.values]

    def tables(self, key: str, most: int) -> "list[Table]":
        """The array of tables at `key`, of at most `most`."""
        values = self.items(key)
        if len(values) > most:
            self.fault(key, f"are {len(values):,}", f"declare at most {most}")
        found: list[Table] = []
        for number, value in enumerate(values[:most]):
            place = (*self.path, key, number)
            if isinstance(value, dict):
                found.append(Table(self.page, place, cast("dict[str, Any]", value)))
            else:
                self.page.fault(place, f"is {shown(value)}", f"write [[{key}]] above its fields")
        return found

    def finish(self) -> None:
        """Note every field that nobody asked for."""
        for key in self.values:
            if key not in self._known:
                guesses = len(self.page.faults) < _MOST_GUESSES
                near = lazy.difflib.get_close_matches(key, self._known, 1) if guesses else []
                fix = f"did you mean {near[0]}?" if near else f"there are: {', '.join(self._known)}"
                self.fault(key, "is no field", fix)

    def _get(self, key: str, kind: type[Any], default: Any) -> Any:
        """The value of this type; the default when it is not there, None for a fault."""
        if not self.has(key):
            if default is None:
                self.fault(key, "is missing", "add it")
            return default
        value = self.values[key]
        if type(value) is kind:
            return value
        self.fault(key, f"is {shown(value)}", f"write {_NAMES[kind]}")
        return None


def dotted(path: Path) -> str:
    """A path as people write it, not too long: `tools[0].parameters.city`."""
    text = "".join(
        f"[{part}]" if isinstance(part, int) else f".{part if _is_plain(part) else ascii(part)}"
        for part in path
    ).lstrip(".")
    return f"{text[:_MOST_PATH]}…" if len(text) > _MOST_PATH else text or "the file"


def shown(value: object) -> str:
    """A value for a message: on one line, in printable characters, not too long."""
    text = ascii(value)
    return text if len(text) <= 60 else f"{text[:60]}…"


def text_fault(text: str, most: int) -> str:
    """What is wrong with a text that people and models are to read; empty when nothing is."""
    if len(text) > most:
        return f"has {len(text):,} characters, more than {most:,}"
    unseen = next((one for one in text if unicodedata.category(one) in _UNSEEN and one not in "\n\t"), "")
    return f"holds the invisible character U+{ord(unseen):04X}" if unseen else ""


def _is_plain(part: str) -> bool:
    return part.isascii() and part.replace("-", "_").isidentifier()
