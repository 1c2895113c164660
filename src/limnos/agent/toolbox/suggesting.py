"""A path that is not there, answered with names that it may have meant."""

import asyncio
from collections.abc import Callable

from limnos.kernel.messages import Arguments
from limnos.kernel.tools import Execute, Output, Preview, ToolContext, ToolFailure
from limnos.sdk.files import Files, shown


def suggesting(files: Files, execute: Execute) -> Execute:
    """`execute`, whose failure about a missing `path` names like ones.

    They are looked up here, not by `files`: a question about a new file meets that failure several times.
    """

    async def run(arguments: Arguments, context: ToolContext) -> Output:
        try:
            return await execute(arguments, context)
        except ToolFailure as failure:
            raise await asyncio.to_thread(_with_like_names, files, failure, arguments) from None

    return run


def suggesting_preview(
    files: Files, preview: Callable[[Arguments], Preview]
) -> Callable[[Arguments], Preview]:
    """`preview` likewise: a call that it finds would fail is answered at once."""

    def look(arguments: Arguments) -> Preview:
        try:
            return preview(arguments)
        except ToolFailure as failure:
            raise _with_like_names(files, failure, arguments) from None

    return look


def _with_like_names(files: Files, failure: ToolFailure, arguments: Arguments) -> ToolFailure:
    if failure.error.reason != "not_found":
        return failure
    near = files.near(str(arguments.get("path") or "."))
    hint = f"did you mean {' or '.join(map(shown, near))}?"
    return ToolFailure("not_found", failure.error.detail, hint) if near else failure
