"""The main job against a real llama.cpp server over HTTP, by its `base_url`."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from limnos.agent.settings import read_environment
from limnos.providers.catalogue import entry
from limnos.providers.weights import Weights
from tests.architecture.source import ROOT

KEY = "k-0123456789abcdef"
LIMNOS = str(Path(sys.executable).with_name("limnos"))
TASK = "List the files in this folder with a tool and tell me which one is the largest"
DEADLINE_S = 420  # half a minute alone; the machine is shared


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Where a llama.cpp server with the small model listens."""
    file = Weights(read_environment().cache).ready(entry("qwen2.5-coder-0.5b"))
    command = [sys.executable, "-m", "tests.e2e.llama_server", str(file), KEY]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        assert server.stdout is not None
        assert server.stdin is not None
        yield server.stdout.readline().strip()
        server.kill()


def person(folder: Path, address: str) -> dict[str, str]:
    """A home that knows the server."""
    home = folder / "home"
    (home / ".limnos").mkdir(parents=True)
    table = [
        f'base_url = "{address}"',
        'model = "qwen"',
        'api_key = "env:LLAMA_KEY"',
        "context_tokens = 8192",
    ]
    (home / ".limnos" / "config.toml").write_text("\n".join(["[providers.local]", *table, ""]))
    return {"HOME": str(home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "LLAMA_KEY": KEY}


def limnos(known: dict[str, str], folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    """Run the program with nobody at its terminal."""
    return subprocess.run(
        [LIMNOS, *words],
        cwd=folder,
        env=known,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )


def test_a_real_server_chooses_a_tool_and_gets_its_result(address: str, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "film.mp4").write_bytes(b"x" * 3000)
    (work / "notes.txt").write_text("short")
    # the small model often goes on in circles: the number of steps and tokens is what it may take here
    known = person(tmp_path, address) | {"LIMNOS_CONTEXT_RESERVE": "96", "LIMNOS_STEPS": "3"}

    done = limnos(known, work, "run", "--json", TASK)

    events = [json.loads(line) for line in done.stdout.splitlines()]
    results = [event for event in events if event["type"] == "call_finished"]
    usage = [event for event in events if event["type"] == "usage"]
    assert events[-1]["type"] == "turn_finished", done.stderr
    assert (results[0]["tool"], results[0]["outcome"]) == ("list_dir", "done")
    assert "film.mp4 with 3000 bytes" in results[0]["text"]
    assert usage[1]["prompt_tokens"] > usage[0]["prompt_tokens"] > 500
    assert not usage[0]["estimated"]


def test_a_wrong_key_is_refused_with_what_to_do(address: str, tmp_path: Path) -> None:
    known = person(tmp_path, address) | {"LLAMA_KEY": "k-wrong-0123456789"}

    done = limnos(known, tmp_path, "run", "hello")

    assert done.returncode == 1
    assert "401" in done.stderr
    assert "LLAMA_KEY" in done.stderr
    assert "k-wrong-0123456789" not in done.stderr
