"""Lines of a text: found by number without a list of them all."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limnos.sdk import texts
from limnos.sdk.texts import each_line, line_count, line_start, lines_of


@given(text=st.text(alphabet="a\n\r\x0c\u2028é"), block=st.integers(1, 4))
def test_a_line_is_where_the_lines_before_it_end(text: str, block: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(texts, "_BLOCK", block)
        lines = text.replace("\n", "\n\0").split("\0")
        lines = lines if lines[-1] else lines[:-1]

        assert list(each_line(text)) == lines_of(text) == lines
        assert line_count(text) == len(lines)
        for number in range(1, len(lines) + 3):
            assert line_start(text, number) == len("".join(lines[: number - 1]))
        assert line_start(text, 10**30) == len(text)
