"""Markdown streams: finished blocks come once, whatever the pieces."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limnos.frontends.cli.markdown import Block, Reader
from limnos.frontends.cli.spans import Span, plain
from tests.frontends.cli.support import laid_out

SOURCE = """# Why

The build fails because **two files** define `home`, see
[the log](https://ci.example/1).

- first
  goes on
- second

```python
def x():
\treturn 1
```
| a | b |
|---|---|
| 中文 | 2 |

> quoted
"""
PIECES = st.lists(
    st.sampled_from(["# ", "a", "b ", "\n", "\n\n", "- ", "```", "`", "**", "|", "> ", "1. ", "---", "中"])
).map("".join)


def _read(text: str, size: int) -> list[Block]:
    reader, blocks = Reader(), list[Block]()
    for start in range(0, len(text), size):
        blocks += reader.feed(text[start : start + size])
        reader.pending()
    return blocks + reader.close()


def test_an_answer_is_laid_out_with_its_fences_lists_and_tables() -> None:
    assert [plain(row) for row in laid_out(SOURCE, 40)] == [
        "Why", "",
        "The build fails because two files define", "`home`, see the log", "(https://ci.example/1).", "",
        "- first goes on", "- second", "",
        "```python", "def x():", "    return 1", "```",
        "a     b", "中文  2", "",
        "> quoted",
    ]  # fmt: skip


@given(PIECES, st.integers(1, 9))
def test_the_blocks_do_not_depend_on_how_the_text_was_cut(text: str, size: int) -> None:
    assert _read(text, size) == _read(text, max(1, len(text)))


@given(PIECES, st.integers(1, 9))
def test_looking_at_the_open_block_changes_nothing(text: str, size: int) -> None:
    looked, plainly = Reader(), Reader()
    for start in range(0, len(text), size):
        looked.pending()
        assert looked.feed(text[start : start + size]) == plainly.feed(text[start : start + size])
    assert looked.close() == plainly.close()


def test_a_fence_that_is_still_being_typed_is_not_shown() -> None:
    reader = Reader()
    reader.feed("text\n\n``")
    assert all("`" not in block.text for block in reader.pending())


def test_a_code_line_is_final_at_its_newline() -> None:
    reader = Reader()
    assert [block.kind for block in reader.feed("```\none\ntw")] == ["fence", "code"]
    assert reader.pending() == [Block("code", "tw")]


def test_arithmetic_and_names_are_not_emphasis() -> None:
    assert [plain(row) for row in laid_out("2 * 3 * 4 and snake_case_name", 60)] == [
        "2 * 3 * 4 and snake_case_name"
    ]


@pytest.mark.parametrize("unit", ["**a ", "`a ``", "[a", "*a ", "a](", "![x](", "|", "> ", "1. "])
def test_unclosed_marks_cost_no_more_than_text(unit: str) -> None:
    began = time.monotonic()
    laid_out(unit * (100_000 // len(unit)), 80)
    assert time.monotonic() - began < 10


def test_a_link_shows_its_text_and_its_real_address() -> None:
    (row,) = laid_out("[bank](https://evil.example)", 60)
    assert plain(row) == "bank (https://evil.example)"


def test_bold_and_code_have_roles_and_code_keeps_its_ticks() -> None:
    (row,) = laid_out("**a** `b`", 60)
    assert row == (Span("a", "bold"), Span(" "), Span("`b`", "accent"))
