"""What becomes of a model's process that does not speak as it should: an unavailable model, never a fault."""

import asyncio
import sys
from contextlib import aclosing
from pathlib import Path

import pytest

from limnos.kernel.errors import ModelUnavailableError
from limnos.process.spawn import ChildSpec
from limnos.providers.embedded_runtime import Job, Runtime, RuntimeSpec, parse_frame

READY = '{"type":"ready","isolated":true}\\n'
JOB = Job([("hi", True)], "", 4)


class Talker(Runtime):
    """Starts a process that says `said` in the place of the model's."""

    said = ""

    def _child_spec(self) -> ChildSpec:
        said = f"'{self.said}'.replace('LONG', 'x' * (1 << 21))"
        program = f"import sys; sys.stdout.write({said}); sys.stdout.flush(); sys.stdin.read()"
        return ChildSpec((sys.executable, "-I", "-c", program), cwd="/", env={})


async def hear(talker: Runtime) -> None:
    async with aclosing(talker.generate(JOB)) as frames:
        async for _ in frames:
            """What comes before the rubbish is fine."""


def fault_of(folder: Path, said: str) -> ModelUnavailableError:
    async def ask() -> ModelUnavailableError:
        talker = Talker(RuntimeSpec("tiny", folder / "m", folder / "states", 1, 512, 1), lambda: 0.0)
        talker.said = said
        try:
            with pytest.raises(ModelUnavailableError) as caught:
                await hear(talker)
            assert talker.pid is None
        finally:
            await talker.close()
        return caught.value

    return asyncio.run(asyncio.wait_for(ask(), 30))


@pytest.mark.parametrize(
    "said",
    [
        "Segmentation fault\\n",
        READY + "llama: warning\\n",
        READY + '{"id":1,"type":"end","reason":"stop"}\\n',
        READY + '{"id":1,"type":"text"}\\n',
        READY + "[1]\\n",
        READY + "[" * 5000 + "\\n",
        READY + "LONG",
        '{"type":"ready"}\\n',
    ],
    ids=[
        "no ready",
        "a log line",
        "half an end",
        "no text",
        "a list",
        "too deep",
        "too long",
        "not isolated",
    ],
)
def test_a_child_that_talks_rubbish_is_ended_and_called_unavailable(tmp_path: Path, said: str) -> None:
    error = fault_of(tmp_path, said)

    assert "nobody understands" in error.what
    assert "limnos model verify tiny" in error.fix


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "states").write_text("a file in the way")

    error = fault_of(tmp_path, READY)

    assert str(tmp_path / "states") in error.what


def test_frames_of_kinds_that_are_not_known_are_passed_on() -> None:
    assert parse_frame(b'{"type":"progress","done":1}\n') == {"type": "progress", "done": 1}
