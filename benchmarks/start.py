"""B8: how long limnos takes to start, over bare Python, and how much memory it needs.

usage: python benchmarks/start.py [--quick] [--repeat N]

Unit: seconds of wall time of a whole process, median of runs that alternate with `python -c pass`; memory
is the peak resident size of the process in MB. `first_event` is `limnos run` with a scripted model, until the
first line of `--json` is read; `kernel` is the peak memory of such a whole run of 30 tool steps.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

LIMNOS = str(Path(sys.executable).with_name("limnos"))
STEPS = 30


def environment(folder: Path) -> dict[str, str]:
    """An empty home and a scripted model of 30 tool steps."""
    calls = [{"calls": [{"name": "list_dir", "arguments": {"path": f"d{n}"}}]} for n in range(STEPS)]
    script = folder / "script.json"
    script.write_text(json.dumps({"steps": [*calls, {"text": "done"}]}))
    for n in range(STEPS):
        (folder / f"d{n}").mkdir()
    return {
        "HOME": str(folder), "PATH": os.environ["PATH"], "LANG": "C.UTF-8",
        "LIMNOS_MODEL": f"scripted:{script}", "LIMNOS_STEPS": str(STEPS + 5),
    }  # fmt: skip


def whole(command: list[str], known: dict[str, str], folder: Path) -> float:
    """Wall seconds of a process from start to end."""
    began = time.perf_counter()
    subprocess.run(command, env=known, cwd=folder, check=True, capture_output=True, timeout=60)
    return time.perf_counter() - began


def first_event(known: dict[str, str], folder: Path) -> float:
    """Seconds until `limnos run --json` has printed its first event."""
    began = time.perf_counter()
    command = [LIMNOS, "run", "--json", "go"]
    with subprocess.Popen(
        command, env=known, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as child:
        assert child.stdout is not None
        json.loads(child.stdout.readline())
        took = time.perf_counter() - began
        child.stdout.read()
    return took


def peak_mb(command: list[str], known: dict[str, str], folder: Path) -> float:
    """Peak resident memory of a process, measured by a child that only waits for it."""
    code = (
        "import resource, subprocess, sys;"
        "subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL);"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *command],
        env=known,
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    unit = 1024 if sys.platform == "linux" else 1024 * 1024
    return int(done.stdout.strip().splitlines()[-1]) / unit


def medians(measures: dict[str, Callable[[], float]], repeat: int) -> dict[str, float]:
    """The median of each, the runs taken in turn."""
    runs: dict[str, list[float]] = {name: [] for name in measures}
    for _ in range(repeat):
        for name, measure in measures.items():
            runs[name].append(measure())
    return {name: statistics.median(values) for name, values in runs.items()}


def main() -> int:
    """Measure, print the table, end with one JSON object."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--repeat", type=int, default=15)
    given = parser.parse_args()
    repeat = 5 if given.quick else given.repeat
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        known = environment(folder)
        seconds = medians(
            {
                "bare": lambda: whole([sys.executable, "-c", "pass"], known, folder),
                "help": lambda: whole([LIMNOS, "--help"], known, folder),
                "first_event": lambda: first_event(known, folder),
            },
            repeat,
        )
        memory = {
            "help": peak_mb([LIMNOS, "--help"], known, folder),
            "kernel": peak_mb([LIMNOS, "run", "--json", "go"], known, folder),
        }
    over = {kind: (seconds[kind] - seconds["bare"]) * 1000 for kind in ("help", "first_event")}
    print(f"{repeat} runs each, {STEPS} tool steps in the run measured for memory")
    print("| what | seconds, median | ms over bare Python | MB |\n|---|---|---|---|")
    print(f"| python -c pass | {seconds['bare']:.3f} | - | - |")
    print(f"| limnos --help | {seconds['help']:.3f} | {over['help']:.0f} | {memory['help']:.0f} |")
    first = f"{seconds['first_event']:.3f} | {over['first_event']:.0f} | {memory['kernel']:.0f}"
    print(f"| limnos run, first event | {first} |")
    ok = (
        max(over.values()) <= 120
        and seconds["help"] <= 0.20
        and memory["help"] <= 45
        and memory["kernel"] <= 90
    )
    print(
        json.dumps(
            {
                "help_ms_over_bare": round(over["help"], 1),
                "help_s": round(seconds["help"], 3),
                "first_event_ms_over_bare": round(over["first_event"], 1),
                "help_mb": round(memory["help"], 1),
                "kernel_mb": round(memory["kernel"], 1),
                "runs": repeat,
                "ok": ok,
            }
        )
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
