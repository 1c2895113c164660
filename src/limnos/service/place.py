"""Where a daemon and its clients meet: `LIMNOS_HOME/run`, for its owner alone."""

import os
import secrets
import socket
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from limnos.kernel.errors import StorageError
from limnos.store.whole import private_folder, storage_error, write_whole

MOST_PATH: Final = 107  # bytes of a socket's path; a longer one is reached through its folder


class Place(NamedTuple):
    """The files of one home's daemon."""

    home: Path

    @property
    def folder(self) -> Path:
        """`run`, mode 0700."""
        return self.home / "run"

    @property
    def socket(self) -> Path:
        """What clients connect to."""
        return self.folder / "socket"

    @property
    def token(self) -> Path:
        """What a client of this start must know."""
        return self.folder / "token"

    @property
    def pid(self) -> Path:
        """The daemon's process; the lock on this file says that it lives."""
        return self.folder / "pid"

    @property
    def log(self) -> Path:
        """What the daemon says."""
        return self.home / "logs" / "daemon.log"

    @property
    def refusals(self) -> Path:
        """What was refused to clients."""
        return self.home / "logs" / "refusals.jsonl"


def prepare(place: Place) -> str:
    """Make the folder private, and write and return the token of this start. Raises StorageError."""
    token = secrets.token_hex(32)
    try:
        private_folder(place.folder)
        place.folder.chmod(0o700)
        write_whole(place.token, token.encode())
    except OSError as error:
        raise storage_error(place.token, error, "try again") from None
    return token


def listening_socket(place: Place) -> socket.socket:
    """A socket that listens there, for its owner alone; what was left behind goes. Raises StorageError."""
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    try:
        place.socket.unlink(missing_ok=True)
        with _short(place.socket) as path:
            listening.bind(path)
        place.socket.chmod(0o600)
        listening.listen(128)
        listening.setblocking(False)
    except OSError as error:
        listening.close()
        raise storage_error(place.socket, error, "try again") from None
    return listening


def connected_socket(place: Place, seconds: float) -> socket.socket:
    """A socket connected to the daemon; its calls wait at most `seconds`. Raises OSError."""
    connected = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    try:
        connected.settimeout(seconds)
        with _short(place.socket) as path:
            connected.connect(path)
    except OSError:
        connected.close()
        raise
    return connected


@contextmanager
def _short(path: Path) -> Generator[str]:
    """A name of `path` that fits into a socket's address."""
    if len(os.fsencode(path)) <= MOST_PATH:
        yield str(path)
        return
    if not os.path.isdir("/proc/self/fd"):
        raise StorageError(f"{path} is longer than {MOST_PATH} bytes", "name a shorter home in LIMNOS_HOME")
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)
