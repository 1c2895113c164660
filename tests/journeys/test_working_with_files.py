"""A person lets limnos change a file: with a yes, a no, a change of mind, and nobody there."""

from pathlib import Path

from limnos.kernel.events import (
    ApprovalAnswered,
    ApprovalAsked,
    CallFinished,
    CallStarted,
    StepFinished,
    TextDelta,
)
from limnos.kernel.pairing import check_pairing
from tests.service.house import House, Talk, answering, call, run, step

EDIT = call("edit_file", path="notes.txt", old="milk", new="bread")


def shopping(tmp_path: Path) -> House:
    house = House(tmp_path)
    (house.work / "notes.txt").write_text("eggs\nmilk\ntea\n")
    return house


def is_paired(talk: Talk) -> bool:
    messages = [message for unit in talk.conversation.units for message in unit.messages()]
    return check_pairing(messages).valid


def test_an_approved_edit_shows_its_diff_changes_the_file_and_can_be_replayed(tmp_path: Path) -> None:
    house = shopping(tmp_path)

    async def story() -> Talk:
        kernel = house.kernel(
            step("I look.", call("read_file", path="notes.txt")),
            step("Now the change.", EDIT, expect=["eggs\nmilk\ntea"]),
            step("Bread it is.", expect=["changed 1 place in notes.txt, the first in line 2"]),
        )
        talk = await house.open(kernel)
        assert (await talk.say("bread instead of milk", answering("once"))).reason == "done"
        await kernel.close()
        return talk

    talk = run(story())

    assert (house.work / "notes.txt").read_text() == "eggs\nbread\ntea\n"
    (asked,) = talk.of(ApprovalAsked)
    assert "-milk\n+bread\n" in (asked.preview or "")
    assert asked.reasons == ["changes 1 file, 1 place"]
    assert talk.of(StepFinished)[-1].text == "Bread it is."
    assert "".join(event.text for event in talk.of(TextDelta)).endswith("Bread it is.")
    order = [event.type for event in talk.heard if event.type.startswith(("approval", "call"))]
    assert order[-5:] == [
        "call_proposed",
        "approval_asked",
        "approval_answered",
        "call_started",
        "call_finished",
    ]
    assert house.divergence(talk) is None


def test_a_no_with_a_reason_reaches_the_model_and_the_file_stays(tmp_path: Path) -> None:
    house = shopping(tmp_path)

    async def story() -> Talk:
        kernel = house.kernel(step("", EDIT), step("Then not.", expect=["the person said no: I like milk"]))
        talk = await house.open(kernel)
        end = await talk.say("bread", answering("no", reason="I like milk"))
        assert (end.reason, end.exit) == ("denied", 4)
        await kernel.close()
        return talk

    talk = run(story())

    assert "milk" in (house.work / "notes.txt").read_text()
    assert not talk.of(CallStarted)
    assert is_paired(talk)
    assert house.divergence(talk) is None


def test_arguments_that_the_person_edited_are_what_runs(tmp_path: Path) -> None:
    house = shopping(tmp_path)
    edited = {"path": "notes.txt", "old": "milk", "new": "oat milk"}

    async def story() -> Talk:
        kernel = house.kernel(step("", EDIT), step("Done."))
        talk = await house.open(kernel)
        await talk.say("bread", answering("edit", arguments=edited))
        await kernel.close()
        return talk

    talk = run(story())

    assert "oat milk" in (house.work / "notes.txt").read_text()
    assert talk.of(CallStarted)[0].arguments == edited
    assert house.divergence(talk) is None


def test_edited_arguments_that_do_not_fit_change_nothing(tmp_path: Path) -> None:
    house = shopping(tmp_path)

    async def story() -> Talk:
        kernel = house.kernel(step("", EDIT), step("Hm.", expect=["do not fit"]))
        talk = await house.open(kernel)
        await talk.say("bread", answering("edit", arguments={"path": 5}))
        await kernel.close()
        return talk

    talk = run(story())

    assert "milk" in (house.work / "notes.txt").read_text()
    assert house.divergence(talk) is None


def test_always_asks_once_for_this_file_and_still_for_another_after_a_restart_too(tmp_path: Path) -> None:
    house = shopping(tmp_path)
    absolute = str(house.work / "notes.txt")
    other = call("write_file", path="other.txt", content="x")

    async def story() -> list[Talk]:
        kernel = house.kernel(
            step("", EDIT),
            step("", call("edit_file", path=absolute, old="bread", new="rice")),
            step("First turn done."),
        )
        first = await house.open(kernel)
        await first.say("change it", answering("always"))
        await kernel.close()
        kernel = house.kernel(
            step("", call("edit_file", path="./notes.txt", old="rice", new="corn"), other), step("Second.")
        )
        second = await house.open(kernel, session=first.session.id)
        await second.say("again", answering("no"), client_id="second")
        await kernel.close()
        return [first, second]

    first, second = run(story())

    assert (house.work / "notes.txt").read_text() == "eggs\ncorn\ntea\n"
    assert not (house.work / "other.txt").exists()
    assert len(first.of(ApprovalAsked)) == 1
    assert [event.arguments["path"] for event in second.of(ApprovalAsked)] == ["notes.txt", "other.txt"]
    assert house.divergence(second) is None


def test_without_anybody_to_answer_nothing_is_changed(tmp_path: Path) -> None:
    house = shopping(tmp_path)

    async def story() -> Talk:
        kernel = house.kernel(step("", EDIT), step("I would have written bread."))
        talk = await house.open(kernel, attended=False)
        assert (await talk.say("bread")).reason == "denied"
        await kernel.close()
        return talk

    talk = run(story())

    assert "milk" in (house.work / "notes.txt").read_text()
    assert not talk.of(ApprovalAsked)
    assert house.divergence(talk) is None


def test_in_mode_auto_a_trusted_folder_is_edited_unasked_and_an_untrusted_one_is_not(tmp_path: Path) -> None:
    for trust, asked in ((True, 0), (False, 1)):
        house = shopping(tmp_path / str(trust))

        async def story(house: House = house, trust: bool = trust) -> Talk:
            kernel = house.kernel(step("", EDIT), step("Done."), mode="auto")
            talk = await house.open(kernel, trust=trust)
            await talk.say("bread", answering("once"))
            await kernel.close()
            return talk

        talk = run(story())
        assert len(talk.of(ApprovalAsked)) == asked
        assert "bread" in (house.work / "notes.txt").read_text()
        assert house.divergence(talk) is None


def test_an_unanswered_question_is_a_no_after_its_time(tmp_path: Path) -> None:
    house = shopping(tmp_path)

    async def story() -> Talk:
        kernel = house.kernel(
            step("", EDIT), step("Nobody there.", expect=["nobody answered in time"]), approval_seconds=1
        )
        talk = await house.open(kernel)
        await talk.say("bread")
        await kernel.close()
        return talk

    talk = run(story())

    assert talk.of(ApprovalAnswered)[0].answer == "expired"
    assert "milk" in (house.work / "notes.txt").read_text()
    assert house.divergence(talk) is None


def test_a_folder_that_was_replaced_after_the_yes_is_not_touched(tmp_path: Path) -> None:
    house = shopping(tmp_path)

    async def story() -> Talk:
        kernel = house.kernel(step("", EDIT), step("It moved.", expect=["changed after the approval"]))
        talk = await house.open(kernel)

        def swap_and_say_yes(session: object, event: object) -> None:
            if isinstance(event, ApprovalAsked):
                house.work.rename(tmp_path / "old")
                house.work.mkdir()
                (house.work / "notes.txt").write_text("milk of somebody else")
                answering("once")(talk.session, event)

        await talk.say("bread", swap_and_say_yes)
        await kernel.close()
        return talk

    talk = run(story())

    assert (house.work / "notes.txt").read_text() == "milk of somebody else"
    assert [event.outcome for event in talk.of(CallFinished)] == ["denied"]
