"""What runs is what was shown: a real bash starts exactly the commands of the plan."""

from pathlib import Path

import pytest

from limnos.agent.shell import Argv, Script, Text, inspect
from tests.agent.shell.checking import PLACE, check_everything_seen, check_rebuilt, check_texts

SEED = 20261130
SPELLINGS = (
    "ls",
    "l's'",
    '"ls"',
    "\\ls",
    "l\\\ns",
    "ls  a",
    "ls\ta",
    "ls ''",
    'ls ""',
    "ls a''b",
    "ls 'a b'",
    'ls "a b"',
    "ls a\\ b",
    "ls 'a'\"b\"c",
    "ls '\"'",
    'ls "\'"',
    "ls \\'",
    'ls \\"',
    "ls '\\'",
    'ls "\\\\"',
    'ls "\\a"',
    'ls "\\$x"',
    'ls "\\`"',
    "ls '$x'",
    "ls '`a`'",
    "ls '$(a)'",
    "ls '*'",
    "ls \\*",
    'ls "?"',
    "ls '[a]'",
    "ls '{a,b}'",
    "ls {}",
    "ls {a}",
    "ls a{b",
    "ls a}",
    "ls \\~",
    "ls '~'",
    "ls a~",
    "ls a=b",
    "ls =",
    "ls #a",
    "ls a#b",
    "ls a #b",
    "ls '#'",
    "ls !",
    "ls !x",
    "ls a!",
    "ls -",
    "ls --",
    "ls 'a\nb'",
    'ls "a\nb"',
    "ls $'a\\nb'",
    "ls $'it\\'s'",
    "ls $",
    "ls a$",
    'ls "$"',
    "ls '' '' ''",
    "ls 日本",
    "ls 'é'",
    "ls %1",
    "ls a;",
    "ls ; ls",
    "ls;ls",
    "ls&&ls",
    "ls ||ls",
    "ls|ls",
    "ls |& ls",
    "ls\nls",
    "ls\n\n\nls\n",
    "ls &&\nls",
    "ls |\nls",
    "ls # a; b\nls",
    "ls 2>/dev/null",
    "ls >/dev/null a",
    "ls 2>&1 | ls",
    "ls &>/dev/null",
    "ls </dev/null",
    "ls > out.txt",
    "ls >> 'o t'",
    "ls then",
    "ls if fi",
    "ls do done",
    "ls in",
    "ls { }",
    "ls time",
    "time ls",
    "time -p ls a | ls",
    "ls 1 2",
    "ls 1>/dev/null",
    "ls a1>/dev/null",
    "'time' ls",
    "ls 'if'",
    "\\if a",
    "'{' a",
    "'a=b' c",
    "a\\=b c",
    "ls \\\n  a \\\n  b",
    'ls "a\\\nb"',
    "ls a\\;b",
    "ls a\\&b",
    "ls \\(a\\)",
)


def test_every_spelling_of_a_plain_command_runs_as_it_was_shown(tmp_path: Path) -> None:
    joined = [
        f"{one} && {other}" for one in SPELLINGS[:20] for other in SPELLINGS[20:36] if "\n" not in one + other
    ]

    check_texts([*SPELLINGS, *joined], tmp_path)


def test_generated_commands_run_as_they_were_shown(tmp_path: Path) -> None:
    check_rebuilt(SEED, 500, tmp_path)


def test_nothing_that_bash_starts_is_missing_among_the_parts(tmp_path: Path) -> None:
    check_everything_seen(SEED, 300, tmp_path)


def test_one_simple_command_is_a_program_with_its_words() -> None:
    assert inspect("git  'log' -n\\\n1", PLACE).plan == Argv(("git", "log", "-n1"))


def test_a_command_of_the_shell_is_no_program() -> None:
    assert inspect("cd src", PLACE).plan == Script("'cd' 'src'", (("cd", "src"),))


def test_a_plain_list_is_made_anew_with_every_word_in_quotes() -> None:
    plan = inspect("ls a >/dev/null 2>&1&&git log|head -5 # so", PLACE).plan

    assert isinstance(plan, Script)
    assert plan.text == "'ls' 'a' >'/dev/null' 2>&1 && 'git' 'log' | 'head' '-5'"


@pytest.mark.parametrize(
    "text",
    [
        "(ls)",
        "{ ls; }",
        "! ls",
        "ls &",
        "A=1 ls",
        "ls $x",
        "ls *",
        "ls <<E\nE",
        "ls <<<x",
        "if ls; then ls; fi",
        "",
        "#",
        "ls '",
    ],
)
def test_what_is_not_plain_is_a_text_that_asks(text: str) -> None:
    inspection = inspect(text, PLACE)

    assert inspection.plan == Text(text)
    assert inspection.findings.reasons
