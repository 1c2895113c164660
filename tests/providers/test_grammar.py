"""The grammar allows exactly the calls that the offered tools take, and answers."""

import json
import re
from typing import Any

import pytest

from limnos import lazy
from limnos.kernel.model import ToolSpec
from limnos.providers.grammar import reply_grammar

TEXT = {"type": "string", "description": "a text"}
COUNT = {"type": "integer", "description": "a number"}


def tool(name: str, required: list[str], **properties: dict[str, Any]) -> ToolSpec:
    return ToolSpec(name, "A tool.", {"type": "object", "properties": properties, "required": required})


READ = tool("read_file", ["path"], path=TEXT, start_line=COUNT, lines=COUNT)
LIST = tool("list_dir", [], path=TEXT, deep={"type": "boolean"})


class Grammar:
    """A small backtracking matcher for the GBNF that `reply_grammar` writes."""

    def __init__(self, text: str) -> None:
        self.rules = dict(line.split(" ::= ", 1) for line in text.strip().splitlines())

    def accepts(self, text: str) -> bool:
        return re.fullmatch(self._pattern("root", 0), text, re.DOTALL) is not None

    def _pattern(self, name: str, depth: int) -> str:
        if depth > 12:
            return "(?!)"
        return f"(?:{self._expression(self.rules[name], depth)})"

    def _expression(self, body: str, depth: int) -> str:
        token = re.compile(r'"(?:[^"\\]|\\.)*"|\[(?:[^\]\\]|\\.)*\]|\{\d+,\d+\}|[()|?*]|[a-z0-9]+|\s+')
        out: list[str] = []
        for match in token.finditer(body):
            piece = match.group()
            if piece.isspace():
                continue
            if piece.startswith('"'):
                out.append(f"(?:{re.escape(json.loads(piece))})")
            elif piece == "(":
                out.append("(?:")
            elif piece[0].isalnum():
                out.append(self._pattern(piece, depth + 1))
            else:
                out.append(piece)
        return "".join(out)


@pytest.mark.parametrize(
    "reply",
    [
        '{"answer": "hello"}',
        '{"answer": "你好\\n\\u4f60 \\"x\\""}',
        '{"tool": "read_file", "args": {"path": "a.txt"}}',
        '{"tool": "read_file", "args": {"path": "a.txt", "start_line": 5}}',
        '{"tool": "read_file", "args": {"path": "a.txt", "lines": 20}}',
        '{"tool": "read_file", "args": {"path": "a.txt", "start_line": 5, "lines": 20}}',
        '{"tool": "list_dir", "args": {}}',
        '{"tool": "list_dir", "args": {"path": "docs"}}',
        '{"tool": "list_dir", "args": {"deep": true}}',
        '{"tool": "list_dir", "args": {"path": "docs", "deep": false}}',
    ],
)
def test_what_the_tools_take_can_be_said(reply: str) -> None:
    assert Grammar(reply_grammar([READ, LIST])).accepts(reply)


@pytest.mark.parametrize(
    "reply",
    [
        "hello",
        '{"answer": hello}',
        '{"answer": "a\nb"}',
        '{"answer": "a"} and more',
        '{"tool": "rm", "args": {}}',
        '{"tool": "read_file", "args": {}}',
        '{"tool": "read_file", "args": {"path": 5}}',
        '{"tool": "read_file", "args": {"path": "a", "lines": "20"}}',
        '{"tool": "read_file", "args": {"path": "a", "mode": "w"}}',
        '{"tool": "read_file", "args": {"path": "a"}',
        '{"tool": "list_dir", "args": {, "deep": true}}',
    ],
)
def test_nothing_else_can_be_said(reply: str) -> None:
    assert not Grammar(reply_grammar([READ, LIST])).accepts(reply)


def test_without_tools_only_an_answer_can_be_said() -> None:
    grammar = Grammar(reply_grammar([]))
    assert grammar.accepts('{"answer": "yes"}')
    assert not grammar.accepts('{"tool": "list_dir", "args": {}}')


def accepts(schema: dict[str, Any], value: object) -> bool:
    said = {"tool": "t", "args": {"x": value}}
    return Grammar(reply_grammar([tool("t", ["x"], x=schema)])).accepts(json.dumps(said, ensure_ascii=False))


@pytest.mark.parametrize(
    ("schema", "right", "wrong"),
    [
        ({"type": "integer"}, [0, -3, 120], [1.5, "1", None]),
        ({"type": "number"}, [0, 1.25, -7], ["1", True]),
        ({"type": "boolean"}, [True, False], ["true", 1]),
        ({"type": "null"}, [None], [0]),
        ({"enum": ["a", "b", 3]}, ["a", 3], ["c", "3"]),
        ({"const": "é\"\\"}, ["é\"\\"], ["e"]),
        ({"type": ["string", "null"]}, ["a", None], [1]),
        ({"anyOf": [{"type": "integer"}, {"type": "boolean"}]}, [1, True], ["a"]),
        ({"type": "array", "items": {"type": "integer"}}, [[], [1], [1, 2, 3]], [["a"], 1]),
        ({"type": "array", "items": COUNT, "minItems": 2, "maxItems": 3}, [[1, 2], [0] * 3], [[1], [0] * 4]),
        ({"type": "array", "maxItems": 0}, [[]], [[1]]),
        (
            {"type": "object", "properties": {"s": {"enum": ["on", "off"]}, "n": COUNT}, "required": ["s"]},
            [{"s": "on"}, {"s": "off", "n": 2}],
            [{}, {"s": "up"}, {"n": 1}],
        ),
        ({"type": "object", "additionalProperties": False}, [{}], [{"a": 1}]),
        ({"type": "object"}, [{}, {"a": 1}, {"a": [1, {"b": None}]}], [[1]]),
        ({"$ref": "#/definitions/x"}, [1, "a", {"a": [True]}], []),
        ({}, [1, "a", None], []),
    ],
)  # fmt: skip
def test_each_kind_of_schema(schema: dict[str, Any], right: list[object], wrong: list[object]) -> None:
    assert [value for value in right if not accepts(schema, value)] == []
    assert [value for value in wrong if accepts(schema, value)] == []


def test_odd_names_and_deep_schemas_make_a_grammar_that_llama_cpp_reads() -> None:
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(30):
        deep = {"type": "object", "properties": {'k"\\\n': deep, "名": {"type": ["array", "null"]}}}
    many = {f"p{n}": TEXT for n in range(200)}
    text = reply_grammar([tool("deep", ["x"], x=deep), tool("many", ["p3"], **many), READ])
    assert len(text) < 60_000
    assert text.startswith("root ::= ")
    for line in text.splitlines():
        assert re.match(r"[a-z0-9]+ ::= \S", line), line


def test_the_library_that_reads_the_grammar_is_there() -> None:
    assert hasattr(lazy.xllamacpp, "json_schema_to_grammar")


def test_without_east_asian_none_of_its_characters_can_be_said() -> None:
    grammar = Grammar(reply_grammar([READ], east_asian=False))

    assert grammar.accepts('{"answer": "héllo, привет \\n ok"}')
    for said in ("文件", "ひらがな", "한국", "（）", "a。"):
        assert not grammar.accepts(json.dumps({"answer": said}, ensure_ascii=False))
        assert not grammar.accepts(
            json.dumps({"tool": "read_file", "args": {"path": said}}, ensure_ascii=False)
        )
