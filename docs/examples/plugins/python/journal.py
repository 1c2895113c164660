"""Keeps notes of the day: tools with progress and cancellation, a stage, a channel and a setting."""

import time
from typing import Any

from limnos.sdk.plugin import PASS, Call, Output, Plugin, Rewrite, ToolFailure

plugin = Plugin()


@plugin.on_start
def begin() -> None:
    """The file is there from the start."""
    (plugin.data / "notes.txt").touch()


@plugin.tool
def journal_add(call: Call, text: str) -> str:
    """Write a note into the journal."""
    _write(text)
    return "It is written down."


@plugin.tool
def journal_find(call: Call, word: str) -> Output:
    """The notes that hold a word."""
    found = [note for note in _notes() if word.casefold() in note.casefold()]
    if not found:
        raise ToolFailure("not_found", f"no note holds {word!r}", "try a shorter word")
    return Output("\n".join(found), f"{len(found)} notes")


@plugin.tool
def journal_count(call: Call, text: str) -> str:
    """Count the letters of a text slowly."""
    count = 0
    for number, word in enumerate(text.split(" ")):
        call.check()  # ends here once the person stopped it
        if number % 100 == 0:
            call.report(f"{count} letters so far", number / (text.count(" ") + 1))
        count += sum(letter.isalpha() for letter in word)
        time.sleep(0.0001)
    return f"{count} letters"


@plugin.stage("before_output")
def sign(payload: dict[str, Any]) -> Rewrite | Any:
    """Put the signature below every answer."""
    signature = plugin.settings.get("signature", "")
    return Rewrite({"text": f"{payload['text']}\n\n{signature}"}) if signature else PASS


@plugin.channel("page")
def page(to: str, text: str) -> None:
    """Write a text onto a page of the journal."""
    _write(f"[{to}] {text}")
    plugin.log(f"wrote onto the page {to}")


def _write(text: str) -> None:
    with (plugin.data / "notes.txt").open("a", encoding="utf-8") as file:
        file.write(text.replace("\n", " ") + "\n")


def _notes() -> list[str]:
    return (plugin.data / "notes.txt").read_text(encoding="utf-8").splitlines()


if __name__ == "__main__":
    plugin.run()
