"""What is found in memory, why, and what is not: through the memory of a persona and real sessions."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from limnos.memory.hits import Hit
from limnos.memory.memory import Memory, Options
from limnos.memory.search import Question
from limnos.testing.doubles import FixedClock
from tests.memory.embedders import WordEmbedder
from tests.memory.lives import Life

FILLER = [
    ("how is the weather in the harbour", "the wind comes from the north and it rains"),
    ("tell me of the copper violin", "it was built in a small town near the glacier"),
    ("what grows in the meadow", "orchids and saddle grass, and one old walnut tree"),
    ("who painted the lantern", "nobody knows, it hangs there since the flood"),
    ("is the falcon back", "it was seen over the tundra on the first day of spring"),
]


def memory_in(folder: Path, embedder: WordEmbedder | None = None) -> Memory:
    return Memory(folder, FixedClock(), Options(embedder))


def told(folder: Path, session: str, *turns: tuple[str, str], memory: Memory | None = None) -> Life:
    life = Life(folder, session, memory=memory)
    for said, answer in turns:
        life.turn(said, answer)
    return life


async def level(memory: Memory) -> None:
    """All logs read and all units embedded."""
    memory.catch_up()
    memory.embedding.start()
    await asyncio.wait_for(memory.embedding.finish(), 30)


def ask(memory: Memory, text: str, **more: object) -> Sequence[Hit]:
    async def run() -> Sequence[Hit]:
        await level(memory)
        return (await memory.search(Question(text, **more))).hits  # type: ignore[arg-type]

    return asyncio.run(run())


def test_an_exact_token_ranks_above_all_else_and_says_so(tmp_path: Path) -> None:
    told(
        tmp_path, "one", *FILLER, ("the parser parser parser broke", "we went back to version 4.2.1")
    ).close()
    told(
        tmp_path, "two", ("the parser version", "parser version parser version, all about the parser")
    ).close()
    memory = memory_in(tmp_path, WordEmbedder())

    hits = ask(memory, "which parser version was 4.2.1")

    assert "4.2.1" in hits[0].text
    assert hits[0].why.startswith("[exact]")
    assert "4.2.1" in hits[0].why.partition("matched: ")[2]
    assert hits[0].certain
    memory.close()


def test_a_paraphrase_is_found_by_its_vector_alone_and_marked_uncertain(tmp_path: Path) -> None:
    told(tmp_path, "one", *FILLER, ("my car is broken", "the automobile needs a new clutch")).close()
    memory = memory_in(tmp_path, WordEmbedder({"vehicle": "car", "fault": "broken"}))

    hits = ask(memory, "vehicle fault", k=1)

    assert hits[0].text == "my car is broken"
    assert "[dense]" in hits[0].why
    assert "[lexical]" not in hits[0].why
    assert not hits[0].certain
    memory.close()


def test_without_an_embedder_words_still_find(tmp_path: Path) -> None:
    told(tmp_path, "one", *FILLER, ("会议在哪里", "会议在三楼的数据库房间")).close()
    memory = memory_in(tmp_path)

    hits = ask(memory, "数据库 房间")

    assert "数据库" in hits[0].text
    assert hits[0].why.startswith("[lexical]")
    memory.close()


def test_only_an_exact_token_that_occurs_nowhere_is_said_to_be_missing(tmp_path: Path) -> None:
    told(tmp_path, "one", *FILLER, ("fix src/limnos/parser.py", "done in 4.2.1")).close()
    memory = memory_in(tmp_path)
    memory.catch_up()

    async def missing(text: str) -> tuple[str, ...]:
        return (await memory.search(Question(text))).missing

    assert asyncio.run(missing("what of src/limnos/lexer.py in 4.2.1")) != ()
    assert "4.2.1" not in asyncio.run(missing("what of src/limnos/lexer.py in 4.2.1"))
    assert asyncio.run(missing("the unheard melody of quinces")) == ()
    memory.close()


def test_searching_moves_nothing_and_counts_who_was_found(tmp_path: Path) -> None:
    life = told(tmp_path, "one", *FILLER, memory=(memory := memory_in(tmp_path)))
    life.sink([unit.id for unit in life.conversation.units[:4]])
    memory.flush("one")
    before = memory.database.read(lambda c: c.execute("SELECT seq, holder FROM units").fetchall())

    hits = ask(memory, "the copper violin", session="one", k=1)

    after = memory.database.read(lambda c: c.execute("SELECT seq, holder FROM units").fetchall())
    assert after == before
    counted = "SELECT seq, accesses FROM units WHERE accesses > 0"
    memory.searcher.keep()
    assert memory.database.read(lambda c: c.execute(counted).fetchall()) == [(int(hits[0].unit[1:]), 1)]
    life.close()
    memory.close()


def test_what_stands_in_the_window_is_not_found_in_the_cold_scope(tmp_path: Path) -> None:
    memory = memory_in(tmp_path)
    life = told(tmp_path, "one", ("the parser 4.2.1", "yes"), *FILLER, ("again 4.2.1", "no"), memory=memory)
    first = life.conversation.units[0].id
    life.sink([first])

    cold = ask(memory, "4.2.1", session="one")
    every = ask(memory, "4.2.1", session="one", scope="all")
    elsewhere = ask(memory, "4.2.1", session="another", without=["one" + first])

    assert [hit.unit for hit in cold if "exact" in hit.terms] == [first]
    assert len([hit for hit in every if "exact" in hit.terms]) == 2
    assert [hit.unit.partition("#")[0] for hit in elsewhere if "exact" in hit.terms] == ["one"]
    life.close()
    memory.close()


def test_time_kind_and_order_can_be_asked_for(tmp_path: Path) -> None:
    clock = FixedClock()
    life = Life(tmp_path, "one", clock=clock)
    for day in range(4):
        life.turn(f"the budget of day {day}", f"the budget is {day} thousand")
        clock.move(86_400)
    life.close()
    memory = memory_in(tmp_path)

    recent = ask(memory, "the budget", sort="recent", kind="said")
    bounded = ask(memory, "the budget", since="2026-03-15T12:00:00Z", until="2026-03-16T23:00:00Z")

    assert [hit.text for hit in recent] == [f"the budget of day {day}" for day in (3, 2, 1, 0)]
    assert {hit.time[:10] for hit in bounded} == {"2026-03-15", "2026-03-16"} & {
        hit.time[:10] for hit in bounded
    }
    assert bounded
    memory.close()


def test_automatic_recall_gives_good_ones_only_and_none_twice(tmp_path: Path) -> None:
    told(tmp_path, "old", *FILLER, ("the key of the shed", "it hangs behind the walnut door")).close()
    told(tmp_path, "fork", *FILLER, ("the key of the shed", "it hangs behind the walnut door")).close()
    memory = memory_in(tmp_path, WordEmbedder())

    async def recollect(query: str, without: Sequence[str] = ()) -> Sequence[Hit]:
        await level(memory)
        return await memory.recollection("new").recollect(query, k=3, without=without)

    found = asyncio.run(recollect("where is the key of the shed"))
    nothing = asyncio.run(recollect("quantum chromodynamics lecture notes"))
    less = asyncio.run(recollect("where is the key of the shed", [hit.unit for hit in found]))

    assert "key of the shed" in found[0].text
    assert len({hit.text for hit in found}) == len(found)
    assert nothing == []
    assert not {hit.unit for hit in less} & {hit.unit for hit in found}
    memory.close()


def test_an_embedder_that_is_not_ready_is_not_waited_for_long(tmp_path: Path) -> None:
    embedder = WordEmbedder()
    told(tmp_path, "old", *FILLER, ("the key of the shed", "behind the walnut door 4.2.1")).close()
    memory = memory_in(tmp_path, embedder)
    memory.catch_up()

    async def run() -> tuple[Sequence[Hit], str]:
        embedder.broken = True
        hits = await memory.recollection("new").recollect("key of the shed 4.2.1", k=3, without=())
        answer = await memory.search(Question("key of the shed"))
        return hits, answer.note

    hits, note = asyncio.run(run())

    assert "4.2.1" in hits[0].text
    assert "only words were compared" in note
    memory.close()


def test_vectors_of_another_embedder_are_made_again_and_a_damaged_one_too(tmp_path: Path) -> None:
    told(tmp_path, "old", *FILLER).close()
    first = memory_in(tmp_path, WordEmbedder())
    asyncio.run(level(first))
    first.close()
    embedder = WordEmbedder(name="words-2", dimensions=32)
    memory = memory_in(tmp_path, embedder)
    asyncio.run(level(memory))
    ask_all = "SELECT fingerprint, length(row) FROM vectors"
    rows = memory.database.read(lambda c: c.execute(ask_all).fetchall())
    assert rows == [("words-2", 64)] * 10

    bad = b"\x00\x7c" * 32
    memory.database.write(lambda c: c.execute("UPDATE vectors SET row = ? WHERE rowid = 3", (bad,)))
    assert [finding.fix for finding in memory.verify()] == ["it is made again at its next use"]
    memory.close()
    memory = memory_in(tmp_path, embedder)
    ask(memory, "the copper violin")
    asyncio.run(level(memory))

    assert memory.verify() == []
    memory.close()


def test_what_memory_gave_is_never_looked_for_again(tmp_path: Path) -> None:
    embedder = WordEmbedder()
    memory = memory_in(tmp_path, embedder)
    told(tmp_path, "first", *FILLER, ("the secret ingredient", "it is a pinch of zanthoxylum")).close()
    memory.catch_up()

    for number in range(50):
        life = Life(tmp_path, f"s{number}", memory=memory)
        life.begin(f"question {number}")
        life.step("", ("memory_search", {"text": "zanthoxylum"}, "first#29: it is a pinch of zanthoxylum"))
        life.step("", ("cold_query", {"text": "zanthoxylum"}, "first#29: it is a pinch of zanthoxylum"))
        life.end(f"answer {number}")
        life.close()

    hits = ask(memory, "zanthoxylum", k=100)

    assert [hit.unit.partition("#")[0] for hit in hits if "exact" in hit.terms or "lexical" in hit.terms] == [
        "first"
    ]
    assert len([text for text in embedder.embedded if "zanthoxylum" in text]) == 1
    memory.close()


def test_a_search_in_a_second_process_sees_what_the_first_wrote(tmp_path: Path) -> None:
    one, two = memory_in(tmp_path), memory_in(tmp_path)
    told(tmp_path, "first", *FILLER).close()
    one.catch_up()
    assert ask(two, "walnut tree", k=1)[0].unit.startswith("first#")

    told(tmp_path, "second", ("new thing", "the zanthoxylum is in the cupboard")).close()
    one.catch_up()
    assert ask(two, "zanthoxylum", k=1)[0].unit.startswith("second#")

    one.rebuild()
    assert ask(two, "zanthoxylum", k=1)[0].unit.startswith("second#")
    one.close()
    two.close()


def test_words_that_were_stored_answer_as_those_that_were_read(tmp_path: Path) -> None:
    life = Life(tmp_path, "one", seed=5)
    for _ in range(120):
        life.random_turn()
    life.close()
    memory = memory_in(tmp_path)
    fresh = ask(memory, "parser glacier 会话", k=20)
    memory.close()
    kept = memory_in(tmp_path)
    assert kept.database.read(lambda c: c.execute("SELECT count(*) FROM words").fetchall()) != [(0,)]

    assert ask(kept, "parser glacier 会话", k=20) == fresh
    kept.close()


def test_units_of_the_window_are_weighed_against_a_question(tmp_path: Path) -> None:
    memory = memory_in(tmp_path, WordEmbedder())
    life = told(tmp_path, "one", *FILLER, memory=memory)

    async def weigh() -> list[float]:
        scores = await memory.relevance("one").scores("the orchids of the meadow", life.conversation.units)
        return [scored.score for scored in scores]

    scores = asyncio.run(weigh())

    assert len(scores) == len(life.conversation.units)
    best = scores.index(max(scores))
    assert life.conversation.units[best].seq in {unit.seq for unit in life.conversation.units[4:6]}
    assert max(scores) == 1.0
    life.close()
    memory.close()


def test_the_rare_values_of_what_has_sunk_are_named(tmp_path: Path) -> None:
    memory = memory_in(tmp_path)
    life = Life(tmp_path, "one", memory=memory)
    life.begin("book flight HAT-4471 please")
    life.step("I look", ("fetch", {"url": "x"}, "order id ORD-77123"), origin="web:x", trust="untrusted")
    life.end("done")
    life.begin("next")
    life.sink([unit.id for unit in life.conversation.units[:2]])
    memory.flush("one")

    found = {one.token: one for one in memory.identifiers("one").identifiers(50)}

    assert [one.said for token, one in found.items() if "4471" in token] == [True]
    assert [(one.said, one.trust) for token, one in found.items() if "77123" in token] == [
        (False, "untrusted")
    ]
    life.close()
    memory.close()


@pytest.mark.parametrize("text", ["", "\x00", "\ud800 lone", "x" * 2_000_000, "的" * 100_000, "/ - ."])
def test_any_text_can_be_asked_for(tmp_path: Path, text: str) -> None:
    told(tmp_path, "one", *FILLER, (text or "nothing", "yes")).close()
    memory = memory_in(tmp_path, WordEmbedder())

    ask(memory, text)

    assert memory.verify() == []
    memory.close()
