"""Widths are counted in cells."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limnos.frontends.cli.cells import cut, cut_line, expand_tabs, fold, line_width, pad, width, wrap
from limnos.frontends.cli.escapes import one_line
from limnos.frontends.cli.spans import Span, line, plain

OUTSIDE = st.text(st.sampled_from("abc de，。中文👩‍👧🇨🇳é\u0301xyz ")).map(one_line)


@pytest.mark.parametrize(
    ("shown", "cells"), [("abc", 3), ("中", 2), ("👩‍👩‍👧", 2), ("🇨🇳", 2), ("❤️", 2), ("1️⃣", 2), ("é", 1)]
)
def test_a_grapheme_takes_the_cells_that_terminals_give_it(shown: str, cells: int) -> None:
    assert width(shown) == cells


@given(OUTSIDE, st.integers(4, 40), st.sampled_from(["", "  "]))
def test_no_row_is_wider_than_asked_and_no_word_is_lost(outside: str, cells: int, hanging: str) -> None:
    rows = wrap(line(outside), cells, hanging)
    assert all(line_width(row) <= cells for row in rows)
    assert "".join(plain(row) for row in rows).replace(" ", "") == outside.replace(" ", "")


@given(OUTSIDE, st.integers(4, 40))
def test_folded_code_keeps_every_character(outside: str, cells: int) -> None:
    rows = fold(line(outside), cells)
    assert "".join(plain(row) for row in rows) == outside
    assert all(line_width(row) <= cells for row in rows)


@given(OUTSIDE, st.integers(0, 30))
def test_a_cut_text_fits_and_says_that_it_was_cut(outside: str, cells: int) -> None:
    shown = cut(outside, cells)
    assert width(shown) <= cells
    assert shown == outside or not shown or shown.endswith("…")


def test_a_cut_line_keeps_the_roles_of_what_is_left() -> None:
    shown = cut_line((Span("ok ", "ok"), Span("abcdefgh")), 8)
    assert shown == (Span("ok ", "ok"), Span("abcd…"))


def test_words_are_broken_only_when_they_are_longer_than_a_row() -> None:
    rows = wrap(line("one two threefourfive"), 8)
    assert [plain(row) for row in rows] == ["one two", "threefou", "rfive"]


def test_chinese_punctuation_never_begins_a_row() -> None:
    rows = [plain(row) for row in wrap(line("构建失败了，请看日志。然后再试（一次）、两次。"), 11)]
    assert all(row[0] not in "，。、）" for row in rows)


def test_tabs_become_blanks_up_to_the_next_stop() -> None:
    assert expand_tabs("a\tb\t") == "a   b   "
    assert pad("中", 4) == "中  "
