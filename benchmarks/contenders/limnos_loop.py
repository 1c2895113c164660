"""The real kernel: gate, validation, durable audit log on the disk, over the real provider."""

import asyncio
import json
import os
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from limnos import lazy
from limnos.agent.build import Opening, home, open_session
from limnos.agent.models import Sources, make
from limnos.agent.scheduling import Input
from limnos.agent.settings import Settings, read_environment
from limnos.kernel.messages import Arguments
from limnos.kernel.tools import Output, Tool, ToolContext

# loaded at first use in the product; imports are outside of what any contender is timed for
LOADED = (lazy.httpcore2, lazy.jsonschema_rs)
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer", "description": "number"}}}


async def main(port: int, steps: int) -> None:
    """One turn of `steps` calls."""
    ran = 0

    async def step(arguments: Arguments, context: ToolContext) -> Output:
        nonlocal ran
        ran += 1
        return Output(f"did {arguments['n']}")

    with tempfile.TemporaryDirectory(dir=Path(__file__).parent) as folder:
        environment = read_environment({"HOME": folder, "PATH": os.environ["PATH"]})
        base = home(environment)
        table = {
            "base_url": f"http://127.0.0.1:{port}/v1",
            "model": f"steps-{steps}",
            "context_tokens": 1_000_000,
        }
        settings = replace(Settings(), providers={"loopback": table}, steps=steps + 5, turn_tokens=10**9)
        model = make("loopback/", Sources(settings, environment, base.clock, base.buckets))
        path = base.files.new_path("sbench")
        tools = (Tool("step", "does one step", SCHEMA, step),)
        runner = open_session(base, settings, model, Opening(path, "sbench", folder, tools=tools))
        began = time.perf_counter()
        runner.submit(Input("go", "m1", "bench", "owner"))
        async for event in runner.events(0):
            if event.type == "turn_finished":
                break
        took = time.perf_counter() - began
        await runner.close()
        await model.close()
    print(json.dumps({"calls": ran, "ms_per_step": took * 1000 / steps}))


asyncio.run(main(int(sys.argv[1]), int(sys.argv[2])))
