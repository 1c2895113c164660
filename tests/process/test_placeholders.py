"""Stand-ins hold a name for as long as somebody needs it, and never touch what a person made."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from limnos.process.beneath import open_parent
from limnos.process.placeholders import Placeholders, Wanted, is_ours


def held(*paths: Path) -> Placeholders:
    made = Placeholders()
    made.hold(Wanted(str(path)) for path in paths)
    return made


def test_a_stand_in_goes_with_its_last_holder(tmp_path: Path) -> None:
    first, second = held(tmp_path / ".a"), held(tmp_path / ".a")
    assert is_ours(str(tmp_path / ".a"))
    first.release()
    assert (tmp_path / ".a").is_dir()
    second.release()
    assert not (tmp_path / ".a").exists()


def test_a_file_has_its_whole_content_from_the_first_moment(tmp_path: Path) -> None:
    made = Placeholders()
    made.hold([Wanted(str(tmp_path / "common"), b".\n\n")])
    assert (tmp_path / "common").read_bytes() == b".\n\n"
    assert is_ours(str(tmp_path / "common"))
    made.release()
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("umask", [0, 0o022, 0o077])
def test_the_mark_does_not_depend_on_the_umask(umask: int, tmp_path: Path) -> None:
    before = os.umask(umask)
    try:
        made = held(tmp_path / ".a")
    finally:
        os.umask(before)
    assert is_ours(str(tmp_path / ".a"))
    made.release()
    assert os.listdir(tmp_path) == []


def test_what_a_person_made_is_an_error_and_stays(tmp_path: Path) -> None:
    (tmp_path / ".a").mkdir()
    made = Placeholders()
    with pytest.raises(OSError, match="somebody made it"):
        made.hold([Wanted(str(tmp_path / ".b")), Wanted(str(tmp_path / ".a"))])
    made.release()
    assert os.listdir(tmp_path) == [".a"]
    assert not is_ours(str(tmp_path / ".a"))


def test_what_replaced_a_stand_in_stays(tmp_path: Path) -> None:
    made = held(tmp_path / ".a")
    (tmp_path / ".a").rmdir()
    (tmp_path / ".a").write_text("mine")
    made.release()
    assert (tmp_path / ".a").read_text() == "mine"


def test_a_link_on_the_way_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    made = Placeholders()
    with pytest.raises(OSError, match=r"Not a directory|Too many levels"):
        made.hold([Wanted(str(tmp_path / "link" / ".a"))])
    made.release()
    assert os.listdir(tmp_path / "real") == []
    with pytest.raises(OSError, match=r"Not a directory|Too many levels"):
        open_parent(str(tmp_path / "link" / "x"))


def test_what_a_killed_holder_left_is_taken_over(tmp_path: Path) -> None:
    script = (
        "import os, signal, sys\n"
        "from limnos.process.placeholders import Placeholders, Wanted\n"
        "Placeholders().hold([Wanted(sys.argv[1])])\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run((sys.executable, "-c", script, str(tmp_path / ".a")), check=False)
    assert is_ours(str(tmp_path / ".a"))
    held(tmp_path / ".a").release()
    assert os.listdir(tmp_path) == []


def test_many_holders_at_once_never_lose_it_while_one_of_them_holds(tmp_path: Path) -> None:
    missing: list[int] = []

    def work() -> None:
        for turn in range(200):
            made = held(tmp_path / ".a", tmp_path / ".b")
            if not ((tmp_path / ".a").is_dir() and (tmp_path / ".b").is_dir()):
                missing.append(turn)
            made.release()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert missing == []
    assert os.listdir(tmp_path) == []
