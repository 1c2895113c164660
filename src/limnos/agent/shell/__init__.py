"""Shell commands for the gate: read, judged by what their programs do with their words, rebuilt to run."""

from limnos.agent.shell.inspect import Inspection, inspect, network_programs, suggestion
from limnos.agent.shell.place import Place
from limnos.agent.shell.rebuild import Argv, Text, Plan, Script

__all__ = [
    "Argv", "Text", "Inspection", "Place", "Plan", "Script", "inspect", "network_programs", "suggestion",
]  # fmt: skip
