"""Exact edits: the case file, and that nothing outside the replaced text changes."""

import base64
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from limnos.sdk.edits import EditError, replace_exactly
from limnos.testing.cases import read_cases
from tests.conftest import SHARED

CASES = list(read_cases(SHARED / "cases" / "edits.jsonl"))
FAULTS = ("not_found", "not_unique", "empty_old", "no_change", "binary", "encoding")
PIECES = st.text(st.sampled_from("ab \té字\U0001f600\r\n"), max_size=12)
WORDS = st.text(st.sampled_from("xyz字\n"), min_size=1, max_size=6)


def attempt(data: bytes, old: str, new: str, **options: Any) -> bytes | str:
    """The new bytes, or the class of the fault."""
    try:
        return replace_exactly(data, old, new, **options).data
    except EditError as error:
        return error.fault if error.hint and error.detail else "no reason given"


@pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in CASES])
def test_an_edit_does_what_the_case_file_says(case: dict[str, Any]) -> None:
    expect = case["expect"]
    options = {name: case[name] for name in ("replace_all", "encoding") if name in case}

    outcome = attempt(base64.b64decode(case["file_b64"]), case["old"], case["new"], **options)

    if "error" in expect:
        assert outcome in expect["error"].split("|")
    else:
        assert outcome == base64.b64decode(expect["file_b64"])


@given(PIECES, PIECES, WORDS, WORDS, st.sampled_from(["", "\ufeff"]))
def test_nothing_outside_the_replaced_text_changes(
    before: str, behind: str, old: str, new: str, mark: str
) -> None:
    assume(old != new)
    assume(not (before.endswith("\r") and old.startswith("\n")))  # that line end is of the old text
    head, tail = (mark + before).encode(), behind.encode()

    outcome = attempt(head + old.encode() + tail, old, new)

    if isinstance(outcome, str):
        assert outcome == "not_unique"
        return
    assert outcome.startswith(head)
    assert outcome.endswith(tail)
    middle = outcome[len(head) : len(outcome) - len(tail)]
    assert middle.decode().replace("\r\n", "\n") == new


@given(PIECES, st.lists(PIECES, min_size=1, max_size=4), WORDS)
def test_replacing_all_leaves_every_piece_between_as_it_was(first: str, rest: list[str], new: str) -> None:
    data = "<OLD>".join([first, *rest]).encode()

    edited = replace_exactly(data, "<OLD>", f"<{new}>", replace_all=True)

    assert edited.places == len(rest)
    parts = edited.data.decode()
    for piece in [first, *rest]:
        assert parts.startswith(piece)
        parts = parts[len(piece) :]
        assert not parts or parts.replace("\r\n", "\n").startswith(f"<{new}>")
        parts = parts[parts.find(">") + 1 :]


@given(st.binary(max_size=80), WORDS, WORDS)
def test_any_bytes_give_an_edit_or_a_reason(data: bytes, old: str, new: str) -> None:
    outcome = attempt(data, old, new, replace_all=True)

    assert outcome in FAULTS if isinstance(outcome, str) else outcome != data


@given(
    st.lists(st.sampled_from(["one", "two", "zwei", ""]), min_size=1, max_size=8),
    st.sampled_from(["\n", "\r\n"]),
)
def test_new_lines_take_the_line_end_of_the_place(lines: list[str], end: str) -> None:
    data = "".join(f"{line}{end}" for line in [*lines, "OLD"]).encode()

    edited = replace_exactly(data, "OLD\n", "new\nlines\n")

    assert edited.data == "".join(f"{line}{end}" for line in [*lines, "new", "lines"]).encode()
    assert edited.line == len(lines) + 1


@given(
    st.sampled_from(["latin-1", "gbk", "cp1251", "shift_jis", "utf-16-le", "utf-8"]),
    st.lists(st.text(st.sampled_from("ab \t~!\r\n"), max_size=10), min_size=2, max_size=2),
    st.sampled_from(["", "\ufeff"]),
    WORDS,
)
def test_in_every_encoding_and_after_every_mark_all_other_bytes_stay(
    encoding: str, around: list[str], mark: str, new: str
) -> None:
    new = new.replace("\u5b57", "z")
    assume(not mark or encoding.startswith("utf"))
    before, behind = around
    head, tail = (mark + before).encode(encoding), behind.encode(encoding)

    outcome = attempt(head + "OLD".encode(encoding) + tail, "OLD", new, encoding=encoding)

    assert isinstance(outcome, bytes), outcome
    assert outcome.startswith(head)
    assert outcome.endswith(tail)
    assert outcome[len(head) : len(outcome) - len(tail)].decode(encoding).replace("\r\n", "\n") == new


@pytest.mark.parametrize(
    ("data", "encoding", "outcome"),
    [
        ("an old caf\u00e9".encode("latin-1"), "latin-1", "a new caf\u00e9".encode("latin-1")),
        ("an old \u6587".encode("gbk"), "gbk", "a new \u6587".encode("gbk")),
        ("an old x".encode("utf-16-le"), "utf-16-le", "a new x".encode("utf-16-le")),
        ("an old x".encode("utf-16-le"), "utf-16", "encoding"),
        ("\ufeffan old x".encode("utf-32-le"), None, "\ufeffa new x".encode("utf-32-le")),
        ("\ufeffan old x".encode("utf-32-be"), None, "\ufeffa new x".encode("utf-32-be")),
        ("\ufeffan old x".encode("utf-16-be"), None, "\ufeffa new x".encode("utf-16-be")),
        (b"an old x", "utf-8-sig", "encoding"),
        (b"an old \\x41 \\n", "unicode_escape", "encoding"),
        (b"an old x", "no-such-code", "encoding"),
        (b"an old x", "base64", "encoding"),
        (b"an old x", "rot13", "encoding"),
        (b"an old \xff", "ascii", "encoding"),
        (b"an old x" * 9, "idna", "encoding"),
    ],
)
def test_a_named_encoding_gives_the_same_bytes_around_the_change_or_a_reason(
    data: bytes, encoding: str | None, outcome: bytes | str
) -> None:
    assert attempt(data, "an old", "a new", encoding=encoding) == outcome


def test_what_an_encoding_cannot_write_is_refused() -> None:
    assert attempt(b"old", "old", "\u6587", encoding="latin-1") == "encoding"
    assert attempt(b"old \xe9", "old", "\u6587") == "encoding"
    assert attempt(b"old \xe9", "old", "new") == b"new \xe9"


def test_places_that_overlap_are_not_unique() -> None:
    assert attempt(b"a\n\n\nb", "\n\n", "\n") == "not_unique"
    assert attempt(b"a\r\n\r\n\r\nb", "\n\n", "\n") == "not_unique"
    assert attempt(b"aaaa", "aa", "b", replace_all=True) == b"bb"
