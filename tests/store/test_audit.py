"""The audit log through crashes, second writers, full disks and damage."""

import fcntl
import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from limnos.kernel.errors import SessionInUseError, StorageError
from limnos.kernel.events import CallFinished, Event, TurnStarted, UsageRecorded, Warned
from limnos.store.audit import AuditLog, mark_at, read_history
from tests.store.disks import full_disk

WRITER = """
import sys
from pathlib import Path
from limnos.kernel.events import Warned
from limnos.store.audit import AuditLog
log = AuditLog(Path(sys.argv[1]))
log.append(Warned(seq=1, code="kept", text="written by another process"), durable=True)
print("ready", flush=True)
sys.stdin.read()
"""


def warned(seq: int, text: str = "text") -> Warned:
    return Warned(seq=seq, code="test", text=text)


def write(path: Path, *events: Event) -> None:
    log = AuditLog(path)
    for event in events:
        log.append(event)
    log.close()


def other_writer(path: Path) -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def end(process: "subprocess.Popen[str]") -> None:
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=20)


def test_what_was_written_comes_back_in_order(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "s.jsonl"
    given = {"source": "t", "principal": "owner", "client_id": "m1", "persona": "p", "mode": "ask"}
    started = TurnStarted(seq=2, input="你好\n\u2028", model="m", **given)
    write(path, warned(1), started, warned(3))

    history = read_history(path)

    assert history.events == (warned(1), started, warned(3))
    assert (history.damaged, history.last_seq) == (False, 3)


def test_only_the_owner_can_look_into_the_log_and_its_folders(tmp_path: Path) -> None:
    path = tmp_path / "home" / "personas" / "s.jsonl"
    write(path, warned(1))

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "home").stat().st_mode) == 0o700
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_second_process_is_told_that_the_session_is_in_use(tmp_path: Path) -> None:
    path = tmp_path / "20260314T203104-s7k2.jsonl"
    process = other_writer(path)
    try:
        with pytest.raises(SessionInUseError) as caught:
            AuditLog(path)
        assert "s7k2" in caught.value.what
        assert "--fork" in caught.value.fix
        assert [event.seq for event in read_history(path).events] == [1]
    finally:
        end(process)


def test_a_killed_writer_leaves_what_it_wrote_and_gives_the_lock_back(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    end(other_writer(path))

    log = AuditLog(path)
    log.append(warned(2))
    log.close()

    assert [event.seq for event in read_history(path).events] == [1, 2]


def test_somebody_who_only_lists_sessions_is_no_second_writer(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    write(path, warned(1))
    with path.open("rb") as lister:
        fcntl.flock(lister, fcntl.LOCK_SH)
        release = threading.Timer(0.03, fcntl.flock, (lister, fcntl.LOCK_UN))
        release.start()
        AuditLog(path).close()
        release.join()


def test_who_reads_while_the_log_grows_gets_a_beginning_of_it(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    log = AuditLog(path)
    seen: list[bool] = []
    stop = threading.Event()

    def read() -> None:
        while not stop.is_set():
            events = read_history(path).events
            seen.append([event.seq for event in events] == list(range(1, len(events) + 1)))

    reader = threading.Thread(target=read)
    reader.start()
    for seq in range(1, 60):
        log.append(warned(seq, "x" * 60_000))
    stop.set()
    reader.join()
    log.close()

    assert all(seen)


def test_a_torn_last_line_is_kept_aside_and_the_next_record_stands_alone(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    write(path, warned(1), warned(2))
    path.write_bytes(path.read_bytes()[:-20])

    log = AuditLog(path)
    log.append(warned(log.history.last_seq + 1, "after"))
    log.close()

    assert log.history.damaged
    history = read_history(path)
    assert [event.seq for event in history.events] == [1, 2]
    assert not history.damaged
    aside = path.with_name("s.jsonl.damaged")
    assert b'"seq":2' in aside.read_bytes()
    assert stat.S_IMODE(aside.stat().st_mode) == 0o600


def test_reading_changes_nothing_of_a_torn_file(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    write(path, warned(1), warned(2))
    torn = path.read_bytes()[:-20]
    path.write_bytes(torn)

    assert read_history(path).damaged
    assert path.read_bytes() == torn
    assert not path.with_name("s.jsonl.damaged").exists()


@pytest.mark.parametrize("tail", [bytes(4096), b'{"v":1,"seq":3,"ty', b"\x00" * 9 + b'{"v":1'])
def test_what_a_crash_left_at_the_end_is_told_once(tmp_path: Path, tail: bytes) -> None:
    path = tmp_path / "s.jsonl"
    write(path, warned(1))
    path.write_bytes(path.read_bytes() + tail)

    first = AuditLog(path)
    first.close()
    second = AuditLog(path)
    second.close()

    assert (first.history.damaged, second.history.damaged) == (True, False)


def test_a_whole_last_line_that_lacks_its_newline_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    write(path, warned(1), warned(2))
    path.write_bytes(path.read_bytes()[:-1])

    write(path, warned(3))

    history = read_history(path)
    assert [event.seq for event in history.events] == [1, 2, 3]
    assert not history.damaged


def test_zeros_of_a_power_cut_cost_only_the_record_they_lie_in(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    write(path, warned(1), warned(2), warned(3))
    first, second, third = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + second[:10] + bytes(512) + third + bytes(4096))

    write(path, warned(4))

    history = read_history(path)
    assert [event.seq for event in history.events] == [1, 3, 4]
    assert history.damaged


def test_a_byte_that_changed_inside_a_text_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    write(path, warned(1), warned(2, "pay 100 to Ann"), warned(3))
    path.write_bytes(path.read_bytes().replace(b"pay 100", b"pay 900"))

    history = read_history(path)

    assert [event.seq for event in history.events] == [1, 2, 3]
    assert history.changed == (2,)
    assert history.damaged


def test_records_without_a_checksum_are_as_good_as_others(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text('{"v":1,"seq":1,"type":"warning","code":"c","text":"t"}\n')

    assert not read_history(path).damaged


def test_an_event_that_no_file_can_hold_is_an_error_and_the_next_one_stands(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    log = AuditLog(path)
    with pytest.raises(StorageError) as caught:
        log.append(CallFinished(seq=1, call="c", tool="t", outcome="done", text="", ms=float("nan")))  # pyright: ignore[reportArgumentType]
    assert "call_finished" in caught.value.what
    log.append(warned(2))
    log.close()

    assert [event.seq for event in read_history(path).events] == [2]


@pytest.mark.parametrize("cost", ["", "much", "NaN", "Infinity", "1e16", "9E+999999"])
def test_a_cost_that_is_no_amount_of_money_is_damage(tmp_path: Path, cost: str) -> None:
    path = tmp_path / "s.jsonl"
    spent = UsageRecorded(model="m", prompt_tokens=1, completion_tokens=1)
    write(path, spent.changed(seq=1, cost=cost), spent.changed(seq=2, cost="0.1"), spent.changed(seq=3))

    history = read_history(path)

    assert [event.seq for event in history.events] == [2, 3]
    assert history.damaged


def test_a_pipe_in_the_place_of_a_log_is_an_error_and_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "s.jsonl")
    with pytest.raises(StorageError, match="no regular file"):
        read_history(tmp_path / "s.jsonl")
    with pytest.raises(StorageError):
        AuditLog(tmp_path / "s.jsonl")
    reader = os.open(tmp_path / "s.jsonl", os.O_RDONLY | os.O_NONBLOCK)
    with pytest.raises(StorageError, match="no regular file"):
        AuditLog(tmp_path / "s.jsonl")
    os.close(reader)


def test_a_pipe_in_the_place_of_what_is_kept_aside_is_an_error_and_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    write(path, warned(1), warned(2))
    torn = path.read_bytes()[:-20]
    path.write_bytes(torn)
    os.mkfifo(tmp_path / "s.jsonl.damaged")

    with pytest.raises(StorageError):
        AuditLog(path)
    assert path.read_bytes() == torn


@pytest.mark.parametrize("odd", ["/proc/self/mem", "."])
def test_what_cannot_be_read_is_an_error_that_names_it(tmp_path: Path, odd: str) -> None:
    path = tmp_path / "s.jsonl"
    path.symlink_to(odd)

    with pytest.raises(
        StorageError, match=r"s\.jsonl cannot be read: (Input/output error|Is a directory)"
    ) as caught:
        read_history(path)
    assert "check the disk" in caught.value.fix


def test_unknown_types_and_fields_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(
        '{"v":9,"seq":1,"type":"from_the_future","x":1}\n'
        '{"v":9,"seq":2,"type":"warning","code":"c","text":"t","colour":"red"}\n'
    )

    history = read_history(path)

    assert history.events == (Warned(seq=2, code="c", text="t"),)
    assert not history.damaged


def test_half_characters_of_a_tool_are_written_as_question_marks(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    odd = CallFinished(seq=1, call="c", tool="t", outcome="done", text="name \udcff\ud800 end")
    write(path, odd)

    (event,) = read_history(path).events

    assert isinstance(event, CallFinished)
    assert event.text == "name ?? end"
    path.read_bytes().decode("utf-8")


def test_a_full_disk_is_an_error_with_a_fix_and_leaves_no_half_line(tmp_path: Path) -> None:
    with full_disk(tmp_path / "disk") as disk:
        path = disk.folder / "s.jsonl"
        log = AuditLog(path)
        log.append(warned(1), durable=True)
        before = path.read_bytes()
        faults: list[StorageError] = []
        with disk.filled(len(before) + 50):
            while not faults:
                try:
                    log.append(warned(2, "x" * 5000), durable=True)
                except StorageError as error:
                    faults.append(error)
        assert faults[0].fix
        assert path.read_bytes().endswith(b"\n")
        seqs = [event.seq for event in read_history(path).events]
        log.append(warned(3), durable=True)
        log.close()

        history = read_history(path)

    assert [event.seq for event in history.events] == [*seqs, 3]
    assert not history.damaged


def test_a_full_disk_is_called_full(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "s.jsonl")
    full = os.open("/dev/full", os.O_WRONLY)
    kept = os.dup(log._descriptor)  # pyright: ignore[reportPrivateUsage]
    os.dup2(full, log._descriptor)  # pyright: ignore[reportPrivateUsage]
    os.close(full)
    try:
        with pytest.raises(StorageError) as caught:
            log.append(warned(1))
    finally:
        os.dup2(kept, log._descriptor)  # pyright: ignore[reportPrivateUsage]
        os.close(kept)
        log.close()

    assert "full" in caught.value.what
    assert "free some space" in caught.value.fix


@pytest.mark.parametrize("replaced", [False, True])
def test_a_log_that_somebody_removed_is_not_written_into_the_void(tmp_path: Path, replaced: bool) -> None:
    path = tmp_path / "s.jsonl"
    log = AuditLog(path)
    log.append(warned(1), durable=True)
    if replaced:
        path.with_name("copy").write_bytes(path.read_bytes())
        path.with_name("copy").replace(path)
    else:
        path.unlink()

    with pytest.raises(StorageError, match="was removed while it was written") as caught:
        log.append(warned(2), durable=True)
    assert "new session" in caught.value.fix
    log.close()


def test_a_home_that_cannot_be_written_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file where the folder should be")

    with pytest.raises(StorageError) as caught:
        AuditLog(tmp_path / "home" / "personas" / "s.jsonl")

    assert str(tmp_path / "home") in caught.value.what
    assert caught.value.fix


def test_closing_twice_is_fine_and_writing_afterwards_is_not(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "s.jsonl")
    log.close()
    log.close()

    with pytest.raises(StorageError):
        log.append(warned(1))


def test_a_file_that_is_not_there_is_an_empty_history(tmp_path: Path) -> None:
    assert read_history(tmp_path / "none.jsonl").events == ()


def _long(path: Path, count: int) -> list[int]:
    """Write `count` events; the offsets behind each."""
    offsets: list[int] = []
    log = AuditLog(path)
    for seq in range(1, count + 1):
        log.append(Warned(seq=seq, code="n", text=f"event {seq} " * 20), durable=seq == count)
        offsets.append(path.stat().st_size)
    log.close()
    return offsets


def test_a_log_opens_behind_a_mark_and_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    offsets = _long(path, 30)
    mark = mark_at(path, offsets[24])

    log = AuditLog(path, mark)
    log.append(Warned(seq=31, code="n", text="more"), durable=True)
    log.close()

    assert log.begins_at == offsets[24]
    assert [event.seq for event in log.history.events] == [26, 27, 28, 29, 30]
    assert [event.seq for event in read_history(path).events] == list(range(1, 32))


@pytest.mark.parametrize("change", ["shorter", "other bytes", "empty"])
def test_a_log_is_read_whole_when_the_mark_does_not_fit(tmp_path: Path, change: str) -> None:
    path = tmp_path / "s.jsonl"
    offsets = _long(path, 30)
    mark = mark_at(path, offsets[24])
    data = path.read_bytes()
    changed = {
        "shorter": data[: offsets[20]],
        "other bytes": data.replace(b"event 24 ", b"event 42 "),
        "empty": b"",
    }
    path.write_bytes(changed[change])

    log = AuditLog(path, mark)
    log.close()

    assert log.begins_at == 0
    assert log.history.events == read_history(path).events


def test_half_a_line_behind_a_mark_is_moved_aside(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    offsets = _long(path, 30)
    mark = mark_at(path, offsets[24])
    path.write_bytes(path.read_bytes() + b'{"v":1,"se')

    log = AuditLog(path, mark)
    log.append(Warned(seq=31, code="n", text="more"), durable=True)
    log.close()

    assert path.with_name("s.jsonl.damaged").read_bytes() == b'{"v":1,"se\n'
    history = read_history(path)
    assert not history.damaged
    assert history.last_seq == 31
