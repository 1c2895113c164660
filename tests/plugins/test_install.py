"""Plugins come into a home whole or not at all, and leave it with all that belongs to them."""

import gzip
import io
import os
import random
import stat
import subprocess
import sys
import tarfile
import threading
import zipfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from limnos.kernel.errors import LimnosError, StorageError, UsageError
from limnos.plugins.catalogue import catalogue
from limnos.plugins.choices import Choices, read_choices, write_choices
from limnos.plugins.faults import LockError, ManifestError
from limnos.plugins.install import Candidate, disable, enable, install, remove
from limnos.plugins.lock import read_lock, read_trees
from limnos.plugins.places import data_of, folder_of, settings_of
from limnos.plugins.stale import verify
from limnos.plugins.trees import tree_of
from limnos.sdk import beneath
from limnos.sdk.archives import ArchiveRefusedError
from limnos.testing.case_kinds.archives import build
from tests.architecture.source import ROOT
from tests.conftest import SHARED
from tests.plugins.making import GREET, HEAD, plugin
from tests.sdk.cases import read_lines
from tests.store.disks import full_disk

CASES = read_lines(SHARED / "cases" / "archives.jsonl")
SUFFIXES = {"zip": ".zip", "wheel": ".whl", "hmap": ".hmap", "tar": ".tar", "tgz": ".tar.gz"}

ENDLESS = """
import sys
from pathlib import Path
from limnos.plugins.install import install
home, *versions = map(Path, sys.argv[1:])
while True:
    for version in versions:
        install(version, home, [], lambda _: True)
        print("installed", flush=True)
"""


def yes(_: Candidate) -> bool:
    return True


def files(home: Path) -> dict[str, bytes]:
    """Everything below a home, but for what keeps order in it."""
    return {
        str(path.relative_to(home)): path.read_bytes() for path in sorted(home.rglob("*")) if path.is_file()
    }


def test_a_folder_is_installed_with_its_modes_and_without_what_is_made_by_running_it(tmp_path: Path) -> None:
    home, source = tmp_path / "home", plugin(tmp_path, "a", tools=GREET)
    (source / "run.sh").write_text("#!/bin/sh\n")
    (source / "run.sh").chmod(0o755)
    (source / "data" / "deep").mkdir(parents=True)
    (source / "data" / "deep" / "x").write_text("x")
    for name in ("__pycache__", ".git"):
        (source / name).mkdir()
        (source / name / "x").write_text("x")

    standing = install(source, home, [], yes)

    place = folder_of(home, "a")
    assert standing is not None
    assert standing.tree == tree_of(place).digest
    assert sorted(str(path.relative_to(place)) for path in place.rglob("*") if path.is_file()) == [
        "a.py", "data/deep/x", "plugin.toml", "run.sh",
    ]  # fmt: skip
    assert stat.S_IMODE((place / "run.sh").stat().st_mode) == 0o700
    assert stat.S_IMODE((place / "a.py").stat().st_mode) == 0o600
    assert os.listdir(home / "plugins") == ["a"]
    assert list(catalogue(home, []).tools) == ["a_greet"]


@pytest.mark.parametrize("form", ["zip", "tgz"])
@pytest.mark.parametrize("top", ["", "weather-1.0/"])
def test_an_archive_is_installed_also_with_one_folder_around_it(tmp_path: Path, form: str, top: str) -> None:
    archive = tmp_path / f"a{SUFFIXES[form]}"
    _write(archive, form, {f"{top}plugin.toml": HEAD.format(name="a").encode(), f"{top}a.py": b"x = 1\n"})

    assert install(archive, tmp_path / "home", [], yes) is not None
    assert (folder_of(tmp_path / "home", "a") / "a.py").read_text() == "x = 1\n"


def test_who_says_no_has_what_was_there_before(tmp_path: Path) -> None:
    home, source = tmp_path / "home", plugin(tmp_path, "a")
    seen: list[Candidate] = []

    def asked(candidate: Candidate) -> bool:
        seen.append(candidate)
        return False

    assert install(source, home, [], asked) is None
    assert files(home) == {}
    install(source, home, [], yes)
    before = files(home)
    (source / "a.py").write_text("changed\n")
    assert install(source, home, [], asked) is None
    assert files(home) == before
    assert [one.replaces and one.replaces.name for one in seen] == [None, "a"]

    def stopped(_: Candidate) -> bool:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        install(source, home, [], stopped)
    assert files(home) == before


def test_a_newer_version_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    home, source = tmp_path / "home", plugin(tmp_path, "a")
    install(source, home, [], yes)
    (source / "a.py").unlink()
    (source / "b.py").write_text("new\n")
    (source / "plugin.toml").write_text((source / "plugin.toml").read_text().replace("python:a", "python:b"))

    install(source, home, [], yes)

    assert sorted(os.listdir(folder_of(home, "a"))) == ["b.py", "plugin.toml"]
    assert os.listdir(home / "plugins") == ["a"]
    assert [one.starts for one in catalogue(home, []).plugins] == [True]


def test_a_lock_that_cannot_be_written_leaves_the_old_version(tmp_path: Path) -> None:
    home, source = tmp_path / "home", plugin(tmp_path, "a")
    install(source, home, [], yes)
    (home / "plugins.lock").unlink()
    (home / "plugins.lock").mkdir()
    (source / "a.py").write_text("changed\n")
    before = files(home / "plugins")

    with pytest.raises(StorageError):
        install(source, home, [], yes)
    with pytest.raises(StorageError):
        install(plugin(tmp_path, "b"), home, [], yes)

    assert files(home / "plugins") == before
    assert os.listdir(home / "plugins") == ["a"]


def test_a_full_disk_leaves_nothing(tmp_path: Path) -> None:
    source = plugin(tmp_path, "a")
    (source / "large").write_bytes(bytes(5_000_000))
    with full_disk(tmp_path / "disk") as disk:
        home = disk.folder / "home"
        (home / "plugins").mkdir(parents=True)
        with disk.filled(100_000), pytest.raises(StorageError):
            install(source, home, [], yes)
        assert os.listdir(home / "plugins") == []


def test_what_a_killed_install_left_is_put_right(tmp_path: Path) -> None:
    home = tmp_path / "home"
    install(plugin(tmp_path, "a"), home, [], yes)
    install(plugin(tmp_path, "b"), home, [], yes)
    plugins = home / "plugins"
    (plugins / "a").rename(plugins / ".old-a-0a1b2c3d4e5f")
    (plugins / ".old-b-0a1b2c3d4e5f").mkdir()
    (plugins / ".draft-0a1b2c").mkdir()
    (plugins / ".draft-0a1b2c" / "x").write_text("half")

    disable("b", home, [])

    assert sorted(os.listdir(plugins)) == ["a", "b"]
    assert [one.down for one in catalogue(home, []).plugins] == ["", ""]


def test_a_version_that_was_not_locked_when_its_install_was_killed_makes_way_for_the_old_one(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    install(plugin(tmp_path, "a"), home, [], yes)
    install(plugin(tmp_path, "b"), home, [], yes)
    plugins = home / "plugins"
    (plugins / "a").rename(plugins / ".old-a-0a1b2c3d4e5f")
    (plugin(tmp_path / "newer", "a") / "a.py").write_text("newer\n")
    (tmp_path / "newer" / "a").rename(plugins / "a")

    disable("b", home, [])

    assert sorted(os.listdir(plugins)) == ["a", "b"]
    assert (plugins / "a" / "a.py").read_text() != "newer\n"
    assert catalogue(home, []).plugins[0].starts


@pytest.mark.parametrize("kind", ["link", "folder link", "pipe"])
def test_links_and_special_files_of_a_folder_are_refused_and_nothing_is_left(
    tmp_path: Path, kind: str
) -> None:
    home, source = tmp_path / "home", plugin(tmp_path, "a")
    (source / "sub").mkdir()
    if kind == "pipe":
        os.mkfifo(source / "sub" / "x")
    else:
        (source / "sub" / "x").symlink_to("/etc" if kind == "folder link" else "../a.py")

    with pytest.raises(LimnosError, match="'sub/x' is a link or a special file"):
        install(source, home, [], yes)
    assert files(home) == {}


def test_what_is_no_plugin_or_stands_against_others_is_refused_before_anybody_is_asked(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    builtin = plugin(tmp_path / "limnos", "sky", tools=GREET)
    empty = tmp_path / "empty"
    empty.mkdir()
    cases: list[tuple[Path, type[LimnosError], str]] = [
        (empty, ManifestError, "plugin.toml"),
        (tmp_path / "gone", UsageError, "not there"),
        (plugin(tmp_path, "bad", "colour = 1"), ManifestError, "line 6"),
        (plugin(tmp_path, "lost", 'needs = ["nothing"]'), LockError, "no plugin provides"),
        (plugin(tmp_path, "sky"), LockError, "two plugins are called sky"),
        (plugin(tmp_path, "same", tools=GREET.replace("{name}", "sky")), LockError, "sky_greet"),
    ]
    (tmp_path / "text.zip").write_text("no archive")
    os.mkfifo(tmp_path / "pipe")
    cases += [
        (tmp_path / "text.zip", ArchiveRefusedError, "text.zip"),
        (tmp_path / "pipe", LimnosError, "regular"),
    ]

    def never(_: Candidate) -> bool:
        raise AssertionError

    for source, kind, says in cases:
        with pytest.raises(kind, match=says) as caught:
            install(source, home, [builtin], never)
        assert ".draft" not in caught.value.what
        assert files(home) == {}, source


def test_a_removed_plugin_takes_its_data_settings_and_preferences_along(tmp_path: Path) -> None:
    home = tmp_path / "home"
    install(plugin(tmp_path, "a", 'provides = ["f"]'), home, [], yes)
    install(plugin(tmp_path, "b"), home, [], yes)
    write_choices(home, Choices(frozenset({"a", "b"}), {"f": "a"}))
    for path in (data_of(home, "a") / "x", data_of(home, "b") / "x", settings_of(home, "a")):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")

    remove("a", home, [])

    assert read_choices(home) == Choices(frozenset({"b"}), {})
    assert sorted(read_trees(home)) == ["b"]
    assert [one.name for one in catalogue(home, []).plugins] == ["b"]
    left = [str(path.relative_to(home)) for path in home.rglob("*") if path.parent != home]
    assert not [path for path in left if "/a" in path]
    assert (data_of(home, "b") / "x").exists()


def test_only_installed_plugins_are_removed_and_only_known_ones_are_disabled(tmp_path: Path) -> None:
    home, builtin = tmp_path / "home", plugin(tmp_path, "files")
    catalogue(home, [builtin])

    with pytest.raises(UsageError, match="belongs to limnos"):
        remove("files", home, [builtin])
    plugin(home / "plugins", "new")
    with pytest.raises(UsageError, match="not accepted yet"):
        disable("new", home, [builtin])
    for name in ("gone", "../files", "", "A", "."):
        with pytest.raises(UsageError):
            remove(name, home, [builtin])
        with pytest.raises(UsageError):
            disable(name, home, [builtin])
    assert builtin.exists()


def test_a_link_in_the_place_of_a_plugin_is_removed_and_what_it_leads_to_stays(tmp_path: Path) -> None:
    home, elsewhere = tmp_path / "home", plugin(tmp_path, "a")
    (home / "plugins").mkdir(parents=True)
    folder_of(home, "a").symlink_to(elsewhere)

    remove("a", home, [])

    assert not folder_of(home, "a").is_symlink()
    assert (elsewhere / "a.py").exists()


def test_enabling_what_does_not_fit_any_more_is_refused(tmp_path: Path) -> None:
    home = tmp_path / "home"
    install(plugin(tmp_path, "a", tools=GREET.replace("{name}", "same")), home, [], yes)
    disable("a", home, [])
    install(plugin(tmp_path, "b", tools=GREET.replace("{name}", "same")), home, [], yes)

    with pytest.raises(LockError, match="same_greet"):
        enable("a", home, [])

    assert read_choices(home).disabled == {"a"}
    lock = read_lock(home)
    assert lock is not None
    assert [one.name for one in lock.plugins if one.starts] == ["b"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_archives_of_the_shared_cases_are_installed_whole_or_refused_whole(
    tmp_path: Path, case: dict[str, Any]
) -> None:
    home, archive = tmp_path / "home", tmp_path / f"case{SUFFIXES[case['format']]}"
    (tmp_path / "beside").write_text("x")
    if case["expect"] == "refuse":
        build(archive, case)
    else:
        build(archive, {**case, "entries": [_with_room(entry) for entry in case["entries"]]})
        _add_plugin(archive, case)
    outside = sorted(os.listdir(tmp_path))
    try:
        installed = install(archive, home, [], yes) is not None
    except LimnosError:
        installed = False

    assert installed or files(home) == {}

    assert sorted(os.listdir(tmp_path)) in (outside, sorted([*outside, "home"]))
    assert os.listdir(home / "plugins") == (["added"] if installed else [])
    if case["expect"] == "refuse":
        assert not installed
    elif case["expect"] == "extract" and not _has_manifest(case):
        assert installed
    for path in (home / "plugins").rglob("*"):
        assert not path.is_symlink()
        assert path.is_dir() or path.is_file()


def _with_room(entry: dict[str, Any]) -> dict[str, Any]:
    """One of the entries of a case that is at the limit, with room for a plugin beside it."""
    return {**entry, "repeat": entry["repeat"] - 2} if entry.get("repeat", 1) >= 10_000 else entry


def _has_manifest(case: dict[str, Any]) -> bool:
    return any(entry["name"].casefold().endswith("plugin.toml") for entry in case["entries"])


def _add_plugin(archive: Path, case: dict[str, Any]) -> None:
    """Put a right manifest beside what a case has, as a stranger would."""
    if _has_manifest(case):
        return
    added = {"plugin.toml": HEAD.format(name="added").encode(), "added.py": b""}
    if case["format"] in ("tar", "tgz"):
        opened = gzip.open if case["format"] == "tgz" else open
        with opened(archive, "rb") as file:
            data = file.read()
        with opened(archive, "wb") as file:
            file.write(data.rstrip(b"\0") + bytes(-len(data.rstrip(b"\0")) % 512))
            file.write(_tar(added))
        return
    with zipfile.ZipFile(archive, "a") as opened_zip:
        for name, content in added.items():
            opened_zip.writestr(name, content)


def _tar(content: dict[str, bytes]) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for name, data in content.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return made.getvalue()


def _write(path: Path, form: str, content: dict[str, bytes]) -> None:
    if form == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            for name, data in content.items():
                archive.writestr(name, data)
    else:
        path.write_bytes(gzip.compress(_tar(content)))


def test_an_install_that_is_killed_leaves_one_whole_version_that_was_accepted(tmp_path: Path) -> None:
    seed = random.randrange(2**32)
    chance = random.Random(seed)
    home = tmp_path / "home"
    versions = [plugin(tmp_path / f"v{number}", "a", tools=GREET) for number in range(2)]
    for number, version in enumerate(versions):
        for part in range(20):
            (version / f"part{part}").write_text(f"{number}" * 1000)
    install(versions[0], home, [], yes)
    command = [sys.executable, "-c", ENDLESS, str(home), *map(str, versions)]
    for _ in range(10):
        with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT) as child:
            assert child.stdout is not None
            for _ in range(chance.randint(1, 3)):
                assert child.stdout.readline() == b"installed\n"
            with suppress(subprocess.TimeoutExpired):
                child.wait(chance.random() * 0.02)
            child.kill()
        enable("a", home, [])

        (found,) = catalogue(home, []).plugins
        assert (found.down, verify(found)) == ("", ""), seed
        assert os.listdir(home / "plugins") == ["a"], seed
        parts = {(folder_of(home, "a") / f"part{part}").read_text() for part in range(20)}
        assert len(parts) == 1, seed


def test_starts_and_installs_at_the_same_time_lose_no_plugin(tmp_path: Path) -> None:
    home, builtins = tmp_path / "home", [plugin(tmp_path / "limnos", f"own{n}") for n in range(2)]
    names = [f"p{n}" for n in range(6)]
    sources = [plugin(tmp_path, name) for name in names]
    stop = threading.Event()

    def starting(chosen: list[Path]) -> None:
        while not stop.is_set():
            catalogue(home, chosen)  # the two see other plugins of limnos: each writes the lock anew

    with ThreadPoolExecutor(3) as pool:
        starts = [pool.submit(starting, builtins[:1]), pool.submit(starting, builtins)]
        try:
            for source in sources:
                assert install(source, home, [], yes) is not None
        finally:
            stop.set()
        for one in starts:
            one.result(timeout=30)

    found = catalogue(home, builtins)
    assert {one.name for one in found.plugins if one.starts} == {*names, "own0", "own1"}
    assert found.broken == ()


def test_where_the_disk_cannot_exchange_names_a_version_is_replaced_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(beneath, "_RENAMEAT2", None)
    home, source = tmp_path / "home", plugin(tmp_path, "a")
    install(source, home, [], yes)
    (source / "a.py").write_text("changed\n")
    install(source, home, [], yes)

    assert (folder_of(home, "a") / "a.py").read_text() == "changed\n"
    assert os.listdir(home / "plugins") == ["a"]
    (home / "plugins.lock").unlink()
    (home / "plugins.lock").mkdir()
    (source / "a.py").write_text("again\n")
    with pytest.raises(StorageError):
        install(source, home, [], yes)
    assert (folder_of(home, "a") / "a.py").read_text() == "changed\n"
