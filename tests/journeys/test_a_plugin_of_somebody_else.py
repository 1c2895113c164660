"""A plugin that a person installed: in its sandbox, with what its capabilities give it and nothing more."""

import json
from pathlib import Path
from typing import Any

import pytest

from limnos.agent.plugins import Plugins
from limnos.kernel.events import ApprovalAsked, CallFinished, InputInjected, TurnFinished, TurnStarted
from limnos.plugins.install import install
from limnos.plugins.own_settings import change_settings
from limnos.plugins.places import builtin_folders, log_of
from limnos.plugins.reading import read_manifest
from limnos.sdk.schema import SchemaValidator
from limnos.store.log_lines import last_lines
from limnos.store.secrets import Secrets
from tests.service.house import House, Talk, answering, call, run, step

TOML = """
name = "probe"
version = "1.0.0"
description = "Looks around."
protocol = 1
entry = "python:probe"
capabilities = [{capabilities}]

[settings.colour]
type = "string"
description = "a colour"
default = "blue"

[[tools]]
name = "probe_run"
description = "Run one of its looks."
effects = "local"

[tools.parameters.look]
type = "string"
description = "which"
required = true

[tools.parameters.path]
type = "string"
description = "a path"
"""
SECRET = "correct-horse-battery-staple-9417"
CODE = """
import json, os, socket, sys
from limnos.sdk.plugin import Call, Plugin, ToolFailure
from limnos.sdk.wire import RefusedError

plugin = Plugin()


def ask(method, **params):
    try:
        return plugin.kernel.request(method, **params)
    except RefusedError as error:
        return {"refused": str(error), "code": error.code}


@plugin.tool
def probe_run(call: Call, look: str, path: str = "") -> str:
    if look == "environment":
        return json.dumps(sorted(os.environ))
    if look == "read":
        try:
            return open(path).read()
        except OSError as error:
            return f"cannot: {error.strerror}"
    if look == "connect":
        try:
            socket.create_connection(("127.0.0.1", int(path)), 2)
            return "connected"
        except OSError as error:
            return "cannot"
    if look == "keep":
        (plugin.data / "kept").write_text("kept")
        return (plugin.data / "kept").read_text()
    if look == "settings":
        return json.dumps(dict(plugin.settings))
    if look == "log":
        plugin.log(path, "warning")
        print("printed", file=sys.stderr, flush=True)
        return "logged"
    if look == "inject":
        return json.dumps(ask("io.inject", text="from the plugin", client_id="1", level=4))
    return json.dumps(ask(look, **json.loads(path or "{}")))


if __name__ == "__main__":
    plugin.run()
"""


def house_with(tmp_path: Path, *capabilities: str) -> House:
    """A home in which the plugin was installed by a person."""
    house, folder = House(tmp_path / "h"), tmp_path / "probe"
    folder.mkdir()
    text = TOML.format(capabilities=", ".join(f'"{one}"' for one in capabilities))
    (folder / "plugin.toml").write_text(text)
    (folder / "probe.py").write_text(CODE)
    assert install(folder, house.home, builtin_folders(), lambda candidate: True) is not None
    return house


def looked(house: House, *looks: tuple[str, str]) -> Talk:
    """A session whose model has the plugin look."""
    steps = [step("", call("probe_run", look=look, path=path)) for look, path in looks]

    async def story() -> Talk:
        talk = await house.open(house.kernel(*steps, step("done"), step("and done")))
        await talk.say("look", answering("once"))
        return talk

    return run(story())


def seen(talk: Talk) -> list[Any]:
    """What the plugin came to, read as JSON where it is."""
    texts = []
    for finished in talk.of(CallFinished):
        assert finished.error is None, finished.error
        assert finished.origin == "plugin:probe"
        assert finished.trust == "untrusted"
        texts.append(json.loads(finished.text) if finished.text[:1] in "[{" else finished.text)
    return texts


def test_it_asks_and_sees_nothing_but_its_own(tmp_path: Path) -> None:
    house = house_with(tmp_path)
    house.variables["OPENAI_API_KEY"] = "sk-not-for-plugins"
    secret = house.work / "secret.txt"
    secret.write_text("secret")
    config = house.home / "config.toml"
    config.write_text("")

    talk = looked(
        house,
        ("environment", ""),
        ("read", str(secret)),
        ("read", str(config)),
        ("read", str(Path.home() / ".bashrc")),
        ("keep", ""),
    )

    variables, *texts, kept = seen(talk)
    assert len(talk.of(ApprovalAsked)) == 5
    assert set(variables) <= {"HOME", "LANG", "LC_CTYPE", "PATH", "PWD", "PYTHONPATH"}
    assert [text[:7] for text in texts] == ["cannot:"] * 3
    assert kept == "kept"
    assert (house.home / "plugin-data" / "probe" / "kept").read_text() == "kept"


def test_a_folder_that_its_capability_names_is_shown_and_no_other(tmp_path: Path) -> None:
    shown, other = tmp_path / "shown", tmp_path / "other"
    for folder in (shown, other):
        folder.mkdir()
        (folder / "a.txt").write_text("text")

    talk = looked(
        house_with(tmp_path, f"files:{shown}"), ("read", f"{shown}/a.txt"), ("read", f"{other}/a.txt")
    )

    assert seen(talk) == ["text", "cannot: No such file or directory"]


@pytest.mark.parametrize(
    ("method", "params", "capability"),
    [
        ("sessions.list", {}, "sessions"),
        ("settings.kernel", {}, "settings"),
        ("plugins.list", {}, "plugins"),
        ("events.subscribe", {}, "events"),
        ("io.inject", {"text": "x", "client_id": "1"}, "io"),
        ("net.fetch", {"url": "http://localhost/"}, "network"),
    ],
)
def test_what_it_may_not_ask_is_refused_with_the_way_to_allow_it(
    tmp_path: Path, method: str, params: dict[str, Any], capability: str
) -> None:
    (answer,) = seen(looked(house_with(tmp_path), (method, json.dumps(params))))

    assert f"takes the capability {capability}" in answer["refused"]
    assert "plugin.toml" in answer["refused"]


def test_what_it_may_ask_is_done(tmp_path: Path) -> None:
    house = house_with(
        tmp_path, "sessions", "settings", "plugins", "network", "events", "memory", "approvals"
    )

    talk = looked(
        house,
        ("sessions.list", ""),
        ("settings.kernel", ""),
        ("plugins.list", ""),
        ("plugins.restart", '{"plugin": "probe"}'),
        ("net.fetch", '{"url": "http://localhost/"}'),
        ("memory.search", '{"query": "x"}'),
        ("events.subscribe", '{"types": ["turn_finished"]}'),
        ("approvals.answer", '{"approval": "a", "verdict": "once", "nonce": "n"}'),
    )

    sessions, settings, plugins, restart, fetch, memory, events, answer = seen(talk)
    assert [one["id"] for one in sessions["sessions"]] == [talk.session.id]
    assert settings["settings"]["mode"] == "ask"
    assert {one["name"]: one["state"] for one in plugins["plugins"]}["probe"] == "running"
    assert "does not restart itself" in restart["refused"]
    assert fetch["code"] == memory["code"] == -32001
    assert list(events["kinds"]) == ["turn_finished"]
    assert "no word of a person" in answer["refused"]


def test_its_input_has_the_rights_of_a_channel_and_no_higher_level(tmp_path: Path) -> None:
    house = house_with(tmp_path, "io")

    async def story() -> Talk:
        kernel = house.kernel(
            step("", call("probe_run", look="inject")),
            step("first"),
            step("", call("list_dir")),
            step("second"),
        )
        talk = await house.open(kernel)
        await talk.say("look", answering("once"))
        await talk.ended()
        return talk

    talk = run(story())
    _, second = talk.of(TurnStarted)
    assert not talk.of(InputInjected)
    assert (second.input, second.source, second.principal) == (
        "from the plugin", "plugin:probe", "channel:probe",
    )  # fmt: skip
    refused = talk.of(CallFinished)[-1]
    assert refused.tool == "list_dir"
    assert refused.outcome == "denied"
    assert [one.reason for one in talk.of(TurnFinished)] == ["done", "denied"]


def test_its_settings_are_those_a_person_set(tmp_path: Path) -> None:
    house = house_with(tmp_path)
    manifest = read_manifest(house.home / "plugins" / "probe")
    change_settings(house.home, manifest, {"colour": "red"}, SchemaValidator())

    assert seen(looked(house, ("settings", ""))) == [{"colour": "red"}]


def test_what_it_wrote_can_be_read_later_without_secrets(tmp_path: Path) -> None:
    house = house_with(tmp_path)
    Secrets(house.home).set("mail", SECRET)

    looked(house, ("log", f"all is well with {SECRET}"))
    lines = last_lines(log_of(house.home, "probe"), 100)

    assert any("log: warning: all is well with " in line for line in lines)
    assert any(line.endswith("stderr: printed") for line in lines)
    assert SECRET not in "".join(lines)


def test_a_plugin_that_changed_since_the_yes_is_not_started(tmp_path: Path) -> None:
    house = house_with(tmp_path)
    (house.home / "plugins" / "probe" / "more.py").write_text("changed = True")

    (finished,) = looked(house, ("keep", "")).of(CallFinished)

    assert finished.error is not None
    assert finished.error["reason"] == "unavailable"
    assert "changed since a person accepted them" in finished.error["detail"]


def test_nothing_is_read_or_started_before_it_is_needed(tmp_path: Path) -> None:
    house = house_with(tmp_path)

    async def story() -> bool:
        kernel = house.kernel(step("hello"))
        talk = await house.open(kernel)
        await talk.say("hello")
        plugins: Plugins = kernel._base.plugins  # type: ignore[attr-defined]
        return "host" in plugins.__dict__

    assert run(story()) is False
