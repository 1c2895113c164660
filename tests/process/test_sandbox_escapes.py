"""More than 500 ways out of the sandbox, really tried: none gets out. Without its guard each kind does."""

import asyncio
import os
import signal
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from limnos.process import inside, plan, repository
from limnos.process.sandbox import Sandbox

from .escape_world import GIT, World, needed_sandbox
from .escapes import Attempt, attempts
from .test_child import gone

FAMILIES = ("read", "present", "absent", "git", "network", "call", "privilege", "process")
ALL = {f"{one.family}: {one.name}": one for one in attempts()}
ALLOW_ALL = struct.pack("<HBBI", 0x06, 0, 0, 0x7FFF0000)
WITHOUT_LANDLOCK = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); from limnos.process import inside, landlock;"
    " landlock.restrict = lambda rules: 0; inside.main()"
)


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    made = World(tmp_path)
    monkeypatch.setenv("LIMNOS_TEST_API_KEY", made.canary)
    yield made
    made.close()


def left_over(world: World) -> list[int]:
    """Processes on this machine that the attempts of the family `process` start and leave behind."""
    found: list[int] = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                if f"\0{world.sleep}\0".encode() in (folder / "cmdline").read_bytes():
                    found.append(int(folder.name))
            except (FileNotFoundError, ProcessLookupError):
                continue
    return found


def the_person_uses_git(world: World) -> None:
    """What a person does afterwards in every repository of the workspace; plants would run now."""
    for folder in (".", "sub", "deep/er", "mod"):
        for words in (
            ("status",),
            ("add", "-A"),
            ("commit", "--allow-empty", "-qm", "x"),
            ("fetch", "--all"),
        ):
            command = ("git", "-C", str(world.workspace / folder), *words)
            subprocess.run(command, env=GIT, capture_output=True, check=False)


def planted(world: World) -> bool:
    the_person_uses_git(world)
    return (world.outside / "pwned").exists()


@pytest.mark.parametrize("family", FAMILIES)
def test_no_attempt_gets_out(family: str, world: World) -> None:
    chosen = [one for one in attempts() if one.family == family]

    said = asyncio.run(world.try_inside(needed_sandbox(), chosen))

    assert world.escaped(said) == {}
    assert world.changed() == []
    assert world.reached() == []
    assert world.victim_is_well()
    assert asyncio.run(gone(*left_over(world)))
    assert not planted(world)


def test_there_are_more_than_two_hundred_attempts_with_different_names() -> None:
    assert len(ALL) == len(attempts()) > 500
    assert {one.family for one in attempts()} == set(FAMILIES)


def tried(world: World, *names: str, sandbox: Sandbox | None = None, **profile: object) -> set[str]:
    """The names of those that got out."""
    chosen = [ALL[name] for name in names]
    return set(world.escaped(asyncio.run(world.try_inside(sandbox or needed_sandbox(), chosen, **profile))))


def bare(world: World, *names: str) -> set[str]:
    return set(world.escaped(asyncio.run(world.try_bare([ALL[name] for name in names]))))


def unfiltered() -> Sandbox:
    sandbox = needed_sandbox()
    sandbox._filter = ALLOW_ALL  # type: ignore[reportPrivateUsage]
    return sandbox


# What follows are the negative twins: one guard is taken away, and the attack gets out.


def test_without_a_sandbox_secrets_are_read(world: World) -> None:
    names = [f"read: {target}_path" for target in ("outside", "state", "inner")]
    names += [
        "read: made_link",
        "read: hard_link",
        "read: links_of_the_person",
        "read: tar_hidden",
        "read: beneath_root",
    ]
    assert bare(world, *names) == set(names)


def test_without_hiding_a_folder_in_the_workspace_it_is_read(world: World) -> None:
    assert tried(world, "read: inner_path", hidden=()) == {"read: inner_path"}


def test_without_holding_the_folders_above_a_hidden_one_it_can_be_put_aside(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = 'mv "$WS/data" "$WS/data2"; mkdir -p "$INNER"; echo settings > "$INNER/token"'
    move = Attempt("read", "put_aside", script)
    asyncio.run(world.try_inside(needed_sandbox(), [move]))
    assert world.changed() == []

    monkeypatch.setattr(plan, "pinned", lambda path, workspace: [])
    asyncio.run(world.try_inside(needed_sandbox(), [move]))
    assert str(world.inner / "token") in world.changed()


def test_without_protection_names_are_changed_and_made(world: World) -> None:
    names = [
        name
        for name in ALL
        if name.startswith(("present: ", "absent: ")) and name.endswith(("_write", "_file"))
    ]
    tried(world, *names, protect=False)
    changed = {path.removeprefix(f"{world.workspace}/") for path in world.changed()}
    assert {name.split(": ")[1].rsplit("_", 1)[0] for name in names} - {"temporary", "socket"} <= changed


def test_without_stand_ins_absent_names_are_made(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan._Guard, "absent", lambda self, wanted: None)  # type: ignore[reportPrivateUsage]
    tried(world, "absent: .zshrc_file", "absent: .circleci_folder")
    assert {path.rsplit("/", 1)[1] for path in world.changed()} >= {".zshrc", ".circleci"}


@pytest.mark.parametrize(
    "name", ["config", "common_folder", "nested_config", "hooks_folder_named", "included_file"]
)
def test_without_protection_git_of_the_person_runs_what_was_planted(name: str, world: World) -> None:
    tried(world, f"git: {name}", protect=False)
    assert planted(world)


def test_without_a_stand_in_for_the_common_folder_settings_come_from_elsewhere(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = {name: content for name, content in repository._FILES.items() if name != "commondir"}  # type: ignore[reportPrivateUsage]
    monkeypatch.setattr(repository, "_FILES", kept)
    tried(world, "git: common_folder")
    assert planted(world)


def test_without_a_mount_of_its_own_the_folder_of_git_is_replaced(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def only_parts(self: plan._Guard, path: str, whole: bool = False, when_absent: bool = False) -> None:  # type: ignore[reportPrivateUsage]
        self._mounts += [plan.Mount(one, plan.Kind.FIXED) for one in repository.parts(path).fixed]  # type: ignore[reportPrivateUsage]

    monkeypatch.setattr(plan._Guard, "_git", only_parts)  # type: ignore[reportPrivateUsage]
    tried(world, "git: folder_moved", "git: hooks_folder_named")
    assert str(world.workspace / ".git/hooks/pre-commit") in world.changed()


@pytest.mark.parametrize("name", ["nested_parent_moved", "deep_parent_moved", "submodule_file_removed"])
def test_without_a_search_for_them_nested_repositories_are_replaced(
    name: str, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repository, "nested", lambda workspace: [])
    tried(world, f"git: {name}")
    assert planted(world)


def test_with_the_network_servers_of_this_machine_are_reached(world: World) -> None:
    tried(world, "network: loopback", "network: datagram", network=True)
    assert world.reached() == ["tcp", "udp"]


def test_without_the_filter_sockets_in_the_workspace_are_reached(world: World) -> None:
    tried(world, "network: path_socket_in_workspace", "network: pair_sends", sandbox=unfiltered())
    assert [name.split("/")[-1] for name in world.reached()] == ["person.sock'", "dgram"]


def test_with_the_network_either_guard_alone_keeps_abstract_sockets_apart(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def reached(sandbox: Sandbox) -> bool:
        tried(world, "network: abstract", sandbox=sandbox, network=True)
        return bool(world.reached())

    without_filter = reached(unfiltered())
    monkeypatch.setattr(inside, "STARTER", WITHOUT_LANDLOCK)
    without_landlock = reached(needed_sandbox())
    assert not without_landlock
    assert without_filter == (needed_sandbox().landlock < 6)
    assert reached(unfiltered())


def test_without_the_filter_the_kernel_takes_the_calls(world: World) -> None:
    every = [name for name in ALL if name.startswith("call: ")]
    got = {name.removeprefix("call: ") for name in tried(world, *every, sandbox=unfiltered())}
    # the rest is refused for want of capabilities, or not part of this kernel
    assert got >= {
        "io_uring_setup",
        "keyctl",
        "add_key",
        "ptrace",
        "process_vm_readv",
        "personality",
        "clone3",
        "vmsplice",
    }
    assert len(got) > 20


def test_without_landlock_the_memory_of_the_first_process_is_open(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "privilege: first_process_memory"
    assert tried(world, name) == set()
    monkeypatch.setattr(inside, "STARTER", WITHOUT_LANDLOCK)
    assert tried(world, name) == {name}


def test_without_a_sandbox_processes_are_killed_and_left_over(world: World) -> None:
    script = "setsid bash -c 'touch ready; sleep 600; :' $SLEEP & while [ ! -e ready ]; do :; done"
    asyncio.run(world.try_bare([Attempt("process", "daemon", script), ALL["process: kill_victim"]]))
    left = left_over(world)
    for pid in left:
        os.killpg(pid, signal.SIGKILL)
    assert len(left) == 1
    assert world.victim.wait(10) == -signal.SIGKILL
