"""The composer's line."""

from hypothesis import given
from hypothesis import strategies as st

from limnos.frontends.cli.cells import line_width
from limnos.frontends.cli.composer import layout
from limnos.frontends.cli.editor import Editor
from limnos.frontends.cli.keys import Key
from limnos.frontends.cli.spans import plain
from tests.frontends.cli.support import look

NAMES = ["left", "right", "home", "end", "up", "down", "backspace", "delete", "newline"]
NAMES += ["ctrl-w", "ctrl-k", "ctrl-u", "ctrl-y", "alt-b", "alt-f"]
KEYS = st.lists(
    st.one_of(
        st.sampled_from(NAMES).map(Key), st.text("ab 中👩‍👧\n", min_size=1).map(lambda t: Key("text", t))
    )
)


def _typed(*keys: Key | str) -> Editor:
    editor = Editor()
    for key in keys:
        editor.press(Key("text", key) if isinstance(key, str) else key, 1.0)
    return editor


@given(KEYS, st.integers(12, 60), st.integers(1, 8))
def test_the_caret_stays_in_the_text_and_on_the_screen(keys: list[Key], columns: int, rows: int) -> None:
    editor = _typed(*keys)
    assert 0 <= editor.caret <= len(editor.text)
    drawn, (row, column) = layout(look(columns), editor, rows)
    assert 0 <= row < len(drawn) <= rows
    assert column < columns
    assert all(line_width(piece) < columns for piece in drawn)


def test_a_backspace_takes_what_a_person_sees_as_one_character() -> None:
    assert _typed("a👩‍👩‍👧", Key("backspace")).text == "a"


def test_a_backslash_before_enter_makes_a_line() -> None:
    editor = _typed("one\\")
    assert editor.continues
    editor.break_line()
    assert (editor.text, editor.caret) == ("one\n", 4)


def test_a_large_paste_is_one_piece_and_comes_back_whole() -> None:
    pasted = "\n".join(f"line {n}" for n in range(20_000))
    editor = _typed("see ", Key("paste", pasted))
    assert editor.shown(editor.text) == "see [pasted 20,000 lines]"
    assert editor.take() == f"see {pasted}"
    assert editor.text == ""


def test_what_was_cut_comes_back() -> None:
    editor = _typed("half typed", Key("ctrl-u"))
    assert editor.text == ""
    editor.press(Key("ctrl-y"), 2.0)
    assert editor.text == "half typed"


def test_up_goes_back_through_the_inputs_and_down_to_the_draft() -> None:
    editor = _typed("draft")
    editor.history = ["one", "two"]
    seen = []
    for name in ("up", "up", "up", "down", "down"):
        editor.press(Key(name), 1.0)
        seen.append(editor.text)
    assert seen == ["two", "one", "one", "two", "draft"]


def test_a_line_is_dated_when_it_begins() -> None:
    editor = Editor()
    editor.press(Key("text", "a"), 5.0)
    editor.press(Key("text", "b"), 9.0)
    assert editor.begun == 5.0


def test_the_composer_marks_its_first_row_only() -> None:
    drawn, caret = layout(look(20), _typed("one\ntwo"), 5)
    assert [plain(row) for row in drawn] == ["› one", "  two"]
    assert caret == (1, 5)
