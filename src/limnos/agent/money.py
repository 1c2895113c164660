"""Amounts of money as a person writes them."""

from decimal import Decimal, InvalidOperation

from limnos.kernel.errors import SettingsError


def money(text: str, key: str) -> Decimal:
    """A decimal amount. Raises SettingsError that names `key`, which may be followed by where it stands."""
    fix = f"limnos config set {key.split(' ', maxsplit=1)[0]} 1.50"
    try:
        amount = Decimal(text)
    except InvalidOperation:
        raise SettingsError(f"{key} is {text!r}, not an amount of money", fix) from None
    if not amount.is_finite() or amount < 0:
        raise SettingsError(f"{key} is {text!r}, not a finite amount of at least 0", fix)
    return amount


def cap(text: str, key: str) -> Decimal | None:
    """A cap of money; None when there is none."""
    return money(text, key) if text else None
