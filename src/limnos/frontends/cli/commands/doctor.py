"""`limnos doctor`."""

from typing import Annotated

from limnos.frontends.cli.checks import checks
from limnos.frontends.cli.console import Console
from limnos.frontends.cli.escapes import one_line
from limnos.frontends.cli.words import Option

_COLUMN = 10


def doctor(
    console: Console,
    as_json: Annotated[bool, Option("--json", help="one record a line")] = False,
) -> int:
    """Check this machine and say how to fix it."""
    found = list(checks(console))
    failed = sum(check.state == "failed" for check in found)
    for check in found:
        if as_json:
            console.record({"check": check.name, "state": check.state, "text": check.text, "fix": check.fix})
        elif console.terminal.columns_for_lists:
            word = "failed: " if check.state == "failed" else ""
            fix = f"  fix: {check.fix}" if check.fix else ""
            text = f"{check.name:<{_COLUMN}}{word}{one_line(check.text)}{fix}"
            console.show(console.look.signed(check.state, text))
        else:
            console.data(
                "\t".join((check.name, check.state, one_line(check.text), check.fix)).rstrip() + "\n"
            )
    looked = sum(check.state == "ask" for check in found)
    if failed or looked:
        console.say(f"{failed} failed, {looked} to look at")
    return 1 if failed else 0


FUNCTIONS = {"": doctor}
