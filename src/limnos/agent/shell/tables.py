"""Names in a table, written in one string."""


def names(text: str) -> frozenset[str]:
    """The words of `text`."""
    return frozenset(text.split())
