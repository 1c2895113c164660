"""Cases `edits`: an exact edit of a file, through the door."""

import base64
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from limnos.sdk.edits import EditError, replace_exactly
from limnos.sdk.files import Files

_NAME = "file.txt"


def check(case: dict[str, Any]) -> str | None:
    """None when the file has the expected bytes, or is untouched after the expected refusal."""
    before, expect = base64.b64decode(case["file_b64"]), case["expect"]
    options = {name: case[name] for name in ("replace_all", "encoding") if name in case}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / _NAME
        path.write_bytes(before)
        fault = _edit(Files(Path(folder)), partial(_edited, old=case["old"], new=case["new"], **options))
        after = path.read_bytes()
    if "error" in expect:
        if fault not in expect["error"].split("|"):
            return f"{fault or 'edited'}, the file is {after!r}"
        return None if after == before else f"{fault}, but the file became {after!r}"
    return None if after == base64.b64decode(expect["file_b64"]) else f"{fault or 'edited'}: {after!r}"


def _edited(data: bytes | None, **arguments: Any) -> bytes:
    return replace_exactly(data or b"", **arguments).data


def _edit(files: Files, edited: "partial[bytes]") -> str | None:
    try:
        files.change(_NAME, edited)
    except EditError as error:
        return error.fault
    return None
