"""Bytes become keys; what is unknown becomes nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limnos.frontends.cli.keys import Decoder, Key

SEQUENCES = ["a", "中", "\x1b[A", "\x1b[1;5D", "\x1b[3~", "\x1bOH", "\x1b\r", "\x1bn", "\r", "\n", "\x03",
             "\x1b[13;5u", "\x1b]52;c;eA==\x07", "\x1b]0;t\x1b\\", "\x1bP+q544e\x1b\\",
             "\x1b[200~p\r\nq\x1b[201~"]  # fmt: skip


@pytest.mark.parametrize(
    ("typed", "names"),
    [("\x1b[A", ["up"]), ("\x1bOB", ["down"]), ("\x1b[1;5C", ["ctrl-right"]), ("\x1b[3~", ["delete"]),
     ("\x1b\r", ["alt-enter"]), ("\x1bn", ["alt-n"]), ("\x7f", ["backspace"]), ("\n", ["newline"]),
     ("\x03", ["ctrl-c"]), ("\x1b\x7f", ["alt-backspace"]), ("\x1b\x1b[A", ["escape", "up"])],
)  # fmt: skip
def test_known_sequences_are_keys(typed: str, names: list[str]) -> None:
    assert [key.name for key in Decoder().feed(typed.encode())] == names


@pytest.mark.parametrize(
    "typed", ["\x1b[13;5u", "\x1b[27;5;13~", "\x1b]11;rgb:0/0/0\x07", "\x1b]52;c;eA==\x1b\\",
              "\x1bP1$r0m\x1b\\",
              "\x1b[?62;c", "\x1b[24;80R", "\x1b[<0;1;1M", "\x1b[99~"],
)  # fmt: skip
def test_unknown_sequences_are_swallowed_whole(typed: str) -> None:
    decoder = Decoder()
    assert decoder.feed(typed.encode()) == []
    assert decoder.feed(b"x") == [Key("text", "x")]


def test_escape_alone_is_a_key_only_when_nothing_follows_in_time() -> None:
    decoder = Decoder()
    assert decoder.feed(b"\x1b") == []
    assert decoder.waits == 0.05
    assert decoder.flush() == [Key("escape")]
    decoder.feed(b"\x1b")
    assert decoder.feed(b"[A") == [Key("up")]


def test_a_paste_is_one_key_whatever_it_holds() -> None:
    pasted = "one\r\ntwo\rthree\x1b[A"
    keys = Decoder().feed(f"\x1b[200~{pasted}\x1b[201~".encode())
    assert keys == [Key("paste", "one\ntwo\nthree\x1b[A")]


@given(st.lists(st.sampled_from(SEQUENCES)), st.integers(1, 5))
def test_keys_do_not_depend_on_how_the_bytes_arrive(sequences: list[str], size: int) -> None:
    data = "".join(sequences).encode()
    whole, pieces = Decoder(), Decoder()
    split = [key for start in range(0, len(data), size) for key in pieces.feed(data[start : start + size])]
    assert _flat(split) == _flat(whole.feed(data))


@given(st.binary(max_size=200))
def test_any_bytes_are_survived(data: bytes) -> None:
    decoder = Decoder()
    decoder.feed(data)
    decoder.flush()


def _flat(keys: list[Key]) -> list[tuple[str, str]]:
    return [(key.name, c) for key in keys for c in (key.text if key.name == "text" else [key.text])]
