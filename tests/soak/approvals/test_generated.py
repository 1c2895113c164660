"""Many generated commands against a real bash: what runs equals what was shown."""

from pathlib import Path

import pytest

from tests.agent.shell.checking import check_everything_seen, check_rebuilt

SEED = 7_000


@pytest.mark.soak
@pytest.mark.parametrize("number", range(100))
def test_fifty_thousand_commands_run_as_they_were_shown(number: int, tmp_path: Path) -> None:
    check_rebuilt(SEED + number, 500, tmp_path)


@pytest.mark.soak
@pytest.mark.parametrize("number", range(4))
def test_two_thousand_constructs_hide_nothing(number: int, tmp_path: Path) -> None:
    check_everything_seen(SEED + number, 500, tmp_path)


@pytest.mark.torture
def test_five_hundred_thousand_commands_run_as_they_were_shown(tmp_path: Path) -> None:
    for number in range(1_000):
        folder = tmp_path / str(number)
        folder.mkdir()
        check_rebuilt(SEED + 100 + number, 500, folder)
