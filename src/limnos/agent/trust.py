"""Which folders a person trusts: until then nothing in a workspace is read as a setting or as instructions.

Trust is bound to the resolved path and to the folder itself (device and inode): it does not reach folders
above or below, and ends when the folder is replaced.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, cast

from limnos import lazy
from limnos.agent.settings import read_table
from limnos.agent.workplace import Workplace
from limnos.kernel.errors import SettingsError
from limnos.kernel.tools import ToolFailure
from limnos.sdk.files import Files
from limnos.store.whole import storage_error, write_whole

Answer: TypeAlias = Literal["trusted", "declined"]
GUIDES = ("AGENTS.md", "CLAUDE.md")  # the first that is there
SETTINGS = ".limnos/config.toml"
MOST_GUIDE = 20_000  # characters that reach the prompt


class Trusted(NamedTuple):
    """One remembered answer about a folder; `current` is false when the folder there is another one now."""

    path: str
    answer: Answer
    added: str
    current: bool


class TrustFile:
    """`LIMNOS_HOME/trust.toml`: the folders a person was asked about, and what they said."""

    def __init__(self, home: Path) -> None:
        self._path = home / "trust.toml"

    def answer(self, folder: str) -> Answer | None:
        """What the person said about exactly this folder; None when it was never asked, or is another now.

        Raises SettingsError.
        """
        entry = self._entries().get(_key(folder))
        if entry is None or entry.get("identity") != _identity(folder):
            return None
        return _answer_in(entry)

    def trusts(self, folder: str) -> bool:
        """Whether the person trusts this folder."""
        return self.answer(folder) == "trusted"

    def remember(self, folder: str, answer: Answer, now: str) -> None:
        """Store what the person said. Raises SettingsError or StorageError."""
        entries = self._entries()
        entries[_key(folder)] = {"answer": answer, "identity": _identity(folder), "added": now}
        self._write(entries)

    def forget(self, folder: str) -> bool:
        """Ask again the next time; False when nothing was stored."""
        entries = self._entries()
        if entries.pop(_key(folder), None) is None:
            return False
        self._write(entries)
        return True

    def listed(self) -> list[Trusted]:
        """All answers, by path."""
        return [
            Trusted(
                path, _answer_in(entry), str(entry.get("added", "")), entry.get("identity") == _identity(path)
            )
            for path, entry in sorted(self._entries().items())
        ]

    def _entries(self) -> dict[str, Mapping[str, Any]]:
        table = read_table(self._path).get("folder", {})
        if not isinstance(table, Mapping):
            raise SettingsError(f"folder in {self._path} is no table", f"remove {self._path}")
        entries = cast("Mapping[str, Any]", table).items()
        return {
            path: cast("Mapping[str, Any]", entry) for path, entry in entries if isinstance(entry, Mapping)
        }

    def _write(self, entries: Mapping[str, Mapping[str, Any]]) -> None:
        plain = {path: dict(entry) for path, entry in entries.items()}
        text: str = lazy.tomlkit.dumps({"folder": plain})  # pyright: ignore[reportUnknownMemberType]
        try:
            write_whole(self._path, text.encode())
        except OSError as error:
            raise storage_error(self._path, error, "try again") from None


class Guide(NamedTuple):
    """The words of a workspace to agents: the name of the file and its text."""

    name: str
    text: str


def guide_in(files: Files, most: int = MOST_GUIDE) -> Guide | None:
    """AGENTS.md, else CLAUDE.md, of a folder that is trusted; None when there is none that can be read.

    Read through the door to the folder: a link that leads out of it is no guide.
    """
    for name in GUIDES:
        try:
            text = files.read(name).decode("utf-8", "replace").strip()
        except ToolFailure:
            continue
        if text:
            left_out = f"\n[the rest of {len(text):,} characters is left out]" if len(text) > most else ""
            return Guide(name, text[:most] + left_out)
    return None


def waiting_in(folder: str) -> list[str]:
    """What this folder would tell limnos once it is trusted; empty when there is nothing to ask about."""
    guide = next((name for name in GUIDES if Path(folder, name).is_file()), None)
    settings = SETTINGS if Path(folder, SETTINGS).is_file() else None
    return [name for name in (guide, settings) if name]


def _key(folder: str) -> str:
    """The resolved path as text that TOML can hold, whatever bytes are in it."""
    return os.fsencode(os.path.realpath(folder)).decode("utf-8", "backslashreplace")


def _identity(folder: str) -> str:
    return Workplace(folder).identity()


def _answer_in(entry: Mapping[str, Any]) -> Answer:
    return "trusted" if entry.get("answer") == "trusted" else "declined"
