"""Runs every benchmark and writes results.json and results.md beside this file.

usage: python benchmarks/run.py [--quick] [NAME ...]
"""

import argparse
import json
import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SCRIPTS = ("step", "start", "embedded")
LONGEST_S = 60  # to end, once a script has printed its last line


def run(name: str, quick: bool) -> dict[str, Any]:
    """One benchmark; its tables go to stdout as they come, its last line is the result."""
    command = [sys.executable, str(HERE / f"{name}.py"), *(["--quick"] if quick else [])]
    print(f"\n== {name}", flush=True)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        last = ""
        for line in child.stdout:
            print(line, end="", flush=True)
            last = line if line.strip() else last
        passed = child.wait(LONGEST_S) == 0
    try:
        figures = json.loads(last)
        return {**figures, "ok": passed and figures.get("ok", True)}
    except ValueError:
        raise SystemExit(f"{name} failed") from None


def machine() -> str:
    """What this was measured on, without naming the machine."""
    cores = os.cpu_count()
    return f"{platform.system()} {platform.machine()}, {cores} cores, Python {platform.python_version()}"


def commit() -> str:
    """The commit that was measured."""
    command = ["git", "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=False).stdout.strip()


def markdown(results: dict[str, Any]) -> str:
    """The figures as one table."""
    lines = ["# Results", "", f"{results['date']}, commit {results['commit']}, {results['machine']}.", ""]
    lines += ["| benchmark | figure | value |", "|---|---|---|"]
    for name, figures in results["figures"].items():
        for key, value in figures.items():
            lines.append(f"| {name} | {key} | {json.dumps(value)} |")
    return "\n".join([*lines, ""])


def main() -> int:
    """Run what was asked for and write the results."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("names", nargs="*", default=list(SCRIPTS))
    given = parser.parse_args()
    results: dict[str, Any] = {
        "date": datetime.now(UTC).date().isoformat(),
        "commit": commit(),
        "machine": machine(),
        "quick": given.quick,
        "figures": {name: run(name, given.quick) for name in given.names},
    }
    (HERE / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    (HERE / "results.md").write_text(markdown(results))
    missed = [name for name, figures in results["figures"].items() if not figures["ok"]]
    print(f"missed a target: {', '.join(missed)}" if missed else "all targets met", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
