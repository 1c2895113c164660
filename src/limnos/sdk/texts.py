"""Bytes of a file as text, its lines and their number in words: in one way for everything that reads."""

_MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
_LOOKED_AT = 8192


def marked(data: bytes) -> tuple[bytes, str]:
    """The byte order mark that `data` begins with, and the encoding it names; UTF-8 without one."""
    return next(((mark, codec) for mark, codec in _MARKS if data.startswith(mark)), (b"", "utf-8"))


def decoded(data: bytes) -> str | None:
    """The text without its mark, bad bytes as U+FFFD; None for a binary file (NUL in its first 8 KB)."""
    mark, codec = marked(data)
    if not mark and b"\x00" in data[:_LOOKED_AT]:
        return None
    return data[len(mark) :].decode(codec, "replace")


def lines_of(text: str) -> list[str]:
    """The lines of `text` with their ends; only LF ends a line, as for every other tool."""
    *whole, last = text.split("\n")
    return [*(f"{line}\n" for line in whole), *([last] if last else [])]


def counted(number: int, what: str) -> str:
    """`1 file`, `2 files`."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
