"""The run over all benchmarks: what one script does never costs the figures of the others."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

RUN = Path(__file__).parents[2] / "benchmarks" / "run.py"
GOOD = 'print("a table"); print(\'{"ms": 1.5, "ok": true}\')'
HANGS = "import subprocess; subprocess.run(['sleep', '600'])"


def _run(folder: Path, *options: str, **scripts: str) -> tuple[subprocess.CompletedProcess[str], Any]:
    """Run the benchmarks `scripts`; how it ended, and the figures it wrote."""
    shutil.copy(RUN, folder)
    for name, text in scripts.items():
        (folder / f"{name}.py").write_text(text)
    command = [sys.executable, str(folder / "run.py"), *options, *scripts]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return done, json.loads((folder / "results.json").read_text())["figures"]


def test_figures_are_written_and_a_missed_target_is_an_exit_status(tmp_path: Path) -> None:
    done, figures = _run(tmp_path, good=GOOD)
    assert (done.returncode, figures) == (0, {"good": {"ms": 1.5, "ok": True}})

    done, figures = _run(tmp_path, good=GOOD, missed=GOOD.replace("true", "false"))
    assert (done.returncode, figures["missed"]["ok"]) == (1, False)
    assert done.stdout.endswith("missed a target: missed\n")


def test_a_script_that_says_nothing_is_ended_with_what_it_started_and_the_others_count(
    tmp_path: Path,
) -> None:
    done, figures = _run(tmp_path, "--limit", "1.5", hangs=HANGS, good=GOOD)

    assert done.returncode == 1
    assert "hangs: no end after 1.5 s; it was ended\n" in done.stderr
    assert figures["hangs"] == {"failed": "no end after 1.5 s; it was ended", "ok": False}
    assert figures["good"] == {"ms": 1.5, "ok": True}


def test_a_script_that_breaks_has_a_reason_instead_of_figures(tmp_path: Path) -> None:
    done, figures = _run(tmp_path, breaks="raise SystemExit(3)", good=GOOD)

    assert done.returncode == 1
    assert "breaks: no result; it ended with status 3\n" in done.stderr
    assert set(figures) == {"breaks", "good"}
