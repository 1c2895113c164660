"""Composition: everything a session is made of, put together in one place."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from limnos import __version__
from limnos.agent import deferred
from limnos.agent.agent_memory import AgentMemory
from limnos.agent.assembly import (
    EMBEDDED,
    PINNED,
    QUIET,
    Bench,
    Seat,
    engine_of,
    loop_of,
    offer_more,
    register,
)
from limnos.agent.clock import RandomIds, SystemClock
from limnos.agent.fittings import Fittings
from limnos.agent.following import Following
from limnos.agent.masking import mask_of
from limnos.agent.mentions import mentioned
from limnos.agent.models import Sources, choose, prices
from limnos.agent.money import cap
from limnos.agent.moves import Moves
from limnos.agent.persona_memory import LateShelf, Opened, PersonaMemory, open_log
from limnos.agent.plugin_services import House, Room
from limnos.agent.plugins import Plugins
from limnos.agent.prompt import host_facts, system_prompt
from limnos.agent.questions import OpenQuestions
from limnos.agent.runner import Runner
from limnos.agent.session_tools import Ground, tools_of
from limnos.agent.sessions import SessionFiles
from limnos.agent.settings import KEYS, Environment, Settings, load
from limnos.agent.spawn import AGENTS, Order, Spawner, Worker
from limnos.agent.stored_rules import stored_rules
from limnos.agent.toolbox.memory import Remembered
from limnos.agent.trust import guide_in
from limnos.agent.workbench import PERSONA, rules_of
from limnos.agent.workplace import Workplace
from limnos.kernel.approvals import Gate, GateRules, GateSettings
from limnos.kernel.deciding import mode_of
from limnos.kernel.errors import SettingsError
from limnos.kernel.events import Event, SessionStarted, Warned
from limnos.kernel.limits import Caps, Meter
from limnos.kernel.masking import Mask
from limnos.kernel.model import Model
from limnos.kernel.registry import Registry
from limnos.kernel.seams import Clock
from limnos.kernel.stages import Pipeline
from limnos.kernel.stream import EventStream
from limnos.kernel.tools import Tool
from limnos.kernel.turn import Turn
from limnos.providers.rate import Buckets
from limnos.sdk.schema import SchemaValidator
from limnos.store.audit import read_history
from limnos.store.blobs import BlobStore
from limnos.store.spending import SpendingFile

if TYPE_CHECKING:
    from limnos.memory.memory import Memory
    from limnos.retrieval.embedder import Embedder

QUOTED = 4  # of the longest inline result: a quarter may be a quotation of another session


class Home(NamedTuple):
    """What sessions of one persona share."""

    environment: Environment
    clock: Clock
    files: SessionFiles
    blobs: BlobStore
    spending: SpendingFile
    buckets: Buckets
    validator: SchemaValidator
    plugins: Plugins
    memory: PersonaMemory

    @property
    def ground(self) -> Ground:
        """What the tools of its sessions stand on."""
        return Ground(self.environment, self.clock, self.blobs, self.plugins)

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
    blobs, files = BlobStore(folder / "blobs"), SessionFiles(environment.home, PERSONA, clock)
    validator = SchemaValidator()
    house = House(
        environment.home, files, validator, partial(_shown_settings, environment), partial(_mask, environment)
    )
    return Home(
        environment,
        clock,
        files,
        blobs,
        SpendingFile(folder / "spending.log", clock.now),
        Buckets(clock),
        validator,
        Plugins(environment, clock, blobs, house),
        PersonaMemory(partial(_memory, environment, clock), files.logs),
    )


def _memory(environment: Environment, clock: Clock) -> "tuple[Memory, Embedder | None]":
    """The memory of the persona, with the embedder that the settings choose."""
    folder = environment.home / "personas" / PERSONA
    embedder, notices = None, list[Warned]()
    try:
        embedder = deferred.embedders.embedder_of(load(environment), environment, clock)
    except SettingsError as error:
        notices.append(Warned(code="embedder_settings", text=error.what, fix=error.fix))
    memory = deferred.memory.Memory(folder, clock, deferred.memory.Options(embedder))
    memory.database.notices += notices
    return memory, embedder


def model_of(base: Home, settings: Settings) -> Model:
    """The model that `settings` choose."""
    return choose(Sources(settings, base.environment, base.clock, base.buckets, base.blobs.get))


class Found(NamedTuple):
    """A session's log as it was opened, and where what has sunk of it lies."""

    opened: Opened
    shelf: LateShelf


def open_session(base: Home, settings: Settings, model: Model, opening: Opening) -> Runner:
    """Open a session's log and put its parts together. Raises SessionInUseError or StorageError."""
    opened, shelf = open_log(base.memory, opening.session, opening.path)
    try:
        return _assembled(base, settings, model, opening, Found(opened, shelf))
    except BaseException:
        opened.log.close()
        raise


def _assembled(base: Home, settings: Settings, model: Model, opening: Opening, found: Found) -> Runner:
    opened, log = found.opened, found.opened.log
    stream = _stream(base, settings, opening, opened)
    place = Workplace(opening.cwd)
    following = Following(base.memory, stream, opening.path, found.shelf)
    own = tools_of(base.ground, settings, stream, opened.events, place.path)
    facts, guide = host_facts(place.path, base.environment.text("PATH")), None
    if opening.trusted:
        guide = guide_in(own.files)
    ids, stages = RandomIds(base.files.exists), Pipeline()
    prompt = partial(system_prompt, facts, guide)
    remember = partial(_remembered, base, settings, following)
    bench = Bench(settings, model, stages, ids, base.validator, base.blobs, place, prompt, remember)
    questions = OpenQuestions(settings.approval_seconds)
    rules = rules_of(base.environment, place.path)
    rules.rules()  # a rule that cannot be read is said now, not at the first call
    gate = Gate(
        _gate_settings(settings, trusted=opening.trusted),
        questions if opening.attended else None,
        stream,
        ids,
        GateRules(stored_rules(opened.events, opening.cwd), rules),
    )
    detach = base.plugins.attach(stages)
    spawner = Spawner(bench, _child)
    memory = AgentMemory(base.memory, following, stream)
    remembered = remember(stream)
    if model.name.startswith(EMBEDDED):
        remembered = remembered.without_tools()
    offered = (*own.tools, spawner.tool(), *remembered.tools) if opening.tools is None else opening.tools
    seat = _first_seat(bench, stream, gate, offered)._replace(sources=remembered.sources)
    engine = engine_of(bench, seat)
    loop = loop_of(bench, seat, engine)
    fittings = Fittings(
        loop=loop,
        questions=questions,
        new_turn=gate.new_turn,
        names_in=partial(mentioned, folder=place.path),
        meter=_meter(base, settings),
        history=partial(_after, log.path),
        finish=partial(
            _finish, detach, partial(base.plugins.leave, opening.session), following.close, log.close
        ),
        jobs=own.jobs,
        moves=Moves(stream, model.count_tokens, lambda: engine.budget, memory),
        undo=own.undo,
        persona=PERSONA,
        model=loop.model_name,
        mode=settings.mode,
        attended=opening.attended,
        trusted=opening.trusted,
        grace_seconds=settings.grace_seconds,
    )
    runner = Runner(stream, fittings)
    spawner.serve(seat, lambda: runner.turn)
    base.plugins.enter(Room(stream, own.jobs, runner.submit))
    return runner


def _stream(base: Home, settings: Settings, opening: Opening, opened: Opened) -> EventStream:
    """The stream of a session; of a new one its first event is written."""
    mask = mask_of(base.environment, settings)
    stream = EventStream(opening.session, opened.log, base.clock, opened.conversation, mask)
    if not opened.events:
        stream.emit(SessionStarted(persona=PERSONA, cwd=opening.cwd, program=f"limnos {__version__}"))
    if opened.damaged:
        stream.emit(
            Warned(code="log_damaged", text=f"parts of {opening.path.name} were damaged; the rest is here")
        )
    return stream


def _first_seat(bench: Bench, stream: EventStream, gate: Gate, tools: Sequence[Tool]) -> Seat:
    """The seat of the session's own agent.

    The prompt of the embedded model was measured with its tools: it is told of sub-agents only when asked to.
    """
    registry, asked = Registry(), bench.settings.agents
    pinned = (*PINNED, AGENTS) if asked == "on" else PINNED
    quiet = (*QUIET, AGENTS) if bench.model.name.startswith(EMBEDDED) else QUIET
    wanted = [tool for tool in tools if tool.plugin != AGENTS or asked != "off"]
    catalogue = register(registry, wanted, pinned, quiet)
    stream.listen(partial(offer_more, catalogue))
    return Seat(stream, gate, registry, catalogue)


def _remembered(base: Home, settings: Settings, following: Following, stream: EventStream) -> Remembered:
    """What memory gives the agent of `stream`."""
    quoted = settings.inline_characters // QUOTED
    agent = AgentMemory(base.memory, following, stream)
    return agent.remembered(quoted, recall=settings.recall == "auto")


def _child(*given: *tuple[Bench, Seat, Turn, Order, int]) -> Worker:
    return deferred.child.Child(*given)


def _shown_settings(environment: Environment) -> dict[str, Any]:
    """The settings of limnos as plugins may read them: without providers, and so without keys."""
    settings = load(environment)
    return {key.name: getattr(settings, key.attribute) for key in KEYS.values()}


def _mask(environment: Environment) -> Mask:
    """What hides the secrets of this home in the logs of plugins."""
    return mask_of(environment, load(environment))


def _finish(*steps: Callable[[], None]) -> None:
    for step in steps:
        step()


def _gate_settings(settings: Settings, *, trusted: bool) -> GateSettings:
    return GateSettings(
        mode_of(settings.mode), trusted, settings.approval_seconds, may_store=settings.always == "offer"
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


def _after(path: Path, after: int) -> list[Event]:
    return [event for event in read_history(path).events if event.seq > after]
