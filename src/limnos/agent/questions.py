"""The questions of the gate that wait for a person."""

import asyncio

from limnos.kernel.seams import Answer, Question


class OpenQuestions:
    """The questions that wait for the person. Implements `kernel.seams.Approver`."""

    def __init__(self, expire_seconds: float) -> None:
        self._expire_seconds = expire_seconds
        self._open: dict[str, asyncio.Future[Answer]] = {}

    async def ask(self, question: Question) -> Answer:
        """Wait for `answer`; raises TimeoutError when nobody comes."""
        waiting: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._open[question.approval] = waiting
        try:
            async with asyncio.timeout(self._expire_seconds):
                return await waiting
        finally:
            del self._open[question.approval]

    def is_open(self, approval: str) -> bool:
        """Whether this question waits for an answer."""
        waiting = self._open.get(approval)
        return waiting is not None and not waiting.done()

    def answer(self, approval: str, answer: Answer) -> bool:
        """Settle an open question; False when it is not open any more."""
        if not self.is_open(approval):
            return False
        self._open[approval].set_result(answer)
        return True
