"""A configured value that a tool prints or a person types is found nowhere but in the store."""

import base64
import json
from pathlib import Path

import pytest

from tests.frontends.cli.support import limnos, script

VALUE = "Zuerich-42-lake-Pf9"
NAMED = "Ab7-env-Xk2-value"


def _configured(folder: Path) -> None:
    assert limnos(folder, "secrets", "set", "own", given=VALUE).returncode == 0
    (folder / "home" / "config.toml").write_text(
        '[providers.named]\nbase_url = "http://127.0.0.1:9/v1"\napi_key = "env:NAMED_KEY"\n'
    )


def _call(command: str) -> dict[str, object]:
    return {"calls": [{"name": "run_command", "arguments": {"command": command}}]}


def _holding(folder: Path, value: str) -> list[str]:
    """Files below the home with the value, half of it, or its base64."""
    half = len(value) // 2
    forms = (value[:half].encode(), value[half:].encode(), base64.b64encode(value.encode()))
    files = [path for path in (folder / "home").rglob("*") if path.is_file()]
    return sorted({path.name for path in files for form in forms if form in path.read_bytes()})


PRINTS = {
    "a line": "cat value.txt",
    "both values": "cat value.txt; cat named.txt",
    "base64": "base64 value.txt",
    "as an error": "cat value.txt >&2; exit 3",
    "more than is shown at once": "for n in $(seq 6000); do cat value.txt; done",
    "as a job's output": "sh -c 'cat value.txt; sleep 0.2; cat value.txt'",
}


@pytest.mark.parametrize("kind", PRINTS)
def test_what_a_tool_prints_is_masked_on_the_disk_on_the_screen_and_for_the_model(
    tmp_path: Path, kind: str
) -> None:
    _configured(tmp_path)
    (tmp_path / "work" / "value.txt").write_text(VALUE + "\n")
    (tmp_path / "work" / "named.txt").write_text(NAMED + "\n")
    model = script(tmp_path, _call(PRINTS[kind]), {"text": "done"})
    for form in ([], ["--json"]):
        done = limnos(
            tmp_path, "run", "show it", "--mode", "yolo", *form, LIMNOS_MODEL=model, NAMED_KEY=NAMED
        )
        assert done.returncode == 0, done.stderr
        assert VALUE not in done.stdout + done.stderr
        assert base64.b64encode(VALUE.encode()).decode() not in done.stdout + done.stderr

    assert _holding(tmp_path, VALUE) == ["secrets.toml"]
    assert _holding(tmp_path, NAMED) == []
    assert any(
        "[hidden: configured value]" in path.read_text() for path in (tmp_path / "home").rglob("*.jsonl")
    )


def test_what_a_person_types_and_a_model_repeats_is_masked_too(tmp_path: Path) -> None:
    _configured(tmp_path)
    model = script(tmp_path, _call(f"echo {VALUE} > out.txt"), {"text": f"it is {VALUE}"})
    done = limnos(
        tmp_path, "run", f"my key is {VALUE}", "--mode", "yolo", LIMNOS_MODEL=model, NAMED_KEY=NAMED
    )

    assert "it is [hidden: configured value]" in done.stdout
    assert _holding(tmp_path, VALUE) == ["secrets.toml"]
    assert (tmp_path / "work" / "out.txt").read_text() == f"{VALUE}\n"  # what ran is what was asked for
    session = json.loads(limnos(tmp_path, "sessions", "--json").stdout.splitlines()[0])["id"]
    for form in ("markdown", "openai"):
        assert VALUE not in limnos(tmp_path, "export", session, "--format", form).stdout


def test_an_old_session_is_exported_without_a_value_that_became_a_secret_later(tmp_path: Path) -> None:
    model = script(tmp_path, {"text": f"it is {VALUE}"})
    limnos(tmp_path, "run", "what is it", LIMNOS_MODEL=model)
    _configured(tmp_path)
    session = json.loads(limnos(tmp_path, "sessions", "--json").stdout.splitlines()[0])["id"]

    for form in ("markdown", "openai"):
        exported = limnos(tmp_path, "export", session, "--format", form)
        assert exported.returncode == 0
        assert "[hidden: configured value]" in exported.stdout
        assert VALUE not in exported.stdout


def test_without_the_store_nothing_is_masked(tmp_path: Path) -> None:
    """The negative twin: the same text is no secret where it was not configured."""
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "value.txt").write_text(VALUE + "\n")
    model = script(tmp_path, _call("cat value.txt"), {"text": "done"})
    limnos(tmp_path, "run", "show it", "--mode", "yolo", LIMNOS_MODEL=model)

    assert any(name.endswith(".jsonl") for name in _holding(tmp_path, VALUE))
