"""All tools by name, and the lazy catalogue: what of them a request has to carry."""

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from limnos.kernel.model import ToolSpec
from limnos.kernel.tools import Tool

WIRE_NAME = re.compile(r"^[A-Za-z0-9_-]{1,64}$")
RECENT = 8


class RegistrationError(ValueError):
    """A tool that cannot be offered; says which and what to mend. For the author of the tool."""


class Registry:
    """Tools under unique wire names. A name keeps its mapping as long as the same tools are registered."""

    def __init__(self) -> None:
        self._tools: dict[str, Tool] = {}

    def register(self, tool: Tool) -> str:
        """Add `tool` and return its wire name.

        Raises RegistrationError for a duplicate name, or a tool or parameter without a description.
        """
        check_described(tool)
        name = wire_name(tool.name, lambda other: other in self._tools)
        if tool.name in {known.name for known in self._tools.values() if known.plugin == tool.plugin}:
            raise RegistrationError(f"{tool.plugin} registers {tool.name} twice")
        if name in self._tools and name == tool.name:
            raise RegistrationError(f"{tool.name} of {tool.plugin} is taken by {self._tools[name].plugin}")
        self._tools[name] = tool
        return name

    def get(self, name: str) -> Tool | None:
        """The tool under a wire name, if any."""
        return self._tools.get(name)

    def items(self) -> Iterable[tuple[str, Tool]]:
        """Wire names and tools, in order of registration."""
        return self._tools.items()

    def near(self, name: str) -> list[str]:
        """Wire names that share a word with `name`, for the hint of a failure; at most five."""
        words = set(re.split(r"[^a-z0-9]+", name.lower())) - {""}
        return [known for known in self._tools if words & set(known.lower().split("_"))][:5]


def check_described(tool: Tool) -> None:
    """Raise RegistrationError when a tool or one of its parameters says nothing about itself."""
    if not tool.description.strip():
        raise RegistrationError(f"{tool.name} has no description")
    properties = tool.parameters.get("properties", {})
    for name, schema in properties.items():
        if not isinstance(schema, Mapping) or not str(schema.get("description", "")).strip():  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
            raise RegistrationError(f"the parameter {name} of {tool.name} has no description")


def wire_name(name: str, taken: Callable[[str], bool]) -> str:
    """A name that every provider accepts; the same input gives the same output.

    A name that is fine stays. Foreign ones lose what is not allowed, and get a hash of the original when
    something was lost or the result is taken.
    """
    if WIRE_NAME.fullmatch(name):
        return name
    stem = re.sub(r"[^A-Za-z0-9_-]+", "_", name).strip("_")[:55] or "tool"
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
    for length in range(8, len(digest)):
        candidate = f"{stem[: 63 - length]}_{digest[:length]}"
        if not taken(candidate):
            return candidate
    raise RegistrationError(f"no free name for {name!r}")


class Offer(NamedTuple):
    """What a request carries of the tools: full schemas, and one line for each plugin that stays closed."""

    specs: tuple[ToolSpec, ...]
    lines: tuple[str, ...]


class Catalogue:
    """Chooses which tools enter a request with their schemas.

    Pinned plugins always do, while they fit; of the others those that were used lately or opened with
    `tools_open`. The rest is named by plugin, with a count and the names of its tools; quiet plugins are
    not even named until something touches them.
    """

    def __init__(
        self, registry: Registry, pinned: Sequence[str] = ("kernel",), quiet: Sequence[str] = ()
    ) -> None:
        self._registry = registry
        self._pinned = frozenset(pinned)
        self._quiet = frozenset(quiet)
        self._opened: list[str] = []
        self._specs: dict[str, ToolSpec] = {}

    def touch(self, name: str) -> None:
        """A tool was used or its plugin opened: it stays in the requests to come."""
        tool = self._registry.get(name)
        plugin = tool.plugin if tool else name
        if plugin in self._pinned:
            return
        self._opened = [plugin, *(other for other in self._opened if other != plugin)][:RECENT]

    def plugins(self) -> dict[str, list[str]]:
        """Wire names by plugin."""
        grouped: dict[str, list[str]] = {}
        for name, tool in self._registry.items():
            grouped.setdefault(tool.plugin, []).append(name)
        return grouped

    def offer(self, budget: int, count: Callable[[ToolSpec], int]) -> Offer:
        """The tools of a request within `budget` tokens; pinned ones first, then the last opened."""
        grouped = self.plugins()
        order = [plugin for plugin in grouped if plugin in self._pinned]
        order += [plugin for plugin in self._opened if plugin in grouped]
        specs: list[ToolSpec] = []
        left, shown = budget, set[str]()
        for plugin in order:
            own = [self._spec(name) for name in grouped[plugin]]
            cost = sum(count(spec) for spec in own)
            if cost <= left or plugin in self._pinned:
                specs += own
                left -= cost
                shown.add(plugin)
        lines = tuple(
            f"{plugin} ({len(names)} tools): {', '.join(names[:6])}{', ...' if len(names) > 6 else ''}"
            for plugin, names in grouped.items()
            if plugin not in shown and plugin not in self._quiet
        )
        return Offer(tuple(specs), lines)

    def _spec(self, name: str) -> ToolSpec:
        tool = self._registry.get(name)
        assert tool is not None
        if name not in self._specs:
            self._specs[name] = tool.spec(name)
        return self._specs[name]
