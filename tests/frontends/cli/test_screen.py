"""Finished rows are printed once, and the live region stands below them."""

from hypothesis import given
from hypothesis import strategies as st

from limnos.frontends.cli.screen import Live, Screen, Size
from limnos.frontends.cli.spans import line
from tests.frontends.cli.glass import Glass

WORDS = st.text("ab中", min_size=0, max_size=14)
STEPS = st.lists(st.tuples(st.lists(WORDS, max_size=3), st.lists(WORDS, min_size=1, max_size=6)), max_size=12)


@given(STEPS, st.integers(5, 12))
def test_what_was_printed_stands_above_the_live_region_and_nothing_else(
    steps: list[tuple[list[str], list[str]]], height: int
) -> None:
    glass = Glass(30, height)
    screen = Screen(glass.write, lambda: Size(30, height), colour=False)
    printed: list[str] = []
    for above, live in steps:
        rows = [line(word) for word in live]
        screen.update(Live(rows, (len(rows) - 1, 0)), [line(word) for word in above])
        printed += above
        shown = live[max(0, len(live) - height + 1) :]
        assert glass.shown == _trimmed([*printed, *shown])
    screen.clear()
    assert glass.shown == _trimmed(printed)


def test_the_cursor_stands_at_the_caret() -> None:
    glass = Glass(30, 10)
    Screen(glass.write, lambda: Size(30, 10), colour=False).update(
        Live([line("one"), line("› 中"), line("s")], (1, 4))
    )
    assert (glass.row, glass.column) == (1, 4)


def test_nothing_is_written_when_nothing_changed() -> None:
    written: list[str] = []
    screen = Screen(written.append, lambda: Size(30, 10), colour=False)
    for _ in range(3):
        screen.update(Live([line("same")]))
    assert len(written) == 1


def test_a_change_is_one_write_between_synchronized_marks() -> None:
    written: list[str] = []
    Screen(written.append, lambda: Size(30, 10), colour=True).update(Live([line("x")]), [line("y")])
    assert len(written) == 1
    assert written[0].startswith("\x1b[?2026h")
    assert written[0].endswith("\x1b[?2026l")
    assert "\x1b[J" not in written[0]


def _trimmed(rows: list[str]) -> list[str]:
    rows = list(rows)
    while rows and not rows[-1]:
        rows.pop()
    return rows
