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

    def answer(self, approval: str, answer: Answer) -> bool:
        """Settle an open question; False when it is not open any more."""
        waiting = self._open.get(approval)
        if waiting is None or waiting.done():
            return False
        waiting.set_result(answer)
        return True
