"""The life of plugins: restarts and their limits, idle stops, surroundings, and that nothing is left."""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

import pytest

from limnos.plugins.host import Member
from limnos.plugins.manifest import PluginLimits, ToolDeclaration
from limnos.plugins.unit import Unavailable
from limnos.process.sandbox import NoSandbox, probe
from limnos.wire import frames
from limnos.wire.table import CAPABILITIES, CORE, TO_KERNEL
from tests.plugins.hosting import ANYTHING, Bench, bench, manifest, status

DIES = "def on_call(number, params): os._exit(1)"


async def crash(host: Bench) -> None:
    """Have it crash, and wait until that is known."""
    await host.failure()
    await host.until(lambda: host.unit().state in ("down", "stopped"))


async def test_after_a_crash_it_is_back_after_1_2_and_3_s_and_the_fourth_in_five_minutes_stops_it(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path, manifest(tmp_path, DIES)) as host:
        for delay in (1.0, 2.0, 3.0):
            await crash(host)
            assert (await host.failure()).startswith("unavailable: the plugin odd is down")
            await host.until(lambda delay=delay: delay in host.clock.slept)
            host.clock.move(delay - 0.01)
            await asyncio.sleep(0.02)
            assert host.unit().state == "down"
            host.clock.move(0.01)
            await host.until(lambda: host.unit().state == "running")
        await crash(host)

        assert host.unit().state == "stopped"
        assert "four times in five minutes" in host.unit().why
        assert "limnos plugins restart odd" in host.unit().unavailable().fix
        host.clock.move(100_000)
        await asyncio.sleep(0.05)
        assert host.unit().generation == 4


async def test_a_person_who_restarts_it_forgives_the_crashes(tmp_path: Path) -> None:
    async with bench(tmp_path, manifest(tmp_path, DIES)) as host:
        for delay in (1.0, 2.0, 3.0):
            await crash(host)
            await host.slept(delay)
            await host.until(lambda: host.unit().state == "running")
        await crash(host)
        await host.host.restart("odd")
        assert host.unit().state == "running"
        host.clock.slept.clear()
        await crash(host)

        await host.until(lambda: 1.0 in host.clock.slept)


async def test_five_stable_minutes_forgive_the_crashes_and_a_restart_of_limnos_s_own_does_not(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path, manifest(tmp_path, DIES, start="eager")) as host:
        await crash(host)
        await host.slept(1.0)
        await host.until(lambda: host.unit().state == "running")
        await crash(host)
        await host.slept(2.0)
        await host.until(lambda: host.unit().state == "running")
        await host.until(lambda: host.clock.slept.count(15.0) >= 3)  # one look a generation
        for _ in range(20):
            known = host.clock.slept.count(15.0)
            host.clock.move(15.0)
            await host.until(lambda known=known: host.clock.slept.count(15.0) >= known + 2)
        assert host.unit().generation == 3
        host.clock.slept.clear()
        await crash(host)

        await host.until(lambda: 1.0 in host.clock.slept)


async def test_all_plugins_together_are_restarted_30_times_a_minute_at_most(tmp_path: Path) -> None:
    dying = "def on_initialize(number, params): os._exit(1)"
    plugins = [manifest(tmp_path, dying, f"p{number}") for number in range(11)]
    async with bench(tmp_path, *plugins) as host:
        units = [host.unit(one.name) for one in plugins]

        def starts() -> int:
            return sum(unit.generation for unit in units)

        await asyncio.gather(*(host.failure(f"{one.name}_do") for one in plugins))
        for delay, expected in ((1.0, 22), (2.0, 33), (3.0, 41)):
            await host.until(lambda delay=delay: host.clock.slept.count(delay) == 11)
            host.clock.move(delay)
            await host.until(lambda expected=expected: starts() == expected)
        await asyncio.sleep(0.2)
        assert starts() == 41  # eleven starts, and thirty more
        await host.until(lambda: sum(unit.state == "stopped" for unit in units) == 8)
        host.clock.move(60.0)
        await host.until(lambda: starts() == 44)
        await host.until(lambda: {unit.state for unit in units} == {"stopped"})


async def idle(host: Bench) -> None:
    """Turn the clock until it was idle for long enough; its stop has begun then."""
    await host.until(lambda: 15.0 in host.clock.slept)
    host.clock.move(30.0)
    await host.until(lambda: "stopping" in host.states())


async def test_an_idle_plugin_is_stopped_and_the_next_call_starts_it_again(tmp_path: Path) -> None:
    plugin = manifest(tmp_path, "", limits=PluginLimits(idle_stop_s=20.0))
    async with bench(tmp_path, plugin) as host:
        assert (await host.call(text="one")).text == "one"
        pid = host.host.standings[0].pid
        await idle(host)
        await host.until(lambda: host.unit().state == "idle")
        assert status(pid) == ""

        assert (await host.call(text="two")).text == "two"
        assert host.unit().generation == 2
        assert "down" not in host.states()


async def test_a_call_that_comes_during_the_idle_stop_waits_for_the_next_start(tmp_path: Path) -> None:
    code = "def on_stop(number, params): time.sleep(0.3); reply(number)"
    plugin = manifest(tmp_path, code, limits=PluginLimits(idle_stop_s=20.0))
    async with bench(tmp_path, plugin) as host:
        await host.call()
        await idle(host)
        assert host.unit().state == "stopping"
        said = await asyncio.gather(*(host.call(text=f"{number}") for number in range(5)))

        assert [one.text for one in said] == ["0", "1", "2", "3", "4"]
        assert host.unit().generation == 2


async def test_an_end_of_limnos_during_an_idle_stop_waits_for_the_process(tmp_path: Path) -> None:
    code = "def on_stop(number, params): time.sleep(0.3); reply(number)"
    plugin = manifest(tmp_path, code, limits=PluginLimits(idle_stop_s=20.0))
    async with bench(tmp_path, plugin) as host:
        await host.call()
        pid = host.host.standings[0].pid
        await idle(host)
        await host.host.close()

        assert status(pid) == ""


async def test_a_person_who_restarts_it_during_an_idle_stop_gets_a_new_one_and_the_old_one_ends(
    tmp_path: Path,
) -> None:
    code = "def on_stop(number, params): time.sleep(0.3); reply(number)"
    plugin = manifest(tmp_path, code, limits=PluginLimits(idle_stop_s=20.0))
    async with bench(tmp_path, plugin) as host:
        await host.call()
        pid = host.host.standings[0].pid
        await idle(host)
        await host.host.restart("odd")

        assert status(pid) == ""
        assert host.unit().state == "running"
        assert (await host.call(text="new")).text == "new"


async def test_a_stop_that_is_given_up_still_ends_the_process(tmp_path: Path) -> None:
    code = "def on_stop(number, params): time.sleep(0.3); reply(number)"
    async with bench(tmp_path, manifest(tmp_path, code)) as host:
        await host.call()
        pid = host.host.standings[0].pid
        stop = asyncio.ensure_future(host.host.stop("odd"))
        await host.until(lambda: host.unit().state == "stopping")
        stop.cancel()

        await host.until(lambda: status(pid) == "")


async def test_a_busy_plugin_is_not_stopped_for_being_idle(tmp_path: Path) -> None:
    code = """
def on_call(number, params):
    send(method="busy", params={"busy": params["arguments"]["busy"]})
    reply(number, text="")
"""
    plugin = manifest(tmp_path, code, limits=PluginLimits(idle_stop_s=20.0))
    async with bench(tmp_path, plugin) as host:
        await host.call(busy=True)
        await host.until(lambda: 15.0 in host.clock.slept)
        host.clock.move(100.0)
        await host.until(lambda: host.clock.slept.count(15.0) >= 3)
        assert host.unit().state == "running"
        await host.call(busy=False)
        host.clock.move(100.0)
        await host.until(lambda: host.unit().state == "idle")


async def test_a_plugin_that_ends_as_soon_as_it_is_ready_is_down_and_not_running(tmp_path: Path) -> None:
    code = """
def on_start(number, params):
    os.write(1, b'{"jsonrpc":"2.0","id":%d,"result":{}}\\n'
             b'{"jsonrpc":"2.0","method":"ready","params":{"facilities":[]}}\\n' % number)
    os._exit(0)
"""
    async with bench(tmp_path, manifest(tmp_path, code)) as host:
        await host.failure()
        await host.until(lambda: host.unit().state == "down")
        for delay in (1.0, 2.0, 3.0):
            await host.slept(delay)
        await host.until(lambda: host.unit().state == "stopped")


async def test_what_an_answer_names_that_nobody_takes_is_given_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("limnos.plugins.adapters.LAST_ANSWER_S", 0.05)
    code = """
def on_call(number, params):
    global waiting, how
    waiting, how = number, params["arguments"]["how"]
    send(id="l", method="arena.lease", params={"size": 10})
def answered(frame):
    at = frame["result"]
    if how == "late":
        time.sleep(0.3)
    if how == "wrong":
        reply(waiting, text_at=at, exit="none")
    elif how == "nobody":
        reply(4711, text_at=at)
        reply(waiting, text="done")
    elif how == "unread":
        reply(waiting, text="done", other_at=at)
    elif how == "neighbour":
        reply(waiting, text_at={**at, "offset": at["offset"] + 4096})
    else:
        reply(waiting, text_at=at)
"""
    async with bench(tmp_path, manifest(tmp_path, code)) as host:
        await host.call(how="well")
        arena = host.unit().arena
        for how in ("wrong", "neighbour"):
            assert "answered wrongly" in await host.failure(how=how)
        for how in ("nobody", "unread"):
            assert (await host.call(how=how)).text == "done"
        late = asyncio.ensure_future(host.call(how="late"))
        await host.until(lambda: arena.leased > 0)
        late.cancel()
        with pytest.raises(asyncio.CancelledError):
            await late

        await host.until(lambda: arena.leased == 0)


async def test_an_answer_of_any_form_is_a_failure_and_never_a_fault_of_limnos(tmp_path: Path) -> None:
    answers = [
        None, 1, [], "text", {"text": 1}, {"text_at": 1}, {"text_at": {}}, {"exit": "0"}, {"summary": []},
        {"error": []}, {"text_at": {"lease": [], "offset": 0}},
        {"text_at": {"lease": 10**30, "offset": -1, "size": 10**30}},
    ]  # fmt: skip
    code = """
def on_call(number, params):
    send(id=number, result=json.loads(params["arguments"]["answer"]))
"""
    async with bench(tmp_path, manifest(tmp_path, code)) as host:
        for answer in answers:
            assert "answered wrongly" in await host.failure(answer=json.dumps(answer)), answer
        assert (await host.call(answer=json.dumps({"text": "fine"}))).text == "fine"


async def test_a_grandchild_that_writes_errors_on_and_on_does_not_hold_limnos_up(tmp_path: Path) -> None:
    code = """
def on_call(number, params):
    pid = os.fork()
    if not pid:
        os.setsid()
        end = time.monotonic() + 20
        while time.monotonic() < end:
            os.write(2, b"x" * 65536)
        os._exit(0)
    on_its_own(pid)
    open(params["arguments"]["file"], "w").write(str(pid))
    os._exit(3)
"""
    file = tmp_path / "pid"
    async with bench(tmp_path, manifest(tmp_path, code)) as host:
        await host.failure(file=str(file))
        async with asyncio.timeout(10):
            await host.until(lambda: "generation 1 ended" in host.log() or host.unit().state == "down")
            await host.host.close()
    os.kill(int(file.read_text()), signal.SIGKILL)


async def test_a_start_that_the_system_refuses_is_said_and_tried_again(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "odd").write_text("in the way")
    async with bench(tmp_path, manifest(tmp_path, "")) as host:
        assert "odd cannot be started" in await host.failure()
        assert host.unit().state == "down"
        (tmp_path / "data" / "odd").unlink()
        await host.slept(1.0)
        await host.until(lambda: host.unit().state == "running")


ENVIRONMENT = """
def on_call(number, params):
    pairs = open("/proc/self/environ").read().split("\\0")
    names = sorted(os.listdir("/proc/self/fd"), key=int)
    links = {}
    for one in names:
        try:
            links[one] = os.readlink("/proc/self/fd/" + one)
        except OSError:
            pass
    reply(number, text=json.dumps({"environ": sorted(filter(None, pairs)), "open": links}))
"""


async def test_the_environment_holds_only_what_is_declared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    kept = os.open(tmp_path, os.O_RDONLY)
    os.set_inheritable(kept, True)
    try:
        async with bench(tmp_path, manifest(tmp_path, ENVIRONMENT)) as host:
            said = json.loads((await host.call()).text)
    finally:
        os.close(kept)

    assert said["environ"] == ["LANG=C.UTF-8", "PATH=/usr/bin:/bin:/usr/local/bin"]
    names = sorted(said["open"].values())
    assert sum("memfd:limnos-arena" in one for one in names) == 1
    assert len(names) == 4, names


def third_party(folder: Path, code: str, **changed: object) -> object:
    """A plugin that is not of limnos: it lies in a folder of its own."""
    place = folder / "plugin"
    place.mkdir()
    made = manifest(place, code, builtin=False, entry=("python:odd",))
    return made._replace(**changed)


async def test_in_the_sandbox_the_environment_holds_the_home_and_the_sdk_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    sandbox = probe()
    assert not isinstance(sandbox, NoSandbox), sandbox
    async with bench(tmp_path, third_party(tmp_path, ENVIRONMENT), sandbox=lambda: sandbox) as host:
        said = json.loads((await host.call()).text)

    assert said["environ"] == [
        f"HOME={tmp_path}/data/odd",
        "LANG=C.UTF-8",
        "PATH=/usr/bin:/bin:/usr/local/bin",
        "PYTHONPATH=/run/limnos",
    ]
    assert sum("memfd:limnos-arena" in one for one in said["open"].values()) == 1


async def test_a_bomb_of_processes_in_the_sandbox_ends_with_it(tmp_path: Path) -> None:
    code = """
def on_call(number, params):
    count = 0
    try:
        for _ in range(50):
            if not os.fork():
                os.setsid()
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                os.execv("/bin/sleep", [params["arguments"]["word"], "31"])
            count += 1
    except OSError as error:
        reply(number, text=f"{count} {error.strerror}")
        return
    reply(number, text=f"{count}")
"""
    sandbox = probe()
    assert not isinstance(sandbox, NoSandbox), sandbox
    name = f"bomb-{os.getpid()}"
    plugin = third_party(tmp_path, code, limits=PluginLimits(processes=24))
    async with bench(tmp_path, plugin, sandbox=lambda: sandbox) as host:
        said = (await host.call(word=name)).text
        counted = "nothing counts the processes" not in sandbox.note
        assert counted == ("Resource temporarily unavailable" in said), said
        await host.until(lambda: _named(name) > 0)
        await host.host.stop("odd")

        await host.until(lambda: _named(name) == 0)


def _named(name: str) -> int:
    """How many processes run under that name."""
    count = 0
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            count += entry.read_bytes().startswith(name.encode() + b"\0")
        except OSError:
            continue
    return count


async def test_a_third_party_plugin_that_a_person_lets_run_freely_has_the_sdk(tmp_path: Path) -> None:
    plugin = third_party(tmp_path, "")
    (tmp_path / "plugin" / "odd.py").write_text(
        "from limnos.sdk.plugin import Plugin\n"
        "plugin = Plugin()\n"
        "@plugin.tool\n"
        "def odd_do(call):\n"
        "    return str(plugin.data)\n"
        "plugin.run()\n"
    )
    async with bench(tmp_path, plugin, unconfined=("odd",)) as host:
        assert (await host.call()).text == f"{tmp_path}/data/odd"


ASKS = """
def on_call(number, params):
    global waiting, results
    waiting, results = number, {}
    for method, given in params["arguments"]["asked"]:
        send(id=method, method=method, params=given)
        send(method=method, params=given)
    results["left"] = len(params["arguments"]["asked"])
def answered(frame):
    results[frame["id"]] = frame.get("error", {"code": 0, "message": ""})
    results["left"] -= 1
    if not results["left"]:
        reply(waiting, text=json.dumps(results))
"""
GATED = sorted(name for name, method in TO_KERNEL.items() if method.capability != CORE)


def _capability(name: str) -> str:
    return f"{name}/tmp/x" if name.endswith(":") else name


@pytest.mark.parametrize("held", ["", *CAPABILITIES])
async def test_a_method_is_refused_without_its_capability(tmp_path: Path, held: str) -> None:
    done: list[str] = []

    def service(name: str):
        async def do(asked: object) -> object:
            done.append(name)
            return {}

        return do

    capabilities = (_capability(held),) if held else ()
    # what is asked has wrong parameters: the right is looked at first, so these tell no more than it does
    missing = [name for name in GATED if TO_KERNEL[name].capability != held.rstrip(":")]
    assert missing
    plugin = manifest(tmp_path, ASKS, capabilities=capabilities)
    services = {name: service(name) for name in GATED}
    async with bench(tmp_path, plugin, services=services) as host:
        asked = [(name, {}) for name in (*missing, "kernel.publish", "tool.call")]
        results = json.loads((await host.call(asked=asked)).text)

        for name in missing:
            assert results[name]["code"] == frames.REFUSED
            assert f"{name} takes the capability {TO_KERNEL[name].capability}" in results[name]["message"]
            assert f'add "{TO_KERNEL[name].capability}' in results[name]["message"]
            assert host.log().count(f"refused: {name} takes") == 2, "once as a request, once as told"
        for name in ("kernel.publish", "tool.call"):
            assert results[name]["code"] == frames.NO_METHOD
        assert not done


@pytest.mark.parametrize("method", ["settings.get", "settings.set"])
async def test_settings_of_another_plugin_take_a_capability_of_their_own(tmp_path: Path, method: str) -> None:
    async def service(asked: object) -> object:
        return {"done": True}

    asked = [(method, {"plugin": "other", "values": {}})]
    own = [(method, {"plugin": "odd", "values": {}})]
    for capabilities, code in (
        ((), frames.REFUSED),
        (("settings",), frames.REFUSED),
        (("settings_cross",), 0),
    ):
        plugin = manifest(tmp_path, ASKS, capabilities=capabilities)
        async with bench(tmp_path, plugin, services={method: service}) as host:
            results = json.loads((await host.call(asked=asked)).text)
            assert results[method]["code"] == code
            assert ("settings_cross" in results[method]["message"]) == bool(code)
            assert json.loads((await host.call(asked=own)).text)[method]["code"] == 0


async def test_a_service_that_breaks_is_answered_and_noted(tmp_path: Path) -> None:
    async def broken(asked: object) -> object:
        raise OSError(28, "No space left on device")

    plugin = manifest(tmp_path, ASKS)
    async with bench(tmp_path, plugin, services={"settings.get": broken}) as host:
        results = json.loads((await host.call(asked=[("settings.get", {})])).text)

        assert results["settings.get"] == {"code": frames.FAULT, "message": "settings.get broke: OSError"}
        await host.until(lambda: host.log().count("No space left") == 2)  # asked once, told once


SDK = """
import os, sys, time
sys.path.insert(0, {source!r})
from limnos.sdk.plugin import Plugin, PASS
plugin = Plugin()
@plugin.tool
def odd_do(call):
    while True:
        call.check()
        time.sleep(0.01)
@plugin.tool
def odd_exit(call):
    sys.exit("enough")
@plugin.stage("on_input", name="look")
def look(payload):
    return PASS
@plugin.on_stop
def save():
    (plugin.data / "saved").write_text("yes")
plugin.run()
"""


def with_sdk(folder: Path, **changed: object) -> object:
    """A plugin made with the SDK."""
    plugin = manifest(folder, "", **changed)
    source = str(Path(sys.modules["limnos"].__file__ or "").parents[1])
    (folder / "odd.py").write_text(SDK.format(source=source))
    names = ("odd_do", "odd_exit")
    return plugin._replace(tools=tuple(ToolDeclaration(name, "does it", ANYTHING) for name in names))


async def test_a_tool_that_calls_exit_has_an_answer(tmp_path: Path) -> None:
    async with bench(tmp_path, with_sdk(tmp_path)) as host:
        for _ in range(40):  # more than there are threads
            assert "SystemExit: enough" in await host.failure("odd_exit")


async def test_state_is_saved_and_stages_run_while_all_threads_are_busy_with_tools(tmp_path: Path) -> None:
    async with bench(tmp_path, with_sdk(tmp_path)) as host:
        calls = [asyncio.ensure_future(host.call()) for _ in range(50)]
        await host.until(lambda: host.unit().process is not None)
        async with asyncio.timeout(5):
            said = await host.unit().request("stage.run", handler="look", stage="on_input", payload={})
            assert said == {"action": "pass"}
            await host.host.stop("odd")

        assert (tmp_path / "data" / "odd" / "saved").read_text() == "yes"
        done = await asyncio.gather(*calls, return_exceptions=True)
        assert len(done) == 50


async def test_a_plugin_without_an_arena_gets_everything_in_the_frame(tmp_path: Path) -> None:
    code = """
def on_initialize(number, params): reply(number, protocol=1)
def on_call(number, params): reply(number, text=str(len(params["arguments"]["text"])))
"""
    async with bench(tmp_path, manifest(tmp_path, code)) as host:
        assert (await host.call(text="x" * 900_000)).text == "900000"
        assert "larger than 1,000,000" in await host.failure(text="x" * 1_100_000)


async def test_a_payload_of_many_megabytes_goes_through_the_arena_both_ways(tmp_path: Path) -> None:
    code = """
def on_call(number, params):
    global waiting, data
    at = params["arguments_at"]
    data = os.pread(int(fd), at["size"], at["offset"])
    waiting = number
    send(id="l", method="arena.lease", params={"size": len(data)})
def on_initialize(number, params):
    global fd
    fd = params["arena"]["descriptor"]
    reply(number, protocol=1, arena="rw")
def answered(frame):
    os.pwrite(fd, data, frame["result"]["offset"])
    reply(waiting, text_at=frame["result"])
"""
    plugin = manifest(tmp_path, code, limits=PluginLimits(arena=32 << 20))
    async with bench(tmp_path, plugin) as host:
        text = "limnos " * 700_000
        assert json.loads((await host.call(text=text)).text) == {"text": text}
        assert host.unit().arena.leased == 0


async def test_a_plugin_waits_for_what_it_needs_and_says_when_that_is_not_there(tmp_path: Path) -> None:
    lamp = manifest(tmp_path, "def on_initialize(number, params): os._exit(1)", "lamp", provides=("lamp",))
    reader = manifest(tmp_path, "", "reader", needs=("lamp",))
    async with bench(tmp_path, lamp, Member(reader, ("lamp",))) as host:
        said = await host.failure("reader_do")
        assert "lamp" in said
        assert host.unit("reader").state == "idle"
        assert host.unit("reader").generation == 0
        with pytest.raises(Unavailable):
            await host.unit("reader").ready()
