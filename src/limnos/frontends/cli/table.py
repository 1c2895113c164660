"""The one table of commands. Light on purpose: `limnos --help` imports this and `help`, and nothing else."""

import importlib
from types import ModuleType
from typing import NamedTuple

PROGRAM = "limnos"
_COMMANDS = "limnos.frontends.cli.commands"


class Command(NamedTuple):
    """A command: its group in the help, where its functions are, one line about it, and examples.

    `private`: what is typed behind it by mistake may be a key or a password; no error repeats it.
    """

    name: str
    group: str
    module: str
    summary: str
    examples: tuple[str, ...] = ()
    note: str = ""
    private: bool = False

    def load(self) -> ModuleType:
        """Import the module with its functions."""
        return importlib.import_module(f"{_COMMANDS}.{self.module}")


CHAT = Command(
    "",
    "",
    "chat",
    "chat in this folder",
    ("limnos", "limnos --model qwen2.5-coder-0.5b"),
    "keys: Enter sends or queues, Alt-Enter injects, Ctrl-J new line, Esc stops; /help lists commands",
)

COMMANDS: dict[str, Command] = {
    command.name: command
    for command in (
        Command(
            "run",
            "Work",
            "run",
            "one task, one answer, then it ends",
            (
                'limnos run "Which file here is the largest?"',
                'cat build.log | limnos run "why did this fail" -',
            ),
            "exit: 0 done, 1 failed, 2 usage, 3 limit, 4 denied or nobody to ask, 130 stopped",
        ),
        Command(
            "open",
            "Work",
            "open",
            "go on with a session",
            ("limnos open s7k2m4", "limnos open s7k2m4 --fork"),
        ),
        Command(
            "sessions",
            "Work",
            "sessions",
            "list sessions, newest first",
            ("limnos sessions", "limnos sessions --json --limit 20"),
        ),
        Command(
            "replay",
            "Work",
            "replay",
            "play back what happened in a session",
            ("limnos replay s7k2m4", "limnos replay s7k2m4 --verify"),
        ),
        Command(
            "export",
            "Work",
            "export",
            "write a session as Markdown or OpenAI messages",
            ("limnos export s7k2m4 > chat.md", "limnos export s7k2m4 --format openai > chat.json"),
        ),
        Command(
            "context",
            "Work",
            "context",
            "what fills the window of a session",
            ("limnos context", "limnos context s7k2m4 --json"),
        ),
        Command("rename", "Work", "rename", "give a session a title", ('limnos rename s7k2m4 "new title"',)),
        Command(
            "fork",
            "Work",
            "fork",
            "a new session with the events up to a step",
            ("limnos fork s7k2m4", "limnos fork s7k2m4 --at 118"),
        ),
        Command(
            "approvals",
            "Trust",
            "approvals",
            "stored rules, and what the gate makes of a command",
            (
                "limnos approvals list",
                "limnos approvals explain 'git status && rm -rf build'",
                "limnos approvals add allow 'git status*' --example 'git status --short'",
            ),
        ),
        Command(
            "trust",
            "Trust",
            "trust",
            "folders whose settings and notes count",
            ("limnos trust list", "limnos trust add"),
        ),
        Command(
            "config",
            "Trust",
            "config",
            "settings, and where they come from",
            ("limnos config list", "limnos config set steps 40", "limnos config --explain model"),
        ),
        Command(
            "secrets",
            "Trust",
            "secrets",
            "keys, stored in the home and never shown",
            (
                "limnos secrets set openai",
                "limnos secrets set openai --key-file key.txt",
                "limnos secrets list",
            ),
            private=True,
        ),
        Command("doctor", "Trust", "doctor", "check this machine and say how to fix it", ("limnos doctor",)),
        Command(
            "memory",
            "Memory",
            "memory",
            "what is remembered, and why it stands where it does",
            (
                "limnos memory search home fixture",
                "limnos memory show s7k2m4#31",
                "limnos memory explain s7k2m4 --turn 4",
                "limnos memory verify",
            ),
        ),
        Command(
            "model",
            "Grow",
            "model",
            "the embedded models on this machine",
            (
                "limnos model list",
                "limnos model get qwen2.5-coder-0.5b",
                "limnos model use qwen2.5-coder-0.5b",
            ),
        ),
        Command(
            "plugins",
            "Grow",
            "plugins",
            "install plugins, and say which may start",
            (
                "limnos plugins list",
                "limnos plugins install ./weather",
                "limnos plugins lock",
                "limnos plugins new weather",
                "limnos plugins conformance ./weather",
                "limnos plugins graph --svg start.svg",
            ),
        ),
        Command(
            "up",
            "Service",
            "up",
            "start the daemon: sessions go on when their terminal is closed",
            ("limnos up", "limnos up --foreground"),
        ),
        Command("down", "Service", "down", "end the daemon", ("limnos down",)),
        Command(
            "logs", "Service", "logs", "what the daemon said", ("limnos logs", "limnos logs -n 200 --follow")
        ),
        Command("status", "Service", "status", "what is there and what works now", ("limnos status",)),
        Command(
            "completion",
            "Service",
            "completion",
            "print a completion script for bash, zsh or fish",
            ('eval "$(limnos completion bash)"', "limnos completion fish | source"),
        ),
    )
}

GLOBAL_FLAGS = ("--accessible", "--plain", "--no-color", "--no-input", "--debug")
