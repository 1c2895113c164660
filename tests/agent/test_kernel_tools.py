"""The time, the plan, and paging through large results."""

from pathlib import Path

import pytest

from tests.agent.tools import Toolbox


@pytest.fixture
def box(tmp_path: Path) -> Toolbox:
    return Toolbox(tmp_path / "work")


def test_now_tells_the_persons_time_with_weekday_and_zone(box: Toolbox) -> None:
    assert box.text("now") == "Sunday, 2026-03-15 04:31:04 Asia/Shanghai (UTC+0800)"


@pytest.mark.parametrize(
    ("zone", "text"),
    [
        ("UTC", "Saturday, 2026-03-14 20:31:04 UTC (UTC+0000)"),
        ("Asia/Kathmandu", "Sunday, 2026-03-15 02:16:04 Asia/Kathmandu (UTC+0545)"),
        ("America/New_York", "Saturday, 2026-03-14 16:31:04 America/New_York (UTC-0400)"),
    ],
)
def test_now_tells_the_time_elsewhere(box: Toolbox, zone: str, text: str) -> None:
    assert box.text("now", zone=zone) == text


@pytest.mark.parametrize(
    "zone", ["Mars/Olympus", "../../etc/passwd", "/etc/localtime", "Europe", "CET-1CEST", " "]
)
def test_a_zone_that_is_none_is_named(box: Toolbox, zone: str) -> None:
    error = box.fault("now", zone=zone)

    assert error.reason == "invalid_arguments"
    assert "Europe/Berlin" in error.hint


def test_a_plan_is_published_whole_and_replaced(box: Toolbox) -> None:
    first = [{"text": "look", "state": "active"}, {"text": "do", "state": "pending"}]
    second = [{"text": "look", "state": "done"}]

    assert box.text("plan_update", items=first) == "The plan has 2 points, 0 done."
    assert box.text("plan_update", items=second) == "The plan has 1 points, 1 done."
    assert box.text("plan_update", items=[]) == "The plan has 0 points, 0 done."
    assert box.plans == [first, second, []]


@pytest.mark.parametrize(
    "items",
    [
        None,
        [{"text": "x"}],
        [{"text": "", "state": "done"}],
        [{"text": "x", "state": "later"}],
        [{"text": "x", "state": "done"}] * 21,
    ],
)
def test_a_plan_that_does_not_fit_is_refused(box: Toolbox, items: object) -> None:
    assert box.fault("plan_update", items=items).reason == "invalid_arguments"
    assert box.plans == []


def test_a_block_is_paged_to_its_end(box: Toolbox) -> None:
    whole = "".join(f"{n:05}é" for n in range(9_000))
    block = box.blobs.put(whole.encode())
    read, pages = "", 0
    while len(read) < len(whole):
        head, _, page = box.text("block_read", block=block, start=len(read)).partition("\n")
        assert head == f"[characters {len(read)} to {len(read) + len(page)} of {len(whole)}]"
        read += page
        pages += 1

    assert (read, pages) == (whole, 3)
    assert box.fault("block_read", block=block, start=len(whole)).reason == "not_found"


def test_a_block_that_is_not_there_is_not_found(box: Toolbox) -> None:
    assert box.fault("block_read", block="b" + "0" * 32).reason == "not_found"
    assert box.fault("block_read", block="b1", start=-1).reason == "invalid_arguments"


def test_every_tool_and_parameter_says_what_it_is(box: Toolbox) -> None:
    for tool in box.tools.values():
        assert tool.description
        assert tool.parameters["additionalProperties"] is False
        for name, schema in tool.parameters["properties"].items():
            assert schema["description"], name
