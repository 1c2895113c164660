"""A new plugin to begin with: it works, and its test passes."""

from pathlib import Path

from limnos.kernel.errors import StorageError, UsageError
from limnos.plugins.reading import FILE, NAME
from limnos.wire.frames import PROTOCOL

_MANIFEST = """\
name = "{name}"
version = "0.1.0"
description = "Greets people by their name."
license = "Apache-2.0"
protocol = {protocol}
entry = "python:{module}"

# What it may do beside its own tools, settings and data. A word that is not listed here is refused.
capabilities = []

[[tools]]
name = "{module}_greet"
description = "Greet somebody by name."
effects = "none"
needs_approval = false
parallel_safe = true

[tools.parameters.name]
type = "string"
description = "who is greeted"
required = true
"""

_CODE = '''\
"""Greets people by their name."""

from limnos.sdk.plugin import Call, Plugin

plugin = Plugin()


@plugin.tool
def {module}_greet(call: Call, name: str) -> str:
    """Greet somebody by name."""
    return f"Hello, {{name}}."


if __name__ == "__main__":
    plugin.run()
'''

_TEST = '''\
"""Run it with: limnos plugins test {name}"""

import unittest
from pathlib import Path

from limnos.sdk.harness import in_process, over_wire

from {module} import plugin


class GreetTest(unittest.TestCase):
    def test_somebody_is_greeted_by_name(self) -> None:
        result = in_process(plugin).call("{module}_greet", {{"name": "Ada"}})

        self.assertEqual(result.text, "Hello, Ada.")

    def test_the_entry_of_plugin_toml_starts_it(self) -> None:
        with over_wire(Path(__file__).parent) as running:
            result = running.call("{module}_greet", {{"name": "Ada"}})

        self.assertEqual(result.text, "Hello, Ada.")


if __name__ == "__main__":
    unittest.main()
'''

_README = """\
# {name}

A plugin for limnos.

    limnos plugins test {name}       run its tests
    limnos plugins install {name}    install it; shows what it may do, and asks

`plugin.toml` says what the plugin is and may do, `{module}.py` does it. Tools, stages and channels that the
code has must stand in `plugin.toml` too: limnos reads only that before the plugin runs.
"""


def scaffold(name: str, folder: Path) -> Path:
    """Write a plugin called `name` into a new folder below `folder`; the new folder.

    Raises UsageError for a name that cannot be, or a folder that is there; StorageError.
    """
    module = name.replace("-", "_")
    if not NAME.fullmatch(name):
        fix = "limnos plugins new weather: small letters first, then also digits, - and _"
        raise UsageError(f"{name!a} is no name of a plugin", fix)
    target = folder / name
    words = {"name": name, "module": module, "protocol": PROTOCOL}
    files = {
        FILE: _MANIFEST,
        f"{module}.py": _CODE,
        f"test_{module}.py": _TEST,
        "README.md": _README,
    }
    try:
        target.mkdir(parents=True)
        for file, text in files.items():
            (target / file).write_text(text.format(**words), encoding="utf-8")
    except FileExistsError:
        raise UsageError(f"{target} is there already", "take another name, or --folder DIR") from None
    except OSError as error:
        raise StorageError(
            f"{target} cannot be written: {error.strerror}", "name another place with --folder DIR"
        ) from None
    return target
