"""`plugin.toml`: what is right becomes a manifest, what is wrong is said with its file, line and field."""

import random
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from limnos.plugins.faults import Fault, ManifestError
from limnos.plugins.lines import BoundError, Places
from limnos.plugins.manifest import MIB, PluginLimits
from limnos.plugins.reading import MOST_BYTES, parse_manifest, read_manifest
from limnos.plugins.reserved import NAMES, TOOLS
from limnos.plugins.schemas import defaults
from tests.agent.tools import Toolbox

HEAD = """\
name = "weather"
version = "1.0"
description = "Says what the weather is."
protocol = 1
entry = "python:weather"
"""
TOOL = """\
[[tools]]
name = "forecast"
description = "The forecast of a town."
"""
WHOLE = (
    HEAD
    + """\
start = "eager"
license = "MIT"
provides = ["weather"]
needs = ["files@local", "timer"]
capabilities = ["network", "files:/srv/notes:rw", "files:~/maps"]
scenes = ["travel"]
daemon_only = true
group = "sky"
proxies = ["map"]
"""
    + TOOL
    + """\
effects = "none"
needs_approval = false
parallel_safe = true
timeout_s = 10
private = false
subject = "town"

[tools.parameters.town]
type = "string"
description = "its name"
required = true

[tools.parameters.days]
type = "integer"
description = "how many days"
minimum = 1

[[stages]]
name = "guard"
stage = "before_toolcall"

[[stages]]
name = "watch"
stage = "after_output"
scope = "global"

[[channels]]
name = "siren"
description = "A loud one."

[settings.units]
type = "string"
description = "of temperatures"
default = "C"
enum = ["C", "F"]

[limits]
memory = "512 MB"
arena = 1048576
cpu = 60
idle_stop_s = 30
"""
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "weather.py").write_text("")
    return tmp_path


def faults(text: str, folder: Path) -> list[tuple[int, str, str]]:
    """Line, field and reason of everything that is wrong."""
    with pytest.raises(ManifestError) as caught:
        parse_manifest(text, folder)
    assert all(fault.file == str(folder / "plugin.toml") for fault in caught.value.faults)
    assert all(fault.fix for fault in caught.value.faults)
    assert str(folder / "plugin.toml") in caught.value.what
    return [(fault.line, fault.field, fault.what) for fault in caught.value.faults]


def test_a_whole_manifest_is_read(folder: Path) -> None:
    (folder / "plugin.toml").write_text(WHOLE)
    read = read_manifest(folder)

    assert (read.name, read.version, read.start, read.folder) == ("weather", "1.0", "eager", str(folder))
    assert read.entry == ("python:weather",)
    assert read.needs == ("files@local", "timer")
    assert read.capabilities == ("network", "files:/srv/notes:rw", "files:~/maps")
    (tool,) = read.tools
    assert tool.parameters["required"] == ["town"]
    assert tool.parameters["properties"]["days"] == {
        "type": "integer", "description": "how many days", "minimum": 1,
    }  # fmt: skip
    assert (tool.effects, tool.needs_approval, tool.timeout_s, tool.subject) == ("none", False, 10.0, "town")
    assert read.limits == PluginLimits(512 * MIB, 60, arena=MIB, idle_stop_s=30.0)
    assert defaults(read.settings) == {"units": "C"}
    assert (read.daemon_only, read.group, read.proxies, read.scenes) == (True, "sky", ("map",), ("travel",))
    assert [channel.name for channel in read.channels] == ["siren"]


def test_a_guard_fails_closed_unless_it_says_otherwise_and_rewrites_nothing(folder: Path) -> None:
    stages = {stage.name: stage for stage in parse_manifest(WHOLE, folder).stages}

    assert stages["guard"].policy == "fail_closed"
    assert stages["watch"].policy == "fail_open"
    assert not stages["guard"].rewrites
    opened = WHOLE.replace('"before_toolcall"', '"on_input"\npolicy = "fail_open"')
    assert parse_manifest(opened, folder).stages[0].policy == "fail_open"


def test_a_short_manifest_may_do_nothing_and_asks(folder: Path) -> None:
    read = parse_manifest(HEAD + TOOL, folder)

    assert (read.capabilities, read.start, read.limits) == ((), "on_demand", PluginLimits())
    assert read.tools[0].needs_approval
    assert read.tools[0].private
    assert read.tools[0].parameters["additionalProperties"] is False


WRONG: list[tuple[str, int, str, str]] = [
    ('capabilites = ["network"]', 6, "capabilites", "no field"),
    ('capabilities = ["network",\n  "netwrk"]', 7, "capabilities[1]", "no capability"),
    ('capabilities = ["files:"]', 6, "capabilities[0]", "absolute"),
    ('capabilities = ["files:/a/../b"]', 6, "capabilities[0]", "steps"),
    ('capabilities = ["files:/a:rx"]', 6, "capabilities[0]", "colon"),
    ('start = "often"', 6, "start", "'often'"),
    ('needs = ["Files"]', 6, "needs[0]", "'Files'"),
    ('provides = "files"', 6, "provides", "'files'"),
    ('group = "a b"', 6, "group", "'a b'"),
    ("daemon_only = 1", 6, "daemon_only", "1"),
    ("tools = 3", 6, "tools", "3"),
    ('[limits]\n\narena = "257 MB"', 8, "limits.arena", "bytes"),
    ('[limits]\nmemory = "lots"', 7, "limits.memory", "'lots'"),
    ("[limits]\ncpu = 0", 7, "limits.cpu", "0"),
    ("[limits]\nidle_stop_s = nan", 7, "limits.idle_stop_s", "nan"),
    ("[limits]\nmemry = 1", 7, "limits.memry", "no field"),
    (TOOL + 'effects = "evil"', 9, "tools[0].effects", "'evil'"),
    (TOOL + TOOL, 10, "tools[1].name", "as one above"),
    (TOOL.replace('"forecast"', '"fore cast"'), 7, "tools[0].name", "'fore cast'"),
    (TOOL.replace('"forecast"', '"output_send__x"'), 7, "tools[0].name", "channels"),
    (TOOL.replace("description", "descripton"), 8, "tools[0].descripton", "no field"),
    (TOOL + '[tools.parameters.town]\ntype = "string"', 9, "tools[0].parameters.town.description", "missing"),
    (TOOL + "[tools.parameters]\ntown = 5", 10, "tools[0].parameters.town", "5"),
    (TOOL + 'subject = "town"', 9, "tools[0].subject", "no parameter"),
    (TOOL + "parallel_safe = true\nserial = true", 10, "tools[0].serial", "parallel_safe"),
    (TOOL + 'schema = "../x.json"', 9, "tools[0].schema", "out of the plugin"),
    (TOOL + 'schema = "none.json"', 9, "tools[0].schema", "cannot be read"),
    (TOOL + 'schema = {type = "array"}', 9, "tools[0].schema", "object"),
    (TOOL + 'schema = {type = "object", required = 3}', 9, "tools[0].schema", "no JSON Schema"),
    (
        TOOL + 'schema = {type = "object", properties = {a = {}}}',
        9,
        "tools[0].schema.properties.a",
        "no desc",
    ),
    (TOOL + 'schema = {type = "object", default = 2020-01-01}', 9, "tools[0].schema.default", "JSON cannot"),
    (TOOL + 'schema = {"$ref" = "http://a.test/x", type = "object"}', 9, "tools[0].schema", "a.test"),
    ('[[stages]]\nname = "a"\nstage = "before_tool"', 8, "stages[0].stage", "'before_tool'"),
    ('[[stages]]\nname = "a"\nstage = "on_input"\npolicy = "open"', 9, "stages[0].policy", "'open'"),
    ('[[channels]]\nname = "a b"\ndescription = "x"', 7, "channels[0].name", "'a b'"),
    (f'[[channels]]\nname = "{"a" * 52}"\ndescription = "x"', 7, "channels[0].name", "aaa"),
    ('[settings.units]\ntype = "string"\ndescription = "x"\ndefault = 3', 9, "settings.units.default", "3"),
    ('[settings.units]\ntype = "table"', 7, "settings.units.type", "'table'"),
    ('entry = "python:weather"', 6, "the file", "no TOML"),
    ("x = [1,\n2,\n", 7, "the file", "no TOML"),
    ("a = " + "[" * 40 + "]" * 40, 6, "the file", "nested"),
    ("\n" + ".".join("a" * 40) + " = 1", 7, "the file", "nested"),
    ("x = " + "9" * 5000, 6, "the file", "characters"),
    ("x = 2024-13-45", 6, "the file", "no TOML"),
]


@pytest.mark.parametrize(("lines", "line", "field", "says"), WRONG)
def test_what_is_wrong_is_said_with_line_and_field(
    folder: Path, lines: str, line: int, field: str, says: str
) -> None:
    found = faults(HEAD + lines + "\n", folder)

    assert any((line, field) == one[:2] and says in one[2] for one in found), found


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("name", '"Weather"', "'Weather'"), ("name", '"' + "a" * 41 + '"', "'aaa"),
        ("version", '""', "nothing"), ("description", '"a\\u202eb"', "U+202E"),
        ("description", '" "', "nothing"), ("description", '"\\u0007"', "U+0007"),
        ("protocol", "2", "speaks protocol 2, this limnos speaks 1"), ("protocol", '"1"', "'1'"),
        ("protocol", "true", "True"), ("entry", '"weather"', "'weather'"),
        ("entry", '"python:no.such"', "not have"), ("entry", '"python:../x"', "python:"),
        ("entry", "[]", "no program"), ("entry", "[1]", "1"),
    ],
)  # fmt: skip
def test_a_wrong_value_at_the_top_is_said(folder: Path, key: str, value: str, says: str) -> None:
    rows = [f"{key} = {value}" if row.startswith(f"{key} =") else row for row in HEAD.splitlines()]
    found = faults("\n".join(rows), folder)

    assert len(found) == 1
    assert found[0][0] == 1 + next(n for n, row in enumerate(rows) if row.startswith(key))
    assert found[0][1].partition("[")[0] == key
    assert says in found[0][2]


@pytest.mark.parametrize("key", ["name", "version", "description", "protocol", "entry"])
def test_what_must_be_there_is_missed_by_name(folder: Path, key: str) -> None:
    text = "".join(row for row in HEAD.splitlines(keepends=True) if not row.startswith(key))

    assert [(1, key)] == [(line, field) for line, field, _ in faults(text, folder)]


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ("./run.sh", ""), ("node", ""), ("./gone.sh", "not there"), ("../run.sh", "out of"),
        ("/bin/sh", "out of"), ("./plain.sh", "chmod"), ("./link.sh", "no regular"),
        ("./folder", "no regular"), ("python:weather", "alone"), ("", "no name"), ("a b", "no name"),
    ],
)  # fmt: skip
def test_an_entry_is_a_program_of_the_plugin_or_of_the_path(folder: Path, entry: str, says: str) -> None:
    for name, mode in (("run.sh", 0o755), ("plain.sh", 0o644)):
        (folder / name).write_text("")
        (folder / name).chmod(mode)
    (folder / "link.sh").symlink_to("run.sh")
    (folder / "folder").mkdir()
    text = HEAD.replace('"python:weather"', f'["{entry}", "x", "x"]')

    if says:
        assert says in faults(text, folder)[0][2]
    else:
        assert parse_manifest(text, folder).entry == (entry, "x", "x")


def test_names_that_rights_hang_on_are_for_limnos_alone(folder: Path) -> None:
    tools = list(Toolbox(folder / "work").tools.values())
    assert {tool.name for tool in tools} < TOOLS
    assert {tool.plugin for tool in tools} < NAMES
    text = HEAD + TOOL.replace("forecast", "run_command")

    assert [(line, field) for line, field, _ in faults(text, folder)] == [(7, "tools[0].name")]
    assert parse_manifest(text, folder, builtin=True).tools[0].name == "run_command"
    assert "only limnos" in faults(HEAD.replace('"weather"', '"kernel"', 1), folder)[0][2]


def test_many_faults_are_listed_at_once_up_to_ten(folder: Path) -> None:
    few = HEAD.replace('"1.0"', "1").replace("protocol = 1", "protocol = 2") + "colour = 1\n"
    assert [line for line, _, _ in faults(few, folder)] == [2, 4, 6]

    with pytest.raises(ManifestError) as caught:
        parse_manifest(HEAD + "".join(f"extra{number} = 1\n" for number in range(30)), folder)
    assert len(caught.value.lines) == 11
    assert caught.value.lines[-1] == "and 20 more"


def test_an_unknown_field_names_the_nearest_one(folder: Path) -> None:
    with pytest.raises(ManifestError, match="did you mean capabilities"):
        parse_manifest(HEAD + "capabilites = []", folder)


def test_a_schema_may_lie_beside_the_manifest(folder: Path) -> None:
    (folder / "a.json").write_text('{"type": "object", "properties": {"a": {"description": "x"}}}')

    read = parse_manifest(HEAD + TOOL + 'schema = "a.json"', folder)

    assert read.tools[0].parameters["properties"] == {"a": {"description": "x"}}


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b'{"type": "object", "type": "object"}', "twice"), (b"[]", "no object"), (b"\xff", "UTF-8"),
        (b'{"type": "object", "x": NaN}', "NaN"), (b"[" * 20000, "nested"), (b" " * 40_000, "more than"),
    ],
)  # fmt: skip
def test_a_schema_that_is_none_is_said(folder: Path, content: bytes, says: str) -> None:
    (folder / "a.json").write_bytes(content)

    ((line, field, what),) = faults(HEAD + TOOL + 'schema = "a.json"', folder)

    assert (line, field) == (9, "tools[0].schema")
    assert says in what


def test_a_definition_has_a_bound(folder: Path) -> None:
    inner = ", ".join(f'p{n} = {{description = "{"x" * 1900}"}}' for n in range(20))
    text = HEAD + TOOL + f'schema = {{type = "object", properties = {{{inner}}}}}'

    assert "bytes" in faults(text, folder)[0][2]


def test_the_number_of_tools_has_a_bound(folder: Path) -> None:
    text = HEAD + "".join(f'[[tools]]\nname = "t{n}"\ndescription = "x"\n' for n in range(513))

    assert "513" in faults(text, folder)[0][2]


@pytest.mark.parametrize(
    ("content", "line", "says"),
    [
        (None, 0, "No such file"),
        (b"x" * (MOST_BYTES + 1), 0, "more than"),
        (b"a = 1\nb = '\xff'", 2, "UTF-8"),
    ],
)
def test_a_file_that_cannot_be_read_is_said(
    tmp_path: Path, content: bytes | None, line: int, says: str
) -> None:
    if content is not None:
        (tmp_path / "plugin.toml").write_bytes(content)
    with pytest.raises(ManifestError) as caught:
        read_manifest(tmp_path)

    assert caught.value.faults[0].line == line
    assert says in caught.value.faults[0].what


MANY = 20_000


@pytest.mark.parametrize(
    "lines",
    [
        "".join(f"k{n} = 1\n" for n in range(MANY)),
        "".join(f"[k{n}.a.b]\n" for n in range(MANY // 2)),
        "capabilities = [" + ", ".join(f'"c{n}"' for n in range(MANY)) + "]",
        "scenes = [" + '"x", ' * MANY + "]",
        "[[tools]]\n" * MANY,
        "[[stages]]\nx = 1\n" * (MANY // 2),
        TOOL + "".join(f"[tools.parameters.p{n}]\n" for n in range(MANY // 4)),
        TOOL + "schema = {" + ", ".join(f"k{n} = {{}}" for n in range(MANY // 2)) + "}",
        "".join(f"[settings.s{n}]\n" for n in range(MANY // 2)),
        "x = [" + "[], " * MANY * 2 + "]",
        "x = {" + ", ".join(f"a.b.k{n} = 1" for n in range(MANY // 2)) + "}",
        "k" * 200_000 + " = 1",
        'description = "' + "\u0300" * 60_000 + '"',
    ],
    ids=lambda text: text[:20].split("\n")[0],
)
def test_a_manifest_of_nothing_but_faults_is_refused_in_a_moment(folder: Path, lines: str) -> None:
    begun = time.process_time()

    found = faults(HEAD + lines, folder)

    assert all(len(field) <= 121 for _, field, _ in found)
    assert time.process_time() - begun < 5.0, "the largest takes half a second"


@settings(deadline=None, max_examples=300, print_blob=True)
@given(seed=st.integers(0, 2**32))
def test_a_damaged_manifest_is_never_a_crash(seed: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    chance = random.Random(seed)
    folder = tmp_path_factory.getbasetemp()
    text = WHOLE
    for _ in range(chance.randint(1, 4)):
        text = _damaged(text, chance)
    found: tuple[Fault, ...] = ()
    try:
        parse_manifest(text, folder, builtin=True)
    except ManifestError as error:
        found = error.faults
    last = text.count("\n") + 1
    assert all(fault.file.endswith("plugin.toml") for fault in found)
    assert all(1 <= fault.line <= last for fault in found), seed
    assert all(fault.field and fault.what and fault.fix for fault in found)


def _damaged(text: str, chance: random.Random) -> str:
    pieces = [
        '"', "'", "[", "]", "{", "}", "=", "\n", "\\", "#", "\x00", "\ud800", "é", "[[a]]\n", "a.b=1\n",
        '"""', "1e999", "nan", "0x", "1979-05-27", "[a.b.c]\n", ",", "true", "\r", "\t", '"\\uD800"',
    ]  # fmt: skip
    rows = text.splitlines(keepends=True)
    if not rows:
        return "\n"
    at = chance.randrange(len(text))
    match chance.randrange(12):
        case 0:
            return text[:at] + chance.choice(pieces) + text[at:]
        case 1:
            return text[:at] + text[at + chance.randint(1, 30) :]
        case 2:
            row = chance.randrange(len(rows))
            return "".join([*rows[:row], chance.choice(rows), *rows[row:]])
        case 3:
            chance.shuffle(rows)
            return "".join(rows)
        case 4:
            return text[:at]
        case _:
            row = chance.randrange(len(rows))
            key = rows[row].partition("=")[0]
            values = ["1", "-1", "true", '"x"', "[]", "[1]", "{}", "{a=1}", "1.5", "inf", "[[[]]]", '[""]']
            return "".join([*rows[:row], f"{key} = {chance.choice(values)}\n", *rows[row + 1 :]])


_KEYS = st.sampled_from(["a", "b-c", "1", '"q r"', '"\\u0061x"', "'s.t'", '""'])
_SCALARS = st.sampled_from(
    [
        "1", "-0.5", "true", '"x # y"', "'a=b'", '"""m\nn"""', "'''\no\n'''", '"""q\\""" r"""""',
        "1979-05-27 07:32:00", "inf",
    ]
)  # fmt: skip
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: "[ # c ]\n" + ",\n".join(items) + "\n]")
        | st.lists(st.tuples(_KEYS, inner), max_size=2, unique_by=lambda pair: pair[0])
        .map(lambda pairs: "{" + ", ".join(f"{key} = {value}" for key, value in pairs) + "}")
    ),
    max_leaves=5,
)  # fmt: skip
_PAIRS = st.tuples(st.lists(_KEYS, min_size=1, max_size=2), _VALUES).map(
    lambda pair: f"{' . '.join(pair[0])} = {pair[1]} # end"
)
_HEADERS = st.tuples(st.lists(_KEYS, min_size=1, max_size=3), st.booleans()).map(
    lambda pair: f"[[{'.'.join(pair[0])}]]" if pair[1] else f"[ {' . '.join(pair[0])} ]"
)


@settings(deadline=None, max_examples=400, print_blob=True)
@given(st.lists(_PAIRS | _HEADERS, max_size=10))
def test_the_lines_are_of_the_same_values_that_the_toml_reader_finds(rows: list[str]) -> None:
    kept: list[str] = []
    for row in rows:
        try:
            tomllib.loads("\n".join([*kept, row]))
        except tomllib.TOMLDecodeError:
            continue
        kept.append(row)
    text = "\n".join(kept)

    places = Places(text)

    assert places.paths == set(_paths(tomllib.loads(text)))
    assert all(1 <= places.line(path) <= text.count("\n") + 1 for path in places.paths)


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Any:
    if path:
        yield path
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        yield from _paths(inner, (*path, key))


def test_a_value_is_on_the_line_where_it_begins() -> None:
    places = Places('a = 1\n\n[[t]]\nx = """\n\n"""\ny = [1,\n2]\n[[t]]\n[t.u]\nz = {p = 1, q = [3]}\n')

    assert places.line(("t", 0, "x")) == 4
    assert places.line(("t", 0, "y", 1)) == 8
    assert places.line(("t", 1)) == 9
    assert places.line(("t", 1, "u", "z", "q", 0)) == 11
    assert places.line(("t", 1, "u", "missing")) == 10
    assert places.line(("nothing",)) == 1


def test_keys_and_values_without_end_take_no_time() -> None:
    for text in ("a." * 100_000 + "b = 1", "x = " + "[" * 200_000, "x = " + "{a=" * 60_000):
        with pytest.raises(BoundError):
            Places(text)
    Places('x = "' + "\\" * 200_000)
    Places("x = '''" + "'" * 200_000)
