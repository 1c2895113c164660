"""Questions are shown whole, and an answer is never an accident."""

import pytest

from limnos.frontends.cli.approvals import (
    AnswerRow,
    Heard,
    answered_line,
    question_lines,
    rule_lines,
    whole_lines,
)
from limnos.frontends.cli.spans import plain
from limnos.kernel.events import ApprovalAnswered, ApprovalAsked
from limnos.kernel.seams import Answer
from tests.frontends.cli.support import look, text

PUSH = ApprovalAsked(
    approval="k7f2",
    call="c1",
    tool="run_command",
    arguments={"command": "git add docs/setup.md && git push mirror main"},
    hash="sha256:3f9c",
    reasons=["sends data out to a place it has not sent to before"],
    cwd="/home/u/src/site",
    rule={"effect": "allow", "tool": "run_command", "match": "git push mirror main", "scope": "session"},
    destinations=["git.mirror.example"],
    origins=["person", "web:wiki.example"],
    parts=[["git", "add", "docs/setup.md"], ["git", "push", "mirror", "main"]],
)
DIFF = """--- a/tests/cli/conftest.py
+++ b/tests/cli/conftest.py
@@ -11,3 +11,3 @@
 @pytest.fixture
-def home(tmp_path: Path) -> Path:
+def cli_home(tmp_path: Path) -> Path:
     folder = tmp_path / "home"
"""


def _row(asked: ApprovalAsked = PUSH) -> AnswerRow:
    return AnswerRow(asked, visible_at=100.0)


def test_a_question_names_what_where_to_whom_and_from_where() -> None:
    assert text(question_lines(look(80), PUSH)) == [
        "? run_command asks: sends data out to a place it has not sent to before    k7f2",
        "  in      ~/src/site",
        "  run     git add docs/setup.md && git push mirror main",
        "  part 1  git add docs/setup.md",
        "  part 2  git push mirror main",
        "  to      git.mirror.example",
        "  from    web:wiki.example, not trusted",
    ]


def test_a_narrow_question_indents_and_still_says_everything() -> None:
    rows = text(question_lines(look(40), PUSH))
    assert rows[:3] == [
        "? run_command asks: sends data out to a",
        "  place it has not sent to before",
        "  k7f2, in ~/src/site",
    ]
    assert all(len(row) < 40 for row in rows)
    assert "git push mirror main" in " ".join(rows)


def test_an_edit_is_a_diff_with_numbers_and_signs() -> None:
    asked = ApprovalAsked(
        approval="m3d8", call="c2", tool="edit_file", arguments={"path": "tests/cli/conftest.py"}, hash="",
        reasons=["changes 1 file, 1 line"], cwd="/home/u/src/site", preview=DIFF,
    )  # fmt: skip
    assert text(question_lines(look(80), asked))[2:] == [
        "  path    tests/cli/conftest.py",
        "   11    @pytest.fixture",
        "   12  - def home(tmp_path: Path) -> Path:",
        "   12  + def cli_home(tmp_path: Path) -> Path:",
        '   13        folder = tmp_path / "home"',
    ]


def test_a_long_diff_names_its_rest_and_v_shows_all() -> None:
    preview = "@@ -0,0 +1,60 @@\n" + "\n".join(f"+line {n}" for n in range(60))
    asked = ApprovalAsked(
        approval="m3d8",
        call="c2",
        tool="write_file",
        arguments={"path": "x"},
        hash="",
        reasons=[],
        preview=preview,
    )
    assert "36 more lines, v shows all" in text(question_lines(look(80), asked))[-1]
    assert "line 59" in text(whole_lines(look(80), asked))[-1]


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("n", Answer("no", source="tty")),
        ("y", Answer("once", source="tty")),
        ("yes", Answer("once", source="tty")),
        ("No", Answer("no", source="tty")),
        ("是", Answer("once", source="tty")),
        ("否", Answer("no", source="tty")),
        ("n: use the staging branch", Answer("no", reason="use the staging branch", source="tty")),
    ],
)
def test_a_letter_answers_once_the_question_could_be_read(typed: str, answer: Answer) -> None:
    heard = _row().hear(look(), typed, begun=100.6)
    assert heard is not None
    assert heard.answer == answer


def test_a_line_begun_before_the_question_could_be_read_is_a_message() -> None:
    assert _row().hear(look(), "y", begun=100.4) is None
    assert _row().hear(look(), "y", begun=0.0) is None


def test_one_more_character_makes_the_line_a_message_again() -> None:
    assert _row().hear(look(), "yes please", begun=101.0) is None
    assert plain(_row().row(look(), "yes p", 101.0)).startswith("? Enter queues your line")


@pytest.mark.parametrize("typed", ["yes", "no", "是"])
def test_a_whole_word_answers_only_once_the_question_could_be_read(typed: str) -> None:
    assert _row().hear(look(), typed, begun=100.4) is None


def test_lines_that_were_no_answer_are_counted_beside_the_letters() -> None:
    assert plain(_row().queued_row(look(), 1)) == "› 1 line queued; answer with n, y, a, e, v"
    unstorable = AnswerRow(PUSH.changed(rule=None), 100.0)
    assert plain(unstorable.queued_row(look(), 2)) == "› 2 lines queued; answer with n, y, e, v"


def test_the_row_says_what_enter_will_do() -> None:
    assert plain(_row().row(look(), "", 0.0)).startswith(
        "? n no   y once   a always...   e edit   n: reason   v all"
    )
    assert plain(_row().row(look(), "y", 101.0)) == "? Enter: allow once, all 2 parts"
    assert plain(_row().row(look(), "n: no", 101.0)) == "? Enter: deny, because: no"
    assert plain(_row().row(look(), "half", 50.0)).startswith(
        "? Enter queues your line   Alt-N no   Alt-Y once"
    )


def test_always_shows_its_exact_rule_before_it_is_stored() -> None:
    row = _row()
    shown = row.hear(look(), "a", 101.0)
    assert shown is not None
    assert shown.answer is None
    assert text(shown.rows) == text(rule_lines(look(), PUSH))
    assert "allow run_command `git push mirror main`" in text(shown.rows)[1]
    stored = row.hear(look(), "1", 102.0)
    assert stored is not None
    assert stored.answer == Answer("always", source="tty")


def test_always_is_not_offered_where_the_kernel_has_no_rule() -> None:
    row = AnswerRow(ApprovalAsked(approval="a", call="c", tool="t", arguments={}, hash="", reasons=[]), 100.0)
    said = "? a is not offered here; answer with n, y, e, v"
    refusal = [look().signed("ask", said.removeprefix("? "))]
    assert row.hear(look(), "a", 101.0) == Heard(rows=refusal, slip=True)
    assert plain(row.row(look(), "a", 101.0)) == said
    assert "always" not in plain(row.row(look(), "", 0.0))


def test_a_letter_where_the_scope_is_chosen_is_no_message() -> None:
    row = _row()
    row.hear(look(), "a", 101.0)
    heard = row.hear(look(), "y", 102.0)
    assert heard is not None
    assert heard.answer is None
    assert text(heard.rows) == ["? y is not offered here; answer with 0, 1, 2, 3"]


def test_an_edit_answers_with_the_edited_command() -> None:
    row = _row()
    offered = row.hear(look(), "e", 101.0)
    assert offered is not None
    assert offered.fill == PUSH.arguments["command"]
    heard = row.hear(look(), "git push origin main", 102.0)
    assert heard is not None
    assert heard.answer == Answer("edit", arguments={"command": "git push origin main"}, source="tty")


@pytest.mark.parametrize(("typed", "reason"), [("n", None), ("n: not there", "not there")])
def test_a_no_stays_a_no_while_the_command_is_edited(typed: str, reason: str | None) -> None:
    row = _row()
    row.hear(look(), "e", 101.0)
    assert plain(row.row(look(), typed, 102.0)).startswith("? Enter: deny")
    heard = row.hear(look(), typed, 102.0)
    assert heard is not None
    assert heard.answer == Answer("no", reason=reason, source="tty")


def test_an_empty_line_ends_the_edit_and_the_next_line_is_a_message() -> None:
    row = _row()
    row.hear(look(), "e", 101.0)
    assert plain(row.row(look(), "", 0.0)) == "? type the new version; n is no, an empty line goes back"
    heard = row.hear(look(), "", 102.0)
    assert heard is not None
    assert heard.answer is None
    assert row.hear(look(), "use the staging branch", 103.0) is None


def test_arguments_that_are_no_json_stay_to_be_mended() -> None:
    row = AnswerRow(
        ApprovalAsked(approval="a", call="c", tool="t", arguments={"n": 1}, hash="", reasons=[]), 100.0
    )
    row.hear(look(), "e", 101.0)
    heard = row.hear(look(), '{"n": ', 102.0)
    assert heard is not None
    assert (heard.answer, heard.fill) == (None, '{"n": ')


def test_what_is_to_be_edited_is_printed_without_its_control_characters() -> None:
    typed = {"command": "ls \x1b[2J\npwd"}
    asked = ApprovalAsked(approval="a", call="c", tool="run_command", arguments=typed, hash="", reasons=[])
    heard = AnswerRow(asked, 100.0).hear(look(), "e", 101.0)
    assert heard is not None
    assert text(heard.now()) == ["  now: ls \\x1b[2J", "       pwd"]


def test_one_line_records_each_answer() -> None:
    def said(answer: str, reason: str | None = None) -> str:
        event = ApprovalAnswered(
            approval="k7f2",
            call="c1",
            answer=answer,
            principal="owner",
            source="tty",
            reason=reason,
            after_ms=6000,
        )
        return plain(answered_line(look(), event, retry=True))

    assert said("once") == "✓ allowed by you, once, after 6 s"
    assert said("no", "use the staging branch") == "- denied by you after 6 s: use the staging branch"
    assert said("expired") == "- denied: no answer in time    next: /retry asks again"
    assert said("cancelled") == "- not answered, and not run"


def test_v_prints_a_command_once() -> None:
    asked = PUSH.changed(arguments={"command": "make test"}, preview="make test")
    assert text(whole_lines(look(), asked)) == ["  make test"]


@pytest.mark.parametrize("typed", ["\x1by", "\x1b", "\x1b[A", "y\x1b[D"])
def test_a_key_that_came_as_text_is_neither_an_answer_nor_a_message(typed: str) -> None:
    row = _row()
    said = "? only letters answer here, no Alt or arrow keys; answer with n, y, a, e, v"
    heard = row.hear(look(), typed, 101.0)
    assert heard is not None
    assert heard.slip
    assert heard.answer is None
    assert text(heard.rows) == [said]


def test_an_alt_key_that_comes_before_the_question_could_be_read_says_so_and_answers_nothing() -> None:
    row = _row()
    early = row.press(look(), "once", 100.2)
    assert early.answer is None
    assert text(early.rows) == ["? that came before the question could be read; press it again"]
    assert row.press(look(), "once", 101.0) == Heard(Answer("once", source="tty"))


def test_alt_y_never_runs_the_command_that_is_being_edited_and_alt_n_still_denies() -> None:
    row = _row()
    row.hear(look(), "e", 101.0)
    held = row.press(look(), "once", 102.0)
    assert held.answer is None
    assert text(held.rows) == ["? not while you edit; Enter runs your version, Ctrl-U goes back"]
    assert row.press(look(), "no", 102.0) == Heard(Answer("no", source="tty"))
