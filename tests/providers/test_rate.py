import asyncio

from limnos.providers.rate import Bucket, Buckets
from limnos.providers.routes import Secret

from .support import StillClock


def test_a_burst_goes_through_and_the_rest_waits_for_its_token() -> None:
    clock = StillClock()

    async def run() -> None:
        bucket = Bucket(clock, per_minute=60, burst=2)
        for _ in range(4):
            await bucket.take()

    asyncio.run(run())
    assert clock.waits == [1.0, 1.0]


def test_waiters_are_served_one_after_the_other() -> None:
    clock = StillClock()

    async def run() -> None:
        bucket = Bucket(clock, per_minute=60, burst=1)
        await asyncio.gather(*(bucket.take() for _ in range(3)))

    asyncio.run(run())
    assert clock.passed == 2.0


def test_without_a_limit_nobody_waits_but_a_pause_holds_for_all() -> None:
    clock = StillClock()

    async def run() -> None:
        bucket = Bucket(clock)
        await asyncio.gather(*(bucket.take() for _ in range(50)))
        assert clock.waits == []
        bucket.pause(7)
        await asyncio.gather(bucket.take(), bucket.take())

    asyncio.run(run())
    assert clock.waits == [7.0]


def test_routes_that_share_a_key_share_a_bucket() -> None:
    buckets = Buckets(StillClock())
    assert buckets.of(Secret("a"), "http://x") is buckets.of(Secret("a"), "http://y")
    assert buckets.of(Secret("a"), "http://x") is not buckets.of(Secret("b"), "http://x")
    assert buckets.of(Secret(""), "http://x") is not buckets.of(Secret(""), "http://y")
