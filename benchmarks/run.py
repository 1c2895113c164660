"""Runs every benchmark and writes results.json and results.md beside this file.

usage: python benchmarks/run.py [--quick] [--limit SECONDS] [NAME ...]

A script that takes longer than the limit is ended; it counts as a target that is missed, and the figures of
the others are written.
"""

import argparse
import json
import os
import platform
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SCRIPTS = (
    "step", "start", "plugins", "shell", "sandbox", "files", "recall", "replay", "scale", "embedded",
)  # fmt: skip
LIMIT_S = 7200.0  # for one script; the embedded model has two hours on a busy machine


def run(name: str, quick: bool, limit_s: float) -> dict[str, Any]:
    """One benchmark; its tables go to stdout as they come, its last line is the result.

    Without a result, or when it is not over after `limit_s`, the result is `failed` with the reason.
    """
    command = [sys.executable, str(HERE / f"{name}.py"), *(["--quick"] if quick else [])]
    print(f"\n== {name}", flush=True)
    late = threading.Event()
    # a group of its own: what a script has started ends with it, or its pipe would stay open
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as child:
        timer = threading.Timer(limit_s, lambda: (late.set(), end(child)))
        timer.start()
        try:
            last = show(child)
        except BaseException:
            end(child)
            raise
        finally:
            timer.cancel()
    if late.is_set():
        return failed(name, f"no end after {limit_s:g} s; it was ended")
    try:
        figures = json.loads(last)
    except ValueError:
        return failed(name, f"no result; it ended with status {child.returncode}")
    return {**figures, "ok": child.returncode == 0 and figures.get("ok", True)}


def show(child: "subprocess.Popen[str]") -> str:
    """Print what a script says until it ends; its last line."""
    assert child.stdout is not None
    last = ""
    for line in child.stdout:
        print(line, end="", flush=True)
        last = line if line.strip() else last
    child.wait()
    return last


def end(child: "subprocess.Popen[str]") -> None:
    """End a script with all that it has started."""
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)


def failed(name: str, why: str) -> dict[str, Any]:
    """Say why a script has no figures."""
    print(f"{name}: {why}", file=sys.stderr, flush=True)
    return {"failed": why, "ok": False}


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
    parser.add_argument("--limit", type=float, default=LIMIT_S, metavar="SECONDS")
    parser.add_argument("names", nargs="*", default=list(SCRIPTS))
    given = parser.parse_args()
    results: dict[str, Any] = {
        "date": datetime.now(UTC).date().isoformat(),
        "commit": commit(),
        "machine": machine(),
        "quick": given.quick,
        "figures": {name: run(name, given.quick, given.limit) for name in given.names},
    }
    (HERE / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    (HERE / "results.md").write_text(markdown(results))
    missed = [name for name, figures in results["figures"].items() if not figures["ok"]]
    print(f"missed a target: {', '.join(missed)}" if missed else "all targets met", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
