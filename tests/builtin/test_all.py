"""The plugins of limnos together: none starts unused, none is offered unasked, each says what it is."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from limnos.agent.build import PINNED, QUIET
from limnos.kernel.errors import ModelUnavailableError
from limnos.kernel.messages import user
from limnos.kernel.model import Request, ToolSpec, Usage
from limnos.plugins.manifest import Manifest
from limnos.plugins.places import builtin_folders
from limnos.plugins.reading import read_manifest
from limnos.providers.catalogue import catalogue
from limnos.providers.embedded import Embedded
from limnos.providers.scripted import Scripted
from tests.builtin.children import running
from tests.service.house import House, call, run, step

MANIFESTS = [read_manifest(folder, builtin=True) for folder in builtin_folders()]
PLAIN = 110  # characters of a description: small models read these
READS = {
    "find_files", "git_blame", "git_diff", "git_log", "git_show", "git_status", "health", "job_output",
    "list_dir", "read_file", "search_text", "terminal_read", "terminal_resize",
}  # fmt: skip
ENDS = {"job_stop", "terminal_close"}  # they end what a yes began


def played(tmp_path: Path, *calls: dict[str, object]) -> tuple[set[str], Scripted]:
    """The plugins that ran when these calls were done, and the model that made them."""
    house = House(tmp_path)

    async def story() -> tuple[set[str], Scripted]:
        kernel = house.kernel(*(step("", one) for one in calls), step("Done."))
        talk = await house.open(kernel)
        await talk.say("go")
        names = set(running())
        (model,) = kernel._models.values()  # pyright: ignore[reportPrivateUsage]
        assert isinstance(model, Scripted)
        await kernel.close()
        return names, model

    return run(story())


def test_no_plugin_starts_whose_tools_are_not_used(tmp_path: Path) -> None:
    assert played(tmp_path / "none")[0] == set()
    assert played(tmp_path / "one", call("health"))[0] == {"health"}
    both = played(tmp_path / "two", call("list_dir"), call("now"), call("run_python", code="1"))
    assert both[0] == {"files", "code"}


def test_a_model_is_offered_the_same_tools_as_ever_and_one_line_for_each_other_plugin(tmp_path: Path) -> None:
    _, model = played(tmp_path)
    request = model.requests[0]
    text = repr(request.messages[0])

    assert [tool.name for tool in request.tools] == [
        "read_file", "list_dir", "write_file", "edit_file", "find_files", "search_text", "run_command",
        "now", "plan_update", "tools_open",
    ]  # fmt: skip
    for line in ("code (2 tools): run_python", "git (7 tools): git_status", "health (1 tools): health"):
        assert text.count(line) == 1
    assert text.count("terminals (5 tools): terminal_open") == 1
    assert "redact" not in text


class Watched(Embedded):
    """An embedded model that only tells which tools it would read of."""

    def __init__(self, file: Path) -> None:
        super().__init__(next(iter(catalogue().values())), file)
        self.read: list[str] = []

    async def warm(self, tools: Sequence[ToolSpec]) -> Usage:
        self.read = [tool.name for tool in tools]
        raise ModelUnavailableError("it is only looked at", "")


def test_an_embedded_model_reads_the_same_prompt_as_without_the_other_plugins(tmp_path: Path) -> None:
    tools = played(tmp_path)[1].requests[0].tools
    embedded = Watched(tmp_path / "absent.gguf")

    async def story() -> None:
        with pytest.raises(ModelUnavailableError):
            async for _ in embedded.stream(Request((user("hi"),), tools)):
                pass

    asyncio.run(story())

    assert embedded.read == [tool.name for tool in tools if tool.name != "tools_open"]


def test_only_what_changes_nothing_passes_without_a_yes() -> None:
    unasked = {tool.name for one in MANIFESTS for tool in one.tools if not tool.needs_approval}

    assert unasked == READS | ENDS
    for manifest in MANIFESTS:
        for tool in manifest.tools:
            assert tool.private, tool.name
            assert (tool.effects == "none") == (tool.name in READS), tool.name
            assert not tool.parallel_safe or tool.effects == "none", tool.name


@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda one: one.name)
def test_descriptions_are_short_and_plain(manifest: Manifest) -> None:
    assert manifest.license == "Apache-2.0"
    for tool in manifest.tools:
        assert len(tool.description) <= PLAIN, tool.name
        assert tool.description.endswith(".")
        for name, schema in tool.parameters["properties"].items():
            assert schema["description"], (tool.name, name)
            assert len(schema["description"]) <= PLAIN, (tool.name, name)


def test_pinned_are_those_that_every_task_needs() -> None:
    assert PINNED == ("kernel", "files", "search", "shell")
    assert not {one.name for one in MANIFESTS} & set(QUIET)


def test_guards_are_off_until_a_person_wants_them() -> None:
    assert {one.name for one in MANIFESTS if one.off} == {"redact", "rate_limit"}
    assert all(one.off for one in MANIFESTS if one.stages)
