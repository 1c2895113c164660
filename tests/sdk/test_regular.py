"""A file that a person named is read within bounds, or refused at once with the reason."""

import os
import re
from pathlib import Path

import pytest

from limnos.sdk.regular import read_regular


def test_a_file_up_to_the_bound_is_read_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    (tmp_path / "link").symlink_to("file")

    assert read_regular(tmp_path / "link", 5) == b"12345"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("absent", "No such file or directory"),
        ("folder", "Is a directory"),
        ("pipe", "it is no regular file"),
        ("/dev/zero", "it is no regular file"),
        ("large", "it has more than 1,000 bytes"),
    ],
)
def test_anything_else_is_refused_at_once_with_the_reason(tmp_path: Path, name: str, reason: str) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "large").write_bytes(bytes(1001))

    before = _descriptors()
    with pytest.raises(OSError, match=re.escape(f"] {reason}: ")):
        read_regular(tmp_path / name, 1000)
    assert _descriptors() == before


def _descriptors() -> set[str]:
    return set(os.listdir("/proc/self/fd"))
