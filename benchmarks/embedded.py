"""B11: what the embedded model does with a fixed set of requests, English and Chinese, and the real tools.

    python benchmarks/embedded.py [--model NAME] [--data PATH] [--set dev|held|all] [--threads N] [--quick]

Every request runs in a folder of its own with the files of its workspace. *Choice* is the first reply: the
right tool with the right arguments, or the right answer. *Flow* is everything until the answer, tools
executed for real and every question answered with yes: the answer must hold what it should, and the files
must be as they should. All requests were written in one go, without a look at the prompt, and drawn into two
halves at random; the half called `held` was never used for tuning: `--verbose` tells only of the other half.
`embedded_tuning.jsonl` holds more that was used for tuning. The baseline is the same prompt without the
grammar, first replies only.

The last line is one JSON object; shares are in percent.
"""

import argparse
import asyncio
import json
import os
import re
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from limnos.agent.build import Opening, home, open_session
from limnos.agent.clock import SystemClock
from limnos.agent.runner import Runner
from limnos.agent.scheduling import Input
from limnos.agent.settings import Settings, read_environment
from limnos.kernel.errors import LimnosError
from limnos.kernel.events import ApprovalAsked, CallFinished, CallProposed, StepFinished, TurnFinished
from limnos.kernel.seams import Answer
from limnos.providers.catalogue import DEFAULT, entry
from limnos.providers.embedded import Embedded, Options
from limnos.providers.weights import Weights

HERE = Path(__file__).parent
TARGETS = {"choice_held": 90.0, "flow_held": 75.0}
TIME = "2026-03-14T20:31:00.000Z"
STEPS = 6
REPLY_TOKENS = 512
QUICK = 4
SMALLEST = 80


class FixedClock(SystemClock):
    """The machine's clock, but for the date and time."""

    def now(self) -> str:
        return TIME


@dataclass
class Case:
    """One request of the data file."""

    id: str
    set: str
    lang: str
    workspace: str
    ask: str
    first: list[dict[str, Any]]
    final: dict[str, Any]


@dataclass
class Tried:
    """What came of one request."""

    case: Case
    choice: bool
    flow: bool
    path: list[str]
    seconds: float
    tokens: int


@dataclass
class Reply:
    """The first reply: a call, or a text."""

    text: str = ""
    tool: str = ""
    arguments: Mapping[str, Any] | None = None


def load(path: Path) -> tuple[dict[str, dict[str, str]], list[Case]]:
    """The workspaces and the requests of a data file."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    workspaces = {row["workspace"]: row["files"] for row in rows if "files" in row}
    return workspaces, [Case(**row) for row in rows if "ask" in row]


# --------------------------------------------------------------------------------------- what is right


def holds(wanted: Mapping[str, Any], value: Any, cwd: Path) -> bool:
    """Whether one argument is as wanted: `path`, `folder`, `is`, `any`, `has` or `re`."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    match wanted:
        case {"path": path} | {"folder": path}:
            given = text if isinstance(value, str) and value else "."
            return os.path.normpath(cwd / given) == os.path.normpath(cwd / path)
        case {"is": exact}:
            return value == exact
        case {"any": choices}:
            return value in choices
        case {"has": part}:
            return part.lower() in text.lower()
        case {"re": pattern}:
            return re.search(pattern, text, re.IGNORECASE | re.DOTALL) is not None
    raise ValueError(f"unknown predicate {wanted}")


def says(wanted: Mapping[str, Any], text: str) -> bool:
    """Whether `text` has one of each group of `has` and none of `lacks`, whatever the case."""
    low = text.lower()
    found = all(any(option.lower() in low for option in group) for group in wanted.get("has", []))
    return found and not any(part.lower() in low for part in wanted.get("lacks", []))


def chosen_well(case: Case, reply: Reply, cwd: Path) -> bool:
    """Whether the first reply is one of those that are right."""
    for option in case.first:
        if "answer" in option:
            if not reply.tool and says(option["answer"], reply.text):
                return True
        elif reply.tool == option["tool"] and reply.arguments is not None:
            given, wanted = reply.arguments, option["args"]
            absent = [name for name, rule in wanted.items() if name not in given and "folder" not in rule]
            if not absent and all(holds(rule, given.get(name), cwd) for name, rule in wanted.items()):
                return True
    return False


def ended_well(case: Case, answer: str, cwd: Path) -> bool:
    """Whether the answer and the files are as they should be in the end."""
    for name, wanted in case.final.get("files", {}).items():
        file = cwd / name
        text = file.read_text(encoding="utf-8") if file.is_file() else ""
        if not all(part in text for part in wanted.get("has", [])) or not text:
            return False
        if any(part in text for part in wanted.get("lacks", [])):
            return False
    return bool(answer) and says(case.final, answer)


# ------------------------------------------------------------------------------------------ the runner


async def run_case(model: Embedded, case: Case, files: Mapping[str, str], *, whole: bool) -> Tried:
    """One request through the real agent, in a folder of its own; every question is answered with yes."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="b11-") as folder:
        cwd = laid_out(files, f"{folder}/work")
        variables = {
            "HOME": folder,
            "PATH": os.environ.get("PATH", os.defpath),
            "TZ": "UTC",
            "LC_ALL": "C.UTF-8",
        }
        base = home(read_environment(variables))._replace(clock=FixedClock())
        settings = Settings(steps=STEPS, reply_tokens=REPLY_TOKENS)
        opening = Opening(base.files.new_path("sbench"), "sbench", str(cwd))
        runner = open_session(base, settings, model, opening)
        try:
            reply, path, answer, tokens = await follow(runner, case, whole=whole)
        finally:
            await runner.close()
        choice = chosen_well(case, reply, cwd)
        flow = whole and ended_well(case, answer, cwd)
    return Tried(case, choice, flow, path, time.monotonic() - started, tokens)


def laid_out(files: Mapping[str, str], folder: str) -> Path:
    """`folder` with the files of a workspace in it."""
    cwd = Path(folder).resolve()
    for name, text in files.items():
        (cwd / name).parent.mkdir(parents=True, exist_ok=True)
        (cwd / name).write_text(text, encoding="utf-8")
    return cwd


async def follow(runner: Runner, case: Case, *, whole: bool) -> tuple[Reply, list[str], str, int]:
    """The first reply, what happened in one line each, the final answer, and the tokens said."""
    first: Reply | None = None
    path: list[str] = []
    answer, tokens = "", 0
    runner.submit(Input(case.ask, case.id, "bench", "owner"))
    async for event in runner.events(0):
        match event:
            case CallProposed():
                first = first or Reply(tool=event.tool, arguments=event.arguments)
                path.append(f"{event.tool} {json.dumps(event.arguments, ensure_ascii=False)}")
                if not whole:
                    break
            case ApprovalAsked():
                runner.answer(event.approval, Answer("once"))
            case CallFinished():
                path.append(event.text[:200])
            case StepFinished():
                tokens += event.tokens
                if not event.calls:
                    first = first or Reply(text=event.text)
                    answer = event.text
                    path.append(f"answer: {event.text}")
            case TurnFinished():
                if event.reason != "done":
                    path.append(f"turn ended: {event.reason}, {event.message}")
                break
            case _:
                continue
    return first or Reply(), path, answer, tokens


# ------------------------------------------------------------------------------------------ the report


def share(tried: Sequence[Tried], what: str) -> float:
    """Percent of `tried` where `what` is true."""
    return round(100 * sum(getattr(one, what) for one in tried) / max(1, len(tried)), 1)


def report(tried: Sequence[Tried], *, whole: bool, verbose: bool) -> dict[str, float]:
    """Print a table and return its figures."""
    figures: dict[str, float] = {}
    groups: dict[str, list[Tried]] = defaultdict(list)
    for one in tried:
        groups[one.case.set].append(one)
        groups[f"{one.case.set}_{one.case.lang}"].append(one)
        if verbose and one.case.set != "held" and not (one.choice and (one.flow or not whole)):
            print(
                f"  {one.case.id} {'' if one.choice else 'CHOICE '}{'' if one.flow or not whole else 'FLOW'}"
            )
            print(f"    {one.case.ask}")
            for step in one.path:
                print(f"    > {step[:300]!r}")
    for name, members in sorted(groups.items()):
        figures[f"choice_{name}"] = share(members, "choice")
        if whole:
            figures[f"flow_{name}"] = share(members, "flow")
        flow = f"  flow {figures[f'flow_{name}']:5.1f} %" if whole else ""
        print(f"{name:10} {len(members):3} requests  choice {figures[f'choice_{name}']:5.1f} %{flow}")
    return figures


async def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Run everything that was asked for."""
    workspaces, cases = load(options.data)
    cases = [case for case in cases if options.set in ("all", case.set)]
    if options.quick:
        cases = [case for name in ("dev", "held") for case in [c for c in cases if c.set == name][:QUICK]]
    file = await fetched(options.model, options.cache)
    result: dict[str, Any] = {"bench": "embedded", "model": options.model, "requests": len(cases)}
    for label, grammar, whole in (("grammar", True, not options.first_only), ("baseline", False, False)):
        if label == "baseline" and (options.no_baseline or options.quick):
            continue
        print(f"\n{options.model}, {'with' if grammar else 'without'} the grammar")
        model = Embedded(
            entry(options.model),
            file,
            Options(threads=options.threads, grammar=grammar),
            now=lambda: "Saturday, 2026-03-14 20:31 UTC",
        )
        try:
            tried: list[Tried] = []
            for case in cases:
                tried.append(await run_case(model, case, workspaces[case.workspace], whole=whole))
                marks = "".join(
                    mark if good else "-" for mark, good in (("c", tried[-1].choice), ("f", tried[-1].flow))
                )
                print(f"  {case.id} {marks} {tried[-1].seconds:.1f} s", flush=True)
        finally:
            await model.close()
        figures = report(tried, whole=whole, verbose=options.verbose)
        tokens, seconds = sum(one.tokens for one in tried), sum(one.seconds for one in tried)
        print(f"{len(tried)} ran, {seconds / max(1, len(tried)):.1f} s a request, {tokens} tokens said")
        if len(tried) != len(cases):
            raise SystemExit(f"only {len(tried)} of {len(cases)} requests ran")
        result["ran" if grammar else "baseline_ran"] = len(tried)
        result |= {name if grammar else f"baseline_{name}": value for name, value in figures.items()}
    return result


async def fetched(name: str, cache: Path) -> Path:
    """The model file, fetched if need be."""
    weights = Weights(cache, {key: value for key, value in os.environ.items() if key.isupper()})
    last = [""]

    def tell(progress: Any) -> None:
        if progress.doing != last[0]:
            last[0] = progress.doing
            print(
                f"{name}: {progress.doing}, {progress.done / 1e6:.0f} of {progress.total / 1e6:.0f} MB",
                flush=True,
            )

    return await weights.get(entry(name), tell)


def main() -> int:
    """Measure, print, and compare with the targets (the default model on the shipped requests)."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default=DEFAULT)
    parser.add_argument("--data", type=Path, default=HERE / "embedded_requests.jsonl")
    parser.add_argument("--set", choices=("all", "dev", "held"), default="all")
    parser.add_argument(
        "--cache", type=Path, default=Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    )
    parser.add_argument("--threads", type=int, default=0, help="0: all cores; 1 where other work runs beside")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} requests of each half, no baseline")
    parser.add_argument("--no-baseline", action="store_true")
    parser.add_argument("--first-only", action="store_true", help="first replies only")
    parser.add_argument("--verbose", action="store_true", help="print what went wrong in dev")
    options = parser.parse_args()
    try:
        result = asyncio.run(measure(options))
    except LimnosError as error:
        print(f"error: {error.what}\nfix: {error.fix}", file=sys.stderr)
        return error.exit_code
    own = options.data == HERE / "embedded_requests.jsonl"
    if own and options.set == "all" and not options.quick and result["ran"] < SMALLEST:
        print(f"only {result['ran']} requests, at least {SMALLEST} are needed", file=sys.stderr)
        return 1
    judged = options.model == DEFAULT and not options.quick
    missed = [name for name, least in TARGETS.items() if judged and result.get(name, least) < least]
    result["missed"] = missed
    print(json.dumps(result, ensure_ascii=False))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
