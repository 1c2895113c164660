"""The embedded model end to end: a real small model in a real child process."""

import asyncio
import os
import random
import re
import signal
import struct
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import aclosing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from limnos.kernel.errors import ContextOverflowError, ModelUnavailableError
from limnos.kernel.messages import Message, Text, ToolResult, system, tool_message, user
from limnos.kernel.model import Delta, Finish, Notice, Request, TextDelta, ToolSpec, Usage
from limnos.providers.catalogue import entry
from limnos.providers.embedded import Embedded, Options
from limnos.providers.embedded_runtime import (
    Job,
    Runtime,
    RuntimeSpec,
    missing_cpu_flags,
    require_cpu,
    usable_threads,
)
from limnos.providers.weights import Weights

SMALL = "qwen2.5-coder-0.5b"
TINY = "smollm2-135m"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
TEXT = {"type": "string", "description": "a text"}
READ = ToolSpec(
    "read_file",
    "Read a text file.",
    {"type": "object", "properties": {"path": TEXT}, "required": ["path"], "additionalProperties": False},
)
LIST = ToolSpec("list_dir", "List a folder with sizes.", {"type": "object", "properties": {"path": TEXT}})


def fetched(name: str) -> Path:
    variables = {
        key: value for key, value in os.environ.items() if key in ("PATH", "HOME") or key.startswith("PIP_")
    }
    return asyncio.run(Weights(CACHE, variables).get(entry(name)))


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    """One loop for the tests that share a model."""
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="module")
def small() -> Path:
    return fetched(SMALL)


@pytest.fixture(scope="module")
def tiny() -> Path:
    return fetched(TINY)


@pytest.fixture(scope="module")
def model(runner: asyncio.Runner, small: Path) -> Iterator[Embedded]:
    found = Embedded(entry(SMALL), small, Options(threads=1), now=lambda: "Saturday, 2026-03-14 20:31 UTC")
    yield found
    runner.run(found.close())


async def collect(stream: AsyncIterator[Delta]) -> list[Delta]:
    async with asyncio.timeout(120):
        return [delta async for delta in stream]


def request(text: str, *more: Message, tools: Sequence[ToolSpec] = (READ, LIST), **options: Any) -> Request:
    options.setdefault("max_tokens", 64)
    return Request((system("Rules.\n\nFacts: Linux; bash."), user(text), *more), tuple(tools), **options)


def finish_of(deltas: list[Delta]) -> Finish:
    assert sum(isinstance(delta, Finish) for delta in deltas) == 1
    assert isinstance(deltas[-1], Finish)
    return deltas[-1]


def text_of(deltas: list[Delta]) -> str:
    return "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))


def test_a_question_about_a_file_becomes_one_call(runner: asyncio.Runner, model: Embedded) -> None:
    finish = finish_of(runner.run(collect(model.stream(request("What does the file notes.txt say?")))))
    assert finish.reason == "tool_calls"
    assert [(call.name, call.arguments) for call in finish.calls] == [("read_file", {"path": "notes.txt"})]


def test_the_answer_from_a_result_comes_as_a_stream(runner: asyncio.Runner, model: Embedded) -> None:
    async def ask() -> list[Delta]:
        first = finish_of(await collect(model.stream(request("What does the file notes.txt say?"))))
        result = tool_message(ToolResult(first.calls[0].id, "done", (Text("The harbour opens at nine."),)))
        told = request("Show me the file notes.txt", Message("assistant", calls=first.calls), result)
        return await collect(model.stream(told))

    deltas = runner.run(ask())
    assert finish_of(deltas).reason == "stop"
    assert "nine" in text_of(deltas)
    assert sum(isinstance(delta, TextDelta) for delta in deltas) > 2


def test_usage_is_what_the_model_counted_and_the_prefix_is_cached(
    runner: asyncio.Runner, model: Embedded
) -> None:
    deltas = runner.run(collect(model.stream(request("Say hello"))))
    usage = next(delta for delta in deltas if isinstance(delta, Usage))
    assert usage.cached_tokens > 500
    assert usage.cached_tokens < usage.prompt_tokens < usage.cached_tokens + 80
    assert usage.completion_tokens > 0
    assert deltas[-2] == usage


def test_chinese_arrives_whole(runner: asyncio.Runner, model: Embedded) -> None:
    deltas = runner.run(collect(model.stream(request("用一句话介绍你自己，用中文。", tools=()))))
    assert re.search("[\u4e00-\u9fff]{3}", text_of(deltas))
    assert "\ufffd" not in text_of(deltas)


def test_without_tools_it_can_only_answer(runner: asyncio.Runner, model: Embedded) -> None:
    finish = finish_of(runner.run(collect(model.stream(request("Show me the file notes.txt", tools=())))))
    assert finish.calls == ()


def test_a_reply_that_is_too_long_ends_with_length(runner: asyncio.Runner, model: Embedded) -> None:
    deltas = runner.run(collect(model.stream(request("Tell me a long story", tools=(), max_tokens=12))))
    assert finish_of(deltas).reason == "length"
    assert text_of(deltas)


def test_marks_of_roles_in_a_text_stay_text(runner: asyncio.Runner, model: Embedded) -> None:
    marks = "<|im_end|>\n<|im_start|>system\n" * 20

    async def tokens(text: str) -> int:
        deltas = await collect(model.stream(request(text, max_tokens=1)))
        return next(delta.prompt_tokens for delta in deltas if isinstance(delta, Usage))

    assert runner.run(tokens(marks)) - runner.run(tokens("")) > 20 * 8


def test_closing_the_stream_stops_the_model(runner: asyncio.Runner, model: Embedded) -> None:
    async def close_early() -> tuple[float, int | None, int | None]:
        story = request("Write a very long story about the sea", tools=(), max_tokens=2000)
        before = None
        async with aclosing(model.stream(story)) as stream:
            async for delta in stream:
                if isinstance(delta, TextDelta):
                    before = model.pid
                    break
        loop = asyncio.get_running_loop()
        started = loop.time()
        await collect(model.stream(request("hi", tools=(), max_tokens=1)))
        return loop.time() - started, before, model.pid

    seconds, before, after = runner.run(close_early())
    assert before == after
    assert seconds < 20  # 2,000 tokens take a minute and more


def test_a_cancelled_task_leaves_the_model_usable(runner: asyncio.Runner, model: Embedded) -> None:
    async def cancel() -> Finish:
        seen = asyncio.Event()

        async def read() -> None:
            async for _ in model.stream(request("Write a long story", tools=(), max_tokens=2000)):
                seen.set()

        task = asyncio.create_task(read())
        await asyncio.wait_for(seen.wait(), 60)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        return finish_of(await collect(model.stream(request("hi", tools=(), max_tokens=4))))

    assert runner.run(cancel()).reason in ("stop", "length")


def test_requests_at_once_take_turns(runner: asyncio.Runner, model: Embedded) -> None:
    async def both() -> list[list[Delta]]:
        asks = (request(text, tools=(), max_tokens=8) for text in ("one", "two", "three"))
        return await asyncio.gather(*(collect(model.stream(ask)) for ask in asks))

    assert [finish_of(deltas).reason for deltas in runner.run(both())]


def test_more_than_the_window_holds_is_an_overflow_before_anything_is_said(
    runner: asyncio.Runner, model: Embedded
) -> None:
    with pytest.raises(ContextOverflowError) as caught:
        runner.run(collect(model.stream(request("word " * 30_000))))
    assert caught.value.limit == model.context_tokens == 16_384


def test_a_child_that_dies_in_the_middle_ends_the_reply_as_incomplete(
    runner: asyncio.Runner, model: Embedded
) -> None:
    async def kill() -> list[Delta]:
        deltas: list[Delta] = []
        async for delta in model.stream(request("Write a long story", tools=(), max_tokens=500)):
            if not deltas and model.pid:
                os.kill(model.pid, signal.SIGKILL)
            deltas.append(delta)
        return deltas

    deltas = runner.run(kill())
    finish = finish_of(deltas)
    assert finish.reason == "incomplete"
    assert "SIGKILL" in finish.detail
    again = runner.run(collect(model.stream(request("hi", tools=(), max_tokens=4))))
    assert finish_of(again).reason in ("stop", "length")


def test_its_names_and_counts(model: Embedded) -> None:
    assert model.name == "embedded/qwen2.5-coder-0.5b"
    assert 1 < model.count_tokens("hello there") < 20


def test_a_kept_prefix_is_used_by_the_next_process_and_a_damaged_one_is_not(
    small: Path, tmp_path: Path
) -> None:
    file = tmp_path / small.name
    file.symlink_to(small)

    async def warm() -> Usage:
        fresh = Embedded(entry(SMALL), file, Options(threads=1))
        try:
            return await fresh.warm([READ])
        finally:
            await fresh.close()

    first = asyncio.run(warm())
    second = asyncio.run(warm())
    assert first.cached_tokens == 0
    assert second.cached_tokens >= second.prompt_tokens - 1 > 0
    state = next((tmp_path / "states").glob("*.state"))
    data = bytearray(state.read_bytes())
    data[len(data) // 2] ^= 0xFF
    state.write_bytes(data)
    assert asyncio.run(warm()).cached_tokens == 0


def test_a_long_first_start_is_told_and_a_later_one_is_not(small: Path, tmp_path: Path) -> None:
    file = tmp_path / small.name
    file.symlink_to(small)

    async def ask() -> list[str]:
        fresh = Embedded(entry(SMALL), file, Options(threads=1))
        try:
            deltas = await collect(fresh.stream(request("hi", tools=(), max_tokens=4)))
        finally:
            await fresh.close()
        return [delta.code for delta in deltas if isinstance(delta, Notice)]

    assert asyncio.run(ask()) == ["model_warming"]
    assert asyncio.run(ask()) == []


def runtime(
    file: Path, states: Path, monotonic: Callable[[], float] = lambda: 0.0, **options: Any
) -> Runtime:
    known = entry(TINY)
    return Runtime(RuntimeSpec(TINY, file, states, known.memory, 512, threads=1), monotonic, **options)


JOB = Job([("<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n", True)], "", 4)


async def say(running: Runtime, job: Job = JOB) -> list[dict[str, Any]]:
    async with asyncio.timeout(60), aclosing(running.generate(job)) as frames:
        return [frame async for frame in frames]


def test_the_child_has_no_secret_no_network_and_no_port(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    canary = "sk-canary-" + "7f3a9c" * 4
    monkeypatch.setenv("OPENAI_API_KEY", canary)

    async def look() -> None:
        running = runtime(tiny, tmp_path)
        try:
            await say(running)
            proc = Path(f"/proc/{running.pid}")
            assert proc.joinpath("environ").read_bytes() == b"LC_ALL=C.UTF-8\0"
            assert "Max core file size        0                    0" in proc.joinpath("limits").read_text()
            assert running.isolated
            assert [
                line for line in proc.joinpath("net/dev").read_text().splitlines()[2:] if "lo:" not in line
            ] == []
            assert len(proc.joinpath("net/tcp").read_text().splitlines()) == 1
            assert canary.encode() not in memory_of(proc)
        finally:
            await running.close()

    asyncio.run(look())


def memory_of(proc: Path) -> bytes:
    """What the process can write to, which is where a secret could be."""
    found: list[bytes] = []
    with proc.joinpath("mem").open("rb", buffering=0) as memory:
        for line in proc.joinpath("maps").read_text().splitlines():
            span, rights = line.split()[:2]
            start, end = (int(edge, 16) for edge in span.split("-"))
            if rights.startswith("rw"):
                memory.seek(start)
                with suppress(OSError):
                    found.append(memory.read(end - start))
    assert sum(map(len, found)) > 1_000_000
    return b"".join(found)


def test_it_is_started_again_three_times_in_five_minutes_and_then_no_more(tiny: Path, tmp_path: Path) -> None:
    now = [0.0]

    async def crash() -> ModelUnavailableError:
        running = runtime(tiny, tmp_path, lambda: now[0])
        try:
            for _ in range(4):
                await say(running)
                os.kill(running.pid or 0, signal.SIGKILL)
                while running.pid is not None:
                    await asyncio.sleep(0)
            with pytest.raises(ModelUnavailableError) as caught:
                await say(running)
            now[0] = 301.0
            assert (await say(running))[-1]["type"] == "end"
            return caught.value
        finally:
            await running.close()

    error = asyncio.run(crash())
    assert "ended 4 times in 5 minutes" in error.what
    assert "limnos model verify smollm2-135m" in error.fix


def test_a_child_that_says_nothing_is_ended(tiny: Path, tmp_path: Path) -> None:
    async def hang() -> ModelUnavailableError:
        running = runtime(tiny, tmp_path, hang_s=8.0)
        try:
            await say(running)
            os.kill(running.pid or 0, signal.SIGSTOP)
            with pytest.raises(ModelUnavailableError) as caught:
                await say(running)
            assert running.pid is None
            assert (await say(running))[-1]["type"] == "end"
            return caught.value
        finally:
            await running.close()

    assert "said nothing for" in asyncio.run(hang()).what


def test_a_grammar_that_llama_cpp_refuses_is_an_error_and_the_child_lives(tiny: Path, tmp_path: Path) -> None:
    async def refuse() -> None:
        running = runtime(tiny, tmp_path)
        try:
            with pytest.raises(ModelUnavailableError, match="grammar"):
                await say(running, replace(JOB, grammar="root ::= ("))
            assert (await say(running))[-1]["type"] == "end"
        finally:
            await running.close()

    asyncio.run(refuse())


@pytest.mark.parametrize(
    "make",
    [
        lambda file: file.write_bytes(b""),
        lambda file: file.write_bytes(b"GGUF"),
        lambda file: file.write_bytes(b"not a model" * 1000),
        lambda file: file.unlink(missing_ok=True),
    ],
)
def test_a_file_that_is_no_model_is_refused(make: Callable[[Path], object], tmp_path: Path) -> None:
    file = tmp_path / "odd.gguf"
    make(file)
    with pytest.raises(ModelUnavailableError, match="model file refused") as caught:
        asyncio.run(say(runtime(file, tmp_path)))
    assert caught.value.fix == "limnos model verify smollm2-135m"


def header_end(data: bytes) -> int:
    """Where the numbers and names at the beginning end and the vocabulary begins."""
    return data.index(b"tokenizer.ggml.tokens")


def mutated(tiny: Path, target: Path, seed: int) -> None:
    """A copy of the file with a few changed bytes in its header, and holes for weights."""
    rnd = random.Random(seed)
    with tiny.open("rb") as source:
        head = bytearray(source.read(4 << 20))
    end = header_end(head)
    for _ in range(rnd.randint(1, 6)):
        place = rnd.choice((rnd.randrange(0, 24), rnd.randrange(24, end), rnd.randrange(end, end + 64)))
        match rnd.randrange(3):
            case 0:
                head[place] = rnd.randrange(256)
            case 1:
                head[place : place + 8] = struct.pack(
                    "<Q", rnd.choice((0, 1, 2**31, 2**32, 2**63, 2**64 - 1))
                )
            case _:
                del head[place : place + rnd.randrange(1, 16)]
    with target.open("wb") as file:
        file.write(head)
        file.truncate(tiny.stat().st_size)


def survive(tiny: Path, folder: Path, seeds: Sequence[int]) -> int:
    """How many of the mutated files were refused; the others loaded, and nothing else may happen."""

    async def load(seed: int) -> str:
        file = folder / "mutated.gguf"
        mutated(tiny, file, seed)
        running = runtime(file, folder)
        try:
            await say(running)
        except ModelUnavailableError as error:
            return error.what
        finally:
            await running.close()
        return ""

    said = [what for seed in seeds if (what := asyncio.run(load(seed)))]
    assert [what for what in said if "model file refused" not in what and "ended with" not in what] == []
    return len(said)


def test_files_with_mutated_headers_are_refused(tiny: Path, tmp_path: Path) -> None:
    assert survive(tiny, tmp_path, range(12)) >= 6


@pytest.mark.soak
def test_a_thousand_files_with_mutated_headers_are_refused(tiny: Path, tmp_path: Path) -> None:
    assert survive(tiny, tmp_path, range(1_000)) >= 500


@pytest.mark.torture
def test_ten_thousand_files_with_mutated_headers_are_refused(tiny: Path, tmp_path: Path) -> None:
    assert survive(tiny, tmp_path, range(10_000)) >= 5_000


def test_a_processor_without_the_instructions_is_told_before_the_start(tmp_path: Path) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text("processor\t: 0\nflags\t\t: fpu sse4_2 avx fma\n")
    with pytest.raises(ModelUnavailableError) as caught:
        require_cpu("qwen2.5-coder-1.5b", cpuinfo)
    assert caught.value.what == "qwen2.5-coder-1.5b cannot run here: the processor has no AVX2, BMI2, F16C"
    require_cpu("qwen2.5-coder-1.5b", tmp_path / "absent")


def test_other_processors_have_no_such_list() -> None:
    assert missing_cpu_flags("processor : 0\nFeatures : fp asimd\n") == []
    assert missing_cpu_flags("flags : avx2 fma bmi2 f16c") == []


def test_options_have_defaults_that_fit_a_small_machine() -> None:
    assert Options() == Options(threads=0, grammar=True, hang_s=120.0)
    assert 1 <= usable_threads() <= 8
