import json

import pytest

from limnos.kernel.errors import ContextOverflowError, ModelRequestError
from limnos.providers.refusals import is_overflow, overflow_limit, status_error
from limnos.providers.routes import Route, Secret

ROUTE = Route("r", "http://h", "m")


def openai(message: str, **fields: object) -> bytes:
    return json.dumps({"error": {"message": message, **fields}}).encode()


def flat(message: str, **fields: object) -> bytes:
    """The form of vLLM and Mistral."""
    return json.dumps({"object": "error", "message": message, **fields}).encode()


def bare(message: str) -> bytes:
    """The form of Ollama, LM Studio and xAI."""
    return json.dumps({"error": message}).encode()


OVERFLOWS: dict[str, tuple[int, bytes, int | None]] = {
    "openai": (
        400,
        openai("This model's maximum context length is 128000 tokens. However, you asked"),
        128000,
    ),
    "openai by code": (400, openai("Your input exceeds", code="context_length_exceeded"), None),
    "vllm": (
        400,
        flat(
            "'max_tokens' or 'max_completion_tokens' is too large: 1024. This model's maximum context "
            "length is 4096 tokens and your request has 3500 input tokens"
        ),
        4096,
    ),
    "sglang": (
        400,
        openai("The input (5000 tokens) is longer than the model's context length (4096)."),
        4096,
    ),
    "llama.cpp": (
        400,
        openai(
            "the request exceeds the available context size", type="exceed_context_size_error", n_ctx=8192
        ),
        8192,
    ),
    "llama.cpp, older": (
        500,
        openai("request (9000 tokens) exceeds the available context size (8192 tokens)"),
        8192,
    ),
    "ollama": (400, bare("the input length exceeds the context length"), None),
    "lm studio": (
        400,
        bare(
            "Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded "
            "with context length of only 4096 tokens"
        ),
        4096,
    ),
    "tgi": (422, bare("`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs`"), 4096),
    "anthropic": (400, openai("prompt is too long: 210000 tokens > 200000 maximum"), 200000),
    "gemini": (
        400,
        openai("The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."),
        1048576,
    ),
    "mistral": (
        400,
        flat("Prompt contains 40000 tokens, too large for model with 32768 maximum context length"),
        32768,
    ),
    "xai": (
        400,
        bare("This model's maximum prompt length is 131072 but the request contains 537812"),
        131072,
    ),
    "moonshot": (400, openai("Invalid request: Your request exceeded model token limit: 131072"), 131072),
    "dashscope": (400, openai("Range of input length should be [1, 30720]"), 30720),
    "thousands": (400, openai("This model's maximum context length is 128,000 tokens."), 128000),
    "payload": (413, b"Request Entity Too Large", None),
}


@pytest.mark.parametrize("vendor", OVERFLOWS)
def test_every_vendor_s_overflow_is_one_and_its_limit_is_found(vendor: str) -> None:
    status, body, limit = OVERFLOWS[vendor]
    error = status_error(ROUTE, status, body)
    assert isinstance(error, ContextOverflowError)
    assert error.limit == limit
    assert "context_tokens" in error.fix


@pytest.mark.parametrize(
    "message",
    [
        "max_tokens is too large: 100000. This model supports at most 16384 completion tokens",
        "Unsupported parameter: 'stream_options'",
        "Invalid schema for function 'read'",
        "The image is too large",
        "messages[3].content must not be empty",
    ],
)
def test_another_fault_of_the_request_is_no_overflow(message: str) -> None:
    assert type(status_error(ROUTE, 400, openai(message))) is ModelRequestError


def test_a_rate_limit_that_speaks_of_tokens_is_no_overflow() -> None:
    assert not is_overflow(429, openai("too many tokens: maximum context length"))


def test_a_limit_that_is_absurd_is_none() -> None:
    assert overflow_limit(b"maximum context length is 99999999999999999999 tokens") is None
    assert overflow_limit(b"maximum context length is 0 tokens") is None


@pytest.mark.parametrize(
    ("key", "fix"),
    [
        (Secret(), "limnos secrets set r, then limnos config set providers.r.api_key secret:r"),
        (Secret("sk-0123456789", "secret own"), "limnos secrets set own"),
        (Secret("sk-0123456789", "R_API_KEY"), "export R_API_KEY=... with a valid key"),
    ],
)
def test_a_refused_key_is_mended_where_it_lies(key: Secret, fix: str) -> None:
    refused = status_error(Route("r", "http://h", "m", api_key=key), 401, openai("no such key"))
    assert refused.fix == fix
