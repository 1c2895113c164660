"""What the end of a program comes to as the result of a tool."""

from limnos.kernel.messages import ToolError
from limnos.kernel.tools import Output
from limnos.process.capture import Completed

MAX_OUTPUT = 1_000_000  # bytes that are kept of what a program prints, the first and the last half
_FIRST_SIGNAL, _LAST_SIGNAL = 128, 192


def ended(done: Completed, seconds: float, what: str, slower: str, errors: str = "replace") -> Output:
    """The output and how `what` (the command, the code) ended.

    `slower` says what to do when it took too long; `errors` as of `bytes.decode`.
    """
    text = done.output.decode("utf-8", errors)
    if done.timed_out:
        error = ToolError("timeout", f"no end after {seconds:g} s; {what} was killed", slower)
        return Output(text, "killed, too slow", done.exit, error, origin="command")
    said = f"exit {done.exit}"
    if done.exit:
        how = f"ended by signal {-done.exit}" if done.exit < 0 else f"exit status {done.exit}"
        if _FIRST_SIGNAL < done.exit <= _LAST_SIGNAL:  # how a shell, and a sandbox, tell of a signal
            how += f", as after signal {done.exit - _FIRST_SIGNAL}"
        error = ToolError("failed", f"{what} failed: {how}", "read its output, then try another way")
        return Output(text, said, done.exit, error, origin="command")
    return Output(text or "(exit 0, no output)", said, done.exit, origin="command")
