"""The loop: render, ask the model, run its calls, again, until it answers or something ends the turn."""

from limnos.kernel.asking import ask, retry
from limnos.kernel.cancel import Cancelled, Suspended
from limnos.kernel.errors import LimitError, LimnosError, StorageError
from limnos.kernel.events import ReplyFinished, TurnFinished, TurnSuspended
from limnos.kernel.reply import Reply
from limnos.kernel.review import CUT, GUARDED, finish_step, give_unique_ids, review, warn_of_cut
from limnos.kernel.stages import InputPayload, OutputPayload, Payload, StageName, Verdict, run_stage
from limnos.kernel.turn import Ending, Parts, Turn, all_denied, close, ending_of, set_aside, stopped


class Loop:
    """Runs the turns of one session, one at a time."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._stream = parts.stream

    @property
    def model_name(self) -> str:
        """The model that turns begin with."""
        return self._parts.model.name

    async def run(self, turn: Turn, *, resumed: bool = False) -> TurnFinished | TurnSuspended:
        """Run `turn` to its one terminal event, or until it is set aside.

        Only errors.StorageError gets out: then nothing is saved.
        """
        try:
            ending = await self.work(turn, heard=resumed)
        except Suspended:
            return set_aside(self._stream, turn)
        return close(self._stream, turn, ending)

    async def work(self, turn: Turn, *, heard: bool) -> Ending:
        """As `run`, up to the ending, which the caller writes down; `heard`: the input passed on_input."""
        try:
            early = None if heard else await self._hear(turn)
            return early or await self._steps(turn)
        except Cancelled:
            return stopped(turn)
        except StorageError:
            raise
        except LimnosError as error:
            return ending_of(error)

    async def _hear(self, turn: Turn) -> Ending | None:
        heard = InputPayload(turn.text, turn.source, turn.principal)
        verdict = await self._pass_through("on_input", heard)
        if verdict.denied is not None:
            return Ending("denied", verdict.denied, GUARDED)
        return None if verdict.answer is None else await self._answer(turn, verdict.answer)

    async def _steps(self, turn: Turn) -> Ending:
        ending: Ending | None = None
        while ending is None:
            turn.meter.check()
            turn.cancel.raise_if_requested()
            self._hear_injected(turn)
            turn.meter.steps += 1
            self._stream.step = turn.meter.steps
            ending = await self._take(turn, await ask(self._parts, turn))
        return ending

    def _hear_injected(self, turn: Turn) -> None:
        while turn.inbox:
            self._stream.emit(turn.inbox[0], durable=True)
            del turn.inbox[0]
            turn.last_chance = False

    async def _take(self, turn: Turn, reply: Reply | str) -> Ending | None:
        if isinstance(reply, str):
            return await self._answer(turn, reply)
        if not reply.complete:
            return await retry(self._parts, turn, reply)
        turn.broken = 0
        answered = await review(self._parts, reply)
        if answered is not None:
            return await self._answer(turn, answered)
        if reply.calls and not turn.last_chance:
            return await self._act(turn, reply)
        reply.calls = ()
        if turn.inbox:
            return finish_step(self._stream, reply)
        warn_of_cut(self._stream, reply, self._parts.reply_tokens)
        return await self._answer(turn, reply.text, reply)

    async def _act(self, turn: Turn, reply: Reply) -> None:
        calls = self._parts.calls
        give_unique_ids(reply, self._stream.conversation.call_ids, self._parts.ids)
        head = ReplyFinished(text=reply.text, reasoning=reply.reasoning, finish=reply.finish.reason)
        self._stream.emit(head)
        calls.propose(reply.calls)
        if reply.finish.runnable:
            results = await calls.run(reply.calls, turn.state)
        else:
            results = [calls.fail(call, turn.state, CUT) for call in reply.calls]
        finish_step(self._stream, reply)
        turn.reply = None
        turn.cancel.raise_if_requested()
        if turn.state.repeats.stuck:
            raise LimitError(turn.state.repeats.stuck, "say it differently, or use another model")
        turn.last_chance = all(result.outcome == "denied" for result in results)

    async def _answer(self, turn: Turn, text: str, reply: Reply | None = None) -> Ending:
        verdict = await self._pass_through("before_output", OutputPayload(text))
        assert isinstance(verdict.payload, OutputPayload)
        text = verdict.answer or verdict.payload.text
        if verdict.denied is not None:
            text = f"[withheld: {verdict.denied}]"
        finish_step(self._stream, reply or Reply(self._parts.model.name), text)
        turn.reply = None
        await self._pass_through("after_output", OutputPayload(text))
        return all_denied(turn) if turn.last_chance else Ending("done")

    async def _pass_through(self, stage: StageName, payload: Payload) -> Verdict:
        return await run_stage(self._parts.stages, self._stream, stage, payload)
