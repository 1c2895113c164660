"""What looks like a key is not said again, and what does not is."""

import base64
import random
import subprocess
import sys

import pytest

from limnos.frontends.cli.private import HIDDEN, may_be_key, refuse_key, without_keys
from limnos.kernel.errors import UsageError

LONG = "Zm9vYmFyMTIzNDU2Nzg5MGFi"
PROJECT = "sk-proj-" + "aB3" * 20
KEYS = [
    "sk-abc",
    "--sk-abc",
    PROJECT,
    f"Bearer {PROJECT}",
    "my key is sk-abcdefgh12345678 please",
    "key:sk-abcdefgh",
    'x="sk-abcdefgh"',
    "'sk-abcdefgh'",
    f"x/{PROJECT}",
    f"{PROJECT}:rest",
    f"providers.own.{LONG}",
    "gsk_x8Kq2mWd",
    "AIzaSyA3kdT9",
    "AKIAIOSFODNN7EXAMPLE",
    "AQ.Ab8RN6LcdefghIJKL",
    "tvly-dev-AbCdEfGhIjKlMnOp",
    "xoxb-1234567890-AbCdEfGh",
    "hf_" + "QwErTyUiOpAsDfGh",
    "eyJhbGciOi.eyJz.sig",
    "123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw",
    "wJalrXUtnFEMI7K7MDENG0bPxRfiCY",
    "550e8400-e29b-41d4-a716-4466f544a0b0",
    "JBSWY3DPEHPK3PXPJBSWY3DP",
    LONG,
]
HARMLESS = [
    "steps",
    "--explain",
    "--fallback-model",
    "qwen2.5-coder-1.5b",
    "providers.my-server-2.base_url",
    "s7k2m4",
    "hf_token",
    "hf_spaces_token2",
    "azure-openai-gpt4-eastus2",
    "ANTHROPIC_PRODUCTION_KEY2",
    "Qwen3-Coder-30B-A3B-Instruct",
    "TheBloke/Mixtral-8x7B-Instruct-v0.1-GPTQ",
    "bartowski/DeepSeek-R1-Distill-Qwen-32B-GGUF:Q4_K_M",
    "claude-sonnet-4-5-20250929",
    "ft:gpt-4o-mini-2024-07-18:org::A1b2C3d4",
    "/a/b/some1folder/session-file",
    "/home/user1/projects/demo/session",
    "sessions/2026/11/20261130T174729-sn0xka.jsonl",
    "/tmp/pytest-of-user/pytest-12/test_a_key_is_hidden_in_3_places0/script.json",
    "aVeryLongFolderNameForProject2",
    "Which file here is the largest, and why did build 20261130 fail?",
]


@pytest.mark.parametrize("word", KEYS)
def test_a_key_is_known_by_its_beginning_or_its_disorder_wherever_it_stands(word: str) -> None:
    assert may_be_key(word)


@pytest.mark.parametrize("word", HARMLESS)
def test_names_paths_and_sentences_are_no_keys(word: str) -> None:
    assert not may_be_key(word)
    assert without_keys(word, [word]) == word


def test_random_keys_of_services_that_nobody_knows_are_hardly_ever_missed() -> None:
    chance = random.Random(7)
    drawn = [chance.randbytes(32) for _ in range(1000)]
    keys = [*(key.hex() for key in drawn), *(base64.urlsafe_b64encode(key).decode() for key in drawn)]
    assert sum(map(may_be_key, keys)) >= 1990


def test_a_key_is_taken_out_of_a_text_wherever_it_stood_in_the_words() -> None:
    said = f"no setting is called providers.own.{LONG}; sk-abc, sk-abc-longer"
    assert without_keys(said, [f"providers.own.{LONG}", "sk-abc", "--key=sk-abc-longer"]) == (
        f"no setting is called providers.own.{HIDDEN}; {HIDDEN}, {HIDDEN}"
    )


@pytest.mark.parametrize("word", KEYS)
def test_a_key_for_the_name_of_a_model_is_refused_without_being_said(word: str) -> None:
    with pytest.raises(UsageError) as refused:
        refuse_key("--model", word)
    assert "--model looks like a key" in refused.value.what
    assert word not in refused.value.what + refused.value.fix


def test_looking_for_keys_does_not_load_the_scanner() -> None:
    script = "import sys, limnos.frontends.cli.main; print('limnos.sdk.scan' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=30, check=True
    )

    assert done.stdout == "False\n"
