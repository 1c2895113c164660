"""One running call of a tool, as the function that does it sees it."""

import threading
from collections.abc import Callable, Mapping
from typing import Any

from limnos.sdk.told import Told


class Cancelled(Exception):  # noqa: N818 - a decision of a person, not an error
    """Raised in a call by `Call.check` when it was stopped."""


class Call:
    """One running call of a tool: where it works, how it tells of itself, whether it was stopped.

    `cwd` is the folder it works in; `session` names whose call it is. `rests_on` is what the permission was
    given for: when that has changed, refuse. `order` is what limnos itself prepared for this call.
    """

    def __init__(self, told: Told, given: Mapping[str, Any]) -> None:
        self.kernel = told.kernel
        self.hidden = told.hidden
        self._payloads = told.payloads
        self.id: str = given["call"]
        self.tool: str = given["tool"]
        self.cwd: str = given["cwd"]
        self.session: str = given.get("session", "")
        self.rests_on: str = given.get("rests_on", "")
        self.timeout_s: float = given.get("timeout_s", 60.0)
        self.order: Mapping[str, Any] = given.get("order") or {}
        self.stopped = threading.Event()
        self.on_stop: Callable[[], object] | None = None

    def report(self, text: str, fraction: float | None = None) -> None:
        """Tell how far it is; `fraction` is between 0 and 1."""
        self.kernel.notify("tool.progress", call=self.id, text=text, fraction=fraction)

    def changed(self, path: str, before: bytes | None, after: bytes | None) -> None:
        """Tell limnos of a file that this call changed; None where it is not there.

        Raises `limnos.sdk.wire.RefusedError`.
        """
        fields: dict[str, Any] = {"call": self.id, "path": path}
        for name, data in (("before", before), ("after", after)):
            if data is not None:
                fields = self._payloads.with_bytes(fields, name, data)
        self.kernel.request("files.changed", **fields)

    def check(self) -> None:
        """Raise `Cancelled` once the call was stopped; to be asked now and then by long work."""
        if self.stopped.is_set():
            raise Cancelled

    def stop(self) -> None:
        """The person stopped the call: `stopped` is set, and `on_stop` is called if there is one."""
        self.stopped.set()
        if self.on_stop is not None:
            self.on_stop()
