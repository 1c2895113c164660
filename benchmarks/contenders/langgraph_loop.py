"""LangGraph: its prebuilt agent with one tool over langchain-openai."""

import asyncio
import json
import sys
import time

from langchain.agents import create_agent
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI


async def main(port: int, steps: int) -> None:
    """One run of `steps` calls."""
    ran = 0

    @tool
    async def step(n: int) -> str:
        """Does one step."""
        nonlocal ran
        ran += 1
        return f"did {n}"

    model = ChatOpenAI(
        model=f"steps-{steps}", base_url=f"http://127.0.0.1:{port}/v1", api_key="none", streaming=True
    )
    agent = create_agent(model, [step])
    began = time.perf_counter()
    await agent.ainvoke({"messages": [("user", "go")]}, {"recursion_limit": steps * 4 + 20})
    took = time.perf_counter() - began
    print(json.dumps({"calls": ran, "ms_per_step": took * 1000 / steps}))


asyncio.run(main(int(sys.argv[1]), int(sys.argv[2])))
