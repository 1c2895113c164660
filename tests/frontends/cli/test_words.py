"""Words of a command line, read by a function's signature."""

from typing import Annotated, NamedTuple

import pytest

from limnos.frontends.cli.words import Argument, Option, parameters, read
from limnos.kernel.errors import UsageError


class Limits(NamedTuple):
    steps: Annotated[int | None, Option("--steps", metavar="N")] = None
    quick: Annotated[bool, Option("--quick")] = False


def work(
    console: object,
    task: Annotated[str, Argument(metavar="TASK")],
    limits: Limits = Limits(),  # noqa: B008 - a NamedTuple cannot change
    deep: Annotated[bool, Option("--deep")] = False,
) -> None:
    """A command with options that it shares."""


def test_shared_options_arrive_as_one_value_in_the_place_of_their_parameter() -> None:
    assert [one.name for one in parameters(work)] == ["task", "steps", "quick", "deep"]
    assert read(work, ["go", "--steps", "3"], "limnos work") == {
        "task": "go",
        "limits": Limits(3),
        "deep": False,
    }
    assert read(work, ["--quick", "go"], "limnos work")["limits"] == Limits(None, True)


def test_a_slip_in_a_shared_option_names_the_near_one() -> None:
    with pytest.raises(UsageError) as refused:
        read(work, ["go", "--stps", "3"], "limnos work")

    assert refused.value.fix == "limnos work --steps"


@pytest.mark.parametrize(
    "words", [["--", "-5 + 3"], ["--quick", "--", "-5 + 3"], ["--", "--deep"], ["--", "--"]]
)
def test_what_stands_behind_two_dashes_is_no_option(words: list[str]) -> None:
    values = read(work, words, "limnos work")

    assert values["task"] == words[-1]
    assert values["limits"].quick == (words[0] == "--quick")
    assert not values["deep"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["go", "--steps", "--", "3"], "--steps: expected one argument"),
        (["go", "--", "more"], "does not take `more`"),
        (["go", "--steps", "9" * 5000], "99' is not a whole number"),
    ],
)
def test_a_slip_is_told_in_one_short_line(words: list[str], said: str) -> None:
    with pytest.raises(UsageError) as refused:
        read(work, words, "limnos work")

    assert said in refused.value.what
    assert len(refused.value.what) < 150
    assert "\0" not in refused.value.what
