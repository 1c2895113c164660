"""How long to wait after 429 and 503, and how often to try again."""

import math
import random
import re
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import NamedTuple

LONGEST_S = 300.0

_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,4})?", re.ASCII)
_OLD_DATE = re.compile(r"[A-Za-z]+, (\d{1,2})-([A-Za-z]{3})-(\d{2}) (\d{2}:\d{2}:\d{2}) GMT", re.ASCII)
_LONGEST_HEADER = 100


def retry_after(header: str | None, now: datetime) -> float | None:
    """The seconds that a `Retry-After` header asks for, within 0 to 300; None when it says nothing usable.

    The header is a number of seconds or an HTTP date in any of the three forms. `now` has a zone.
    """
    text = (header or "").strip()
    if not text or len(text) > _LONGEST_HEADER:
        return None
    if _NUMBER.fullmatch(text):
        seconds = float(text)
        return _clamped(seconds) if math.isfinite(seconds) else None
    moment = _http_date(text, now)
    return None if moment is None else _clamped((moment - now).total_seconds())


def _clamped(seconds: float) -> float:
    return min(max(seconds, 0.0), LONGEST_S)


def _http_date(text: str, now: datetime) -> datetime | None:
    if old := _OLD_DATE.fullmatch(text):
        day, month, year, time = old.groups()
        text = f"{day} {month} {_full_year(int(year), now.year)} {time} GMT"
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _full_year(two_digits: int, this_year: int) -> int:
    """A two-digit year that seems more than 50 years ahead is in the past (RFC 9110, 5.6.7)."""
    year = this_year - this_year % 100 + two_digits
    return year - 100 if year > this_year + 50 else year


class Backoff(NamedTuple):
    """When to try again. `tries` counts the first one; all waits together stay within `total_s`.

    Without a word from the server the wait before try n+1 is `base_s` * 2^(n-1), at most `longest_s`,
    of which a random half is taken off so that clients do not come back together.
    """

    tries: int = 3
    total_s: float = 300.0
    base_s: float = 1.0
    longest_s: float = 30.0
    jitter: Callable[[], float] = random.random

    def wait(self, tried: int, waited_s: float, asked_s: float | None) -> float | None:
        """Seconds to wait after `tried` tries and `waited_s` of waiting; None: give up."""
        if tried >= self.tries:
            return None
        own = min(self.base_s * 2 ** (tried - 1), self.longest_s) * (1 - self.jitter() / 2)
        wait = own if asked_s is None else asked_s
        return wait if waited_s + wait <= self.total_s else None
