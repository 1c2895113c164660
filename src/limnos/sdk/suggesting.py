"""A path that is not there, answered with names that it may have meant."""

from collections.abc import Callable
from typing import TypeVar

from limnos.kernel.tools import ToolFailure
from limnos.sdk.files import Files, shown

T = TypeVar("T")


def suggesting(files: Files, path: str, work: Callable[[], T]) -> T:
    """What `work` returns; its failure about a missing `path` names like ones.

    They are looked up here, not by `files`: a question about a new file meets that failure several times.
    """
    try:
        return work()
    except ToolFailure as failure:
        if failure.error.reason != "not_found":
            raise
        near = files.near(path or ".")
        if not near:
            raise
        hint = f"did you mean {' or '.join(map(shown, near))}?"
        raise ToolFailure("not_found", failure.error.detail, hint) from None
