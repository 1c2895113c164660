"""Runs a case file against the product's real code: `python -m limnos.testing.cases KIND FILE`.

Prints each failing id with what came instead, then `N passed, M failed`. Exit status 1 when any failed,
2 when the kind is unknown or the file cannot be read.
"""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

from limnos.testing.case_kinds import (
    approvals,
    archives,
    arguments,
    edits,
    pairing,
    retry_after,
    secrets,
    session_damage,
    streaming,
    terminal,
)

Check: TypeAlias = Callable[[dict[str, Any]], str | None]

KINDS: dict[str, Check] = {
    "approvals": approvals.check,
    "archives": archives.check,
    "arguments": arguments.check,
    "edits": edits.check,
    "pairing": pairing.check,
    "retry_after": retry_after.check,
    "secrets": secrets.check,
    "session_damage": session_damage.check,
    "streaming": streaming.check,
    "terminal": terminal.check,
}


def read_cases(path: Path) -> Iterator[dict[str, Any]]:
    """The cases of a JSON Lines file."""
    for line in path.read_text(encoding="utf-8").split("\n"):
        if line.strip():
            yield json.loads(line)


def run(kind: str, path: Path) -> tuple[int, list[tuple[str, str]]]:
    """Check every case; returns how many passed, and id and difference of those that did not."""
    check = KINDS[kind]
    passed = 0
    failed: list[tuple[str, str]] = []
    for case in read_cases(path):
        difference = check(case)
        if difference is None:
            passed += 1
        else:
            failed.append((case["id"], difference))
    return passed, failed


def main(arguments_: list[str]) -> int:
    """The command line; `--kinds` lists what can be run."""
    if arguments_ == ["--kinds"]:
        print("\n".join(KINDS))
        return 0
    if len(arguments_) != 2 or arguments_[0] not in KINDS:
        print(f"usage: python -m limnos.testing.cases KIND FILE; kinds: {', '.join(KINDS)}", file=sys.stderr)
        return 2
    try:
        passed, failed = run(arguments_[0], Path(arguments_[1]))
    except (OSError, json.JSONDecodeError) as error:
        print(f"error: {arguments_[1]} cannot be read: {error}", file=sys.stderr)
        return 2
    for case_id, difference in failed:
        print(f"{case_id}: {difference}")
    print(f"{passed} passed, {len(failed)} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
