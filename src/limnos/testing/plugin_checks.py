"""The checks of a plugin's conformance: each starts the real process and speaks to it over a real wire.

A check returns what came instead of what the protocol wants, empty when nothing did; it raises `LeftOut`
where the plugin has nothing that it could be tried with.
"""

import json
import os
import subprocess
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Final, NamedTuple, TypeAlias, cast

from limnos.sdk.harness import END_S, Harness, Started, beginning, start_process
from limnos.sdk.peer import NoAnswerError, Peer
from limnos.sdk.wire import RefusedError
from limnos.testing.plugin_samples import (
    LONG_TEXT,
    PAYLOADS,
    TEXT,
    LeftOut,
    Subject,
    answer_fault,
    arguments,
    outcome_fault,
    shown,
)
from limnos.wire import frames
from limnos.wire.frames import Failure, Reply

ANSWER_S: Final = 10.0
BUSY_S: Final = 60.0  # for many calls at once
MANY: Final = 100
LARGE: Final = 900_000  # bytes of a large frame
GARBAGE: Final = (
    b"hello\n",
    b"{\n",
    b"[]\n",
    b'"text"\n',
    b"\xff\xfe\n",
    b"{}\n",
    b'{"jsonrpc":"1.0","id":1,"method":"ping"}\n',
)


Run: TypeAlias = Callable[[Subject], str]


class Check(NamedTuple):
    """One check: a stable id, what the protocol wants in a sentence, and what finds out."""

    id: str
    sentence: str
    run: Run


@contextmanager
def _raw(subject: Subject) -> Generator[Started]:
    """The process, not spoken to yet; killed at the end if it is still there."""
    started = start_process(subject.command or subject.folder, subject.around, cwd=str(subject.folder))
    try:
        yield started
    finally:
        started.end()
        started.peer.close()
        started.peer.arena.close()


def _ask(
    peer: Peer, method: str, params: Mapping[str, Any], timeout_s: float | None = None
) -> Reply | Failure:
    """The answer to a request, of either kind. Raises NoAnswerError."""
    number = peer.request(method, params)
    with suppress(RefusedError):
        peer.answer(number, timeout_s or ANSWER_S)
    return peer.replies[number][0]


def _alive(peer: Peer) -> str:
    answer = _ask(peer, "ping", {})
    return "" if isinstance(answer, Reply) else f"ping was refused: {answer.message}"


def _handshake(subject: Subject) -> str:
    with _raw(subject) as started:
        first = beginning(subject.around, started.peer.arena, str(subject.folder))
        answer = _ask(started.peer, "initialize", first)
    if isinstance(answer, Failure):
        return f"a failure: {answer.message}"
    said = _protocol(answer)
    return "" if said == frames.PROTOCOL and type(said) is int else f"the answer {shown(answer.result)}"


def _version(subject: Subject) -> str:
    with _raw(subject) as started:
        first = beginning(subject.around, started.peer.arena, str(subject.folder))
        answer = _ask(started.peer, "initialize", {**first, "protocol": 999})
    if isinstance(answer, Failure):
        return "" if answer.message else "a failure without a message"
    return (
        "" if _protocol(answer) == frames.PROTOCOL else f"the answer {shown(answer.result)} to protocol 999"
    )


def _protocol(answer: Reply) -> Any:
    """The version that an answer to `initialize` names."""
    result: Any = answer.result
    return cast("dict[str, Any]", result).get("protocol") if isinstance(result, dict) else None


def _ready(subject: Subject) -> str:
    with subject.started() as running:
        if fault := _alive(running.peer):
            return fault
        said = [one for one in running.peer.heard if one.method == "ready"]
        missing = [one for one in subject.manifest.provides if one not in running.facilities]
    if len(said) != 1:
        return f"ready {len(said)} times"
    return f"ready without {', '.join(missing)}" if missing else ""


def _ping(subject: Subject) -> str:
    tries = subject.tries(long=True)
    with subject.started() as running:
        calls = [running.begin(tool, given) for tool, given in tries]
        if fault := _alive(running.peer):
            return fault
        for call in calls:
            running.cancel(call)
        return ""


def _unknown(subject: Subject) -> str:
    with subject.started() as running:
        answer = _ask(running.peer, "no.such.method", {})
        running.peer.notify("no.such.notification", {})
        if fault := _alive(running.peer):
            return fault
    if isinstance(answer, Reply):
        return f"the reply {shown(answer.result)}"
    return "" if answer.code == frames.NO_METHOD else f"the code {answer.code}"


def _garbage(subject: Subject) -> str:
    with subject.started() as running:
        for line in GARBAGE:
            running.peer.raw(line)
            if fault := _alive(running.peer):
                return f"after {line!r}: {fault}"
        wrong = [one for one in running.peer.replies.get(None, []) if isinstance(one, Reply)]
    return f"a reply to it: {shown(wrong[0].result)}" if wrong else ""


def _pieces(subject: Subject) -> str:
    with subject.started() as running:
        peer = running.peer
        line = frames.encode(frames.Request("first", "ping", {}))
        peer.raw(line[:9])
        peer.until(lambda: False, 0.05)
        peer.raw(line[9:] + frames.encode(frames.Request("second", "ping", {})))
        for name in ("first", "second"):
            peer.answer(name, ANSWER_S)
        return ""


def _large(subject: Subject) -> str:
    with subject.started() as running:
        running.peer.notify("no.such.notification", {"text": "x" * LARGE})
        if fault := _alive(running.peer):
            return fault
        with suppress(LeftOut):
            tool, name = subject.texted()
            shares, running.peer.shares = running.peer.shares, False  # so that they go in the frame
            pending = running.begin(tool.name, {**(arguments(tool) or {}), name: "x" * LARGE})
            running.peer.shares = shares
            return _checked(running, pending.request)
        return ""


def _checked(running: Harness, request: int, timeout_s: float | None = None) -> str:
    """What is wrong with the one answer to a call; also when it lies in the arena."""
    limit = timeout_s or BUSY_S
    running.peer.until(lambda: request in running.peer.replies, limit)
    answers = running.peer.replies.get(request, [])
    if len(answers) != 1:
        return f"{len(answers)} answers in {limit:g} s"
    answer = answers[0]
    if isinstance(answer, Failure):
        return "" if answer.code in (frames.TOO_LARGE, frames.FULL) else f"a failure: {answer.message}"
    if fault := answer_fault(answer.result):
        return fault
    if "text_at" in answer.result and not running.peer.shares:
        return "a range, though it said that it does not use the arena"
    text = running.peer.text(answer.result, "text")
    return "a text with U+0000" if "\0" in text else ""


def _arena(subject: Subject) -> str:
    tool, name = subject.texted()
    given = {**(arguments(tool) or {}), name: TEXT}
    with subject.started() as running:
        if not running.peer.shares:
            raise LeftOut("it said that it does not use the arena")
        inline = running.call(tool.name, given)
        data = json.dumps(given, ensure_ascii=False).encode()
        arena = running.peer.arena
        lease = arena.lease(len(data))
        params = {"call": "arena", "tool": tool.name, "cwd": "/", "arguments_at": arena.write(lease, data)}
        answer = _ask(running.peer, "tool.call", params)
        arena.release(lease.id)
        if isinstance(answer, Failure):
            return f"a failure: {answer.message}"
        if (text := running.peer.text(answer.result, "text")) != inline.text:
            return f"{shown(text)} for the arguments that came to {shown(inline.text)} inline"
        pending = running.begin(tool.name, {**given, name: LONG_TEXT})
        if fault := _checked(running, pending.request):
            return fault
        running.peer.arena.release(pending.leases[0])
        return f"{arena.leased:,} bytes are still leased" if arena.leased else ""


def _cancel(subject: Subject) -> str:
    tries = subject.tries(long=True)
    with subject.started() as running:
        running.peer.notify("tool.cancel", {"call": "nobody"})
        calls = [(tool, running.begin(tool, given)) for tool, given in tries]
        running.peer.until(lambda: bool(running.progress), 0.5)
        for _, call in calls:
            running.cancel(call)
        for tool, call in calls:
            if fault := _checked(running, call.request, ANSWER_S):
                return f"{tool}: {fault}"
        return _alive(running.peer)


def _stop(subject: Subject) -> str:
    with subject.started() as running:
        answer = _ask(running.peer, "stop", {"reason": "the check ends"}, END_S)
        if isinstance(answer, Failure):
            return f"a failure: {answer.message}"
        return _gone(running)


def _orphan(subject: Subject) -> str:
    with subject.started() as running:
        with suppress(LeftOut):
            for tool, given in subject.tries(long=True):
                running.begin(tool, given)
        return _gone(running)


def _gone(running: Harness) -> str:
    """Close its input; it has to exit by itself."""
    assert running.process is not None
    running.peer.finish_writing()
    running.peer.until(lambda: False, END_S)  # it closes the wire with its end, or before
    with suppress(subprocess.TimeoutExpired):
        running.process.wait(1.0)
    return (
        "" if running.process.poll() is not None else f"it still ran {END_S:g} s after the end of its input"
    )


def _clean(subject: Subject) -> str:
    with subject.started() as running:
        with suppress(LeftOut):
            for tool, given in subject.tries():
                _checked(running, running.begin(tool, given).request)
        running.stop()
        _gone(running)
        return running.peer.faults[0] if running.peer.faults else ""


def _concurrent(subject: Subject) -> str:
    tries = subject.tries()
    with subject.started() as running:
        began = [running.begin(*tries[number % len(tries)]) for number in range(MANY)]
        for call in began:
            if fault := _checked(running, call.request):
                return fault
        if fault := _alive(running.peer):
            return fault
        twice = [call.request for call in began if len(running.peer.replies[call.request]) > 1]
        strange = [one for one in running.peer.replies if one is None or one not in range(MANY * 2)]
    if strange:
        return f"an answer to {strange[0]!r}, which nobody asked"
    return f"a second answer to {twice[0]}" if twice else ""


def _ids(subject: Subject) -> str:
    with subject.started() as running:
        for number in ("a-1", 'Grüße "7"', 2**40, "7", 0):
            running.peer.raw(frames.encode(frames.Request(number, "ping", {})))
            try:
                running.peer.answer(number, ANSWER_S)
            except NoAnswerError:
                return f"no answer to the id {number!r}"
        return ""


def _unicode(subject: Subject) -> str:
    tool, name = subject.texted()
    with subject.started() as running:
        given = {**(arguments(tool) or {}), name: TEXT}
        return _checked(running, running.begin(tool.name, given).request)


def _tool_errors(subject: Subject) -> str:
    with subject.started() as running:
        answer = _ask(running.peer, "tool.call", {"call": "c1", "tool": "no_such_tool", "cwd": "/"})
        if fault := _alive(running.peer):
            return fault
    if isinstance(answer, Failure):
        return "" if answer.message else "a failure without a message"
    if fault := answer_fault(answer.result):
        return fault
    return "" if answer.result.get("error") else f"a success: {shown(answer.result)}"


def _stages(subject: Subject) -> str:
    if not subject.manifest.stages:
        raise LeftOut("it has no stages")
    with subject.started() as running:
        for declared in subject.manifest.stages:
            given = {"handler": declared.name, "stage": declared.stage, "payload": PAYLOADS[declared.stage]}
            answer = _ask(running.peer, "stage.run", given, declared.timeout_s)
            if isinstance(answer, Failure):
                return f"{declared.name}: a failure: {answer.message}"
            if fault := outcome_fault(declared, answer.result):
                return f"{declared.name}: {fault}"
    return ""


def _descriptors(subject: Subject) -> str:
    """Leases and calls leave nothing open in the plugin."""
    tries = subject.tries()
    with subject.started() as running:
        assert running.process is not None
        folder = f"/proc/{running.process.pid}/fd"
        open_after: list[int] = []
        for _ in range(3):
            for tool, given in tries:
                running.result(running.begin(tool, given), BUSY_S)
            open_after.append(len(os.listdir(folder)))
    first, *_, last = open_after
    return f"{last} descriptors are open after {first}" if last > first + 2 else ""


CHECKS: Final = (
    Check("handshake", "initialize is answered with protocol 1", _handshake),
    Check("handshake.version", "another version of the protocol is refused, with a message", _version),
    Check("start.ready", "start is answered, and ready is said once with all that it provides", _ready),
    Check("ping.busy", "ping is answered while tools run", _ping),
    Check("method.unknown", "an unknown request is answered with code -32601", _unknown),
    Check("frame.garbage", "a line that is no frame does not end it", _garbage),
    Check("frame.pieces", "a frame may come in pieces, and two at once", _pieces),
    Check("frame.large", "a frame of 900,000 bytes is read", _large),
    Check("frame.ids", "an id comes back as it was, a number or a text", _ids),
    Check("arena.arguments", "arguments in the arena count as those in the frame", _arena),
    Check("call.concurrent", "100 calls at once are answered once each", _concurrent),
    Check("call.cancel", "a call that is stopped is answered once, within 10 s", _cancel),
    Check("call.unicode", "texts hold any character but U+0000", _unicode),
    Check("call.error", "a call of a tool that is not there is an error of the right form", _tool_errors),
    Check("call.descriptors", "calls leave no descriptors open", _descriptors),
    Check("stage.outcome", "each stage handler answers with an outcome that it may have", _stages),
    Check("stop", "stop is answered, and it exits within 5 s of the end of its input", _stop),
    Check("stop.orphan", "it exits within 5 s of the end of its input, also while tools run", _orphan),
    Check("output.clean", "nothing but frames is written to standard output", _clean),
)
