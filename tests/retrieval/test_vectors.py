import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from limnos.retrieval.vectors import MISSING, Vectors

D = 16


def some_rows(count: int, seed: int = 7, shift: float = 0.0) -> np.ndarray:
    return (np.random.default_rng(seed).standard_normal((count, D)) + shift).astype(np.float32)


def store(count: int, shift: float = 0.0) -> tuple[Vectors, np.ndarray]:
    vectors, rows = Vectors(D, "test-1"), some_rows(count, shift=shift)
    vectors.add(range(count), rows)
    return vectors, rows


def test_the_document_with_the_vector_asked_for_comes_first() -> None:
    vectors, rows = store(50)

    found = vectors.top(rows[17], 5)

    assert found.docs[0] == 17
    assert found.scores[0] == pytest.approx(1, abs=1e-4)
    assert list(found.scores) == sorted(found.scores, reverse=True)


def test_scores_are_the_cosines_of_what_is_left_without_the_mean() -> None:
    vectors, rows = store(200, shift=3)
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    centred = units - vectors.mean
    asked = centred[3] / np.linalg.norm(centred[3])

    expected = centred @ asked / np.linalg.norm(centred, axis=1)

    assert np.allclose(vectors.scores(rows[3], 200), expected, atol=1e-4)


def test_unrelated_texts_that_all_point_one_way_do_not_look_alike() -> None:
    vectors, rows = store(500, shift=3)
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)

    assert np.median(units @ units[0]) > 0.8
    assert abs(np.median(vectors.scores(rows[0], 500))) < 0.15


def test_a_document_without_a_vector_has_no_score() -> None:
    vectors = Vectors(D, "test-1")
    vectors.add([2, 5], some_rows(2))

    scores = vectors.scores(some_rows(1)[0], 7)

    assert list(np.flatnonzero(scores > MISSING)) == [2, 5]


def test_what_was_removed_is_in_no_answer_and_not_in_memory() -> None:
    vectors, rows = store(30)

    vectors.remove(11)
    vectors.remove(11)
    vectors.remove(4_000)

    assert 11 not in vectors
    assert vectors.row(11) is None
    assert 11 not in vectors.top(rows[11], 30).docs
    assert vectors.count == 29
    assert vectors.top(rows[29], 1).docs[0] == 29


def test_a_vector_added_again_replaces_the_first() -> None:
    vectors, rows = store(30)

    vectors.add([4], rows[[20]])

    assert vectors.count == 30
    assert set(vectors.top(rows[20], 2).docs) == {4, 20}


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_vector_with_what_is_no_number_is_refused_and_nothing_is_kept(bad: float) -> None:
    vectors, _ = store(3)
    rows = some_rows(2)
    rows[1, 3] = bad

    with pytest.raises(ValueError, match="finite"):
        vectors.add([10, 11], rows)
    with pytest.raises(ValueError, match="finite"):
        vectors.top(rows[1], 2)
    assert vectors.count == 3


def test_vectors_of_another_length_are_refused() -> None:
    vectors, _ = store(3)

    with pytest.raises(ValueError, match="shape"):
        vectors.add([10], np.zeros((1, D + 1), np.float32))
    with pytest.raises(ValueError, match="shape"):
        vectors.add([10, 11], some_rows(1))
    with pytest.raises(ValueError, match="shape"):
        vectors.top(np.zeros(D + 1, np.float32), 1)
    with pytest.raises(ValueError, match="numbered"):
        vectors.add([-1], some_rows(1))


def test_an_empty_store_and_a_store_of_one_answer() -> None:
    vectors = Vectors(D, "test-1")
    row = some_rows(1)

    assert len(vectors.top(row[0], 5).docs) == 0
    vectors.add([0], row)
    assert list(vectors.top(row[0], 5).docs) == [0]
    assert np.isfinite(vectors.scores(np.zeros(D, np.float32), 1)).all()


def test_more_rows_than_a_block_holds_are_all_found() -> None:
    count = 8192 + 50
    vectors = Vectors(D, "test-1")
    rows = some_rows(count)
    vectors.add(range(count), rows)

    for doc in (0, 8191, 8192, count - 1):
        assert vectors.top(rows[doc], 1).docs[0] == doc


@settings(max_examples=60)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 12)), max_size=60))
def test_after_any_adding_and_removing_the_answers_are_those_of_a_plain_table(
    steps: list[tuple[bool, int]],
) -> None:
    vectors, table = Vectors(D, "test-1"), {}
    for number, (adds, doc) in enumerate(steps):
        if adds:
            table[doc] = some_rows(1, seed=number)[0]
            vectors.add([doc], table[doc][None])
        else:
            table.pop(doc, None)
            vectors.remove(doc)
    vectors.recentre()

    assert vectors.count == len(table)
    assert {doc for doc in range(13) if doc in vectors} == set(table)
    units = [row / np.linalg.norm(row) for row in table.values()]
    mean = np.sum(units, axis=0) / (len(units) + 8) if units else np.zeros(D)
    assert np.allclose(vectors.mean, mean, atol=1e-5)
    for doc, row in table.items():
        assert vectors.scores(row, 13)[doc] == pytest.approx(1, abs=1e-3)
