"""The kernel's own tools: the time, the plan, closed tool groups, and paging through large results."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from limnos import lazy
from limnos.kernel.messages import Arguments
from limnos.kernel.registry import Catalogue
from limnos.kernel.seams import Blobs, Clock
from limnos.kernel.tools import BLOCK_READ, BLOCKS, TOOLS_OPEN, Output, Tool, ToolContext, ToolFailure
from limnos.sdk.schema import object_schema

PAGE = 20_000


def clock_tool(clock: Clock, zone: Callable[[], str]) -> Tool:
    """now: the date and time, in the person's zone or another."""

    async def now(arguments: Arguments, context: ToolContext) -> Output:
        name = arguments.get("zone") or zone()
        try:
            place = lazy.zoneinfo.ZoneInfo(name)
        except (lazy.zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
            raise ToolFailure(
                "invalid_arguments", f"{name!r} is no time zone", "use a name like Europe/Berlin"
            ) from None
        moment = datetime.fromisoformat(clock.now().replace("Z", "+00:00")).astimezone(place)
        text = f"{moment:%A, %Y-%m-%d %H:%M:%S} {name} (UTC{moment:%z})"
        return Output(text, text)

    return Tool(
        "now",
        "Tell the current date, weekday and time.",
        object_schema(
            [], zone={"type": "string", "description": "IANA time zone; the person's own if absent"}
        ),
        now,
        parallel_safe=True,
        repeatable=True,
    )


def plan_tool(publish: Callable[[list[dict[str, Any]]], object]) -> Tool:
    """plan_update: replaces the short plan that every front end shows; `publish` tells them."""

    async def update(arguments: Arguments, context: ToolContext) -> Output:
        items = [dict(item) for item in arguments["items"]]
        publish(items)
        done = sum(item["state"] == "done" for item in items)
        return Output(f"The plan has {len(items)} points, {done} done.", f"{done} of {len(items)} done")

    item = object_schema(
        ["text", "state"],
        text={"type": "string", "minLength": 1, "maxLength": 200, "description": "what is to be done"},
        state={"type": "string", "enum": ["pending", "active", "done"], "description": "how far it is"},
    )
    return Tool(
        "plan_update",
        "Replace the plan of a longer task.",
        object_schema(
            ["items"],
            items={"type": "array", "maxItems": 20, "items": item, "description": "all points in order"},
        ),
        update,
        repeatable=True,
    )


def block_tool(blobs: Blobs) -> Tool:
    """block_read: pages through a result that was too large to show; offered once there is one."""

    async def read(arguments: Arguments, context: ToolContext) -> Output:
        try:
            text = blobs.get(arguments["block"]).decode("utf-8", "replace")
        except KeyError:
            raise ToolFailure(
                "not_found", f"there is no block {arguments['block']}", "copy the id exactly"
            ) from None
        start = arguments.get("start", 0)
        page = text[start : start + PAGE]
        if not page:
            raise ToolFailure("not_found", f"the block has {len(text)} characters", "start before its end")
        head = f"[characters {start} to {start + len(page)} of {len(text)}]\n"
        return Output(head + page, f"{len(page)} of {len(text)} characters", origin="block")

    return Tool(
        BLOCK_READ,
        "Read on in a large result by its block id.",
        object_schema(
            ["block"],
            block={"type": "string", "description": "the id that stands where the result was cut"},
            start={
                "type": "integer",
                "minimum": 0,
                "description": "the first character to read; 0 if absent",
            },
        ),
        read,
        parallel_safe=True,
        private=True,
        plugin=BLOCKS,
    )


def catalogue_tool(catalogue: Catalogue) -> Tool:
    """tools_open: puts the tools of a closed plugin into the requests to come."""

    async def open_plugin(arguments: Arguments, context: ToolContext) -> Output:
        grouped = catalogue.plugins()
        name = arguments["plugin"]
        if name not in grouped:
            raise ToolFailure("not_found", f"there is no plugin {name!r}", f"one of: {', '.join(grouped)}")
        catalogue.touch(name)
        return Output(f"Now offered: {', '.join(grouped[name])}", f"{name}, {len(grouped[name])} tools")

    return Tool(
        TOOLS_OPEN,
        "Open a group of tools that the system prompt names.",
        object_schema(["plugin"], plugin={"type": "string", "description": "name of the group"}),
        open_plugin,
    )
