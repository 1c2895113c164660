"""Cases `session_damage`: a session file as a crash or a bad disk left it."""

import base64
import tempfile
from pathlib import Path
from typing import Any

from limnos.kernel.events import Warned
from limnos.store.audit import AuditLog
from limnos.store.records import read_records


def check(case: dict[str, Any]) -> str | None:
    """None when the file loads as expected and takes one more record; else what came."""
    expect = case["expect"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "session.jsonl"
        data = base64.b64decode(case["file_b64"])
        path.write_bytes(data)
        loaded = read_records(data)
        log = AuditLog(path)
        try:
            log.append(Warned(seq=log.history.last_seq + 1, code="appended", text="one more"), durable=True)
        finally:
            log.close()
        first = _numbers(data, expect)
        again = _numbers(path.read_bytes(), expect)
        aside = path.with_name("session.jsonl.damaged")
        return _difference(
            expect, first, again, bool(loaded.damaged or loaded.torn), log.history.last_seq
        ) or ("the torn line was not kept aside" if loaded.torn and not aside.exists() else None)


def _numbers(data: bytes, expect: dict[str, Any]) -> list[int]:
    optional = set(expect.get("optional", [])) - set(expect["events"])
    return [record["seq"] for record in read_records(data).records if record["seq"] not in optional]


def _difference(
    expect: dict[str, Any], first: list[int], again: list[int], damaged: bool, last: int
) -> str | None:
    if first != expect["events"]:
        return f"events {first}"
    if damaged != expect["damaged_bytes"]:
        return f"damage reported: {damaged}"
    if expect["next_append_readable"] and again != [*first, last + 1]:
        return f"after an append: {again}"
    return None
