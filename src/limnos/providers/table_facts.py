"""What a small model cannot work out from a table is worked out for it: counts, extremes, sums."""

import csv
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from itertools import islice
from typing import Any, NamedTuple, TypeAlias, cast

MOST_ROWS = 2_000
MOST_COLUMNS = 5
MOST_NAMED = 3

Row: TypeAlias = Mapping[str, str]

_SEPARATORS = ",;\t"
_NUMBER = re.compile(r"[-+]?\d{1,15}(?:\.\d{1,9})?")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


class _Column(NamedTuple):
    name: str
    values: list[float]
    texts: list[str]
    dates: bool


def table_facts(text: str) -> str:
    """One line about the table that `text` is: its rows, and of each column of numbers the lowest, the
    highest, the sum and the average; of dates the first and the last. Empty for all other text.

    A table is CSV with a header (comma, semicolon, tab), a JSON list of flat objects, or a JSON object of
    names and numbers; two rows at least.
    """
    rows = _json_rows(text) if text.lstrip().startswith(("{", "[")) else _csv_rows(text)
    if not 2 <= len(rows) <= MOST_ROWS:
        return ""
    said = [_said(column, rows) for column in islice(_columns(rows), MOST_COLUMNS)]
    return "; ".join((f"{len(rows)} rows", *said)) if said else ""


def _csv_rows(text: str) -> list[Row]:
    first = text.partition("\n")[0]
    separator = max(_SEPARATORS, key=first.count)
    if separator not in first:
        return []
    try:
        header, *lines = [line for line in csv.reader(text.splitlines(), delimiter=separator) if line]
    except (csv.Error, ValueError):
        return []
    header = [name.strip() for name in header]
    whole = all(len(line) == len(header) for line in lines) and all(header)
    if not whole or len(set(header)) < len(header) or any(map(_value, header)):
        return []
    return [dict(zip(header, map(str.strip, line), strict=True)) for line in lines]


def _json_rows(text: str) -> list[Row]:
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        return []
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        if members and all(_is_number(item) for item in members.values()):
            return [{"name": name, "value": json.dumps(item)} for name, item in members.items()]
        lists: list[Any] = [item for item in members.values() if isinstance(item, list)]
        value = lists[0] if len(lists) == 1 else None
    items: list[Any] = cast("list[Any]", value) if isinstance(value, list) else []
    rows = [_flat(cast("dict[str, Any]", item)) for item in items if isinstance(item, dict)]
    return rows if len(rows) == len(items) and all(rows) else []


def _flat(item: Mapping[str, Any]) -> Row:
    return {name: str(value) for name, value in item.items() if _is_number(value) or isinstance(value, str)}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _columns(rows: Sequence[Row]) -> Iterator[_Column]:
    for name in rows[0]:
        texts = [row.get(name, "") for row in rows]
        values = [_value(text) for text in texts]
        known = [value for value in values if value is not None]
        if len(known) == len(rows):
            yield _Column(name, known, texts, dates=all(map(_DATE.fullmatch, texts)))


def _value(text: str) -> float | None:
    if _NUMBER.fullmatch(text):
        return float(text)
    if _DATE.fullmatch(text):
        try:
            return date.fromisoformat(text).toordinal()
        except ValueError:
            return None
    return None


def _said(column: _Column, rows: Sequence[Row]) -> str:
    least, most = ("earliest", "latest") if column.dates else ("lowest", "highest")
    said = [
        f"{column.name}: {least} {_where(column, rows, min(column.values))}",
        f"{most} {_where(column, rows, max(column.values))}",
    ]
    if not column.dates:
        total = sum(column.values)
        said += [f"sum {total:.10g}", f"average {total / len(rows):.6g}"]
    return ", ".join(said)


def _where(column: _Column, rows: Sequence[Row], value: float) -> str:
    """The value as it is written, and the names of its rows."""
    places = [place for place, other in enumerate(column.values) if other == value]
    names = [name for place in places[:MOST_NAMED] if (name := _name(rows[place], column.name))]
    more = f" and {len(places) - MOST_NAMED} more" if len(places) > MOST_NAMED else ""
    return f"{column.texts[places[0]]} ({' / '.join(names)}{more})" if names else column.texts[places[0]]


def _name(row: Row, column: str) -> str:
    """The row by its words: its first two cells that are no number and no date."""
    words = (text for name, text in row.items() if name != column and text and _value(text) is None)
    return " ".join(islice(words, 2))
