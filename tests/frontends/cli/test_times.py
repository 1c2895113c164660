"""Numbers as people say them."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from limnos.frontends.cli.times import clock, counted, duration, money, rate, remaining, size, thousands, when

NOW = datetime(2026, 3, 14, 20, 31, tzinfo=UTC)
SHANGHAI = timezone(timedelta(hours=8))


@pytest.mark.parametrize(
    ("milliseconds", "said"),
    [(212, "0.2 s"), (4100, "4.1 s"), (4000, "4 s"), (14_400, "14 s"), (130_000, "2 min 10 s"),
     (120_000, "2 min"), (3 * 86_400_000 + 4 * 3_600_000, "3 days 4 h"), (59_999, "1 min")],
)  # fmt: skip
def test_a_duration_has_two_units_at_most(milliseconds: int, said: str) -> None:
    assert duration(milliseconds) == said


def test_sizes_and_rates_are_decimal() -> None:
    assert [size(n) for n in (1, 71, 412_000, 478_000_000, 1_117_320_768)] == [
        "1 byte",
        "71 bytes",
        "412 kB",
        "478 MB",
        "1.1 GB",
    ]
    assert rate(12_000_000) == "12 MB/s"


def test_time_left_moves_in_steps() -> None:
    assert [remaining(s) for s in (1, 43, 58, 200)] == [
        "about 5 s left", "about 45 s left", "about 1 min left", "about 3 min left",
    ]  # fmt: skip


def test_counts_tokens_and_money() -> None:
    assert [thousands(n) for n in (810, 3044, 12_083, 212_000)] == ["810", "3.0k", "12.1k", "212k"]
    assert [counted(1, "call"), counted(2, "call")] == ["1 call", "2 calls"]
    assert [money("0", "USD"), money("0.00", "USD"), money("0.12", "EUR")] == ["free", "free", "0.12 EUR"]


def test_a_moment_is_named_in_the_zone_of_the_viewer() -> None:
    assert when("2026-03-14T19:00:00.000Z", NOW, UTC) == "today 19:00"
    assert when("2026-03-14T15:00:00.000Z", NOW, SHANGHAI) == "yesterday 23:00"
    assert when("2026-03-02T15:00:00.000Z", NOW, UTC) == "2 March"
    assert clock("2026-03-14T20:31:04.118Z", UTC, seconds=True) == "20:31:04"
    assert when("nonsense", NOW) == "nonsense"
