"""The tools of a `plugin.toml`."""

import json
from pathlib import Path
from typing import Final, cast

from limnos.kernel.tools import Effects
from limnos.plugins.manifest import ToolDeclaration
from limnos.plugins.parts import SENDS
from limnos.plugins.schemas import read_parameters, read_schema
from limnos.plugins.tables import Table

MOST_DEFINITION: Final = 32 * 1024  # bytes of what a model is told of one tool
_NAME = r"[A-Za-z0-9_-]{1,64}"


def read_tool(table: Table, folder: Path) -> ToolDeclaration:
    """One `[[tools]]` of the plugin in `folder`."""
    usual = ToolDeclaration("", "", {})
    name = table.text("name", form=_NAME, says="up to 64 letters, digits, - and _")
    if name.startswith(SENDS):
        table.fault("name", f"begins with {SENDS}, as only the tools of channels do", "name it differently")
    if table.has("schema") and table.has("parameters"):
        table.fault("schema", "stands beside parameters", "keep one of them")
    timeout = table.number("timeout_s", usual.timeout_s, 0.1, 86_400.0)
    declared = ToolDeclaration(
        name=name,
        description=table.text("description"),
        parameters=read_schema(table, folder) if table.has("schema") else read_parameters(table),
        effects=cast("Effects", table.choice("effects", ("external", "local", "none"), usual.effects)),
        needs_approval=table.flag("needs_approval", usual.needs_approval),
        parallel_safe=table.flag("parallel_safe", usual.parallel_safe),
        serial=table.flag("serial", usual.serial),
        timeout_s=float(timeout or usual.timeout_s),
        private=table.flag("private", usual.private),
        repeatable=table.flag("repeatable", usual.repeatable),
        no_memory=table.flag("no_memory", usual.no_memory),
        subject=table.text("subject", "", most=64),
    )
    table.finish()
    _check_whole(table, declared)
    return declared


def _check_whole(table: Table, tool: ToolDeclaration) -> None:
    if tool.parallel_safe and tool.serial:
        table.fault("serial", "stands beside parallel_safe", "keep one of them")
    known = tool.parameters.get("properties", {})
    if tool.subject and isinstance(known, dict) and tool.subject not in known:
        table.fault("subject", f"is {tool.subject!r}, which is no parameter", "name a parameter of the tool")
    if table.page.faults:
        return
    told = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    size = len(json.dumps(told, ensure_ascii=False).encode())
    if size > MOST_DEFINITION:
        table.fault("description", f"and the schema take {size:,} bytes", f"keep to {MOST_DEFINITION:,}")
