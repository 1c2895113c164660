"""Why a command is more than its program is for, by the tables of all families."""

from limnos.agent.shell.options import Call, Family, Policy, judge, judge_family
from limnos.agent.shell.policies import archives, builds, builtins, checks, files, machines, network, text
from limnos.agent.shell.policies.awk import awk_fault
from limnos.agent.shell.policies.find import find_fault
from limnos.agent.shell.policies.git import GIT
from limnos.agent.shell.policies.sed import sed_fault
from limnos.agent.shell.policies.unlisted import INSTALLER, unlisted_fault
from limnos.agent.shell.policies.unsafe import REASONS, is_interpreter, is_shell, unsafe_reason

POLICIES: dict[str, Policy] = {
    **text.POLICIES,
    **files.POLICIES,
    **archives.POLICIES,
    **network.POLICIES,
    **checks.POLICIES,
    **machines.POLICIES,
    **builtins.POLICIES,
    **dict.fromkeys(
        ("dnf", "yum", "microdnf", "zypper", "apk", "snap", "flatpak", "port", "nala"), INSTALLER
    ),
}
FAMILIES: dict[str, Family] = {"git": GIT, **builds.FAMILIES, **machines.FAMILIES}
_LANGUAGES = {
    "find": find_fault,
    "sed": sed_fault,
    "gsed": sed_fault,
    "awk": awk_fault,
    "gawk": awk_fault,
    "mawk": awk_fault,
    "nawk": awk_fault,
}


def is_listed(name: str) -> bool:
    """Whether a table says what `name` does."""
    known = name in POLICIES or name in FAMILIES or name in _LANGUAGES or name in builtins.NAMES
    return known or name in REASONS or is_shell(name) or is_interpreter(name)


def asks_packages(call: Call) -> bool:
    """`rpm -q…`, whose other letters mean something else than without it."""
    return call.name == "rpm" and call.args[:1] != () and call.args[0].startswith(("-q", "--query"))


def part_reason(call: Call) -> str:
    """Why `call` is more than its program is for: one short sentence, "" when it is not."""
    if language := _LANGUAGES.get(call.name):
        return _sentence(call.name, language(call))
    fault = builtins.builtin_fault(call)
    if fault is None and call.name not in FAMILIES:
        fault = unsafe_reason(call)
    if fault is not None:
        return _sentence(call.name, fault)
    if call.name in FAMILIES:
        sub, phrase = judge_family(call, FAMILIES[call.name])
        return _sentence(f"{call.name} {sub}".rstrip(), phrase)
    policy = machines.RPM_QUERY if asks_packages(call) else POLICIES.get(call.name)
    if policy is None:
        return _sentence(call.name, unlisted_fault(call))
    if call.name in ("tar", "bsdtar"):
        call = archives.spread_tar(call)
    if call.unseen == "words" and policy.asks and "--" not in call.args:
        return _sentence(call.name, "gets words that nobody saw, which may be flags")
    return _sentence(call.name, judge(call, policy))


def _sentence(name: str, phrase: str) -> str:
    if not phrase:
        return ""
    if phrase.startswith("the flag "):
        flag, _, rest = phrase.removeprefix("the flag ").partition(" ")
        return f"the flag {flag} of {name} {rest}"
    return f"{name} {phrase}"
