"""A route: one model behind one address, with everything that is special about it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias
from urllib.parse import urlsplit, urlunsplit

from limnos.kernel.errors import SettingsError
from limnos.providers.secret import Secret as Secret

ReasoningPolicy: TypeAlias = Literal["keep", "pad", "drop"]

_VERSIONED = re.compile(r"/v\d+$")
_ENDPOINT = "/chat/completions"


@dataclass(frozen=True, slots=True)
class Route:
    """How one model behind one address is asked; most names are those of `[providers.NAME]`.

    `reasoning`: `keep` sends reasoning back where there was some, `pad` on every assistant turn (empty
    where there was none), `drop` never. `reasoning_field` is the field it stands in. `extra` goes into
    every request body.
    """

    name: str
    base_url: str
    model: str
    api_key: Secret = field(default_factory=Secret)
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    context_tokens: int = 32_768
    timeout_s: float = 240.0
    connect_timeout_s: float = 10.0
    max_tokens_field: str = "max_tokens"
    reasoning: ReasoningPolicy = "drop"
    reasoning_field: str = "reasoning_content"
    sees_images: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        endpoint(self.base_url, self.name)

    @property
    def url(self) -> str:
        """Where requests go."""
        return endpoint(self.base_url, self.name)

    @property
    def models_url(self) -> str:
        """Where the server lists its models."""
        return self.url.replace(_ENDPOINT, "/models", 1)


def endpoint(base_url: str, name: str = "the route") -> str:
    """The address of chat completions below `base_url`.

    A base that ends in `/v` and digits is taken as it is, otherwise `/v1` is put in; one that is the
    endpoint already stays, which also serves servers with another path. A query is kept. Raises
    SettingsError for what is no http or https URL.
    """
    fix = f"set base_url of {name} to something like http://127.0.0.1:11434/v1"
    try:
        parts = urlsplit(base_url.strip())
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable, parts = False, urlsplit("")
    if not usable or re.search(r"[\x00-\x20\x7f]", base_url.strip()):
        raise SettingsError(f"base_url of {name} is no http or https URL", fix)
    path = parts.path.rstrip("/")
    if not path.endswith(_ENDPOINT):
        path = (path if _VERSIONED.search(path) else path + "/v1") + _ENDPOINT
    return urlunsplit((parts.scheme, parts.netloc, path, parts.query, ""))
