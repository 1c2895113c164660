"""What a provider says about the tokens of a request, compared with our own count."""

# Encodings differ: the same text has up to 40 % fewer tokens in another one (Chinese, code).
_LEAST_SHARE = 0.6
_LEAST_MISSING = 500


def truncated_prompt(expected: int, reported: int) -> bool:
    """Whether the server seems to have cut the prompt silently, as local ones do beyond `num_ctx`.

    `expected` is our own count, `reported` the provider's; 0 means that it reported nothing.
    """
    missing = expected - reported
    return 0 < reported < expected * _LEAST_SHARE and missing >= _LEAST_MISSING
