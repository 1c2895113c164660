"""The scale benchmark at its smallest: real figures, and a last line that a program can read."""

import json
import subprocess
import sys
from pathlib import Path

SCALE = Path(__file__).parents[2] / "benchmarks" / "scale.py"
LINE = {
    "role": "user",
    "content": "please look at src/limnos/memory/index.py and say what refresh does, in words",
}


def test_a_small_store_is_measured_and_its_figures_are_named(tmp_path: Path) -> None:
    (tmp_path / "talk.jsonl").write_text("".join(json.dumps(LINE | {"n": n}) + "\n" for n in range(20)))
    command = [sys.executable, str(SCALE), "--data", str(tmp_path), "--sizes", "60"]

    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)

    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout.strip().splitlines()[-1])
    assert {"engine_ms", "product_ms", "sink_ms", "recall_ms"} <= figures["sizes"]["60"].keys()
    assert figures["open_ms"] > 0
    assert figures["memory_ratio"] > 0
