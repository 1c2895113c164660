"""Reading and deciding: what the gate takes for a command line.

usage: python benchmarks/shell.py [--quick] [--data FILE]

Unit: milliseconds for one command line of FILE (JSON Lines with `command` and `rules`, as the approval cases;
by default those beside the checkout): read, judged, decided by its rules; the fastest of some rounds, once
everything is loaded. Target: at most 2 ms for the longest one.
"""

import argparse
import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from limnos.agent.shell import Place, inspect
from limnos.kernel.deciding import Standing, decide
from limnos.kernel.seams import Rule

CASES = Path(__file__).parents[1] / ".." / "shared" / "cases" / "approvals.jsonl"
TARGET_MS = 2.0
PLACE = Place("/home/u/project", "/home/u", "/home/u/.limnos", "u")


def once(case: dict[str, Any]) -> float:
    """Milliseconds for one case."""
    rules = [Rule(rule["effect"], "run_command", rule["match"]) for rule in case.get("rules", [])]
    began = time.perf_counter()
    findings = inspect(case["command"], PLACE).findings
    decide(findings, rules, Standing("auto", needs_yes=True))
    return (time.perf_counter() - began) * 1000


def main() -> int:
    """Measure, print the table, end with one JSON object; 1 when the target is missed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    parser.add_argument("--data", type=Path, default=CASES, help="a file of approval cases")
    given = parser.parse_args()
    cases = [json.loads(line) for line in given.data.read_text(encoding="utf-8").split("\n") if line.strip()]
    rounds = 5 if given.quick else 21
    for case in cases:
        once(case)
    times = {case["id"]: min(once(case) for _ in range(rounds)) for case in cases}
    slowest = max(times, key=lambda name: times[name])
    print(f"{len(cases)} command lines, the fastest of {rounds} rounds each")
    print("| what | ms |\n|---|---|")
    print(f"| median | {statistics.median(times.values()):.3f} |")
    print(f"| slowest, {slowest} | {times[slowest]:.3f} |")
    ok = times[slowest] <= TARGET_MS
    middle = statistics.median(times.values())
    figures = {"median_ms": round(middle, 3), "longest_ms": round(times[slowest], 3)}
    print(json.dumps({**figures, "commands": len(cases), "ok": ok}))
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
