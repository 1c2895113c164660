import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limnos.retrieval import tokens


@pytest.fixture(autouse=True)
def _loaded() -> None:
    tokens.encoder()


def test_known_texts_have_their_known_counts() -> None:
    assert tokens.count("") == 0
    assert tokens.count("hello world") == 2
    assert tokens.count("hello world " * 500) == 1001
    assert 1 <= tokens.count("杭州") <= 4


def test_special_tokens_are_plain_text() -> None:
    assert tokens.count("<|endoftext|>") > 1


def test_lone_surrogates_are_counted_and_not_refused() -> None:
    assert tokens.count("a\ud83db") >= 2


@given(st.text(st.characters()))
def test_any_text_has_a_count_no_larger_than_its_bytes(text: str) -> None:
    assert 0 <= tokens.count(text) <= len(text.encode("utf-8", "surrogatepass"))


def test_the_encoder_is_loaded_once() -> None:
    assert tokens.encoder() is tokens.encoder()


def test_a_fresh_process_estimates_on_the_high_side_and_loads_only_when_it_has_much_to_count() -> None:
    program = """
import threading
from limnos.retrieval import tokens
few = [tokens.count("The lake is warm on top.")]
threads = threading.active_count()
while threading.active_count() == threads:
    tokens.count("The lake is warm on top. " * 100)
tokens.encoder()
few.append(tokens.count("The lake is warm on top."))
print(threads, few[0] >= few[1] > 0)
"""

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )

    assert done.stdout.split() == ["1", "True"]
