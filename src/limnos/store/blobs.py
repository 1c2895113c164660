"""Payloads by content: the same bytes have the same block id and lie on the disk once."""

import hashlib
import re
from pathlib import Path

from limnos.sdk.regular import open_regular
from limnos.store.whole import storage_error, write_whole

_BLOCK = re.compile(r"b[0-9a-f]{32}")


class BlobStore:
    """A folder of payloads, two characters of the digest per subfolder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, data: bytes) -> str:
        """Keep `data`; the file appears whole or not at all. Raises StorageError."""
        block = _block_of(data)
        path = self._path(block)
        if _holds(path, data):
            return block
        try:
            write_whole(path, data)
        except OSError as error:
            raise storage_error(path, error) from None
        return block

    def get(self, block: str) -> bytes:
        """The bytes of `block`. Raises KeyError when there is none, it is damaged, or it is no block id."""
        if not _BLOCK.fullmatch(block):
            raise KeyError(block)
        try:
            data = _read(self._path(block))
        except OSError:
            raise KeyError(block) from None
        if _block_of(data) != block:
            raise KeyError(block)
        return data

    def _path(self, block: str) -> Path:
        return self._folder / block[1:3] / block


def _block_of(data: bytes) -> str:
    return "b" + hashlib.sha256(data).hexdigest()[:32]


def _read(path: Path) -> bytes:
    with open_regular(path) as file:
        return file.read()


def _holds(path: Path, data: bytes) -> bool:
    try:
        return _read(path) == data
    except OSError:
        return False
