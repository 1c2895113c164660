"""The window over random and recorded conversations: no request is invalid, and none is too large."""

import re
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from limnos.context.budget import WindowSettings
from limnos.context.engine import Engine
from limnos.kernel.errors import LimitError
from limnos.kernel.events import StepsRecalled
from limnos.kernel.messages import text_of
from limnos.kernel.registry import Catalogue, Registry
from limnos.kernel.seams import Rendered
from limnos.kernel.units import Recalled, Step
from tests.context.units import (
    CountingModel,
    act,
    anew,
    check,
    coding_session,
    engine,
    happen,
    peeked,
    prefix,
    rendered,
    replayed,
    say,
    service_chats,
    talk,
)

BUDGETS = (500, 1_000, 3_000, 10_000, 40_000, 128_000, 500_000)
SIZES = st.sampled_from([0, 1, 10, 200, 3_000, 20_000])
CALLS = st.lists(st.tuples(st.sampled_from(["read", "run"]), SIZES, SIZES), max_size=4)
TURNS = st.lists(st.tuples(SIZES, st.lists(st.tuples(SIZES, CALLS), max_size=4)), min_size=1, max_size=8)
MARK = re.compile(r"\[((?:\d+ (?:step|message)s?(?: and )?)+) left this window")


def text(size: int, name: str = "w") -> str:
    return (f"{name} " * (size // (len(name) + 1) + 1))[:size]


def told(request: Rendered) -> int:
    """How many units have sunk, as the markers say."""
    said = "".join(text_of(message.parts) for message in request.messages if message.role == "user")
    return sum(
        int(count) for mark in MARK.findall(said) for count in re.findall(r"(\d+) (?:step|message)", mark)
    )


@given(st.lists(st.tuples(st.sampled_from(["say", "act", "break off", "inject", "end"]), SIZES), max_size=20))
@settings(max_examples=100, deadline=None)
def test_what_is_kept_between_renders_is_what_a_fresh_window_makes(history: list[tuple[str, int]]) -> None:
    """Units that are added, replaced, and shown only once their turn is over."""
    conversation, (one, _) = talk(), engine(500_000)
    say(conversation, "begin")
    for what, size in history:
        happen(conversation, what, text(size))
        fresh, _ = engine(500_000)
        assert peeked(one, conversation) == peeked(fresh, anew(conversation))


@given(TURNS, st.sampled_from([500, 700, 1_500, 5_000, 40_000, 500_000]), st.booleans())
@settings(max_examples=150, deadline=None)
def test_any_conversation_at_any_budget_gives_a_right_request_or_names_the_sizes(
    turns: list[tuple[int, list[tuple[int, list[tuple[str, int, int]]]]]], budget: int, noted: bool
) -> None:
    conversation, (one, _) = talk(), engine(budget)
    known: list[str] = []
    for number, (size, steps) in enumerate(turns):
        question = f"question {number} " + text(size)
        say(conversation, question)
        for reply, calls in [*steps, (5, [])]:
            try:
                request = rendered(one, conversation, "wrap up" if noted else "")
            except LimitError as error:
                refused = f"of {budget} tokens" in error.what and bool(error.fix)
                assert refused
                return
            check(request, question)
            known += request.sunk
            assert told(request) == len(known)
            given_calls = [(name, {"x": text(a)}, text(b, name)) for name, a, b in calls]
            act(conversation, text(reply), given_calls)
        conversation.turn_open = False


@pytest.mark.parametrize("budget", BUDGETS)
def test_a_recorded_coding_session_is_right_at_every_budget(budget: int) -> None:
    conversation, (one, _) = talk(), engine(budget)
    refused = 0
    for number, question in enumerate(replayed(coding_session(), conversation)):
        try:
            request = rendered(one, conversation)
        except LimitError:
            refused += 1
            continue
        if budget < 20_000 or number % 5 == 0:
            check(request, question)

    assert not refused or budget < 10_000


@pytest.mark.parametrize("budget", BUDGETS[:4])
def test_recorded_service_chats_are_right_at_every_budget(budget: int) -> None:
    for chat in service_chats()[:: 4 if budget > 1_000 else 10]:
        conversation, (one, _) = talk(), engine(budget)
        for question in replayed(chat, conversation):
            check(rendered(one, conversation), question)


def test_between_prunes_a_request_begins_with_the_bytes_of_the_one_before() -> None:
    conversation, (one, _) = talk(), engine(10_000)
    requests = [rendered(one, conversation) for _ in replayed(coding_session()[:300], conversation)]

    kept = [
        prefix(after.messages)[: len(before.messages)] == prefix(before.messages)
        for before, after in pairwise(requests)
        if not after.sunk and "characters left out" not in f"{before.messages}{after.messages}"
    ]
    pruned = sum(bool(request.sunk) for request in requests)
    assert len(kept) > 60
    assert all(kept)
    assert 0 < pruned < len(requests) / 3


def test_a_prune_leaves_room_up_to_its_target() -> None:
    conversation, (one, _) = talk(), engine(4_000)
    pruned = 0
    for number in range(120):
        say(conversation, f"question {number} " + text(200))
        request = rendered(one, conversation)
        act(conversation, "reply", [("read", {"path": f"file{number}.txt"}, text(900))])
        if request.sunk:
            pruned += 1
            assert request.used <= 0.6 * request.budget

    assert pruned > 3


def test_the_marker_says_how_many_when_what_about_and_where_it_is() -> None:
    conversation, (one, _) = talk(), engine(9_000)
    for number in range(80):
        say(conversation, f"question {number}")
        request = rendered(one, conversation)
        act(conversation, "reply", [("read_file", {"path": f"src/file{number}.py"}, text(600))])

    said = "".join(text_of(one.parts) for one in request.messages if one.role == "user")
    assert re.search(r"\d+ steps left this window, #2 to #\d+; 2026-03-14 20:31 UTC", said)
    assert "tools: read_file" in said
    assert re.search(r"about: src/file\d+\.py", said)
    assert "kept whole in the session's log" in said


def test_the_first_question_of_a_long_turn_stays_also_beside_an_injected_one() -> None:
    conversation, (one, _) = talk(), engine(1_500)
    say(conversation, "the first question of all")
    sunk = 0
    for number in range(30):
        if number == 25:
            say(conversation, "and one thing more")
            conversation.last.turn -= 1
            conversation.units[-1].turn = conversation.turn
        request = rendered(one, conversation)
        sunk += len(request.sunk)
        check(request, "the first question")
        act(conversation, "reply", [("read_file", {"path": f"src/file{number}.py"}, text(600))])

    said = [text_of(message.parts) for message in request.messages if message.role == "user"]
    assert sunk > 5
    assert sum("the first question of all" in one_said for one_said in said) == 1


def test_a_runaway_step_is_shown_with_head_and_tail_of_texts_and_arguments() -> None:
    conversation, (one, _) = talk(), engine(2_000)
    say(conversation, "write it")
    content = "start " + text(50_000) + " end"
    act(
        conversation,
        "here",
        [
            (
                "write_file",
                {"path": "a.txt", "content": content, "list": [content]},
                "begin " + text(50_000) + " finish",
            )
        ],
    )
    request = rendered(one, conversation)

    check(request, "write it")
    (call,) = request.messages[2].calls
    assert call.arguments is not None
    assert call.arguments["path"] == "a.txt"
    assert call.arguments["content"].startswith("start ")
    assert call.arguments["content"].endswith(" end")
    assert "characters left out" in call.arguments["list"][0]
    result = request.messages[3].result
    assert result is not None
    assert text_of(result.parts).startswith("begin ")
    assert text_of(result.parts).endswith(" finish")
    unit = conversation.units[1]
    assert isinstance(unit, Step)
    assert unit.calls[0].arguments == {"path": "a.txt", "content": content, "list": [content]}


def test_a_step_that_cannot_be_cut_sinks_also_in_its_own_turn_and_is_named() -> None:
    conversation, (one, _) = talk(), engine(1_000)
    say(conversation, "go")
    act(conversation, "all", [("read", {"n": number}, "x" * 100) for number in range(469)])

    request = rendered(one, conversation)
    check(request, "go")

    assert request.sunk == ("#2",)
    assert "too large: #2" in text_of(request.messages[-1].parts)
    assert "469 calls of read" in text_of(request.messages[-1].parts)


def test_a_fixed_part_that_is_larger_than_the_budget_names_the_sizes_and_the_setting() -> None:
    model = CountingModel(2_000)
    one = Engine(model, Catalogue(Registry()), lambda closed: "rule " * 2_000, WindowSettings(reserve=100))
    conversation = talk()
    say(conversation, "go")

    with pytest.raises(LimitError) as caught:
        peeked(one, conversation)

    assert "fixed parts are 2504 of 1500 tokens" in caught.value.what
    assert "config set" in caught.value.fix


def test_at_a_ratio_of_one_point_two_a_prune_frees_to_its_target_and_not_everything() -> None:
    conversation, (one, _) = talk(), engine(10_000)
    say(conversation, "go")
    for number in range(41):
        act(conversation, "reply", [("read", {"path": f"f{number}"}, text(1_130))])

    request = rendered(one, conversation)
    check(request, "go")

    kept = len(conversation.units) - 1
    assert 10 <= kept < 25
    assert 0.4 * request.budget < request.used <= 0.6 * request.budget


def test_the_event_of_a_prune_says_of_each_unit_why_it_stayed_or_sank() -> None:
    conversation, (one, _) = talk(), engine(4_000)
    say(conversation, "look at the parser")
    for number in range(30):
        act(conversation, "reply", [("read", {"path": f"f{number}"}, text(600))])
    conversation.window.pinned, conversation.window.held = {"#4"}, {"#6"}

    request = rendered(one, conversation)

    why = {one["unit"]: (one["fate"], one["why"]) for one in request.decisions}
    assert len(why) == 31
    assert (why["#1"], why["#4"], why["#6"]) == (("kept", "question"), ("kept", "pinned"), ("kept", "held"))
    assert why["#31"] == ("kept", "recent")
    assert {one for one, (fate, _) in why.items() if fate == "sunk"} == set(request.sunk)


def test_a_section_of_an_earlier_turn_is_the_first_to_go_and_is_no_loss() -> None:
    conversation, (one, _) = talk(), engine(3_000)
    for number in range(2):
        say(conversation, f"question {number}")
        at = len(conversation.units) - 1
        conversation.units.insert(
            at, Recalled(1_000 + number, number + 1, "2026-03-14T20:31:04.118Z", text(800))
        )
    act(conversation, "reply", [("read", {"path": "f"}, text(11_000))])

    request = rendered(one, conversation)
    check(request, "question 1")

    assert "#1000" in request.sunk
    assert "#1001" not in request.sunk
    assert told(request) == len(request.sunk) - 1


def test_a_unit_that_is_back_is_counted_out_of_its_marker_at_once() -> None:
    conversation, (one, _) = talk(), engine(4_000)
    say(conversation, "go")
    for number in range(40):
        act(conversation, "reply", [("read", {"path": f"f{number}"}, text(500))])
    sunk = rendered(one, conversation).sunk

    back = sunk[3]
    conversation.apply(StepsRecalled(seq=conversation.last_seq + 1, units=[back], call="c"))
    request = peeked(one, conversation)

    assert told(request) == len(sunk) - 1
    for _ in range(40):
        act(conversation, "reply", [("read", {"path": "more"}, text(500))])
        after = rendered(one, conversation)
        check(after, "go")
        assert back not in after.sunk


@pytest.mark.parametrize("content", ["\ud800 lone", "\0 nul", "x" * 2_000_000, "词" * 300_000])
def test_strange_and_huge_inputs_are_shown_or_cut_and_never_break_a_render(content: str) -> None:
    conversation, (one, _) = talk(), engine(3_000)
    for number in range(3):
        say(conversation, f"question {number} {content}")
        check(rendered(one, conversation), f"question {number}")
        act(conversation, content, [("read", {"path": content, "list": [content]}, content)])
        check(rendered(one, conversation), f"question {number}")


@pytest.mark.parametrize("place", [0, 10, 19])
def test_a_step_of_469_calls_may_stand_anywhere(place: int) -> None:
    conversation, (one, _) = talk(), engine(20_000)
    for number in range(20):
        say(conversation, f"question {number}")
        check(rendered(one, conversation), f"question {number}")
        calls: list[tuple[str, dict[str, Any], str]] = [("read", {"n": 1}, text(100))] * (
            469 if number == place else 1
        )
        act(conversation, "reply", calls)
        check(rendered(one, conversation), f"question {number}")


@pytest.mark.parametrize("limit", [None, 900, 100_000])
def test_after_an_overflow_the_next_request_is_smaller(limit: int | None) -> None:
    conversation, (one, _) = talk(), engine(4_000)
    for number in range(10):
        say(conversation, f"question {number}")
        act(conversation, "reply", [("read", {"n": number}, text(1_000))])
    say(conversation, "now")
    sent = rendered(one, conversation).used

    for _ in range(2):
        one.overflowed(limit)
        again = rendered(one, conversation).used
        assert again < sent
        sent = again
        check(rendered(one, conversation), "now")


def test_the_work_of_a_render_does_not_grow_with_the_session() -> None:
    conversation, (one, model) = talk(), engine(8_000)
    work: list[int] = []
    for number in range(600):
        say(conversation, f"question {number}")
        model.counted = 0
        rendered(one, conversation)
        work.append(model.counted)
        act(conversation, "reply", [("read", {"path": f"f{number}"}, text(400))])

    early, late = sorted(work[300:400]), sorted(work[500:])
    assert late[50] <= early[50] * 1.2
    assert late[-1] <= early[-1] * 1.5


def test_a_reply_that_broke_off_is_not_sent_again_in_its_turn() -> None:
    conversation, (one, _) = talk(), engine(4_000)
    say(conversation, "go")
    act(conversation, "half an ans")
    unit = conversation.units[-1]
    assert isinstance(unit, Step)
    unit.complete = False

    assert "half an ans" not in "".join(
        text_of(message.parts) for message in rendered(one, conversation).messages
    )


def test_a_runaway_of_an_earlier_turn_sinks_alone_and_what_is_older_stays() -> None:
    conversation, (one, _) = talk(), engine(8_000)
    for number in range(3):
        say(conversation, f"question {number}")
        act(conversation, "reply", [("read", {"path": f"f{number}"}, text(10_000 if number == 1 else 1_000))])
    say(conversation, "now")
    act(conversation, "reply", [("read", {"path": "new"}, text(20_000))])

    request = rendered(one, conversation)
    check(request, "now")

    assert request.sunk == ("#4",)
    assert {one["unit"]: one["why"] for one in request.decisions}["#4"] == "runaway"
    said = "".join(text_of(message.parts) for message in request.messages if message.role == "user")
    assert "too large: #4" in said
    assert all(f"question {number}" in said for number in range(3))


def test_a_runaway_of_this_turn_is_cut_once_and_the_same_in_every_later_request() -> None:
    conversation, (one, _) = talk(), engine(8_000)
    for number in range(20):
        say(conversation, f"question {number}")
        act(conversation, "reply", [("read", {"path": f"f{number}"}, text(800))])
    say(conversation, "now")
    act(conversation, "large", [("read", {"path": "large"}, "first " + text(16_000) + " last")])
    request = rendered(one, conversation)
    assert request.sunk

    for number in range(4):
        (large,) = (one for one in request.messages if one.result and one.result.call_id == "u42c0")
        assert large.result is not None
        shown = text_of(large.result.parts)
        assert shown.startswith("first ")
        assert shown.endswith(" last")
        assert len(shown) // 4 <= request.budget // 4
        act(conversation, "small", [("read", {"path": f"n{number}"}, "ok")])
        before, request = request, peeked(one, conversation)
        assert not request.sunk
        assert prefix(request.messages)[: len(before.messages)] == prefix(before.messages)


@given(st.sets(st.integers(1, 60), max_size=30), st.sets(st.integers(1, 60), max_size=10))
@settings(max_examples=60, deadline=None)
def test_markers_count_right_however_many_gaps_there_are(pinned: set[int], freed: set[int]) -> None:
    conversation, (one, _) = talk(), engine(6_000)
    say(conversation, "go")
    conversation.window.pinned = {f"#{number}" for number in pinned}
    sunk: set[str] = set()
    for number in range(120):
        if number == 70:
            conversation.window.pinned -= {f"#{number}" for number in freed}
        if number == 90 and (back := sorted(sunk)[: len(freed)]):
            conversation.apply(StepsRecalled(seq=conversation.last_seq + 1, units=back, call="c"))
            sunk -= set(back)
            assert told(peeked(one, conversation)) == len(sunk)
        if number == 100:
            conversation.window.held.clear()
        request = rendered(one, conversation)
        check(request, "go")
        sunk |= set(request.sunk)
        assert told(request) == len(sunk)
        act(conversation, "reply", [("read", {"path": f"f{number}"}, text(150))])


def test_a_reply_that_broke_off_in_an_earlier_turn_stays_and_the_roles_alternate() -> None:
    conversation, (one, _) = talk(), engine(4_000)
    say(conversation, "go")
    act(conversation, "half an ans")
    broken = conversation.units[-1]
    assert isinstance(broken, Step)
    broken.complete = False
    act(conversation, "a whole answer")
    hidden = peeked(one, conversation)
    say(conversation, "and now")
    shown = peeked(one, conversation)

    for request in (hidden, shown):
        check(request, "go")
    assert "half an ans" not in str(hidden.messages)
    assert "half an ans" in str(shown.messages)
