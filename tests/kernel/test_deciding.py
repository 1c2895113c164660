"""Rules, modes and findings: deny beats ask beats allow, and every part must be covered."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limnos.kernel.deciding import Effect, Mode, Standing, by_rules, decide, replaced_programs
from limnos.kernel.findings import Findings, Part, covers, matches
from limnos.kernel.messages import ToolError
from limnos.kernel.seams import Rule

HARD = ToolError("refused", "never", "do something else")


def rule(effect: str, match: str, **more: str) -> Rule:
    return Rule(effect, "t", match, **more)


def doing(*commands: str, reason: str = "", **more: object) -> Findings:
    parts = tuple(Part(tuple(command.split()), reason=reason) for command in commands)
    return Findings(parts, **more)  # pyright: ignore[reportArgumentType]


def verdict(findings: Findings, *rules: Rule, mode: Mode = "ask", edits: bool = False) -> Effect:
    return decide(findings, rules, Standing(mode, needs_yes=True, passes_in_auto=edits))


ALLOW_ALL = rule("allow", "*")


@pytest.mark.parametrize(
    ("pattern", "words", "right"),
    [
        ("git status*", ("git", "status", "--short"), True),
        ("git status", ("git", "status", "--short"), False),
        ("git * --short", ("git", "log", "--short"), True),
        ("*", ("anything", "at all"), True),
        ("a*b*c", ("a", "b", "c"), True),
        ("a*b*c", ("a", "c", "b"), False),
        ("aa", ("a",), False),
        ("a*a", ("a",), False),
        ("rm x", ("rm x",), False),
        ("rm *", ("rm x", "y"), False),
        ("ls*", ("./ls",), False),
        ("", ("",), True),
        ("git", (), False),
    ],
)
def test_a_pattern_covers_words_joined_by_blanks_and_never_reaches_across_a_program(
    pattern: str, words: tuple[str, ...], right: bool
) -> None:
    assert covers(pattern, words) is right


@given(st.text("ab*", max_size=8), st.text("ab", max_size=8))
def test_stars_stand_for_any_text(pattern: str, text: str) -> None:
    def slow(pattern: str, text: str) -> bool:
        if not pattern:
            return not text
        if pattern[0] == "*":
            return slow(pattern[1:], text) or (bool(text) and slow(pattern, text[1:]))
        return bool(text) and pattern[0] == text[0] and slow(pattern[1:], text[1:])

    assert matches(pattern, text) is slow(pattern, text)


def test_deny_beats_ask_beats_allow_in_any_order() -> None:
    rules = [rule("allow", "git *"), rule("ask", "git push*"), rule("deny", "git push --force*")]
    for order in (rules, rules[::-1]):
        assert by_rules(doing("git status"), order) == "allow"
        assert by_rules(doing("git push"), order) == "ask"
        assert by_rules(doing("git push --force"), order) == "deny"


def test_every_part_must_be_covered() -> None:
    assert verdict(doing("git status", "rm x"), rule("allow", "git status*")) == "ask"
    assert (
        verdict(doing("git status", "rm x"), rule("allow", "git status*"), rule("allow", "rm x")) == "allow"
    )


def test_a_deny_rule_sees_the_other_spellings_and_an_allow_rule_does_not() -> None:
    found = Findings((Part(("/usr/bin/git", "push"), also=(("git", "push"),)),))

    assert verdict(found, rule("deny", "git push*")) == "deny"
    assert verdict(found, rule("allow", "git push*")) == "ask"


def test_what_goes_beyond_its_program_is_allowed_by_its_exact_words_only() -> None:
    found = doing("sed -i s/a/b/ x", reason="sed -i writes x")

    assert verdict(found, rule("allow", "sed *")) == "ask"
    assert verdict(found, ALLOW_ALL) == "ask"
    assert verdict(found, rule("allow", "sed -i s/a/b/ x")) == "allow"


def test_a_construct_asks_whatever_the_rules_say_but_not_in_yolo() -> None:
    found = doing("echo x", reasons=("a substitution",))

    assert verdict(found, ALLOW_ALL) == "ask"
    assert verdict(found, ALLOW_ALL, mode="auto", edits=True) == "ask"
    assert verdict(found, mode="yolo") == "allow"


def test_without_a_sandbox_everything_asks_also_in_yolo() -> None:
    found = doing("ls", always="no sandbox")

    assert verdict(found, rule("allow", "ls"), mode="yolo") == "ask"


def test_a_hard_denial_holds_in_every_mode_and_against_every_rule() -> None:
    for mode in ("ask", "auto", "yolo"):
        assert verdict(doing("rm -rf /", denied=HARD), ALLOW_ALL, mode=mode) == "deny"


def test_ask_and_deny_rules_hold_in_yolo() -> None:
    assert verdict(doing("git push"), rule("ask", "git push*"), mode="yolo") == "ask"
    assert verdict(doing("git push"), rule("deny", "git push*"), mode="yolo") == "deny"
    assert verdict(doing("git push"), mode="yolo") == "allow"


def test_edits_pass_in_auto_only_when_nothing_speaks_against_it() -> None:
    edit = Findings((Part(subject="src/a.py"),))
    hook = Findings((Part(subject=".git/hooks/x"),), ("git runs what is in it",))

    assert verdict(edit, mode="auto", edits=True) == "allow"
    assert verdict(edit, mode="auto", edits=False) == "ask"
    assert verdict(hook, mode="auto", edits=True) == "ask"
    assert verdict(edit, rule("deny", "src/*"), mode="auto", edits=True) == "deny"


def test_a_rule_made_for_a_program_covers_no_other_file_of_that_name() -> None:
    planted = Findings((Part(("git", "status"), program="/project/bin/git"),))
    made_for = rule("allow", "git status*", program="/usr/bin/git")

    assert verdict(planted, made_for) == "ask"
    assert replaced_programs(planted, [made_for]) == [
        "git is /project/bin/git now; the rule was made for /usr/bin/git"
    ]
    assert verdict(Findings((Part(("git", "status"), program="/usr/bin/git"),)), made_for) == "allow"


def test_a_call_that_does_nothing_known_is_not_allowed_by_any_rule() -> None:
    assert verdict(Findings(()), ALLOW_ALL) == "ask"
