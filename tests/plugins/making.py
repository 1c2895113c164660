"""Plugins for tests: folders with a `plugin.toml`, and manifests without one."""

from pathlib import Path

from limnos.plugins.manifest import Manifest, ToolDeclaration

HEAD = """\
name = "{name}"
version = "1.0"
description = "Does {name} things."
protocol = 1
entry = "python:{name}"
"""
GREET = """\
[[tools]]
name = "{name}_greet"
description = "Greet somebody."
[tools.parameters.who]
type = "string"
description = "who is greeted"
"""


def plugin(folder: Path, name: str, *lines: str, tools: str = "") -> Path:
    """Write the plugin `name` into a folder below `folder`; `lines` go to the top of its manifest."""
    place = folder / name
    place.mkdir(parents=True)
    text = HEAD.format(name=name) + "".join(f"{line}\n" for line in lines) + tools.format(name=name)
    (place / "plugin.toml").write_text(text)
    (place / f"{name}.py").write_text(f'"""The plugin {name}."""\n')
    return place


def manifest(
    name: str,
    provides: tuple[str, ...] = (),
    needs: tuple[str, ...] = (),
    tools: tuple[str, ...] = (),
    **more: object,
) -> Manifest:
    """A manifest of which only its place among others matters."""
    declared = tuple(ToolDeclaration(tool, "A tool.", {"type": "object"}) for tool in tools)
    plain = Manifest(name, "1.0", "A plugin.", f"/plugins/{name}", ("python:x",))
    return plain._replace(provides=provides, needs=needs, tools=declared, **more)
