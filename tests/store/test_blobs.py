"""Payloads by content."""

import os
from pathlib import Path

import pytest

from limnos.kernel.errors import StorageError
from limnos.store.blobs import BlobStore
from tests.store.disks import full_disk


def test_the_same_bytes_have_one_id_and_one_file(tmp_path: Path) -> None:
    store = BlobStore(tmp_path / "blobs")

    one, again, other = store.put(b"abc"), store.put(b"abc"), store.put(b"")

    assert one == again != other
    assert BlobStore(tmp_path / "blobs").get(one) == b"abc"
    assert store.get(other) == b""
    assert sum(path.is_file() for path in tmp_path.rglob("*")) == 2


@pytest.mark.parametrize(
    "block",
    [
        "",
        "b",
        "../../etc/passwd",
        "b" + "0" * 32,
        "b" + "G" * 32,
        "b" + "0" * 31 + "/",
        "b" + "0" * 32 + "\n",
    ],
)
def test_what_is_no_block_is_not_found(tmp_path: Path, block: str) -> None:
    with pytest.raises(KeyError):
        BlobStore(tmp_path).get(block)


@pytest.mark.parametrize("content", [b"", b"abd", b"abcd"])
def test_a_damaged_block_is_not_passed_off_as_the_right_one(tmp_path: Path, content: bytes) -> None:
    store = BlobStore(tmp_path)
    block = store.put(b"abc")
    (tmp_path / block[1:3] / block).write_bytes(content)

    with pytest.raises(KeyError):
        store.get(block)


def test_a_pipe_in_the_place_of_a_block_is_replaced_and_not_waited_for(tmp_path: Path) -> None:
    store = BlobStore(tmp_path)
    block = store.put(b"abc")
    path = tmp_path / block[1:3] / block
    path.unlink()
    os.mkfifo(path)

    with pytest.raises(KeyError):
        store.get(block)
    assert store.get(store.put(b"abc")) == b"abc"


@pytest.mark.parametrize("damage", [b"a", b"abd"])
def test_a_block_that_was_damaged_is_written_again(tmp_path: Path, damage: bytes) -> None:
    store = BlobStore(tmp_path)
    block = store.put(b"abc")
    (tmp_path / block[1:3] / block).write_bytes(damage)

    assert store.put(b"abc") == block
    assert store.get(block) == b"abc"


def test_a_full_disk_is_an_error_and_leaves_nothing_behind(tmp_path: Path) -> None:
    with full_disk(tmp_path / "disk") as disk:
        store = BlobStore(disk.folder / "blobs")
        with disk.filled(100), pytest.raises(StorageError):
            store.put(b"x" * 200_000)
        assert not [path for path in (disk.folder / "blobs").rglob("*") if path.is_file()]
        assert store.get(store.put(b"x" * 200_000)) == b"x" * 200_000
