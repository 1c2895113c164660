"""What people read when a plugin crashed, and when it works again."""

from limnos.frontends.cli.escapes import one_line
from limnos.kernel.events import PluginChanged


def plugin_line(event: PluginChanged) -> str:
    """One line of plain text, without what a plugin could do to a terminal."""
    name = one_line(event.plugin)
    match event.state:
        case "running":
            return f"the plugin {name} works again"
        case "down":
            return f"the plugin {name} crashed and is started again: {one_line(event.why)}"
        case _:
            return f"the plugin {name} is stopped: {one_line(event.why)}; limnos plugins restart {name}"
