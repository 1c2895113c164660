"""Arguments against schemas, also broken, deep and hostile ones."""

import json
import socket
import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limnos.kernel.seams import Invalid, Valid
from limnos.sdk.schema import SchemaValidator

validate = SchemaValidator()
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
SIMPLE: list[dict[str, Any]] = [
    *({"type": kind} for kind in ("integer", "string", "boolean", 7, "nothing", ["integer", "null"])),
    *({"$ref": place} for place in ("#", "#/nowhere", "other.json")),
    {}, {"pattern": "("}, {"properties": 5}, {"required": "x"}, {"enum": []},
]  # fmt: skip


def _larger(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    properties = st.dictionaries(st.sampled_from("ab"), inner)
    return (
        st.fixed_dictionaries({"type": st.just("object"), "properties": properties})
        | st.fixed_dictionaries({"type": st.just("array"), "items": inner})
        | st.fixed_dictionaries({"anyOf": st.lists(inner, max_size=2)})
    )


SCHEMAS = st.recursive(st.sampled_from(SIMPLE), _larger, max_leaves=4)


def one(kind: Any, **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": {"type": kind, **more}}, "required": ["a"]}


@pytest.mark.parametrize(
    ("kind", "given", "value"),
    [
        ("integer", "12", 12),
        ("integer", "-3", -3),
        ("number", "1.5", 1.5),
        ("number", "7", 7),
        ("boolean", "true", True),
        ("boolean", "false", False),
        ("string", "12", "12"),
        ("string", "true", "true"),
        (["integer", "null"], "12", 12),
        (["string", "integer"], "12", "12"),
        ("integer", -1.0, -1),
        (["integer", "null"], 2.0, 2),
        ("number", 2.0, 2.0),
        (["number", "integer"], 2.0, 2.0),
    ],
)
def test_a_scalar_written_in_another_way_is_taken_where_it_can_mean_nothing_else(
    kind: Any, given: object, value: object
) -> None:
    checked = validate(one(kind), {"a": given})

    assert isinstance(checked, Valid)
    assert checked.value == {"a": value}
    assert type(checked.value["a"]) is type(value)


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        *(("integer", text) for text in ("1.5", "1e3", " 1", "1\n", "0x10", "1_0", "\u0661", "", "9" * 400)),
        *(("number", text) for text in ("inf", "NaN", "1,5", "1.", ".5", "1.5\n")),
        *(("boolean", text) for text in ("yes", "True", "1", 1)),
        *(("integer", other) for other in (True, None, ["1"], 1.5)), ("string", 1),
    ],
)  # fmt: skip
def test_anything_else_is_refused_with_its_place_and_what_to_send(kind: str, given: object) -> None:
    checked = validate(one(kind), {"a": given})

    assert isinstance(checked, Invalid)
    assert checked.detail.startswith("a: ")
    assert "required: a" in checked.hint


def test_texts_deep_inside_are_taken_too() -> None:
    schema = one("array", items={"type": "object", "properties": {"n": {"type": "integer"}}})

    assert validate(schema, {"a": [{"n": "1"}, {"n": 2}]}) == Valid({"a": [{"n": 1}, {"n": 2}]})


@pytest.mark.parametrize(
    ("arguments", "place"),
    [
        ({"a": "x\x00"}, "a"),
        ({"a": "x", "b": ["y", {"c": "\x00"}]}, "b.1.c"),
        ({"a": "x", "b\x00": 1}, "name"),
    ],
)
def test_a_zero_byte_is_refused_wherever_it_is(arguments: dict[str, Any], place: str) -> None:
    checked = validate(one("string"), arguments)

    assert isinstance(checked, Invalid)
    assert place in checked.detail


def test_the_arguments_that_came_are_not_changed() -> None:
    given = {"a": "1"}

    validate(one("integer"), given)

    assert given == {"a": "1"}


def test_a_reference_is_never_fetched() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(20)
        port = server.getsockname()[1]
        asked: list[object] = []
        listener = threading.Thread(target=lambda: asked.append(_accept(server)))
        listener.start()
        for address in (f"http://127.0.0.1:{port}/schema.json", "file:///etc/hostname", "json-schema:///x"):
            checked = validate(one("object", **{"$ref": address}), {"a": {}})
            assert isinstance(checked, Invalid)
            assert "broken" in checked.detail
        with socket.create_connection(("127.0.0.1", port)) as mine:
            mine.sendall(b"mine")
        listener.join()

    assert asked == [b"mine"]


def _accept(server: socket.socket) -> bytes:
    connection, _ = server.accept()
    with connection:
        return connection.recv(4)


@pytest.mark.parametrize(
    "schema", [{"type": "nothing"}, {"properties": 5}, {"properties": {"a": 5}}, {"required": "a"}]
)
def test_a_broken_schema_is_a_reason_and_not_a_crash(schema: dict[str, Any]) -> None:
    checked = validate(schema, {"a": "1"})

    assert isinstance(checked, Invalid)
    assert "broken" in checked.detail


@given(SCHEMAS, st.dictionaries(st.sampled_from("ab"), JSON, max_size=2))
def test_no_schema_and_no_arguments_raise(schema: dict[str, Any], arguments: dict[str, Any]) -> None:
    assert isinstance(validate(schema, arguments), Invalid | Valid)


def test_a_schema_that_refers_to_itself_ends() -> None:
    schema = {"type": "object", "properties": {"a": {"$ref": "#"}}}
    deep: dict[str, Any] = {}
    for _ in range(60):
        deep = {"a": deep}

    assert isinstance(validate(schema, deep), Valid)
    assert isinstance(validate(schema, {"a": {"a": 1}}), Invalid)


def test_errors_stay_short_for_long_values() -> None:
    checked = validate(one("integer"), {"a": "x" * 100_000})

    assert isinstance(checked, Invalid)
    assert len(checked.detail) < 1000
    assert json.dumps(checked.detail)
