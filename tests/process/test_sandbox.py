"""Programs work inside the sandbox, and it leaves nothing behind."""

import asyncio
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from limnos.process import cgroup, child
from limnos.process.capture import Completed, run
from limnos.process.profile import Profile
from limnos.process.protected import IN_WORKSPACE
from limnos.process.sandbox import NoSandbox, Sandbox, probe
from limnos.process.spawn import ChildSpec, Limits, StartError

from .escape_world import GIT, PATH, git, needed_sandbox
from .test_child import alive, gone

HOME = os.path.expanduser("~")
ENV = {**GIT, "HOME": HOME}


@pytest.fixture(scope="module")
def sandbox() -> Sandbox:
    return needed_sandbox()


def inside(
    sandbox: Sandbox, workspace: Path, script: str, env: Mapping[str, str] = ENV, **profile: object
) -> Completed:
    """Run `script` by bash in `workspace`."""
    limits = profile.pop("limits", Limits())
    timeout = profile.pop("timeout_s", 60)
    spec = ChildSpec(("bash", "-c", script), str(workspace), env, limits=limits)  # type: ignore[arg-type]

    async def go() -> Completed:
        with sandbox.enter(spec, Profile(str(workspace), ())._replace(**profile)) as inner:  # type: ignore[arg-type]
            return await run(inner, timeout_s=timeout)  # type: ignore[arg-type]

    return asyncio.run(go())


def listing(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def repository(folder: Path) -> Path:
    git(folder, "init", "-q", ".")
    (folder / "one.txt").write_text("one\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    return folder


# What works inside


@pytest.mark.parametrize(
    ("name", "script", "says"),
    [
        ("python3", 'python3 -c "import json, ssl, sqlite3, subprocess; print(6 * 7)"', "42"),
        ("make", 'printf "all:\\n\\t@echo made > out; cat out\\n" > Makefile; make', "made"),
        ("gcc", 'echo "int main(void){return 7;}" > a.c; gcc a.c -o a && ./a; echo $?', "7"),
        ("grep", "grep -rn one .", "one.txt:1:one"),
        ("node", "node -e \"require('fs').writeFileSync('n', 'x'); console.log(3 * 7)\"", "21"),
        ("npm", 'npm --offline init -y > /dev/null && npm pkg get name', '"'),
        ("bash", 'cat <(echo a) <<< b; [[ -w /dev/null ]] && echo ok | tee /dev/stderr', "ok"),
        ("find", "find . -name '*.txt' -exec sed -i s/one/two/ {} + && cat one.txt", "two"),
        ("tar", "tar czf /tmp/x.tgz one.txt && tar tzf /tmp/x.tgz", "one.txt"),
        ("perl", "perl -e 'print 1+1'", "2"),
        ("ps", "ps -e | wc -l | grep -E '^ *[0-9]{1,2}$' && id -u", str(os.geteuid())),
    ],
)  # fmt: skip
def test_ordinary_programs_work(name: str, script: str, says: str, sandbox: Sandbox, tmp_path: Path) -> None:
    if shutil.which(name, path=PATH) is None:
        assert name in ("node", "npm", "gcc", "make", "perl"), name
        return
    done = inside(sandbox, repository(tmp_path), script)
    assert done.exit == 0, done.output
    assert says in done.output.decode()


def test_a_repository_is_worked_in_as_usual(sandbox: Sandbox, tmp_path: Path) -> None:
    script = """set -e
        test -z "$(git status --porcelain --ignored)"
        echo two > two.txt; git add -A; git commit -qm second
        git checkout -q -b topic; echo three > one.txt; git commit -qam third
        git checkout -q -; git merge -q topic; git stash list; git tag v1; git log --oneline | wc -l
        git rebase -q HEAD~1; git gc -q; git fsck; git diff HEAD~1 --stat; git worktree list
        echo x > one.txt; git stash -q; git stash pop -q; git restore one.txt; git mv two.txt 2.txt
        git reset -q --hard"""
    done = inside(sandbox, repository(tmp_path), script)
    assert done.exit == 0, done.output
    assert b"3" in done.output
    git(tmp_path, "fsck")
    assert (
        subprocess.run(
            ("git", "status", "--porcelain"), cwd=tmp_path, env=GIT, capture_output=True, check=True
        ).stdout
        == b""
    )


def test_a_repository_inside_can_be_removed_and_made_again(sandbox: Sandbox, tmp_path: Path) -> None:
    repository(tmp_path)
    for script in ("git clone -q . copy", "ls copy", "rm -rf copy/* copy/.git", "git clone -q . other"):
        inside(sandbox, tmp_path, script)
    shutil.rmtree(tmp_path / "copy")
    done = inside(
        sandbox, tmp_path, "git clone -q . copy && git -C copy log --oneline && cd other && git add -A"
    )
    assert done.exit == 0, done.output


def test_a_folder_swapped_for_a_link_all_the_time_shows_nothing_of_the_outside(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "secret").write_text("canary")
    workspace = tmp_path / "ws"
    (workspace / "x" / ".git").mkdir(parents=True)
    (workspace / "link").symlink_to("../out")
    over = threading.Event()

    def swap() -> None:
        while not over.is_set():
            for one, other in (("x", "y"), ("link", "x"), ("x", "link"), ("y", "x")):
                with contextlib.suppress(OSError):  # a stand-in is in the way at this moment
                    os.rename(workspace / one, workspace / other)

    swapping = threading.Thread(target=swap)
    swapping.start()
    said: list[bytes] = []
    try:
        for _ in range(40):
            with contextlib.suppress(StartError):  # noticed before anything was mounted
                said.append(inside(Sandbox(sandbox.bwrap), workspace, "cat */secret */*/secret").output)
    finally:
        over.set()
        swapping.join()
    assert said
    assert not any(b"canary" in text for text in said)


def test_settings_of_a_repository_fail_with_a_clear_error(sandbox: Sandbox, tmp_path: Path) -> None:
    done = inside(sandbox, repository(tmp_path), "git config user.name x")
    assert done.exit != 0
    assert b"could not write config file" in done.output


def test_a_virtual_environment_is_made_and_used(sandbox: Sandbox, tmp_path: Path) -> None:
    script = "python3 -m venv --without-pip .venv && .venv/bin/python -c 'import sys; print(sys.prefix)'"
    path = f"{os.path.dirname(os.path.realpath(sys.executable))}:{PATH}"
    done = inside(sandbox, tmp_path, script, {**ENV, "PATH": path})
    assert done.output.decode().strip() == str(tmp_path / ".venv")


def test_a_server_of_its_own_answers_on_loopback(sandbox: Sandbox, tmp_path: Path) -> None:
    script = (
        "python3 -c \"import socket, threading; s = socket.create_server(('127.0.0.1', 0));"
        " c = socket.create_connection(s.getsockname()); s.accept()[0].send(b'hello'); print(c.recv(9))\""
    )
    assert inside(sandbox, tmp_path, script).output == b"b'hello'\n"


def test_the_environment_is_exactly_what_was_declared(
    sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIMNOS_CANARY", "secret")
    spec = ChildSpec(("/usr/bin/env",), str(tmp_path), {"ONLY": "this\nand that", "ODD": "ä\udcff="})

    async def go() -> Completed:
        with sandbox.enter(spec, Profile(str(tmp_path), ())) as inner:
            assert not any("and that" in word for word in inner.argv)
            return await run(inner, timeout_s=20)

    assert asyncio.run(go()).output == b"ONLY=this\nand that\nODD=\xc3\xa4\xff=\n"


def test_a_child_talks_over_its_standard_streams(sandbox: Sandbox, tmp_path: Path) -> None:
    async def talk() -> tuple[bytes, int]:
        spec = ChildSpec(("bash", "-c", "read line; echo got $line; cat"), str(tmp_path), ENV)
        with sandbox.enter(spec, Profile(str(tmp_path), ())) as inner:
            started = await child.start(inner)
            started.writer.write(b"hello\n")
            line = await started.reader.readline()
            status = await started.stop()
        return line, status

    assert asyncio.run(talk()) == (b"got hello\n", -signal.SIGTERM)


def test_passed_descriptors_arrive_and_no_others(sandbox: Sandbox, tmp_path: Path) -> None:
    read, write = os.pipe()
    spec = ChildSpec(
        ("bash", "-c", f"echo hi >&{write}; ls /proc/self/fd | wc -l"), str(tmp_path), ENV, pass_fds=(write,)
    )

    async def go() -> Completed:
        with sandbox.enter(spec, Profile(str(tmp_path), ())) as inner:
            return await run(inner, timeout_s=20)

    done = asyncio.run(go())
    os.close(write)
    with os.fdopen(read, "rb") as file:
        assert file.read() == b"hi\n"
    assert done.output == b"5\n"  # three, the passed one, and the listing's own


def test_limits_hold(sandbox: Sandbox, tmp_path: Path) -> None:
    script = "ulimit -c; ulimit -n; dd if=/dev/zero of=big bs=1k count=100 2>&1 | tail -1; stat -c %s big"
    done = inside(sandbox, tmp_path, script, limits=Limits(files=64, file_size=10_240))
    assert done.output.decode().split()[:2] == ["0", "64"]
    assert done.output.endswith(b"10240\n")
    grown = inside(sandbox, tmp_path, "python3 -c 'x = bytearray(1 << 30)'", limits=Limits(memory=512 << 20))
    assert b"MemoryError" in grown.output


def test_folders_are_shown_as_the_profile_says(sandbox: Sandbox, tmp_path: Path) -> None:
    for name in ("ws", "read", "write", "neither"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    script = f"cat {tmp_path}/*/file; for d in read write neither; do echo x > {tmp_path}/$d/new; done"
    done = inside(
        sandbox,
        tmp_path / "ws",
        script,
        readable=(str(tmp_path / "read"),),
        writable=(str(tmp_path / "write"),),
    )
    assert done.output.startswith(b"readwrite") or done.output.startswith(b"readws")
    assert b"cat:" not in done.output
    assert [name for name in ("read", "write", "neither") if (tmp_path / name / "new").exists()] == ["write"]


def test_a_workspace_inside_of_a_hidden_folder_is_shown_and_nothing_else_of_it(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    workspace = tmp_path / "state" / "work"
    workspace.mkdir(parents=True)
    (tmp_path / "state" / "secret").write_text("canary")
    done = inside(sandbox, workspace, "ls -A ..; touch made", hidden=(str(tmp_path / "state"),))
    assert done.output == b"work\n"
    assert (workspace / "made").exists()


def test_tools_on_the_path_are_shown_but_never_the_home(sandbox: Sandbox, tmp_path: Path) -> None:
    home = tmp_path / "home"
    for folder in ("tools", ".ssh", "own/bin", "own/lib", "own/include"):
        (home / folder).mkdir(parents=True)
    (home / ".ssh" / "id").write_text("canary")
    (home / "own" / "lib" / "part").write_text("part")
    (home / "tools" / "tool").write_text("#!/bin/sh\necho tool\n")
    (home / "tools" / "tool").chmod(0o755)
    (tmp_path / "ws").mkdir()
    env = {"HOME": str(home), "PATH": f"{home}:{home}/tools:{home}/own/bin:{tmp_path}:{PATH}"}
    done = inside(sandbox, tmp_path / "ws", f"tool; cat {home}/own/lib/part; cat ~/.ssh/id; ls -A ~", env)
    assert b"tool\npart" in done.output
    assert b"canary" not in done.output
    assert done.output.endswith(b"own\ntools\n")


# What is left behind


@pytest.mark.parametrize("with_git", [True, False])
def test_nothing_is_left_in_the_workspace(with_git: bool, sandbox: Sandbox, tmp_path: Path) -> None:
    (repository(tmp_path) if with_git else tmp_path).joinpath(".github").mkdir()
    before = listing(tmp_path)
    done = inside(sandbox, tmp_path, "ls -A; git status --porcelain --ignored | grep . && echo DIRTY")
    assert b".zshrc" in done.output
    assert b"DIRTY" not in done.output
    assert listing(tmp_path) == before


def test_what_is_there_stays_as_it_is(sandbox: Sandbox, tmp_path: Path) -> None:
    (tmp_path / ".vscode").mkdir()
    (tmp_path / ".mcp.json").write_text("")
    (tmp_path / ".idea").mkdir(0o555)
    inside(sandbox, tmp_path, "true")
    assert listing(tmp_path) == [".idea", ".mcp.json", ".vscode"]


def test_stand_ins_stay_until_the_last_one_has_ended(sandbox: Sandbox, tmp_path: Path) -> None:
    spec = ChildSpec(("true",), str(tmp_path), ENV)
    profile = Profile(str(tmp_path), ())
    with sandbox.enter(spec, profile):
        with sandbox.enter(spec, profile):
            pass
        with needed_sandbox().enter(spec, profile):
            pass
        assert (tmp_path / ".zshrc").is_dir()
    assert listing(tmp_path) == []


def test_what_a_killed_limnos_leaves_goes_with_the_next_run(sandbox: Sandbox, tmp_path: Path) -> None:
    repository(tmp_path)
    before = listing(tmp_path / ".git")
    program = (
        "import asyncio\n"
        "from limnos.process import child\n"
        "from limnos.process.profile import Profile\n"
        "from limnos.process.sandbox import probe\n"
        "from limnos.process.spawn import ChildSpec\n"
        "async def main(ws):\n"
        "    spec = ChildSpec(('bash', '-c', 'echo up; sleep 600'), ws, {'PATH': '/usr/bin'})\n"
        "    with probe().enter(spec, Profile(ws, ())) as inner:\n"
        "        running = await child.start(inner)\n"
        "        await running.reader.readline()\n"
        "        print(running.pid, flush=True)\n"
        "        await asyncio.sleep(600)\n"
        f"asyncio.run(main({str(tmp_path)!r}))\n"
    )

    async def kill() -> bool:
        limnos = await child.start(ChildSpec((sys.executable, "-c", program), str(tmp_path)))
        pid = int(await limnos.reader.readline())
        os.kill(limnos.pid, signal.SIGKILL)
        over = await gone(pid)
        await limnos.stop()
        return over

    assert asyncio.run(kill())
    assert (tmp_path / ".zshrc").is_dir()
    git(tmp_path, "status")
    assert inside(sandbox, tmp_path, "git log --oneline").exit == 0
    assert listing(tmp_path / ".git") == before
    assert sorted(path.name for path in tmp_path.iterdir()) == [".git", "one.txt"]


def test_what_a_person_puts_into_a_stand_in_is_kept(sandbox: Sandbox, tmp_path: Path) -> None:
    spec = ChildSpec(("true",), str(tmp_path), ENV)
    with sandbox.enter(spec, Profile(str(tmp_path), ())):
        (tmp_path / ".idea").chmod(0o755)
        (tmp_path / ".idea" / "mine").write_text("x")
    assert listing(tmp_path) == [".idea", ".idea/mine"]


def test_a_hundred_runs_leave_no_descriptor(sandbox: Sandbox, tmp_path: Path) -> None:
    inside(sandbox, tmp_path, "true")
    before = len(os.listdir("/proc/self/fd"))
    spec = ChildSpec(("true",), str(tmp_path), ENV)
    for _ in range(100):
        with sandbox.enter(spec, Profile(str(tmp_path), ())):
            pass
    assert len(os.listdir("/proc/self/fd")) == before
    assert listing(tmp_path) == []


# The end


def test_a_command_over_time_is_ended_with_all_it_started(sandbox: Sandbox, tmp_path: Path) -> None:
    script = (
        "(setsid bash -c 'trap \"\" TERM HUP; echo $$ > inner; sleep 976') & disown; trap '' TERM; sleep 976"
    )
    done = inside(sandbox, tmp_path, script, timeout_s=1)
    assert done.timed_out
    assert asyncio.run(gone(*(pid for pid in running("976"))))


def running(word: str) -> list[int]:
    found: list[int] = []
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and f"\0{word}\0".encode() in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def test_cancelling_ends_everything_inside(sandbox: Sandbox, tmp_path: Path) -> None:
    async def cancel() -> bool:
        seen = asyncio.Event()
        script = "setsid bash -c 'echo up; sleep 600; :' 975 & sleep 600; :"
        spec = ChildSpec(("bash", "-c", script, "975"), str(tmp_path), ENV)
        with sandbox.enter(spec, Profile(str(tmp_path), ())) as inner:
            task = asyncio.create_task(run(inner, timeout_s=60, on_output=lambda _: seen.set()))
            await asyncio.wait_for(seen.wait(), 20)
            pids = running("975")
            assert sum(map(alive, pids)) > 2
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        return await gone(*pids)

    assert asyncio.run(cancel())


def test_a_fork_bomb_ends_with_its_time(sandbox: Sandbox, tmp_path: Path) -> None:
    script = "trap '' TERM; bomb() { bomb | bomb & }; echo start; bomb; sleep 974"
    done = inside(sandbox, tmp_path, script, limits=Limits(processes=200), timeout_s=1)
    assert done.timed_out
    assert asyncio.run(gone(*running("bomb"), *running("974")))


# What there is no sandbox for


def fake(folder: Path, script: str, mode: int = 0o755) -> str:
    program = folder / "bwrap"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(mode)
    return str(folder)


HELP = "/usr/bin/bwrap --help"
ASKED = f'test "$1" = --help && exec {HELP}; '


@pytest.mark.parametrize(
    ("script", "mode", "why", "fix"),
    [
        ("exit 1", 0o755, "does not work: it ended with status 1", "again"),
        ("exec sleep 60", 0o755, "does not work: .*timed out", "again"),
        ("exit 0", 0o644, "is not executable", "chmod 755"),
        (f"{HELP} | grep -v bind-fd", 0o755, "is too old: it lacks --bind-fd, --ro-bind-fd", "0.8"),
        (ASKED + 'echo "No permissions to create new namespace" >&2; exit 1', 0o755,
         "this system refuses a sandbox: No permissions", "unprivileged_userns"),
        (ASKED + 'echo "Can\'t mount proc" >&2; exit 1', 0o755, "refuses", "container"),
        (ASKED + "exit 0", 0o755, "does not work: it printed nothing", "again"),
        (ASKED + "exec sleep 60", 0o755, "does not work: .*timed out", "again"),
        ("exit 1", 0o757, "can be changed by others", "again"),
    ],
)  # fmt: skip
def test_a_broken_bwrap_is_named_with_a_way_out(
    script: str, mode: int, why: str, fix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("limnos.process.sandbox.PROBE_S", 1.0)
    found = probe(fake(tmp_path, script, mode))
    assert isinstance(found, NoSandbox)
    assert re.search(why, found.why), found
    assert fix in found.fix


@pytest.mark.parametrize("path", ["", "/no/such/folder", "relative:."])
def test_a_missing_bwrap_is_named(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake(tmp_path, "exit 0")
    monkeypatch.chdir(tmp_path)
    assert probe(path) == NoSandbox(
        "bubblewrap (bwrap) is not installed",
        "install bubblewrap 0.8 or newer from your distribution (apt install bubblewrap)",
    )


@pytest.mark.parametrize("workspace", ["/", "/usr", "/etc", "/proc/self", "/dev", "/no/such/folder"])
def test_a_part_of_the_system_is_no_workspace(workspace: str, sandbox: Sandbox) -> None:
    with pytest.raises(StartError, match="workspace"):
        enter(sandbox, ChildSpec(("true",), "/", ENV), Profile(workspace, ()))


def enter(sandbox: Sandbox, spec: ChildSpec, profile: Profile) -> None:
    with sandbox.enter(spec, profile):
        pass


def test_what_cannot_be_protected_is_an_error(sandbox: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "ws").mkdir()
    (tmp_path / "ws" / ".vscode").symlink_to(tmp_path / "elsewhere")
    spec = ChildSpec(("true",), str(tmp_path / "ws"), ENV)
    with pytest.raises(StartError, match=r"cannot protect .*\.vscode: it is a symbolic link"):
        enter(sandbox, spec, Profile(str(tmp_path / "ws"), ()))
    (tmp_path / "ws" / "state").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StartError, match="symbolic link"):
        enter(sandbox, spec, Profile(str(tmp_path / "ws"), (str(tmp_path / "ws" / "state"),), protect=False))
    assert listing(tmp_path / "ws") == [".vscode", "state"]


def test_a_repository_with_links_for_its_settings_cannot_be_committed_to(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    repository(tmp_path)
    (tmp_path / "hooks").mkdir()
    shutil.rmtree(tmp_path / ".git" / "hooks", ignore_errors=True)
    (tmp_path / ".git" / "hooks").symlink_to(tmp_path / "hooks")
    done = inside(sandbox, tmp_path, "git status --porcelain; git commit --allow-empty -m x; rm .git/hooks")
    assert done.exit != 0
    assert b"Read-only file system" in done.output


def test_a_working_folder_that_is_not_shown_is_an_error(sandbox: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    with pytest.raises(StartError, match="does not show its working folder"):
        enter(sandbox, ChildSpec(("true",), str(tmp_path), ENV), Profile(str(tmp_path / "ws"), ()))


def test_a_program_that_is_not_shown_says_so(sandbox: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    own = tmp_path / "own"
    own.write_text("#!/bin/sh\n")
    own.chmod(0o755)
    done = inside(sandbox, tmp_path / "ws", f"exec {own}")
    assert done.exit in (126, 127)
    spec = ChildSpec((str(own),), str(tmp_path / "ws"), ENV)

    async def go() -> Completed:
        with sandbox.enter(spec, Profile(str(tmp_path / "ws"), ())) as inner:
            return await run(inner, timeout_s=20)

    done = asyncio.run(go())
    assert done.exit == 127
    assert b"not installed where the sandbox can see it" in done.output


def test_the_digest_covers_what_is_allowed_and_not_the_order() -> None:
    plain = Profile("/w", ("/h", "/i"), readable=("/a", "/b"))
    assert plain.digest() == Profile("/w", ("/i", "/h"), readable=("/b", "/a")).digest()
    others = [
        plain._replace(workspace="/x"), plain._replace(hidden=()), plain._replace(readable=()),
        plain._replace(writable=("/a",)), plain._replace(network=True), plain._replace(protect=False),
    ]  # fmt: skip
    assert len({one.digest() for one in (plain, *others)}) == 7
    assert (plain.name, plain._replace(network=True).name) == ("bwrap", "bwrap+net")


def test_every_protected_name_has_a_reason_and_stands_once() -> None:
    assert all(name.why for name in IN_WORKSPACE)
    assert len({name.path for name in IN_WORKSPACE}) == len(IN_WORKSPACE)


# Other people and other places


def test_it_works_for_an_ordinary_user(tmp_path: Path) -> None:
    """The same for somebody without rights; run as root it becomes nobody."""
    workspace = Path(tempfile.mkdtemp(prefix="limnos-", dir="/tmp"))
    source = Path(__file__).parents[2] / "src"
    program = (
        "import asyncio, sys\n"
        "from limnos.process.capture import run\n"
        "from limnos.process.profile import Profile\n"
        "from limnos.process.sandbox import probe\n"
        "from limnos.process.spawn import ChildSpec\n"
        "async def main(ws, script):\n"
        "    spec = ChildSpec(('bash', '-c', script), ws, {'PATH': '/usr/bin:/bin', 'HOME': ws})\n"
        "    with probe().enter(spec, Profile(ws, ())) as inner:\n"
        "        print((await run(inner, timeout_s=20)).output.decode())\n"
        "asyncio.run(main(*sys.argv[1:]))\n"
    )
    script = "id -u; echo x > made; echo x > .zshrc; head -c 1 /etc/shadow; ulimit -u; cat made"
    become: tuple[str, ...] = ()
    uid = os.geteuid()
    if uid == 0:
        uid = 65534
        become = ("setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups")
        os.chown(workspace, uid, uid)
    python = ("/usr/bin/python3", "-B", "-c", program, str(workspace), script)
    env = {"PATH": PATH, "PYTHONPATH": str(source)}
    try:
        done = subprocess.run(
            (*become, *python), env=env, capture_output=True, text=True, check=True, cwd="/"
        )
        lines = done.stdout.split("\n")
        assert lines[0] == str(uid)
        assert ".zshrc: Is a directory" in done.stdout
        assert lines[-4:-2] == ["2048", "x"]
        assert listing(workspace) == ["made"]
    finally:
        shutil.rmtree(workspace)


def test_with_the_home_as_workspace_secrets_are_hidden_and_settings_kept(
    sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("limnos.process.system.home", lambda: str(tmp_path))
    for path in (".ssh/id", ".limnos/token", ".config/gh/hosts.yml", ".netrc"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("canary")
    (tmp_path / ".config" / "app").write_text("plain")
    before = listing(tmp_path)
    script = (
        "cat .ssh/id .limnos/token .config/gh/hosts.yml .netrc; cat .config/app; mv .ssh s; mv .limnos l;"
        " for f in .config/app .config/autostart .gitconfig .tcshrc .local .ssh/authorized_keys;"
        " do echo x > $f; done"
    )
    done = inside(sandbox, tmp_path, script, hidden=(str(tmp_path / ".limnos"),))
    assert b"canary" not in done.output
    assert b"plain" in done.output
    assert listing(tmp_path) == before


def test_what_is_nested_in_a_protected_folder_is_no_way_to_change_it(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    for path in (".vscode/more/.git/config", ".idea/state/token"):
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).write_text("x")
    before = listing(tmp_path)
    script = "for f in .vscode/more .vscode/more/.git .idea .idea/state; do echo x > $f/new; done"
    inside(sandbox, tmp_path, script, hidden=(str(tmp_path / ".idea" / "state"),))
    assert listing(tmp_path) == before


def test_a_hidden_folder_that_is_not_there_yet_cannot_be_made(sandbox: Sandbox, tmp_path: Path) -> None:
    for name in ("state", "far/away"):
        script = f"mkdir -p {name}; echo x > {name}/config.toml"
        inside(sandbox, tmp_path, script, hidden=(str(tmp_path / name),), protect=False)
    assert listing(tmp_path) == []


def test_a_workspace_named_by_a_link_is_the_folder_itself(sandbox: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    done = inside(sandbox, tmp_path / "link", "pwd -P; touch made")
    assert done.output.decode().strip() == str(tmp_path / "real")
    assert (tmp_path / "real" / "made").exists()


@pytest.mark.parametrize("name", ["a b", "ä", "-x", "a\nb", "\udcff", "x" * 255])
def test_a_workspace_may_have_any_name(name: str, sandbox: Sandbox, tmp_path: Path) -> None:
    (tmp_path / name).mkdir()
    assert inside(sandbox, tmp_path / name, "touch made").exit == 0
    assert (tmp_path / name / "made").exists()


def test_a_workspace_with_very_many_folders_starts_soon(sandbox: Sandbox, tmp_path: Path) -> None:
    for number in range(3000):
        (tmp_path / f"d{number}" / ".git").mkdir(parents=True)
    began = time.monotonic()
    assert inside(sandbox, tmp_path, "true").exit == 0
    assert time.monotonic() - began < 10


def test_a_socket_or_pipe_at_a_protected_name_is_kept(sandbox: Sandbox, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".bashrc")
    inside(sandbox, tmp_path, "rm -f .bashrc; echo x > .bashrc & sleep 0.1; kill %1")
    assert (tmp_path / ".bashrc").is_fifo()


def test_processes_of_root_are_counted_where_the_system_can(tmp_path: Path) -> None:
    place = cgroup.place()
    if not place:
        assert os.geteuid() != 0 or "fork bomb" in needed_sandbox().note
        return
    group = cgroup.make(place, 5)
    script = "for i in 1 2 3 4 5 6 7 8; do sleep 60 & done; jobs | wc -l"
    done = subprocess.run(
        cgroup.joined(group, ("timeout", "-k", "1", "2", "bash", "-c", script)),
        capture_output=True,
        check=False,
    )
    assert b"fork" in done.stderr
    for pid in Path(group, "cgroup.procs").read_text().split():
        os.kill(int(pid), signal.SIGKILL)
        asyncio.run(gone(int(pid)))
    cgroup.remove(group)
    cgroup.remove(cgroup.make(place, 5))
    assert not Path(group).exists()


def test_a_repository_inside_that_looks_like_a_stand_in_stays_protected(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    (tmp_path / "sub").mkdir()
    repository(tmp_path / "sub")
    config = tmp_path / "sub" / ".git" / "config"
    before = config.read_bytes()

    inside(sandbox, tmp_path, "chmod 1555 sub/.git")
    inside(sandbox, tmp_path, "chmod 755 sub/.git; echo '[core] fsmonitor = x' >> sub/.git/config")

    assert config.read_bytes() == before


def test_names_are_protected_in_every_folder_that_can_be_written(sandbox: Sandbox, tmp_path: Path) -> None:
    work, more = tmp_path / "work", tmp_path / "more"
    work.mkdir()
    more.mkdir()
    before = (repository(more) / ".git" / "config").read_bytes()

    inside(sandbox, work, f"echo x >> {more}/.git/config; mkdir {more}/.vscode", writable=(str(more),))

    assert (more / ".git" / "config").read_bytes() == before
    assert not (more / ".vscode").exists()


@pytest.mark.parametrize(
    "settings",
    [
        "[core]\n\thooksPath = tools",
        "[core] hooksPath = tools",
        '[core]\n\thooksPath = "to"ols ; a comment',
        "[include]\n\tpath = ../shared.cfg",
    ],
)
def test_hooks_that_settings_name_are_fixed_however_they_are_written(
    sandbox: Sandbox, tmp_path: Path, settings: str
) -> None:
    repository(tmp_path)
    (tmp_path / "shared.cfg").write_text("[core]\n\thookspath = tools\n")
    (tmp_path / "tools").mkdir()
    with (tmp_path / ".git" / "config").open("a") as config:
        config.write(f"\n{settings}\n")

    inside(sandbox, tmp_path, "echo x > tools/pre-commit")

    assert list((tmp_path / "tools").iterdir()) == []
