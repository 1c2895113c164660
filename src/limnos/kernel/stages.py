"""The seven points of a turn where somebody may look or act, as one ordered, typed pipeline."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Literal, NamedTuple, TypeAlias

from limnos.kernel.events import StageNote
from limnos.kernel.messages import Arguments, Message, ToolCall, ToolResult
from limnos.kernel.seams import Principal
from limnos.kernel.stream import EventStream

StageName: TypeAlias = Literal[
    "on_input",
    "pre_action",
    "post_action",
    "before_toolcall",
    "after_toolcall",
    "before_output",
    "after_output",
]


class InputPayload(NamedTuple):
    """on_input: a message arrived."""

    text: str
    source: str
    principal: Principal


class ContextPayload(NamedTuple):
    """pre_action: the context is ready; a rewrite may only add messages."""

    messages: tuple[Message, ...]


class ReplyPayload(NamedTuple):
    """post_action: what the model returned."""

    text: str
    calls: tuple[ToolCall, ...]


class CallPayload(NamedTuple):
    """before_toolcall: one call before it is asked about; rewritten arguments are validated again."""

    call: str
    tool: str
    plugin: str
    arguments: Arguments


class ResultPayload(NamedTuple):
    """after_toolcall: one result before the model reads it."""

    tool: str
    plugin: str
    result: ToolResult


class OutputPayload(NamedTuple):
    """before_output and after_output: the final text."""

    text: str


Payload: TypeAlias = (
    InputPayload | ContextPayload | ReplyPayload | CallPayload | ResultPayload | OutputPayload
)


class Pass(NamedTuple):
    """Nothing to say."""


class Rewrite(NamedTuple):
    """Go on with `payload` instead; of the same type as the one that came."""

    payload: Payload


class Deny(NamedTuple):
    """Stop this input, call or result, for this reason."""

    reason: str


class AnswerWith(NamedTuple):
    """Answer with `text` at once; the turn goes straight to before_output."""

    text: str


Action: TypeAlias = Pass | Rewrite | Deny | AnswerWith


class Handler(NamedTuple):
    """One plugin's handler of one stage.

    One that only looks (`rewrites` false) may pass, deny or answer. `policy` says what its failure means;
    guards keep `fail_closed`. `scope` own_tools limits it to calls of its own plugin.
    """

    name: str
    stage: StageName
    run: Callable[[Payload], Awaitable[Action]]
    plugin: str = "kernel"
    rewrites: bool = False
    priority: int = 100
    policy: Literal["fail_open", "fail_closed"] = "fail_closed"
    scope: Literal["global", "own_tools"] = "global"
    timeout_s: float = 5.0


class Note(NamedTuple):
    """What a handler did, for the audit log."""

    handler: str
    action: str
    detail: str = ""


class Verdict(NamedTuple):
    """What a stage decided: the payload to go on with, unless it was denied or answered.

    `by` is the plugin that rewrote the payload last; empty when none did.
    """

    payload: Payload
    denied: str | None = None
    answer: str | None = None
    notes: tuple[Note, ...] = ()
    by: str = ""


class Pipeline:
    """Handlers in order: those that rewrite one after the other, then those that only look, together."""

    def __init__(self, handlers: Iterable[Handler] = ()) -> None:
        self._handlers: list[Handler] = []
        for handler in handlers:
            self.attach(handler)

    def attach(self, handler: Handler) -> None:
        """Add a handler at its place: by priority, then by plugin and name; it replaces one of its name."""
        named = (handler.plugin, handler.name)
        others = [one for one in self._handlers if (one.plugin, one.name) != named]
        self._handlers = _in_order([*others, handler])

    def remove(self, plugin: str) -> None:
        """A person does without a plugin: its handlers go, also those that guard."""
        self._handlers = [one for one in self._handlers if one.plugin != plugin]

    def detach(self, plugin: str, reason: str) -> None:
        """A plugin is gone: handlers that fail open go, the others deny until they are attached again."""
        kept = [one for one in self._handlers if one.plugin != plugin]
        for handler in self._handlers:
            if handler.plugin == plugin and handler.policy == "fail_closed":
                kept.append(_tombstone(handler, reason))
        self._handlers = _in_order(kept)

    async def run(self, stage: StageName, payload: Payload) -> Verdict:
        """Pass `payload` through `stage`. Never raises: a handler's fault is decided by its policy."""
        handlers = [one for one in self._handlers if one.stage == stage and _in_scope(one, payload)]
        if not handlers:
            return Verdict(payload)
        notes: list[Note] = []
        by = ""
        for handler in (one for one in handlers if one.rewrites):
            action = await _act(handler, payload, notes)
            if isinstance(action, Rewrite):
                payload, by = action.payload, handler.plugin
            elif not isinstance(action, Pass):
                return _ended(payload, action, notes)
        watching = [one for one in handlers if not one.rewrites]
        for action in await asyncio.gather(*(_act(one, payload, notes) for one in watching)):
            if isinstance(action, Deny | AnswerWith):
                return _ended(payload, action, notes)
        return Verdict(payload, notes=tuple(notes), by=by)


async def run_stage(stages: Pipeline, stream: EventStream, stage: StageName, payload: Payload) -> Verdict:
    """Pass `payload` through `stage`, and write down what its handlers did."""
    verdict = await stages.run(stage, payload)
    for note in verdict.notes:
        stream.emit(StageNote(stage=stage, handler=note.handler, action=note.action, detail=note.detail))
    return verdict


def _in_order(handlers: Iterable[Handler]) -> list[Handler]:
    return sorted(handlers, key=lambda one: (one.priority, one.plugin, one.name))


def _in_scope(handler: Handler, payload: Payload) -> bool:
    if handler.scope == "global" or not isinstance(payload, CallPayload | ResultPayload):
        return True
    return payload.plugin == handler.plugin


def _ended(payload: Payload, action: Deny | AnswerWith, notes: list[Note]) -> Verdict:
    if isinstance(action, Deny):
        return Verdict(payload, denied=action.reason, notes=tuple(notes))
    return Verdict(payload, answer=action.text, notes=tuple(notes))


async def _act(handler: Handler, payload: Payload, notes: list[Note]) -> Action:
    try:
        async with asyncio.timeout(handler.timeout_s):
            action = await handler.run(payload)
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        return _failed(handler, "it cancelled itself", notes)
    except TimeoutError:
        return _failed(handler, f"no answer within {handler.timeout_s:g} s", notes)
    except Exception as error:  # noqa: BLE001 - the border to handlers: their faults are data here
        return _failed(handler, f"{type(error).__name__}: {error}", notes)
    return _checked(handler, payload, action, notes)


def _checked(handler: Handler, payload: Payload, action: Action, notes: list[Note]) -> Action:
    match action:
        case Pass():
            return action
        case Rewrite(payload=new):
            if not handler.rewrites or not _same_kind(payload, new):
                return _failed(handler, "rewrote what it may not rewrite", notes)
            notes.append(Note(handler.name, "rewrite"))
        case Deny(reason=reason):
            notes.append(Note(handler.name, "deny", reason))
        case AnswerWith(text=text):
            notes.append(Note(handler.name, "answer", text[:200]))
    return action


def _same_kind(old: Payload, new: Payload) -> bool:
    if isinstance(old, ContextPayload) and isinstance(new, ContextPayload):
        return all(message in new.messages for message in old.messages)
    if isinstance(old, CallPayload) and isinstance(new, CallPayload):
        return (old.call, old.tool) == (new.call, new.tool)
    if isinstance(old, ResultPayload) and isinstance(new, ResultPayload):
        return old.result.call_id == new.result.call_id
    return type(old) is type(new)


def _failed(handler: Handler, detail: str, notes: list[Note]) -> Action:
    notes.append(Note(handler.name, "failed", detail))
    if handler.policy == "fail_open":
        return Pass()
    return Deny(f"guard {handler.name} failed: {detail}")


def _tombstone(handler: Handler, reason: str) -> Handler:
    async def deny(_: Payload) -> Action:
        return Deny(f"guard {handler.name} is down: {reason}")

    return Handler(
        handler.name, handler.stage, deny, handler.plugin, priority=handler.priority, scope=handler.scope
    )
