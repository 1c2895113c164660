from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limnos.providers.retry import Backoff, retry_after

from .support import START


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("Wed Oct 21 07:28:00 2026", 30.0),
        ("Wed, 21 Oct 2026 07:28:00 +0000", 30.0),
        ("Wednesday, 21-Oct-26 07:28:10 GMT", 40.0),
        ("Sunday, 06-Nov-94 08:49:37 GMT", 0.0),
        ("+5", 5.0),
        ("1e400", None),
        ("12s", None),
        ("1_000", None),
        ("٣", None),
        ("Wed, 21 Oct 2026 25:00:00 GMT", None),
        ("Wed, 21 Oct 99999 07:28:00 GMT", None),
        ("1" * 5000, None),
    ],
)
def test_every_form_of_the_header_is_read_or_ignored(header: str, seconds: float | None) -> None:
    assert retry_after(header, START) == seconds


@given(st.text(max_size=200) | st.floats().map(str) | st.integers().map(str))
def test_no_header_raises_or_leaves_the_bounds(header: str) -> None:
    seconds = retry_after(header, datetime.now(UTC))
    assert seconds is None or 0 <= seconds <= 300


def test_waits_double_up_to_a_longest_one() -> None:
    backoff = Backoff(tries=9, jitter=lambda: 0.0)
    assert [backoff.wait(tried, 0, None) for tried in range(1, 8)] == [1, 2, 4, 8, 16, 30, 30]


@given(st.floats(0, 1), st.integers(1, 2))
def test_jitter_takes_off_at_most_half(jitter: float, tried: int) -> None:
    wait = Backoff(jitter=lambda: jitter).wait(tried, 0, None)
    assert wait is not None
    assert 2 ** (tried - 1) / 2 <= wait <= 2 ** (tried - 1)


def test_tries_and_the_time_they_wait_are_bounded() -> None:
    backoff = Backoff(tries=3, total_s=100)
    assert backoff.wait(2, 0, 10) == 10
    assert backoff.wait(3, 0, 10) is None
    assert backoff.wait(1, 95, 10) is None
