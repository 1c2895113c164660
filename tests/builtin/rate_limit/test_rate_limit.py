"""The guard that stops inputs which come too fast: each sender has a minute of its own."""

from pathlib import Path

from limnos.builtin.rate_limit.window import MOST_SENDERS, SECONDS, Window
from limnos.kernel.events import TurnFinished
from limnos.plugins.install import enable
from limnos.plugins.places import builtin_folders
from tests.builtin.children import running
from tests.service.house import House, Talk, run, step

ANNA, BEN = ("chat", "owner"), ("mail", "member:ben")


def test_a_sender_may_send_so_many_a_minute_and_another_as_many() -> None:
    window = Window()

    assert [window.admit(ANNA, 3, now) for now in (0.0, 1.0, 2.0)] == [None, None, None]
    assert window.admit(ANNA, 3, 10.0) == 50.0
    assert window.admit(BEN, 3, 10.0) is None
    assert window.admit(ANNA, 3, SECONDS) is None
    assert window.admit(ANNA, 3, SECONDS + 0.5) == 0.5


def test_what_was_stopped_does_not_count() -> None:
    window = Window()
    for now in range(60):
        window.admit(ANNA, 1, float(now))

    assert window.admit(ANNA, 1, SECONDS) is None


def test_a_million_senders_take_no_more_room_than_ten_thousand() -> None:
    window = Window()
    for number in range(MOST_SENDERS * 2):
        window.admit(("chat", str(number)), 1, 0.0)

    assert len(window._times) == MOST_SENDERS  # pyright: ignore[reportPrivateUsage]


def test_in_a_session_the_input_that_is_too_much_ends_at_once(tmp_path: Path) -> None:
    house = House(tmp_path)
    enable("rate_limit", house.home, builtin_folders())
    most = 20

    async def story() -> Talk:
        kernel = house.kernel(*[step("Yes.") for _ in range(most)])
        talk = await house.open(kernel)
        for number in range(most):
            assert (await talk.say(f"input {number}")).reason == "done"
        assert "rate_limit" in running()
        await talk.say("one too many")
        await kernel.close()
        return talk

    talk = run(story())

    last = talk.of(TurnFinished)[-1]
    assert "more than 20 inputs a minute" in repr(last) + repr(talk.heard[-3:])
