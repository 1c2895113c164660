"""Money as files hold it: a decimal number as text."""

from decimal import Decimal, InvalidOperation

_MOST = Decimal(10) ** 15  # more is damage, and sums of the largest numbers overflow


def amount(text: str) -> Decimal | None:
    """The number that `text` stands for; None for what is no amount of money."""
    try:
        value = Decimal(text)
    except InvalidOperation:
        return None
    return value if value.is_finite() and abs(value) < _MOST else None
