"""The ways in which the door can reach a file; what holds for one has to hold for the other."""

import pytest

from limnos.sdk import beneath, root

WAYS = ("openat2", "name by name")


def go(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Use `way` in this test: the calls of a new Linux, or what stands in for them elsewhere."""
    if way == "openat2":
        assert beneath.has_openat2(), "these tests need Linux 5.6"
        return
    monkeypatch.setattr(beneath, "has_openat2", lambda: False)
    monkeypatch.setattr(root, "has_openat2", lambda: False)
    monkeypatch.setattr(beneath, "_RENAMEAT2", None)
