"""In which order plugins start, and what is said of those that cannot stand together."""

import random
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from limnos.plugins.faults import LockError
from limnos.plugins.locked import Need
from limnos.plugins.manifest import ChannelDeclaration, Manifest
from limnos.plugins.order import resolve
from tests.plugins.making import manifest


def wrong(*manifests: Manifest, prefer: Mapping[str, str] | None = None) -> list[str]:
    """All that is said against these plugins."""
    with pytest.raises(LockError) as caught:
        resolve(manifests, prefer or {})
    return list(caught.value.lines)


def test_a_plugin_comes_after_those_it_needs_and_else_by_the_alphabet() -> None:
    lock = resolve(
        [manifest("c"), manifest("a", needs=("x",)), manifest("z", provides=("x",), needs=("y",)),
         manifest("b", provides=("y",))]
    )  # fmt: skip

    assert [one.name for one in lock.plugins] == ["b", "c", "z", "a"]
    assert lock.plugins[3].needs == (Need("x", "z"),)
    assert [[one.name for one in level] for level in lock.levels()] == [["b", "c"], ["z"], ["a"]]


def test_a_cycle_is_shown_as_the_path_of_its_needs() -> None:
    found = wrong(
        manifest("a", ("x",), ("y",)),
        manifest("b", ("y",), ("z",)),
        manifest("c", ("z",), ("x",)),
        manifest("d"),
    )

    assert found == ["plugins wait for each other: a needs y of b, b needs z of c, c needs x of a"]
    assert wrong(manifest("a", ("x",), ("x",))) == ["plugins wait for each other: a needs x of a"]


def test_everything_that_is_wrong_is_listed_together() -> None:
    found = wrong(
        manifest("a", tools=("t",)),
        manifest("b", tools=("t",), needs=("nothing",)),
        manifest("c", provides=("f",)),
        manifest("d", provides=("f",)),
        manifest("e", needs=("f@a",)),
        manifest("g", needs=("f",)),
    )

    assert found == [
        "the tool t is declared by a and by b",
        "f is provided by c and by d, and none is preferred: limnos plugins lock --prefer f=c",
        "b needs nothing, which no plugin provides",
        "e needs f of a, which does not provide it",
    ]


def test_a_channel_takes_the_name_of_its_tool() -> None:
    siren = (ChannelDeclaration("siren", "A loud one."),)

    assert wrong(manifest("a", channels=siren), manifest("b", channels=siren)) == [
        "the tool output_send__siren is declared by a and by b"
    ]


def test_one_of_several_providers_is_chosen_by_the_need_or_by_a_preference() -> None:
    one, other = manifest("one", ("f",)), manifest("other", ("f",))

    assert resolve([one, other, manifest("a", needs=("f@other",))]).get("a") is not None
    lock = resolve([one, other, manifest("a", needs=("f",)), manifest("b", needs=("f@one",))], {"f": "other"})
    assert {plugin.name: plugin.needs for plugin in lock.plugins if plugin.needs} == {
        "a": (Need("f", "other"),),
        "b": (Need("f", "one"),),
    }
    assert "none is preferred" in wrong(one, other)[0]
    assert (
        "none is preferred"
        in wrong(one, other, manifest("a", needs=("f@one",)), manifest("b", needs=("f",)))[0]
    )
    assert "none is preferred" in wrong(one, other, prefer={"f": "gone"})[0]


def test_two_plugins_of_one_name_and_groups_of_mixed_trust_are_refused() -> None:
    twin = manifest("a")._replace(folder="/elsewhere/a")
    assert wrong(manifest("a"), twin) == ["two plugins are called a: /plugins/a and /elsewhere/a"]

    mixed = wrong(manifest("a", group="g", builtin=True), manifest("b", group="g"))
    assert mixed == ["the group g would run b in one process with plugins that belong to limnos"]
    assert resolve([manifest("a", group="g"), manifest("b", group="g")]).plugins


def test_a_long_chain_of_needs_is_no_problem() -> None:
    count = 3000
    chain = [manifest(f"p{n}", (f"f{n}",), (f"f{n - 1}",) if n else ()) for n in range(count)]
    random.Random(3).shuffle(chain)

    assert [one.name for one in resolve(chain).plugins] == [f"p{n}" for n in range(count)]


@settings(deadline=None, max_examples=300)
@given(st.integers(0, 2**32))
def test_the_order_respects_all_needs_and_a_cycle_is_said_exactly_where_there_is_one(seed: int) -> None:
    chance = random.Random(seed)
    count = chance.randint(1, 9)
    needs = {
        n: {chance.randrange(count) for _ in range(chance.choice([0, 0, 1, 1, 2]))} for n in range(count)
    }
    manifests = [
        manifest(f"p{n}", (f"f{n}",), tuple(f"f{m}" for m in sorted(needs[n]))) for n in range(count)
    ]
    chance.shuffle(manifests)
    circular = any(n in _reached(needs, n) for n in needs)
    try:
        lock = resolve(manifests)
    except LockError as error:
        lock = None
        steps = [fault.plugins for fault in error.faults]
        assert all(_is_cycle(needs, [int(name[1:]) for name in path]) for path in steps), seed
    assert (lock is None) == circular, seed
    if lock is not None:
        place = {one.name: number for number, one in enumerate(lock.plugins)}
        assert len(place) == count
        assert all(place[need.plugin] < place[one.name] for one in lock.plugins for need in one.needs), seed


def _reached(needs: Mapping[int, set[int]], start: int) -> set[int]:
    found: set[int] = set()
    waiting = list(needs[start])
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting += needs[one]
    return found


def _is_cycle(needs: Mapping[int, set[int]], path: list[int]) -> bool:
    return all(following in needs[one] for one, following in zip(path, [*path[1:], path[0]], strict=True))
