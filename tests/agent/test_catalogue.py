"""The lazy catalogue: five hundred tools in the registry, a few in a request."""

import random
from pathlib import Path

import pytest

from limnos.agent.assembly import register
from limnos.agent.build import Opening, home, model_of, open_session
from limnos.agent.scheduling import Input
from limnos.agent.settings import load
from limnos.context.budget import WindowSettings
from limnos.context.engine import Engine
from limnos.kernel.conversation import Conversation
from limnos.kernel.events import TurnFinished
from limnos.kernel.messages import Arguments
from limnos.kernel.registry import Catalogue, Registry
from limnos.kernel.seams import Rendered
from limnos.kernel.tools import Output, Tool, ToolContext
from limnos.providers.scripted import Scripted
from tests.context.units import say, spec_tokens
from tests.service.house import House, Talk, call, run, step

BUDGET = 20_000
SHARE = 0.2
PLUGINS = [f"plugin{number:02}" for number in range(20)]
ODD = ["Fetch: page (v2)", "поиск", "搜索", "a" * 90, "with.dots", "with/slash", "with dots"]


async def answer(arguments: Arguments, context: ToolContext) -> Output:
    return Output(f"answer of {context.call}")


def tool(plugin: str, number: int, name: str = "") -> Tool:
    properties = {
        "target": {
            "type": "string",
            "description": f"what tool {number} of {plugin} works on, a name or a path",
        },
        "limit": {"type": "integer", "minimum": 1, "description": "how many answers are wanted at most"},
    }
    schema = {"type": "object", "properties": properties, "required": ["target"]}
    return Tool(
        name or f"{plugin}_tool{number:02}",
        f"Does thing {number} of {plugin}.",
        schema,
        answer,
        plugin=plugin,
    )


def five_hundred() -> list[Tool]:
    return [tool(plugin, number) for plugin in PLUGINS for number in range(25)]


def offered(tools: list[Tool], *touched: str) -> tuple[Rendered, Catalogue]:
    """What the next request holds."""
    registry = Registry()
    catalogue = register(registry, tools)
    for name in touched:
        catalogue.touch(name)
    model = Scripted([], context_tokens=BUDGET * 2)
    settings = WindowSettings(share=0.6, reserve=BUDGET * 2 * 6 // 10 - BUDGET, catalogue_share=SHARE)
    conversation = Conversation()
    say(conversation, "hello")
    window = Engine(model, catalogue, lambda closed: "\n".join(["prompt", *closed]), settings)
    return run(window.render(conversation)), catalogue


def test_closed_tools_cost_one_line_a_plugin() -> None:
    request, _ = offered(five_hundred())
    everything = sum(spec_tokens(one.spec(one.name)) for one in five_hundred())
    sent = sum(map(spec_tokens, request.tools)) + request.system

    assert [spec.name for spec in request.tools] == ["tools_open"]
    assert sent <= SHARE * BUDGET
    assert everything > 30_000
    assert sent / everything < 0.05
    text = repr(request.messages[0])
    assert all(f"{plugin} (25 tools): {plugin}_tool00, " in text for plugin in PLUGINS)


def test_an_opened_plugin_brings_its_tools_and_the_share_holds_whatever_is_opened() -> None:
    request, _ = offered(five_hundred(), "plugin07")

    assert [spec.name for spec in request.tools[1:]] == [f"plugin07_tool{n:02}" for n in range(25)]
    assert "plugin07 (25 tools)" not in repr(request.messages[0])

    request, _ = offered(five_hundred(), *PLUGINS)

    assert len(request.tools) > 25
    assert sum(map(spec_tokens, request.tools)) <= SHARE * BUDGET
    assert f"{PLUGINS[-1]}_tool00" in {spec.name for spec in request.tools}


def test_a_plugin_that_was_used_stays_open_and_the_longest_unused_goes_first() -> None:
    _, catalogue = offered(five_hundred(), "plugin01", "plugin02", "plugin01_tool03")

    names = [spec.name for spec in catalogue.offer(10**9, lambda spec: 1).specs]
    assert names.index("plugin01_tool00") < names.index("plugin02_tool00")
    for plugin in PLUGINS[3:11]:
        catalogue.touch(plugin)
    assert not any(spec.name.startswith("plugin01") for spec in catalogue.offer(10**9, lambda spec: 1).specs)


@pytest.mark.parametrize("seed", range(5))
def test_names_are_the_same_whatever_the_order_of_registration(seed: int) -> None:
    tools = [*five_hundred()[:50], *(tool("foreign", n, name) for n, name in enumerate(ODD))]

    def names(ordered: list[Tool]) -> dict[str, str]:
        registry = Registry()
        return {one.name: registry.register(one) for one in ordered}

    usual = names(tools)
    random.Random(seed).shuffle(tools)

    assert names(tools) == usual
    assert len(set(usual.values())) == len(usual)


def test_a_model_opens_a_plugin_and_then_uses_its_tool(tmp_path: Path) -> None:
    house = House(tmp_path)
    environment = house.environment(
        step("", call("tools_open", plugin="plugin03"), expect=["plugin03 (25 tools)"]),
        step("", call("plugin03_tool11", target="x", limit="2"), expect=["Now offered: plugin03_tool00"]),
        step("", call("tools_open", plugin="nothing"), expect=["answer of"]),
        step("Found it.", expect=["there is no plugin 'nothing'"]),
    )

    async def story() -> None:
        base, settings = home(environment), load(environment)
        model = model_of(base, settings)
        path = base.files.new_path("s0000a")
        opening = Opening(path, "s0000a", str(house.work), tools=tuple(five_hundred()))
        runner = open_session(base, settings, model, opening)
        runner.submit(Input("look", "m1", "test", "owner"))
        async for event in runner.events(0):
            if isinstance(event, TurnFinished):
                assert event.reason == "done"
                break
        await runner.close()
        assert isinstance(model, Scripted)
        assert [len(request.tools) for request in model.requests] == [1, 26, 26, 26]

    run(story())


def test_block_read_is_offered_once_there_is_a_block(tmp_path: Path) -> None:
    house = House(tmp_path)
    (house.work / "big.txt").write_text("".join(f"line {n}\n" for n in range(3000)))

    async def story() -> Talk:
        kernel = house.kernel(
            step("", call("read_file", path="big.txt", lines=3000)),
            step("", expect=["block_read(block="]),
            inline=500,
        )
        talk = await house.open(kernel)
        await talk.say("read")
        await kernel.close()
        return talk

    run(story())
