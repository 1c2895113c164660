"""What a small model cannot work out from a table is worked out for it: extremes, sums, groups."""

import csv
import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Any, NamedTuple, TypeAlias, cast

MOST_ROWS = 2_000
MOST_COLUMNS = 4
MOST_NAMED = 4
MOST_GROUPS = 5

Row: TypeAlias = Mapping[str, str]

_SEPARATORS = ",;\t"
_NUMBER = re.compile(r"[-+]?(?:0|[1-9]\d{0,7})(?:\.\d{1,9})?")  # longer ones and 007 are names, not amounts
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_DIGIT = re.compile(r"\d")
_YEARS = range(1900, 2101)


class Words(NamedTuple):
    """How facts are said in a language."""

    extreme: str
    total: str
    group: str
    others: str
    ends: tuple[str, str]
    dates: tuple[str, str]
    between: str


ENGLISH = Words(
    extreme="{end} {column}: {names} ({value})",
    total="all {column} together: {value}",
    group="{column} {value}: {count} ({names})",
    others="and {count} more",
    ends=("lowest", "highest"),
    dates=("earliest", "latest"),
    between="; ",
)
CHINESE = Words(
    extreme="{column}{end}：{names}（{value}）",
    total="{column}合计：{value}",
    group="{column} {value}：{count} 行（{names}）",
    others="等 {count} 行",
    ends=("最低", "最高"),
    dates=("最早", "最晚"),
    between="；",
)


class _Column(NamedTuple):
    name: str
    texts: list[str]
    values: list[float]
    dates: bool


def table_facts(text: str, words: Words = ENGLISH) -> list[str]:
    """Lines about the table that `text` is; none for all other text.

    For each column of numbers its lowest and highest rows and the sum, for dates the first and the last, for
    a column with few different words how many rows and what sums each has. A table is CSV with a header
    (comma, semicolon, tab), a JSON list of flat objects, or a JSON object of names and numbers; it has two
    rows at least.
    """
    rows = _json_rows(text) if text.lstrip().startswith(("{", "[")) else _csv_rows(text)
    return _Table(rows, words).facts() if 2 <= len(rows) <= MOST_ROWS else []


class _Table:
    def __init__(self, rows: Sequence[Row], words: Words) -> None:
        self._rows = rows
        self._words = words
        columns = {name: [row.get(name, "") for row in rows] for name in rows[0]}
        found = [column for name, texts in columns.items() if (column := _amounts(name, texts))]
        if found and _counts_rows(found[0].values) and found[0].name == next(iter(columns)):
            del found[0]
        self._amounts = found[:MOST_COLUMNS]
        known = {column.name for column in self._amounts}
        texts = {name: texts for name, texts in columns.items() if name not in known and all(texts)}
        self._groups = {name: texts for name, texts in texts.items() if _is_grouping(texts)}
        self._label = _label([texts for texts in texts.values() if len(set(texts)) == len(rows)])

    def facts(self) -> list[str]:
        said = [self._extremes(column) for column in self._amounts]
        for name, texts in self._groups.items():
            said += [self._group(name, texts, value) for value in dict.fromkeys(texts)]
        return said

    def _extremes(self, column: _Column) -> str:
        least, most = self._words.dates if column.dates else self._words.ends
        said = [
            self._extreme(column, end, choose)
            for end, choose in ((most, max), (least, min))
            if len(set(column.values)) > 1
        ]
        if self._adds_up(column):
            said.append(self._total(column, range(len(self._rows))))
        return self._words.between.join(said)

    def _extreme(self, column: _Column, end: str, choose: Callable[[Sequence[float]], float]) -> str:
        value = choose(column.values)
        places = [place for place, other in enumerate(column.values) if other == value]
        return self._words.extreme.format(
            end=end, column=column.name, names=self._names(places), value=column.texts[places[0]]
        )

    def _group(self, name: str, texts: list[str], value: str) -> str:
        places = [place for place, other in enumerate(texts) if other == value]
        head = self._words.group.format(
            column=name, value=value, count=len(places), names=self._names(places)
        )
        sums = [self._total(column, places) for column in self._amounts if self._adds_up(column)]
        return self._words.between.join((head, *sums))

    def _total(self, column: _Column, places: Sequence[int]) -> str:
        total = sum(column.values[place] for place in places)
        return self._words.total.format(column=column.name, value=f"{total:.10g}")

    def _adds_up(self, column: _Column) -> bool:
        years = all(value in _YEARS for value in column.values)
        return not column.dates and not years

    def _names(self, places: list[int]) -> str:
        """The rows by the first column that tells them apart, else by their number."""
        names = [self._label[place] if self._label else str(place + 1) for place in places[:MOST_NAMED]]
        if len(places) > MOST_NAMED:
            names.append(self._words.others.format(count=len(places) - MOST_NAMED))
        return ", ".join(names)


def _label(unlike: list[list[str]]) -> list[str] | None:
    """What the rows are called: the first column of names that tells them apart, else up to two of codes."""
    names = (texts for texts in unlike if not any(map(_DIGIT.search, texts)))
    codes = [" ".join(row) for row in zip(*unlike[:2], strict=True)] or None
    return next(names, codes)


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
    if not whole or len(set(header)) < len(header) or any(_value(name) is not None for name in header):
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


def _amounts(name: str, texts: list[str]) -> _Column | None:
    """The column when it holds numbers or dates only."""
    values = [value for text in texts if (value := _value(text)) is not None]
    if len(values) < len(texts):
        return None
    return _Column(name, texts, values, dates=all(map(_DATE.fullmatch, texts)))


def _counts_rows(values: list[float]) -> bool:
    return values == [place + 1 for place in range(len(values))]


def _is_grouping(texts: list[str]) -> bool:
    counts = Counter(texts)
    return 2 <= len(counts) <= MOST_GROUPS and len(counts) < len(texts)


def _value(text: str) -> float | None:
    if _NUMBER.fullmatch(text):
        return float(text)
    if _DATE.fullmatch(text):
        try:
            return date.fromisoformat(text).toordinal()
        except ValueError:
            return None
    return None
