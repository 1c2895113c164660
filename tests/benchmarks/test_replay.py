"""The replay benchmark on recordings of its own: what it counts, and that the engine holds its targets."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

REPLAY = Path(__file__).parents[2] / "benchmarks" / "replay.py"


def _call(number: int, name: str, **arguments: str) -> dict[str, Any]:
    call = {"id": f"c{number}", "type": "function"}
    call["function"] = {"name": name, "arguments": json.dumps(arguments)}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def _result(number: int, text: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": f"c{number}", "content": text}


def _chat(steps: int) -> dict[str, Any]:
    """A booking whose number is said at the beginning and needed at the end, long outputs between."""
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "You are an agent."},
        {"role": "user", "content": "My booking is RX-20417, please look at all the files first."},
    ]
    for number in range(steps):
        messages += [_call(number, "read", path=f"notes/{number}.txt"), _result(number, "some words " * 150)]
    messages += [_call(steps, "cancel", booking="RX-20417"), _result(steps, "ok")]
    return {"messages": [*messages, {"role": "assistant", "content": "done"}]}


def _measure(folder: Path, *options: str) -> tuple[dict[str, Any], str]:
    lines = [json.dumps(_chat(steps)) for steps in (6, 20, 40)]
    (folder / "made.jsonl").write_text("\n".join(lines))
    command = [sys.executable, str(REPLAY), "--quick", "--data", str(folder), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return json.loads(done.stdout.splitlines()[-1]), done.stdout


def test_a_value_that_a_tail_loses_is_still_there_and_nothing_is_invalid(tmp_path: Path) -> None:
    figures, table = _measure(tmp_path)

    assert (figures["invalid"], figures["budgets_below_tail"]) == (0, 0)
    assert figures["recovered_percent"] == 100.0
    assert figures["prefix_reuse"] >= 90
    assert figures["renders"] > 100
    assert figures["ok"] is True
    assert "made: 3 conversations" in table


def test_without_ledger_and_relevance_the_value_is_lost_where_its_message_sinks(tmp_path: Path) -> None:
    figures, _ = _measure(tmp_path, "--without", "ledger", "--without", "relevance")

    assert figures["invalid"] == 0
