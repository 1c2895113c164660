"""Trust: asked once, bound to the folder itself; before it nothing of a workspace is read as instructions."""

import os
import shutil
from pathlib import Path

import pytest

from limnos.agent.trust import MOST_GUIDE, TrustFile, guide_in, waiting_in
from limnos.sdk.files import Files

NOW = "2026-11-30T08:00:00+00:00"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.fixture
def trust(tmp_path: Path) -> TrustFile:
    return TrustFile(tmp_path / "home")


def test_an_answer_is_remembered_and_can_be_taken_back(trust: TrustFile, work: Path) -> None:
    assert trust.answer(str(work)) is None
    trust.remember(str(work), "trusted", NOW)
    assert trust.trusts(str(work))
    assert trust.forget(str(work))
    assert trust.answer(str(work)) is None
    assert not trust.forget(str(work))


def test_a_declined_folder_is_not_asked_about_again(trust: TrustFile, work: Path) -> None:
    trust.remember(str(work), "declined", NOW)

    assert trust.answer(str(work)) == "declined"
    assert not trust.trusts(str(work))


def test_trust_reaches_no_folder_above_or_below(trust: TrustFile, work: Path) -> None:
    (work / "sub").mkdir()
    trust.remember(str(work), "trusted", NOW)

    assert trust.answer(str(work / "sub")) is None
    assert trust.answer(str(work.parent)) is None


def test_trust_ends_when_the_folder_is_replaced(trust: TrustFile, work: Path) -> None:
    trust.remember(str(work), "trusted", NOW)
    work.rename(work.with_name("aside"))
    work.mkdir()

    assert trust.answer(str(work)) is None
    assert [one.current for one in trust.listed()] == [False]


def test_trust_ends_when_the_folder_is_removed_and_made_anew(trust: TrustFile, work: Path) -> None:
    trust.remember(str(work), "trusted", NOW)
    for _ in range(20):  # the disk gives the same number again
        work.rmdir()
        work.mkdir()
        assert trust.answer(str(work)) is None


def test_a_link_to_a_trusted_folder_is_that_folder_until_it_leads_elsewhere(
    trust: TrustFile, work: Path, tmp_path: Path
) -> None:
    link, other = tmp_path / "link", tmp_path / "other"
    other.mkdir()
    link.symlink_to(work)
    trust.remember(str(link), "trusted", NOW)
    assert trust.trusts(str(work))
    link.unlink()
    link.symlink_to(other)
    assert not trust.trusts(str(link))


def test_a_folder_whose_name_is_no_text_can_be_trusted(trust: TrustFile, tmp_path: Path) -> None:
    folder = os.fsdecode(bytes(tmp_path) + b"/w\xff\n")
    os.mkdir(folder)
    trust.remember(folder, "trusted", NOW)

    assert trust.trusts(folder)
    shutil.rmtree(folder)


def test_agents_md_is_the_guide_else_claude_md(work: Path) -> None:
    assert guide_in(Files(work)) is None
    (work / "CLAUDE.md").write_text("use tabs")
    found = guide_in(Files(work))
    assert found is not None
    assert (found.name, found.text) == ("CLAUDE.md", "use tabs")
    (work / "AGENTS.md").write_text("use blanks")
    found = guide_in(Files(work))
    assert found is not None
    assert found.name == "AGENTS.md"


def test_a_guide_that_leads_out_of_the_folder_is_none(work: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("a secret")
    (work / "AGENTS.md").symlink_to(tmp_path / "secret")

    assert guide_in(Files(work)) is None


def test_a_pipe_or_a_folder_of_that_name_is_no_guide(work: Path) -> None:
    os.mkfifo(work / "AGENTS.md")
    (work / "CLAUDE.md").mkdir()

    assert guide_in(Files(work)) is None
    assert waiting_in(str(work)) == []


def test_a_long_guide_is_cut_and_says_so(work: Path) -> None:
    (work / "AGENTS.md").write_text("x" * (MOST_GUIDE + 10))
    found = guide_in(Files(work))

    assert found is not None
    assert f"the rest of {MOST_GUIDE + 10:,} characters is left out" in found.text
    assert len(found.text) < MOST_GUIDE + 100
