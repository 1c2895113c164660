"""Who commits: the name and address of the person's Git settings, all of the home that commands see."""

import os
import re

_LARGEST = 256 << 10
_SECTION = re.compile(r'\s*\[\s*([A-Za-z0-9.-]+)\s*(?:"[^"]*")?\s*\]')
_VALUE = re.compile(r"\s*(name|email)\s*=\s*(.*?)\s*$", re.IGNORECASE)
_FILES = (".config/git/config", ".gitconfig")  # the later one wins, as in Git


def git_identity(home: str) -> bytes:
    """A section `[user]` for a settings file of Git; empty when the person has set no name and no address.

    Only these two values are taken, and nothing that a file includes.
    """
    known: dict[str, str] = {}
    for name in _FILES if home else ():
        known |= _user_in(_text(os.path.join(home, name)))
    rows = [f"\t{name} = {_quoted(value)}\n" for name, value in known.items() if value]
    return f"[user]\n{''.join(rows)}".encode() if rows else b""


def _user_in(text: str) -> dict[str, str]:
    section = ""
    found: dict[str, str] = {}
    for line in text.split("\n"):
        if begun := _SECTION.match(line):
            section = begun.group(1).lower()
        elif section == "user" and (value := _VALUE.match(line)):
            found[value.group(1).lower()] = value.group(2).strip('"')
    return found


def _text(path: str) -> str:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return os.read(descriptor, _LARGEST).decode("utf-8", "replace")
    except OSError:
        return ""
    finally:
        os.close(descriptor)


def _quoted(value: str) -> str:
    kept = "".join(one for one in value if one.isprintable())
    return '"' + kept.replace("\\", "\\\\").replace('"', '\\"') + '"'
