"""What all tests share: where the data lies, and that the long runs are asked for by name."""

import os
from pathlib import Path

import pytest

SHARED = Path(__file__).parents[2] / "shared"
LONG = ("soak", "torture")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the long runs unless `-m` names them."""
    chosen = config.getoption("markexpr") or ""
    left_out = [
        item for item in items if any(item.get_closest_marker(mark) and mark not in chosen for mark in LONG)
    ]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in set(left_out)]


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of cases and data beside the checkout. Its absence is a failure, not a skip."""
    assert SHARED.is_dir(), f"{SHARED.name} is missing beside the checkout"
    return SHARED


@pytest.fixture
def variables(tmp_path: Path) -> dict[str, str]:
    """An environment with an empty home, and the programs of this machine."""
    home = tmp_path / "home"
    home.mkdir()
    return {"HOME": str(home), "LIMNOS_HOME": str(home / ".limnos"), "PATH": os.environ["PATH"], "TZ": "UTC"}
