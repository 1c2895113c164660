from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from limnos.retrieval.dates import day_marks
from limnos.retrieval.facts import Fact, Facts
from limnos.retrieval.lexicon import Lexicon
from limnos.retrieval.queries import Query, ask
from limnos.retrieval.ranking import TERMS, Ranker
from limnos.retrieval.vectors import Vectors
from limnos.retrieval.words import exact_tokens, terms

D = 8


class Said(NamedTuple):
    """One document of a test store."""

    text: str
    session: int = 0
    speaker: int = -1
    time: float = 0.0
    prior: float = 0.0


def direction(number: int) -> np.ndarray:
    """A unit vector that points along one axis."""
    return np.eye(D, dtype=np.float32)[number % D]


def ranker(said: Sequence[Said | str], axes: dict[int, int] | None = None) -> Ranker:
    """A store of these documents; `axes` gives some of them a vector."""
    lexicon, facts, vectors = Lexicon(), Facts(), Vectors(D, "test-1")
    for doc, one in enumerate(said):
        entry = Said(one) if isinstance(one, str) else one
        lexicon.add(doc, terms(entry.text), exact_tokens(entry.text))
        facts.add(doc, Fact(entry.session, doc, entry.speaker, entry.time, entry.prior))
    for doc, axis in (axes or {}).items():
        vectors.add([doc], direction(axis)[None])
    return Ranker(lexicon, vectors if axes else None, facts)


def alone(texts: Sequence[str]) -> list[Said]:
    """Each in a session of its own, so that nothing stands beside it."""
    return [Said(text, session) for session, text in enumerate(texts)]


def docs(store: Ranker, query: Query, k: int = 10) -> list[int]:
    return [hit.doc for hit in store.rank(query, k)]


def test_a_document_with_the_words_is_found_without_any_vector() -> None:
    store = ranker(alone(["the cat sat", "a dog ran", "cats and dogs ran", "nothing here"]))

    assert docs(store, ask("Where are the cats?"))[:1] == [0]
    assert set(docs(store, ask("cat"))) == {0, 2}
    assert docs(store, ask("zebra")) == []


def test_a_document_with_no_word_in_common_is_found_by_its_vector() -> None:
    store = ranker(alone(["the feline rested", "a dog ran", "rain fell"]), {0: 1, 1: 2, 2: 3})

    assert docs(store, ask("where did the cat sleep", direction(1)))[0] == 0


def test_documents_without_a_vector_are_found_by_words_among_those_that_have_one() -> None:
    store = ranker(alone(["the feline rested", "a dog ran", "a cat slept"]), {0: 1, 1: 2})

    assert set(docs(store, ask("cat", direction(1)), 2)) == {0, 2}


def test_a_rare_exact_token_stands_above_any_likeness() -> None:
    texts = [f"we talked about errors in the retry code, part {n}" for n in range(40)]
    texts[31] = "something else in src/net/retry.py"
    store = ranker(alone(texts), {n: (0 if n != 31 else 1) for n in range(40)})

    hit = store.rank(ask("errors in the retry code of src/net/retry.py", direction(0)), 3)[0]

    assert hit.doc == 31
    assert set(hit.exact) == {"src/net/retry.py", "retry.py"}
    assert not hit.uncertain
    assert docs(store, ask("src/net/retry.py", direction(0))._replace(without=frozenset({"exact"})))[0] != 31


def test_a_token_that_many_documents_hold_is_no_tier() -> None:
    texts = [f"see main.py about topic{n}" for n in range(50)]
    store = ranker(alone(texts))

    hits = store.rank(ask("topic7 main.py"), 5)

    assert hits[0].doc == 7
    assert hits[0].exact == ("topic7",)
    assert all(not hit.exact for hit in hits[1:])


def test_who_holds_more_of_the_exact_tokens_comes_first() -> None:
    store = ranker(alone(["ABC-123 failed", "ABC-123 and XYZ-9 failed", "XYZ-9 again", *["words"] * 9]))

    assert docs(store, ask("ABC-123 XYZ-9"), 1) == [1]


def test_what_stands_beside_a_good_answer_comes_before_what_stands_alone() -> None:
    said = [
        Said("did you like Paris?", 0),
        Said("yes, very much", 0),
        Said("much ado", 1),
        Said("very well", 2),
    ]
    store = ranker(said)

    found = store.rank(ask("Paris"), 4)

    assert [hit.doc for hit in found] == [0, 1]
    assert found[1].parts["neighbour"] > 0
    assert docs(store, ask("Paris")._replace(without=frozenset({"neighbour"}))) == [0]


def test_sessions_are_not_neighbours_of_each_other() -> None:
    store = ranker([Said("hello", 0), Said("about Paris", 1), Said("bye", 2)])

    assert docs(store, ask("Paris")) == [1]


def test_neighbours_close_up_around_a_removed_document() -> None:
    store = ranker([Said("about Paris", 0), Said("x1", 0), Said("x2", 0), Said("x3", 0), Said("x4", 0)])
    store.facts.remove(1)
    store.lexicon.remove(1)
    store.facts.remove(2)

    assert docs(store, ask("Paris")) == [0, 3, 4]


def test_who_was_asked_for_by_name_comes_first_and_the_name_is_no_word() -> None:
    said = [Said("Hey Caroline! lovely pottery", 0, 1), Said("I made pottery", 1, 0)]
    store = ranker(said)

    query = ask("What pottery did Caroline make?", names={"Caroline": 0, "Melanie": 1})

    assert query.speakers == {0}
    assert "carolin" not in query.words
    assert docs(store, query)[0] == 1
    assert ask("Caroline?", names={"Caroline": 0}).words


def test_the_newest_comes_first_when_that_is_asked_for_and_only_then() -> None:
    said = [Said("the door code changed", n, time=n) for n in range(5)] + [Said("a long walk", 9, time=99)]
    store = ranker(said)
    query = ask("door code")

    newest = store.rank(query._replace(sort="recent"), 3)

    assert [hit.doc for hit in newest] == [4, 3, 2]
    assert newest[0].parts["recency"] == 1
    assert all("recency" not in hit.parts for hit in store.rank(query, 3))


def test_what_was_said_on_a_day_is_found_by_the_day() -> None:
    store = ranker(alone(["we met at noon", "we met at noon", "we met at noon"]))
    for doc, day in enumerate((19484, 19485, 19514)):
        store.lexicon.add(doc, [*terms("we met at noon"), *day_marks(day * 86400.0)])

    assert docs(store, ask("when did we meet on 8 May 2023?"))[0] == 1
    assert docs(store, ask("when did we meet in June 2023?"))[0] == 2


def test_what_is_found_in_a_large_store_is_what_looking_at_every_document_finds() -> None:
    random = np.random.default_rng(3)
    said = [Said(f"word{n % 97} topic{random.integers(300)}", n // 20) for n in range(3000)]
    large = ranker(said, {doc: int(random.integers(D)) for doc in range(0, 3000, 3)})
    query = ask("word7 topic42 topic99", direction(2))

    near = large.rank(query, 10)
    every = large.rank(query, 400)

    assert [hit.doc for hit in near] == [hit.doc for hit in every[:10]]
    assert near[0].score == pytest.approx(every[0].score)


def test_the_scene_lifts_what_was_said_in_it() -> None:
    store = ranker(alone(["meet at the gate", "meet at the gate", "meet at the gate"]))

    query = ask("where do we meet")._replace(affinity=np.array([0, 0.8], np.float32))

    assert docs(store, query)[0] == 1
    assert docs(store, query._replace(without=frozenset({"scene"})))[0] == 2


def test_a_lower_prior_puts_a_document_behind_its_equals() -> None:
    store = ranker([Said("the same words", 0), Said("the same words", 1, prior=-0.5)])

    assert docs(store, ask("same words")) == [0, 1]
    store.facts.set_prior(1, 0.5)
    assert docs(store, ask("same words")) == [1, 0]


def test_only_what_may_be_found_is_found() -> None:
    store = ranker(alone(["cat one", "cat two", "cat three"]))

    query = ask("cat")._replace(among=np.array([True, False]))

    assert docs(store, query) == [0]


def test_a_hit_says_why_it_came() -> None:
    texts = ["the Flying kites of INC-4421", *[f"filler {n} of some length" for n in range(9)]]
    store = ranker(alone(texts), {0: 1, 1: 2})

    hit = store.rank(ask("flying KITES in INC-4421", direction(1)), 1)[0]

    assert hit.score == pytest.approx(sum(hit.parts.values()))
    assert {"exact", "lexical", "dense"} <= set(hit.parts) <= set(TERMS)
    assert {"flying", "KITES"} <= set(hit.words)
    assert hit.exact == ("inc-4421",)


def test_only_what_no_document_holds_is_unknown() -> None:
    store = ranker(alone(["error in app.py", "all is well"]))

    assert store.unknown(exact_tokens("what of app.py and INC-9999?")) == ("inc-9999",)
    assert store.unknown(exact_tokens("what did we say about holidays?")) == ()


def test_an_empty_store_and_an_empty_question_have_no_answers() -> None:
    assert Ranker(Lexicon(), None, Facts()).rank(ask("anything at all"), 5) == []
    assert docs(ranker(["a cat"]), ask("")) == []
    assert docs(ranker(["a cat"]), ask("cat"), 0) == []


def test_everything_left_out_still_ranks() -> None:
    store = ranker(alone(["a cat", "a dog"]), {0: 1, 1: 2})

    assert docs(store, ask("cat dog", direction(1))._replace(without=frozenset(TERMS))) == []


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.booleans(), st.integers(0, 9), st.integers(0, 2), st.integers(0, 5)), max_size=40)
)
def test_after_any_adding_and_removing_neighbours_are_those_in_order_of_place(
    steps: list[tuple[bool, int, int, int]],
) -> None:
    facts, table = Facts(), {}
    for number, (adds, doc, session, place) in enumerate(steps):
        if adds:
            facts.add(doc, Fact(session, place * 100 + number))
            table[doc] = (session, place * 100 + number)
        else:
            facts.remove(doc)
            table.pop(doc, None)

    assert facts.count == len(table)
    for session in range(3):
        row = sorted((one for one in table if table[one][0] == session), key=lambda one: table[one][1])
        for at, doc in enumerate(row):
            assert facts.before[doc] == row[max(0, at - 1)]
            assert facts.after[doc] == row[min(len(row) - 1, at + 1)]


@settings(max_examples=40)
@given(st.lists(st.text(max_size=30), min_size=1, max_size=20), st.text(max_size=60), st.integers(0, 25))
def test_any_store_answers_any_question(texts: list[str], question: str, k: int) -> None:
    store = ranker(texts, {doc: doc for doc in range(0, len(texts), 2)})

    for query in (ask(question), ask(question, direction(1)), ask(question)._replace(sort="recent")):
        hits = store.rank(query, k)
        assert len(hits) <= k
        assert len({hit.doc for hit in hits}) == len(hits)
        assert all(np.isfinite(hit.score) for hit in hits)
