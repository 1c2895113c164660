"""Events as the JSON objects that stand on a disk and go over a wire, and back."""

from collections.abc import Mapping
from typing import Any

from limnos.kernel.events import EVENT_TYPES, PROTOCOL_VERSION, Event


def to_record(event: Event) -> dict[str, Any]:
    """The JSON object of `event`: `v`, the envelope, `type`, then its own fields.

    `agent` stands only in what a sub-agent did.
    """
    values = event.__dict__
    record: dict[str, Any] = {"v": PROTOCOL_VERSION}
    for name in Event.fields:
        record[name] = values[name]
    record["type"] = event.type
    record |= values
    if not event.agent:
        del record["agent"]
    return record


def from_record(record: Mapping[str, Any]) -> Event | None:
    """The event of a JSON object; None for a type that this version does not know.

    Unknown fields are ignored. Raises TypeError when a field is missing or has another type.
    """
    kind = EVENT_TYPES.get(record.get("type", ""))
    if kind is None:
        return None
    given = {name: record[name] for name in kind.fields if name in record}
    kind.check(given)
    return kind(**given)
