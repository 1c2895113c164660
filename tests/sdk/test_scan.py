"""The secret scanner: known keys, labelled values, configured values in many spellings; near misses."""

import base64
import codecs
import gzip
import json
import random
import string
import time
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limnos.sdk.scan import Scanner
from limnos.testing.cases import run

HERE = Path(__file__).parents[2]
FILES = [HERE / ".." / "shared" / "cases" / "secrets.jsonl", HERE / "tests" / "cases" / "secrets.jsonl"]
BASE62 = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
UPPER = string.ascii_uppercase + string.digits
CONFIGURED = "correct-horse-Lake-5taple"

KEYS = [
    ("sk-", 48, BASE62), ("sk-proj-", 80, BASE62), ("sk-ant-api03-", 90, BASE62 + "_-"),
    ("ghp_", 36, BASE62), ("gho_", 36, BASE62), ("ghs_", 36, BASE62), ("github_pat_", 70, BASE62),
    ("glpat-", 20, BASE62), ("xoxp-", 40, BASE62), ("xapp-1-", 50, BASE62), ("AKIA", 16, UPPER),
    ("AIza", 35, BASE62 + "_-"), ("sk_live_", 24, BASE62), ("rk_live_", 24, BASE62), ("hf_", 34, BASE62),
    ("npm_", 36, BASE62), ("pypi-AgEIcHlwaS5vcmc", 60, BASE62), ("SG.", 40, BASE62), ("dop_v1_", 64, HEX),
    ("shpat_", 32, HEX), ("gsk_", 52, BASE62), ("r8_", 37, BASE62), ("nvapi-", 64, BASE62),
    ("hvs.", 90, BASE62), ("ya29.", 100, BASE62), ("GOCSPX-", 28, BASE62), ("glsa_", 32, BASE62),
    ("xai-", 80, BASE62), ("figd_", 40, BASE62), ("whsec_", 32, BASE62), ("dckr_pat_", 27, BASE62),
    ("tskey-auth-", 30, BASE62), ("lin_api_", 40, BASE62), ("AGE-SECRET-KEY-1", 58, UPPER),
    ("rubygems_", 48, HEX), ("sntrys_", 60, BASE62),
]  # fmt: skip
AROUND = [
    "{}",
    "key: {}",
    "export A={}\n",
    "use {} now",
    "我的密钥是{}，好",
    '"{}"',
    "https://x.example/?a={}&b=1",
]
LABELS = [
    "password", "db_password", "PASSWORD", "passwd", "client_secret", "api_key", "secret_key", "auth_token",
    "token", "AWS_SECRET_ACCESS_KEY", "private_key", "apiKey", "accessToken", "DB_PASS", "密码", "口令",
]  # fmt: skip
SPELLINGS = {
    "as it is": CONFIGURED,
    "base64": base64.b64encode(CONFIGURED.encode()).decode(),
    "base64 with more around it": base64.b64encode(b"xx" + CONFIGURED.encode() + b"yy").decode(),
    "base64 for addresses": base64.urlsafe_b64encode(CONFIGURED.encode()).decode(),
    "base64 twice": base64.b64encode(base64.b64encode(CONFIGURED.encode())).decode(),
    "base64 of UTF-16": base64.b64encode(CONFIGURED.encode("utf-16-le")).decode(),
    "base64 over lines": base64.encodebytes(CONFIGURED.encode() * 2).decode().strip(),
    "base32": base64.b32encode(CONFIGURED.encode()).decode(),
    "percent": "".join(f"%{byte:02x}" for byte in CONFIGURED.encode()),
    "hexadecimal": CONFIGURED.encode().hex(),
    "hexadecimal with blanks": CONFIGURED.encode().hex(" "),
    "hexadecimal with colons": CONFIGURED.encode().hex(":"),
    "gzip": base64.b64encode(gzip.compress(CONFIGURED.encode())).decode(),
    "deflate": base64.b64encode(zlib.compress(CONFIGURED.encode())).decode(),
    "zero width": "\u200b".join(CONFIGURED),
    "soft hyphens": "\xad".join(CONFIGURED),
    "tag characters": "\U000e0041".join(CONFIGURED),
    "over two lines": CONFIGURED[:9] + "\n" + CONFIGURED[9:],
    "over two literals": f'{CONFIGURED[:9]}" +\n  "{CONFIGURED[9:]}',
    "JSON escapes": "".join(f"\\u{ord(one):04x}" for one in CONFIGURED),
    "byte escapes": "".join(f"\\x{ord(one):02x}" for one in CONFIGURED),
    "octal escapes": "".join(f"\\{ord(one):03o}" for one in CONFIGURED),
    "character references": "".join(f"&#{ord(one)};" for one in CONFIGURED),
    "hexadecimal references": "".join(f"&#x{ord(one):x};" for one in CONFIGURED),
    "quoted printable": "".join(f"={ord(one):02X}" for one in CONFIGURED),
    "one by one": " ".join(CONFIGURED),
    "base32 in lower case": base64.b32encode(CONFIGURED.encode()).decode().lower(),
    "base85": base64.b85encode(CONFIGURED.encode()).decode(),
    "ascii85": base64.a85encode(CONFIGURED.encode()).decode(),
    "bare deflate": base64.b64encode(zlib.compress(CONFIGURED.encode(), wbits=-15)).decode(),
    "gzip in hexadecimal": gzip.compress(CONFIGURED.encode()).hex(),
    "base64 of UTF-16, high byte first": base64.b64encode(CONFIGURED.encode("utf-16-be")).decode(),
    "base64 of UTF-16 with its mark": base64.b64encode(CONFIGURED.encode("utf-16")).decode(),
    "percent twice": "".join(f"%25{byte:02X}" for byte in CONFIGURED.encode()),
    "hexadecimal with hyphens": CONFIGURED.encode().hex("-"),
    "hexadecimal numbers": ", ".join(f"0x{byte:02x}" for byte in CONFIGURED.encode()),
    "hexadecimal over lines": CONFIGURED.encode().hex()[:20] + "\n" + CONFIGURED.encode().hex()[20:],
    "decimal numbers": ", ".join(map(str, CONFIGURED.encode())),
    "octal numbers": " ".join(f"{byte:03o}" for byte in CONFIGURED.encode()),
    "binary numbers": " ".join(f"{byte:08b}" for byte in CONFIGURED.encode()),
    "escapes in braces": "".join(f"\\u{{{ord(one):x}}}" for one in CONFIGURED),
    "wide escapes": "".join(f"\\U{ord(one):08x}" for one in CONFIGURED),
    "style sheet escapes": "".join(f"\\{ord(one):06x}" for one in CONFIGURED),
    "references without an end": "".join(f"&#{ord(one):07d}" for one in CONFIGURED),
    "JSON in JSON": json.dumps(json.dumps("".join(f"\\u{ord(one):04x}" for one in CONFIGURED))),
    "in tag characters": "".join(chr(0xE0000 + ord(one)) for one in CONFIGURED),
    "wide letters": "".join(chr(ord(one) + 0xFEE0) for one in CONFIGURED),
    "selectors": "\U000e0101".join(CONFIGURED),
    "fillers": "\u3164".join(CONFIGURED),
    "marks": "\u0301".join(CONFIGURED),
    "NUL": "\0".join(CONFIGURED),
    "turned round": CONFIGURED[::-1],
    "rotated": codecs.encode(CONFIGURED, "rot13"),
    "upper case": CONFIGURED.upper(),
    "in groups": " ".join(CONFIGURED[place : place + 4] for place in range(0, len(CONFIGURED), 4)),
    "list of characters": json.dumps(list(CONFIGURED)),
    "list of pieces": json.dumps([CONFIGURED[:9], CONFIGURED[9:18], CONFIGURED[18:]]),
    "one behind the other": f'"{CONFIGURED[:9]}" + "{CONFIGURED[9:]}"',
    "bold in the middle": f"{CONFIGURED[:6]}**{CONFIGURED[6:12]}**{CONFIGURED[12:]}",
    "a tag in the middle": f"{CONFIGURED[:6]}<b>{CONFIGURED[6:12]}</b>{CONFIGURED[12:]}",
    "a comment in the middle": f"{CONFIGURED[:6]}<!-- x -->{CONFIGURED[6:]}",
    "colours": f"{CONFIGURED[:6]}\x1b[31m{CONFIGURED[6:]}\x1b[0m",
    "a letter taken back": f"{CONFIGURED[:6]}x\x08{CONFIGURED[6:]}",
}
NEAR_MISSES = [
    "max_tokens=4096", "token_type: bearer", "tokenizer = AutoTokenizer.from_pretrained('x')",
    "password: str", "password = os.environ['PW']", "api_key: Optional[str] = None",
    "password = getpass.getpass()", "auth: oauth2", "secret: ${SECRET}", "api_key: {{ vault.key }}",
    "token = request.headers.get('x')", "keyboard: qwerty", "Authorization: Bearer <token>",
    "Authorization: Bearer $TOKEN", "Authorization: Bearer YOUR_TOKEN_HERE",
    "https://example.org/watch?v=dQw4w9WgXcQ&list=PLrAXtmErZgOeiKm4sgNOknGvNjby9efdf",
    "credentials: include", "src/components/AuthTokenProvider.tsx:120", "npm install @scope/pkg@1.2.3",
    "pwd=/var/lib/postgresql/14", "hf_hub_download(repo_id='x')",
    "password reset link was sent to the user", "primary key: user_id",
    "The token bucket algorithm refills 100 tokens", "token count: 12345678", "pin: 1234",
    "secret santa 2026", "const apiKey = config.apiKey;", "password: '********'",
    "api_key = 'your_api_key_here'", "ghp_", "sk-…", "secret_name: prod/db/password", '"key": "ArrowLeft"',
    "pass: 100 fail: 3", "https://user@example.org/x", "git@github.com:org/repo.git",
    "if password == other_password:", "password_hash = hash(password)", "seed=42",
    "random seed: 20261130123", "the api key was made in 2026", "access key: see docs/ACCESS_KEYS_2026.md",
]  # fmt: skip


def rand(seed: str, size: int, letters: str = BASE62) -> str:
    chooser = random.Random(seed)
    return "".join(chooser.choice(letters) for _ in range(size))


def is_left(secret: str, text: str) -> bool:
    return any(secret[place : place + 12] in text for place in range(max(1, len(secret) - 11)))


@pytest.mark.parametrize("path", FILES, ids=["shared", "own"])
def test_every_case_of_the_collections_is_right(path: Path) -> None:
    passed, failed = run("secrets", path)

    assert failed == []
    assert passed >= 50


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize(("begin", "size", "letters"), KEYS, ids=[begin for begin, _, _ in KEYS])
def test_a_key_of_a_known_kind_is_hidden_wherever_it_stands(
    begin: str, size: int, letters: str, around: str
) -> None:
    key = begin + rand(begin + around, size, letters)

    assert not is_left(key, Scanner().hide(around.format(key)))


@pytest.mark.parametrize(
    "form", ["{}={}", "{}: {}", '{} = "{}"', '"{}": "{}"', "'{}': '{}'", "{}：{}", "{}:{}"]
)
@pytest.mark.parametrize("label", LABELS)
def test_a_labelled_value_is_hidden(label: str, form: str) -> None:
    for value in (
        rand(label, 20),
        rand(label, 32, HEX),
        rand(label, 12) + "!x7" + rand(form, 4),
        "Tr0ub4dor&3x",
    ):
        hidden = Scanner().hide(form.format(label, value))
        assert not is_left(value, hidden)
        assert label in hidden


@pytest.mark.parametrize("text", NEAR_MISSES)
def test_what_only_resembles_a_secret_is_kept(text: str) -> None:
    assert Scanner().hide(text) == text


def test_digests_certificates_and_public_keys_are_kept() -> None:
    chooser = random.Random(7)
    for text in (
        f"commit {rand('a', 40, HEX)}",
        f"sha256-{base64.b64encode(chooser.randbytes(32)).decode()}",
        f"docker pull x@sha256:{rand('b', 64, HEX)}",
        f"ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQC{rand('c', 200)} u@h",
        f"-----BEGIN PUBLIC KEY-----\n{rand('d', 64)}\n-----END PUBLIC KEY-----",
        f"-----BEGIN CERTIFICATE-----\n{rand('e', 64)}\n-----END CERTIFICATE-----",
        f"data:font/woff2;base64,{base64.b64encode(chooser.randbytes(300)).decode()}",
    ):
        assert Scanner().hide(text) == text


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_configured_value_is_found_in_every_spelling(spelling: str) -> None:
    written = SPELLINGS[spelling]

    hidden = Scanner([CONFIGURED]).hide(f"- {written} -")

    assert "[hidden: configured value]" in hidden
    left = hidden.replace("[hidden: configured value]", "")
    assert sum(map(str.isalnum, left)) <= 2, left  # the end of a sequence for colours


def test_without_the_configured_value_its_spellings_are_only_text() -> None:
    for written in SPELLINGS.values():
        assert Scanner().find(f"value {written} end") == []


@given(st.text(max_size=400))
def test_any_text_can_be_scanned_and_scanning_twice_changes_nothing_more(text: str) -> None:
    scanner = Scanner([CONFIGURED])
    once = scanner.hide(text)

    assert scanner.hide(once) == once


@pytest.mark.parametrize(
    "unit",
    [
        "a",
        "sk-",
        "password",
        "\n",
        "-----BEGIN PRIVATE KEY-----",
        "&token=",
        "eyJ",
        "://",
        "http://a:",
        "密码",
        "%41",
        "a.b.",
    ],
)
def test_no_text_takes_time_out_of_proportion(unit: str) -> None:
    scanner = Scanner([CONFIGURED])

    def seconds(size: int) -> float:
        text = unit * (size // len(unit))
        began = time.perf_counter()
        scanner.find(text)
        return time.perf_counter() - began

    small = min(seconds(20_000) for _ in range(3))
    assert seconds(160_000) < max(0.05, small) * 8 * 4
