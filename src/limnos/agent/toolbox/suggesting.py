"""A path that is not there, answered with names that it may have meant."""

import asyncio

from limnos.kernel.messages import Arguments
from limnos.kernel.tools import Execute, Output, ToolContext, ToolFailure
from limnos.sdk.files import Files, shown


def suggesting(files: Files, execute: Execute) -> Execute:
    """`execute`, whose failure about a missing `path` names like ones.

    They are looked up here, not by `files`: a question about a new file meets that failure several times.
    """

    async def run(arguments: Arguments, context: ToolContext) -> Output:
        try:
            return await execute(arguments, context)
        except ToolFailure as failure:
            if failure.error.reason != "not_found":
                raise
            near = await asyncio.to_thread(files.near, str(arguments.get("path") or "."))
            if not near:
                raise
            hint = f"did you mean {' or '.join(map(shown, near))}?"
            raise ToolFailure("not_found", failure.error.detail, hint) from None

    return run
