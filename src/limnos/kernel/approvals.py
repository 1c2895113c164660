"""The approval gate: one function, called one moment before a call runs. There is no other way in.

Rules: deny beats ask beats allow. Without somebody to ask, what needs a yes is denied.
"""

import asyncio
import hashlib
import json
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, TypeAlias

from limnos.kernel.cancel import Cancel
from limnos.kernel.events import ApprovalAnswered, ApprovalAsked
from limnos.kernel.messages import Arguments, ToolError
from limnos.kernel.seams import Answer, Approver, Folder, Ids, Invalid, Principal, Question, Rule, Valid
from limnos.kernel.stream import EventStream
from limnos.kernel.tools import Preview, Tool, asks_of, preview_of, state_of, subject_of

Mode: TypeAlias = Literal["ask", "auto", "yolo"]
MAX_QUESTIONS = 10  # a turn: more are answered without being read


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


def approval_hash(tool: Tool, arguments: Arguments, folder: Folder) -> str:
    """SHA-256 over the tool, its canonical arguments, the folder's identity, and what its preview shows."""
    text = json.dumps(
        [tool.name, dict(arguments), folder.identity(), state_of(tool, arguments)],
        sort_keys=True,
        ensure_ascii=True,
        separators=(",", ":"),
    )
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


class GateSettings(NamedTuple):
    """How strict the gate is. `trusted_workspace` lets file edits pass in mode auto."""

    mode: Mode = "ask"
    trusted_workspace: bool = False
    expire_seconds: float = 300.0


class Gate:
    """Decides about calls of one session; `rules` are stored ones, to which a person's *always* adds."""

    def __init__(
        self,
        settings: GateSettings,
        approver: Approver | None,
        stream: EventStream,
        ids: Ids,
        rules: Sequence[Rule] = (),
    ) -> None:
        self.settings = settings
        self.rules = list(rules)
        self._approver = approver
        self._stream = stream
        self._ids = ids
        self._asked = 0

    def new_turn(self) -> None:
        """The bound of questions is per turn."""
        self._asked = 0

    async def decide(self, proposal: Proposal, cancel: Cancel) -> Decision:
        """Whether this call may run. Every question and every answer is an event.

        Raises cancel.Cancelled when the turn is stopped while a question waits.
        """
        tool = proposal.tool
        if tool.private and not proposal.principal.is_owner:
            return _refuse(f"{tool.name} is the owner's alone", "answer without it")
        effect = self._by_rules(tool, proposal.arguments)
        if effect == "deny":
            return _refuse("a rule of the person denies this", "do it another way, or ask the person")
        if effect == "allow" or (effect is None and not self._needs_yes(tool, proposal.arguments)):
            return Allowed(proposal.arguments, approval_hash(tool, proposal.arguments, proposal.folder))
        return await cancel.guard(self._ask(proposal))

    def _by_rules(self, tool: Tool, arguments: Arguments) -> str | None:
        subject = subject_of(tool, arguments)
        if subject is None:
            return "ask"
        effects = {
            rule.effect for rule in self.rules if rule.tool == tool.name and matches(rule.match, subject)
        }
        if "allow" in effects and tool.always_asks:
            effects.discard("allow")
        return next((effect for effect in ("deny", "ask", "allow") if effect in effects), None)

    def _needs_yes(self, tool: Tool, arguments: Arguments) -> bool:
        if tool.always_asks:
            return True
        if self.settings.mode == "yolo" or not asks_of(tool, arguments):
            return False
        edits_pass = self.settings.mode == "auto" and self.settings.trusted_workspace
        return not (tool.edits_files and edits_pass)

    async def _ask(self, proposal: Proposal) -> Decision:
        if self._approver is None:
            detail = "this needs an approval, and nobody can answer"
            return Refused(ToolError("refused", detail, "say what you would have done"), unattended=True)
        if self._asked >= MAX_QUESTIONS:
            return _refuse(f"{MAX_QUESTIONS} questions were asked in this turn", "answer with what you have")
        preview = await asyncio.to_thread(preview_of, proposal.tool, proposal.arguments)
        if preview.fault is not None:
            return Refused(preview.fault, outcome="failed")
        self._asked += 1
        question = self._question(proposal, preview)
        self._stream.emit(_asked(question), durable=True)
        began = self._stream.clock.monotonic()
        answer = Answer("cancelled")
        try:
            answer = await self._wait(question)
        finally:
            after = int((self._stream.clock.monotonic() - began) * 1000)
            self._stream.emit(_answered(question, answer, after), durable=True)
        return self._settle(proposal, question, answer)

    def _question(self, proposal: Proposal, preview: Preview) -> Question:
        reasons = preview.reasons or (f"{proposal.tool.name} has {proposal.tool.effects} effects",)
        return Question(
            approval=self._ids.new("approval"),
            call=proposal.call,
            tool=proposal.tool.name,
            arguments=proposal.arguments,
            hash=approval_hash(proposal.tool, proposal.arguments, proposal.folder),
            reasons=reasons,
            cwd=proposal.folder.path,
            preview=preview.text or None,
            rule=None if proposal.tool.always_asks else preview.rule,
            expires=self._stream.clock.later(self.settings.expire_seconds),
        )

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
                self.rules.append(question.rule)
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

    def _edited(self, proposal: Proposal, answer: Answer) -> Decision:
        checked = proposal.revalidate(answer.arguments or {})
        if isinstance(checked, Invalid):
            return _refuse(f"the person's arguments do not fit: {checked.detail}", checked.hint)
        if self._by_rules(proposal.tool, checked.value) == "deny":
            return _refuse("a rule denies what the person made of it", "do it another way")
        return Allowed(checked.value, approval_hash(proposal.tool, checked.value, proposal.folder))


def matches(pattern: str, subject: str) -> bool:
    """Whether a rule's `match` covers `subject`: equal, or equal up to a final `*`."""
    if pattern.endswith("*"):
        return subject.startswith(pattern[:-1])
    return subject == pattern


def _refuse(detail: str, hint: str) -> Refused:
    return Refused(ToolError("refused", detail, hint))


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
    )


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
        rule=rule_record(stored) if stored else None,
        after_ms=after_ms,
    )


def rule_record(rule: Rule) -> dict[str, str]:
    """A rule as plain JSON."""
    return {"effect": rule.effect, "tool": rule.tool, "match": rule.match, "scope": rule.scope}
