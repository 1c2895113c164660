"""New contents of text files: what a call would make of the old one. Pure, so that a preview is the truth."""

from collections.abc import Mapping
from typing import Any

from limnos.kernel.messages import ErrorReason
from limnos.kernel.tools import ToolFailure
from limnos.sdk.edits import Edited, EditError, EditFault, append_lines, replace_exactly

_REASONS: dict[EditFault, ErrorReason] = {"not_found": "not_found", "binary": "failed", "encoding": "failed"}


def written(path: str, before: bytes, content: str, *, append: bool) -> bytes:
    """The file with the new content, or with `content` at its end. Raises ToolFailure."""
    data = _encoded(path, content)
    if not append:
        return data
    try:
        return append_lines(before, content)
    except EditError as error:
        raise _failure(path, error) from None


def edited(arguments: Mapping[str, Any], before: bytes | None) -> Edited:
    """The file `path` with `old` replaced by `new`. Raises ToolFailure."""
    path = arguments["path"]
    if before is None:
        raise ToolFailure("not_found", f"{path} does not exist", "list the folder, or find_files")
    try:
        return replace_exactly(
            before,
            arguments["old"],
            arguments["new"],
            replace_all=arguments.get("replace_all", False),
            encoding=arguments.get("encoding"),
        )
    except EditError as error:
        raise _failure(path, error) from None


def _failure(path: str, error: EditError) -> ToolFailure:
    reason = _REASONS.get(error.fault, "invalid_arguments")
    return ToolFailure(reason, f"{path}: {error.detail}", error.hint)


def _encoded(path: str, text: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        raise ToolFailure(
            "invalid_arguments", f"the content for {path} holds half characters", "send whole ones"
        ) from None
