import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from limnos.egress.errors import (
    BadAddressError,
    BrokenError,
    EgressError,
    StatusError,
    TimedOutError,
    TooLargeError,
)
from limnos.egress.fetch import Download, Transfer, download, get_json, redirected
from limnos.testing.model_server import JSON, Answer, ModelServer, Recorded

DATA = bytes(range(256)) * 20


def asked(answer: Answer, seconds: float = 2.0) -> Any:
    async def run() -> Any:
        async with ModelServer([answer]) as server:
            return await get_json(server.url, seconds=seconds)

    return asyncio.run(run())


def test_json_is_fetched() -> None:
    assert asked(Answer([b'{"a":', b"[1]}"], 200, JSON)) == {"a": [1]}


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (Answer([b"{}"], 404), StatusError),
        (Answer((), 302, {"location": "http://192.0.2.1"}), StatusError),
        (Answer([b"<html>"]), BrokenError),
        (Answer([b"[" * 100_000]), BrokenError),
        (Answer([b"\xff\xfe"]), BrokenError),
        (Answer([b" " * 100_000] * 11), TooLargeError),
        (Answer([b"{"], ends="reset"), BrokenError),
    ],
)
def test_what_is_no_json_is_an_error(answer: Answer, error: type[EgressError]) -> None:
    with pytest.raises(error):
        asked(answer)


@pytest.mark.parametrize("answer", [Answer(silent=True), Answer([b"{"], ends="hang")])
def test_json_comes_within_the_time_or_not_at_all(answer: Answer) -> None:
    with pytest.raises(TimedOutError):
        asked(answer, seconds=0.1)


# --- downloads ---


def file_server(data: bytes = DATA, *, ranges: bool = True) -> Callable[[Recorded], Answer]:
    """Serves `data`, from an offset where it was asked to and knows how."""

    def answer(request: Recorded) -> Answer:
        wanted = request.headers.get("range", "")
        start = int(wanted.removeprefix("bytes=").removesuffix("-") or 0) if ranges else 0
        if wanted and start >= len(data):
            return Answer((), 416)
        headers = {"content-range": f"bytes {start}-{len(data) - 1}/{len(data)}"} if start else {}
        rest = data[start:]
        headers["content-length"] = str(len(rest))
        return Answer([rest[:700], rest[700:]], 206 if start else 200, headers, plain=True)

    return answer


def load(
    script: Any, offset: int = 0, limit: int = 10_000, path: str = "/file"
) -> tuple[int, bytes, list[tuple[int, int | None]], list[Recorded]]:
    """What a download returns and writes, its progress, and what the server was asked."""
    kept = bytearray(DATA[:offset])
    progress: list[tuple[int, int | None]] = []
    to = Transfer(kept.extend, kept.clear, lambda done, total: progress.append((done, total)))

    async def run() -> tuple[int, list[Recorded]]:
        async with ModelServer(script) as server:
            size = await download(Download(server.url + path, offset, limit), to)
            return size, server.requests

    size, requests = asyncio.run(run())
    return size, bytes(kept), progress, requests


def test_a_file_arrives_whole_and_says_how_far_it_is() -> None:
    size, data, progress, requests = load(file_server())
    assert (size, data) == (len(DATA), DATA)
    assert progress[-1] == (len(DATA), len(DATA))
    assert [done for done, _ in progress] == sorted(done for done, _ in progress)
    assert not {"authorization", "cookie", "range"} & set(requests[0].headers)


def test_a_download_goes_on_where_it_stopped() -> None:
    size, data, progress, requests = load(file_server(), offset=1000)
    assert (size, data) == (len(DATA), DATA)
    assert requests[0].headers["range"] == "bytes=1000-"
    assert progress[-1] == (len(DATA), len(DATA))


def test_a_server_that_can_not_go_on_starts_from_the_beginning() -> None:
    size, data, _, _ = load(file_server(ranges=False), offset=1000)
    assert (size, data) == (len(DATA), DATA)


def test_a_file_that_is_there_already_is_not_sent_again() -> None:
    size, data, _, _ = load(file_server(), offset=len(DATA))
    assert (size, data) == (len(DATA), DATA)


def test_a_range_that_was_not_asked_for_is_refused() -> None:
    with pytest.raises(BrokenError, match="range"):
        load([Answer([b"x"], 206, {"content-range": "bytes 0-0/9"})], offset=5)


@pytest.mark.parametrize("headers", [{}, {"content-length": "5120"}])
def test_a_file_beyond_its_bound_is_refused(headers: dict[str, str]) -> None:
    with pytest.raises(TooLargeError):
        load([Answer([DATA], 200, headers, plain=True)], limit=5000)


def test_a_file_that_breaks_off_is_an_error_and_keeps_what_came() -> None:
    kept = bytearray()

    async def run() -> None:
        async with ModelServer([Answer([DATA], ends="early")]) as server:
            await download(Download(server.url), Transfer(kept.extend, kept.clear))

    with pytest.raises(BrokenError):
        asyncio.run(run())
    assert bytes(kept) == DATA


def test_a_status_without_a_file_is_an_error() -> None:
    with pytest.raises(StatusError, match="404"):
        load([Answer((), 404)])


def test_redirects_on_the_same_loopback_server_are_followed_to_the_end() -> None:
    serve = file_server()

    def answer(request: Recorded) -> Answer:
        moved = Answer((), 302, {"location": "/file"})
        return serve(request) if request.path == "/file" else moved

    assert load(answer, path="/old")[1] == DATA


def test_redirects_without_end_are_given_up() -> None:
    with pytest.raises(BadAddressError, match="redirects"):
        load(lambda request: Answer((), 302, {"location": "/again"}))


@pytest.mark.parametrize(
    "location", ["http://192.0.2.1/file", "http://127.0.0.1:9/file", "ftp://h/f", "", "file:///x"]
)
def test_a_redirect_that_leaves_https_is_refused_and_not_asked(location: str) -> None:
    with pytest.raises(BadAddressError):
        load([Answer((), 302, {"location": location})])


@pytest.mark.parametrize(
    ("url", "location", "onward"),
    [
        ("https://a.test/x", "https://b.test/y", "https://b.test/y"),
        ("https://a.test/x", "/y", "https://a.test/y"),
        ("https://a.test/x", "//b.test/y", "https://b.test/y"),
        ("http://127.0.0.1:5/x", "https://b.test/y", "https://b.test/y"),
    ],
)
def test_redirects_to_https_are_fine(url: str, location: str, onward: str) -> None:
    assert redirected(url, location) == onward


@pytest.mark.parametrize("location", ["http://a.test/x", "http://[", "//[", "https://b:x/", "/\udcff", ""])
def test_a_redirect_from_https_to_http_or_to_no_address_is_refused(location: str) -> None:
    with pytest.raises(BadAddressError):
        redirected("https://a.test/x", location)


def test_a_file_by_http_from_elsewhere_is_refused_before_any_connection() -> None:
    with pytest.raises(BadAddressError, match="https"):
        asyncio.run(download(Download("http://192.0.2.1/file"), Transfer(json.loads, list)))
