"""Times, sizes and counts as people say them; machines get the raw numbers elsewhere."""

from datetime import datetime, tzinfo

_MINUTE, _HOUR, _DAY = 60, 3600, 86400


def duration(milliseconds: float) -> str:
    """`0.2 s`, `4 s`, `2 min 10 s`, `3 h 5 min`, `3 days 4 h`."""
    seconds = milliseconds / 1000
    if seconds < 9.95 and round(seconds, 1) != round(seconds):
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < _MINUTE:
        return f"{whole} s"
    if whole < _HOUR:
        return _pair(whole // _MINUTE, "min", whole % _MINUTE, "s")
    if whole < _DAY:
        return _pair(whole // _HOUR, "h", whole % _HOUR // _MINUTE, "min")
    days = whole // _DAY
    return _pair(days, "day" if days == 1 else "days", whole % _DAY // _HOUR, "h")


def remaining(seconds: float) -> str:
    """`about 45 s left`, in steps of 5 s below a minute and of 1 min above."""
    if seconds < 57.5:
        return f"about {max(5, 5 * round(seconds / 5))} s left"
    return f"about {max(1, round(seconds / _MINUTE))} min left"


def size(count: int) -> str:
    """Bytes in decimal units: `71 bytes`, `412 kB`, `478 MB`, `1.1 GB`."""
    if count < 1000:
        return "1 byte" if count == 1 else f"{count} bytes"
    for unit, factor in (("kB", 1e3), ("MB", 1e6)):
        if count < 999.5 * factor:
            return f"{count / factor:.0f} {unit}"
    return f"{count / 1e9:.1f} GB"


def memory(count: int) -> str:
    """Bytes of memory in binary units, as memory is sold: `512 MB`, `2 GB`."""
    return f"{count / 2**30:.0f} GB" if count >= 2**30 else f"{count / 2**20:.0f} MB"


def rate(bytes_per_second: float) -> str:
    """`12 MB/s`."""
    return f"{size(round(bytes_per_second))}/s"


def thousands(count: int) -> str:
    """Tokens: `810`, `3.0k`, `12.1k`, `212k`."""
    if count < 1000:
        return str(count)
    return f"{count / 1000:.1f}k" if count < 99_950 else f"{count / 1000:.0f}k"


def counted(count: int, word: str, words: str = "") -> str:
    """`1 call`, `2 calls`; `words` where the plural is more than an s."""
    return f"{count:,} {word}" if count == 1 else f"{count:,} {words or word + 's'}"


def money(cost: str, currency: str) -> str:
    """`free`, or the amount with its currency."""
    return "free" if not cost.strip("0.") else f"{cost} {currency}"


def parse(iso: str) -> datetime | None:
    """An ISO time of the event stream, or None."""
    try:
        return datetime.fromisoformat(iso)
    except ValueError:
        return None


def when(iso: str, now: datetime, zone: tzinfo | None = None) -> str:
    """`today 21:31`, `yesterday 18:02`, `Monday 09:00`, `2 March`, `2 March 2025` in the viewer's zone."""
    stamp = parse(iso)
    if stamp is None:
        return iso
    here, today = stamp.astimezone(zone), now.astimezone(zone)
    days = (today.date() - here.date()).days
    if days == 0:
        return f"today {here:%H:%M}"
    if days == 1:
        return f"yesterday {here:%H:%M}"
    if 1 < days < 7:
        return f"{here:%A %H:%M}"
    return f"{here.day} {here:%B}" + ("" if here.year == today.year else f" {here.year}")


def clock(iso: str, zone: tzinfo | None = None, seconds: bool = False) -> str:
    """The time of day in the viewer's zone: `21:45` or `21:45:06`."""
    stamp = parse(iso)
    return iso if stamp is None else f"{stamp.astimezone(zone):{'%H:%M:%S' if seconds else '%H:%M'}}"


def _pair(large: int, large_unit: str, small: int, small_unit: str) -> str:
    return f"{large} {large_unit}" + (f" {small} {small_unit}" if small else "")
