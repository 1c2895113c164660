"""Shell commands for the gate: read, judged by what their programs do with their words, rebuilt to run."""

from limnos.agent.shell.inspect import Inspection, inspect, network_programs, suggestion
from limnos.agent.shell.place import Place
from limnos.agent.shell.policies.builtins import NAMES as BUILTINS
from limnos.agent.shell.rebuild import Argv, Plan, Script, Text

__all__ = [
    "BUILTINS",
    "Argv",
    "Inspection",
    "Place",
    "Plan",
    "Script",
    "Text",
    "inspect",
    "network_programs",
    "suggestion",
]
