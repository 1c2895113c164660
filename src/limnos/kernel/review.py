"""What surrounds a reply: its usage, the warnings it deserves, and the stage that looks at it."""

from limnos.kernel.errors import DeniedError
from limnos.kernel.events import StepFinished, UsageRecorded, Warned
from limnos.kernel.messages import ToolCall, ToolError
from limnos.kernel.model import Finish, Usage
from limnos.kernel.reply import Reply
from limnos.kernel.seams import Ids, Rendered
from limnos.kernel.stages import ReplyPayload, run_stage
from limnos.kernel.stream import EventStream
from limnos.kernel.turn import Parts, Turn

# Encodings differ: the same text has up to 40 % fewer tokens in another one (Chinese, code).
TRUNCATED_SHARE = 0.6
LEAST_MISSING = 500
GUARDED = "change the input, or ask who set the guard"
CUT = ToolError(
    "invalid_arguments", "the reply was cut off, so this call was not run", "send it in smaller parts"
)


def record_usage(parts: Parts, turn: Turn, reply: Reply, rendered: Rendered) -> None:
    """Count what the request used; our own estimate stands in where the provider said nothing."""
    said = "".join(
        [reply.text, *(str(thought["text"]) for thought in reply.reasoning), *(c.raw for c in reply.calls)]
    )
    usage = reply.usage or Usage(rendered.used, parts.model.count_tokens(said))
    cost = turn.meter.record(reply.model, usage)
    parts.stream.emit(
        UsageRecorded(
            model=reply.model,
            prompt_tokens=usage.prompt_tokens,
            completion_tokens=usage.completion_tokens,
            cached_tokens=usage.cached_tokens,
            cost=str(cost),
            currency=turn.meter.currency,
            estimated=reply.usage is None,
        )
    )
    _watch_prompt(parts.stream, turn, reply)


def _watch_prompt(stream: EventStream, turn: Turn, reply: Reply) -> None:
    """Say once a turn that a server read far less than it was sent (Ollama's `num_ctx` cuts silently)."""
    if reply.usage is None or turn.warned or not reply.usage.expected_tokens:
        return
    sent, read = reply.usage.expected_tokens, reply.usage.prompt_tokens
    if sent - read < LEAST_MISSING or read >= sent * TRUNCATED_SHARE:
        return
    turn.warned = True
    stream.emit(
        Warned(
            code="prompt_truncated",
            text=f"{reply.model} read {read} of about {sent} tokens that were sent",
            fix="raise the server's own context size (Ollama: num_ctx), or lower context_tokens here",
        )
    )


def warn_of_cut(stream: EventStream, reply: Reply, reply_tokens: int) -> None:
    """Say it when an answer is cut or empty, and why."""
    if reply.finish.reason == "length" and not reply.calls:
        thought = "; its reasoning used them all" if reply.reasoning and not reply.text else ""
        stream.emit(
            Warned(
                code="answer_cut",
                text=f"the answer ended at the limit of {reply_tokens} tokens{thought}",
                fix=f"limnos config set context.reserve {reply_tokens * 4}",
            )
        )
    elif not reply.text.strip() and not reply.calls:
        stream.emit(Warned(code="answer_empty", text=f"{reply.model} sent an empty answer", fix="ask again"))


def finish_step(stream: EventStream, reply: Reply, text: str | None = None) -> None:
    """Close the step of `reply`. With `text` it is the turn's final answer, and on disk when this returns.

    The calls of a reply that broke off were never proposed and are not listed.
    """
    final = text is not None
    stream.emit(
        StepFinished(
            text=reply.text if text is None else text,
            calls=[call.id for call in reply.calls] if reply.complete and not final else [],
            reasoning=reply.reasoning,
            finish=reply.finish.reason,
            tokens=reply.usage.completion_tokens if reply.usage else 0,
            complete=reply.complete or final,
        ),
        durable=final,
    )


async def review(parts: Parts, reply: Reply) -> str | None:
    """Let post_action see the reply. It may change text and calls; a text that it answers is returned."""
    payload = ReplyPayload(reply.text, reply.calls)
    verdict = await run_stage(parts.stages, parts.stream, "post_action", payload)
    if verdict.denied is not None:
        raise DeniedError(f"the reply was withheld: {verdict.denied}", GUARDED)
    if verdict.answer is not None:
        return verdict.answer
    assert isinstance(verdict.payload, ReplyPayload)
    reply.text, reply.calls = verdict.payload.text, verdict.payload.calls
    return None


def give_unique_ids(reply: Reply, taken: set[str], ids: Ids) -> None:
    """Ids are unique in a session: a provider's id that is blank, or taken, is replaced by one of ours."""
    calls: list[ToolCall] = []
    own: set[str] = set()
    for call in reply.calls:
        usable = call.id.strip() and call.id not in taken and call.id not in own
        fresh = call if usable else call._replace(id=ids.new("call"))
        own.add(fresh.id)
        calls.append(fresh)
    if tuple(calls) != reply.calls:
        reply.calls = tuple(calls)
        reply.finish = Finish(reply.finish.reason, reply.calls, reply.finish.detail)
