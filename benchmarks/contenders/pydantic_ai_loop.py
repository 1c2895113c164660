"""pydantic-ai: an agent with one tool over its OpenAI model."""

import asyncio
import json
import sys
import time

from pydantic_ai import Agent, UsageLimits
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider


async def main(port: int, steps: int) -> None:
    """One run of `steps` calls."""
    ran = 0
    provider = OpenAIProvider(base_url=f"http://127.0.0.1:{port}/v1", api_key="none")
    agent = Agent(OpenAIChatModel(f"steps-{steps}", provider=provider))

    @agent.tool_plain
    async def step(n: int) -> str:
        """Does one step."""
        nonlocal ran
        ran += 1
        return f"did {n}"

    began = time.perf_counter()
    async with agent.run_stream("go", usage_limits=UsageLimits(request_limit=steps + 5)) as result:
        await result.get_output()
    took = time.perf_counter() - began
    print(json.dumps({"calls": ran, "ms_per_step": took * 1000 / steps}))


asyncio.run(main(int(sys.argv[1]), int(sys.argv[2])))
