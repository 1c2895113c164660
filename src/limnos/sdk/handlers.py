"""The functions of a plugin by name, and what limnos told it at the start."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from limnos.sdk.told import Told

if TYPE_CHECKING:
    from limnos.kernel.stages import StageName  # runs in an event loop, which a plugin may never need

ToolHandler: TypeAlias = Callable[..., Any]
StageHandler: TypeAlias = Callable[[dict[str, Any]], Any]
ChannelHandler: TypeAlias = Callable[[str, str], Any]


class Handlers:
    """What `serving` calls. A function may be plain or `async`."""

    def __init__(self) -> None:
        self.tools: dict[str, ToolHandler] = {}
        self.stages: dict[str, tuple[StageName, StageHandler]] = {}
        self.channels: dict[str, ChannelHandler] = {}
        self.starting: Callable[[], Any] | None = None
        self.stopping: Callable[[], Any] | None = None
        self.leaving: Callable[[str], Any] | None = None
        self.told: Told | None = None
