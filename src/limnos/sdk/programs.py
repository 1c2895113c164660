"""Programs that limnos prepared: as they go from the kernel to the plugin that runs them, and run there."""

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

from limnos.process.capture import Completed as Completed
from limnos.process.capture import run as run
from limnos.process.profile import Profile
from limnos.process.sandbox import Sandbox
from limnos.process.spawn import ChildSpec as ChildSpec
from limnos.process.spawn import Drain as Drain
from limnos.process.spawn import Leader as Leader
from limnos.process.spawn import Limits as Limits
from limnos.process.spawn import StartError as StartError
from limnos.process.spawn import Streams as Streams
from limnos.process.spawn import start_errors as start_errors
from limnos.process.spawn import start_leader as start_leader

_LISTS = ("hidden", "readable", "writable")


def as_order(spec: ChildSpec, profile: Profile | None, sandbox: Sandbox | None) -> dict[str, Any]:
    """What to run as plain JSON, byte for byte: names on a disk need not be UTF-8."""
    return {
        "argv": [_plain(word) for word in spec.argv],
        "cwd": _plain(spec.cwd),
        "env": {_plain(name): _plain(value) for name, value in spec.env.items()},
        "profile": _profile_record(profile) if profile is not None else None,
        "limits": spec.limits._asdict(),
        "terminal": spec.terminal,
        "sandbox": {"bwrap": sandbox.bwrap, "landlock": sandbox.landlock} if sandbox is not None else None,
    }


def entering(order: Mapping[str, Any]) -> AbstractContextManager[ChildSpec]:
    """What `as_order` described, ready to start inside its sandbox where it has one. Raises StartError."""
    env = {_exact(name): _exact(value) for name, value in order["env"].items()}
    argv, limits = tuple(map(_exact, order["argv"])), Limits(**order["limits"])
    spec = ChildSpec(argv, _exact(order["cwd"]), env, limits, terminal=order["terminal"])
    profile, sandbox = order["profile"], order["sandbox"]
    if profile is None or sandbox is None:
        return nullcontext(spec)
    return _sandbox(sandbox["bwrap"], sandbox["landlock"]).enter(spec, _profile(profile))


@cache
def _sandbox(bwrap: str, landlock: int) -> Sandbox:
    return Sandbox(bwrap, landlock)


def _profile_record(profile: Profile) -> dict[str, Any]:
    lists = {name: [*map(_plain, getattr(profile, name))] for name in _LISTS}
    return {**profile._asdict(), "workspace": _plain(profile.workspace), **lists}


def _profile(record: Mapping[str, Any]) -> Profile:
    exact: dict[str, Any] = {name: tuple(map(_exact, record[name])) for name in _LISTS}
    exact["workspace"] = _exact(record["workspace"])
    return Profile(**{**record, **exact})


def _plain(text: str) -> str:
    return os.fsencode(text).decode("latin-1")


def _exact(text: str) -> str:
    return os.fsdecode(text.encode("latin-1"))
