import pytest

from limnos.providers.usage import truncated_prompt


@pytest.mark.parametrize(
    ("expected", "reported", "cut"),
    [
        (12_000, 4_096, True),
        (12_000, 11_000, False),
        (12_000, 8_000, False),
        (400, 100, False),
        (12_000, 0, False),
        (3_000, 2_048, False),
        (5_000, 2_048, True),
    ],
)
def test_a_prompt_that_a_server_cut_silently_is_seen(expected: int, reported: int, cut: bool) -> None:
    assert truncated_prompt(expected, reported) is cut
