"""Days as words: what was said on a day is found by a question that names the day, however it is written.

A document is indexed with the marks of the day it is from, beside its terms; a question that names a day, a
month or a year asks for the marks it names. Measured on conversations: recall at 5 by 2 points.
"""

import re
from datetime import UTC, datetime

_MONTHS = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
_NUMBERS = {name: number for number, name in enumerate(_MONTHS, 1)} | {
    name[:3]: number for number, name in enumerate(_MONTHS, 1)
}
_NUMBERS["sept"] = 9
_NAME = rf"(?P<name>{'|'.join(sorted(_NUMBERS, key=len, reverse=True))})\b\.?"
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_DAY = r"(?P<day>[0-3]?\d)"
_PATTERNS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\b{_YEAR}[-/.](?P<month>[01]?\d)[-/.]{_DAY}(?!\d)",
        rf"{_YEAR}\s*年\s*(?P<month>[01]?\d)\s*月(?:\s*{_DAY}\s*[日号])?",
        rf"(?<!\d)(?P<month>[01]?\d)\s*月\s*{_DAY}\s*[日号]",
        rf"\b{_DAY}(?:st|nd|rd|th)?\s+(?:of\s+)?{_NAME}(?:,?\s+{_YEAR}\b)?",
        rf"\b{_NAME}\s+{_DAY}(?:st|nd|rd|th)?\b(?!\d)(?:,?\s+{_YEAR}\b)?",
        rf"\b{_NAME},?\s+(?:of\s+)?{_YEAR}\b",
        rf"\b(?:in|of|since|until|during|last|this|next|early|late|mid)[\s-]+{_NAME}",
        rf"\b{_YEAR}[-/.](?P<month>[01]\d)\b",
        rf"(?<!\d){_YEAR}(?:\s*年|\b)",
    )
)
_TEXT_CHARS = 4_000
_MOST = 16


def day_marks(time: float) -> list[str]:
    """The marks of the day (UTC) of `time`, seconds since 1970, to be indexed with a document's terms.

    A time that no calendar has gives none.
    """
    try:
        day = datetime.fromtimestamp(time, UTC)
    except (ValueError, OverflowError, OSError):
        return []
    return [f"@{day:%Y-%m-%d}", f"@{day:%m-%d}", f"@{day:%Y-%m}", f"@{day:%m}", f"@{day:%Y}"]


def asked_marks(text: str) -> list[str]:
    """The marks of the days, months and years that `text` names, each once: the narrowest of each, and a
    day's month beside it. Of a longer text the first 4,000 characters count.
    """
    found: dict[str, None] = {}
    rest = text[:_TEXT_CHARS]
    for pattern in _PATTERNS:
        for match in pattern.finditer(rest):
            found |= dict.fromkeys(_marks(match))
        rest = pattern.sub(" ; ", rest)
    return list(found)[:_MOST]


def _marks(match: re.Match[str]) -> list[str]:
    groups = match.groupdict()
    year, day = groups.get("year"), int(groups.get("day") or 0)
    name = groups.get("name")
    month = _NUMBERS[name.lower()] if name else int(groups.get("month") or 0)
    if month > 12 or day > 31:
        return []
    if not month:
        return [f"@{year}"]
    whole = f"{year}-{month:02}" if year else f"{month:02}"
    return [f"@{whole}-{day:02}", f"@{whole}"] if day else [f"@{whole}"]
