"""What does the same where a program is not installed: names of other tools and other systems."""

import shutil

# by what they do; the program itself is never its own equivalent
_GROUPS: tuple[tuple[str, ...], ...] = (
    ("rg", "ag", "ack", "grep -rn"),
    ("fd", "fdfind", "find . -name"),
    ("tree", "find . -print"),
    ("bat", "type", "cat"),
    ("exa", "eza", "dir", "ls -la"),
    ("python", "py", "python3"),
    ("pip", "pip3", "python3 -m pip"),
    ("wget", "curl -O"),
    ("curl", "wget -qO-"),
    ("copy", "cp"),
    ("move", "mv"),
    ("del", "erase", "rm"),
    ("cls", "clear"),
    ("ipconfig", "ifconfig", "ip addr"),
    ("netstat", "ss"),
    ("powershell", "pwsh", "cmd", "bash"),
    ("gsed", "sed"),
    ("gawk", "awk"),
    ("gmake", "make"),
    ("jq", "python3 -m json.tool"),
    ("yarn", "pnpm", "npm"),
    ("nodejs", "node"),
    ("docker-compose", "docker compose"),
    ("vim", "vi", "nano", "emacs", "edit_file"),
    ("pbcopy", "xclip"),
    ("open", "xdg-open"),
)
_OURS = frozenset({"edit_file"})


def equivalent(program: str, path: str) -> str:
    """What can be used in place of `program`, of what the folders of `path` hold; empty when nothing can."""
    for group in _GROUPS:
        for other in group if program in group else ():
            word = other.split()[0]
            if other != program and (word in _OURS or shutil.which(word, path=path)):
                return other
    return ""
