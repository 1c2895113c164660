"""The embedded models that limnos knows: what each is, its pinned hash, and where its file can come from."""

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from limnos.kernel.errors import UsageError

DEFAULT = "qwen2.5-coder-1.5b"

_HERE = Path(__file__).parent
_DIGEST = re.compile(r"[0-9a-f]{64}")


class Licence(NamedTuple):
    """An SPDX id, whom to name, and where the publisher keeps its copy of the text."""

    id: str
    holder: str
    published: str

    def text(self) -> str:
        """The whole text, with the holder and the publisher's address at its head."""
        body = (_HERE / "licences" / f"{self.id}.txt").read_text(encoding="utf-8")
        return f"{self.holder}\nLicensed under {self.id}; the publisher's copy: {self.published}\n\n{body}"


class WheelPart(NamedTuple):
    """A wheel of the package index and the one member of it that is a part of the model file."""

    distribution: str
    version: str
    member: str


class Wheels(NamedTuple):
    """Wheels that carry a model file in numbered parts; `{n}` stands for the number, from 1."""

    distribution: str
    version: str
    member: str
    parts: int

    def each(self) -> tuple[WheelPart, ...]:
        """The parts in the order in which they are joined."""
        return tuple(
            WheelPart(self.distribution.format(n=n), self.version, self.member.format(n=n))
            for n in range(1, self.parts + 1)
        )


class Entry(NamedTuple):
    """One model. `size` and `memory` (what running it needs) are bytes, `context` is tokens.

    Sources are tried in this order: a local file that the person names, `hub` (an https address of the
    publisher's), `wheels`. Whatever the source, the file is used only if its hash is `sha256`.
    """

    name: str
    label: str
    file: str
    size: int
    sha256: str
    licence: Licence
    hub: str | None
    wheels: Wheels | None
    memory: int
    context: int


@cache
def catalogue() -> Mapping[str, Entry]:
    """All entries by name, the default one first."""
    data = json.loads((_HERE / "catalogue.json").read_bytes())
    entries = {name: _entry(name, fields) for name, fields in data.items()}
    return {DEFAULT: entries[DEFAULT], **entries}


def _entry(name: str, fields: Mapping[str, Any]) -> Entry:
    wheels = fields["wheels"]
    typed: dict[str, Any] = {"licence": Licence(**fields["licence"])}
    typed["wheels"] = Wheels(**wheels) if wheels else None
    return Entry(name=name, **(dict(fields) | typed))


def entry(name: str) -> Entry:
    """The entry called `name`. Raises `UsageError` with the names there are."""
    if found := catalogue().get(name):
        return found
    raise UsageError(f"no model is called {name!r}", f"choose one of: {', '.join(catalogue())}")


def is_digest(text: str) -> bool:
    """Whether `text` is a SHA-256 in hex; nothing else may become part of a path."""
    return _DIGEST.fullmatch(text) is not None
