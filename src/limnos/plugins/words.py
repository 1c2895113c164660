"""What a plugin may do, in words for the person who is asked."""

from collections.abc import Iterable, Iterator

from limnos.plugins.manifest import Manifest
from limnos.wire.table import CAPABILITIES

_FILES = "files:"


def meaning(capability: str) -> str:
    """One capability in words."""
    if not capability.startswith(_FILES):
        return CAPABILITIES.get(capability, capability)
    path = capability.removeprefix(_FILES)
    folder = path.removesuffix(":rw")
    place = "the folder limnos works in" if folder == "workspace" else f"the folder {folder}"
    return f"read and change files in {place}" if path.endswith(":rw") else f"read files in {place}"


def may(manifest: Manifest, before: Iterable[str] = ()) -> Iterator[str]:
    """Lines about a plugin: what it runs, what it may do, what it adds; new capabilities are marked as such.

    `before` are the capabilities that the person has accepted already.
    """
    known = set(before)
    yield f"runs   {' '.join(manifest.entry)}"
    for capability in manifest.capabilities:
        new = " (new)" if known and capability not in known else ""
        yield f"may    {meaning(capability)} ({capability}){new}"
    if not manifest.capabilities:
        yield "may    nothing beside its own tools, settings and data"
    for tool in manifest.tools:
        asks = "asks first" if tool.needs_approval else "never asks"
        yield f"tool   {tool.name}: {tool.description} ({_effects(tool.effects)}, {asks})"
    for stage in manifest.stages:
        reach = "of everything" if stage.scope == "global" else "of its own tools"
        does = "sees, changes and stops" if stage.rewrites else "sees and stops"
        yield f"stage  {stage.name}: {does} {stage.stage} {reach}"
    for channel in manifest.channels:
        yield f"sends  {channel.name}: {channel.description}"
    for proxy in manifest.proxies:
        yield f"page   {proxy}"
    if manifest.group:
        yield f"group  shares a process with the plugins of {manifest.group}"


def _effects(effects: str) -> str:
    return {"none": "changes nothing", "local": "changes this machine"}.get(effects, "reaches outside")
