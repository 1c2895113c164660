"""The tools `run_command`, `job_output` and `job_stop`.

What runs is not decided here: limnos has read the command line, asked where it had to, and sends the program
that this came to, with its sandbox, as the order of the call.
"""

import asyncio
from typing import Any

from limnos.builtin.shell.jobs import Fresh, Jobs, Listed
from limnos.sdk.ended import MAX_OUTPUT, ended
from limnos.sdk.plugin import Call, Output, Plugin, ToolError, ToolFailure
from limnos.sdk.programs import StartError, entering, run

NOT_SHOWN = "the sandbox does not show {} to commands: reads find nothing there, writes are gone"
LONGER = "give it a longer timeout_s, or background=true"

plugin = Plugin()
_sessions: dict[str, Jobs] = {}


@plugin.tool
async def run_command(call: Call, command: str, background: bool = False, **_: Any) -> Output:
    """One command line, to its end or in the background."""
    if not call.order:
        raise ToolFailure("refused", "limnos has not prepared this command", "call it through limnos")
    try:
        return await (_start(call, command) if background else _wait(call))
    except StartError as error:
        return Output("", error=ToolError("unavailable", error.what, error.fix))


@plugin.tool
async def job_output(call: Call, job: str = "", wait_s: float = 0.0) -> Output:
    """What a job wrote since the last time."""
    jobs = _jobs_of(call.session)
    if not job:
        return _list(jobs.listed())
    return _fresh(job, await jobs.output(job, wait_s))


@plugin.tool
async def job_stop(call: Call, job: str) -> Output:
    """The end of a job."""
    return _fresh(job, await _jobs_of(call.session).stop(job))


@plugin.on_session_closed
async def close_jobs(session: str) -> None:
    """Jobs end with their session."""
    if jobs := _sessions.pop(session, None):
        await jobs.close()


@plugin.on_stop
async def close_all() -> None:
    """And all of them with limnos."""
    await asyncio.gather(*(jobs.close() for jobs in _sessions.values()))


def _jobs_of(session: str) -> Jobs:
    if session not in _sessions:

        def publish(job: Listed) -> None:
            plugin.kernel.notify("job.changed", session=session, **job._asdict())
            plugin.kernel.notify("busy", busy=any(jobs.running for jobs in _sessions.values()))

        _sessions[session] = Jobs(publish)
    return _sessions[session]


async def _start(call: Call, command: str) -> Output:
    name = str(call.order["job"])
    await _jobs_of(call.session).start(name, entering(call.order), command)
    text = f"{name} runs in the background; job_output(job={name!r}) reads what it writes"
    return Output(text, f"{name} started")


async def _wait(call: Call) -> Output:
    seconds = float(call.order["seconds"])
    with entering(call.order) as spec:
        done = await run(
            spec,
            timeout_s=seconds,
            max_bytes=MAX_OUTPUT,
            on_output=lambda data: call.report(data.decode("utf-8", "replace")),
        )
    output = ended(done, seconds, "the command", LONGER)
    if path := call.order.get("unseen"):
        return output._replace(text=f"{output.text}\n[{NOT_SHOWN.format(path)}]")
    return output


def _list(jobs: list[Listed]) -> Output:
    if not jobs:
        return Output("No job was started in this session.", "no jobs")
    rows = [f"{job.job}: {_state(job.state, job.exit)}: {job.command}" for job in jobs]
    return Output("\n".join(rows), f"{len(jobs)} jobs", origin="command")


def _fresh(name: str, fresh: Fresh) -> Output:
    said = _state(fresh.state, fresh.exit)
    text = fresh.output.decode("utf-8", "replace")
    if fresh.skipped:
        text = f"[{fresh.skipped:,} bytes are gone: too much was written since the last look]\n{text}"
    return Output(
        f"[{name}: {said}]\n{text or '(nothing new)'}", f"{name} {said}", fresh.exit, origin="command"
    )


def _state(state: str, status: int | None) -> str:
    if state == "running":
        return "still runs"
    how = f"signal {-status}" if status is not None and status < 0 else f"exit {status}"
    return f"stopped, {how}" if state == "stopped" else f"ended, {how}"
