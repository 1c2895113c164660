"""Rows of the tables that people keep in text files: CSV and flat JSON."""

import csv
import json
import re
from collections.abc import Mapping
from typing import Any, TypeAlias, cast

Row: TypeAlias = Mapping[str, str]

_SEPARATORS = ",;\t"
# Who separates by semicolons may write 330.579 for 330 thousand, or not: nobody can tell.
_THOUSANDS = re.compile(r"[1-9]\d{0,2}(?:\.\d{3})+")


def rows_of(text: str) -> list[Row]:
    """The rows of the table that `text` is, each with its cells by column; none for all other text.

    A table is CSV with a header (comma, semicolon, tab), a JSON list of flat objects, or an object that has
    one such list.
    """
    text = text.removeprefix("\ufeff")
    return _json_rows(text) if text.lstrip().startswith(("{", "[")) else _csv_rows(text)


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
    even = all(len(line) == len(header) for line in lines)
    if not even or not all(header) or len(set(header)) < len(header) or any(map(_begins_a_number, header)):
        return []
    if separator == ";" and any(_THOUSANDS.fullmatch(cell.strip()) for line in lines for cell in line):
        return []
    return [dict(zip(header, map(str.strip, line), strict=True)) for line in lines]


def _begins_a_number(name: str) -> bool:
    """Whether it can be no name of a column: then the first line is a row like all others."""
    return name.lstrip("+-")[:1].isdecimal()


def _json_rows(text: str) -> list[Row]:
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        return []
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        lists: list[Any] = [item for item in members.values() if isinstance(item, list)]
        value = lists[0] if len(lists) == 1 else None
    items: list[Any] = cast("list[Any]", value) if isinstance(value, list) else []
    rows = [_flat(cast("dict[str, Any]", item)) for item in items if isinstance(item, dict)]
    return rows if len(rows) == len(items) and all(rows) else []


def _flat(item: Mapping[str, Any]) -> Row:
    return {
        name: str(value)
        for name, value in item.items()
        if isinstance(value, str | int | float) and not isinstance(value, bool)
    }
