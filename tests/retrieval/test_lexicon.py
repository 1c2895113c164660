import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from limnos.retrieval.lexicon import K1, B, Lexicon

WORDS = [f"w{number}" for number in range(12)]


def bm25(table: dict[int, list[str]], query: list[str], doc: int) -> float:
    """The formula, term by term."""
    mean = max(1, sum(map(len, table.values())) / len(table))
    total = 0.0
    for term in dict.fromkeys(query):
        holders = sum(term in words for words in table.values())
        times = table[doc].count(term)
        idf = math.log(1 + (len(table) - holders + 0.5) / (holders + 0.5))
        total += idf * times * (K1 + 1) / (times + K1 * (1 - B + B * len(table[doc]) / mean))
    return total


def filled(table: dict[int, list[str]]) -> Lexicon:
    lexicon = Lexicon()
    for doc, words in table.items():
        lexicon.add(doc, words)
    return lexicon


def random_table(count: int, seed: int = 5) -> dict[int, list[str]]:
    random = np.random.default_rng(seed)
    return {doc: [f"w{n}" for n in random.zipf(1.3, 20) if n < 500] for doc in range(count)}


def test_the_document_with_the_rarer_word_comes_first() -> None:
    lexicon = filled({0: ["cat", "sat"], 1: ["cat", "ran"], 2: ["dog", "ran"], 3: ["cat", "zebra"]})

    found = lexicon.score(["cat", "zebra"], 10)

    assert list(found.docs[:1]) == [3]
    assert set(found.docs) == {0, 1, 3}
    assert len(lexicon.score(["cat"], 2).docs) == 2


def test_scores_are_those_of_the_formula_across_segments_and_head() -> None:
    table = random_table(700)
    lexicon = filled(table)
    query = ["w1", "w2", "w7", "w40", "w41", "w399", "never"]

    scores = lexicon.scores(query)

    assert scores.shape == (700,)
    for doc in (0, 1, 127, 128, 300, 699):
        assert scores[doc] == pytest.approx(bm25(table, query, doc), rel=1e-4, abs=1e-5)


def test_a_weight_of_a_word_is_a_factor_of_its_share() -> None:
    lexicon = filled(random_table(50))

    halves = lexicon.scores(["w1", "w2"], [0.5, 0.0])

    assert np.allclose(halves, lexicon.scores(["w1"]) / 2)


def test_holders_of_an_exact_token_are_all_and_only_those() -> None:
    lexicon = Lexicon()
    for doc in range(1000):
        lexicon.add(doc, ["word"], [f"file{doc % 10}.py", "common.py"])

    assert list(lexicon.holders("file3.py")) == list(range(3, 1000, 10))
    assert len(lexicon.holders("common.py")) == 1000
    assert len(lexicon.holders("word")) == 0
    assert len(lexicon.holders("file99.py")) == 0
    assert lexicon.frequency("word") == 1000
    assert lexicon.frequency("file3.py") == 0


def test_a_removed_document_is_in_no_answer_and_in_no_dump() -> None:
    lexicon = Lexicon()
    for doc in range(300):
        lexicon.add(doc, ["word", f"own{doc}"], [f"id-{doc}"])

    for doc in (5, 299, 299, 10_000):
        lexicon.remove(doc)

    assert lexicon.count == 298
    assert 5 not in lexicon
    assert not len(lexicon.holders("id-5"))
    assert not len(lexicon.score(["own5"], 3).docs)
    restored = Lexicon()
    restored.load(lexicon.dump().values())
    assert restored.frequency("own5") == restored.frequency("own299") == 0
    assert restored.frequency("word") == 298


def test_a_document_added_again_has_only_its_new_words() -> None:
    lexicon = filled(random_table(300))

    lexicon.add(7, ["fresh"], ["new-1"])
    lexicon.remove(8)
    lexicon.add(8, ["fresh"])

    assert set(lexicon.score(["fresh"], 9).docs) == {7, 8}
    assert lexicon.scores([f"w{n}" for n in range(500)])[7] == 0
    assert lexicon.count == 300


def test_what_was_dumped_answers_the_same_after_loading() -> None:
    lexicon = filled(random_table(900))
    lexicon.add(900, ["w3"], ["a.py"])
    query = ["w1", "w9", "w33"]

    restored = Lexicon()
    restored.load(lexicon.dump().values())

    assert np.array_equal(restored.scores(query), lexicon.scores(query))
    assert list(restored.holders("a.py")) == [900]
    assert (restored.count, restored.limit) == (901, 901)
    assert set(restored.names) == set(lexicon.names)


def test_only_new_segments_are_dumped_again() -> None:
    lexicon = filled(random_table(1000))
    stored = lexicon.dump()
    lexicon.add(1000, ["w1"])

    fresh = lexicon.dump(stored)

    assert len(fresh) == 1
    assert len(next(iter(fresh.values()))) < 1000
    kept = {name: data for name, data in {**stored, **fresh}.items() if name in lexicon.names}
    restored = Lexicon()
    restored.load(kept.values())
    assert restored.count == 1001


def test_a_turn_that_adds_a_document_does_not_write_the_index_anew() -> None:
    lexicon, stored, written = Lexicon(), {}, 0
    table = random_table(1500)
    for doc, words in table.items():
        lexicon.add(doc, words)
        fresh = lexicon.dump(stored)
        written += sum(map(len, fresh.values()))
        stored = {name: data for name, data in {**stored, **fresh}.items() if name in lexicon.names}

    whole = sum(map(len, stored.values()))
    assert len(stored) <= 12
    assert written < 40 * whole


@pytest.mark.parametrize("harm", ["cut", "magic", "longer", "empty", "doc"])
def test_bytes_that_are_no_segment_are_refused(harm: str) -> None:
    data = next(iter(filled({0: ["a"], 1: ["b"]}).dump().values()))
    broken = {
        "cut": data[:-3],
        "magic": b"x" + data[1:],
        "longer": data + b"\0",
        "empty": b"",
        "doc": data[:56] + b"\xff\xff\xff\xff" + data[60:],
    }[harm]

    with pytest.raises(ValueError, match="segment"):
        Lexicon().load([broken])


def test_a_document_in_two_segments_is_refused() -> None:
    data = next(iter(filled({0: ["a"]}).dump().values()))
    other = next(iter(filled({0: ["b"]}).dump().values()))

    with pytest.raises(ValueError, match="two segments"):
        Lexicon().load([data, other])


def test_a_number_out_of_range_is_refused() -> None:
    for doc in (-1, 1 << 40):
        with pytest.raises(ValueError, match="numbered"):
            Lexicon().add(doc, ["a"])


def test_words_that_are_no_utf_8_can_be_looked_up() -> None:
    lexicon = filled({0: ["a\ud800b"]})

    assert list(lexicon.score(["a\ud800b"], 1).docs) == [0]


@settings(max_examples=80)
@given(
    st.lists(
        st.tuples(st.integers(0, 20), st.none() | st.lists(st.sampled_from(WORDS), max_size=6)), max_size=40
    ),
    st.lists(st.integers(0, 39), max_size=4),
)
def test_after_any_adding_and_removing_the_scores_are_those_of_a_plain_table(
    steps: list[tuple[int, list[str] | None]], dumps: list[int]
) -> None:
    lexicon, table = Lexicon(), {}
    for number, (doc, words) in enumerate(steps):
        if words is None:
            table.pop(doc, None)
            lexicon.remove(doc)
        else:
            table[doc] = words
            lexicon.add(doc, words, words)
        if number in dumps:
            restored = Lexicon()
            restored.load(lexicon.dump().values())
            lexicon = restored

    lexicon.dump()
    scores = lexicon.scores(WORDS)
    assert lexicon.count == len(table)
    for doc in range(len(scores)):
        expected = bm25(table, WORDS, doc) if doc in table else 0
        assert scores[doc] == pytest.approx(expected, rel=1e-4, abs=1e-5)
    for word in WORDS:
        assert list(lexicon.holders(word)) == sorted(doc for doc, words in table.items() if word in words)
