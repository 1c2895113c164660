"""`limnos completion`: a script for the shell, made from the command table."""

import string
from typing import Annotated

from limnos.frontends.cli.console import Console
from limnos.frontends.cli.table import COMMANDS
from limnos.frontends.cli.words import Argument
from limnos.kernel.errors import UsageError

_WITH_SESSION = ("open", "replay", "export", "rename", "fork")
# Without starting limnos: the ids are the last part of the files' names.
_IDS = (
    "ls -t ${LIMNOS_HOME:-$HOME/.limnos}/personas/*/sessions/*/*/*.jsonl 2>/dev/null"
    " | sed -e s/.*-// -e s/[.]jsonl$// | head -n 50"
)

_BASH = string.Template("""\
_limnos() {
  local word="$${COMP_WORDS[COMP_CWORD]}"
  if [ "$$COMP_CWORD" -eq 1 ]; then COMPREPLY=($$(compgen -W "$commands" -- "$$word")); return; fi
  case "$${COMP_WORDS[1]}" in
    $with_session) COMPREPLY=($$(compgen -W "$$($ids)" -- "$$word")) ;;
    help) COMPREPLY=($$(compgen -W "$commands" -- "$$word")) ;;
$groups  esac
}
complete -F _limnos -o default limnos
""")
_ZSH = "autoload -Uz bashcompinit && bashcompinit\n"
_FISH = string.Template("""\
complete -c limnos -n __fish_use_subcommand -f -a "$commands"
complete -c limnos -n "__fish_seen_subcommand_from $with_session" -f -a "(bash -c '$ids')"
$groups""")


def completion(
    console: Console,
    shell: Annotated[str, Argument(metavar="SHELL", help="bash, zsh or fish")],
) -> None:
    """Print a completion script."""
    scripts = {"bash": _bash, "zsh": lambda: _ZSH + _bash(), "fish": _fish}
    if shell not in scripts:
        raise UsageError(f"no completion for {shell!r}", "limnos completion bash")
    console.data(scripts[shell]())


def _groups() -> dict[str, list[str]]:
    loaded = {name: list(command.load().FUNCTIONS) for name, command in COMMANDS.items()}
    return {name: [sub for sub in subs if sub] for name, subs in loaded.items() if len(subs) > 1}


def _bash() -> str:
    groups = "".join(
        f'    {name}) [ "$COMP_CWORD" -eq 2 ] && COMPREPLY=($(compgen -W "{" ".join(subs)}" -- "$word")) ;;\n'
        for name, subs in _groups().items()
    )
    names = " ".join(COMMANDS)
    return _BASH.substitute(commands=names, with_session="|".join(_WITH_SESSION), ids=_IDS, groups=groups)


def _fish() -> str:
    groups = "".join(
        f'complete -c limnos -n "__fish_seen_subcommand_from {name}" -f -a "{" ".join(subs)}"\n'
        for name, subs in _groups().items()
    )
    names = " ".join(COMMANDS)
    return _FISH.substitute(commands=names, with_session=" ".join(_WITH_SESSION), ids=_IDS, groups=groups)


FUNCTIONS = {"": completion}
