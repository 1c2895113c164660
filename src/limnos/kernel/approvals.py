"""The approval gate: one function that every call passes before it runs. There is no other way in.

Rules: deny beats ask beats allow. Without somebody to ask, what needs a yes is denied.
"""

import asyncio
import hashlib
import json
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from limnos.kernel.cancel import Cancel
from limnos.kernel.deciding import Mode, Standing, Verdict, decide, replaced_programs
from limnos.kernel.errors import LimnosError
from limnos.kernel.events import ApprovalAnswered, ApprovalAsked, Warned
from limnos.kernel.findings import Findings
from limnos.kernel.messages import Arguments, ToolError
from limnos.kernel.seams import (
    Answer,
    Approver,
    Folder,
    Ids,
    Invalid,
    Principal,
    Question,
    Rule,
    RuleBook,
    Valid,
)
from limnos.kernel.stream import EventStream
from limnos.kernel.tools import Preview, Tool, asks_of, findings_of, preview_of, rests_on

MAX_QUESTIONS = 10  # a turn: more are answered without being read
MAX_PARTS = 512  # of one question
NOBODY = ToolError("refused", "this needs an approval, and nobody can answer", "say what you would have done")
DENIED_BY_RULE = ToolError(
    "refused", "a rule of the person denies this", "do it another way, or ask the person about the rule"
)


class Proposal(NamedTuple):
    """A validated call before anybody said yes."""

    call: str
    tool: Tool
    arguments: Arguments
    folder: Folder
    principal: Principal
    revalidate: Callable[[Arguments], Valid | Invalid]


class Allowed(NamedTuple):
    """What may run, exactly: the executor refuses anything whose hash differs."""

    arguments: Arguments
    hash: str


class Refused(NamedTuple):
    """The call does not run; the model reads `error`.

    `unattended`: only because nobody could answer. `outcome` is failed when the call could not succeed.
    """

    error: ToolError
    unattended: bool = False
    outcome: Literal["denied", "failed"] = "denied"


Decision: TypeAlias = Allowed | Refused


def approval_hash(tool: Tool, arguments: Arguments, folder: Folder, findings: Findings) -> str:
    """SHA-256 over the tool, its canonical arguments, the folder's identity, what the decision rests on."""
    text = json.dumps(
        [tool.name, dict(arguments), folder.identity(), rests_on(tool, arguments, findings)],
        sort_keys=True,
        ensure_ascii=True,
        separators=(",", ":"),
    )
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


Judge: TypeAlias = Callable[[Proposal, Sequence[Rule], Standing], Verdict]


def by_findings(proposal: Proposal, rules: Sequence[Rule], standing: Standing) -> Verdict:
    """What the call does, against the rules and the mode."""
    findings = findings_of(proposal.tool, proposal.arguments)
    return Verdict(decide(findings, rules, standing), findings, replaced_programs(findings, rules))


def _hash(proposal: Proposal, findings: Findings) -> str:
    return approval_hash(proposal.tool, proposal.arguments, proposal.folder, findings)


class GateSettings(NamedTuple):
    """How strict the gate is. `trusted_workspace` lets file edits pass in mode auto.

    Without `may_store` no question offers *always*.
    """

    mode: Mode = "ask"
    trusted_workspace: bool = False
    expire_seconds: float = 300.0
    may_store: bool = True


class GateRules(NamedTuple):
    """The rules that hold in this session only, and the book of those that stay."""

    session: Sequence[Rule] = ()
    book: RuleBook | None = None


@dataclass(slots=True)
class _Asking:
    """The questions of a turn, whoever asks them: how many there were, and that one waits at a time."""

    count: int = 0
    alone: asyncio.Lock = field(default_factory=asyncio.Lock)


class Gate:
    """Decides about calls of one session.

    A person's *always* adds to `rules`, or to the book. `judge` decides before anybody is asked; it is one
    of its own only where a record is replayed.
    """

    def __init__(
        self,
        settings: GateSettings,
        approver: Approver | None,
        stream: EventStream,
        ids: Ids,
        rules: "GateRules | None" = None,
        judge: "Judge | None" = None,
    ) -> None:
        self.settings = settings
        self.rules = list(rules.session) if rules else []
        self._approver = approver
        self._stream = stream
        self._ids = ids
        self._book = rules.book if rules else None
        self._judge = judge or by_findings
        self._asking = _Asking()
        self._for = ""

    def new_turn(self, asked: int = 0) -> int:
        """The bound of questions is per turn. `asked` are those of a turn that goes on.

        Returns how many the turn before had.
        """
        before, self._asking.count = self._asking.count, asked
        return before

    def beneath(self, stream: EventStream, name: str) -> "Gate":
        """This gate for a sub-agent: the same rules, mode, person and bound; its questions name it."""
        gate = copy(self)
        gate._stream, gate._for = stream, name
        return gate

    async def decide(self, proposal: Proposal, cancel: Cancel) -> Decision:
        """Whether this call may run. Every question and every answer is an event.

        Raises cancel.Cancelled when the turn is stopped while a question waits.
        """
        tool = proposal.tool
        if tool.private and not proposal.principal.is_owner:
            return _refuse(f"{tool.name} is the owner's alone", "answer without it")
        try:
            rules = self._rules_for(proposal)
        except LimnosError as error:
            return _refuse(f"the stored rules cannot be read: {error.what}", f"tell the person: {error.fix}")
        verdict = self._judge(proposal, rules, self._standing(tool, proposal.arguments))
        match verdict.effect:
            case "deny":
                return Refused(verdict.findings.denied or DENIED_BY_RULE, outcome=verdict.outcome)
            case "allow":
                return Allowed(proposal.arguments, _hash(proposal, verdict.findings))
            case _:
                return await cancel.guard(self._ask(proposal, verdict))

    def _rules_for(self, proposal: Proposal) -> list[Rule]:
        stored = self._book.rules() if self._book is not None else ()
        return [
            rule
            for rule in (*self.rules, *stored)
            if rule.tool == proposal.tool.name and rule.folder in ("", proposal.folder.path)
        ]

    def _standing(self, tool: Tool, arguments: Arguments) -> Standing:
        passes = tool.edits_files and self.settings.trusted_workspace
        return Standing(self.settings.mode, asks_of(tool, arguments), passes)

    async def _ask(self, proposal: Proposal, verdict: Verdict) -> Decision:
        if self._approver is None:
            return Refused(NOBODY, unattended=True)
        async with self._asking.alone:
            return await self._ask_alone(proposal, verdict)

    async def _ask_alone(self, proposal: Proposal, verdict: Verdict) -> Decision:
        if self._asking.count >= MAX_QUESTIONS:
            return _refuse(f"{MAX_QUESTIONS} questions were asked in this turn", "answer with what you have")
        preview = await asyncio.to_thread(preview_of, proposal.tool, proposal.arguments)
        if preview.fault is not None:
            return Refused(preview.fault, outcome="failed")
        self._asking.count += 1
        question = self._question(proposal, preview, verdict)
        self._stream.emit(_asked(question), durable=True)
        began = self._stream.clock.monotonic()
        answer = Answer("cancelled")
        try:
            answer = await self._wait(question)
        finally:
            after = int((self._stream.clock.monotonic() - began) * 1000)
            self._stream.emit(_answered(question, answer, after), durable=True)
        return self._settle(proposal, question, answer)

    def _question(self, proposal: Proposal, preview: Preview, verdict: Verdict) -> Question:
        findings = verdict.findings
        why = (findings.always, *verdict.moved, *findings.reasons, *(part.reason for part in findings.parts))
        reasons = tuple(dict.fromkeys(reason for reason in (*why, *preview.reasons) if reason))
        may_store = self.settings.may_store and not findings.always
        words = [[*map(_as_text, part.words)] for part in findings.parts[:MAX_PARTS] if part.words]
        return Question(
            approval=self._ids.new("approval"),
            call=proposal.call,
            tool=proposal.tool.name,
            arguments=proposal.arguments,
            hash=_hash(proposal, findings),
            reasons=self._signed(reasons or (f"{proposal.tool.name} has {proposal.tool.effects} effects",)),
            cwd=proposal.folder.path,
            preview=preview.text or None,
            rule=preview.rule._replace(folder=proposal.folder.path) if preview.rule and may_store else None,
            expires=self._stream.clock.later(self.settings.expire_seconds),
            parts=words if len(words) > 1 else (),
        )

    def _signed(self, reasons: tuple[str, ...]) -> tuple[str, ...]:
        return (f"asked by {self._for}", *reasons) if self._for else reasons

    async def _wait(self, question: Question) -> Answer:
        assert self._approver is not None
        try:
            answer = await self._approver.ask(question)
        except TimeoutError:
            return Answer("expired")
        if not answer.principal.is_owner:
            return Answer(
                "no", f"{answer.principal} may not answer", principal=answer.principal, source=answer.source
            )
        if answer.verdict == "always" and question.rule is None:
            return answer._replace(verdict="no", reason="there is no rule that could be stored for this call")
        return answer

    def _settle(self, proposal: Proposal, question: Question, answer: Answer) -> Decision:
        match answer.verdict:
            case "once":
                return Allowed(proposal.arguments, question.hash)
            case "always" if question.rule is not None:
                self._keep(_chosen(question.rule, answer))
                return Allowed(proposal.arguments, question.hash)
            case "edit":
                return self._edited(proposal, answer)
            case "expired":
                return _refuse("nobody answered in time", "go on without it, or say what you would have done")
            case _:
                reason = f": {answer.reason}" if answer.reason else ""
                return _refuse(
                    f"the person said no{reason}", "do not try this again; take what they said into account"
                )

    def _keep(self, rule: Rule) -> None:
        """Store what *always* said; when the file of rules cannot be written it holds in this session."""
        if rule.scope == "session" or self._book is None:
            self.rules.append(rule._replace(scope="session"))
            return
        try:
            self._book.keep(rule)
        except LimnosError as error:
            self.rules.append(rule._replace(scope="session"))
            self._stream.emit(
                Warned(
                    code="rule_not_stored",
                    text=f"the rule holds in this session only: {error.what}",
                    fix=error.fix,
                )
            )

    def _edited(self, proposal: Proposal, answer: Answer) -> Decision:
        checked = proposal.revalidate(answer.arguments or {})
        if isinstance(checked, Invalid):
            return _refuse(f"the person's arguments do not fit: {checked.detail}", checked.hint)
        edited = proposal._replace(arguments=checked.value)
        verdict = self._judge(edited, self._rules_for(proposal), Standing("yolo", needs_yes=False))
        if verdict.effect == "deny":
            return Refused(verdict.findings.denied or DENIED_BY_RULE)
        return Allowed(checked.value, _hash(edited, verdict.findings))


def _refuse(detail: str, hint: str) -> Refused:
    return Refused(ToolError("refused", detail, hint))


def _as_text(word: str) -> str:
    """A word whose bytes are no text, with those bytes spelled out."""
    return word.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _asked(question: Question) -> ApprovalAsked:
    rule = question.rule
    return ApprovalAsked(
        approval=question.approval,
        call=question.call,
        tool=question.tool,
        arguments=dict(question.arguments),
        hash=question.hash,
        reasons=list(question.reasons),
        cwd=question.cwd,
        preview=question.preview,
        rule=rule_record(rule) if rule else None,
        expires=question.expires,
        parts=[list(words) for words in question.parts],
    )


def _chosen(rule: Rule, answer: Answer) -> Rule:
    """The offered rule as the person wants it: one for everywhere is bound to no folder."""
    return rule._replace(scope=answer.scope, folder="" if answer.scope == "everywhere" else rule.folder)


def _answered(question: Question, answer: Answer, after_ms: int) -> ApprovalAnswered:
    stored = question.rule if answer.verdict == "always" else None
    return ApprovalAnswered(
        approval=question.approval,
        call=question.call,
        answer=answer.verdict,
        principal=str(answer.principal),
        source=answer.source,
        reason=answer.reason,
        arguments=dict(answer.arguments) if answer.arguments is not None else None,
        rule=rule_record(_chosen(stored, answer)) if stored else None,
        after_ms=after_ms,
    )


def rule_record(rule: Rule) -> dict[str, str]:
    """A rule as plain JSON."""
    return rule._asdict()
