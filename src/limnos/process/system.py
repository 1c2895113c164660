"""The parts of the machine that programs need: system folders, a few settings, tools named by PATH."""

import grp
import os
import pwd
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from limnos.process.identity import git_identity
from limnos.process.mounts import Arguments, Kind, Mount, below, covered
from limnos.process.profile import Profile

_FOLDERS = ("/usr", "/opt", "/nix", "/gnu")
_MERGED = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_SETTINGS_FOLDERS = (
    "/etc/alternatives", "/etc/ssl/certs", "/etc/pki/ca-trust", "/etc/pki/tls/certs", "/etc/crypto-policies",
    "/etc/fonts", "/etc/java-17-openjdk", "/etc/java-21-openjdk",
)  # fmt: skip
_SETTINGS = (
    "ld.so.cache", "nsswitch.conf", "hosts", "services", "protocols", "localtime", "os-release",
    "mime.types", "locale.alias", "ssl/openssl.cnf", "pki/tls/cert.pem",
)  # fmt: skip
_LARGEST_SETTING = 4 << 20
_NOBODY = 65534
_SHARED_MEMORY = 1 << 30
OURS = "/run/limnos"
_PACKAGE = str(Path(__file__).resolve().parents[1])


@cache
def folders() -> tuple[Mount, ...]:
    """System folders as they are on this machine."""
    plain = [path for path in (*_FOLDERS, *_MERGED) if os.path.isdir(path) and not os.path.islink(path)]
    settings = [path for path in _SETTINGS_FOLDERS if os.path.isdir(path) and os.path.realpath(path) == path]
    return tuple(Mount(path, Kind.READ) for path in (*plain, *settings))


def base(arguments: Arguments, profile: Profile, mounts: Sequence[Mount], home: str = "") -> None:
    """What is made and not mounted: links, devices, processes, and copies of settings.

    Of the person's `home` only the name and the address that commits are made with.
    """
    for path in _MERGED:
        if os.path.islink(path):
            arguments.add("--symlink", os.readlink(path), path)
    arguments.add("--proc", "/proc", "--dev", "/dev")
    arguments.temporary("/dev/shm", min(_SHARED_MEMORY, profile.in_memory), "1777")
    arguments.add("--remount-ro", "/dev")
    for link, target in (("/var/tmp", "/tmp"), ("/var/run", "/run")):
        if not any(below(mount.path, link) for mount in mounts):
            arguments.add("--symlink", target, link)
    for name in (*_SETTINGS, "resolv.conf") if profile.network else _SETTINGS:
        _setting(arguments, f"/etc/{name}")
    arguments.text("/etc/gitconfig", _content("/etc/gitconfig") + git_identity(home))
    arguments.text("/etc/passwd", _accounts())
    arguments.text("/etc/group", _groups())


def home() -> str:
    """The home folder of this account, without links; empty when it has none."""
    try:
        return os.path.realpath(pwd.getpwuid(os.geteuid()).pw_dir)
    except KeyError:
        return ""


def interpreter(shown: Sequence[Mount]) -> tuple[str, list[Mount]]:
    """The Python that starts programs inside, and what must be mounted for it."""
    program = os.path.realpath(sys.executable)
    needed = [Mount(f"{OURS}/limnos", Kind.READ, source=_PACKAGE)]
    prefix = os.path.realpath(sys.base_prefix)
    if not covered(prefix, shown):
        needed.append(Mount(prefix, Kind.READ))
    if not covered(program, (*shown, *needed)):
        needed.append(Mount(os.path.realpath(sys.prefix), Kind.READ))
    return program, needed


def tools(path: str, private: Sequence[str]) -> list[Mount]:
    """Folders of PATH that lie elsewhere, with what their programs need; none that shows something `private`.

    `private` are folders such as the home: they and what lies above them are never mounted for their tools.
    """
    wanted: list[str] = []
    for folder in path.split(os.pathsep):
        if folder.startswith("/") and os.path.isdir(folder):
            wanted += _with_needed(os.path.realpath(folder))
    return [Mount(one, Kind.READ) for one in wanted if os.path.isdir(one) and not _shows(one, private)]


def _shows(folder: str, private: Sequence[str]) -> bool:
    return any(below(one, folder) for one in private if one)


def _with_needed(folder: str) -> Iterator[str]:
    """A folder of programs, and the rest of the installation that they belong to."""
    yield folder
    parent, name = os.path.split(folder)
    looks_beside = name == "shims"  # scripts of pyenv, rbenv and asdf
    if looks_beside or os.path.exists(f"{parent}/pyvenv.cfg") or (name == "bin" and _is_prefix(parent)):
        yield parent
    elif folder.endswith("/.cargo/bin"):  # stand-ins for the programs of a tool chain
        yield f"{os.path.dirname(parent)}/.rustup"


def _is_prefix(folder: str) -> bool:
    """Whether a program was installed into `folder` of its own, such as ~/.nvm/versions/node/v20."""
    hidden_first = os.path.basename(folder).startswith(".")
    return not hidden_first and os.path.isdir(f"{folder}/lib") and os.path.isdir(f"{folder}/include")


def _setting(arguments: Arguments, path: str) -> None:
    if os.path.islink(path) and below(os.path.realpath(path), "/usr"):
        arguments.add("--symlink", os.path.realpath(path), path)
        return
    if content := _content(path):
        arguments.text(path, content)


def _content(path: str) -> bytes:
    """A settings file; empty when it is not on this machine, not for everybody, or too large."""
    try:
        small = os.path.isfile(path) and os.path.getsize(path) <= _LARGEST_SETTING
        return Path(path).read_bytes() if small else b""
    except OSError:
        return b""


def _accounts() -> bytes:
    uid = os.geteuid()
    try:
        entry = pwd.getpwuid(uid)
        name, gid, folder = entry.pw_name, entry.pw_gid, entry.pw_dir
    except KeyError:
        name, gid, folder = "user", os.getegid(), "/tmp"
    lines = [
        f"{name}:x:{uid}:{gid}::{folder}:/bin/sh",
        f"nobody:x:{_NOBODY}:{_NOBODY}::/nonexistent:/bin/false",
    ]
    if uid:
        lines.insert(0, "root:x:0:0::/root:/bin/false")
    return "".join(line + "\n" for line in lines).encode()


def _groups() -> bytes:
    gid = os.getegid()
    try:
        name = grp.getgrgid(gid).gr_name
    except KeyError:
        name = "user"
    lines = [f"{name}:x:{gid}:", f"nogroup:x:{_NOBODY}:"]
    return "".join(line + "\n" for line in lines).encode()
