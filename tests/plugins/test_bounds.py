"""What a plugin can make limnos write and remember has bounds."""

import asyncio
from pathlib import Path

import pytest

from limnos.kernel.errors import UsageError
from limnos.kernel.seams import Principal
from limnos.kernel.stages import InputPayload, Pipeline
from limnos.plugins.host import Member
from limnos.plugins.log_ring import LINES_PER_SECOND, Line, LogRing
from limnos.plugins.own_settings import change_settings, read_settings
from limnos.plugins.reading import parse_manifest
from limnos.plugins.unit import Unavailable
from limnos.sdk.schema import SchemaValidator
from limnos.testing.doubles import FixedClock
from tests.plugins.hosting import bench, manifest, stage

MANIFEST = """
name = "keeper"
version = "1"
description = "Keeps something."
protocol = 1
entry = ["sh"]

[settings.note]
type = "string"
description = "a note"
"""


def test_many_short_lines_cost_no_more_than_few() -> None:
    clock, kept = FixedClock(), list[Line]()
    log = LogRing(clock, kept.append)

    log.take(b"\n" * 60_000)
    assert not kept
    log.take(b"x\n" * 60_000)
    for _ in range(60_000):
        log.complain("refused: something")
    assert len(kept) == LINES_PER_SECOND
    clock.move(1.0)
    log.complain("again")

    assert "dropped: it wrote more than" in kept[-2].text
    assert kept[-1].text == "again"


def test_a_setting_that_could_not_be_read_again_is_not_written(tmp_path: Path) -> None:
    keeper = parse_manifest(MANIFEST, tmp_path)

    with pytest.raises(UsageError, match="more than 65,536"):
        change_settings(tmp_path, keeper, {"note": "y" * 70_000}, SchemaValidator())

    assert read_settings(tmp_path, keeper) == {}


async def test_what_a_plugin_says_about_a_failure_is_short(tmp_path: Path) -> None:
    code = """
def on_call(number, params):
    error = {"reason": "failed", "detail": "d" * 90000, "hint": "h" * 90000}
    reply(number, text="x", summary="s" * 50000, error=error)
"""
    async with bench(tmp_path, manifest(tmp_path, code)) as host:
        done = await host.call()

    assert done.error is not None
    assert max(len(done.error.detail), len(done.error.hint), len(done.summary)) <= 4000


async def test_who_waits_for_a_start_that_a_person_stops_is_told(tmp_path: Path) -> None:
    code = "def on_initialize(number, params): pass"
    async with bench(tmp_path, manifest(tmp_path, code)) as host:
        waiting = asyncio.ensure_future(host.unit().ready())
        await host.until(lambda: host.unit().state == "starting")
        await host.unit().stop("stopped by a person")

        with pytest.raises(Unavailable, match="stop"):
            await waiting


async def test_a_guard_that_cannot_run_denies_in_every_session(tmp_path: Path) -> None:
    closed = stage("closed", policy="fail_closed")
    plugin = manifest(tmp_path, "", stages=(closed, stage("open", policy="fail_open")))
    said = InputPayload("hello", "cli", Principal())
    async with bench(tmp_path, Member(plugin, (), ("broken", "its files changed"))) as host:
        first, later = Pipeline(), Pipeline()
        host.host.attach(first)
        await host.host.renew([Member(plugin, (), ("broken", "its files changed again"))])
        host.host.attach(later)

        for pipeline in (first, later):
            assert "closed" in str((await pipeline.run("on_input", said)).denied)

        await host.host.renew([Member(plugin, (), ("disabled", "a person disabled it"))])
        assert (await first.run("on_input", said)).denied is None
