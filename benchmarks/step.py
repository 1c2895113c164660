"""B4: what one step of the agent loop costs over a loopback model; in ratios to a bare client's loop.

usage: python benchmarks/step.py [--quick] [--steps 30,300] [--repeat N]

Unit: milliseconds a step (one model reply and one call of a trivial tool), median over repetitions; every
contender talks to the same server process, one after the other in turns. limnos runs with its real gate,
validation and a durable audit log. The frameworks run in an environment of the benchmark's own,
`benchmarks/.venv`, made at the first run from `benchmarks/requirements.txt`.
"""

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
CONTENDERS = ("bare", "limnos", "pydantic_ai", "langgraph", "openai_agents")
OURS = ("bare", "limnos")
TARGETS = {"vs_bare": 2.0, "fastest_framework": 5.0}


def framework_python() -> Path:
    """The interpreter of the benchmark's own environment, made when it is missing or out of date."""
    folder, lock = HERE / ".venv", HERE / "requirements.txt"
    stamp = folder / "installed.txt"
    python = folder / "bin" / "python"
    if stamp.exists() and stamp.read_text() == lock.read_text():
        return python
    print("installing the frameworks into benchmarks/.venv", file=sys.stderr)
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    install = [str(python), "-m", "pip", "install", "--quiet", "--require-hashes", "--requirement", str(lock)]
    subprocess.run(install, check=True)
    stamp.write_text(lock.read_text())
    return python


def measure(contender: str, port: int, steps: int) -> float:
    """Milliseconds a step of one run of one contender, each in a fresh process."""
    python = sys.executable if contender in OURS else str(framework_python())
    command = [python, str(HERE / "contenders" / f"{contender}_loop.py"), str(port), str(steps)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode:
        raise SystemExit(f"{contender} failed:\n{done.stderr[-2000:]}")
    said = json.loads(done.stdout.strip().splitlines()[-1])
    if said["calls"] != steps:
        raise SystemExit(f"{contender} ran {said['calls']} of {steps} calls: this is no measurement")
    return float(said["ms_per_step"])


def main() -> int:
    """Measure, print the table, end with one JSON object."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="fewer repetitions, 30 steps only")
    parser.add_argument("--steps", default="30,300")
    parser.add_argument("--repeat", type=int, default=5)
    given = parser.parse_args()
    sizes = [30] if given.quick else [int(size) for size in given.steps.split(",")]
    repeat = 3 if given.quick else given.repeat
    server = subprocess.Popen(
        [sys.executable, str(HERE / "loopback_model.py")], stdout=subprocess.PIPE, text=True
    )
    assert server.stdout is not None
    try:
        port = int(server.stdout.readline())
        figures = {str(size): table(port, size, repeat) for size in sizes}
    finally:
        server.terminate()
        server.wait(10)
        server.stdout.close()
    print(json.dumps(summary(figures)))
    return 0


def table(port: int, steps: int, repeat: int) -> dict[str, float]:
    """The medians of all contenders at one number of steps; runs are interleaved."""
    runs: dict[str, list[float]] = {name: [] for name in CONTENDERS}
    for _ in range(repeat):
        for name in CONTENDERS:
            runs[name].append(measure(name, port, steps))
    medians = {name: statistics.median(values) for name, values in runs.items()}
    print(f"\n{steps} steps, {repeat} runs each, {steps} calls executed in each run")
    print("| loop | ms a step, median | min | max | times bare |\n|---|---|---|---|---|")
    for name, values in runs.items():
        ratio = medians[name] / medians["bare"]
        print(f"| {name} | {medians[name]:.2f} | {min(values):.2f} | {max(values):.2f} | {ratio:.1f} |")
    return medians


def summary(figures: dict[str, dict[str, float]]) -> dict[str, object]:
    """The figures under the names of the benchmark table, and whether they meet its targets."""
    said: dict[str, object] = {}
    for size, medians in figures.items():
        others = {name: value for name, value in medians.items() if name not in OURS}
        vs_bare = medians["limnos"] / medians["bare"]
        least = min(others.values()) / medians["limnos"]
        said[f"steps_{size}"] = {
            "ms": {name: round(value, 3) for name, value in medians.items()},
            "vs_bare": round(vs_bare, 2),
            "fastest_framework": round(least, 2),
            "calls": int(size),
        }
        said["ok"] = (
            bool(said.get("ok", True))
            and vs_bare <= TARGETS["vs_bare"]
            and least >= TARGETS["fastest_framework"]
        )
    return said


if __name__ == "__main__":
    sys.exit(main())
