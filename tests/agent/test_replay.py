"""Replay: every kind of turn comes out as it was recorded, and any change of the record is found."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from limnos.agent.clock import SystemClock
from limnos.agent.replay import Verification, verify
from limnos.kernel.conversation import fold
from limnos.kernel.errors import LimnosError
from limnos.kernel.events import CallFinished, ContextChanged, StepFinished, TurnFinished, TurnStarted
from limnos.store.audit import read_history
from tests.service.house import House, Talk, answering, call, run, step

Change = Callable[[list[dict[str, Any]]], None]


def recorded(house: House, *steps: dict[str, Any], answer: str = "once", **settings: object) -> Talk:
    """A session of one turn."""

    async def story() -> Talk:
        kernel = house.kernel(*steps, **settings)
        talk = await house.open(kernel)
        await talk.say("do it", answering(answer))
        await kernel.close()
        return talk

    return run(story())


def found(path: Path) -> Verification:
    return verify(path, SystemClock())


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The lines of a session with a command, a parallel pair and an answer."""
    house = House(tmp_path_factory.mktemp("house"))
    (house.work / "a.txt").write_text("alpha\n")
    talk = recorded(
        house,
        step("I look.", call("read_file", path="a.txt"), call("list_dir")),
        step("Now I run it.", call("run_command", command="echo 12345; exit 3")),
        step("It said 12345 and failed."),
    )
    return Path(talk.session.path).read_text().splitlines()


def test_an_untouched_record_is_confirmed_with_its_counts(work: list[str], tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text("\n".join(work) + "\n")

    verification = found(path)

    assert verification.divergence is None
    assert (verification.replies, verification.results, verification.damaged) == (3, 3, False)
    assert verification.events == len(work)


def test_verifying_changes_nothing_and_starts_nothing(work: list[str], tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text("\n".join(work) + "\n")
    before = path.read_bytes()

    found(path)

    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["s.jsonl"]


def test_a_record_is_confirmed_wherever_the_process_died(work: list[str], tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    for written in range(1, len(work)):
        path.write_text("\n".join(work[:written]) + "\n")

        assert found(path).divergence is None, work[written - 1]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("It said 12345", "It said 12346"),
        ("Now I run it.", "Now I run it!"),
        ('"text":"12345', '"text":"12346'),
        ("echo 12345", "echo 12349"),
        ('"outcome":"failed"', '"outcome":"done!!"'),
        ('"reason":"done"', '"reason":"fine"'),
        ('"answer":"once"', '"answer":"nope"'),
        ("alpha", "alphA"),
    ],
)
def test_a_changed_byte_is_found_wherever_it_is(work: list[str], tmp_path: Path, old: str, new: str) -> None:
    text = "\n".join(work) + "\n"
    assert old in text
    path = tmp_path / "s.jsonl"
    path.write_text(text.replace(old, new, 1))

    divergence = found(path).divergence

    assert divergence is not None
    assert divergence.seq == next(json.loads(line)["seq"] for line in work if old in line)


def without_sums(work: list[str], change: Change) -> str:
    """The record as another program would have written it, changed."""
    records = [json.loads(line) for line in work]
    for record in records:
        del record["sum"]
    change(records)
    return "".join(json.dumps(record) + "\n" for record in records)


def first(records: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    return next(record for record in records if record["type"] == kind)


def _reply(records: list[dict[str, Any]]) -> None:
    first(records, "reply_finished")["text"] = "I look!"


def _arguments(records: list[dict[str, Any]]) -> None:
    first(records, "call_started")["arguments"] = {"path": "b.txt"}


def _missing_result(records: list[dict[str, Any]]) -> None:
    records.remove(first(records, "call_finished"))


def _missing_question(records: list[dict[str, Any]]) -> None:
    records.remove(first(records, "approval_asked"))


def _answer(records: list[dict[str, Any]]) -> None:
    first(records, "approval_answered")["answer"] = "no"


def _end(records: list[dict[str, Any]]) -> None:
    first(records, "turn_finished")["calls"] = 1


def _order(records: list[dict[str, Any]]) -> None:
    place = records.index(first(records, "call_started"))
    records[place], records[place + 1] = records[place + 1], records[place]


@pytest.mark.parametrize(
    "change", [_reply, _arguments, _missing_result, _missing_question, _answer, _end, _order]
)
def test_a_record_that_contradicts_itself_is_found_without_checksums(
    work: list[str], tmp_path: Path, change: Change
) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(without_sums(work, lambda records: None))
    assert found(path).divergence is None
    path.write_text(without_sums(work, change))

    divergence = found(path).divergence

    assert divergence is not None
    assert divergence.what


def _thoughts_without_text(records: list[dict[str, Any]]) -> None:
    first(records, "reply_finished")["reasoning"] = [{}]


def _rule_without_parts(records: list[dict[str, Any]]) -> None:
    first(records, "approval_asked")["rule"] = {"effect": "allow"}


def _folder_that_cannot_be(records: list[dict[str, Any]]) -> None:
    for record in records:
        if "cwd" in record:
            record["cwd"] = "/a\0b"


def _cost_that_is_no_number(records: list[dict[str, Any]]) -> None:
    first(records, "usage")["cost"] = "much"


def _cost_beyond_counting(records: list[dict[str, Any]]) -> None:
    for record in records:
        if record["type"] == "usage":
            record["cost"] = "9E+999999"


@pytest.mark.parametrize(
    "change",
    [
        _thoughts_without_text,
        _rule_without_parts,
        _folder_that_cannot_be,
        _cost_that_is_no_number,
        _cost_beyond_counting,
    ],
)
def test_a_record_that_nobody_could_have_written_is_replayed_all_the_same(
    work: list[str], tmp_path: Path, change: Change
) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(without_sums(work, change))

    assert found(path).replies == 3
    assert fold(read_history(path).events).title == "do it"


def _result_of_no_call(records: list[dict[str, Any]]) -> None:
    result = first(records, "call_finished")
    records.insert(records.index(result), {**result, "call": "never"})
    for seq, record in enumerate(records, 1):
        record["seq"] = seq


def test_a_result_that_never_comes_is_waited_for_once_and_not_by_every_call(tmp_path: Path) -> None:
    house = House(tmp_path)
    (house.work / "a.txt").write_text("x")
    looks = (step("", call("read_file", path="a.txt"), call("now", zone=f"Etc/GMT+{n}")) for n in range(12))
    talk = recorded(house, *looks, step("ok"))
    path = Path(talk.session.path)
    path.write_text(without_sums(path.read_text().splitlines(), _result_of_no_call))
    began = time.monotonic()

    assert found(path).divergence is not None
    assert time.monotonic() - began < 6


Story = Callable[[House], Awaitable[Talk]]


async def _limit(house: House) -> Talk:
    talk = await house.open(
        house.kernel(*(step("", call("now", zone=z)) for z in ("UTC", "Asia/Tokyo")), step("x"), steps=2)
    )
    assert (await talk.say("go")).reason == "limit"
    return talk


async def _stuck(house: House) -> Talk:
    bad = {"name": "now", "raw": '{"zone": "As'}
    talk = await house.open(house.kernel(*(step("", bad) for _ in range(3))))
    assert (await talk.say("go")).reason == "limit"
    return talk


async def _failed(house: House) -> Talk:
    talk = await house.open(house.kernel(step("", call("now")), step(error="refused")))
    assert (await talk.say("go")).reason == "failed"
    return talk


async def _broken_twice(house: House) -> Talk:
    talk = await house.open(
        house.kernel(step("half", finish="incomplete"), step("again", finish="incomplete"))
    )
    assert (await talk.say("go")).reason == "failed"
    return talk


async def _broken_once(house: House) -> Talk:
    talk = await house.open(house.kernel(step("half", finish="incomplete"), step("whole")))
    assert (await talk.say("go")).reason == "done"
    return talk


async def _cut(house: House) -> Talk:
    talk = await house.open(
        house.kernel(step("", call("now"), finish="length"), step("", call("now")), step("ok"))
    )
    assert (await talk.say("go")).reason == "done"
    return talk


async def _overflow(house: House) -> Talk:
    talk = await house.open(house.kernel(step(error="overflow"), step("fits")))
    assert (await talk.say("go")).reason == "done"
    return talk


async def _unknown_tool(house: House) -> Talk:
    talk = await house.open(
        house.kernel(step("", call("teleport", to="Mars"), call("now")), step("no such thing"))
    )
    assert (await talk.say("go")).reason == "done"
    return talk


async def _reasoning(house: House) -> Talk:
    talk = await house.open(
        house.kernel(step("", call("now"), reasoning="hm hm"), step("so", reasoning="aha"))
    )
    await talk.say("go")
    return talk


async def _large(house: House) -> Talk:
    (house.work / "big.txt").write_text("line of text\n" * 3000)
    talk = await house.open(
        house.kernel(step("", call("read_file", path="big.txt")), step("big"), inline=400)
    )
    await talk.say("go")
    assert talk.of(CallFinished)[0].short
    return talk


async def _yolo(house: House) -> Talk:
    kernel = house.kernel(
        step("", call("write_file", path="a", content="x"), call("run_command", command="true")),
        step("ok"),
        mode="yolo",
    )
    talk = await house.open(kernel)
    await talk.say("go", answering("once"))
    return talk


async def _renamed(house: House) -> Talk:
    kernel = house.kernel(step("hello", delay=0.05))
    talk = await house.open(kernel)
    await talk.say("go", lambda session, event: session.stop() if event.type == "text_delta" else None)
    await talk.session.close()
    kernel.rename(talk.session.id, "Stopped")
    return talk


async def _many_turns(house: House) -> Talk:
    talk = await house.open(house.kernel(*(step(f"answer {n}") for n in range(3))))
    for n in range(3):
        await talk.say(f"question {n}")
    return talk


@pytest.mark.parametrize(
    "story",
    [
        _limit,
        _stuck,
        _failed,
        _broken_twice,
        _broken_once,
        _cut,
        _overflow,
        _unknown_tool,
        _reasoning,
        _large,
        _yolo,
        _renamed,
        _many_turns,
    ],
    ids=lambda story: story.__name__.strip("_"),
)
def test_every_kind_of_turn_is_confirmed(tmp_path: Path, story: Story) -> None:
    house = House(tmp_path)

    async def whole() -> Talk:
        talk = await story(house)
        await talk.session.close()
        return talk

    assert house.divergence(run(whole())) is None


def test_calls_that_ran_side_by_side_may_have_ended_in_any_order(tmp_path: Path) -> None:
    house = House(tmp_path)
    (house.work / "big").mkdir()
    for n in range(300):
        (house.work / "big" / f"{n}.txt").write_text("x" * 2000)
    calls = [
        call("search_text", query="needle"),
        call("now"),
        call("find_files", pattern="*.txt"),
        call("list_dir"),
    ]
    talk = recorded(house, step("", *calls), step("ok"))

    assert [event.tool for event in talk.of(CallFinished)] != [one["name"] for one in calls]
    assert house.divergence(talk) is None


def test_a_turn_that_was_stopped_between_two_steps_is_confirmed(tmp_path: Path) -> None:
    house = House(tmp_path)

    async def story() -> Talk:
        kernel = house.kernel(step("a", call("now")), step("half", finish="incomplete"), step("never"))
        talk = await house.open(kernel)
        await talk.say("go", lambda session, event: session.stop() if event.type == "warning" else None)
        await kernel.close()
        return talk

    talk = run(story())

    assert talk.of(TurnFinished)[0].reason == "stopped"
    assert house.divergence(talk) is None


def test_forks_of_forks_their_continuations_and_what_a_crash_left_of_them_are_confirmed(
    tmp_path: Path,
) -> None:
    house = House(tmp_path)
    (house.work / "a.txt").write_text("alpha\n" * 200)
    look = call("read_file", path="a.txt")
    paths: list[Path] = []

    async def story() -> int:
        kernel = house.kernel(*(step("", look) for _ in range(8)), step("read"), context_tokens=4000)
        talk = await house.open(kernel)
        await talk.say("read it " * 50)
        sunk = sum(bool(event.sunk) for event in talk.of(ContextChanged))
        await kernel.close()
        for ended in talk.of(StepFinished)[::3]:
            kernel = house.kernel(
                step("", call("run_command", command="true"), look), step("again"), step("bye")
            )
            fork = kernel.fork(talk.session.id, ended.seq)
            in_fork = await house.open(kernel, session=fork)
            await in_fork.say("go on", answering("once"), client_id="f1")
            await in_fork.session.close()
            of_fork, path = kernel.fork(kernel.fork(fork), ended.seq), Path(kernel.path(fork))
            path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-5]))
            resumed = await house.open(kernel, session=fork)
            resumed.session.resume("test")
            await resumed.ended(answering("once"))
            paths.extend((path, Path(kernel.path(of_fork)), Path(kernel.path(kernel.fork(fork)))))
            await kernel.close()
        return sunk

    assert run(story()) > 0
    assert [found(path).divergence for path in paths] == [None] * 9


def test_a_file_that_is_not_there_is_an_empty_record(tmp_path: Path) -> None:
    assert found(tmp_path / "none.jsonl").events == 0


def test_what_is_no_session_file_is_an_error_or_an_empty_record(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("hello\nworld\n")
    assert found(tmp_path / "text").damaged
    with pytest.raises(LimnosError):
        found(tmp_path)


@pytest.mark.parametrize("how", [{"attended": False}, {"trust": True, "mode": "auto"}, {"mode": "auto"}])
def test_whether_somebody_was_there_and_whom_they_trusted_is_recorded(
    tmp_path: Path, how: dict[str, object]
) -> None:
    house = House(tmp_path)
    write = call("write_file", path="a.txt", content="new")

    async def story() -> Talk:
        kernel = house.kernel(step("", write), step("one"), step("two"))
        talk = await house.open(kernel, **how)
        await talk.say("write it", answering("once"))
        await talk.say("and?")
        await kernel.close()
        return talk

    talk = run(story())

    assert house.divergence(talk) is None
    started = talk.of(TurnStarted)[0]
    assert (started.attended, started.trusted) == (how.get("attended", True), how.get("trust", False))


def test_replaying_does_not_wait_for_what_was_waited_for(tmp_path: Path) -> None:
    house = House(tmp_path)
    talk = run(_closed(_broken_once(house)))
    clock = asyncio.new_event_loop()
    try:
        began = clock.time()
        assert house.divergence(talk) is None
        assert clock.time() - began < 0.9
    finally:
        clock.close()


async def _closed(story: Awaitable[Talk]) -> Talk:
    talk = await story
    await talk.session.close()
    return talk
