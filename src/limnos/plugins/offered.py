"""Tools of the kernel for those that plugins declare. Light: a start needs it, and no process for it."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

from limnos.kernel.messages import Arguments, ToolError
from limnos.kernel.tools import Execute, Tool
from limnos.plugins.manifest import ChannelDeclaration, ToolDeclaration


class FileChange(NamedTuple):
    """A file that a tool changed; None where it is not there."""

    path: str
    before: bytes | None
    after: bytes | None


class SessionSide(NamedTuple):
    """What belongs to one session: its name, who hears of changed files, what limnos prepares for a call.

    `changed` gets the call and the change, in a thread, before the call has its result.
    """

    session: str = ""
    changed: Callable[[str, FileChange], object] | None = None
    order: Callable[[str, Arguments], Mapping[str, Any] | None] = lambda tool, arguments: None


def tool_of(
    plugin: str, declared: ToolDeclaration, run: Execute, preflight: Callable[[Arguments], ToolError | None]
) -> Tool:
    """The kernel's tool for one that a manifest declares, done by `run`."""
    return Tool(
        name=declared.name,
        description=declared.description,
        parameters=declared.parameters,
        execute=run,
        effects=declared.effects,
        needs_approval=declared.needs_approval,
        parallel_safe=declared.parallel_safe,
        serial=declared.serial,
        timeout_s=declared.timeout_s,
        private=declared.private,
        repeatable=declared.repeatable,
        no_memory=declared.no_memory,
        subject=partial(_argument, declared.subject) if declared.subject else None,
        preflight=preflight,
        plugin=plugin,
    )


def sending_tool_of(
    plugin: str,
    channel: ChannelDeclaration,
    run: Execute,
    preflight: Callable[[Arguments], ToolError | None],
) -> Tool:
    """`output_send__NAME`, which sends a text through a channel."""
    texts = {
        "to": {"type": "string", "minLength": 1, "description": "whom or where to"},
        "text": {"type": "string", "minLength": 1, "description": "what to send"},
    }
    return Tool(
        f"output_send__{channel.name}",
        f"Send a text: {channel.description}",
        {"type": "object", "properties": texts, "required": ["to", "text"], "additionalProperties": False},
        run,
        effects="external",
        needs_approval=True,
        serial=True,
        subject=partial(_argument, "to"),
        preflight=preflight,
        plugin=plugin,
    )


def _argument(name: str, arguments: Arguments) -> str:
    return str(arguments.get(name, ""))
