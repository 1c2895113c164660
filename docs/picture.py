"""Draws docs/terminal.svg: a real run of limnos in a real terminal, its output as it came.

usage: python docs/picture.py; the model's part is a script, everything else is the program itself.
"""

import json
import os
import pty
import re
import select
import subprocess
import sys
import tempfile
import time
from html import escape
from pathlib import Path

OUT = Path(__file__).parent / "terminal.svg"
TASK = "Shorten the title in notes.md"
COLUMNS, DEADLINE_S = 88, 30
SCRIPT = {
    "steps": [
        {"calls": [{"name": "list_dir", "arguments": {}}]},
        {"calls": [{"name": "read_file", "arguments": {"path": "notes.md"}}]},
        {
            "calls": [
                {
                    "name": "edit_file",
                    "arguments": {
                        "path": "notes.md",
                        "old": "# A few notes about the lake",
                        "new": "# The lake",
                    },
                }
            ]
        },
        {"text": "The title of notes.md is now **The lake**; nothing else changed."},
    ]
}
NOTES = "# A few notes about the lake\n\nWarm on top, cold below.\nThe floor does not move.\n"
COLOURS = {"31": "#c2452d", "32": "#2e7d4f", "33": "#9a6b00", "36": "#1f7a8c", "2": "#7a8085"}
STYLE = re.compile(r"\x1b\[([0-9;]*)m")
OTHER = re.compile(r"\x1b\[[0-9;?]*[A-Za-ln-z]|\x1b\][^\x07]*\x07|\x1b[=>]")


def record() -> str:
    """What the terminal got, with the question answered by `y`."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder) / "site"
        work.mkdir()
        (work / "notes.md").write_text(NOTES)
        script = Path(folder) / "script.json"
        script.write_text(json.dumps(SCRIPT))
        environment = {
            "HOME": folder,
            "PATH": os.environ["PATH"],
            "LIMNOS_MODEL": f"scripted:{script}",
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "COLUMNS": str(COLUMNS),
            "LINES": "40",
        }
        main, terminal = pty.openpty()
        program = str(Path(sys.executable).with_name("limnos"))
        child = subprocess.Popen(
            [program, "run", TASK],
            cwd=work,
            env=environment,
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
        )
        os.close(terminal)
        said = _converse(main)
        child.wait(DEADLINE_S)
        os.close(main)
    return said


def _converse(main: int) -> str:
    said, answered = b"", False
    asked_at = 0.0
    until = time.monotonic() + DEADLINE_S
    while time.monotonic() < until:
        if select.select([main], [], [], 0.1)[0]:
            try:
                piece = os.read(main, 65536)
            except OSError:
                break
            if not piece:
                break
            said += piece
        if not asked_at and b"n no" in said:
            asked_at = time.monotonic()
        if asked_at and not answered and time.monotonic() - asked_at > 1:
            os.write(main, b"y\n")
            answered = True
    return said.decode("utf-8", "replace")


def rows(said: str) -> list[str]:
    """The lines as SVG spans: what was overwritten by a carriage return is gone, as on a screen."""
    text = OTHER.sub("", said).replace("\r\n", "\n")
    lines = [line.rsplit("\r", 1)[-1] for line in text.split("\n")]
    while lines and not STYLE.sub("", lines[-1]).strip():
        lines.pop()
    return [_spans(line) for line in lines]


def _spans(line: str) -> str:
    pieces, colour, place = [], "", 0
    for match in (*STYLE.finditer(line), None):
        piece = line[place : match.start() if match else len(line)]
        if piece:
            fill = f' fill="{colour}"' if colour else ""
            pieces.append(f'<tspan{fill} xml:space="preserve">{escape(piece)}</tspan>')
        if match:
            codes = match.group(1).split(";")
            colour = next((COLOURS[code] for code in codes if code in COLOURS), "")
            place = match.end()
    return "".join(pieces)


def draw(lines: list[str]) -> str:
    """The picture: no box around it, no colours but those of the terminal."""
    prompt = f'<tspan fill="#7a8085">$ </tspan><tspan xml:space="preserve">limnos run "{TASK}"</tspan>'
    body = [
        f'<text x="16" y="{30 + 20 * number}">{line}</text>'
        for number, line in enumerate([prompt, *lines])
        if line
    ]
    height = 44 + 20 * len(lines)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 {height}" width="760" role="img">',
            f"<title>limnos run: {escape(TASK)}</title>",
            '<rect width="100%" height="100%" fill="#fbfaf7"/>',
            '<g font-family="ui-monospace, monospace" font-size="13.5" fill="#22282c">',
            *body,
            "</g>",
            "</svg>",
            "",
        ]
    )


if __name__ == "__main__":
    OUT.write_text(draw(rows(record())), encoding="utf-8")
