"""The tools `git_status`, `git_diff`, `git_log`, `git_show`, `git_blame`, `git_commit` and `git_branch`.

limnos checks the arguments and prepares what git is called with; here it runs.
"""

from collections.abc import Mapping
from typing import Any

from limnos.sdk.ended import MAX_OUTPUT, ended
from limnos.sdk.plugin import Call, Output, Plugin, ToolError, ToolFailure
from limnos.sdk.programs import StartError, entering, run

LONGER = "ask for less: one path, or fewer commits"
NOTHING = {"git_diff": "No differences.", "git_log": "No commits."}

plugin = Plugin()


async def _run(call: Call, **_: Any) -> Output:
    """Run what limnos prepared, one step after the other, until one fails."""
    if not call.order:
        raise ToolFailure("refused", "limnos has not prepared this", "call it through limnos")
    output, before = Output(""), ""
    for step in call.order["steps"]:
        output = await _step(step, float(call.order["seconds"]))
        if output.error is not None:
            break
        before += output.text if step is not call.order["steps"][-1] else ""
    text = before + output.text
    if not text and output.error is None:
        return output._replace(text=NOTHING.get(call.tool, "Done."))
    return output._replace(text=text)


async def _step(step: Mapping[str, Any], seconds: float) -> Output:
    try:
        with entering(step) as spec:
            done = await run(spec, timeout_s=seconds, max_bytes=MAX_OUTPUT)
    except StartError as error:
        return Output("", error=ToolError("unavailable", error.what, error.fix))
    output = ended(done, seconds, "git", LONGER, errors="backslashreplace")
    return output if done.output else output._replace(text="")


for _name in ("git_status", "git_diff", "git_log", "git_show", "git_blame", "git_commit", "git_branch"):
    plugin.tool(name=_name)(_run)
