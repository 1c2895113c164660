"""Composition: everything a session is made of, put together in one place."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from limnos import __version__
from limnos.agent.clock import RandomIds, SystemClock
from limnos.agent.commands import Commands
from limnos.agent.edit_history import History, Undone
from limnos.agent.fittings import Fittings
from limnos.agent.jobs import Jobs, jobs_of
from limnos.agent.masking import mask_of
from limnos.agent.mentions import mentioned
from limnos.agent.models import Sources, choose, prices
from limnos.agent.money import cap
from limnos.agent.prompt import HostFacts, host_facts, system_prompt
from limnos.agent.questions import OpenQuestions
from limnos.agent.runner import Runner
from limnos.agent.sessions import SessionFiles
from limnos.agent.settings import Environment, Settings
from limnos.agent.stored_rules import stored_rules
from limnos.agent.toolbox.files import file_tools
from limnos.agent.toolbox.kernel import block_tool, catalogue_tool, clock_tool, plan_tool
from limnos.agent.toolbox.search import search_tools
from limnos.agent.toolbox.shell import JOBS, shell_tools
from limnos.agent.toolbox.writing import in_loop, recording
from limnos.agent.trust import Guide, guide_in
from limnos.agent.workbench import PERSONA, commands_of, rules_of
from limnos.agent.workplace import Workplace
from limnos.context.window import Window, WindowSettings
from limnos.kernel.approvals import Gate, GateRules, GateSettings
from limnos.kernel.calls import Calls, Toolset
from limnos.kernel.conversation import fold
from limnos.kernel.deciding import mode_of
from limnos.kernel.events import Event, JobChanged, PlanUpdated, SessionStarted, Warned
from limnos.kernel.limits import Caps, Meter
from limnos.kernel.loop import Loop
from limnos.kernel.model import Model
from limnos.kernel.registry import Catalogue, Registry
from limnos.kernel.seams import Blobs, Clock
from limnos.kernel.stages import Pipeline
from limnos.kernel.stream import EventStream
from limnos.kernel.tools import BLOCKS, Tool
from limnos.kernel.turn import Parts
from limnos.providers.rate import Buckets
from limnos.sdk.files import Files
from limnos.sdk.schema import SchemaValidator
from limnos.store.audit import AuditLog, read_history
from limnos.store.blobs import BlobStore
from limnos.store.spending import SpendingFile

PINNED = ("kernel", "files", "search", "shell")
QUIET = (BLOCKS, JOBS)
CHARACTERS_PER_TOKEN = 4
INLINE_SHARE = 8  # one inline result takes at most an eighth of the request budget


class Home(NamedTuple):
    """What sessions of one persona share."""

    environment: Environment
    clock: Clock
    files: SessionFiles
    blobs: BlobStore
    spending: SpendingFile
    buckets: Buckets
    validator: SchemaValidator

    @property
    def folder(self) -> Path:
        """The persona's folder."""
        return self.environment.home / "personas" / PERSONA


class Opening(NamedTuple):
    """How one session is opened. `path` is its log; `attended`: a person can answer questions.

    `tools` take the place of the built-in ones, for programs that embed the kernel.
    """

    path: Path
    session: str
    cwd: str
    attended: bool = True
    trusted: bool = False
    tools: tuple[Tool, ...] | None = None


def home(environment: Environment) -> Home:
    """The shared parts; touches no file."""
    clock = SystemClock()
    folder = environment.home / "personas" / PERSONA
    return Home(
        environment,
        clock,
        SessionFiles(environment.home, PERSONA, clock),
        BlobStore(folder / "blobs"),
        SpendingFile(folder / "spending.log", clock.now),
        Buckets(clock),
        SchemaValidator(),
    )


def model_of(base: Home, settings: Settings) -> Model:
    """The model that `settings` choose."""
    return choose(Sources(settings, base.environment, base.clock, base.buckets, base.blobs.get))


def open_session(base: Home, settings: Settings, model: Model, opening: Opening) -> Runner:
    """Open a session's log and put its parts together. Raises SessionInUseError or StorageError."""
    log = AuditLog(opening.path)
    try:
        return _assembled(base, settings, model, opening, log)
    except BaseException:
        log.close()
        raise


def _assembled(base: Home, settings: Settings, model: Model, opening: Opening, log: AuditLog) -> Runner:
    conversation = fold(log.history.events, log.history.last_seq)
    mask = mask_of(base.environment, settings)
    stream = EventStream(opening.session, log, base.clock, conversation, mask)
    if not log.history.events:
        stream.emit(SessionStarted(persona=PERSONA, cwd=opening.cwd, program=f"limnos {__version__}"))
    if log.history.damaged:
        stream.emit(
            Warned(code="log_damaged", text=f"parts of {opening.path.name} were damaged; the rest is here")
        )
    place = Workplace(opening.cwd)
    work = _work(base, settings, stream, log.history.events, place)
    registry = Registry()
    chosen = built_in_tools(work.inputs) if opening.tools is None else opening.tools
    catalogue = register(registry, chosen)
    stream.listen(partial(_offer_jobs, catalogue))
    guide = guide_in(work.inputs.files) if opening.trusted else None
    window = _window(settings, model, catalogue, host_facts(place.path, base.environment.text("PATH")), guide)
    ids = RandomIds(base.files.exists)
    questions = OpenQuestions(settings.approval_seconds)
    rules = rules_of(base.environment, place.path)
    rules.rules()  # a rule that cannot be read is said now, not at the first call
    gate = Gate(
        _gate_settings(settings, trusted=opening.trusted),
        questions if opening.attended else None,
        stream,
        ids,
        GateRules(stored_rules(log.history.events, opening.cwd), rules),
    )
    stages = Pipeline()
    tools = Toolset(
        registry, catalogue, base.validator, base.blobs, place, _inline_characters(settings, window.budget)
    )
    calls = Calls(tools, gate, stages, stream)
    loop = Loop(Parts(model, window, calls, stages, stream, ids, settings.reply_tokens))
    fittings = Fittings(
        loop=loop,
        questions=questions,
        new_turn=gate.new_turn,
        names_in=partial(mentioned, folder=place.path),
        meter=_meter(base, settings),
        history=partial(_after, log.path),
        finish=log.close,
        jobs=work.inputs.jobs,
        undo=work.undo,
        persona=PERSONA,
        model=loop.model_name,
        mode=settings.mode,
        attended=opening.attended,
        trusted=opening.trusted,
        grace_seconds=settings.grace_seconds,
    )
    return Runner(stream, fittings)


class ToolInputs(NamedTuple):
    """What the built-in tools work on."""

    files: Files
    commands: Commands
    jobs: Jobs
    command_seconds: float
    clock: Clock
    zone: Callable[[], str]
    publish_plan: Callable[[list[dict[str, Any]]], None]
    blobs: Blobs


def built_in_tools(inputs: ToolInputs) -> list[Tool]:
    """The built-in tools in the order in which models see them."""
    return [
        *file_tools(inputs.files),
        *search_tools(inputs.files),
        *shell_tools(inputs.commands, inputs.jobs, inputs.command_seconds),
        clock_tool(inputs.clock, inputs.zone),
        plan_tool(inputs.publish_plan),
        block_tool(inputs.blobs),
    ]


def register(registry: Registry, tools: Sequence[Tool]) -> Catalogue:
    """Register `tools`; with a group that is not always open comes the tool that opens it."""
    catalogue = Catalogue(registry, PINNED, QUIET)
    for tool in tools:
        registry.register(tool)
    if any(plugin not in (*PINNED, *QUIET) for plugin in catalogue.plugins()):
        registry.register(catalogue_tool(catalogue))
    return catalogue


class _Work(NamedTuple):
    """What tools work on, and the way to take back what they did to files."""

    inputs: ToolInputs
    undo: Callable[[], Undone | None]


def _work(
    base: Home, settings: Settings, stream: EventStream, events: Sequence[Event], place: Workplace
) -> _Work:
    def publish_plan(items: list[dict[str, Any]]) -> None:
        stream.emit(PlanUpdated(items=items))

    history = History(base.blobs, in_loop(stream.emit), events)
    files = Files(Path(place.path), refused=(base.environment.home,), on_change=recording(history))
    number, left = jobs_of(events)
    for job in left:
        stream.emit(JobChanged(job=job.job, command=job.command, state="ended"))
    inputs = ToolInputs(
        files=files,
        commands=commands_of(base.environment, settings, place.path),
        jobs=Jobs(stream.emit, number),
        command_seconds=settings.command_seconds,
        clock=base.clock,
        zone=lambda: base.environment.zone,
        publish_plan=publish_plan,
        blobs=base.blobs,
    )
    return _Work(inputs, lambda: history.undo(files) if len(history) else None)


def _offer_jobs(catalogue: Catalogue, event: Event) -> None:
    if isinstance(event, JobChanged):
        catalogue.touch(JOBS)


def _gate_settings(settings: Settings, *, trusted: bool) -> GateSettings:
    return GateSettings(
        mode_of(settings.mode), trusted, settings.approval_seconds, may_store=settings.always == "offer"
    )


def _window(
    settings: Settings, model: Model, catalogue: Catalogue, facts: HostFacts, guide: Guide | None
) -> Window:
    return Window(
        model,
        catalogue,
        lambda closed: system_prompt(facts, closed, guide),
        WindowSettings(
            settings.window_share, settings.reply_tokens, settings.prune_target, settings.catalogue_share
        ),
    )


def _meter(base: Home, settings: Settings) -> Callable[[], Meter]:
    caps = Caps(
        steps=settings.steps,
        tokens=settings.turn_tokens,
        seconds=settings.turn_seconds,
        turn_cost=cap(settings.cap_turn, "cap.turn"),
        day_cost=cap(settings.cap_day, "cap.day"),
        persona_cost=cap(settings.cap_persona, "cap.persona"),
    )
    price = prices(settings)
    return lambda: Meter(caps, base.clock, price, base.spending)


def _inline_characters(settings: Settings, budget: int) -> int:
    return min(settings.inline_characters, budget * CHARACTERS_PER_TOKEN // INLINE_SHARE)


def _after(path: Path, after: int) -> list[Event]:
    return [event for event in read_history(path).events if event.seq > after]
