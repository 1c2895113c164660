"""The rows are a pure function of the logs, and a session opened from them is the one that was closed."""

import random
from contextlib import suppress
from pathlib import Path

import pytest

from limnos.kernel.conversation import Conversation, fold
from limnos.kernel.events import Event
from limnos.kernel.stream import EventStream
from limnos.kernel.units import MemoryShelf
from limnos.memory.memory import Memory
from limnos.memory.states import state_of
from limnos.store.audit import read_history
from limnos.testing.doubles import FixedClock
from tests.memory.lives import Life
from tests.memory.tables import dump


@pytest.fixture(params=range(4))
def seed() -> int:
    """A seed that nobody chose; printed, so that a failure can be repeated."""
    found = random.SystemRandom().randrange(1 << 30)
    print("seed", found)
    return found


def lived(folder: Path, session: str, seed: int, turns: int = 12, memory: Memory | None = None) -> Life:
    life = Life(folder, session, seed, memory=memory)
    for _ in range(turns):
        life.random_turn()
    return life


def test_a_running_session_a_catch_up_and_a_rebuild_give_the_same_rows(tmp_path: Path, seed: int) -> None:
    memory = Memory(tmp_path, FixedClock())
    life = Life(tmp_path, "live", seed, memory=memory)
    for _ in range(12):
        life.random_turn()
        if life.chance.random() < 0.5:
            memory.flush("live")
    life.close()
    lived(tmp_path, "other", seed + 1).close()
    memory.catch_up()
    live = memory.database.read(dump)
    assert memory.verify() == []

    memory.rebuild()
    rebuilt = memory.database.read(dump)
    memory.close()
    for path in tmp_path.glob("memory.db*"):
        path.unlink()
    again = Memory(tmp_path, FixedClock())
    again.catch_up()

    assert rebuilt == live
    assert again.database.read(dump) == live
    assert len(live["units"]) > 30
    again.close()


def test_holders_are_where_the_fold_has_the_units(tmp_path: Path, seed: int) -> None:
    memory = Memory(tmp_path, FixedClock())
    life = lived(tmp_path, "live", seed, memory=memory)
    memory.flush("live")

    rows = memory.database.read(lambda c: c.execute("SELECT seq, holder, agent FROM units").fetchall())
    standing = {unit.seq for unit in life.conversation.units}
    shown = {seq for seq, holder, _ in rows if holder == "window"}

    assert shown == standing & {seq for seq, _, _ in rows}
    assert {seq for seq, _, agent in rows if not agent} == set(life.begun)
    assert all(holder == "cold" for _, holder, agent in rows if agent)
    life.close()
    memory.close()


def test_a_session_opened_from_the_database_is_the_one_that_was_closed(tmp_path: Path, seed: int) -> None:
    memory = Memory(tmp_path, FixedClock())
    life = lived(tmp_path, "live", seed, memory=memory)
    before, path = life.conversation, life.path
    life.close()
    memory.close()

    again = Memory(tmp_path, FixedClock())
    resumed = again.resume("live", path)

    assert not resumed.whole
    assert resumed.log.begins_at > 0
    assert state_of(resumed.conversation) == state_of(before)
    assert [unit.messages() for unit in resumed.conversation.units] == [u.messages() for u in before.units]
    assert resumed.conversation.call_ids == before.call_ids
    assert resumed.conversation.client_ids == before.client_ids
    whole = read_history(path).events
    kinds = {"file_changed", "job_changed", "session_started", "session_changed"}
    assert [e for e in resumed.events if e.type in kinds] == [e for e in whole if e.type in kinds]
    answers = [e for e in whole if e.type == "approval_answered" and e.answer == "always"]
    assert [e for e in resumed.events if e.type == "approval_answered"] == answers
    resumed.log.close()
    again.close()


def test_a_session_goes_on_after_it_was_opened_from_the_database(tmp_path: Path, seed: int) -> None:
    memory = Memory(tmp_path, FixedClock())
    lived(tmp_path, "live", seed, memory=memory).close()
    for round_ in range(3):
        life = Life.__new__(Life)
        path = tmp_path / "sessions" / "2026" / "03" / "20260314T203104-live.jsonl"
        resumed = memory.resume("live", path)
        life.__dict__.update(
            clock=FixedClock(), chance=random.Random(seed + round_), session="live", memory=memory, path=path,
            log=resumed.log, _calls=1000 * (round_ + 1),
            stream=EventStream("live", resumed.log, FixedClock(), resumed.conversation),
        )  # fmt: skip
        memory.attach(life.stream, path)
        for _ in range(4):
            life.random_turn()
        life.close()
    history = read_history(path)
    expected = fold(history.events, history.last_seq, MemoryShelf())

    assert memory.verify() == []
    resumed = memory.resume("live", path)
    assert state_of(resumed.conversation) == state_of(expected)
    resumed.log.close()
    memory.close()


def test_a_log_that_was_cut_behind_the_rows_is_projected_anew(tmp_path: Path) -> None:
    memory = Memory(tmp_path, FixedClock())
    life = lived(tmp_path, "live", 7, memory=memory)
    life.close()
    lines = life.path.read_bytes().splitlines(keepends=True)
    life.path.write_bytes(b"".join(lines[: len(lines) // 2]))

    resumed = memory.resume("live", life.path)
    resumed.log.close()
    assert resumed.whole
    assert [finding.fix for finding in memory.verify()] == ["limnos memory rebuild"]
    memory.catch_up()

    assert memory.verify() == []
    memory.close()


def test_damaged_lines_are_left_out_and_said_at_every_opening(tmp_path: Path) -> None:
    memory = Memory(tmp_path, FixedClock())
    life = lived(tmp_path, "live", 8, 6)
    life.close()
    lines = life.path.read_bytes().splitlines(keepends=True)
    lines[20] = b'{"v":1,"seq":21,"time\n'
    life.path.write_bytes(b"".join(lines))
    memory.catch_up()

    for _ in range(2):
        resumed = memory.resume("live", life.path)
        assert resumed.damaged
        assert not resumed.whole
        resumed.log.close()
    assert memory.verify() == []
    memory.close()


def test_an_incomplete_step_that_was_tried_again_leaves_no_row(tmp_path: Path) -> None:
    memory = Memory(tmp_path, FixedClock())
    life = Life(tmp_path, "live", memory=memory)
    life.begin("what is it")
    life.step("it is hal", complete=False)
    memory.flush("live")
    life.stream.step -= 1
    life.end("it is half past nine")
    life.close()

    texts = [str(row) for row in memory.database.read(dump)["units"]]

    assert not [text for text in texts if '"it is hal"' in text]
    assert [text for text in texts if "half past nine" in text]
    assert memory.verify() == []
    memory.close()


def test_what_memory_put_beside_an_input_has_no_row(tmp_path: Path) -> None:
    memory = Memory(tmp_path, FixedClock())
    lived(tmp_path, "live", 3, 40, memory=memory).close()

    assert "[memory] a copy" in (next(tmp_path.rglob("*.jsonl"))).read_text()
    assert not [row for row in memory.database.read(dump)["units"] if "[memory] a copy" in str(row)]
    memory.close()


def standing(conversation: Conversation) -> dict[str, object]:
    """What stands for units that have sunk, and which may not sink."""
    window = conversation.window
    return {**window.__dict__, "markers": list(window.markers)}


class Stopped(Exception):  # noqa: N818
    """The process ended here."""


@pytest.mark.parametrize("part", range(10))
def test_a_session_that_ends_at_any_event_opens_as_its_log_says(tmp_path: Path, seed: int, part: int) -> None:
    chance = random.Random(seed + part)
    memory = Memory(tmp_path, FixedClock())
    life = Life(tmp_path, "live", seed + part, memory=memory)
    left = [chance.randrange(20, 500)]

    def hear(_: Event) -> None:
        left[0] -= 1
        if chance.random() < 0.03:
            memory.flush("live")
        if left[0] <= 0:
            raise Stopped

    life.stream.listen(hear)
    with suppress(Stopped):
        for _ in range(1000):
            life.random_turn()
    assert left[0] <= 0
    life.log.close()

    again = Memory(tmp_path, FixedClock())
    resumed = again.resume("live", life.path)
    history = read_history(life.path)
    expected = fold(history.events, history.last_seq, MemoryShelf())
    assert [unit.messages() for unit in resumed.conversation.units] == [u.messages() for u in expected.units]
    assert standing(resumed.conversation) == standing(expected)
    resumed.log.close()
    again.catch_up()
    assert again.verify() == []
    again.close()
    memory.close()
