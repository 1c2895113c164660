"""How secrets look: what the keys of services begin with, where a value stands, and what is no secret.

Light to import: the command line reads its words with a part of this.
"""

import re
from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

from limnos.sdk.expression import Expression


class Shape(NamedTuple):
    """A kind of secret and where it stands: the group `secret` of the expression, else the whole match.

    `random`: the match counts only when its characters are in disorder; words joined by hyphens are not.
    `hints`: a text that holds none of them has no match; to look for them is a hundred times quicker.
    """

    kind: str
    expression: Expression
    random: bool = False
    hints: tuple[str, ...] = ()


def _shape(kind: str, expression: str, *hints: str, random: bool = False) -> Shape:
    return Shape(kind, Expression(expression), random, hints)


_IN = r"(?<![A-Za-z0-9])"  # not in the middle of a word
_WORD = r"(?<![A-Za-z0-9_-])"
_PRIVATE = r"[A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?"
_URL = r"[A-Za-z0-9._~%/=-]"

_SLACK = r"https://hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/"
_DISCORD = r"https://(?:\w{1,20}\.)?discord(?:app)?\.com/api/(?:v\d+/)?webhooks/"
_OFFICE = r"https://[A-Za-z0-9.-]{0,100}(?:webhook\.office|outlook\.office|office365)\.com/[a-z0-9]{0,40}/"
_FEISHU = r"https://open\.(?:feishu\.cn|larksuite\.com)/open-apis/bot/v2/hook/"
# What the keys of services begin with, and no name does.
_GITHUB = "gh[opsur]_"
_GITLAB = "gl(?:pat|ptt|dt|rt|soat|ft|cbt|imt|agent|oas)-"
_SLACK_TOKEN = "(?:xox[abeoprs]|xapp)-"
_AMAZON = "(?:AKIA|ASIA|ABIA|ACCA)"
_GOOGLE = "AIza"
_PAYMENT = "[rs]k_(?:live|test|prod)_"
_SURE = (
    "csk-", "fw_", "gsk_", "hf_", "jina_", "npm_", "ntn_", "nvapi-", "pplx-", "pypi-", "r8_", "tvly-", "xai-",
)  # fmt: skip
BEGINNING = "|".join((_GITHUB, _GITLAB, _SLACK_TOKEN, _AMAZON, _GOOGLE, _PAYMENT, *_SURE))
# What the keys of services begin with before a separator; words of a name may be the same.
SERVICES = (
    *(beginning[:-1] for beginning in _SURE),
    "lin_api", "figd", "dckr_pat", "dop_v1", "doo_v1", "dor_v1", "glsa", "glc", "shpat", "shpss", "shpca",
    "shppa", "sntrys", "sntryu", "pul", "phx", "phc", "rnd", "fly", "fo1", "tskey", "hvs", "hvb",
    "hvr", "atlasv1", "rubygems", "pscale_tkn", "pscale_pw", "sbp", "vercel", "nfp", "PMAK", "SG",
    "EAAC", "sq0csp", "sq0atp", "key", "ATATT3", "ATBB", "ATCTT3",
)  # fmt: skip
# Keys that are known by themselves. The beginnings are those of the services' own documentation.
KNOWN = (
    _shape(
        "private key",
        rf"-----BEGIN {_PRIVATE}-----[^-]{{0,20000}}(?:-----END {_PRIVATE}-----)?",
        "PRIVATE KEY",
    ),
    _shape(
        "private key", r"Private-Lines: \d+\r?\n(?P<secret>[A-Za-z0-9+/=\r\n]{32,20000})", "Private-Lines"
    ),
    _shape("private key", r"AGE-SECRET-KEY-1[A-Z0-9]{40,70}", "AGE-SECRET-KEY"),
    _shape(
        "web token", _WORD + r"eyJ[A-Za-z0-9_-]{8,2000}\.eyJ[A-Za-z0-9_-]{4,8000}(?:\.[A-Za-z0-9_-]*)?", "eyJ"
    ),
    _shape("api key", _IN + r"sk-[A-Za-z0-9_-]{16,300}", "sk-", random=True),
    _shape("access token", _IN + _GITHUB + "[A-Za-z0-9]{16,300}", "gho_", "ghp_", "ghs_", "ghu_", "ghr_"),
    _shape("access token", _IN + r"github_pat_[A-Za-z0-9_]{20,300}", "github_pat_"),
    _shape("access token", _IN + _GITLAB + "[A-Za-z0-9_.-]{16,300}", "gl"),
    _shape("access token", _IN + _SLACK_TOKEN + "[A-Za-z0-9-]{10,300}", "xox", "xapp", random=True),
    _shape("cloud key", _IN + _AMAZON + "[A-Z0-9]{16}(?![A-Za-z0-9])", "AKIA", "ASIA", "ABIA", "ACCA"),
    _shape("api key", _GOOGLE + "[A-Za-z0-9_-]{30,50}", "AIza"),
    _shape("access token", _IN + r"ya29\.[A-Za-z0-9_-]{20,2000}", "ya29."),
    _shape("client secret", _IN + r"GOCSPX-[A-Za-z0-9_-]{20,60}", "GOCSPX-"),
    _shape("payment key", _IN + _PAYMENT + "[A-Za-z0-9]{10,300}", "k_live_", "k_test_", "k_prod_"),
    _shape("webhook", _IN + r"whsec_[A-Za-z0-9+/=]{16,100}", "whsec_"),
    _shape("access token", _IN + r"hf_[A-Za-z0-9]{20,100}", "hf_"),
    _shape(
        "access token",
        _IN + rf"(?:{'|'.join(SERVICES)})[_.-][A-Za-z0-9_.=-]{{16,400}}",
        *SERVICES,
        random=True,
    ),
    _shape("access token", _IN + r"pypi-[A-Za-z0-9_-]{30,400}", "pypi-"),
    _shape("bot token", r"(?<!\d)\d{7,12}:AA[A-Za-z0-9_-]{30,40}", ":AA"),
    _shape("bot token", _IN + r"[MNO][A-Za-z0-9_-]{22,30}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{25,45}"),
    _shape(
        "cloud key", r"(?i:Account|SharedAccess|SharedSecret)Key=(?P<secret>[A-Za-z0-9+/=]{16,200})", "Key="
    ),
    _shape("webhook", _SLACK + r"(?P<secret>" + _URL + "{8,300})", "hooks.slack"),
    _shape("webhook", _DISCORD + r"(?P<secret>\d+/[A-Za-z0-9_-]{20,200})", "webhooks/"),
    _shape("webhook", _OFFICE + r"(?P<secret>[A-Za-z0-9@/._-]{20,400})", "office"),
    _shape("webhook", _FEISHU + r"(?P<secret>[A-Za-z0-9-]{16,100})", "/bot/v2/hook/"),
    _shape("webhook", r"https://hooks\.zapier\.com/hooks/(?P<secret>[A-Za-z0-9/]{8,200})", "hooks.zapier"),
    _shape(
        "webhook",
        r"https://[A-Za-z0-9.-]{1,100}/hooks?/(?P<secret>[A-Za-z0-9_-]{20,200})",
        "/hook",
        random=True,
    ),
    _shape(
        "bot token",
        r"https://api\.telegram\.org/(?:file/)?bot(?P<secret>[0-9]+:[A-Za-z0-9_-]{20,60})",
        "api.telegram",
    ),
)

# Values that are known by where they stand.
_HEADER = r"(?i:authorization|proxy-authorization)[\"']?\s{0,4}[:=]\s{0,4}[\"']?"
_SCHEME = r"(?i:bearer|token|basic|apikey|api-key)\s{1,4}"
_QUERY = (
    r"access[_-]?token|refresh[_-]?token|id[_-]?token|auth[_-]?token|token|api[_-]?key|apikey|key|secret|"
    r"client[_-]?secret|password|passwd|pwd|sig|signature|x-amz-signature|x-amz-security-token|x-goog-signature|"
    r"auth|session|sessionid|code|private[_-]?token|ticket|sign"
)
PLACED = (
    _shape(
        "bearer token", _HEADER + f"(?:{_SCHEME})?" + r"(?P<secret>[A-Za-z0-9._~+/=-]{16,4000})", random=True
    ),
    _shape("bearer token", r"(?i:bearer)\s{1,4}(?P<secret>[A-Za-z0-9._~+/=-]{20,4000})", random=True),
    _shape("seed", r"otpauth://[^\s\"'<>]{0,300}?[?&]secret=(?P<secret>[A-Za-z2-7=%]{8,200})"),
    _shape("access token", rf"[?&;#](?i:{_QUERY})=(?P<secret>[^&\s\"'<>#;)\]]{{16,2000}})", random=True),
)
USERINFO = Expression(
    r"[A-Za-z][A-Za-z0-9+.-]{1,20}://(?P<user>[^\s/?#@:\"'<>]{0,100}):(?P<secret>[^\s/?#\"'<>]{1,300})@(?=[^\s@])"
)

# Names of values: what follows one may be a secret. They are found first, so that time stays linear.
_NAMES = (
    r"pass(?:word|wd|phrase|code)|pass(?![A-Za-z])|pwd|secret|token|api[ _-]?key|apikey|access[ _-]?key|"
    r"private[ _-]?key|account[ _-]?key|encryption[ _-]?key|signing[ _-]?key|master[ _-]?key|auth[ _-]?key|"
    r"secret[ _-]?key|shared[ _-]?key|license[ _-]?key|credentials?|bearer|cookie|session[ _-]?id|pin|seed|"
    r"auth"
)
_NAMES_HAN = "密码|密碼|口令|密钥|密鑰|令牌|秘钥|秘鑰|凭证|憑證|暗号|パスワード|비밀번호"
NAME = Expression(rf"(?i:{_NAMES})|{_NAMES_HAN}")
BEFORE_NAME = Expression(r"[A-Za-z0-9_.-]{0,40}$")
ASSIGNED = Expression(
    r"(?P<rest>[A-Za-z0-9_]{0,20})[\"'\]]{0,2}\s{0,4}(?:=>|:=|[:=：])\s{0,4}"
    r"(?P<quote>[\"'`]?)(?P<secret>[^\s\"'`,;<>(){}\[\]（），。；]{6,500}|(?<=[\"'`])[^\"'`\r\n]{6,500})"
)
SAID = Expression(
    r"s?(?:[^.\n]{0,30}?\b(?i:is|was|are|to|of|as)\b[:\s]{1,4}|\s{1,4}|[^\n]{0,12}?(?:是|为|為|:|：)\s{0,4})"
    r"[\"'`]?(?P<secret>[A-Za-z0-9+/=_.~-]{16,500})"
)
_VAGUE = frozenset({"auth", "pin", "seed", "cookie", "bearer", "credential", "credentials", "pwd"})
_PATH = Expression(r"[~.]{0,2}/[\w./-]*")

_PLACEHOLDER = Expression(
    r"(?i:your[-_ ]|example|placeholder|change[-_ ]?me|redacted|\[hidden|masked|dummy|sample|replace[-_ ]|"
    r"\.\.\.|<|>|\*{3,}|•{3,}|x{4,}|…|^(?:none|null|true|false|undefined|required|optional|todo)$)"
)
_REFERENCE = Expression(
    r"^(?:\$|%[A-Z_]+%$|\{\{|@|os\.|process\.|env[.:\[]|secret:|vault:|file:|config\.|settings\.|self\.|getenv|"
    r"import|lambda|function|new |String|str$|int$|bytes$|Optional|[A-Za-z_.]+\(|[A-Za-z_]+\[)"
)
_NO_SECRET_LABEL = Expression(
    r"(?i:public|sha\d*|md5|hash|digest|checksum|integrity|fingerprint|commit|tokenizer|token_?type|max_?tokens?|"
    r"tokens?_?(?:count|used|limit|per)|_tokens$|^tokens$|author|authority|authors|key_?id$|secret_?name|"
    r"password_?(?:field|hash|reset|length|min|max|policy|file)|_file$|_path$|_url$|_name$|token_?url)"
)
_ORDERED = Expression(r"[A-Z][a-z]{2,}|[a-z]{3,}|[0-9]{3,}|[A-Z]{2,}[0-9]*$")
LEAST_DISORDER = 4  # characters
_LOOKED_AT = 100  # characters of a value; more say nothing new and take time
_CAMEL = Expression(r"[A-Z]?[a-z]+(?:[A-Z][a-z]+)*")


def is_random(text: str) -> bool:
    """Whether `text` looks like a key: of 16 or more characters, little is left in order.

    Words and numbers are taken out; of a name or a path little remains, of a random key much.
    """
    parts = [part for part in re.split(r"[-_.+/=:%]", text[:_LOOKED_AT]) if part]
    joined = "".join(parts)
    if len(joined) < 16 or not any(map(str.isdigit, joined)) or not any(map(str.isalpha, joined)):
        return _is_mixed(joined)
    kept = disorder(part for part in parts if len(part) >= 4)
    return len(kept) >= max(LEAST_DISORDER, len(joined) // 8)


def disorder(parts: Iterable[str]) -> str:
    """What is left of the parts of a word when words and numbers are taken out of them."""
    return "".join(_ORDERED.sub("", part) for part in parts)


def _is_mixed(text: str) -> bool:
    """Letters only, but upper and lower case change too often for words."""
    if len(text) < 20 or not text.isascii():
        return False
    changes = sum(one.islower() != after.islower() for one, after in pairwise(text))
    return changes >= len(text) // 3


def is_placeholder(text: str) -> bool:
    """Whether a value only stands for a secret: an example, a mask, a variable, a call."""
    text = text[:_LOOKED_AT]
    return bool(_PLACEHOLDER.search(text) or _REFERENCE.match(text)) or len(set(text)) < 4


def names_no_secret(label: str) -> bool:
    """Whether a label that holds `key`, `token` or `password` still names something public."""
    return bool(_NO_SECRET_LABEL.search(label))


def is_password(name: str, text: str, *, quoted: bool) -> bool:
    """Whether the value of something called `name` is a secret, and not a word of a sentence or of a type."""
    if is_placeholder(text):
        return False
    if is_random(text):
        return True
    if name.lower() in _VAGUE or _PATH.fullmatch(text):
        return False
    kinds = (any(map(str.isdigit, text)), any(map(str.isupper, text)), any(map(str.islower, text)))
    other = any(not one.isalnum() and one not in "_-./ " for one in text)
    if quoted:
        return sum((*kinds, other)) >= 2 and " " not in text and not _CAMEL.fullmatch(text)
    return (kinds[0] and (kinds[1] or kinds[2] or other)) or (
        other and (kinds[1] or kinds[2]) and len(text) >= 8
    )
