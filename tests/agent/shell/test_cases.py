"""The case files of the gate, the shared one and our own."""

from pathlib import Path

from limnos.testing.cases import run

OWN = Path(__file__).parents[2] / "cases" / "approvals.jsonl"


def test_all_shared_cases_are_decided_as_expected(shared: Path) -> None:
    passed, failed = run("approvals", shared / "cases" / "approvals.jsonl")

    assert not failed
    assert passed == 314


def test_all_cases_of_our_own_are_decided_as_expected() -> None:
    passed, failed = run("approvals", OWN)

    assert not failed
    assert passed > 1_000
