"""Frames that are larger than one may be: their content goes ahead in parts."""

import json
from typing import Any, Final

from limnos.wire.frames import (
    INVALID,
    TOO_LARGE,
    Failure,
    Frame,
    FrameError,
    Notification,
    Reply,
    encode,
)

PART: Final = "part"
_MARK: Final = "$parts"
_CHARACTERS: Final = 100_000  # each takes at most eight bytes once more escaped
_MOST: Final = 2_000  # parts of one frame


def lines_of(frame: Reply | Notification | Failure) -> list[bytes]:
    """The lines that stand for `frame`: one, or its content in parts and then an empty frame of its kind."""
    try:
        return [encode(frame)]
    except FrameError as error:
        if error.code != TOO_LARGE or isinstance(frame, Failure):
            raise
    content = frame.result if isinstance(frame, Reply) else frame.params
    text = json.dumps(content, ensure_ascii=False)
    pieces = [text[start : start + _CHARACTERS] for start in range(0, len(text), _CHARACTERS)]
    mark = {_MARK: len(pieces)}
    end = frame._replace(result=mark) if isinstance(frame, Reply) else frame._replace(params=mark)
    return [*(encode(Notification(PART, {"text": piece})) for piece in pieces), encode(end)]


class Joiner:
    """Puts the parts together again, at the reader's side."""

    def __init__(self) -> None:
        self._pieces: list[str] = []

    def feed(self, frame: Frame) -> Frame | None:
        """The whole frame; None for a part. Raises FrameError when parts are missing or too many."""
        if isinstance(frame, Notification) and frame.method == PART:
            self._pieces.append(str(frame.params.get("text", "")))
            if len(self._pieces) > _MOST:
                raise FrameError(TOO_LARGE, "a frame has too many parts")
            return None
        match frame:
            case Reply(result={"$parts": count}):
                return frame._replace(result=self._joined(count))
            case Notification(params={"$parts": count}):
                return frame._replace(params=self._joined(count))
            case _:
                return frame

    def _joined(self, count: Any) -> Any:
        pieces, self._pieces = self._pieces, []
        if count != len(pieces):
            raise FrameError(INVALID, f"a frame had {len(pieces)} of {count} parts")
        return json.loads("".join(pieces))
