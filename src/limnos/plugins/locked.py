"""What `plugins.lock` holds: plugins in the order in which they can start, and why some cannot."""

from collections.abc import Mapping
from typing import NamedTuple

from limnos.plugins.manifest import Manifest, StageDeclaration, ToolDeclaration


class Need(NamedTuple):
    """A facility that a plugin needs, and the plugin it has it from."""

    facility: str
    plugin: str


class Locked(NamedTuple):
    """One plugin as it was accepted. `tree` is the hash of its files; built-in ones have none.

    `down` says why it does not start, empty when it does; `disabled` by a person, who can say otherwise.
    """

    manifest: Manifest
    needs: tuple[Need, ...] = ()
    tree: str = ""
    prints: tuple[str, ...] = ()
    down: str = ""
    disabled: bool = False

    @property
    def name(self) -> str:
        """The name of the plugin."""
        return self.manifest.name

    @property
    def starts(self) -> bool:
        """Whether it may be started."""
        return not (self.down or self.disabled)


class Broken(NamedTuple):
    """A plugin that is installed and was never accepted as it is: nothing of it is known to hold."""

    name: str
    folder: str
    reason: str


class Lock(NamedTuple):
    """All plugins: `plugins` in the order of their needs, those that are down or disabled last."""

    plugins: tuple[Locked, ...] = ()
    broken: tuple[Broken, ...] = ()

    def get(self, name: str) -> Locked | None:
        """The plugin `name`, if it is locked."""
        return next((one for one in self.plugins if one.name == name), None)

    @property
    def tools(self) -> Mapping[str, tuple[Locked, ToolDeclaration]]:
        """The tools of all plugins that are not disabled, those that are down too, by name."""
        return {
            tool.name: (locked, tool)
            for locked in reversed(self.plugins)  # of two with one name, that of the one that starts
            if not locked.disabled
            for tool in locked.manifest.tools
        }

    @property
    def stages(self) -> tuple[tuple[Locked, StageDeclaration], ...]:
        """The handlers of all plugins that are not disabled: a guard of one that is down still denies."""
        return tuple(
            (locked, stage)
            for locked in self.plugins
            if not locked.disabled
            for stage in locked.manifest.stages
        )

    def levels(self) -> tuple[tuple[Locked, ...], ...]:
        """The plugins that start, by how many others each has to wait for one after the other."""
        depth: dict[str, int] = {}
        for locked in self.plugins:
            if locked.starts:
                depth[locked.name] = 1 + max((depth.get(need.plugin, 0) for need in locked.needs), default=0)
        return tuple(
            tuple(one for one in self.plugins if depth.get(one.name) == level)
            for level in range(1, max(depth.values(), default=0) + 1)
        )
