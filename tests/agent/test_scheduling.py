"""What is taken next, and what may set a running turn aside: the rules, over many random days."""

import random

import pytest

from limnos.agent.scheduling import (
    LEVELS,
    MAX_GAIN,
    MAX_SUSPENDED,
    PASSED,
    Input,
    Queue,
    Rank,
    check_level,
    may_pre_empt,
)
from limnos.kernel.errors import UsageError


def given(name: str, level: int = 3, *, interrupt: bool = False) -> Input:
    return Input(name, name, "test", "owner", level, interrupt)


def order(queue: Queue) -> list[str]:
    taken: list[str] = []
    while (first := queue.first()) is not None:
        queue.take(first)
        taken.append(first.text)
    return taken


def test_the_higher_level_comes_first_and_within_a_level_the_older_one() -> None:
    queue = Queue()
    for name, level in (("a", 1), ("b", 3), ("c", 2), ("d", 3), ("e", 4)):
        queue.add(given(name, level))

    assert [one.text for one in queue.inputs()] == ["e", "b", "d", "c", "a"]
    assert order(queue) == ["e", "b", "d", "c", "a"]


def test_within_a_level_an_interrupt_comes_before_what_is_only_queued() -> None:
    queue = Queue()
    queue.add(given("queued"))
    queue.add(given("urgent", interrupt=True))
    queue.put_first([given("late 1"), given("late 2")])

    assert order(queue) == ["urgent", "late 1", "late 2", "queued"]


def test_one_that_others_go_past_comes_at_last() -> None:
    queue = Queue()
    queue.add(given("little", 1))
    before = 0
    for n in range(1000):
        queue.add(given(f"{n}", 3))
        first = queue.first()
        assert first is not None
        queue.take(first)
        if first.text == "little":
            break
        before += 1

    assert before == PASSED * MAX_GAIN


def test_a_level_that_does_not_exist_is_refused() -> None:
    for level in (0, 5, -1):
        with pytest.raises(UsageError):
            check_level(level)
    for level in LEVELS:
        check_level(level)


def test_equal_never_goes_before_equal_and_nothing_goes_before_the_fifth() -> None:
    for level in LEVELS:
        interrupt = given("x", level, interrupt=True)
        for running in LEVELS:
            assert may_pre_empt(interrupt, Rank(running), 0) == (level > running)
            assert not may_pre_empt(interrupt, Rank(running), MAX_SUSPENDED)


@pytest.mark.parametrize("seed", range(50))
def test_over_a_random_day_every_input_is_taken_once_and_no_turn_starves(seed: int) -> None:
    chance = random.Random(seed)
    queue, stack, taken, now = Queue(), list[tuple[Input, Rank]](), list[str](), 0.0
    times_aside: dict[str, int] = {}
    sent = 0
    while sent < 200 or queue or stack:
        now += chance.random()
        if sent < 200 and chance.random() < 0.6:
            queue.add(given(f"{sent}", chance.choice(LEVELS), interrupt=chance.random() < 0.5))
            sent += 1
        interrupt = queue.interrupt()
        running = stack[-1] if stack else None
        outranked = running and interrupt and may_pre_empt(interrupt, running[1], len(stack) - 1)
        if running and interrupt and outranked and now >= running[1].safe_until:
            assert interrupt.level > running[1].level
            running[1].was_set_aside()
            times_aside[running[0].text] = times_aside.get(running[0].text, 0) + 1
            queue.take(interrupt)
            taken.append(interrupt.text)
            stack.append((interrupt, Rank(interrupt.level)))
        elif running is None and (first := queue.first()) is not None:
            queue.take(first)
            taken.append(first.text)
            stack.append((first, Rank(first.level)))
        elif running and chance.random() < 0.4:
            stack.pop()
            if stack:
                stack[-1][1].goes_on(now)
        assert len(stack) - 1 <= MAX_SUSPENDED, f"seed {seed}"

    assert sorted(taken, key=int) == [f"{n}" for n in range(200)], f"seed {seed}"
    assert all(times <= 3 for times in times_aside.values()), f"seed {seed}: {times_aside}"
