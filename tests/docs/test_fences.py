"""Every fence of the documentation runs, so that it cannot rot."""

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from docs.picture import draw, record, rows

from tests.architecture.source import ROOT

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs" / "guide").glob("*.md"))]
PROTOCOL = sorted((ROOT / "docs" / "protocol").glob("*.md"))
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
ANSWERS = '{"steps": [{"text": "Yes."}]}'


def fences(*languages: str, pages: Sequence[Path] = PAGES) -> list[tuple[str, str]]:
    """Name and text of the fences in these languages."""
    found: list[tuple[str, str]] = []
    for page in pages:
        for number, (language, text) in enumerate(FENCE.findall(page.read_text(encoding="utf-8"))):
            if language in languages:
                found.append((f"{page.relative_to(ROOT)}-{number}", text))
    return found


def environment(home: Path) -> dict[str, str]:
    """A person with limnos on the path, an empty home, and a model that says yes to everything."""
    script = home / "answers.json"
    script.write_text(ANSWERS)
    return {
        "HOME": str(home),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "LIMNOS_HOME": str(home / ".limnos"),
        "LIMNOS_MODEL": f"scripted:{script}",
        "LANG": "C.UTF-8",
    }


@pytest.mark.parametrize(("name", "text"), fences("sh"), ids=[name for name, _ in fences("sh")])
def test_a_shell_fence_runs(name: str, text: str, tmp_path: Path) -> None:
    lines = text.splitlines()
    if all(line.startswith("make ") for line in lines):
        # these set up an environment and run this very suite: here only their rules are read
        command = ["bash", "-ec", "\n".join(line.replace("make ", "make -n ", 1) for line in lines)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        return
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / ".venv" / "bin" / "activate").write_text("")
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True, timeout=30)
    known = environment(tmp_path)
    subprocess.run(
        ["limnos", "run", "hello"], cwd=tmp_path, env=known, check=True, timeout=60, capture_output=True
    )
    done = subprocess.run(
        ["bash", "-c", _checked(text)],
        cwd=tmp_path,
        env=known,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, f"{name}\n{done.stdout}\n{done.stderr}"


def _checked(text: str) -> str:
    """The fence, ended at the first command that fails; doctor and an empty history may answer 1."""
    tolerant = ("limnos doctor", "git log")
    lines = [f"{line} || test $? -eq 1" if line.startswith(tolerant) else line for line in text.splitlines()]
    return "\n".join(["set -e", *lines])


@pytest.mark.parametrize(("name", "text"), fences("python"), ids=[name for name, _ in fences("python")])
def test_a_python_fence_runs(name: str, text: str, tmp_path: Path) -> None:
    assert "turn_finished" in _run(text, tmp_path)


@pytest.mark.parametrize(
    ("name", "text"),
    fences("python", pages=PROTOCOL),
    ids=[name for name, _ in fences("python", pages=PROTOCOL)],
)
def test_a_python_fence_of_the_protocol_runs(name: str, text: str, tmp_path: Path) -> None:
    assert "assert " in text
    assert _run(text, tmp_path) == ""


def _run(text: str, folder: Path) -> str:
    """What a fence prints; it has to succeed."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", text],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_readme_shows_something_that_runs_before_line_50() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()

    assert any(line.startswith("make run TASK=") for line in lines[:50])


def test_the_agents_page_is_short() -> None:
    assert len((ROOT / "AGENTS.md").read_text(encoding="utf-8").split()) <= 700


def test_every_link_of_the_docs_leads_somewhere() -> None:
    for page in [
        *PAGES,
        ROOT / "AGENTS.md",
        *(ROOT / "docs").rglob("*.md"),
        ROOT / "benchmarks" / "README.md",
    ]:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_picture_shows_what_the_program_says_today() -> None:
    drawn = _words((ROOT / "docs" / "terminal.svg").read_text(encoding="utf-8"))

    assert _words(draw(rows(record()))) == drawn, "run: python docs/picture.py"


def _words(svg: str) -> str:
    """The texts of the picture without what differs from run to run: codes, times, seconds."""
    text = re.sub(r"<[^>]*>", "", svg)
    text = re.sub(r"(asks: .*?) +\w{4}$", r"\1", text, flags=re.MULTILINE)
    return re.sub(r"\s+", " ", re.sub(r"[0-9.:]+ ?s?\b", "", text))
