"""The ledger: exact values of what has sunk, bounded, ordered, without secrets."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limnos.context.identifiers import is_kept
from limnos.context.ledger import HEAD, READ, Entry, Ledger, read, written
from limnos.kernel.units import Said
from limnos.sdk.scan import Scanner
from tests.context.units import act, say, talk

TOKENS = st.text(min_size=3, max_size=20).filter(is_kept)
TIME = "2026-03-14T20:31:04.118Z"


def count(text: str) -> int:
    return len(text) // 4


def ledger_of(*done: tuple[str, dict[str, str], str], said: str = "go", room: int = 500) -> str:
    """The ledger when a message and steps of one call each have sunk."""
    conversation, ledger = talk(), Ledger(Scanner())
    say(conversation, said)
    for name, arguments, result in done:
        act(conversation, "reply", [(name, arguments, result)])
    ledger.add("", conversation.units)
    return ledger.text([], room, count)


def test_values_stand_by_the_unit_they_were_seen_in_last() -> None:
    text = ledger_of(("read", {"path": "src/a.py"}, "found id RX-2041"), said="mail eve@example.org now")

    assert text == f"{HEAD}\n#1 eve@example.org\n#2 src/a.py\n{READ}\n#2 RX-2041"


def test_what_was_said_goes_before_what_was_read_and_often_before_once() -> None:
    done = [
        ("read", {"path": f"src/{name}.py"}, f"id AB{number}00{number}X")
        for number, name in enumerate("aabc")
    ]
    text = ledger_of(*done, room=count(HEAD) + 14)

    assert text.splitlines()[1:] == ["#3 src/a.py", "#5 src/c.py"]


@pytest.mark.parametrize("room", [0, 5, 20, 60, 200])
def test_a_ledger_never_takes_more_than_its_room(room: int) -> None:
    done = [("read", {"path": f"src/file{number}.py"}, f"id RX-{number}") for number in range(200)]

    assert count(ledger_of(*done, room=room)) <= room


def test_a_secret_never_enters() -> None:
    key = "sk-proj-" + "aB3dE5gH7jK9mN1pQ3sT5vX7z" * 2
    text = ledger_of(
        (
            "login",
            {"password": "Tr0ub4dor-and-3", "user": "eve_77"},
            "token: 9f8e7d6c5b4a39281706f5e4d3c2b1a0",
        ),
        ("run", {"command": f"export KEY={key}"}, "ok"),
        said="the password is hunter2-42-xyz",
    )

    assert "eve_77" in text
    for secret in ("Tr0ub4dor", "9f8e7d6c", "sk-proj", "hunter2"):
        assert secret not in text


def test_what_a_guest_says_is_marked_as_untrusted() -> None:
    ledger = Ledger(Scanner())
    ledger.add("", [Said(1, 1, TIME, "use RX-2041", principal="guest:7")])

    assert ledger.text([], 100, count) == f"{HEAD}\n{READ}\n#1 RX-2041"


def test_what_stands_in_the_window_takes_no_room() -> None:
    conversation, ledger = talk(), Ledger(Scanner())
    act(conversation, "one", [("read", {"path": "src/a.py"}, "")])
    act(conversation, "two", [("read", {"path": "src/b.py"}, "")])
    ledger.add("", conversation.units)

    assert "src/a.py" not in ledger.text(conversation.units[:1], 100, count)


@given(
    st.lists(
        st.tuples(TOKENS, st.integers(1, 9), st.integers(0, 1)), max_size=12, unique_by=lambda one: one[0]
    )
)
def test_a_written_ledger_reads_as_what_it_was(told: list[tuple[str, int, int]]) -> None:
    entries = [Entry(token, seq, said) for token, seq, said in told]

    assert sorted(read(written(entries))) == sorted(entries)


def test_a_ledger_goes_on_from_its_text_when_a_session_is_opened_again() -> None:
    before = ledger_of(("read", {"path": "src/a.py"}, "id RX-2041"))
    conversation, ledger = talk(), Ledger(Scanner())
    conversation.last_seq = 50
    act(conversation, "reply", [("read", {"path": "src/b.py"}, "")])
    ledger.add(before, conversation.units)

    assert re.findall(r"src/\w\.py|RX-\d+", ledger.text([], 200, count)) == [
        "src/a.py",
        "src/b.py",
        "RX-2041",
    ]


@pytest.mark.parametrize(
    "text", ["\ud800 a_b", "\0 x_1", "x" * 2_000_000, "/a" * 500_000, "a.b-" * 300_000, "'" * 9_999]
)
def test_strange_and_huge_texts_do_bounded_work(text: str) -> None:
    assert count(ledger_of(("read", {"path": text}, text), said=text)) <= 500
