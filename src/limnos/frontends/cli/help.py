"""Help: the first screen from the table alone, and topics. Light on purpose, see `table`."""

from limnos.frontends.cli.table import COMMANDS, PROGRAM

_TOPICS = {
    "guide": """\
limnos: the short guide

  limnos                 chat in this folder; the first start offers models
  limnos run "TASK"      one task; what needs a yes is asked, or denied
  limnos sessions        everything is kept; open, fork, replay or export it
  limnos doctor          when something does not work

In the chat: Enter sends, or queues while it works; Alt-Enter or /now gives a
line to the running turn; Esc stops; Ctrl-J or \\ and Enter make a new line.
A question is answered by a letter and Enter, or by Alt-N (no) and Alt-Y (once).
All state is under LIMNOS_HOME (~/.limnos). The whole guide: docs/guide.
Report a fault where you got limnos from, with the output of: limnos doctor
""",
    "modes": """\
limnos: the three modes

  ask    what needs approval and no rule allows is asked (the default)
  auto   the same, but file edits inside a trusted folder pass unasked
  yolo   asks only what must always be asked; denials stay

  limnos run --mode auto "fix the typo in README.md"
  limnos config set mode auto
""",
}


def top() -> str:
    """The first screen."""
    groups: dict[str, list[str]] = {}
    for command in COMMANDS.values():
        groups.setdefault(command.group, []).append(command.name)
    rows = "\n".join(f"{group:<10}{'  '.join(names)}" for group, names in groups.items())
    return f"""\
{PROGRAM}: an agent you can leave running

  limnos                            chat in this folder
  limnos run "make the tests pass"
  git diff | limnos run "review this" -

{rows}

  --json   events or records, one a line     --accessible  nothing is redrawn
  --plain  no columns    --no-color          --no-input    never ask
  --debug  show the traceback of an error    --version
limnos help COMMAND; limnos help guide: the guide, and where to report
"""


def topic(name: str) -> str | None:
    """The text of a help topic, or None."""
    return _TOPICS.get(name)
