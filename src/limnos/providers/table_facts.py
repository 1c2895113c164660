"""What a small model cannot work out from a table is worked out for it: extremes, sums, groups."""

import re
from collections import Counter
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from typing import NamedTuple

from limnos.providers.tables import Row, rows_of

MOST_ROWS = 2_000
MOST_COLUMNS = 4
MOST_NAMED = 4
MOST_GROUPS = 5
MOST_ROW_NAME = 40  # characters

_NUMBER = re.compile(r"[-+]?(?:0|[1-9]\d{0,7})(?:\.\d{1,9})?")  # longer ones and 007 are names, not amounts
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_DIGIT = re.compile(r"\d")
_NO_AMOUNT = re.compile(r"version|port|zip|postcode|plz|code|phone|邮编|电话|编号|版本|端口", re.IGNORECASE)
_TOTAL = re.compile(r"(?:sub|grand )?total|sum|summe|gesamt|合计|总计|小计|总和", re.IGNORECASE)
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


class Measure(NamedTuple):
    """A column of numbers or of dates; `ranks` are in the order of what the cells stand for."""

    name: str
    cells: list[str]
    ranks: list[Decimal]
    dates: bool

    @property
    def adds_up(self) -> bool:
        """Whether a sum says anything."""
        return not self.dates and not all(rank in _YEARS for rank in self.ranks)


class Table(NamedTuple):
    """Which columns can be compared, which have few words, what each row is called."""

    measures: list[Measure]
    groups: dict[str, list[str]]
    labels: list[str]


def table_facts(text: str, words: Words = ENGLISH) -> list[str]:
    """Lines about the table that `text` is, as `tables.rows_of` reads it; none for all other text.

    For each column of numbers its lowest and highest rows and the sum, for dates the first and the last, for
    a column with few different words how many rows and what sums each has. The table has two rows at least.
    """
    rows = [row for row in rows_of(text) if not any(map(_TOTAL.fullmatch, row.values()))]
    if not 2 <= len(rows) <= MOST_ROWS:
        return []
    table = _analysed(rows)
    if not table.measures:  # lines of words with a comma each may be no table at all
        return []
    said = [_compared(table, measure, words) for measure in table.measures]
    for name, cells in table.groups.items():
        said += [_grouped(table, name, value, words) for value in dict.fromkeys(cells)]
    return said


def _analysed(rows: Sequence[Row]) -> Table:
    columns = {name: [row.get(name, "") for row in rows] for name in rows[0]}
    measures = [measure for name, cells in columns.items() if (measure := _measured(name, cells))]
    measured = {measure.name for measure in measures}
    if measures and measures[0].name == next(iter(columns)) and _numbers_rows(measures[0]):
        del measures[0]
    others = {name: cells for name, cells in columns.items() if name not in measured and all(cells)}
    return Table(
        measures[:MOST_COLUMNS],
        {name: cells for name, cells in others.items() if _is_grouping(cells)},
        _labels(len(rows), [cells for cells in others.values() if len(set(cells)) == len(cells)]),
    )


def _measured(name: str, cells: list[str]) -> Measure | None:
    """The column when it holds numbers only, or dates only."""
    if _NO_AMOUNT.search(name):
        return None
    if all(map(_NUMBER.fullmatch, cells)):
        return Measure(name, cells, [Decimal(cell) for cell in cells], dates=False)
    if not all(map(_DATE.fullmatch, cells)):
        return None
    try:
        return Measure(
            name, cells, [Decimal(date.fromisoformat(cell).toordinal()) for cell in cells], dates=True
        )
    except ValueError:
        return None


def _numbers_rows(measure: Measure) -> bool:
    return measure.ranks == list(range(1, len(measure.ranks) + 1))


def _is_grouping(cells: list[str]) -> bool:
    return 2 <= len(Counter(cells)) <= MOST_GROUPS and len(Counter(cells)) < len(cells)


def _labels(size: int, distinct: list[list[str]]) -> list[str]:
    """What the rows are called: the first column of names that tells them apart, else up to two of codes."""
    if not distinct:
        return [str(number) for number in range(1, size + 1)]
    names = (cells for cells in distinct if not any(map(_DIGIT.search, cells)))
    return next(names, [" ".join(codes) for codes in zip(*distinct[:2], strict=True)])


def _compared(table: Table, measure: Measure, words: Words) -> str:
    least, most = words.dates if measure.dates else words.ends
    low, high = min(measure.ranks), max(measure.ranks)
    ends = [(most, high), (least, low)] if low < high else []
    said = [_extreme(table, measure, end, rank, words) for end, rank in ends]
    if measure.adds_up:
        said.append(_total(measure, range(len(measure.ranks)), words))
    return words.between.join(said)


def _extreme(table: Table, measure: Measure, end: str, rank: Decimal, words: Words) -> str:
    places = [place for place, other in enumerate(measure.ranks) if other == rank]
    names, value = _names(table, places, words), measure.cells[places[0]]
    return words.extreme.format(end=end, column=measure.name, names=names, value=value)


def _grouped(table: Table, column: str, value: str, words: Words) -> str:
    places = [place for place, cell in enumerate(table.groups[column]) if cell == value]
    names = _names(table, places, words)
    head = words.group.format(column=column, value=value, count=len(places), names=names)
    totals = [_total(measure, places, words) for measure in table.measures if measure.adds_up]
    return words.between.join((head, *totals))


def _total(measure: Measure, places: Sequence[int], words: Words) -> str:
    return words.total.format(column=measure.name, value=sum(measure.ranks[place] for place in places))


def _names(table: Table, places: list[int], words: Words) -> str:
    more = len(places) - MOST_NAMED
    names = [table.labels[place][:MOST_ROW_NAME] for place in places[:MOST_NAMED]]
    return ", ".join([*names, words.others.format(count=more)] if more > 0 else names)
