"""A real bash that runs nothing: it writes down every command that it would have started, byte for byte."""

import subprocess
from pathlib import Path

_DRIVER = r"""
PATH=/nonexistent
command_not_found_handle() {
    printf '%s\0' "$@" > "$LOG/$EPOCHREALTIME.$BASHPID"
    case $1 in no*) return 1 ;; esac
}
ulimit -f 2000 -t 20
FUNCNEST=8
mapfile -d '' TEXTS < "$1"
for NUMBER in "${!TEXTS[@]}"; do
    LOG=$2/$NUMBER
    ( cd "$3" && eval "${TEXTS[NUMBER]}"; wait ) < /dev/null > /dev/null 2>&1
done
"""


def run_all(texts: list[str], folder: Path) -> list[list[tuple[str, ...]]]:
    """For each text the commands that bash started, in the order of their starts."""
    logs, work = folder / "logs", folder / "work"
    logs.mkdir()
    for number in range(len(texts)):
        (logs / str(number)).mkdir()
    work.mkdir()
    commands = folder / "texts"
    commands.write_bytes(b"".join(text.encode() + b"\0" for text in texts))
    subprocess.run(
        ["bash", "--norc", "--noprofile", "-c", _DRIVER, "bash", str(commands), str(logs), str(work)],
        check=True,
        timeout=600,
        env={"LC_ALL": "C.UTF-8", "HOME": "/home/u"},
        stdin=subprocess.DEVNULL,
    )
    return [_read(logs / str(number)) for number in range(len(texts))]


def _read(log: Path) -> list[tuple[str, ...]]:
    """One file for each start, named by its time."""
    found = [path.read_bytes().decode().split("\0")[:-1] for path in sorted(log.iterdir())]
    return [tuple(words[1:] if words[0] == "COPROC" else words) for words in found]
