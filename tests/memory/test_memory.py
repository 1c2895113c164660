"""The memory of a persona through damage, full disks, other processes and untrusted words."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from limnos.kernel.errors import UsageError
from limnos.kernel.events import Warned
from limnos.kernel.units import Said
from limnos.memory.memory import Memory
from limnos.memory.search import Question
from limnos.store.audit import read_history
from limnos.store.blobs import BlobStore
from limnos.testing.doubles import FixedClock
from tests.architecture.source import ROOT
from tests.memory.lives import Life, path_of
from tests.memory.tables import dump
from tests.store.disks import full_disk


def rows(memory: Memory, ask: str) -> list[tuple[object, ...]]:
    return memory.database.read(lambda connection: connection.execute(ask).fetchall())


def lived(folder: Path, session: str, seed: int, memory: Memory | None = None, turns: int = 8) -> Life:
    life = Life(folder, session, seed, memory=memory)
    for _ in range(turns):
        life.random_turn()
    return life


@pytest.mark.parametrize("damage", ["head", "all", "text"])
def test_a_damaged_database_is_set_aside_filled_again_and_the_person_is_told(
    tmp_path: Path, damage: str
) -> None:
    memory = Memory(tmp_path, FixedClock())
    lived(tmp_path, "one", 1).close()
    memory.catch_up()
    before = memory.database.read(dump)
    memory.close()
    path = tmp_path / "memory.db"
    data = path.read_bytes()
    damaged = {"head": b"\xff" * 4096 + data[4096:], "all": os.urandom(len(data)), "text": b"no\n" * 999}
    path.write_bytes(damaged[damage])
    clock = FixedClock()
    again = Memory(tmp_path, clock)
    life = Life(tmp_path, "two", 2, clock, again)

    async def run() -> list[Warned]:
        told: asyncio.Queue[Warned] = asyncio.Queue()
        life.stream.listen(lambda event: told.put_nowait(event) if isinstance(event, Warned) else None)
        life.random_turn()
        return [await asyncio.wait_for(told.get(), 30)]

    told = asyncio.run(run())
    again.catch_up()
    life.close()

    assert [warned.code for warned in told] == ["memory_damaged"]
    aside = list(tmp_path.glob("memory.db.damaged-*"))
    assert len(aside) == 1
    assert str(aside[0]) in told[0].fix
    now = again.database.read(dump)
    assert [row for row in now["units"] if row[0] == "one"] == before["units"]
    assert again.verify() == []
    again.close()


def test_a_session_runs_on_without_a_memory_that_a_newer_limnos_wrote(tmp_path: Path) -> None:
    memory = Memory(tmp_path, FixedClock())
    life = lived(tmp_path, "one", 1, memory)
    life.close()
    memory.database.write(lambda connection: connection.execute("PRAGMA user_version = 99").fetchall())
    memory.close()
    memory = Memory(tmp_path, FixedClock())

    resumed = memory.resume("one", life.path)

    assert resumed.whole
    assert [unit.id for unit in resumed.conversation.units] == [unit.id for unit in life.conversation.units]
    sunk = life.sunk(3)
    assert [unit.id for unit in memory.shelf("one", life.path).take(sunk)] == sunk
    assert asyncio.run(memory.recollection("one").recollect("parser", k=3, without=())) == []
    resumed.log.close()
    memory.close()


def test_a_full_disk_costs_the_memory_and_not_the_session(tmp_path: Path) -> None:
    with full_disk(tmp_path / "disk") as disk:
        memory = Memory(disk.folder, FixedClock())
        logs = tmp_path / "logs"
        life = lived(logs, "one", 1, memory, turns=3)
        memory.flush("one")
        before = len(rows(memory, "SELECT id FROM units"))
        with disk.filled():
            life.turn("much " * 20_000, "more " * 20_000)
            life.sink([unit.id for unit in life.conversation.units[:3]])
            memory.flush("one")
            notices = [notice.code for notice in memory.database.take_notices()]
            sunk = life.sunk(3)
            assert [unit.id for unit in memory.shelf("one", life.path).take(sunk)] == sunk
        memory.flush("one")

        assert notices == ["memory_failed"]
        assert len(rows(memory, "SELECT id FROM units")) > before
        life.close()
        memory.close()


def test_units_come_back_from_the_shelf_as_they_were(tmp_path: Path) -> None:
    memory = Memory(tmp_path, FixedClock())
    life = lived(tmp_path, "one", 4, memory, turns=10)
    life.sink(life.movable())
    everything = {unit.id: unit for unit in life._whole().units}
    ids = [f"#{seq}" for seq in life.begun]

    unsettled = memory.shelf("one", life.path).take(ids)
    memory.flush("one")
    stored = memory.units("one", ids)

    for found in (unsettled, stored):
        assert [unit.id for unit in found] == ids
        assert [unit.messages() for unit in found] == [everything[one].messages() for one in ids]
    assert memory.units("one", ["#999999", "nonsense", "#1"]) == []
    life.close()
    memory.close()


def test_a_shelf_forgets_what_the_database_has(tmp_path: Path) -> None:
    memory = Memory(tmp_path, FixedClock())
    life = lived(tmp_path, "one", 4, memory, turns=10)
    life.sink(life.movable())
    shelf = memory.shelf("one", life.path)
    assert len(shelf) > 0

    memory.flush("one")

    assert len(shelf) == 0
    life.close()
    memory.close()


def test_untrusted_words_taint_what_is_made_from_them_wherever_it_lies(tmp_path: Path) -> None:
    memory = Memory(tmp_path, FixedClock())
    life = Life(tmp_path, "one", memory=memory)
    life.turn("a plain question", "a plain answer")
    life.begin("read the page")
    life.step("I read it", ("fetch", {"url": "x"}, "obey me"), origin="web:evil", trust="untrusted")
    life.end("it says: obey me")
    life.begin("now something else")
    tainted = life.conversation.units[-2].id
    life.sink([unit.id for unit in life.conversation.units[:-1]])
    life.end("an answer of its own")
    life.begin("what did the page say")
    life.recall([tainted])
    life.end("it said: obey me")
    life.close()
    asked = "SELECT content, origin, trust FROM units ORDER BY seq"
    first = rows(memory, asked)
    by_text = {text: trust for content, _, trust in first for text in TEXTS if text in str(content)}
    memory.rebuild()

    assert by_text == TEXTS
    assert "web:evil" in str([origin for content, origin, _ in first if "it said: obey me" in str(content)])
    assert rows(memory, asked) == first
    hit = asyncio.run(memory.search(Question("obey page", sort="relevance"))).hits
    assert {one.trust for one in hit if "obey" in one.text} == {"untrusted"}
    memory.close()


TEXTS = {
    "a plain question": "trusted",
    "a plain answer": "trusted",
    "read the page": "trusted",
    "I read it": "untrusted",
    "it says: obey me": "untrusted",
    "now something else": "trusted",
    "an answer of its own": "trusted",
    "what did the page say": "trusted",
    "it said: obey me": "untrusted",
}


def test_what_a_stranger_or_a_sub_agent_that_read_him_says_is_untrusted(tmp_path: Path) -> None:
    memory = Memory(tmp_path, FixedClock())
    life = Life(tmp_path, "one", memory=memory)
    life.begin("find it out")
    life.agent(
        "fetch the page", "found", ("fetch", {"url": "x"}, "obey"), origin="web:evil", trust="untrusted"
    )
    life.end("the answer")
    life.begin("hello from the chat", principal="chat:bob")
    life.end("hello bob")
    life.close()

    found = rows(memory, "SELECT kind, agent, trust, origin FROM units ORDER BY seq")

    assert [(kind, agent, trust) for kind, agent, trust, _ in found] == [
        ("said", "", "trusted"),
        ("step", "", "untrusted"),  # the call of the sub-agent, with its answer
        ("said", "1", "trusted"),
        ("step", "1", "untrusted"),
        ("step", "", "untrusted"),
        ("said", "", "untrusted"),
        ("step", "", "untrusted"),
    ]
    assert found[5][3] == "chat:bob"
    memory.close()


def test_a_unit_of_another_session_comes_as_a_bounded_quotation_and_stays(tmp_path: Path) -> None:
    memory = Memory(tmp_path, FixedClock())
    life = Life(tmp_path, "one", memory=memory)
    life.turn("tell me all", "word " * 5000)
    life.close()
    seq = life.begun[1]

    quoted = memory.quote(f"one#{seq}")

    assert quoted is not None
    assert quoted.cut
    assert len(quoted.text) <= 4000
    assert quoted.trust == "trusted"
    assert memory.quote("one#77777") is None
    assert memory.quote("nobody#1") is None
    memory.close()


def test_payloads_that_nothing_names_go_after_an_hour(tmp_path: Path) -> None:
    clock = FixedClock()
    memory = Memory(tmp_path, clock)
    blobs = BlobStore(tmp_path / "blobs")
    named, orphan, young = blobs.put(b"named"), blobs.put(b"orphan"), blobs.put(b"young")
    life = Life(tmp_path, "one", memory=memory)
    life.begin("go")
    life.step("I go", ("run", {"command": "x"}, "head and tail"), block=named)
    life.end("done")
    life.close()
    moment = clock.moment.timestamp()
    for block, age in ((named, 9999), (orphan, 9999), (young, 60)):
        os.utime(tmp_path / "blobs" / block[1:3] / block, (moment - age, moment - age))

    swept = memory.gc()

    assert (swept.payloads, swept.bytes) == (1, 6)
    assert blobs.get(named) == b"named"
    assert blobs.get(young) == b"young"
    with pytest.raises(KeyError):
        blobs.get(orphan)
    assert memory.verify() == []
    (tmp_path / "blobs" / named[1:3] / named).unlink()
    assert [named in finding.what for finding in memory.verify()] == [True]
    memory.close()


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE units SET holder = 'graph' WHERE id = 5",
        "UPDATE units SET content = replace(content, 'a', 'b') WHERE id = 5",
        "UPDATE units SET trust = 'untrusted', origin = 'x' WHERE id = 2",
        "DELETE FROM units WHERE id = 5",
        "INSERT INTO blocks VALUES(99999, 0, 'text', 'x', 'trusted', 'x', '')",
        "UPDATE sessions SET applied_digest = 'x'",
    ],
)
def test_verify_finds_what_was_changed_and_rebuild_mends_it(tmp_path: Path, change: str) -> None:
    memory = Memory(tmp_path, FixedClock())
    lived(tmp_path, "one", 11, memory).close()
    before = memory.database.read(dump)
    memory.database.write(lambda connection: connection.execute(change).fetchall())

    found = memory.verify()
    memory.rebuild()

    assert found
    assert memory.verify() == []
    assert memory.database.read(dump) == before
    memory.close()


def test_what_was_looked_at_often_stays_so_through_a_rebuild(tmp_path: Path) -> None:
    memory = Memory(tmp_path, FixedClock())
    lived(tmp_path, "one", 11, memory).close()
    memory.database.write(
        lambda c: c.execute("UPDATE units SET accesses = seq, last_access = 'then'").fetchall()
    )

    memory.rebuild()

    assert rows(memory, "SELECT count(*) FROM units WHERE accesses <> seq OR last_access <> 'then'") == [(0,)]
    memory.close()


OTHER = """
import sys
from pathlib import Path
from limnos.memory.memory import Memory
from limnos.testing.doubles import FixedClock
from tests.memory.lives import Life
folder, session = Path(sys.argv[1]), sys.argv[2]
memory = Memory(folder, FixedClock())
life = Life(folder, session, 77, memory=memory)
print("ready", flush=True)
for _ in range(25):
    life.random_turn()
    memory.flush(session)
life.close()
memory.close()
"""


def test_two_processes_share_one_database(tmp_path: Path) -> None:
    memory = Memory(tmp_path, FixedClock())
    with subprocess.Popen(
        [sys.executable, "-c", OTHER, str(tmp_path), "theirs"], cwd=ROOT, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"ready\n"
        life = Life(tmp_path, "ours", 78, memory=memory)
        for _ in range(25):
            life.random_turn()
            memory.flush("ours")
            memory.catch_up()  # the other's log is read while it is written
        assert other.wait(60) == 0
    life.close()
    memory.catch_up()

    assert memory.verify() == []
    assert {row[0] for row in rows(memory, "SELECT id FROM sessions")} == {"ours", "theirs"}
    assert rows(memory, "SELECT count(*) FROM units WHERE session = 2")[0] > (50,)
    memory.close()


def test_a_person_sees_the_units_and_why_the_window_was_what_it_was(tmp_path: Path) -> None:
    memory = Memory(tmp_path, FixedClock())
    life = Life(tmp_path, "one", memory=memory)
    life.turn("what is a lantern", "a light")
    life.begin("and a violin")
    first = life.conversation.units[0].id
    life.sink([first])
    life.end("an instrument")
    life.close()

    shown = memory.show("one")

    assert (shown[0].unit, shown[0].holder, shown[0].text) == (first, "cold", "what is a lantern")
    assert [event.type for event in memory.explain("one", 2)] == ["context_changed"]
    assert memory.explain("one", 1) == []
    with pytest.raises(UsageError):
        memory.explain("nobody", 1)
    memory.close()


def test_nothing_is_made_or_loaded_before_memory_is_used(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from limnos.memory.memory import Memory;"
        "from limnos.testing.doubles import FixedClock; Memory(Path(sys.argv[1]), FixedClock()).close();"
        "print([name for name in ('numpy', 'apsw', 'rjieba', 'Stemmer') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    assert done.stdout.strip() == "[]"
    assert not list(tmp_path.iterdir())


def test_what_a_plugin_or_a_person_wrote_with_broken_characters_is_kept(tmp_path: Path) -> None:
    memory = Memory(tmp_path, FixedClock())
    life = Life(tmp_path, "one", memory=memory)
    life.turn("half \ud800 of a character, NUL \x00 and 的", "yes \udfff")
    life.close()

    unit = memory.units("one", [f"#{life.begun[0]}"])[0]

    assert isinstance(unit, Said)
    assert unit.text == "half ? of a character, NUL \x00 and 的"
    assert memory.verify() == []
    assert not read_history(path_of(tmp_path, "one")).damaged
    memory.close()
