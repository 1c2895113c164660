"""A process that runs turns until somebody kills it. Every real run of a tool leaves a line in `effects`.

usage: python -m tests.soak.kernel.victim HOME FOLDER [interrupts|family]; it prints a line for each event.
With `interrupts` the first pieces of some replies call for a critical input that goes before them. A family
works with sub-agents: two side by side in each turn, one of which has one of its own.
"""

import asyncio
import json
import os
import sys
from pathlib import Path

from limnos.agent.settings import load, read_environment
from limnos.kernel.events import ApprovalAsked, Event
from limnos.kernel.seams import Answer
from limnos.service.client import OpenRequest, Send, Session
from limnos.service.local import local_kernel

TURNS = 4
CALLS = 3


def script(folder: Path) -> Path:
    """Turns of three commands each; every command appends its own name to `effects`."""
    steps: list[dict[str, object]] = []
    for turn in range(TURNS):
        for call in range(CALLS):
            command = f"echo t{turn}c{call} >> effects; sleep 0.02"
            steps.append(
                {
                    "text": f"working on {turn}.{call} with several words to stream",
                    "calls": [
                        {"id": f"t{turn}c{call}", "name": "run_command", "arguments": {"command": command}}
                    ],
                    "delay": 0.002,
                }
            )
        steps.append({"text": f"turn {turn} is done and this is its answer", "delay": 0.002})
    path = folder / "script.json"
    path.write_text(json.dumps({"steps": steps}))
    return path


def family(folder: Path) -> Path:
    """Turns whose commands are run by sub-agents; every command appends its own name to `effects`."""
    steps: list[dict[str, object]] = []
    for turn in range(TURNS):
        one, two, three = (f"part {turn} {name}" for name in ("alone", "above", "below"))
        steps.append(
            {"text": "I share it out.", "calls": [_spawn(f"t{turn}s1", one), _spawn(f"t{turn}s2", two)]}
        )
        steps.append({"text": "", "calls": [_spawn(f"t{turn}s3", three)], "to": two})
        for place, part in enumerate((one, three)):
            for number in range(2):
                name = f"t{turn}p{place}c{number}"
                steps.append({"text": "I run it.", "calls": [_command(name)], "to": part, "delay": 0.002})
        steps += [{"text": f"{part} is done", "to": part, "delay": 0.002} for part in (one, three, two)]
        steps.append({"text": f"turn {turn} is done and this is its answer", "delay": 0.002})
    path = folder / "script.json"
    path.write_text(json.dumps({"steps": steps}))
    return path


def _spawn(name: str, task: str) -> dict[str, object]:
    return {"id": name, "name": "spawn_agent", "arguments": {"task": task, "role": "worker"}}


def _command(name: str) -> dict[str, object]:
    return {
        "id": name,
        "name": "run_command",
        "arguments": {"command": f"echo {name} >> effects; sleep 0.02"},
    }


async def main(home: str, folder: str, kind: str = "") -> None:
    """Run the turns, approving every command, and tell of each event on stdout."""
    variables = {
        "HOME": home,
        "LIMNOS_HOME": home,
        "PATH": os.environ["PATH"],
        "LIMNOS_MODEL": f"scripted:{(family if kind == 'family' else script)(Path(home))}",
    }
    environment = read_environment(variables)
    kernel = local_kernel(load(environment), environment)
    session = await kernel.open(OpenRequest(cwd=folder))
    print("session", session.id, flush=True)
    for turn in range(TURNS):
        session.send(Send(f"task {turn}", f"m{turn}"))
    finished = 0
    async for event in session.events():
        print(event.type, event.seq, flush=True)
        _approve(session, event)
        if kind == "interrupts" and event.type == "text_delta" and event.seq % 7 == 0:
            session.send(Send("urgent", f"u{event.seq}", level=4, interrupt=True))
        finished += event.type == "turn_finished"
        if finished == TURNS:
            break
    await kernel.close()
    print("end", flush=True)


def _approve(session: Session, event: Event) -> None:
    if isinstance(event, ApprovalAsked):
        session.answer(event.approval, Answer("once", source="test"))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
