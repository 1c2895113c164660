"""OpenAI Agents SDK: an agent with one tool over chat completions, tracing off."""

import asyncio
import json
import sys
import time

from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled
from openai import AsyncOpenAI


async def main(port: int, steps: int) -> None:
    """One run of `steps` calls."""
    ran = 0
    set_tracing_disabled(True)

    @function_tool
    async def step(n: int) -> str:
        """Does one step."""
        nonlocal ran
        ran += 1
        return f"did {n}"

    client = AsyncOpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="none")
    model = OpenAIChatCompletionsModel(model=f"steps-{steps}", openai_client=client)
    agent = Agent(name="bench", model=model, tools=[step])
    began = time.perf_counter()
    result = Runner.run_streamed(agent, "go", max_turns=steps + 5)
    async for _ in result.stream_events():
        pass
    took = time.perf_counter() - began
    print(json.dumps({"calls": ran, "ms_per_step": took * 1000 / steps}))


asyncio.run(main(int(sys.argv[1]), int(sys.argv[2])))
