"""Plugins that break, each in its own way: callers hear of it, nothing hangs, nothing is left."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from limnos.kernel.seams import Principal
from limnos.kernel.stages import InputPayload, Pipeline
from limnos.kernel.tools import ToolFailure
from limnos.plugins.manifest import PluginLimits
from tests.plugins.hosting import Bench, bench, manifest, stage, status

INPUT = InputPayload("hello", "test", Principal("owner"))


async def test_an_exit_in_initialize_fails_the_start_and_says_with_what(tmp_path: Path) -> None:
    code = "def on_initialize(number, params): sys.exit(7)"
    async with bench(tmp_path, manifest(tmp_path, code)) as host:
        said = await host.failure()

        assert said.startswith("unavailable: odd ended while it started (exit 7)")
        assert host.unit().state == "down"


async def test_an_exit_in_the_middle_of_a_reply_fails_the_call_as_unknown(tmp_path: Path) -> None:
    code = """
def on_call(number, params):
    os.write(1, b'{"jsonrpc":"2.0","id":')
    os._exit(1)
"""
    async with bench(tmp_path, manifest(tmp_path, code)) as host:
        said = await host.failure()

        assert "ended during this call" in said
        assert "in the middle of a frame" in said
        assert "what the call did is unknown" in said


async def test_garbage_and_half_frames_are_noted_and_the_call_still_has_its_result(tmp_path: Path) -> None:
    code = """
def on_call(number, params):
    for line in (b"hello\\n", b"{\\n", b"\\xff\\n", b"[]\\n", b"\\n", b'{"jsonrpc":"2.0"}\\n'):
        os.write(1, line)
    os.write(1, b'{"jsonrpc":"2.0",')
    time.sleep(0.05)
    os.write(1, b'"id":%d,"result":{"text":"whole"}}\\n' % number)
"""
    async with bench(tmp_path, manifest(tmp_path, code)) as host:
        assert (await host.call()).text == "whole"
        assert host.log().count("it sent what is no frame") == 5


async def test_a_frame_of_ten_megabytes_ends_it_before_it_is_held(tmp_path: Path) -> None:
    code = """
def on_call(number, params):
    for _ in range(10):
        os.write(1, b"x" * 1_000_000)
    os.write(1, b"\\n")
"""
    async with bench(tmp_path, manifest(tmp_path, code)) as host:
        assert "a frame of more than 1,000,000 bytes" in await host.failure()
        assert host.unit().state == "down"


async def test_an_answer_to_nobody_is_noted(tmp_path: Path) -> None:
    code = """
def on_call(number, params):
    reply(number + 1000, text="for whom?")
    reply("seven", text="for whom?")
    send(id=None, error={"code": 1, "message": "lost"})
    reply(number, text="mine")
"""
    async with bench(tmp_path, manifest(tmp_path, code)) as host:
        assert (await host.call()).text == "mine"
        assert host.log().count("which nobody asked") == 3


async def test_of_two_answers_the_first_counts(tmp_path: Path) -> None:
    code = """
def on_call(number, params):
    reply(number, text="first")
    reply(number, text="second")
"""
    async with bench(tmp_path, manifest(tmp_path, code)) as host:
        assert [(await host.call()).text for _ in range(3)] == ["first"] * 3
        assert host.log().count("which nobody asked") >= 2


async def test_twenty_faults_end_it(tmp_path: Path) -> None:
    code = "def on_call(number, params): os.write(1, b'no\\n' * 25)"
    async with bench(tmp_path, manifest(tmp_path, code)) as host:
        assert "20 faults on the wire" in await host.failure()
        assert host.log().count("generation 1: it sent what is no frame") == 20


async def _stopped(host: Bench) -> "asyncio.Task[object]":
    """A call that was begun and stopped."""
    call = asyncio.ensure_future(host.call(text="slow"))
    await host.until(lambda: "begun" in host.log())
    call.cancel()
    return call


async def test_a_call_that_answers_after_the_stop_still_says_what_it_did(tmp_path: Path) -> None:
    code = """
def on_call(number, params):
    global waiting
    waiting = number
    send(method="log", params={"text": "begun"})
def on_told(frame):
    reply(waiting, text="it was done already")
"""
    async with bench(tmp_path, manifest(tmp_path, code)) as host:
        call = await _stopped(host)

        done = await call
        assert done.text == "it was done already"  # type: ignore[attr-defined]


async def test_an_answer_that_comes_long_after_a_stop_is_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("limnos.plugins.adapters.LAST_ANSWER_S", 0.05)
    code = """
waiting = None
def on_call(number, params):
    global waiting
    if params["arguments"].get("text") == "slow":
        waiting = number
        send(method="log", params={"text": "begun"})
    else:
        reply(waiting, text="late")
        reply(number, text="mine")
"""
    async with bench(tmp_path, manifest(tmp_path, code)) as host:
        call = await _stopped(host)
        with pytest.raises(asyncio.CancelledError):
            await call

        assert (await host.call(text="other")).text == "mine"
        assert "nobody asked" not in host.log()


async def test_a_plugin_that_answers_no_ping_is_ended_as_hung(tmp_path: Path) -> None:
    code = "def on_ping(number, params): pass"
    async with bench(tmp_path, manifest(tmp_path, code)) as host:
        await host.call()
        await host.slept(15.0)
        host.clock.slept.clear()
        await host.slept(15.0)
        await host.until(lambda: host.unit().state == "down")

        assert "it hangs" in host.unit().why


async def test_a_stopped_process_counts_as_hung_and_is_killed(tmp_path: Path) -> None:
    async with bench(tmp_path, manifest(tmp_path, "")) as host:
        await host.call()
        pid = host.host.standings[0].pid
        os.kill(pid, signal.SIGSTOP)
        await host.slept(15.0)
        host.clock.slept.clear()
        await host.slept(15.0)
        await host.until(lambda: host.unit().state == "down")
        await host.until(lambda: status(pid) == "")


async def test_a_bomb_of_processes_is_killed_as_a_group(tmp_path: Path) -> None:
    code = """
def on_call(number, params):
    pids = []
    for _ in range(40):
        pid = os.fork()
        if not pid:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            time.sleep(60)
            os._exit(0)
        pids.append(str(pid))
    reply(number, text=" ".join(pids))
"""
    async with bench(tmp_path, manifest(tmp_path, code)) as host:
        pids = [int(pid) for pid in (await host.call()).text.split()]
        assert len(pids) == 40
        os.kill(host.host.standings[0].pid, signal.SIGKILL)

        await host.until(lambda: not any(_runs(pid) for pid in pids))


def _runs(pid: int) -> bool:
    """Whether a process still runs; one that is dead and whose new parent has not looked yet does not."""
    return status(pid)[:1] not in ("", "Z", "X")


async def test_what_it_leased_is_given_back_when_it_dies(tmp_path: Path) -> None:
    code = """
leases = []
def on_call(number, params):
    global waiting
    if params["arguments"].get("text") == "die":
        os._exit(1)
    waiting = number
    for size in range(3):
        send(id=f"l{size}", method="arena.lease", params={"size": 100_000})
def answered(frame):
    leases.append(frame["result"]["lease"])
    if len(leases) == 3:
        reply(waiting, text="leased")
"""
    async with bench(tmp_path, manifest(tmp_path, code)) as host:
        await host.call()
        arena = host.unit().arena
        assert arena.leased == 3 * 102_400
        await host.failure(text="die")
        await host.until(lambda: arena.descriptor < 0)

        assert arena.leased == 0
        await host.slept(1.0)
        await host.until(lambda: host.unit().state == "running")
        assert host.unit().arena is not arena


async def test_a_death_while_it_is_stopped_is_no_crash(tmp_path: Path) -> None:
    code = "def on_stop(number, params): os.kill(os.getpid(), signal.SIGKILL)"
    async with bench(tmp_path, manifest(tmp_path, code)) as host:
        await host.call()
        await host.host.stop("odd")

        assert host.states()[-2:] == ["stopping", "stopped"]
        assert 1.0 not in host.clock.slept


async def test_an_older_generation_that_ends_late_does_not_touch_the_new_one(tmp_path: Path) -> None:
    code = """
def on_call(number, params):
    if params["arguments"].get("text") == "die":
        pid = os.fork()
        if not pid:  # in a session of its own it keeps the wire open
            os.setsid()
            time.sleep(0.7)
            send(method="ready", params={"facilities": []})
            reply(1, text="late")
            os._exit(0)
        on_its_own(pid)
        os._exit(1)
    reply(number, text=str(os.getpid()))
"""
    async with bench(tmp_path, manifest(tmp_path, code)) as host:
        await host.call()
        await host.failure(text="die")
        await host.slept(1.0)
        await host.until(lambda: host.unit().state == "running")
        pid = host.host.standings[0].pid
        await asyncio.sleep(1.0)  # the older one speaks meanwhile

        assert (await host.call()).text == str(pid)
        assert host.unit().generation == 2
        assert host.states().count("down") == 1


async def test_a_plugin_that_ignores_term_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("limnos.plugins.process.STOP_S", 0.2)
    code = """
signal.signal(signal.SIGTERM, signal.SIG_IGN)
def on_end(): time.sleep(60)
"""
    async with bench(tmp_path, manifest(tmp_path, code)) as host:
        await host.call()
        pid = host.host.standings[0].pid
        await asyncio.wait_for(host.host.stop("odd"), 10)

        assert status(pid) == ""


async def test_a_grandchild_that_keeps_the_pipes_open_holds_nothing_up(tmp_path: Path) -> None:
    code = """
def on_call(number, params):
    pid = os.fork()
    if not pid:
        os.setsid()
        time.sleep(8)
        os._exit(0)
    on_its_own(pid)
    open(params["arguments"]["file"], "w").write(str(pid))
    os._exit(3)
"""
    file = tmp_path / "pid"
    async with bench(tmp_path, manifest(tmp_path, code)) as host:
        said = await host.failure(file=str(file))
        assert "it ended, exit 3" in said
        await host.until(lambda: "generation 1 ended" in host.log())
        assert _runs(int(file.read_text()))
    os.kill(int(file.read_text()), signal.SIGKILL)


@pytest.mark.parametrize(
    "answer",
    [
        "reply(number, protocol=2)",
        "reply(number)",
        'send(id=number, error={"code": 1, "message": "no"})',
    ],
)
async def test_another_version_of_the_protocol_stops_it_for_good(tmp_path: Path, answer: str) -> None:
    code = f"def on_initialize(number, params): {answer}"
    async with bench(tmp_path, manifest(tmp_path, code)) as host:
        await host.failure()

        assert host.unit().state == "stopped"
        assert host.unit().generation == 1
        assert host.clock.slept == [10.0]


async def test_a_second_ready_is_noted(tmp_path: Path) -> None:
    code = """
def on_call(number, params):
    send(method="ready", params={"facilities": []})
    reply(number, text="still here")
"""
    async with bench(tmp_path, manifest(tmp_path, code)) as host:
        assert (await host.call()).text == "still here"
        assert "it said ready once more" in host.log()


async def test_ready_without_its_facilities_is_no_start(tmp_path: Path) -> None:
    async with bench(tmp_path, manifest(tmp_path, "", provides=("lamp",))) as host:
        assert "it does not provide lamp" in await host.failure()
        assert host.unit().state == "down"


async def test_ten_megabytes_of_errors_hold_nothing_up_and_are_counted(tmp_path: Path) -> None:
    code = """
def on_call(number, params):
    for _ in range(10):
        os.write(2, (b"x" * 99 + b"\\n") * 10_000)
    reply(number, text="told")
"""
    async with bench(tmp_path, manifest(tmp_path, code)) as host:
        assert (await host.call()).text == "told"
        host.clock.move(1.0)
        host.unit().log.take(b"after\n")

        assert "bytes dropped" in host.log()
        assert len(host.log()) < 200_000


async def test_a_plugin_that_reads_nothing_is_refused_and_then_ended(tmp_path: Path) -> None:
    code = "def on_call(number, params): time.sleep(60)"
    async with bench(tmp_path, manifest(tmp_path, code)) as host:
        calls = [asyncio.ensure_future(host.failure(text="x" * 60_000)) for _ in range(60)]
        await host.until(lambda: any(call.done() for call in calls))
        assert "it does not read" in next(call for call in calls if call.done()).result()
        os.kill(host.host.standings[0].pid, signal.SIGKILL)

        said = await asyncio.gather(*calls)
        assert all("it does not read" in one or "ended during this call" in one for one in said)


@pytest.mark.parametrize(("policy", "denied"), [("fail_open", None), ("fail_closed", "guard look failed")])
@pytest.mark.parametrize(
    "body",
    [
        'send(id=number, error={"code": -32603, "message": "broken"})',
        "time.sleep(1)",
        'reply(number, action="rewrite", payload={"text": "changed"})',
        'reply(number, action="perhaps")',
        'reply(number, action="rewrite", payload={"other": 1})',
        "os._exit(1)",
    ],
    ids=["throws", "times out", "rewrites what it may not", "no action", "no payload", "dies"],
)
async def test_a_stage_that_breaks_counts_as_its_policy_says(
    tmp_path: Path, policy: str, denied: str | None, body: str
) -> None:
    plugin = manifest(
        tmp_path, f"def on_stage(number, params): {body}", stages=(stage("look", policy=policy),)
    )
    async with bench(tmp_path, plugin) as host:
        pipeline = Pipeline()
        host.host.attach(pipeline)
        await host.call()
        verdict = await pipeline.run("on_input", INPUT)

        assert verdict.payload == INPUT
        assert (verdict.denied or "").startswith(denied or "")
        assert (verdict.denied is None) == (denied is None)
        assert verdict.notes[0].action == "failed"


async def test_a_guard_that_is_down_denies_until_it_is_up_again(tmp_path: Path) -> None:
    plugin = manifest(
        tmp_path,
        "def on_call(number, params): os._exit(1)",
        stages=(stage("guard", policy="fail_closed"), stage("helper")),
    )
    async with bench(tmp_path, plugin) as host:
        pipeline = Pipeline()
        host.host.attach(pipeline)
        assert (await pipeline.run("on_input", INPUT)).denied is None
        await host.failure()
        await host.until(lambda: host.unit().state == "down")

        denied = (await pipeline.run("on_input", INPUT)).denied
        assert denied is not None
        assert denied.startswith("guard guard is down")
        await host.slept(1.0)
        await host.until(lambda: host.unit().state == "running")
        assert (await pipeline.run("on_input", INPUT)).denied is None


async def test_two_plugins_that_rewrite_the_same_run_in_their_declared_order(tmp_path: Path) -> None:
    plugins = [
        manifest(
            tmp_path,
            "def on_stage(number, params):\n"
            f"    reply(number, action='rewrite', payload={{'text': params['payload']['text'] + ' {name}'}})",
            name,
            stages=(stage(f"put_{name}", rewrites=True, priority=priority),),
        )
        for name, priority in (("one", 30), ("two", 10), ("abc", 20), ("xyz", 20))
    ]
    async with bench(tmp_path, *plugins) as host:
        pipeline = Pipeline()
        host.host.attach(pipeline)
        for _ in range(3):
            verdict = await pipeline.run("on_input", INPUT)
            assert verdict.payload == INPUT._replace(text="hello two abc xyz one")


async def test_a_plugin_that_needs_a_sandbox_is_not_started_without_one(tmp_path: Path) -> None:
    async with bench(tmp_path, manifest(tmp_path, "", builtin=False)) as host:
        assert "no sandbox can hold it" in await host.failure()
        assert host.unit().state == "stopped"


async def test_a_call_that_comes_with_too_large_a_payload_names_the_limit(tmp_path: Path) -> None:
    plugin = manifest(tmp_path, "", limits=PluginLimits(arena=64 * 1024))
    async with bench(tmp_path, plugin) as host:
        await host.call()
        with pytest.raises(ToolFailure) as failed:
            await host.call(text="x" * 200_000)

        assert "limits.arena" in failed.value.error.hint
        assert host.unit().arena.leased == 0
