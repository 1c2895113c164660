"""The kernel in the same process, through its one door."""

import asyncio
import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from limnos.kernel.errors import SessionInUseError, SettingsError, StorageError, UsageError
from limnos.kernel.events import (
    ApprovalAsked,
    CallFinished,
    Event,
    InputInjected,
    PlanUpdated,
    SessionChanged,
    SessionStarted,
    StepFinished,
    TurnFinished,
    TurnStarted,
    UsageRecorded,
    Warned,
)
from limnos.kernel.messages import text_of
from limnos.kernel.pairing import check_pairing
from limnos.kernel.seams import Answer
from limnos.providers.openai_codec import decode_messages
from limnos.service.client import OpenRequest, Send, Session
from limnos.store.audit import read_history
from tests.architecture.source import ROOT
from tests.service.house import House, Talk, answering, call, of_type, run, step
from tests.store.disks import full_disk


def test_nothing_is_touched_until_a_session_is_opened(tmp_path: Path) -> None:
    house = House(tmp_path)

    async def story() -> None:
        kernel = house.kernel(step("x"))
        assert kernel.sessions() == []
        await kernel.close()

    run(story())

    assert list(house.home.iterdir()) == []


def test_a_session_is_one_private_file_that_names_the_day_and_itself(tmp_path: Path) -> None:
    house = House(tmp_path)

    async def story() -> Talk:
        kernel = house.kernel(step("hello"))
        talk = await house.open(kernel)
        await talk.say("hi")
        await kernel.close()
        return talk

    talk = run(story())

    path = Path(talk.session.path)
    started = talk.of(SessionStarted)[0]
    assert path.relative_to(house.home).parts[:3] == ("personas", "default", "sessions")
    assert path.parts[-3:-1] == (started.time[:4], started.time[5:7])
    assert path.name.endswith(f"-{talk.session.id}.jsonl")
    assert (started.cwd, started.persona) == (str(house.work.resolve()), "default")
    assert path.stat().st_mode & 0o077 == 0


def test_an_open_session_is_in_use_here_and_in_another_process(tmp_path: Path) -> None:
    house = House(tmp_path)
    other = """
import sys
from pathlib import Path
from limnos.service.client import OpenRequest
from limnos.kernel.errors import SessionInUseError
from tests.service.house import House, run
async def main():
    kernel = House(Path(sys.argv[1])).kernel()
    try:
        await kernel.open(OpenRequest(sys.argv[2], cwd=sys.argv[1]))
    except SessionInUseError as error:
        print(error.fix)
run(main())
"""

    async def story() -> str:
        kernel = house.kernel(step("hello"))
        talk = await house.open(kernel)
        with pytest.raises(SessionInUseError):
            await house.open(kernel, session=talk.session.id)
        command = [sys.executable, "-c", other, str(tmp_path), talk.session.id]
        said = await asyncio.to_thread(
            subprocess.run, command, cwd=ROOT, capture_output=True, text=True, timeout=30, check=True
        )
        await talk.session.close()
        await (await house.open(kernel, session=talk.session.id)).session.close()
        await kernel.close()
        return said.stdout

    assert "--fork" in run(story())


def test_listing_sessions_never_keeps_one_from_being_opened(tmp_path: Path) -> None:
    house = House(tmp_path)
    stop = threading.Event()

    async def story() -> None:
        kernel = house.kernel(step("hello"))
        talk = await house.open(kernel)
        await talk.session.close()

        def keep_listing() -> None:
            while not stop.is_set():
                kernel.sessions()

        lister = asyncio.create_task(asyncio.to_thread(keep_listing))
        try:
            for _ in range(100):
                await (await house.open(kernel, session=talk.session.id)).session.close()
        finally:
            stop.set()
            await lister
        await kernel.close()

    run(story())


@pytest.mark.parametrize(
    ("how", "kind"),
    [
        (OpenRequest("s00000"), UsageError),
        (OpenRequest(cwd="/nowhere/at/all"), UsageError),
        (OpenRequest(mode="maybe"), SettingsError),
        (OpenRequest(steps=0), SettingsError),
        (OpenRequest(max_cost="much"), SettingsError),
        (OpenRequest(model="nothing/like-it"), SettingsError),
    ],
)
def test_a_session_that_cannot_be_opened_says_why_and_leaves_nothing(
    tmp_path: Path, how: OpenRequest, kind: type[UsageError]
) -> None:
    house = House(tmp_path)

    async def story() -> None:
        kernel = house.kernel(step("hello"))
        with pytest.raises(kind) as caught:
            await kernel.open(how)
        assert caught.value.fix
        await kernel.close()

    run(story())

    assert not list(house.home.rglob("*.jsonl"))


def test_a_home_that_cannot_be_written_says_so_and_nothing_stays_locked(tmp_path: Path) -> None:
    house = House(tmp_path)
    (house.home / "personas").write_text("a file in the way")

    async def story() -> None:
        kernel = house.kernel(step("hello"))
        with pytest.raises(StorageError) as caught:
            await house.open(kernel)
        assert str(house.home) in caught.value.what
        (house.home / "personas").unlink()
        assert (await (await house.open(kernel)).say("hi")).reason == "done"
        await kernel.close()

    run(story())


def test_a_disk_that_is_full_at_the_opening_gives_the_lock_back(tmp_path: Path) -> None:
    with full_disk(tmp_path / "disk") as disk:
        house = House(disk.folder / "house")

        async def story() -> None:
            kernel = house.kernel(step("hello"))
            talk = await house.open(kernel)
            await talk.session.close()
            path = Path(talk.session.path)
            path.write_bytes(b"")
            with disk.filled(0), pytest.raises(StorageError):
                await house.open(kernel, session=talk.session.id)
            await house.open(kernel, session=talk.session.id)
            await kernel.close()

        run(story())


def test_a_mode_a_model_and_limits_can_be_given_for_one_session(tmp_path: Path) -> None:
    house = House(tmp_path)
    other = tmp_path / "other.json"
    calls = [{"text": "", "calls": [call("write_file", path=f"{n}", content="")]} for n in range(3)]
    other.write_text(json.dumps({"steps": calls}))

    async def story() -> Talk:
        kernel = house.kernel(step("never"))
        talk = await house.open(kernel, mode="yolo", model=f"scripted:{other}", steps=2)
        assert (await talk.say("go")).reason == "limit"
        await kernel.close()
        return talk

    talk = run(story())

    assert not talk.of(ApprovalAsked)
    assert len(talk.of(CallFinished)) == 2


def rules_at_work(tmp_path: Path, **reopened: object) -> tuple[House, list[Event]]:
    """A person says *always* to one file, and the session is opened again; what happened then."""
    house = House(tmp_path)
    write = call("write_file", path="a.txt", content="new")

    async def story() -> list[Event]:
        kernel = house.kernel(step("", write), step("done"), step("", write), step("done"))
        talk = await house.open(kernel)
        await talk.say("write it", answering("always"))
        await talk.session.close()
        again = await kernel.open(OpenRequest(talk.session.id, **reopened))  # pyright: ignore[reportArgumentType]
        later = Talk(again, list(read_history(Path(again.path)).events))
        before = len(later.heard)
        await later.say("again", answering("no"), client_id="again")
        await kernel.close()
        return later.heard[before:]

    return house, run(story())


def test_a_session_goes_on_in_its_own_folder_with_its_rules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (elsewhere := tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(elsewhere)

    house, events = rules_at_work(tmp_path)

    assert not [event for event in events if isinstance(event, ApprovalAsked)]
    assert (house.work / "a.txt").read_text() == "new"
    assert not (elsewhere / "a.txt").exists()


def test_in_another_folder_the_rules_of_the_first_do_not_count(tmp_path: Path) -> None:
    (elsewhere := tmp_path / "elsewhere").mkdir()
    (elsewhere / "a.txt").write_text("mine")

    _, events = rules_at_work(tmp_path, cwd=str(elsewhere))

    assert [event.cwd for event in events if isinstance(event, ApprovalAsked)] == [str(elsewhere)]
    assert (elsewhere / "a.txt").read_text() == "mine"


def test_a_session_whose_folder_is_gone_works_where_the_person_is_without_its_rules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = House(tmp_path)
    (elsewhere := tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(elsewhere)
    write = call("write_file", path="a.txt", content="new")

    async def story() -> Talk:
        kernel = house.kernel(step("", write), step("done"), step("", write), step("done"))
        talk = await house.open(kernel)
        await talk.say("write it", answering("always"))
        await talk.session.close()
        (house.work / "a.txt").unlink()
        house.work.rmdir()
        session = await kernel.open(OpenRequest(talk.session.id))
        again = Talk(session, list(read_history(Path(session.path)).events))
        await again.say("again", answering("no"), client_id="again")
        await kernel.close()
        return again

    talk = run(story())

    assert [event.cwd for event in talk.of(ApprovalAsked)] == [str(house.work), str(elsewhere)]
    assert not list(elsewhere.iterdir())


@pytest.mark.parametrize(("trust", "reason"), [(True, "limit"), (False, "done")])
def test_a_trusted_folder_sets_what_it_may_set_and_nothing_else(
    tmp_path: Path, trust: bool, reason: str
) -> None:
    house = House(tmp_path)
    (house.work / ".limnos").mkdir()
    (house.work / ".limnos" / "config.toml").write_text('steps = 1\nmodel = "evil/model"\nmode = "yolo"\n')
    look = call("list_dir")

    async def story() -> Talk:
        kernel = house.kernel(step("", look), step("", look), step("done"))
        talk = await house.open(kernel, trust=trust)
        await talk.say("look around")
        await kernel.close()
        return talk

    talk = run(story())

    assert [event.reason for event in talk.of(TurnFinished)] == [reason]
    (started,) = talk.of(TurnStarted)
    assert started.model.startswith("scripted")
    assert started.mode == "ask"


def test_what_the_command_line_says_stands_above_a_trusted_folder(tmp_path: Path) -> None:
    house = House(tmp_path)
    (house.work / ".limnos").mkdir()
    (house.work / ".limnos" / "config.toml").write_text("steps = 1\n")

    async def story() -> Talk:
        kernel = house.kernel(step("", call("list_dir")), step("done"))
        talk = await house.open(kernel, trust=True, steps=5)
        await talk.say("look around")
        await kernel.close()
        return talk

    assert [event.reason for event in run(story()).of(TurnFinished)] == ["done"]


def test_money_has_a_cap_a_turn_and_a_day_over_sessions(tmp_path: Path) -> None:
    house = House(tmp_path)
    (house.home / "config.toml").write_text(
        '[providers.scripted]\nbase_url = "http://127.0.0.1:9"\nprice_prompt = "1000"\ncurrency = "EUR"\n'
        '[cap]\nday = "0.05"\n'
    )
    costly = {"usage": [20, 1]}

    async def story() -> None:
        kernel = house.kernel(
            step("", call("now"), **costly),
            step("one", **costly),
            step("two", **costly),
            step("three", **costly),
        )
        talk = await house.open(kernel)
        end = await talk.say("go")
        assert (end.reason, end.cost, end.currency) == ("done", "0.04", "EUR")
        assert [event.cost for event in talk.of(UsageRecorded)] == ["0.02", "0.02"]
        second = await house.open(kernel)
        assert (await second.say("go")).reason == "done"
        end = await second.say("go")
        assert (end.reason, end.exit) == ("limit", 3)
        assert "cap for a day" in end.message
        third = await house.open(kernel, max_cost="0.01")
        assert (await third.say("go")).reason == "limit"
        await kernel.close()

    run(story())


def test_a_damaged_session_opens_with_a_warning_and_goes_on(tmp_path: Path) -> None:
    house = House(tmp_path)

    async def story() -> Talk:
        kernel = house.kernel(step("first"), step("second", expect=["first", "again"]))
        talk = await house.open(kernel)
        await talk.say("hi")
        await talk.session.close()
        path = Path(talk.session.path)
        path.write_bytes(path.read_bytes() + b'{"v":1,"seq":99,"type":"turn_sta')
        again = await house.open(kernel, session=talk.session.id)
        await again.say("again", client_id="again")
        await kernel.close()
        return again

    talk = run(story())

    assert [event.code for event in talk.of(Warned)] == ["log_damaged"]
    assert Path(f"{talk.session.path}.damaged").exists()
    assert house.divergence(talk) is None


def test_a_renamed_session_has_its_title_in_lists_exports_and_events(tmp_path: Path) -> None:
    house = House(tmp_path)

    async def story() -> tuple[Talk, str, str]:
        kernel = house.kernel(step("hello"))
        talk = await house.open(kernel)
        await talk.say("hi there")
        assert kernel.sessions()[0].title == "hi there"
        await talk.session.close()
        kernel.rename(talk.session.id, "  Greetings  ")
        with pytest.raises(UsageError):
            kernel.rename(talk.session.id, "   ")
        with pytest.raises(UsageError):
            kernel.rename("s00000", "x")
        row = kernel.sessions()[0]
        assert row.state == "done"
        text = kernel.export(talk.session.id, "markdown")
        await kernel.close()
        return talk, row.title, text

    talk, title, text = run(story())

    assert title == "Greetings"
    assert text.startswith("# Greetings\n")
    assert isinstance(read_history(Path(talk.session.path)).events[-1], SessionChanged)
    assert house.divergence(talk) is None


def test_an_export_can_be_read_back_with_every_call_and_result(tmp_path: Path) -> None:
    house = House(tmp_path)
    (house.work / "a.txt").write_text("```\nfence\n```\n")

    async def story() -> tuple[Talk, str, str]:
        kernel = house.kernel(
            step(
                "Look.", call("read_file", path="a.txt"), call("teleport", to="Mars"), reasoning="let me see"
            ),
            step("", call("write_file", path="b.txt", content="né")),
            step("That is all."),
        )
        talk = await house.open(kernel)
        await talk.say("read \u2028 it", answering("no", reason="not now"))
        texts = kernel.export(talk.session.id, "openai"), kernel.export(talk.session.id, "markdown")
        await kernel.close()
        return talk, *texts

    talk, exported, markdown = run(story())

    items = json.loads(exported)["messages"]
    messages = decode_messages(items)
    assert check_pairing(messages).valid
    assert [message.role for message in messages] == [
        "user",
        "assistant",
        "tool",
        "tool",
        "assistant",
        "tool",
        "assistant",
    ]
    assert [item.get("reasoning_content") for item in items][1] == "let me see"
    assert messages[1].calls[1].arguments == {"to": "Mars"}
    assert text_of(messages[6].parts) == "That is all."
    result = messages[2].result
    assert result is not None
    assert "fence" in text_of(result.parts)
    assert "````\n```\nfence\n```\n\n````" in markdown
    assert "the person said no: not now" in markdown
    assert talk.of(StepFinished)[-1].text in markdown


def test_an_export_of_a_turn_that_is_not_over_still_pairs_every_call(tmp_path: Path) -> None:
    house = House(tmp_path)

    async def story() -> str:
        kernel = house.kernel(step("", call("run_command", command="true")), step("ok"))
        talk = await house.open(kernel)
        texts: list[str] = []

        def export_while_asked(session: Session, event: Event) -> None:
            if isinstance(event, ApprovalAsked):
                texts.append(kernel.export(session.id, "openai"))
            answering("once")(session, event)

        await talk.say("run", export_while_asked)
        await kernel.close()
        return texts[0]

    messages = decode_messages(json.loads(run(story()))["messages"])

    assert check_pairing(messages).valid
    assert [message.role for message in messages] == ["user", "assistant", "tool"]


def test_a_plan_is_an_event_for_every_front_end(tmp_path: Path) -> None:
    house = House(tmp_path)
    items = [{"text": "look", "state": "done"}]

    async def story() -> Talk:
        kernel = house.kernel(step("", call("plan_update", items=items)), step("ok"))
        talk = await house.open(kernel)
        await talk.say("plan")
        await kernel.close()
        return talk

    talk = run(story())

    assert [event.items for event in talk.of(PlanUpdated)] == [items]
    assert talk.conversation.plan == items
    assert house.divergence(talk) is None


def test_names_and_outputs_that_are_no_text_reach_the_model_and_the_log(tmp_path: Path) -> None:
    house = House(tmp_path)
    (house.work / "plain").touch()

    async def story() -> Talk:
        kernel = house.kernel(
            step("", call("run_command", command="touch $'bad\\xff'; printf '\\xff\\xfe\\xed\\xa0\\x80'")),
            step("", call("list_dir"), expect=["\ufffd"]),
            step("ok", expect=["bad\\xff"]),
        )
        talk = await house.open(kernel)
        await talk.say("go", answering("once"))
        await kernel.close()
        return talk

    talk = run(story())

    assert talk.of(TurnFinished)[0].reason == "done"
    Path(talk.session.path).read_bytes().decode("utf-8")
    assert house.divergence(talk) is None


def test_several_sessions_work_at_once_and_close_together(tmp_path: Path) -> None:
    house = House(tmp_path)

    async def story() -> list[Talk]:
        kernel = house.kernel(*(step(f"answer {n} with a few words", delay=0.01) for n in range(6)))
        talks = [await house.open(kernel) for _ in range(3)]
        ends = await asyncio.gather(*(talk.say("go") for talk in talks))
        assert {end.reason for end in ends} == {"done"}
        for talk in talks:
            talk.send("again")
        await kernel.close()
        await kernel.close()
        return talks

    talks = run(story())

    assert len({talk.session.id for talk in talks}) == 3
    for talk in talks:
        assert {event.session for event in talk.heard} == {talk.session.id}


def test_a_session_tells_the_number_of_its_newest_event_also_when_opened_again(tmp_path: Path) -> None:
    house = House(tmp_path)

    async def story() -> tuple[Talk, list[int]]:
        kernel = house.kernel(step("hello"))
        talk = await house.open(kernel)
        begun = talk.session.last_seq
        await talk.say("hi")
        said = talk.session.last_seq
        await talk.session.close()
        again = await kernel.open(OpenRequest(session=talk.session.id))
        numbers = [begun, said, again.last_seq]
        await kernel.close()
        return talk, numbers

    talk, numbers = run(story())

    newest = read_history(Path(talk.session.path)).last_seq
    assert numbers == [1, newest, newest]


def test_numbers_that_a_later_version_gave_to_events_of_its_own_are_not_given_again(tmp_path: Path) -> None:
    house = House(tmp_path)

    async def story() -> Talk:
        kernel = house.kernel(step("hello"))
        talk = await house.open(kernel)
        await talk.session.close()
        with Path(talk.session.path).open("a") as log:
            log.write('{"v":1,"seq":40,"time":"","session":"s","turn":0,"step":0,"type":"of_tomorrow"}\n')
        kernel.rename(talk.session.id, "New")
        again = await house.open(kernel, session=talk.session.id)
        await again.say("hi")
        await kernel.close()
        return talk

    talk = run(story())

    numbers = [json.loads(line)["seq"] for line in Path(talk.session.path).read_text().splitlines()]
    assert numbers[:4] == [1, 40, 41, 42]
    assert numbers == sorted(set(numbers))


def test_a_session_tells_what_happened_in_it_while_open_and_when_opened_again(tmp_path: Path) -> None:
    house = House(tmp_path)

    async def story() -> tuple[list[Event], list[Event], list[Event]]:
        kernel = house.kernel(step("Hello."))
        talk = await house.open(kernel)
        before = [*await talk.session.history()]
        await talk.say("hi")
        during = [*await talk.session.history()]
        await talk.session.close()
        again = await kernel.open(OpenRequest(talk.session.id))
        after = [*await again.history()]
        await kernel.close()
        return before, during, after

    before, during, after = run(story())
    assert not of_type(before, TurnStarted)
    assert [event.input for event in of_type(during, TurnStarted)] == ["hi"]
    assert during[: len(before)] == before
    assert after == during


def test_the_newest_session_of_a_folder_is_found_and_an_empty_one_passed_over(tmp_path: Path) -> None:
    house = House(tmp_path)
    (tmp_path / "other").mkdir()
    (tmp_path / "link").symlink_to(house.work)

    async def story() -> tuple[str, str | None, object]:
        kernel = house.kernel(step("Hello."))
        talk = await house.open(kernel)
        await talk.say("hi")
        await house.open(kernel)
        found = kernel.newest_in(str(tmp_path / "link"))
        nothing = kernel.newest_in(str(tmp_path / "other"))
        await kernel.close()
        return talk.session.id, found and found.id, nothing

    begun, found, nothing = run(story())
    assert found == begun
    assert nothing is None


def test_an_injected_input_waits_in_sight_until_the_running_turn_takes_it_in(tmp_path: Path) -> None:
    house = House(tmp_path)
    seen: list[tuple[str, list[str]]] = []

    async def story() -> None:
        kernel = house.kernel(step("", call("run_command", command="true")), step("heard"))
        talk = await house.open(kernel)

        def look(session: Session, event: Event) -> None:
            if isinstance(event, ApprovalAsked):
                session.inject(Send("use staging", "x"))
                session.inject(Send("use staging", "x"))
            seen.append((event.type, [message.text for message in session.injected()]))
            if isinstance(event, ApprovalAsked):
                session.answer(event.approval, Answer("no", source="test"))

        await talk.say("go", look)
        await kernel.close()

    run(story())
    waiting = dict(seen)
    assert waiting[ApprovalAsked.type] == ["use staging"]
    assert waiting[InputInjected.type] == []
    assert waiting[TurnFinished.type] == []


def test_an_input_injected_too_late_waits_in_the_queue_and_can_be_dropped(tmp_path: Path) -> None:
    house = House(tmp_path)

    async def story() -> tuple[list[str], list[str], list[str]]:
        kernel = house.kernel(step("", call("run_command", command="true")))
        talk = await house.open(kernel)

        def inject_and_stop(session: Session, event: Event) -> None:
            if isinstance(event, ApprovalAsked):
                session.inject(Send("late", "x"))
                session.stop()

        await talk.say("go", inject_and_stop)
        queued = [message.text for message in talk.session.queued()]
        talk.session.drop(0)
        left = [*talk.session.queued(), *talk.session.injected()]
        await kernel.close()
        return queued, [message.text for message in left], [event.type for event in talk.heard]

    queued, left, heard = run(story())
    assert queued == ["late"]
    assert left == []
    assert InputInjected.type not in heard
