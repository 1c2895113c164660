import asyncio

from limnos.providers.rate import Bucket, Buckets
from limnos.providers.routes import Secret

from .support import StillClock


def test_nobody_waits_but_a_pause_holds_for_all() -> None:
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
