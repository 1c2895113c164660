"""The pages about plugins say what holds: every field, every capability, an example that is read."""

import re
from pathlib import Path

from limnos.plugins.manifest import (
    MIB,
    ChannelDeclaration,
    Manifest,
    PluginLimits,
    StageDeclaration,
    ToolDeclaration,
)
from limnos.plugins.reading import read_manifest
from limnos.wire.table import CAPABILITIES
from tests.architecture.source import ROOT

MANIFEST = (ROOT / "docs" / "protocol" / "manifest.md").read_text(encoding="utf-8")
GUIDE = (ROOT / "docs" / "guide" / "plugins.md").read_text(encoding="utf-8")
OURS = {"folder", "builtin"}  # what limnos knows and no manifest says
EXAMPLE = re.search(r"^```toml\n(.*?)^```$", MANIFEST, re.DOTALL | re.MULTILINE)


def test_the_complete_example_is_read(tmp_path: Path) -> None:
    assert EXAMPLE is not None
    (tmp_path / "plugin.toml").write_text(EXAMPLE[1])
    (tmp_path / "run.sh").write_text("#!/bin/sh\n")
    (tmp_path / "run.sh").chmod(0o755)
    (tmp_path / "station.json").write_text('{"type": "object"}')

    read = read_manifest(tmp_path)

    assert [tool.name for tool in read.tools] == ["forecast", "station_report"]
    assert read.limits == PluginLimits(256 * MIB, 3600, 8, 64, 32 * MIB, 300.0)


def test_every_field_is_explained_and_stands_in_the_example() -> None:
    assert EXAMPLE is not None
    rows = set(re.findall(r"^\| `(\w+)` \|", MANIFEST, re.MULTILINE))
    for kind in (Manifest, ToolDeclaration, StageDeclaration, ChannelDeclaration, PluginLimits):
        for field in set(kind._fields) - OURS:
            assert field in rows, field
            assert re.search(rf"\b{field}\b", EXAMPLE[1]), field


def test_the_defaults_in_the_tables_are_those_of_the_code() -> None:
    defaults = dict(re.findall(r"^\| `(\w+)` \| \w+ \| `?\"?([^|`\"]+?)\"?`? \|", MANIFEST, re.MULTILINE))
    for kind in (ToolDeclaration, PluginLimits):
        for field, value in kind._field_defaults.items():
            said = defaults[field] if field != "timeout_s" else "60"
            assert said == _written(field, value), field


def _written(field: str, value: object) -> str:
    if field in ("memory", "arena") and isinstance(value, int):
        return f"{value // MIB} MB" if value < 1024 * MIB else f"{value // MIB // 1024} GB"
    if isinstance(value, float):
        return f"{value:g}"
    return {None: "none", "": "none", True: "true", False: "false"}.get(value, str(value))  # type: ignore[arg-type]


def test_every_capability_is_explained_to_people() -> None:
    words = set(re.findall(r"`([a-z_]+:?[a-zA-Z]*)`", GUIDE))

    assert {name.rstrip(":") for name in CAPABILITIES} <= words | {"files"}
    assert "files:PATH" in words
