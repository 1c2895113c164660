"""The list of promises is true: each one names tests that are there."""

import ast
from functools import cache

import pytest

from tests.architecture.source import ROOT
from tests.requirements import REQUIREMENTS, Requirement


@cache
def functions_of(path: str) -> frozenset[str]:
    """The test functions of a file."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


@pytest.mark.parametrize("requirement", REQUIREMENTS, ids=lambda one: one.id)
def test_every_promise_names_tests_that_are_there(requirement: Requirement) -> None:
    assert requirement.tests
    for node in requirement.tests:
        path, _, name = node.partition("::")
        assert name.startswith("test_"), node
        assert name in functions_of(path), node


def test_every_promise_is_one_sentence_with_an_id_of_its_own() -> None:
    ids = [requirement.id for requirement in REQUIREMENTS]

    assert len(set(ids)) == len(ids)
    assert all(requirement.sentence.endswith(".") for requirement in REQUIREMENTS)
