"""What a plugin is made of: tools, stage handlers and channels, as plain functions.

    from limnos.sdk.plugin import Call, Plugin

    plugin = Plugin()

    @plugin.tool
    def greet(call: Call, name: str) -> str:
        return f"Hello, {name}."

    if __name__ == "__main__":
        plugin.run()

What the functions are called with, and what people read of them, stands in `plugin.toml`.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, overload

from limnos.kernel.messages import ToolError as ToolError
from limnos.kernel.tools import Output as Output
from limnos.kernel.tools import ToolFailure as ToolFailure
from limnos.sdk import serving
from limnos.sdk.call import Call as Call
from limnos.sdk.call import Cancelled as Cancelled
from limnos.sdk.handlers import Handlers
from limnos.sdk.outcome import PASS as PASS
from limnos.sdk.outcome import Answer as Answer
from limnos.sdk.outcome import Deny as Deny
from limnos.sdk.outcome import Outcome as Outcome
from limnos.sdk.outcome import Rewrite as Rewrite
from limnos.sdk.told import Kernel, Told

if TYPE_CHECKING:
    from limnos.kernel.stages import StageName

F = TypeVar("F", bound=Callable[..., Any])


class Plugin(Handlers):
    """Collects the functions of a plugin, which may be plain or `async`, and runs it.

    Functions of tools get the call and the arguments by name, and return a text or an `Output`; what a
    tool cannot do it says with `ToolFailure`. Plain functions run in threads, several at once.
    """

    @overload
    def tool(self, function: F) -> F: ...
    @overload
    def tool(self, *, name: str) -> Callable[[F], F]: ...
    def tool(self, function: F | None = None, *, name: str = "") -> F | Callable[[F], F]:
        """A tool of `plugin.toml`, named as the function unless `name` says otherwise."""

        def added(given: F) -> F:
            self.tools[name or given.__name__] = given
            return given

        return added if function is None else added(function)

    def stage(self, stage: "StageName", *, name: str = "") -> Callable[[F], F]:
        """A handler of a stage; gets the payload as plain JSON and returns an `Outcome`."""

        def added(given: F) -> F:
            self.stages[name or given.__name__] = (stage, given)
            return given

        return added

    def channel(self, name: str) -> Callable[[F], F]:
        """Sends a text through a channel: called with `to` and `text`; returns when it was handed over."""

        def added(given: F) -> F:
            self.channels[name] = given
            return given

        return added

    def on_start(self, function: F) -> F:
        """Called once everything the plugin needs is ready, before its first call.

        What the manifest provides is ready once it returns.
        """
        self.starting = function
        return function

    def on_stop(self, function: F) -> F:
        """Called before the process ends, to save what is to be kept; 5 seconds at most."""
        self.stopping = function
        return function

    def on_session_closed(self, function: F) -> F:
        """Called with the name of a session that was closed: what belongs to it can go."""
        self.leaving = function
        return function

    @property
    def kernel(self) -> Kernel:
        """limnos, to ask and to tell it something."""
        return self._begun.kernel

    @property
    def settings(self) -> Mapping[str, Any]:
        """The plugin's own settings as they are now."""
        return self._begun.settings

    @property
    def data(self) -> Path:
        """A folder of the plugin's own, kept over restarts."""
        return Path(self._begun.data)

    @property
    def hidden(self) -> tuple[str, ...]:
        """Folders that no tool may show."""
        return self._begun.hidden

    def log(self, text: str, level: str = "info") -> None:
        """A line for `limnos plugins logs`."""
        self.kernel.notify("log", text=text, level=level)

    def run(self) -> None:
        """Serve limnos over standard input and output until it closes them; then the process ends."""
        serving.serve(self)

    @property
    def _begun(self) -> Told:
        if self.told is None:
            raise RuntimeError("the plugin does not run yet")
        return self.told
