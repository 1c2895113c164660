"""Classes that declare fields as dataclasses do, without code made at every start; checked when read."""

from collections.abc import Mapping, Sequence
from functools import cache
from types import UnionType
from typing import (
    Any,
    ClassVar,
    Literal,
    Self,
    cast,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

REQUIRED = object()


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Fields:
    """Subclasses declare fields as dataclasses do; `dataclass` would take half a millisecond a class."""

    type: ClassVar[str] = ""
    fields: ClassVar[dict[str, object]] = {}

    def __init_subclass__(cls) -> None:
        own = [name for name in cls.__annotations__ if name not in ("type", "persisted")]
        given = {name: getattr(cls, name, REQUIRED) for name in own}
        # JSON knows lists only: an event is equal to the one that is read back
        cls.fields = cls.fields | {name: [] if value == () else value for name, value in given.items()}

    def __init__(self, **given: Any) -> None:
        values = self.fields | given
        if len(values) > len(self.fields) or REQUIRED in values.values():
            wrong = [name for name in values if name not in self.fields or values[name] is REQUIRED]
            raise TypeError(f"{self.type}: missing or unknown: {', '.join(wrong)}")
        self.__dict__.update(values)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"an event does not change; {name} of {self.type} was set")

    def __repr__(self) -> str:
        told = (f"{name}={value!r}" for name, value in self.__dict__.items() if value != self.fields[name])
        return f"{type(self).__name__}({', '.join(told)})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    __hash__ = object.__hash__

    @classmethod
    def check(cls, given: Mapping[str, Any]) -> None:
        """Raise TypeError when a value has not the type of its field."""
        hints = _hints(cls)
        for name, value in given.items():
            if not fits(value, hints[name]):
                raise TypeError(f"{cls.type}.{name} is {str(value)[:60]!r}")

    def changed(self, **given: Any) -> Self:
        """A copy with these fields. Raises TypeError for one that it does not have."""
        if not given.keys() <= self.fields.keys():
            raise TypeError(f"{self.type}: unknown: {', '.join(given.keys() - self.fields.keys())}")
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__, **given)
        return copy


@cache
def _hints(kind: type[Fields]) -> dict[str, Any]:
    return get_type_hints(kind)


def fits(value: Any, hint: Any) -> bool:
    """Whether a JSON value is of a field's type; what lies deeper in an object is not looked at."""
    if hint is Any:
        return True
    if isinstance(hint, type):
        kind = cast("type[Any]", hint)
        if kind is float and type(value) is int:  # JSON has one kind of number
            return True
        return isinstance(value, kind) and not (kind is int and isinstance(value, bool))
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Literal:
        return value in inner
    if origin is UnionType:
        return any(fits(value, one) for one in inner)
    if issubclass(origin, Sequence):
        return isinstance(value, list) and all(fits(one, inner[0]) for one in cast("list[Any]", value))
    return isinstance(value, dict)
