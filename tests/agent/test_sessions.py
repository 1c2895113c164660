"""The sessions of a home: found, listed with their state, forked."""

import asyncio
import fcntl
import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from limnos.agent.sessions import SessionFiles
from limnos.kernel.conversation import fold
from limnos.kernel.errors import StorageError, UsageError
from limnos.kernel.events import (
    ApprovalAnswered,
    ApprovalAsked,
    CallStarted,
    Event,
    SessionChanged,
    SessionStarted,
    StepFinished,
    TurnFinished,
    TurnResumed,
    TurnStarted,
    Warned,
)
from limnos.store.audit import AuditLog, read_history
from limnos.store.records import MAX_LINE
from limnos.testing.doubles import FixedClock
from tests.service.house import House, answering, call, run, step
from tests.store.disks import full_disk

STARTED = SessionStarted(persona="default", cwd="/w", program="limnos 0")
SAID = TurnStarted(
    input="Plan my week\nplease",
    source="t",
    principal="owner",
    client_id="m1",
    persona="p",
    model="m",
    mode="ask",
)
STEP = StepFinished(text="done")
ASKED = ApprovalAsked(approval="a1", call="c1", tool="t", arguments={}, hash="h", reasons=["r"])
ANSWERED = ApprovalAnswered(approval="a1", call="c1", answer="once", principal="owner", source="t")
FILLER = [Warned(code="c", text="x" * 900)] * 200
HUGE = Warned(code="c", text="x" * 300_000)


def ended(reason: str) -> TurnFinished:
    return TurnFinished(reason=reason, exit=0, steps=1, calls=0, ms=0, tokens=0)  # pyright: ignore[reportArgumentType]


def sessions(tmp_path: Path) -> SessionFiles:
    return SessionFiles(tmp_path, "default", FixedClock())


def write(files: SessionFiles, session: str, *events: Event) -> AuditLog:
    """A session's file; the writer still holds it."""
    clock = FixedClock()
    log = AuditLog(files.new_path(session))
    for seq, event in enumerate(events, 1):
        log.append(event.changed(seq=seq, time=clock.later(seq), session=session, turn=1, step=1))
    return log


STATES = [
    ("empty", (STARTED,)),
    ("interrupted", (STARTED, SAID)),
    ("interrupted", (STARTED, SAID, STEP)),
    ("interrupted", (STARTED, SAID, ASKED)),
    ("done", (STARTED, SAID, STEP, ended("done"))),
    ("failed", (STARTED, SAID, STEP, ended("failed"))),
    ("limit", (STARTED, SAID, STEP, ended("limit"))),
    ("denied", (STARTED, SAID, STEP, ended("denied"))),
    ("stopped", (STARTED, SAID, STEP, ended("stopped"))),
    ("stopped", (STARTED, SAID, STEP, ended("terminated"))),
    ("failed", (STARTED, SAID, STEP, ended("failed"), SessionChanged(title="x"), Warned(code="c", text="t"))),
    ("interrupted", (STARTED, SAID, STEP, ended("done"), SAID)),
    ("interrupted", (STARTED, SAID, TurnResumed(source="t", principal="owner"))),
    ("interrupted", (STARTED, SAID, STEP, ended("done"), SAID, *FILLER)),
    ("interrupted", (STARTED, SAID, STEP, ended("done"), SAID, HUGE)),
    ("done", (STARTED, SAID, *FILLER, STEP, ended("done"))),
    ("done", (STARTED, SAID, HUGE, ended("done"))),
    ("empty", ()),
]


@pytest.mark.parametrize(("state", "events"), STATES)
def test_a_session_that_nobody_writes_is_listed_in_its_state(
    tmp_path: Path, state: str, events: tuple[Event, ...]
) -> None:
    files = sessions(tmp_path)
    write(files, "s1", *events).close()

    (row,) = files.summaries()

    assert (row.id, row.state) == ("s1", state)
    assert row.last_seq == len(events)


@pytest.mark.parametrize(
    ("state", "events"),
    [
        ("empty", (STARTED,)),
        ("working", (STARTED, SAID)),
        ("waiting", (STARTED, SAID, ASKED)),
        ("working", (STARTED, SAID, ASKED, ANSWERED)),
        ("working", (STARTED, SAID, STEP, ended("done"), SAID, *FILLER)),
        ("waiting", (STARTED, SAID, *FILLER, ASKED)),
        ("done", (STARTED, SAID, STEP, ended("done"))),
        ("limit", (STARTED, SAID, STEP, ended("limit"), SessionChanged(title="x"))),
    ],
)
def test_a_session_that_is_open_somewhere_says_whether_it_works_or_waits(
    tmp_path: Path, state: str, events: tuple[Event, ...]
) -> None:
    files = sessions(tmp_path)
    log = write(files, "s1", *events)
    try:
        assert files.summaries()[0].state == state
    finally:
        log.close()


@pytest.mark.parametrize(
    ("title", "events"),
    [
        ("Plan my week", (STARTED, SAID)),
        ("Plan it", (STARTED, SAID.changed(input="Plan it\x0bplease"))),
        ("Week", (STARTED, SAID, SessionChanged(title="Week"))),
        (
            "New",
            (
                STARTED,
                SAID,
                SessionChanged(title="Week"),
                SessionChanged(title="New"),
                SessionChanged(archived=True),
            ),
        ),
        ("Week", (STARTED, SAID, *FILLER, SessionChanged(title="Week"), *FILLER)),
        ("Week", (STARTED, SAID, *FILLER, SessionChanged(title="Week"), HUGE)),
        ("", (STARTED,)),
    ],
)
def test_the_title_is_the_last_one_given_else_the_first_line_said(
    tmp_path: Path, title: str, events: tuple[Event, ...]
) -> None:
    files = sessions(tmp_path)
    write(files, "s1", *events).close()

    (row,) = files.summaries()
    assert row.title == title
    assert fold(read_history(Path(row.path)).events).title == title


SAYS_SO = CallStarted(call="c1", hash="h", arguments={"type": "session_changed"})
ARCHIVED = SessionChanged(archived=True)


@pytest.mark.parametrize(
    "later",
    [
        (ARCHIVED,),
        (ARCHIVED, *FILLER) * 3,
        (SAYS_SO,),
        (SAYS_SO.changed(arguments={"all": [{"type": "session_changed"}] * 500}),),
        (SAYS_SO.changed(arguments={"text": "x" * 300_000, "type": "session_changed"}),),
    ],
    ids=["archived", "archived often", "said by a call", "said often", "said in a long line"],
)
def test_what_only_looks_like_a_renaming_hides_no_title(tmp_path: Path, later: tuple[Event, ...]) -> None:
    files = sessions(tmp_path)
    named = SessionChanged(title="Week")
    write(files, "s1", STARTED, SAID, *FILLER, named, *FILLER, *later, *FILLER).close()

    assert files.summaries()[0].title == "Week"


def test_a_renaming_that_is_damaged_leaves_the_title_before_it(tmp_path: Path) -> None:
    files = sessions(tmp_path)
    names = [SessionChanged(title="Week"), *FILLER, SessionChanged(title="Damaged")]
    write(files, "s1", STARTED, SAID, *FILLER, *names, *FILLER).close()
    path = files.find("s1")
    path.write_bytes(path.read_bytes().replace(b'"title":"Damaged"', b'"title":"Dama\n', 1))

    assert files.summaries()[0].title == "Week"


def test_the_sessions_written_last_come_first_and_a_limit_keeps_these(tmp_path: Path) -> None:
    files = sessions(tmp_path)
    for number in range(5):
        write(files, f"s{number}", STARTED, SAID, *FILLER[:number]).close()
        path = files.find(f"s{number}")
        os.utime(path, (1_000_000, 1_000_000 + (100 if number == 1 else number)))

    assert [row.id for row in files.summaries(2)] == ["s4", "s1"]
    assert len(files.summaries()) == len(files.summaries(10**20)) == 5


def test_a_damaged_or_vanished_file_does_not_hide_the_others(tmp_path: Path) -> None:
    files = sessions(tmp_path)
    write(files, "s1", STARTED, SAID).close()
    folder = files.find("s1").parent
    (folder / "20260101T000000-s2.jsonl").write_bytes(b"\x00\xff{" * 50_000)
    (folder / "20260101T000000-s3.jsonl").symlink_to("nowhere")
    (folder / "20260101T000000-s4.jsonl").symlink_to("/proc/self/mem")  # reading it is an I/O error
    (folder / "20260101T000000-s5.jsonl").write_bytes(b"no record")

    rows = {row.id: row for row in files.summaries()}

    assert {row.id: row.state for row in files.summaries(9)} == {
        "s1": "interrupted", "s2": "unreadable", "s4": "unreadable", "s5": "unreadable",
    }  # fmt: skip
    assert "s4.jsonl cannot be read: Input/output error; check" in rows["s4"].title
    assert "s5.jsonl holds no record that can be read; put it back" in rows["s5"].title
    assert [files.started_in(Path(row.path)) for row in (rows["s1"], rows["s4"])] == ["/w", ""]
    with pytest.raises(StorageError, match="Input/output error"):
        files.fork("s4", "s9", None)
    assert not files.exists("s9")


def test_records_that_lack_what_they_should_have_do_not_hide_the_others(tmp_path: Path) -> None:
    files = sessions(tmp_path)
    write(files, "s1", STARTED, SAID).close()
    odd = files.find("s1").with_name("20260101T000000-s2.jsonl")
    with odd.open("wb") as file:
        for kind in ("session_changed", "turn_started", "approval_asked", "approval_answered"):
            file.write(b'{"v":1,"seq":1,"type":"%b","title":[1],"approval":{}}\n' % kind.encode())
        file.flush()
        fcntl.flock(file, fcntl.LOCK_EX)
        assert {row.id: row.state for row in files.summaries()} == {"s1": "interrupted", "s2": "working"}


def test_a_folder_that_nobody_lets_us_look_into_is_told_of_beside_the_others() -> None:
    with tempfile.TemporaryDirectory() as home:
        files = sessions(Path(home))
        write(files, "s1", STARTED, SAID).close()
        closed = files.find("s1").parent.with_name("13")
        closed.mkdir()
        for folder in (Path(home), *(path for path in Path(home).rglob("*") if path.is_dir())):
            folder.chmod(0o755)
        files.find("s1").chmod(0o644)
        closed.chmod(0)

        with as_nobody():
            rows = files.summaries()

        closed.chmod(0o700)
    assert [(row.id, row.state) for row in rows] == [("s1", "interrupted"), ("13", "unreadable")]
    assert f"{closed} cannot be read: Permission denied" in rows[1].title


@contextmanager
def as_nobody() -> Iterator[None]:
    """Without root's right to read everything."""
    if os.geteuid():
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_log_that_shrinks_while_it_is_listed_is_listed_all_the_same(tmp_path: Path) -> None:
    files = sessions(tmp_path)
    write(files, "s1", STARTED, SAID, *FILLER, SessionChanged(title="Week"), *FILLER).close()
    path = files.find("s1")
    whole, over = path.read_bytes(), threading.Event()

    def rewrite() -> None:
        while not over.is_set():
            os.truncate(path, 700)
            with path.open("ab") as file:
                file.write(whole[700:])

    writer = threading.Thread(target=rewrite)
    writer.start()
    try:
        seen = [files.summaries() for _ in range(300)]
    finally:
        over.set()
        writer.join(10)

    assert {row.id for rows in seen for row in rows} == {"s1"}
    assert {len(rows) for rows in seen} == {1}


def test_what_has_the_name_of_a_session_and_is_no_file_is_none_and_is_not_waited_for(tmp_path: Path) -> None:
    files = sessions(tmp_path)
    write(files, "s1", STARTED, SAID).close()
    folder = files.find("s1").parent
    os.mkfifo(folder / "20260101T000000-s2.jsonl")
    (folder / "20260101T000000-s3.jsonl").mkdir()
    (folder / "20260101T000000-s4.jsonl").symlink_to("/dev/zero")
    (folder / "20260101T000000-s5.jsonl").symlink_to("20260101T000000-s5.jsonl")

    assert [row.id for row in files.summaries()] == ["s1"]
    for session in ("s2", "s3", "s4", "s5"):
        with pytest.raises(UsageError):
            files.find(session)


@pytest.mark.parametrize("session", ["s9", "", "*", "../x", "s1*", "s1/../s1"])
def test_a_session_that_is_none_is_an_error_that_names_the_list(tmp_path: Path, session: str) -> None:
    files = sessions(tmp_path)
    write(files, "s1", STARTED).close()

    with pytest.raises(UsageError) as caught:
        files.find(session)
    assert caught.value.fix == "limnos sessions"
    assert files.exists("s1")
    assert not files.exists("s9")


def test_a_fork_is_cut_at_the_end_of_a_step_and_says_where_it_comes_from(tmp_path: Path) -> None:
    files = sessions(tmp_path)
    write(files, "s1", STARTED, SAID, STEP, ended("done"), SAID, STEP, ended("done")).close()

    copied = read_history(files.fork("s1", "s2", 5)).events

    assert [event.type for event in copied] == [
        "session_started",
        "turn_started",
        "step_finished",
        "turn_finished",
    ]
    assert {event.session for event in copied} == {"s2"}
    assert isinstance(copied[0], SessionStarted)
    assert copied[0].forked_from == "s1#4"
    assert len(read_history(files.find("s1")).events) == 7


def test_a_fork_inside_a_turn_is_ended(tmp_path: Path) -> None:
    files = sessions(tmp_path)
    write(files, "s1", STARTED, SAID, STEP, STEP, ended("done")).close()

    copied = read_history(files.fork("s1", "s2", 3)).events

    assert [event.type for event in copied][-2:] == ["step_finished", "turn_finished"]
    assert [event.seq for event in copied] == [1, 2, 3, 4, 5]
    assert {row.id: row.state for row in files.summaries()} == {"s1": "done", "s2": "stopped"}


def test_a_session_that_works_can_be_forked(tmp_path: Path) -> None:
    files = sessions(tmp_path)
    log = write(files, "s1", STARTED, SAID, STEP)
    try:
        assert len(read_history(files.fork("s1", "s2", None)).events) == 5
    finally:
        log.close()


def test_there_is_nothing_to_fork_before_the_first_step(tmp_path: Path) -> None:
    files = sessions(tmp_path)
    write(files, "s1", STARTED, SAID, STEP).close()

    with pytest.raises(UsageError) as caught:
        files.fork("s1", "s2", 2)
    assert "replay s1" in caught.value.fix
    assert not files.exists("s2")
    write(files, "s3", STARTED).close()
    with pytest.raises(UsageError, match=r"has no finished step$"):
        files.fork("s3", "s2", None)


def test_the_list_follows_a_session_while_it_works_waits_and_ends(tmp_path: Path) -> None:
    house = House(tmp_path)
    states: list[str] = []

    async def story() -> None:
        kernel = house.kernel(step("", call("run_command", command="true")), step("ok"))
        talk = await house.open(kernel)
        states.append(kernel.sessions()[0].state)

        def look(session: object, event: Event) -> None:
            if event.type in ("turn_started", "approval_asked", "call_started"):
                states.append(kernel.sessions()[0].state)
            answering("once")(talk.session, event)

        await talk.say("run it", look)
        states.append(kernel.sessions()[0].state)
        await kernel.close()
        await asyncio.sleep(0)
        states.append(kernel.sessions()[0].state)

    run(story())

    assert states == ["empty", "working", "waiting", "working", "done", "done"]


def test_a_fork_on_a_full_disk_is_an_error_and_leaves_nothing(tmp_path: Path) -> None:
    with full_disk(tmp_path / "disk") as disk:
        files = sessions(disk.folder)
        write(files, "s1", STARTED, SAID, STEP, *FILLER, ended("done")).close()
        with disk.filled(100), pytest.raises(StorageError, match=r"full|File too large"):
            files.fork("s1", "s2", None)

        assert [path.name.rsplit("-", 1)[-1] for path in disk.folder.rglob("*") if path.is_file()] == [
            "s1.jsonl"
        ]
        assert len(read_history(files.fork("s1", "s2", None)).events) == len(FILLER) + 4


def test_a_fork_of_a_fork_says_where_it_comes_from_and_both_are_listed(tmp_path: Path) -> None:
    files = sessions(tmp_path)
    write(files, "s1", STARTED, SAID, STEP, STEP, ended("done")).close()
    files.fork("s1", "s2", 3)
    files.fork("s2", "s3", None)

    started = read_history(files.find("s3")).events[0]

    assert isinstance(started, SessionStarted)
    assert started.forked_from == "s2#5"
    assert {row.id: row.state for row in files.summaries()} == {
        "s1": "done",
        "s2": "stopped",
        "s3": "stopped",
    }


def test_what_no_file_can_hold_is_an_error_of_the_fork_and_leaves_nothing(tmp_path: Path) -> None:
    files = sessions(tmp_path)
    write(files, "s1", STARTED, SAID, STEP).close()
    line = b'{"v":1,"seq":4,"type":"warning","code":"c","text":"%b"}\n' % (b"x" * (MAX_LINE - 60))
    with files.find("s1").open("ab") as file:
        file.write(line + b'{"v":1,"seq":5,"type":"step_finished","text":""}\n')

    with pytest.raises(StorageError, match="warning cannot be saved"):
        files.fork("s1", "s2", None)
    assert not files.exists("s2")
