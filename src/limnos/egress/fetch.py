"""Small questions to servers: JSON within a short time, files to a sink."""

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import urljoin

from limnos.egress.address import is_loopback, split, target
from limnos.egress.client import Client, Response, Timeouts
from limnos.egress.errors import BadAddressError, BrokenError, StatusError, TimedOutError, TooLargeError

JSON_BYTES = 1024 * 1024
REDIRECTS = 10
_MOVED = (301, 302, 303, 307, 308)


async def get_json(url: str, *, seconds: float, headers: Mapping[str, str] | None = None) -> Any:
    """The JSON that `url` answers with, connecting included within `seconds`.

    At most 1 MB; no redirect is followed. Raises EgressError: StatusError for any status but 200,
    BrokenError for what is no JSON.
    """
    client = Client(Timeouts(seconds, seconds, seconds, seconds))
    client.prepare(url)
    try:
        async with asyncio.timeout(seconds):
            async with client.get(url, headers) as response:
                if response.status != 200:
                    raise StatusError(target(url), response.status)
                body = await response.read(JSON_BYTES)
    except TimeoutError:
        raise TimedOutError(target(url), f"no answer in {seconds:g} s", "check that it runs") from None
    finally:
        await client.close()
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise BrokenError(
            target(url), "answered with something that is no JSON", "check the address"
        ) from None


class Download(NamedTuple):
    """A file to fetch. `offset` bytes are there already; the whole may not be larger than `limit` bytes."""

    url: str
    offset: int = 0
    limit: int = 8 * 1024**3


class Transfer(NamedTuple):
    """Where the bytes go. `write` takes them in order; `restart` is called when the server can't resume and
    sends the file from its first byte; `progress` is told bytes so far and the total where it is known.
    """

    write: Callable[[bytes], object]
    restart: Callable[[], object]
    progress: Callable[[int, int | None], object] = lambda _done, _total: None


async def download(file: Download, to: Transfer, timeouts: Timeouts | None = None) -> int:
    """Fetch `file` and return the size of the whole, what was there before included.

    Carries no credential. Redirects lead to https only (or stay on the same loopback server), at most ten.
    Cancelling leaves what was written, to be resumed. Raises EgressError.
    """
    client = Client(timeouts or Timeouts(connect_s=10, read_s=60))
    headers = {"range": f"bytes={file.offset}-"} if file.offset else {}
    url = file.url
    if split(url).scheme != "https" and not is_loopback(url):
        raise BadAddressError(target(url), "a model is fetched by https only", "use an https address")
    try:
        for _ in range(REDIRECTS + 1):
            async with client.get(url, headers) as response:
                if response.status not in _MOVED:
                    return await _receive(response, file, to, target(url))
                url = redirected(url, response.headers.get("location", ""))
    finally:
        await client.close()
    raise BadAddressError(target(file.url), f"more than {REDIRECTS} redirects", "use another source")


def redirected(url: str, location: str) -> str:
    """Where a redirect of `url` leads: https, or the same loopback server. Raises BadAddressError."""
    try:
        onward = urljoin(url, location)
    except ValueError:
        raise BadAddressError(target(url), "redirects to no address", "use another source") from None
    parts = split(onward)
    if not location or (parts.scheme != "https" and not (is_loopback(url) and target(onward) == target(url))):
        raise BadAddressError(
            target(url), f"redirects to {target(onward)} without https", "use another source"
        )
    return onward


async def _receive(response: Response, file: Download, to: Transfer, where: str) -> int:
    if response.status == 416 and file.offset:
        return file.offset
    if response.status not in (200, 206):
        raise StatusError(where, response.status)
    done = file.offset
    if response.status == 200 and file.offset:
        to.restart()
        done = 0
    elif response.status == 206 and not _resumes(response, file.offset):
        raise BrokenError(where, "sent another range than the one asked for", "remove the partial file")
    total = _total(response, done)
    if total is not None and total > file.limit:
        raise TooLargeError(where, f"offers {total} bytes, more than {file.limit}", "use another source")
    async for chunk in response.chunks(file.limit - done):
        to.write(chunk)
        done += len(chunk)
        to.progress(done, total)
    return done


def _resumes(response: Response, offset: int) -> bool:
    return response.headers.get("content-range", "").strip().startswith(f"bytes {offset}-")


def _total(response: Response, done: int) -> int | None:
    length = response.headers.get("content-length", "")
    return done + int(length) if length.isascii() and length.isdigit() and len(length) < 16 else None
