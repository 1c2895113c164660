"""Which call does a fragment belong to? Providers answer with an index, an id, a name or a place, and each
of these is missing, wrong or repeated somewhere; so no single one is believed.

What decides, in this order: the same id, the same index, the place in the list, the latest call. Against
that stands what the arguments say: a call whose object is complete takes no more, and one that is open is
not finished by another name. `cases/streaming.jsonl` has the dialects.
"""

import secrets
import string
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise

from limnos.kernel.arguments import ParseFailure, parse_arguments
from limnos.kernel.messages import ToolCall
from limnos.providers.chunks import Fragment
from limnos.providers.scan import ObjectScanner
from limnos.providers.surrogates import whole

# Nine letters and digits: the one form of id that every provider accepts (Mistral takes no other).
_ID_LENGTH = 9
MOST_CALLS = 256
_ID_LETTERS = string.ascii_letters + string.digits


def mint_id() -> str:
    """A call id that no other call has."""
    return "".join(secrets.choice(_ID_LETTERS) for _ in range(_ID_LENGTH))


@dataclass(slots=True, eq=False)
class GrowingCall:
    """A call as far as it came. `position` counts from 0 in order of appearance.

    `glued_to` is the call whose object this one followed without a name of its own. A `bare_head` came
    without arguments. `moved` is true once arguments at another index were taken for this call's.
    """

    position: int
    index: int | None
    glued_to: "GrowingCall | None" = None
    bare_head: bool = False
    moved: bool = False
    id: str | None = None
    name: str = ""
    body: ObjectScanner = field(default_factory=ObjectScanner)
    delta: int = 0

    @property
    def full_name(self) -> str:
        """Its name, or that of the call it was glued to."""
        return self.name or (self.glued_to.full_name if self.glued_to else "")


class TooManyCallsError(ValueError):
    """A reply with more calls than anybody means to make."""


class CallAssembler:
    """Collects the fragments of one reply. `tools` are the names that the request offered."""

    def __init__(self, tools: Iterable[str] = ()) -> None:
        self._tools = frozenset(tools)
        self._calls: list[GrowingCall] = []
        self._places: list[GrowingCall] = []
        self._delta = 0

    def __bool__(self) -> bool:
        return bool(self._calls)

    def next_delta(self) -> None:
        """The fragments from now on come in another delta."""
        self._delta += 1

    def add(self, piece: Fragment) -> GrowingCall | None:
        """Give `piece` to its call and return that; None when it says nothing."""
        if piece.id is None and piece.name is None and not piece.arguments:
            return None
        call = self._find(piece)
        if call is None:
            if len(self._calls) >= MOST_CALLS:
                raise TooManyCallsError(f"more than {MOST_CALLS} calls in one reply")
            if piece.id is None and piece.name is None and not piece.has_arguments:
                return None
            call = self._begin(piece)
        self._absorb(call, piece)
        if call not in self._places:
            self._places[piece.place :] = [call]
        return call

    def finish(self, *, stopped_early: bool) -> tuple[ToolCall, ...]:
        """The calls in order of appearance, glued ones apart, each with an id of its own.

        With `stopped_early` (the token limit, or a stream without an end) a call that can't be read is
        `cut`, and so is one whose arguments never came.
        """
        calls: list[ToolCall] = []
        given: set[str] = set()
        for call in self._calls:
            if not call.full_name and call.body.blank:
                continue
            for number, piece in enumerate(call.body.pieces()):
                wanted = call.id if number == 0 and call.id and call.id not in given else mint_id()
                given.add(wanted)
                calls.append(_read(wanted, call.full_name, whole(piece), stopped_early))
        return tuple(calls)

    def _begin(self, piece: Fragment) -> GrowingCall:
        """Open a call for a piece that goes on with none."""
        before = self._at_index(piece.index) if piece.index is not None else self._at_place(piece)
        call = GrowingCall(len(self._calls), piece.index, bare_head=not piece.has_arguments)
        if piece.id is None and piece.name is None:
            call.glued_to = before
        elif before is not None and before.moved and before.body.open:
            call.body, before.body = before.body, ObjectScanner()  # those arguments were this call's
        self._calls.append(call)
        return call

    def _find(self, piece: Fragment) -> GrowingCall | None:
        if piece.id is not None:
            return self._by_id(piece, piece.id)
        if piece.index is not None:
            return self._by_index(piece, piece.index)
        return self._by_place(piece)

    def _by_id(self, piece: Fragment, call_id: str) -> GrowingCall | None:
        own = [call for call in self._calls if call.id == call_id]
        if own:
            same_place = [call for call in own if piece.index in (None, call.index)]
            call = (same_place or own)[-1]
            return call if self._goes_on(call, piece, moved=not same_place) else None
        call = self._at_index(piece.index) if piece.index is not None else self._at_place(piece)
        if call is None:
            return None
        if call.id is None:
            return call if not (piece.name and call.name) or self._same_call(call, piece) else None
        # Some gateways give each chunk an id of its own: without a name it can only go on with this call.
        nameless_body = piece.name is None and piece.has_arguments
        return call if nameless_body and call.name and not call.body.complete else None

    def _goes_on(self, call: GrowingCall, piece: Fragment, *, moved: bool) -> bool:
        """Whether `piece`, which repeats the id of `call`, belongs to it or is another call with that id."""
        if piece.name is None:
            return True
        if moved:
            return call.body.open and not piece.starts_object and piece.name == call.name
        if _repeats(call, piece):
            return True
        return self._same_call(call, piece)

    def _by_index(self, piece: Fragment, index: int) -> GrowingCall | None:
        call = self._at_index(index)
        if call is not None:
            if piece.name is None:
                return self._with_body(call, piece)
            return call if not call.name or self._same_call(call, piece) else None
        if piece.name is not None or not self._calls:
            return None
        latest = self._calls[-1]
        if latest.name and latest.body.blank and piece.has_arguments:
            latest.index, latest.moved = index, True
            return latest
        continues = not piece.starts_object or latest.index is None
        return latest if latest.body.open and continues else None

    def _by_place(self, piece: Fragment) -> GrowingCall | None:
        if piece.name is None:
            call = self._at_place(piece) or (self._places[-1] if self._places else None)
            if call is None or not (call.body.complete and piece.has_arguments):
                return call
            unfinished = [other for other in self._places if not other.body.complete]
            return unfinished[0] if unfinished else _unless_glued(call, piece)
        if piece.among == 1 and len(self._places) > 1:
            named = [call for call in self._places if call.name == piece.name and not call.body.complete]
            return named[0] if named else None
        call = self._at_place(piece)
        if call is None or not call.name:
            return call
        return call if self._same_call(call, piece) else None

    def _at_index(self, index: int | None) -> GrowingCall | None:
        return next((call for call in reversed(self._calls) if call.index == index), None)

    def _at_place(self, piece: Fragment) -> GrowingCall | None:
        if piece.place < len(self._places):
            return self._places[piece.place]
        return None

    def _with_body(self, call: GrowingCall, piece: Fragment) -> GrowingCall | None:
        """The call that arguments alone go to; heads that came together get their bodies in their order."""
        if not (call.body.complete and piece.has_arguments):
            return call
        heads = [other for other in self._calls if other.index == call.index and other.bare_head]
        waiting = [place for place, head in enumerate(heads) if head.body.blank]
        if call not in heads or not waiting:
            return _unless_glued(call, piece)
        for earlier, later in pairwise(heads[waiting[-1] :]):
            earlier.body, later.body = later.body, earlier.body
        return call

    def _same_call(self, call: GrowingCall, piece: Fragment) -> bool:
        """Whether a piece with a name goes on with `call`, which has one too."""
        name = piece.name or ""
        if call.delta == self._delta and piece.id is None and name != call.name:
            return False
        joined = self._joined_name(call.name, name)
        if call.body.complete:
            late_part = joined is not None and bool(self._tools) and name not in self._tools
            return not piece.has_arguments and (name == call.name or late_part)
        if call.body.open and piece.starts_object and name != call.name:
            return False
        return joined is not None

    def _joined_name(self, old: str, new: str) -> str | None:
        """The name of the call when `new` repeats or continues `old`; None when `new` is another call's."""
        joined = old + new
        if self._tools:
            if old in self._tools and (new in self._tools or not self._begins_tool(joined)):
                return old if new == old else None
            if self._begins_tool(joined):
                return joined
            if new in self._tools and not new.startswith(old):
                return None
        return new if new.startswith(old) else joined

    def _begins_tool(self, name: str) -> bool:
        return any(tool.startswith(name) for tool in self._tools)

    def _absorb(self, call: GrowingCall, piece: Fragment) -> None:
        repeated = _repeats(call, piece)
        call.delta = self._delta
        call.id = call.id or piece.id
        if call.index is None:
            call.index = piece.index
        if piece.name is not None:
            call.name = (self._joined_name(call.name, piece.name) if call.name else None) or piece.name
        if piece.arguments and not repeated:
            call.body.feed(piece.arguments)


def _unless_glued(call: GrowingCall, piece: Fragment) -> GrowingCall | None:
    """A whole object behind a whole object is another call; anything else spoils the one that is there."""
    return None if piece.starts_object else call


def _repeats(call: GrowingCall, piece: Fragment) -> bool:
    """Whether a finished call is said once more in full, as closing chunks do: id, name and arguments."""
    said = piece.id is not None and piece.id == call.id and piece.name == call.name
    return said and call.body.complete and piece.arguments.strip() == call.body.text.strip()


def _read(call_id: str, name: str, raw: str, stopped_early: bool) -> ToolCall:
    call = ToolCall(whole(call_id), whole(name.strip()), None, raw)
    value = parse_arguments(raw)
    if isinstance(value, ParseFailure):
        cut = value.cut or stopped_early
        return call._replace(parse_error=f"{value.detail}; {value.hint}", cut=cut)
    if not call.name:
        return call._replace(parse_error="the call names no tool; send it again with its name")
    return call._replace(arguments=value, cut=stopped_early and not raw.strip())
