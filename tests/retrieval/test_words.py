import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from limnos.retrieval.words import exact_tokens, terms

ANY_TEXT = st.text(st.characters(), max_size=400)
HOSTILE = [
    "\ud800" * 1_000_000,
    "x" * 2_000_000,
    "a1/" * 700_000,
    "我" * 700_000,
    "\ufdfa" * 2_000_000,
    "a.b" * 700_000,
    "1," * 1_000_000,
    "https://" * 250_000,
    "a:1" * 700_000,
    "C:\\" * 700_000,
    "\x00" * 2_000_000,
]


def test_forms_of_a_word_are_one_term() -> None:
    assert terms("Flying kites, she FLIES a kite") == terms("flies kite fly KITES")


def test_chinese_is_cut_into_words_and_longer_words_also_count_by_their_parts() -> None:
    assert {"数据库", "数据"} <= set(terms("请问数据库的设计在哪里"))
    assert "的" not in terms("请问数据库的设计在哪里")


def test_full_width_letters_are_letters() -> None:
    assert terms("ＡＢＣ") == terms("abc")
    assert exact_tokens("编号ＡＢ１２３４") == ["ab1234"]


def test_a_name_in_camel_case_is_found_whole_and_by_its_parts() -> None:
    assert set(terms("getUserName")) == {*terms("getusername"), *terms("get user name")}


def test_stop_words_are_no_terms() -> None:
    assert terms("What is it that they were doing with us?") == []


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Python v3.11.2 and 3.12", ["3.11.2", "3.12"]),
        ("see https://www.Example.com/a/b?x=1.", ["example.com/a/b?x=1", "example.com"]),
        ("in src/net/retry.py:42,", ["src/net/retry.py", "retry.py"]),
        ("C:\\Users\\bob\\a.txt", ["c:/users/bob/a.txt", "a.txt"]),
        ("write to bob.smith@acme.co.uk!", ["bob.smith@acme.co.uk"]),
        ("1,234,567 or 12345", ["1234567", "12345"]),
        ("at 192.168.0.1:8080 or localhost:3000", ["192.168.0.1:8080", "192.168.0.1", "localhost:3000"]),
        ("getUserName, foo_bar() and os.path.join", ["getusername", "foo_bar", "os.path.join"]),
        ("__init__", ["__init__"]),
        ("INC-4421 with --no-verify", ["inc-4421", "--no-verify"]),
        ("commit 9f86d08 in issue #17", ["9f86d08", "#17"]),
        ("call +1 555-123-4567", ["5551234567"]),
        ("版本v1.2.3在/home/a/b.txt文件里", ["1.2.3", "/home/a/b.txt", "b.txt"]),
        ("the .env file in ~/code/app", [".env", "~/code/app"]),
    ],
)  # fmt: skip
def test_what_names_one_thing_only_is_an_exact_token(text: str, tokens: list[str]) -> None:
    assert exact_tokens(text) == tokens


@pytest.mark.parametrize(
    "text",
    [
        "in 2023, on 2023-05-08, 5/10/2023 or 20230508, at 12:30 or 10am",
        "mid-2023, the 1990s, 2022-2023, 8.5.2023",
        "the 20th of 90 people, 24/7, 5km, 24-year-old, and/or, his/her",
        "plain words, e.g. in the U.S., at 9 a.m.",
        "well-known state-of-the-art things... and so on",
    ],
)
def test_dates_amounts_and_plain_words_are_no_exact_tokens(text: str) -> None:
    assert exact_tokens(text) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("V1.2.3", "1.2.3"),
        ("SRC/Net/Retry.py", "src\\net\\retry.py"),
        ("10,000", "10000"),
        ("`Foo_Bar`", "foo_bar"),
    ],
)
def test_two_spellings_of_a_token_meet(one: str, other: str) -> None:
    assert exact_tokens(one)
    assert exact_tokens(one) == exact_tokens(other)


@settings(deadline=None)
@given(ANY_TEXT)
def test_any_text_has_terms_and_tokens(text: str) -> None:
    for found in (terms(text), exact_tokens(text)):
        assert all(isinstance(one, str) and one for one in found)
    assert len(set(exact_tokens(text))) == len(exact_tokens(text))


@settings(deadline=None)
@given(ANY_TEXT, ANY_TEXT)
def test_words_on_two_lines_are_those_of_each_line(one: str, other: str) -> None:
    assert terms(f"{one}\n{other}") == terms(one) + terms(other)


@settings(deadline=None)
@given(st.lists(st.sampled_from(["a_b", "v1.2", "x/y.py", "INC-99", "plain"]), max_size=8))
def test_a_token_is_found_again_in_every_text_that_holds_it(pieces: list[str]) -> None:
    held = set(exact_tokens(" ".join(pieces)))

    assert all(set(exact_tokens(piece)) <= held for piece in pieces)


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: ascii(text[:8]))
def test_megabytes_of_anything_take_bounded_work(text: str) -> None:
    began = time.process_time()

    assert len(terms(text)) <= 20_000
    assert len(exact_tokens(text)) <= 20_000
    assert time.process_time() - began < 5
