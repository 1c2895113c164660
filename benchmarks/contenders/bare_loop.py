"""A loop over httpx2 with nothing around it: the floor."""

import asyncio
import json
import sys
import time

import httpx2

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "step",
            "description": "does one step",
            "parameters": {
                "type": "object",
                "properties": {"n": {"type": "integer", "description": "number"}},
            },
        },
    }
]


async def main(port: int, steps: int) -> None:
    """Ask, call, ask again; prints what a step took."""
    messages: list[dict] = [{"role": "user", "content": "go"}]
    calls = 0
    async with httpx2.AsyncClient(trust_env=False, timeout=60) as client:
        began = time.perf_counter()
        while True:
            body = {"model": f"steps-{steps}", "messages": messages, "tools": TOOLS, "stream": True}
            found: list[dict] = []
            url = f"http://127.0.0.1:{port}/v1/chat/completions"
            async with client.stream("POST", url, json=body) as answer:
                async for line in answer.aiter_lines():
                    if line.startswith("data: {"):
                        chunk = json.loads(line[6:])
                        for choice in chunk["choices"]:
                            found += choice["delta"].get("tool_calls") or []
            if not found:
                break
            messages.append({"role": "assistant", "content": None, "tool_calls": found})
            for call in found:
                number = json.loads(call["function"]["arguments"])["n"]
                calls += 1
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": f"did {number}"})
        took = time.perf_counter() - began
    print(json.dumps({"calls": calls, "ms_per_step": took * 1000 / steps}))


asyncio.run(main(int(sys.argv[1]), int(sys.argv[2])))
