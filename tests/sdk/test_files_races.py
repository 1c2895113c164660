"""Names that are swapped while the door works: before every system call, and nothing outside is touched."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.sdk.races import CANARY, ByPath, Door, Scene, before_call, operate
from tests.sdk.ways import WAYS, go

LINES = (Path(__file__).parents[1] / "cases" / "links.jsonl").read_text(encoding="utf-8").splitlines()
CASES: list[dict[str, Any]] = [json.loads(line) for line in LINES]
MOST_CALLS = 400


def outcomes(
    case: dict[str, Any], folder: Path, kind: type[Door | ByPath], patch: pytest.MonkeyPatch
) -> Iterator[tuple[str, Scene, Door | ByPath]]:
    """The operation of `case`, once for every system call before which the swap can come."""
    for number in range(1, MOST_CALLS):
        scene = Scene(folder / str(number), case)
        try:
            files = kind(scene.work)
            with before_call(number, scene.swap, patch) as counted:
                said = operate(files, case)
            if counted[0] < number:
                return
            yield f"swap before call {number}: {said}", scene, files
        finally:
            scene.close()
    raise AssertionError("the operation does not end")


def lost(case: dict[str, Any], scene: Scene, files: Door | ByPath) -> list[str]:
    """Texts of somebody else that are gone and were not read before."""
    gone = [name for name, text in case.get("kept", {}).items() if not _has(scene.work / name, text)]
    return [name for name in gone if files.seen != case["kept"][name].encode()]


def _has(path: Path, text: str) -> bool:
    return path.exists() and path.read_text() == text


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_nothing_outside_is_touched_whenever_the_swap_comes(
    case: dict[str, Any], way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go(way, monkeypatch)
    calls = 0
    for said, scene, files in outcomes(case, tmp_path, Door, monkeypatch):
        calls += 1
        assert scene.outside.accesses() == [], said
        assert scene.outside.changed() == [], said
        assert CANARY not in said
        assert "secret.txt" not in said or "secret.txt" in case["path"]
        drafts = [path.name for path in scene.work.parent.rglob("*.draft")]
        assert drafts == [] or "the one before is" in said, said
        if way == "openat2":  # without an exchange of names, one moment is left
            assert lost(case, scene, files) == [], said
    assert calls > 3, "the operation made no system calls that were seen"


@pytest.mark.parametrize("case", [case for case in CASES if case["fools_paths"]], ids=lambda case: case["id"])
def test_a_door_by_path_is_fooled_by_the_same_swap(
    case: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert any(
        scene.outside.accesses() or scene.outside.changed() or CANARY in said or lost(case, scene, files)
        for said, scene, files in outcomes(case, tmp_path, ByPath, monkeypatch)
    )
