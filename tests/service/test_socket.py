"""Threats at the control socket: who may connect, what they may say, and who may answer a question."""

import json
import os
import random
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from limnos.kernel.events import TurnStarted
from limnos.service.methods import METHODS
from limnos.service.socket import MOST_CONNECTIONS, MOST_FAILURES
from limnos.store.audit import read_history
from limnos.wire.frames import (
    BAD_PARAMETERS,
    FULL,
    INVALID,
    LIMIT,
    NO_METHOD,
    REFUSED,
    TOO_LARGE,
    UNREADABLE,
    Failure,
    Notification,
    Reply,
    Request,
    encode,
)
from tests.architecture.source import ROOT
from tests.service.daemons import Raw, Running, daemon_of, opened, raw
from tests.service.house import House, call, of_type, step

WRITE = call("write_file", path="a.txt", content="x")


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


@pytest.fixture
def running(house: House) -> Iterator[Running]:
    with daemon_of(house, *(step("", WRITE) for _ in range(10)), approval_seconds=30) as running:
        yield running


def asked(connection: Raw, session: str) -> dict[str, Any]:
    """Wait for a question; the notification that it came with."""
    connection.result("session.events", session=session, after=0)
    while isinstance(frame := connection.read(), Notification):
        if frame.params.get("event", {}).get("type") == "approval_asked":
            return dict(frame.params)
    raise AssertionError(f"no question came, but {frame}")


def refused(connection: Raw, method: str, **params: Any) -> Failure:
    failure = connection.failure(method, **params)
    assert failure.code == REFUSED
    return failure


# T8: a plugin that was taken over answers its own question


def test_a_plugin_gives_inputs_of_a_bounded_level_and_never_answers_a_question(
    running: Running, house: House
) -> None:
    token = running.within(lambda: running.daemon.roles.issue("web"))
    with raw(running) as person, raw(running, token) as plugin:
        session = opened(person, house.work)
        claims = {"source": "owner", "principal": "owner", "level": 4, "interrupt": True}
        plugin.result("session.send", session=session, text="hi", client_id="p1", **claims)
        person.result("session.send", session=session, text="write", client_id="1")
        question, told = asked(person, session), asked(plugin, session)
        nonce, approval = question["nonce"], told["event"]["approval"]
        assert "nonce" not in told
        for number in (nonce, "", "0" * 32):
            answer = {"approval": approval, "nonce": number, "verdict": "once"}
            refused(plugin, "session.answer", session=session, **answer)
        started = of_type(
            read_history(Path(person.result("kernel.path", session=session))).events, TurnStarted
        )
        assert (started[0].principal, started[0].source, started[0].level) == ("channel:web", "web", 3)
        assert not (house.work / "a.txt").exists()
        answer = {"approval": approval, "nonce": nonce, "verdict": "no"}
        assert person.result("session.answer", session=session, **answer)

    assert running.refusals().count("not for this role") == 3


@pytest.mark.parametrize("method", sorted(name for name, one in METHODS.items() if "plugin" not in one.roles))
def test_what_is_for_persons_is_refused_to_a_plugin(running: Running, method: str) -> None:
    with raw(running, running.within(lambda: running.daemon.roles.issue("web"))) as plugin:
        refused(plugin, method, session="s00000")

    assert method in running.refusals()


def test_a_token_of_a_plugin_that_was_taken_back_lets_nobody_in(running: Running) -> None:
    roles = running.daemon.roles
    old = running.within(lambda: roles.issue("web"))
    new = running.within(lambda: roles.issue("web"))
    for token, good in ((old, False), (new, True)):
        connection = Raw(running.place)
        assert isinstance(connection.hello(token), Reply) == good
        connection.close()
    running.within(lambda: roles.revoke("web"))
    connection = Raw(running.place)
    assert isinstance(connection.hello(new), Failure)
    connection.close()


# T9: another user, another process


def test_the_folder_and_the_socket_are_their_owners_alone(running: Running) -> None:
    assert running.place.folder.stat().st_mode & 0o777 == 0o700
    assert running.place.socket.stat().st_mode & 0o777 == 0o600
    assert running.place.token.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("token", ["", "0" * 64, "é" * 10])
def test_a_wrong_token_lets_nobody_in(running: Running, token: str) -> None:
    connection = Raw(running.place)
    answer = connection.hello(token)
    assert isinstance(answer, Failure)
    assert answer.code == REFUSED
    assert connection.read() is None
    connection.close()

    assert "the token is not of this start" in running.refusals()
    assert token == "" or token not in running.refusals()


def test_without_a_hello_nothing_can_be_called(running: Running) -> None:
    for method in METHODS:
        connection = Raw(running.place)
        answer = connection.ask(method, session="s")
        assert isinstance(answer, Failure)
        assert connection.read() is None
        connection.close()
        running.within(running.daemon._server._failures.clear)


def test_the_token_of_an_earlier_start_counts_no_more(house: House) -> None:
    with daemon_of(house) as first:
        old = first.place.token.read_text()
        with raw(first, old):
            pass
    with daemon_of(house) as second:
        connection = Raw(second.place)
        assert isinstance(connection.hello(old), Failure)
        connection.close()


def child(code: str, *words: str) -> str:
    """What a process of this test prints."""
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
        cwd=ROOT,
    )
    return done.stdout + done.stderr


AS_NOBODY = """
import os, socket, sys
os.chdir(sys.argv[1])
os.setgid(65534)
os.setuid(65534)
connected = socket.socket(socket.AF_UNIX)
connected.connect("socket")
connected.sendall(sys.argv[2].encode() + b"\\n")
print(connected.makefile().readline())
"""


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize("opened_up", [False, True])
def test_another_user_is_refused_by_the_folder_and_without_it_by_the_system_s_word(
    running: Running, opened_up: bool
) -> None:
    token = running.place.token.read_text()
    hello = encode(Request(1, "hello", {"token": token, "protocol": 1})).decode().strip()
    if opened_up:
        running.place.folder.chmod(0o777)
        running.place.socket.chmod(0o666)

    said = child(AS_NOBODY, str(running.place.folder), hello)

    assert ("uid 65534" in said) if opened_up else ("PermissionError" in said)
    assert ("another user" in running.refusals()) == opened_up


AS_PERSON = """
import sys
from pathlib import Path
from limnos.service.remote import remote_kernel
try:
    print(remote_kernel(Path(sys.argv[1]), {}).sessions())
except Exception as error:
    print(type(error).__name__, error)
"""


def test_what_limnos_started_itself_is_no_person(running: Running, house: House) -> None:
    assert "no person" in child(AS_PERSON, str(house.home))
    assert "what limnos started is no person" in running.refusals()


# T10: claims and replays


def test_a_hello_that_claims_a_role_is_refused(running: Running) -> None:
    token = running.place.token.read_text()
    for claim in ({"role": "person"}, {"kind": "owner"}, {"role": None}):
        connection = Raw(running.place)
        answer = connection.hello(token, **claim)
        assert isinstance(answer, Failure)
        assert answer.code == INVALID
        connection.close()

    assert running.refusals().count("unknown: ") == 3


def test_another_protocol_is_refused_with_the_way_out(running: Running) -> None:
    connection = Raw(running.place)
    answer = connection.ask("hello", token=running.place.token.read_text(), protocol=2)
    assert isinstance(answer, Failure)
    assert "limnos up" in answer.hint
    connection.close()


def test_an_unknown_method_is_refused_and_written_down(running: Running) -> None:
    with raw(running) as person:
        for name in ("gate.allow", "approvals.answer", "__init__", "session", "hello", ""):
            assert person.failure(name).code == NO_METHOD
        assert person.result("kernel.sessions") == []

    assert running.refusals().count("unknown method") == 6


def test_wrong_parameters_are_refused_one_by_one(running: Running, house: House) -> None:
    with raw(running) as person:
        session = opened(person, house.work)
        for method, params in (
            ("session.send", {"session": session}),
            ("session.send", {"session": session, "text": 1, "client_id": "a"}),
            ("session.send", {"session": 1, "text": "a", "client_id": "a"}),
            ("session.stop", {"session": session, "reason": "fire"}),
            ("session.answer", {"session": session, "approval": "a", "nonce": "b", "verdict": "yes"}),
            ("kernel.sessions", {"limit": "all"}),
            ("kernel.open", {"steps": True}),
        ):
            assert person.failure(method, **params).code == BAD_PARAMETERS, method


def test_an_answer_counts_once_for_its_question_only(running: Running, house: House) -> None:
    with raw(running) as person, raw(running) as other:
        session = opened(person, house.work)
        person.result("session.send", session=session, text="write", client_id="1")
        question = asked(person, session)
        approval, nonce = question["event"]["approval"], question["nonce"]
        for wrong in ({"approval": "none"}, {"nonce": "0" * 32}):
            refused(
                person,
                "session.answer",
                **{"session": session, "approval": approval, "nonce": nonce, "verdict": "once", **wrong},
            )
        refused(person, "session.answer", session=session, approval=approval, nonce=nonce, verdict="once")
        fresh = asked(other, session)["nonce"]
        assert fresh != nonce
        assert person.result("session.answer", session=session, approval=approval, nonce=fresh, verdict="no")
        for _ in range(2):
            refused(person, "session.answer", session=session, approval=approval, nonce=fresh, verdict="once")
        assert not (house.work / "a.txt").exists()

    assert running.refusals().count("session.answer") == 5


def test_an_answer_to_a_finished_question_is_refused(running: Running, house: House) -> None:
    with raw(running) as person, raw(running) as other:
        session = opened(person, house.work)
        person.result("session.send", session=session, text="write", client_id="1")
        first, second = asked(person, session), asked(other, session)
        approval = first["event"]["approval"]
        assert other.result(
            "session.answer", session=session, approval=approval, nonce=second["nonce"], verdict="no"
        )
        refused(
            person, "session.answer", session=session, approval=approval, nonce=first["nonce"], verdict="once"
        )
        with raw(running) as late:
            late.result("session.events", session=session, after=first["event"]["seq"] - 1)
            frame = late.read()
            assert isinstance(frame, Notification)
            assert frame.params["event"]["type"] == "approval_asked"
            assert "nonce" not in frame.params

    assert "not open any more" in running.refusals()


# T11: malformed frames

WELL_FORMED = encode(Request(1, "session.state", {"session": "s00000"}))


def mutated(chance: random.Random) -> bytes:
    """A line that is probably no frame."""
    kinds = [
        lambda: b"[" * 100_000 + b"\n",
        lambda: (
            b'{"jsonrpc":"2.0","id":1,"method":"kernel.sessions","params":'
            + b'{"a":' * 90
            + b"1"
            + b"}" * 91
            + b"\n"
        ),
        lambda: WELL_FORMED.replace(b'"id":1', b'"id":1,"id":2'),
        lambda: WELL_FORMED.replace(b"s00000", b"\x00\xff\xfe"),
        lambda: WELL_FORMED.replace(b"s00000", b"\\ud800"),
        lambda: WELL_FORMED.replace(b":1,", b":1e999,"),
        lambda: WELL_FORMED.replace(b":1,", b":NaN,"),
        lambda: WELL_FORMED.replace(b"2.0", b"1.0"),
        lambda: WELL_FORMED[: chance.randrange(len(WELL_FORMED))] + b"\n",
        lambda: chance.randbytes(chance.randrange(200)).replace(b"\n", b"") + b"\n",
        lambda: b'{"jsonrpc":"2.0","id":1,"result":1}\n',
        lambda: b'{"jsonrpc":"2.0","id":{},"method":"a"}\n',
        lambda: b"\n",
    ]
    if chance.random() < 0.5:
        return chance.choice(kinds)()
    line = bytearray(WELL_FORMED[:-1])
    for _ in range(chance.randrange(1, 6)):
        line[chance.randrange(len(line))] = chance.randrange(256)
    return bytes(line).replace(b"\n", b" ") + b"\n"


def torture(running: Running, frames: int, seed: int) -> None:
    """Send mutated frames over many connections; every one is answered or ends its connection."""
    chance, sent = random.Random(seed), 0
    while sent < frames:
        with raw(running) as person:
            for _ in range(chance.randrange(1, 90)):
                person.send(mutated(chance))
                sent += 1
                answer = person.read()
                if answer is None:
                    break
                assert isinstance(answer, Failure), f"seed {seed}: {answer}"
    with raw(running) as person:
        assert person.result("kernel.sessions") == [], f"seed {seed}"


def peak_kb() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def test_malformed_frames_are_answered_with_an_error_and_the_daemon_lives(running: Running) -> None:
    seed = random.randrange(10**6)
    torture(running, 200, seed)
    before = peak_kb()

    torture(running, 1_000, seed + 1)

    assert peak_kb() - before < 20_000, f"seed {seed}"
    assert running.place.refusals.stat().st_size < 2_000_000


@pytest.mark.soak
def test_a_hundred_thousand_malformed_frames_leave_the_memory_flat(running: Running) -> None:
    seed = random.randrange(10**6)
    torture(running, 10_000, seed)
    before = peak_kb()

    torture(running, 100_000, seed + 1)

    assert peak_kb() - before < 20_000, f"seed {seed}"


@pytest.mark.parametrize("greeted", [False, True])
def test_a_frame_that_is_too_large_ends_its_connection_only(running: Running, greeted: bool) -> None:
    connection = Raw(running.place)
    if greeted:
        assert isinstance(connection.hello(running.place.token.read_text()), Reply)
    connection.send(b'{"' + b"a" * (LIMIT + 1))
    answer = connection.read()
    assert isinstance(answer, Failure)
    assert answer.code == TOO_LARGE
    assert connection.read() is None
    connection.close()
    with raw(running) as person:
        assert person.result("kernel.sessions") == []


def test_one_that_says_nothing_but_nonsense_is_hung_up_on(running: Running) -> None:
    with raw(running) as person:
        for _ in range(100):
            person.send(b"{}x\n")
            answer = person.read()
            assert isinstance(answer, Failure)
            assert answer.code == UNREADABLE
        assert isinstance(person.read(), Failure)
        assert person.read() is None


# limits


def test_there_is_room_for_so_many_connections_and_no_more(running: Running) -> None:
    connections = [Raw(running.place) for _ in range(MOST_CONNECTIONS)]
    token = running.place.token.read_text()
    assert all(isinstance(one.hello(token), Reply) for one in connections)
    extra = Raw(running.place)
    answer = extra.read()
    assert isinstance(answer, Failure)
    assert answer.code == FULL
    extra.close()
    assert connections[0].result("kernel.sessions") == []
    for one in connections:
        one.close()


def test_guessing_is_slowed_down_and_does_not_lock_the_person_out_for_long(running: Running) -> None:
    codes: list[int] = []
    for n in range(MOST_FAILURES + 5):
        connection = Raw(running.place)
        connection.send(encode(Request(1, "hello", {"token": f"{n}", "protocol": 1})))
        answer = connection.read()
        assert isinstance(answer, Failure)
        codes.append(answer.code)
        connection.close()

    assert codes[:MOST_FAILURES] == [REFUSED] * MOST_FAILURES
    assert codes[-1] == FULL
    running.within(running.daemon._server._failures.clear)
    with raw(running) as person:
        assert person.result("kernel.sessions") == []


def test_the_record_of_refusals_has_one_line_each_and_no_secret(running: Running) -> None:
    with raw(running) as person:
        person.failure("no.such.method")

    lines = [json.loads(line) for line in running.refusals().splitlines()]
    assert [(line["refused"], line["role"], line["pid"]) for line in lines] == [
        ("unknown method", "person", os.getpid())
    ]
    assert running.place.token.read_text() not in running.refusals()
