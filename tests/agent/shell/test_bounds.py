"""Whatever the text is: an answer, in bounded time, and longer or deeper is never weaker."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from limnos.agent.shell import inspect
from tests.agent.shell.checking import PLACE

SIGNS = st.sampled_from(
    [
        "rm",
        "-rf",
        "/",
        "~",
        "$(",
        "`",
        "'",
        '"',
        "\\",
        "\n",
        " ",
        " ",
        "|",
        "&",
        ";",
        "<<E\n",
        "E\n",
        "{",
        "}",
        "(",
        ")",
        "((",
        "))",
        "[[",
        "]]",
        "case",
        "in",
        "esac",
        "for",
        "do",
        "done",
        "if",
        "then",
        "fi",
        "f()",
        "$x",
        "${x",
        "$'",
        "<(",
        ">(",
        ">",
        "<",
        "<<<",
        "git",
        "-c",
        "sh",
        "find",
        "-exec",
        "xargs",
        "sed",
        "awk",
        "curl",
        "\ud800",
        "\0",
        "\r",
        "\u202e",
        "*",
        "[a]",
        "{a,b}",
        "~u",
        "tar",
        "env",
        "sudo",
        "time",
        "!",
        "coproc",
        "a=",
        "a=(",
        "#",
        "$[",
        "parallel",
        ":::",
        "docker",
        "run",
        "--",
        "-",
        "trap",
        "cd",
        "..",
    ]
)
LONG = {
    "parentheses": "(" * 100_000,
    "substitutions": "$(" * 50_000,
    "backticks": "`" * 100_000,
    "quotes": "'" * 100_000,
    "braces": "{a," * 33_000,
    "list": "true;" * 20_000,
    "pipe": "a|" * 50_000,
    "if": "if " * 33_000,
    "case": "case x in " * 10_000,
    "arithmetic": "$((" * 33_000,
    "parameters": "${x:-" * 20_000,
    "here": "cat <<A\n" * 12_000,
    "words": "a " * 50_000,
    "word": "x" * 100_000,
    "wrappers": "env " * 25_000,
    "find": "find . " + "-exec a \\; " * 9_000,
    "sed": "sed '" + "s/[/" * 24_000 + "'",
    "awk": "awk '" + "/[" * 49_000 + "'",
    "doubling": "".join(f"v{n}=$v{n - 1}$v{n - 1};" for n in range(1, 5_000)),
    "folders": "cd a;" * 20_000,
    "entered": "git " + "".join(f"-C a{n} " for n in range(12_000)),
    "functions": "".join(f"f{n}(){{ f{n + 1}; f{n + 1}; }};" for n in range(3_000)) + "f0",
    "positional": "bash -c 'rm -rf " + "$@ " * 20_000 + "' " + "a " * 10_000,
    "later": "echo '" + "a " * 49_000 + "' | crontab -",
    "paths": "nobodys-tool " + "".join(f"a{n} " for n in range(15_000)),
    "code": "python3 -c '" + 'run("a",' * 12_000 + "'",
}


@given(
    st.one_of(
        st.text(), st.lists(SIGNS, max_size=25).map("".join), st.lists(SIGNS, max_size=25).map(" ".join)
    )
)
@settings(max_examples=400, deadline=None)
def test_any_text_gets_an_answer(text: str) -> None:
    inspection = inspect(text, PLACE)

    assert inspection.findings.parts or inspection.findings.reasons


@pytest.mark.parametrize("name", LONG)
def test_the_longest_texts_are_read_in_bounded_time(name: str) -> None:
    before = time.process_time()

    findings = inspect(LONG[name][:100_000], PLACE).findings

    assert findings.reasons or findings.denied or len(findings.parts) == 1
    assert time.process_time() - before < 10


@pytest.mark.parametrize("text", ["a" * 100_001, "ls \0", "ls \ud800"])
def test_what_cannot_be_read_asks(text: str) -> None:
    assert inspect(text, PLACE).findings.reasons


@pytest.mark.parametrize("count", [1, 10, 31, 32, 33, 500])
def test_no_number_of_parts_hides_one(count: int) -> None:
    findings = inspect("true; " * count + "git push", PLACE).findings

    assert ("git", "push") in [part.words for part in findings.parts]
    assert bool(findings.reasons) == (count + 1 > 32)


@pytest.mark.parametrize(
    ("opening", "closing"),
    [("( ", " )"), ("{ ", "; }"), ("env ", ""), ("echo $(", ")"), ("if a; then ", "; fi")],
)
@pytest.mark.parametrize("depth", [1, 5, 12, 30, 90])
def test_no_depth_hides_what_is_never_done(opening: str, closing: str, depth: int) -> None:
    text = opening * depth + "rm -rf /" + closing * depth

    assert inspect(text, PLACE).findings.denied is not None


def test_a_usual_command_is_read_and_judged_within_two_milliseconds() -> None:
    text = "git log --oneline -n 20 -- src | grep -v merge | head -5 && ls -la src 2>/dev/null"
    inspect(text, PLACE)

    fastest = min(_seconds(text) for _ in range(20))

    assert fastest < 0.002


def _seconds(text: str) -> float:
    before = time.process_time()
    inspect(text, PLACE)
    return time.process_time() - before
