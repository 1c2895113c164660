"""What a start finds: the lock when nothing changed, and of everything else why it does not start."""

import json
import os
import statistics
import time
from pathlib import Path

import pytest

from limnos.kernel.errors import LimnosError, SettingsError
from limnos.plugins.catalogue import catalogue
from limnos.plugins.choices import Choices, write_choices
from limnos.plugins.faults import LockError
from limnos.plugins.install import disable, enable, install
from limnos.plugins.lock import FILE, UnreadableLockError, read_lock, write_lock
from limnos.plugins.locked import Lock
from limnos.plugins.locking import accept, propose
from limnos.plugins.reading import read_manifest
from limnos.plugins.settling import accepted
from limnos.plugins.stale import verify
from limnos.plugins.trees import MOST_FILES, TreeError, tree_of
from tests.plugins.making import GREET, plugin

GUARD = '[[stages]]\nname = "{name}_guard"\nstage = "before_toolcall"\n'


def put(home: Path, source: Path, builtins: list[Path] | None = None) -> None:
    """Install with a yes."""
    assert install(source, home, builtins or [], lambda _: True) is not None


def reasons(lock: Lock) -> dict[str, str]:
    """Why each plugin that does not start does not."""
    down = {one.name: "disabled" if one.disabled else one.down for one in lock.plugins if not one.starts}
    return down | {one.name: one.reason for one in lock.broken}


def test_a_home_without_plugins_has_an_empty_catalogue(tmp_path: Path) -> None:
    assert catalogue(tmp_path / "home", []) == Lock()
    assert not (tmp_path / "home").exists()


def test_builtin_plugins_are_locked_at_the_first_start_and_anew_when_they_change(tmp_path: Path) -> None:
    home, folder = tmp_path / "home", plugin(tmp_path, "files", 'provides = ["files"]', tools=GREET)

    first = catalogue(home, [folder])
    assert [one.name for one in first.plugins] == ["files"]
    assert read_lock(home) == first

    with (folder / "plugin.toml").open("a") as file:
        file.write('effects = "local"\n'.replace("effects", "[[tools]]\nname='b'\ndescription='c'\neffects"))
    assert sorted(catalogue(home, [folder]).tools) == ["b", "files_greet"]
    other = plugin(tmp_path, "other", 'needs = ["files"]')
    assert [one.name for one in catalogue(home, [folder, other]).plugins] == ["files", "other"]
    assert catalogue(home, []) == Lock()
    assert read_lock(home) == Lock()


def test_a_lock_is_read_as_it_was_written(tmp_path: Path) -> None:
    home = tmp_path / "home"
    put(home, plugin(tmp_path, "a", 'capabilities = ["network"]', 'scenes = ["x"]', tools=GREET + GUARD))
    lock = read_lock(home)

    assert lock is not None
    write_lock(home, lock)
    assert read_lock(home) == lock
    manifest = read_manifest(home / "plugins" / "a")
    assert lock.plugins[0].manifest == manifest
    assert lock.plugins[0].tree == tree_of(home / "plugins" / "a").digest


@pytest.mark.parametrize("change", ["content", "new", "gone", "executable", "manifest", "link"])
def test_a_changed_plugin_is_down_until_a_person_accepts_it(tmp_path: Path, change: str) -> None:
    home = tmp_path / "home"
    put(home, plugin(tmp_path, "a", tools=GREET + GUARD))
    place = home / "plugins" / "a"
    (place / "more.txt").write_text("x")
    accept(home, propose(home, []))
    assert reasons(catalogue(home, [])) == {}
    _change(place, change)

    lock = catalogue(home, [])

    locked = lock.plugins[0]
    quick = bool(locked.down)
    assert quick or verify(locked)
    assert quick == (change in ("content", "manifest"))
    assert list(lock.tools) == ["a_greet"]
    assert [stage.policy for _, stage in lock.stages] == ["fail_closed"]
    if change != "link":
        (changed,) = propose(home, []).changes
        assert changed.kind == "changed"
        accept(home, propose(home, []))
        assert reasons(catalogue(home, [])) == {}
        assert propose(home, []).changes == ()


def _change(place: Path, change: str) -> None:
    match change:
        case "content":
            (place / "a.py").write_text("import evil\n")
        case "new":
            (place / "new.py").write_text("")
        case "gone":
            (place / "more.txt").unlink()
        case "executable":
            (place / "more.txt").chmod(0o700)
        case "manifest":
            with (place / "plugin.toml").open("a") as file:
                file.write("# more\n")
        case _:
            (place / "link").symlink_to("/etc/hostname")


def test_what_changed_is_said_file_by_file_with_new_capabilities(tmp_path: Path) -> None:
    home = tmp_path / "home"
    put(home, plugin(tmp_path, "a", 'capabilities = ["io"]'))
    place = home / "plugins" / "a"
    (place / "new.txt").write_text("")
    text = (place / "plugin.toml").read_text()
    (place / "plugin.toml").write_text(text.replace('["io"]', '["io", "process"]'))

    (change,) = propose(home, []).changes

    assert change.files.added == ("new.txt",)
    assert change.files.changed == ("plugin.toml",)
    assert change.added == ("process",)


def test_what_changed_again_while_a_person_looked_is_not_accepted(tmp_path: Path) -> None:
    home = tmp_path / "home"
    put(home, plugin(tmp_path, "a"))
    (home / "plugins" / "a" / "a.py").write_text("shown\n")
    shown = propose(home, [])
    (home / "plugins" / "a" / "a.py").write_text("not shown\n")

    with pytest.raises(LimnosError, match="while you looked"):
        accept(home, shown)

    assert "its files changed" in reasons(catalogue(home, []))["a"]


def test_a_file_that_only_got_another_time_changes_nothing(tmp_path: Path) -> None:
    home = tmp_path / "home"
    put(home, plugin(tmp_path, "a"))
    os.utime(home / "plugins" / "a" / "plugin.toml", (1, 1))

    assert reasons(catalogue(home, [])) == {}


def test_a_plugin_that_nobody_accepted_does_not_start_and_says_so(tmp_path: Path) -> None:
    home = tmp_path / "home"
    plugin(home / "plugins", "a", tools=GREET)
    (home / "plugins" / "b").mkdir()
    (home / "plugins" / ".draft-1").mkdir()

    found = catalogue(home, [])

    assert found.plugins == ()
    assert set(reasons(found)) == {"a", "b"}
    assert "not accepted" in reasons(found)["a"]


def test_a_plugin_whose_folder_is_gone_is_down_with_those_that_need_it(tmp_path: Path) -> None:
    home = tmp_path / "home"
    put(home, plugin(tmp_path, "a", 'provides = ["f"]'))
    put(home, plugin(tmp_path, "b", 'needs = ["f"]'))
    (home / "plugins" / "a").rename(tmp_path / "elsewhere")

    found = reasons(catalogue(home, []))

    assert "gone" in found["a"]
    assert found["b"] == "a, of which it needs f, is down"


@pytest.mark.parametrize(
    "content", [b"{", b"[]", b'{"format": 9}', b'{"format": 1, "plugins": [{}]}', b"\xff"]
)
def test_a_broken_lock_stops_no_start_and_no_plugin_of_limnos(tmp_path: Path, content: bytes) -> None:
    home, files = tmp_path / "home", plugin(tmp_path, "files")
    put(home, plugin(tmp_path, "a"), [files])
    (home / FILE).write_bytes(content)

    found = catalogue(home, [files])

    assert [one.name for one in found.plugins] == ["files"]
    assert "limnos plugins lock" in reasons(found)["a"]
    assert (home / FILE).read_bytes() == content
    with pytest.raises(UnreadableLockError):
        read_lock(home)
    accept(home, propose(home, [files]))
    assert reasons(catalogue(home, [files])) == {}


def test_a_builtin_plugin_that_cannot_be_read_is_said_and_the_others_start(tmp_path: Path) -> None:
    good, bad = plugin(tmp_path, "good"), plugin(tmp_path, "bad", "nonsense = 1")

    found = catalogue(tmp_path / "home", [good, bad])

    assert [one.name for one in found.plugins if one.starts] == ["good"]
    assert "nonsense" in reasons(found)["bad"]


def test_a_new_plugin_of_limnos_wins_against_an_installed_one(tmp_path: Path) -> None:
    home = tmp_path / "home"
    put(home, plugin(tmp_path, "a", 'provides = ["f"]', tools=GREET.replace("{name}", "same")))
    put(home, plugin(tmp_path, "b", 'needs = ["f"]'))
    put(home, plugin(tmp_path, "twin"))
    builtins = [plugin(tmp_path / "limnos", "files", tools=GREET.replace("{name}", "same")),
                plugin(tmp_path / "limnos", "twin")]  # fmt: skip

    found = catalogue(home, builtins)

    assert [one.name for one in found.plugins if one.starts] == ["files", "twin"]
    assert found.tools["same_greet"][0].name == "files"
    assert "same_greet is declared by files and by a" in reasons(found)["a"]
    assert reasons(found)["b"] == "b needs f, which no plugin provides"
    assert "a plugin of limnos has that name" in reasons(found)["twin"]
    assert reasons(catalogue(home, builtins)) == reasons(found)
    found = catalogue(home, [])
    assert [one.name for one in found.plugins if one.starts] == ["a", "b"]


def test_a_disabled_plugin_is_listed_and_does_not_start_nor_does_its_guard_deny(tmp_path: Path) -> None:
    home, builtin = tmp_path / "home", plugin(tmp_path, "own", tools=GREET)
    put(home, plugin(tmp_path, "guard", 'provides = ["g"]', tools=GUARD), [builtin])
    put(home, plugin(tmp_path, "b", 'needs = ["g"]'), [builtin])

    disable("guard", home, [builtin])
    disable("own", home, [builtin])
    found = catalogue(home, [builtin])

    assert reasons(found)["guard"] == reasons(found)["own"] == "disabled"
    assert reasons(found)["b"] == "b needs g, which no plugin provides"
    assert found.stages == ()
    assert found.tools == {}
    for name in ("guard", "own"):
        enable(name, home, [builtin])
    assert reasons(catalogue(home, [builtin])) == {}


def test_what_was_disabled_stays_so_when_the_lock_or_the_choices_are_lost(tmp_path: Path) -> None:
    home, builtin = tmp_path / "home", plugin(tmp_path, "own")
    disable("own", home, [builtin])
    (home / FILE).unlink()
    assert reasons(catalogue(home, [builtin])) == {"own": "disabled"}

    (home / "plugins.json").write_text("{")
    assert reasons(catalogue(home, [builtin])) == {"own": "disabled"}


def test_a_preference_is_kept_and_its_absence_is_an_error_before_a_start(tmp_path: Path) -> None:
    home, one = tmp_path / "home", plugin(tmp_path, "one", 'provides = ["f"]')
    two, user = plugin(tmp_path, "two", 'provides = ["f"]'), plugin(tmp_path, "user", 'needs = ["f"]')
    write_choices(home, Choices(prefer={"f": "two"}))

    lock = catalogue(home, [one, two, user])

    assert [need.plugin for need in lock.plugins[-1].needs] == ["two"]


def test_a_tree_with_links_special_files_or_too_many_files_is_refused(tmp_path: Path) -> None:
    for name in ("link", "pipe", "many", "gone"):
        (tmp_path / name).mkdir()
    (tmp_path / "link" / "a").symlink_to("b")
    os.mkfifo(tmp_path / "pipe" / "a")
    for number in range(MOST_FILES + 1):
        os.close(os.open(tmp_path / "many" / str(number), os.O_CREAT | os.O_WRONLY))
    (tmp_path / "gone").rmdir()
    (tmp_path / "linked").symlink_to(plugin(tmp_path, "a"))

    for name, says in (
        ("link", "'a' is a link"),
        ("pipe", "special"),
        ("many", "10,000"),
        ("gone", "No such"),
        ("linked", "it is a link"),
    ):
        with pytest.raises(TreeError, match=says):
            tree_of(tmp_path / name)


def test_the_hash_tells_apart_contents_names_and_who_may_be_run(tmp_path: Path) -> None:
    digests: set[str] = set()
    for number, (name, text, mode) in enumerate(
        [("a", "x", 0o600), ("a", "x", 0o700), ("b", "x", 0o600), ("a", "y", 0o600), ("c/a", "x", 0o600)]
    ):
        path = tmp_path / str(number) / name
        path.parent.mkdir(parents=True)
        path.write_text(text)
        path.chmod(mode)
        digests.add(tree_of(tmp_path / str(number)).digest)
    (tmp_path / "again").mkdir()
    (tmp_path / "again" / "a").write_text("x")
    (tmp_path / "again" / "a").chmod(0o644)

    assert len(digests) == 5
    assert tree_of(tmp_path / "again").digest in digests


def test_a_start_with_ten_plugins_takes_a_moment(tmp_path: Path) -> None:
    home = tmp_path / "home"
    tools = "".join(GREET.replace("_greet", f"_greet{n}") for n in range(10)) + GUARD
    builtins = [plugin(tmp_path, f"own{n}", tools=tools) for n in range(5)]
    for number in range(5):
        put(home, plugin(tmp_path, f"foreign{number}", tools=tools), builtins)
    times: list[float] = []
    for _ in range(30):
        begun = time.perf_counter()
        lock = catalogue(home, builtins)
        times.append(time.perf_counter() - begun)

    assert len(lock.plugins) == 10
    assert len(lock.tools) == 100
    assert statistics.median(times) < 0.02, "it is 2 ms on an idle machine"


def test_the_lock_holds_no_path_of_an_installed_plugin(tmp_path: Path) -> None:
    home = tmp_path / "home"
    put(home, plugin(tmp_path, "a"))
    assert str(tmp_path) not in json.dumps(json.loads((home / FILE).read_text()))

    home.rename(tmp_path / "moved")
    found = catalogue(tmp_path / "moved", [])

    assert reasons(found) == {}
    assert found.plugins[0].manifest.folder == str(tmp_path / "moved" / "plugins" / "a")
    assert accepted(found.plugins[0].manifest).prints == found.plugins[0].prints


@pytest.mark.parametrize(
    "content", [b"{", b"[]", b"\xff", b'{"disabled": 1}', b'{"prefer": {"f": 1}}', b'{"disabled": [1]}']
)
def test_choices_that_cannot_be_read_are_an_error_of_commands_and_no_end_of_a_start(
    tmp_path: Path, content: bytes
) -> None:
    home = tmp_path / "home"
    put(home, plugin(tmp_path, "a"))
    (home / "plugins.json").write_bytes(content)

    assert [one.starts for one in catalogue(home, []).plugins] == [True]
    for command in (lambda: disable("a", home, []), lambda: propose(home, [])):
        with pytest.raises(SettingsError, match=r"plugins\.json"):
            command()
    assert (home / "plugins.json").read_bytes() == content


def test_a_lock_lists_what_is_wrong_with_every_plugin_at_once(tmp_path: Path) -> None:
    home = tmp_path / "home"
    plugin(home / "plugins", "a", "colour = 1")
    plugin(home / "plugins", "b").joinpath("link").symlink_to("b.py")
    plugin(home / "plugins", "c").rename(home / "plugins" / "d")
    (home / "plugins" / "e").mkdir()

    with pytest.raises(LockError) as caught:
        propose(home, [])

    places = [
        "a/plugin.toml, line 6: colour",
        "plugins/b was refused",
        "d holds the plugin c",
        "e/plugin.toml",
    ]
    assert len(caught.value.lines) == len(places)
    assert all(place in line for place, line in zip(places, caught.value.lines, strict=True))
    assert read_lock(home) is None


def test_a_removed_folder_is_forgotten_by_the_next_lock(tmp_path: Path) -> None:
    home = tmp_path / "home"
    put(home, plugin(tmp_path, "a"))
    put(home, plugin(tmp_path, "b"))
    (home / "plugins" / "a").rename(tmp_path / "elsewhere")

    proposal = propose(home, [])

    assert [(one.name, one.kind) for one in proposal.changes] == [("a", "gone")]
    accept(home, proposal)
    assert reasons(catalogue(home, [])) == {}


def test_a_home_that_cannot_be_written_starts_all_the_same(tmp_path: Path) -> None:
    home, builtin = tmp_path / "home", plugin(tmp_path, "files")
    home.write_text("in the place of the folder")

    found = catalogue(home, [builtin])

    assert [one.name for one in found.plugins if one.starts] == ["files"]
