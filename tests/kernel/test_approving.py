"""The gate around the loop: findings, rules that stay, what is refused unasked, failures in vain."""

from collections.abc import Sequence
from typing import Any

import pytest

from limnos.kernel.approvals import GateRules, GateSettings
from limnos.kernel.errors import SettingsError, StorageError
from limnos.kernel.events import ApprovalAnswered, ApprovalAsked
from limnos.kernel.findings import Findings, Part
from limnos.kernel.messages import Arguments, ToolError
from limnos.kernel.repeats import DEMAND
from limnos.kernel.seams import Answer, Rule
from limnos.kernel.stages import Action, CallPayload, Handler, Pass, Payload, Rewrite
from limnos.kernel.tools import Output, Preview, Tool, ToolContext
from limnos.providers.scripted import Scripted
from limnos.testing.doubles import ListedAnswers
from tests.kernel.turns import Ran, Setting, call, echo_tool, step


class Book:
    """A rule book in memory; `fault` is what it raises."""

    def __init__(self, *rules: Rule, fault: Exception | None = None) -> None:
        self.kept = list(rules)
        self.fault = fault

    def rules(self) -> Sequence[Rule]:
        if isinstance(self.fault, SettingsError):
            raise self.fault
        return self.kept

    def keep(self, rule: Rule) -> None:
        if self.fault is not None:
            raise self.fault
        self.kept.append(rule)


def commands(ran: Ran, findings: Findings | None = None, **flags: Any) -> Tool:
    """A tool that does what its text says, part by part; the parts are between semicolons."""

    def found(arguments: Arguments) -> Findings:
        return findings or Findings(tuple(Part(tuple(one.split())) for one in arguments["text"].split(";")))

    def shown(arguments: Arguments) -> Preview:
        return Preview(arguments["text"], rule=Rule("allow", "do", arguments["text"]))

    return echo_tool(ran, "do", effects="local", needs_approval=True, findings=found, preview=shown, **flags)


def told(ran: Ran, tool: Tool, text: str, *answers: Answer, **more: Any) -> Setting:
    setting = Setting(
        Scripted([step("", call("do", "c1", text=text), call("echo", "c2")), step("ok")]),
        [tool, echo_tool(Ran())],
        ListedAnswers(*answers),
        **more,
    )
    setting.run()
    return setting


def test_a_question_lists_its_parts_and_what_is_special_about_each() -> None:
    parts = (Part(("git", "status")), Part(("sort", "-o", "x"), reason="sort -o writes x"))
    setting = told(Ran(), commands(Ran(), Findings(parts, ("a variable",))), "x", Answer("no"))

    (asked,) = setting.events("approval_asked")
    assert asked.parts == [["git", "status"], ["sort", "-o", "x"]]
    assert asked.reasons == ["a variable", "sort -o writes x"]


def test_a_hard_denial_is_told_to_the_model_and_asked_of_nobody() -> None:
    ran = Ran()
    never = ToolError("refused", "never that", "do this instead")
    setting = told(ran, commands(ran, Findings((), denied=never)), "x", gate=GateSettings("yolo"))

    assert ran.order == []
    assert setting.events("approval_asked") == []
    (finished,) = [event for event in setting.events("call_finished") if event.call == "c1"]
    assert (finished.outcome, finished.error["hint"]) == ("denied", "do this instead")


def test_an_edit_cannot_make_a_hard_denial_pass() -> None:
    ran = Ran()

    def found(arguments: Arguments) -> Findings:
        evil = arguments["text"] == "evil"
        return Findings((Part(("x",)),), denied=ToolError("refused", "never", "no") if evil else None)

    tool = commands(ran)._replace(findings=found)
    told(ran, tool, "fine", Answer("edit", arguments={"text": "evil"}))

    assert ran.order == []


@pytest.mark.parametrize(("scope", "folder"), [("persona", "/work"), ("everywhere", "")])
def test_always_is_kept_in_the_book_with_where_it_holds(scope: str, folder: str) -> None:
    ran, book = Ran(), Book()
    setting = told(ran, commands(ran), "make", Answer("always", scope=scope), rules=GateRules(book=book))

    (kept,) = book.kept
    assert (kept.match, kept.scope) == ("make", scope)
    assert bool(kept.folder) is bool(folder)
    answered = setting.events("approval_answered")[0]
    assert isinstance(answered, ApprovalAnswered)
    assert answered.rule is not None
    assert answered.rule["scope"] == scope
    assert ran.order == ["do:make"]


def test_a_rule_of_the_book_stops_the_question_only_in_its_folder() -> None:
    here, elsewhere = Rule("allow", "do", "make"), Rule("allow", "do", "make", folder="/elsewhere")

    asked = told(Ran(), commands(Ran()), "make", Answer("no"), rules=GateRules(book=Book(elsewhere)))
    unasked = told(Ran(), commands(Ran()), "make", rules=GateRules(book=Book(here)))

    assert len(asked.events("approval_asked")) == 1
    assert unasked.events("approval_asked") == []


def test_a_book_that_cannot_be_written_keeps_the_rule_for_this_session_and_says_so() -> None:
    ran, book = Ran(), Book(fault=StorageError("the disk is full", "free some space"))
    setting = Setting(
        Scripted([step("", call("do", "c1", text="make"), call("do", "c2", text="make")), step("ok")]),
        [commands(ran)],
        ListedAnswers(Answer("always", scope="persona")),
        rules=GateRules(book=book),
    )
    setting.run()

    assert ran.order == ["do:make", "do:make"]
    assert [event.code for event in setting.events("warning")] == ["rule_not_stored"]


def test_rules_that_cannot_be_read_let_nothing_pass() -> None:
    ran = Ran()
    book = Book(fault=SettingsError("rules.toml is broken", "mend it"))
    setting = told(ran, commands(ran), "make", gate=GateSettings("yolo"), rules=GateRules(book=book))

    assert ran.order == []
    assert "rules.toml is broken" in setting.events("call_finished")[0].error["detail"]


def test_without_a_sandbox_it_asks_in_yolo_and_nothing_can_be_stored() -> None:
    ran = Ran()
    found = Findings((Part(("ls",)),), always="no sandbox")
    setting = told(ran, commands(ran, found), "ls", Answer("once"), gate=GateSettings("yolo"))

    (asked,) = setting.events("approval_asked")
    assert isinstance(asked, ApprovalAsked)
    assert (asked.reasons, asked.rule) == (["no sandbox"], None)
    assert ran.order == ["do:ls"]


def test_what_cannot_work_here_fails_before_anybody_is_asked() -> None:
    ran = Ran()
    missing = ToolError("unavailable", "rg is not installed here", "use grep")
    setting = told(ran, commands(ran, preflight=lambda arguments: missing), "rg x")

    assert ran.order == []
    assert setting.events("approval_asked") == []
    assert setting.events("call_finished")[0].error["hint"] == "use grep"


def failing(ran: Ran) -> Tool:
    async def execute(arguments: Arguments, context: ToolContext) -> Output:
        ran.order.append(arguments["text"])
        bad = arguments["text"] == "test"
        error = ToolError("failed", "exit 1", "read it") if bad else None
        return Output("said", error=error)

    return echo_tool(ran, "do", effects="local", execute=execute)


def test_a_command_that_fails_twice_in_vain_is_not_run_a_third_time() -> None:
    ran = Ran()
    model = Scripted([*(step("", call("do", f"c{n}", text="test")) for n in range(3)), step("I give up.")])
    setting = Setting(model, [failing(ran)])
    setting.run()

    assert ran.order == ["test", "test"]
    first, second, third = setting.events("call_finished")
    assert DEMAND not in first.error["hint"]
    assert DEMAND in second.error["hint"]
    assert third.error["reason"] == "refused"


def test_a_command_that_fails_again_after_a_change_is_run_again() -> None:
    ran = Ran()
    script = [step("", call("do", f"{kind}{n}", text=kind)) for n in range(4) for kind in ("test", "change")]
    setting = Setting(Scripted([*script, step("ok")]), [failing(ran)])
    setting.run()

    assert ran.order.count("test") == 4
    assert all(DEMAND not in (event.error or {}).get("hint", "") for event in setting.events("call_finished"))


def test_at_most_ten_questions_are_asked_in_a_turn() -> None:
    ran = Ran()
    calls = [call("do", f"c{number}", text=f"make {number}") for number in range(30)]
    approver = ListedAnswers(*(Answer("once") for _ in range(10)))
    setting = Setting(Scripted([step("", *calls), step("ok")]), [commands(ran)], approver)
    setting.run()

    assert len(ran.order) == 10
    refused = [event for event in setting.events("call_finished") if event.outcome == "denied"]
    assert len(refused) == 20
    assert "10 questions were asked" in refused[0].error["detail"]


def test_what_a_yes_rests_on_must_be_the_same_when_it_runs() -> None:
    ran, states = Ran(), iter(["as shown"])
    tool = commands(ran)._replace(state=lambda arguments: next(states, "another"))
    setting = told(ran, tool, "make", Answer("once"))

    assert ran.order == []
    (finished,) = [event for event in setting.events("call_finished") if event.call == "c1"]
    assert "no longer what was looked at" in finished.error["detail"]


def test_a_stage_that_rewrites_what_a_person_edited_stops_the_call() -> None:
    ran = Ran()

    async def rewrite(payload: Payload) -> Action:
        assert isinstance(payload, CallPayload)
        if payload.arguments["text"] != "make test":
            return Pass()
        return Rewrite(payload._replace(arguments={"text": "make something else"}))

    guard = Handler("guard", "before_toolcall", rewrite, rewrites=True)
    edit = Answer("edit", arguments={"text": "make test"})
    setting = told(ran, commands(ran), "make", edit, handlers=[guard])

    assert ran.order == []
    (finished,) = [event for event in setting.events("call_finished") if event.call == "c1"]
    assert (finished.outcome, finished.error["reason"]) == ("denied", "refused")
