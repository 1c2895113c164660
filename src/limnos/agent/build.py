"""Composition: everything a session is made of, put together in one place."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from limnos import __version__
from limnos.agent.clock import RandomIds, SystemClock
from limnos.agent.mentions import mentioned
from limnos.agent.models import Sources, choose, prices
from limnos.agent.money import cap
from limnos.agent.prompt import host_facts, system_prompt
from limnos.agent.runner import Fittings, OpenQuestions, Runner
from limnos.agent.sessions import SessionFiles
from limnos.agent.settings import Environment, Settings
from limnos.agent.stored_rules import stored_rules
from limnos.agent.toolbox.files import file_tools
from limnos.agent.toolbox.kernel import block_tool, catalogue_tool, clock_tool, plan_tool
from limnos.agent.toolbox.search import search_tools
from limnos.agent.toolbox.shell import shell_tools
from limnos.agent.workplace import Workplace
from limnos.context.window import Window, WindowSettings
from limnos.kernel.approvals import Gate, GateSettings
from limnos.kernel.calls import Calls, Toolset
from limnos.kernel.conversation import fold
from limnos.kernel.deciding import Mode
from limnos.kernel.events import Event, PlanUpdated, SessionStarted, Warned
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

PERSONA = "default"
PINNED = ("kernel", "files", "search", "shell")
QUIET = (BLOCKS,)
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
    stream = EventStream(opening.session, log, base.clock, conversation)
    if not log.history.events:
        stream.emit(SessionStarted(persona=PERSONA, cwd=opening.cwd, program=f"limnos {__version__}"))
    if log.history.damaged:
        stream.emit(
            Warned(code="log_damaged", text=f"parts of {opening.path.name} were damaged; the rest is here")
        )
    place = Workplace(opening.cwd)
    registry = Registry()
    chosen = opening.tools
    if chosen is None:
        chosen = built_in_tools(_tool_inputs(base, settings, stream, place))
    catalogue = register(registry, chosen)
    window = _window(settings, model, catalogue, base.environment, place)
    ids = RandomIds(base.files.exists)
    questions = OpenQuestions(settings.approval_seconds)
    gate = Gate(
        GateSettings(mode_of(settings.mode), opening.trusted, settings.approval_seconds),
        questions if opening.attended else None,
        stream,
        ids,
        stored_rules(log.history.events, opening.cwd),
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
    command_environment: Mapping[str, str]
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
        *shell_tools(inputs.command_environment, inputs.command_seconds),
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


def _tool_inputs(base: Home, settings: Settings, stream: EventStream, place: Workplace) -> ToolInputs:
    def publish_plan(items: list[dict[str, Any]]) -> None:
        stream.emit(PlanUpdated(items=items))

    return ToolInputs(
        files=Files(Path(place.path), refused=(base.environment.home,)),
        command_environment=base.environment.child_environment(),
        command_seconds=settings.command_seconds,
        clock=base.clock,
        zone=lambda: base.environment.zone,
        publish_plan=publish_plan,
        blobs=base.blobs,
    )


def _window(
    settings: Settings, model: Model, catalogue: Catalogue, environment: Environment, place: Workplace
) -> Window:
    facts = host_facts(place.path, environment.text("PATH"))
    return Window(
        model,
        catalogue,
        lambda closed: system_prompt(facts, closed),
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


def mode_of(text: str) -> Mode:
    """The mode called `text`; what is none asks."""
    return "auto" if text == "auto" else "yolo" if text == "yolo" else "ask"
