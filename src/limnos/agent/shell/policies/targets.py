"""What operands of a program do: which are written, copied, moved, and where that is no harm."""

import posixpath
import re
from collections.abc import Iterable, Sequence

from limnos.agent.shell.options import UNSEEN_WORDS, Call, OperandRule, Options
from limnos.agent.shell.place import first_fault

# What curl makes of an address that does not name its protocol.
_OTHER_SCHEME = re.compile(r"(ftps?|dict|ldap|imap|smtp|pop3)\.", re.IGNORECASE)
_HARMLESS = frozenset({"-", "/dev/null", "/dev/stdout", "/dev/stderr"})


def writing_fault(call: Call, paths: Iterable[str], verb: str = "writes") -> str:
    """Why one of `paths` may not be written under a broad rule."""
    plain = [path for path in paths if path not in _HARMLESS]
    fault = first_fault(plain, call.place, call.folders)
    return f"{verb} {fault}" if fault else ""


def writes_all(call: Call, options: Options) -> str:
    """Every operand is written (tee, touch, mkdir, rm)."""
    return unseen(call) or writing_fault(call, options.operands)


def unseen(call: Call) -> str:
    """A writer whose operands come from elsewhere."""
    return UNSEEN_WORDS if call.unseen else ""


def writes_behind_first(call: Call, options: Options) -> str:
    """The first operand is a mode or an owner (chmod, chown)."""
    return unseen(call) or writing_fault(call, options.operands[1:], "changes")


def copies(call: Call, options: Options) -> str:
    """The last operand is written, or the one of `-t` (cp, install). With `-s` or `-l` it links."""
    if options.values.keys() & {"-s", "--symbolic-link", "-l", "--link"}:
        return links(call, options)
    return unseen(call) or writing_fault(call, _destination(options))


def moves(call: Call, options: Options) -> str:
    """Sources vanish and the last operand is written."""
    return unseen(call) or writing_fault(call, [*options.operands, *_destination(options)], "moves")


def links(call: Call, options: Options) -> str:
    """A link leads where its first operands say, so those must be inside as well.

    The target of a symbolic link counts from the folder of the link.
    """
    written = _destination(options)
    targets = [one for one in options.operands if one not in written]
    if options.values.keys() & {"-s", "--symbolic", "--symbolic-link"}:
        folders = {posixpath.dirname(one) for one in written}
        targets = [posixpath.join(folder, one) for folder in folders for one in targets]
    return unseen(call) or writing_fault(call, [*targets, *written], "links")


def _destination(options: Options) -> list[str]:
    named = options.values.get("-t", []) + options.values.get("--target-directory", [])
    return named or list(options.operands[-1:])


def none_written_but_first(call: Call, options: Options) -> str:
    """A second operand is the output (uniq)."""
    if call.unseen:
        return unseen(call)
    return f"writes {options.operands[1]}" if len(options.operands) > 1 else ""


def no_operands(call: Call, options: Options) -> str:
    """Operands mean something that this policy does not know."""
    if options.operands or call.unseen:
        return f"does something else with {options.operands[0] if options.operands else 'unseen words'}"
    return ""


def at_most(count: int) -> OperandRule:
    """More operands than `count` do more than reading."""

    def judge(call: Call, options: Options) -> str:
        if len(options.operands) > count or call.unseen:
            return "takes more words than its reading form"
        return ""

    return judge


def first_is(*allowed: str, bare: bool = True) -> OperandRule:
    """The first operand is a further subcommand and must be one of `allowed`; none at all is `bare`."""

    def judge(call: Call, options: Options) -> str:
        del call
        if not options.operands:
            return "" if bare else "does something else without a further word"
        first = options.operands[0]
        return "" if first in allowed else f"{first} is not known to be harmless"

    return judge


def first_is_not(phrase: str, *denied: str) -> OperandRule:
    """The first operand is a further subcommand; those in `denied` do what `phrase` says."""

    def judge(call: Call, options: Options) -> str:
        del call
        return phrase if options.operands[:1] and options.operands[0] in denied else ""

    return judge


def only_with(phrase: str, *flags: str) -> OperandRule:
    """With one of `flags` it only tells; without them it does what `phrase` says."""

    def judge(call: Call, options: Options) -> str:
        del call
        return "" if options.values.keys() & set(flags) else phrase

    return judge


def no_assignments(call: Call, options: Options) -> str:
    """`NAME=value` changes how the program works (make)."""
    del call
    for operand in options.operands:
        name, equals, _ = operand.partition("=")
        if equals and name:
            return f"is told {name}=…, which can name a program"
    return ""


def plain_urls(call: Call, options: Options, addresses: Sequence[str] | None = None) -> str:
    """Operands (or `addresses`) are addresses of pages and nothing else."""
    if call.unseen:
        return "gets addresses that nobody saw"
    for operand in options.operands if addresses is None else addresses:
        scheme, found, _ = operand.partition("://")
        if found and scheme.casefold() not in ("http", "https"):
            return f"opens a {scheme} address"
        if not found and _OTHER_SCHEME.match(operand):
            return f"may open {operand} by another protocol than of pages"
        if any(char in operand for char in "{}[]"):
            return "makes many addresses of one"
    return ""
