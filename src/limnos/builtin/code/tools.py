"""The tools `run_python` and `run_node`.

What runs and what holds it comes from limnos as the order of the call; the code is its standard input.
"""

import asyncio
from contextlib import suppress
from pathlib import Path

from limnos.builtin.code.scratch import MOST_BYTES, MOST_NAMES, Scratch, is_full, removed_leftovers
from limnos.sdk.ended import MAX_OUTPUT, ended
from limnos.sdk.plugin import Call, Output, Plugin, ToolError, ToolFailure
from limnos.sdk.programs import Completed, StartError, entering, run

LONGER = "give it a longer timeout_s, or less to do"
LOOK_S = 0.5  # between looks at how much it has written

plugin = Plugin()
_scratches: dict[str, Scratch] = {}


@plugin.tool
async def run_python(call: Call, code: str, timeout_s: float = 0.0) -> Output:
    """Python code to its end."""
    return await _run(call, code)


@plugin.tool
async def run_node(call: Call, code: str, timeout_s: float = 0.0) -> Output:
    """JavaScript to its end."""
    return await _run(call, code)


@plugin.on_start
def begin() -> None:
    """What a process that was killed has left is nobody's."""
    removed_leftovers(plugin.data / "scratch")


@plugin.on_session_closed
def leave(session: str) -> None:
    """The scratch folder goes with its session."""
    if scratch := _scratches.pop(session, None):
        scratch.remove()


@plugin.on_stop
def end() -> None:
    """And all of them with limnos."""
    for session in tuple(_scratches):
        leave(session)


async def _run(call: Call, code: str) -> Output:
    if not call.order:
        raise ToolFailure("refused", "limnos has not prepared this code", "call it through limnos")
    if call.session not in _scratches:
        _scratches[call.session] = Scratch(Path(call.order["scratch"]))
    scratch = _scratches[call.session]
    seconds = float(call.order["seconds"])
    try:
        done = await _within(call, code, seconds, scratch)
    except StartError as error:
        return Output("", error=ToolError("unavailable", error.what, error.fix))
    if done is not None:
        return ended(done, seconds, "the code", LONGER)
    scratch.clear()
    what = f"the code wrote more than {MOST_BYTES >> 20} MB or {MOST_NAMES:,} files into its scratch folder"
    error = ToolError("failed", f"{what}; it was killed and the folder emptied", "write less")
    return Output("", "killed, wrote too much", error=error)


async def _within(call: Call, code: str, seconds: float, scratch: Scratch) -> Completed | None:
    """How it ended; None when it wrote too much and was killed."""
    with entering(call.order) as spec:
        running = asyncio.create_task(
            run(
                spec,
                timeout_s=seconds,
                max_bytes=MAX_OUTPUT,
                stdin=code.encode("utf-8", "surrogatepass"),
                on_output=lambda data: call.report(data.decode("utf-8", "replace")),
            )
        )
        try:
            while not (await asyncio.wait({running}, timeout=LOOK_S))[0]:
                if await asyncio.to_thread(is_full, scratch.path):
                    return None
            return running.result()
        finally:
            running.cancel()
            with suppress(asyncio.CancelledError, StartError):
                await running
