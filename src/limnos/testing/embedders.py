"""What every embedder must do, as checks to run on any: `await CHECKS[name](make)` for each name."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from limnos import lazy
from limnos.retrieval.embedder import Embedder, EmbedderUnavailableError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[lazy.numpy.float32]

Make: TypeAlias = Callable[[], Embedder]

PLAIN = (
    "the ferry leaves at noon",
    "我们明天去北京",
    "def total(rows): return sum(rows)",
    "a second sentence about ferries, quite unlike the others in its length and its many words",
)
STRANGE: Mapping[str, str] = {
    "empty": "",
    "blank": " \n\t ",
    "surrogate": "a\ud800b",
    "nul": "a\0b",
    "long": "word " * 400_000,
    "unbroken": "x" * 2_000_000,
    "chinese": "北京" * 10_000,
    "marks": "<s> </s> [CLS] query: passage:",
}
# Two ways to the same vector may differ by rounding.
_CLOSE = 1e-4


async def gives_unit_rows(make: Make) -> None:
    """One finite row of length 1 for each text, float32, as long as it says."""
    embedder = make()
    try:
        rows = await embedder.passages(PLAIN)
        assert rows.shape == (len(PLAIN), embedder.dimensions), rows.shape
        _check(rows)
        query = await embedder.query(PLAIN[0])
        assert query.shape == (embedder.dimensions,), query.shape
        _check(query[None])
    finally:
        await embedder.close()


async def is_the_same_each_time(make: Make) -> None:
    """Two of a kind give the same vectors under the same fingerprint."""
    one, other = make(), make()
    try:
        assert one.fingerprint == other.fingerprint
        assert one.fingerprint
        assert _apart(await one.passages(PLAIN), await other.passages(PLAIN)) < _CLOSE
        assert _apart(await one.query(PLAIN[1]), await one.query(PLAIN[1])) < _CLOSE
    finally:
        await one.close()
        await other.close()


async def minds_no_order(make: Make) -> None:
    """The vector of a text does not depend on what stands beside it."""
    embedder = make()
    try:
        many = (PLAIN * 5)[:17]
        together = await embedder.passages(many)
        alone = [(await embedder.passages([text]))[0] for text in PLAIN]
        for place, row in enumerate(together):
            assert _apart(row, alone[place % len(PLAIN)]) < _CLOSE, place
    finally:
        await embedder.close()


async def takes_no_texts(make: Make) -> None:
    """No texts give no rows, of the right length."""
    embedder = make()
    try:
        assert (await embedder.passages([])).shape == (0, embedder.dimensions)
    finally:
        await embedder.close()


async def takes_any_text(make: Make) -> None:
    """Empty, broken and endless texts have vectors as well, and soon."""
    embedder = make()
    try:
        for name, text in STRANGE.items():
            async with asyncio.timeout(30):
                rows = await embedder.passages([text, PLAIN[0]])
                query = await embedder.query(text)
            assert rows.shape == (2, embedder.dimensions), name
            _check(rows)
            _check(query[None])
    finally:
        await embedder.close()


async def finds_what_is_alike(make: Make) -> None:
    """A question is nearest to the passage that shares its words."""
    embedder = make()
    try:
        rows = await embedder.passages(PLAIN[:3])
        query = await embedder.query("when does the ferry leave?")
        assert int((rows @ query).argmax()) == 0
    finally:
        await embedder.close()


async def answers_many_at_once(make: Make) -> None:
    """Several tasks may ask at the same time, and each gets its own."""
    embedder = make()
    try:
        async with asyncio.timeout(120):
            rows = await asyncio.gather(*(embedder.passages([text]) for text in PLAIN))
            again = await embedder.passages(PLAIN)
        for place, row in enumerate(rows):
            assert _apart(row[0], again[place]) < _CLOSE
    finally:
        await embedder.close()


async def refuses_when_closed(make: Make) -> None:
    """After `close`, which may be called twice, everybody is refused."""
    embedder = make()
    await embedder.query(PLAIN[0])
    await embedder.close()
    await embedder.close()
    for ask in (embedder.query(PLAIN[0]), embedder.passages(PLAIN)):
        assert await _refused(ask), "a closed embedder answered"


CHECKS: Mapping[str, Callable[[Make], Awaitable[None]]] = {
    check.__name__: check
    for check in (
        gives_unit_rows,
        is_the_same_each_time,
        minds_no_order,
        takes_no_texts,
        takes_any_text,
        finds_what_is_alike,
        answers_many_at_once,
        refuses_when_closed,
    )
}


class Counted:
    """An `Embedder` that notes what another one was asked, and is out of order while `down` is true."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self.down = False
        self.asked: list[str] = []

    @property
    def fingerprint(self) -> str:
        """See `Embedder`."""
        return self._inner.fingerprint

    @property
    def dimensions(self) -> int:
        """See `Embedder`."""
        return self._inner.dimensions

    async def passages(self, texts: Sequence[str]) -> Floats:
        """See `Embedder`."""
        self._require_up()
        self.asked += texts
        return await self._inner.passages(texts)

    async def query(self, text: str) -> Floats:
        """See `Embedder`."""
        self._require_up()
        self.asked.append(text)
        return await self._inner.query(text)

    async def close(self) -> None:
        """See `Embedder`."""
        await self._inner.close()

    def _require_up(self) -> None:
        if self.down:
            raise EmbedderUnavailableError("the embedder is out of order", "try again")


async def _refused(asking: Awaitable[object]) -> bool:
    """Whether it ends with an error that says what and how to fix it."""
    try:
        await asking
    except EmbedderUnavailableError as error:
        return bool(error.what and error.fix)
    return False


def _check(rows: Floats) -> None:
    np = lazy.numpy
    assert rows.dtype == np.float32, rows.dtype
    assert np.isfinite(rows).all()
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-3)


def _apart(one: Floats, other: Floats) -> float:
    return float(abs(one - other).max())
