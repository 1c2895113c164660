"""The whole loop against a server that speaks each dialect of the case file: the right calls run, once."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from limnos.agent.build import Opening, home, open_session
from limnos.agent.models import Sources, make
from limnos.agent.scheduling import Input
from limnos.agent.settings import load, read_environment
from limnos.kernel.events import Event, TurnFinished
from limnos.kernel.messages import Arguments
from limnos.kernel.tools import Output, Tool, ToolContext
from limnos.testing.case_kinds.same import same_json
from limnos.testing.cases import read_cases
from limnos.testing.model_server import Answer, ModelServer, Recorded, text_answer
from tests.conftest import SHARED

CASES = [case for case in read_cases(SHARED / "cases" / "streaming.jsonl") if case["expect"]["execute"]]
SECONDS = 30


def runs(case: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Name and arguments of the calls that a case wants to see run."""
    calls = case["expect"]["calls"]
    return [(call["name"], call["arguments"]) for call in calls if call.get("execute", True)]


async def talk(case: Mapping[str, Any], folder: Path) -> tuple[list[tuple[str, Arguments]], list[Event]]:
    """One turn: the case's reply, then a plain answer; what ran, and what happened."""
    ran: list[tuple[str, Arguments]] = []
    first = Answer([case["sse"].encode()], ends="reset" if case["ends"] == "reset" else "done")

    def reply(request: Recorded) -> Answer:
        results = [message for message in request.json()["messages"] if message["role"] == "tool"]
        return text_answer("done") if results else first

    def tool(name: str) -> Tool:
        async def execute(arguments: Arguments, context: ToolContext) -> Output:
            ran.append((name, arguments))
            return Output(f"{name} ran")

        return Tool(name, f"the tool {name}", {"type": "object"}, execute)

    async with ModelServer(reply) as server:
        config = folder / ".limnos" / "config.toml"
        config.parent.mkdir()
        config.write_text(f'[providers.local]\nbase_url = "{server.url}"\nmodel = "m"\n')
        environment = read_environment({"HOME": str(folder)})
        base, settings = home(environment), load(environment)
        model = make("local/m", Sources(settings, environment, base.clock, base.buckets))
        names = dict.fromkeys(call["name"] for call in case["expect"]["calls"])
        opening = Opening(base.files.new_path("scase"), "scase", str(folder), tools=tuple(map(tool, names)))
        runner = open_session(base, settings, model, opening)
        runner.submit(Input("go", "m1", "test", "owner"))
        events: list[Event] = []
        async for event in runner.events(0):
            events.append(event)
            if isinstance(event, TurnFinished):
                break
        await runner.close()
        await model.close()
    return ran, events


@pytest.mark.parametrize("case", [case for case in CASES if "sse" in case], ids=lambda case: case["id"])
def test_the_calls_of_every_dialect_run_once_and_the_turn_ends(case: dict[str, Any], tmp_path: Path) -> None:
    ran, events = asyncio.run(asyncio.wait_for(talk(case, tmp_path), SECONDS))

    wanted = runs(case)
    assert [name for name, _ in ran] == [name for name, _ in wanted]
    assert all(same_json(dict(got), want) for (_, got), (_, want) in zip(ran, wanted, strict=True))
    end = events[-1]
    assert isinstance(end, TurnFinished)
    assert (end.reason, end.calls) == ("done", len(wanted))
