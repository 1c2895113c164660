"""Ways out of the sandbox, as a table of scripts that really run inside.

A script gets WS (the workspace), OUT (a folder outside with `secret`, whose text is the canary), STATE (a
hidden folder outside) and INNER (a hidden folder inside the workspace), both with `token`, that hold the canary
too, PORT, UDP_PORT, PATH_SOCKET and ABSTRACT (servers outside), VICTIM (a process outside), PYTHON, SLEEP
(a number that only its own processes have as an argument). It has escaped when the canary is in its output, when
it prints ESCAPED, or when something outside or a protected name has changed.
"""
# ruff: noqa: E501  (a script is one line)

from typing import NamedTuple

from limnos.process.protected import IN_WORKSPACE


class Attempt(NamedTuple):
    """One script; `python` runs it by Python with `call` of SYSCALLS, else by bash."""

    family: str
    name: str
    script: str
    python: bool = False


PRESENT = (
    ".mcp.json",
    ".vscode/settings.json",
    ".github/workflows/ci.yml",
    ".gitlab-ci.yml",
    ".bashrc",
    "Jenkinsfile",
)
ABSENT = tuple(
    name.path
    for name in IN_WORKSPACE
    if name.when_absent
    and not name.path.startswith((".git/", ".github"))
    and name.path not in (*PRESENT, ".git", ".vscode")
)

PLANT = 'printf "#!/bin/sh\\ntouch $OUT/pwned\\n" > "$WS/evil"; chmod +x "$WS/evil"; '
EVIL_CONFIG = (
    "printf '[core]\\n\\trepositoryformatversion = 0\\n\\tbare = false\\n\\tfsmonitor = %s\\n' \"$WS/evil\""
)


def shell(family: str, **scripts: str) -> list[Attempt]:
    return [Attempt(family, name, script) for name, script in scripts.items()]


def python(family: str, **scripts: str) -> list[Attempt]:
    return [Attempt(family, name, script, python=True) for name, script in scripts.items()]


def reads() -> list[Attempt]:
    """The same files by many ways of naming them."""
    ways = {
        "path": "{}",
        "own_root": "/proc/self/root{}",
        "first_root": "/proc/1/root{}",
        "thread_root": "/proc/thread-self/root{}",
        "parent_root": "/proc/$PPID/root{}",
        "dots": "$WS/../../../../../../../../..{}",
        "slashes": "//./{}",
        "first_cwd": "/proc/1/cwd/../../../../../..{}",
        "descriptor": "/proc/self/fd/0/../../../..{}",
        "old_root": "/oldroot{}",
        "new_root": "/newroot{}",
        "dev_fd": "/dev/fd/../..{}",
    }
    targets = {"outside": "$OUT/secret", "state": "$STATE/token", "inner": "$INNER/token"}
    found = [
        Attempt("read", f"{target}_{way}", f'cat "{form.format(path)}"')
        for target, path in targets.items()
        for way, form in ways.items()
    ]
    links = shell(
        "read",
        made_link='ln -s "$OUT/secret" l1; cat l1',
        made_folder_link='ln -s "$OUT" l2; cat l2/secret',
        links_of_the_person="cat link-out/secret link-secret",
        link_to_hidden='ln -s "$INNER" l3; cat l3/token; ls l3/ | grep token && echo ESCAPED',
        hard_link='ln "$OUT/secret" h1; cat h1',
        hard_link_hidden='ln "$INNER/token" h2; cat h2',
        hard_copy='cp -l "$OUT/secret" h3; cat h3',
        move_in='mv "$OUT/secret" m1; cat m1',
        move_hidden='mv "$INNER" m2 && cat m2/token',
        move_above_hidden='mv "$WS/data" "$WS/data2" && cat "$WS/data2/state/token"',
        copy_hidden='cp -a "$WS/data" "$WS/data3"; cat "$WS/data3/state/token"',
        tar_hidden='tar cf - -C "$WS" data | tar xOf - ',
        search='find / -name "secret" -o -name "token" 2>/dev/null | xargs -r cat',
        search_text="grep -rIs --exclude-dir=proc --exclude-dir=usr --exclude-dir=attempts CANARY- / | head",
        bind='mkdir b1; mount --bind / b1; cat "b1$OUT/secret"',
        bind_hidden='umount "$INNER"; umount -l "$INNER"; cat "$INNER/token"',
        own_namespace='unshare -Urm sh -c "umount \\"$INNER\\"; cat \\"$INNER/token\\""',
        own_sandbox='bwrap --bind / / cat "$OUT/secret"; bwrap --dev-bind / / --unshare-user umount "$INNER" && echo ESCAPED',
        enter='nsenter -t 1 -a cat "$OUT/secret"; nsenter -m/proc/1/ns/mnt cat "$OUT/secret"',
        chroot='chroot /proc/1/root cat "$OUT/secret"',
        descriptors='for f in /proc/[0-9]*/fd/*; do case "$f" in */[012]) ;; *) timeout 1 cat "$f/$OUT/secret" "$f/../secret";; esac; done',
        map_files="cat /proc/*/map_files/* 2>/dev/null | grep -a CANARY-",
        memory="for p in /proc/[0-9]*; do timeout 1 cat $p/mem; done 2>/dev/null | grep -a CANARY-",
        disk='mknod disk b 254 0; dd if=disk bs=1M count=1 | wc -c | grep -v "^0$" && echo ESCAPED',
        disk_device="for d in /dev/vda /dev/sda /dev/nvme0n1 /dev/dm-0 /dev/loop0; do head -c 512 $d && echo ESCAPED; done",
        filesystem_tool='/sbin/debugfs -R "cat $OUT/secret" /dev/vda',
        core_of_kernel="head -c 64 /proc/kcore && echo ESCAPED",
        kernel_log="dmesg && echo ESCAPED; head -c 10 /proc/kmsg /dev/kmsg && echo ESCAPED",
        memory_device="head -c 10 /dev/mem /dev/port /dev/kmem && echo ESCAPED",
        shadow="cat /etc/shadow /etc/gshadow /etc/shadow- && echo ESCAPED",
        sudoers="cat /etc/sudoers /etc/sudoers.d/* && echo ESCAPED",
        host_keys="cat /etc/ssh/* && echo ESCAPED",
        private_certificates="ls /etc/ssl/private && echo ESCAPED",
        ssh_keys="ls -A ~/.ssh /root/.ssh /home/*/.ssh | grep . && echo ESCAPED",
        gnupg="ls -A ~/.gnupg ~/.aws ~/.kube ~/.docker | grep -v : | grep . && echo ESCAPED",
        netrc="cat ~/.netrc ~/.git-credentials ~/.pgpass && echo ESCAPED",
        histories="cat ~/.bash_history ~/.zsh_history ~/.python_history && echo ESCAPED",
        cargo_key="cat ~/.cargo/credentials* && echo ESCAPED",
        other_homes="ls -A /home | grep . && echo ESCAPED",
        logs="ls /var/log /var/lib /var/spool && echo ESCAPED",
        machine_id="cat /etc/machine-id && echo ESCAPED",
        other_users="grep -E '^(daemon|www-data|sshd):' /etc/passwd && echo ESCAPED",
        sys="ls /sys/class /sys/kernel && echo ESCAPED",
        boot="ls /boot /srv /mnt /media && echo ESCAPED",
        host_processes='ls /proc | grep -c "^[0-9]" | grep -E "^[0-9]{3,}" && echo ESCAPED',
        host_mounts='grep -E " (/boot|/home|/mnt)" /proc/1/mountinfo && echo ESCAPED',
        temporary_of_host="find /tmp -xdev -mindepth 1 ! -type d -print -quit | grep . && echo ESCAPED",
        shared_memory="ls -A /dev/shm | grep . && echo ESCAPED",
        sysv_memory="ipcs -m | grep -E '^0x' && echo ESCAPED",
    )
    calls = python(
        "read",
        beneath_root="d = os.open('/', os.O_PATH); print(os.read(os.open(OUT.lstrip('/') + '/secret', 0, dir_fd=d), 99))",
        open_descriptors="""
            for n in range(3, 256):
                for path in ('..', '../../../../../..' + OUT + '/secret', OUT[1:] + '/secret'):
                    try: print('ESCAPED', os.open(path, os.O_RDONLY, dir_fd=n))
                    except OSError: pass""",
        passed_on="""
            for n in os.listdir('/proc/self/fd'):
                if int(n) > 2 and os.path.exists('/proc/self/fd/' + n): print('ESCAPED', os.readlink('/proc/self/fd/' + n))""",
        first_descriptors="""
            for n in os.listdir('/proc/1/fd'):
                there = os.readlink('/proc/1/fd/' + n)
                if there.startswith('/') and not there.startswith(('/dev/null', WS)): print('ESCAPED', there)""",
        by_handle="import struct; call(NR['open_by_handle_at'], -100, b'\\0' * 64, 0)",
        opened_before="print(open('/dev/stdin/../' + OUT + '/secret').read())",
    )
    return [*found, *links, *calls]


def names_present() -> list[Attempt]:
    """Each protected file that is there, changed in each way that a file can be changed."""
    ways = {
        "write": 'echo x > "$F"',
        "append": 'echo x >> "$F"',
        "truncate": 'truncate -s 0 "$F"',
        "remove": 'rm -f "$F"',
        "move_away": 'mv "$F" moved.$$',
        "replace": 'echo x > t.$$; mv -f t.$$ "$F"',
        "link_over": 'ln -sf /etc/hostname "$F"',
        "hard_link": 'ln "$F" hl.$$ && echo x > hl.$$',
        "mode": 'chmod 777 "$F"; echo x > "$F"',
        "own_root": 'echo x > "/proc/self/root$WS/$F"',
        "sed": 'sed -i s/./x/ "$F"',
        "remove_folder": 'rm -rf "${F%%/*}"',
        "move_folder": 'mv "${F%%/*}" mf.$$; mkdir -p "$(dirname "$F")"; echo x > "$F"',
        "unmount": 'umount "$F"; umount -l "$WS/${F%%/*}"; echo x > "$F"',
    }
    return [
        Attempt("present", f"{path}_{way}", f"F={path}; {script}")
        for path in PRESENT
        for way, script in ways.items()
    ]


def names_absent() -> list[Attempt]:
    """Each protected name that is not there, made in each way that a name can be made."""
    ways = {
        "file": 'echo x > "$F"',
        "folder": 'rmdir "$F"; mkdir -p "$F"; echo x > "$F/x"',
        "move": 'echo x > t.$$; mv -T t.$$ "$F"',
        "move_folder": 'mkdir t.$$; echo x > t.$$/x; mv -T t.$$ "$F"',
        "link": 'ln -sfn "$OUT" "$F"',
        "mode": 'chmod 777 "$F"; echo x > "$F/x"',
    }
    found = [
        Attempt("absent", f"{path}_{way}", f"F={path}; {script}")
        for path in ABSENT
        for way, script in ways.items()
    ]
    calls = python(
        "absent",
        exchange="os.mkdir('ex'); done(NR['renameat2'], -100, b'ex', -100, b'.zshrc', 2)",
        whiteout="open('wh', 'w'); done(NR['renameat2'], -100, b'wh', -100, b'.zshrc', 4)",
        socket_file="import socket; s = socket.socket(socket.AF_UNIX); s.bind('.profile'); print('ESCAPED')",
        node="os.mknod('.profile', 0o010644)",
        temporary_file="d = os.open('.', os.O_TMPFILE | os.O_WRONLY); os.link(f'/proc/self/fd/{d}', '.profile', follow_symlinks=True)",
    )
    return [*found, *calls]


def repositories() -> list[Attempt]:
    """Everything that makes a later git of the person run something."""
    return [
        Attempt("git", name, PLANT + script)
        for name, script in {
            "hook": "cp evil .git/hooks/pre-commit",
            "post_index_hook": "cp evil .git/hooks/post-index-change",
            "hooks_replaced": "mv .git/hooks h.$$; mkdir .git/hooks; cp evil .git/hooks/pre-commit",
            "hooks_link": 'rm -rf .git/hooks; ln -s "$WS" .git/hooks',
            "config": EVIL_CONFIG + " > .git/config",
            "config_append": 'printf "[core]\\nfsmonitor = $WS/evil\\n" >> .git/config',
            "config_command": 'git config core.fsmonitor "$WS/evil"',
            "hooks_path": 'git config core.hooksPath "$WS"',
            "config_lock": "echo x > .git/config.lock; mv .git/config.lock .git/config",
            "config_moved": EVIL_CONFIG + " > c.$$; mv -f c.$$ .git/config",
            "config_hard_link": "ln .git/config c2 && " + EVIL_CONFIG + " > c2",
            "alias": 'git config alias.st "!$WS/evil"',
            "include": 'git config include.path "$WS/evil.conf"',
            "ssh_command": 'git config core.sshCommand "$WS/evil"',
            "filter": 'git config filter.x.clean "$WS/evil"; echo "* filter=x" > .gitattributes',
            "worktree_config": EVIL_CONFIG + " > .git/config.worktree",
            "worktree_extension": 'git config extensions.worktreeConfig true; git config --worktree core.fsmonitor "$WS/evil"',
            "common_folder": "cp -a .git cd; " + EVIL_CONFIG + " > cd/config; echo ../cd > .git/commondir",
            "common_folder_moved": "cp -a .git cd2; "
            + EVIL_CONFIG
            + " > cd2/config; echo ../cd2 > n; mv -f n .git/commondir",
            "folder_moved": "mv .git g.$$ && cp -a g.$$ .git && cp evil .git/hooks/pre-commit",
            "folder_copied": "cp -a .git g2 && " + EVIL_CONFIG + " > g2/config && rm -rf .git && mv g2 .git",
            "folder_to_file": "cp -a .git g3; "
            + EVIL_CONFIG
            + ' > g3/config; mv .git g4; echo "gitdir: g3" > .git',
            "init_again": "mkdir -p tp/hooks; cp evil tp/hooks/pre-commit; git init --template=tp .",
            "init_elsewhere": "git init --separate-git-dir=sep . && " + EVIL_CONFIG + " > sep/config",
            "modules": "mkdir -p .git/modules/mod/hooks; cp evil .git/modules/mod/hooks/post-checkout; "
            + EVIL_CONFIG
            + " > .git/modules/mod/config",
            "worktrees": 'mkdir -p .git/worktrees/w; echo "$WS/cd" > .git/worktrees/w/commondir',
            "worktree_add": "git worktree add wt && test -e wt && echo ESCAPED",
            "submodule_add": "git submodule add ./sub more; cat .gitmodules | grep path && echo ESCAPED",
            "remote": 'git remote add evil "ext::sh -c touch% $OUT/pwned"',
            "nested_hook": "cp evil sub/.git/hooks/pre-commit",
            "nested_config": EVIL_CONFIG + " > sub/.git/config",
            "nested_common": "echo ../../cd > sub/.git/commondir",
            "nested_moved": "mv sub/.git sub/g; mkdir sub/.git",
            "nested_parent_moved": "mv sub sub2 && mkdir -p sub && cp -a sub2/.git sub/.git && "
            + EVIL_CONFIG
            + " > sub/.git/config",
            "deep_parent_moved": "mv deep deep2 && mkdir -p deep/er && cp -a deep2/er/.git deep/er/.git && "
            + EVIL_CONFIG
            + " > deep/er/.git/config",
            "deep_middle_moved": "mv deep/er deep/er2 && mkdir deep/er && cp -a deep/er2/.git deep/er/ && "
            + EVIL_CONFIG
            + " > deep/er/.git/config",
            "deep_removed": "cp -a sub/.git g6; rm -rf deep && mkdir -p deep/er && cp -a g6 deep/er/.git && "
            + EVIL_CONFIG
            + " > deep/er/.git/config",
            "submodule_file": "cp -a .git g5; "
            + EVIL_CONFIG
            + ' > g5/config; echo "gitdir: ../g5" > mod/.git',
            "submodule_file_moved": 'echo "gitdir: ../g5" > f; mv -f f mod/.git',
            "submodule_file_removed": "rm -f mod/.git; cp -a sub/.git mod/.git; "
            + EVIL_CONFIG
            + " > mod/.git/config",
            "hooks_folder_named": "cp evil scripts/hooks/pre-commit",
            "hooks_folder_moved": "mv scripts s2 && mkdir -p scripts/hooks && cp evil scripts/hooks/pre-commit",
            "included_file": 'printf "[core]\\nfsmonitor = $WS/evil\\n" > shared.gitconfig',
        }.items()
    ]


def network() -> list[Attempt]:
    """Servers of this machine, and anything further."""
    connect = "import socket; s = socket.socket({}); s.settimeout(2); s.{}; print('ESCAPED')"
    return [
        *shell(
            "network",
            bash_tcp='echo hi > "/dev/tcp/127.0.0.1/$PORT" && echo ESCAPED',
            bash_udp='echo hi > "/dev/udp/127.0.0.1/$UDP_PORT"',
            curl='curl -s --max-time 2 "http://127.0.0.1:$PORT/" && echo ESCAPED',
            curl_name='curl -s --max-time 2 "http://localhost:$PORT/" && echo ESCAPED',
            curl_unix='curl -s --max-time 2 --unix-socket "$PATH_SOCKET" http://x/ && echo ESCAPED',
            curl_abstract='curl -s --max-time 2 --abstract-unix-socket "$ABSTRACT" http://x/ && echo ESCAPED',
            wget='wget -q -T 2 -t 1 -O - "http://127.0.0.1:$PORT/" && echo ESCAPED',
            dns="timeout 3 getent ahosts example.com && echo ESCAPED",
            resolver="cat /etc/resolv.conf | grep nameserver && echo ESCAPED",
            ping="timeout 2 ping -c 1 -W 1 1.1.1.1 && echo ESCAPED",
            interfaces="tail -n +3 /proc/net/dev | grep -v lo: && echo ESCAPED",
            routes="tail -n +2 /proc/net/route | grep . && echo ESCAPED",
            abstract_names='grep -a "$ABSTRACT" /proc/net/unix && echo ESCAPED',
            git_clone='timeout 3 git ls-remote "http://127.0.0.1:$PORT/x" && echo ESCAPED',
            ip_link="ip link add d0 type dummy && echo ESCAPED",
            net_namespace="nsenter -n/proc/1/ns/net true && echo ESCAPED",
        ),
        *python(
            "network",
            loopback=connect.format("", "connect(('127.0.0.1', PORT))"),
            loopback_any=connect.format("", "connect(('0.0.0.0', PORT))"),
            loopback_other=connect.format("", "connect(('127.9.9.9', PORT))"),
            loopback_6=connect.format("socket.AF_INET6", "connect(('::1', PORT))"),
            mapped=connect.format("socket.AF_INET6", "connect(('::ffff:127.0.0.1', PORT))"),
            far=connect.format("", "connect(('1.1.1.1', 53))"),
            metadata=connect.format("", "connect(('169.254.169.254', 80))"),
            datagram="import socket; s = socket.socket(type=socket.SOCK_DGRAM); s.sendto(b'x', ('127.0.0.1', UDP_PORT))",
            broadcast="import socket; s = socket.socket(type=socket.SOCK_DGRAM); s.setsockopt(1, 6, 1); s.sendto(b'x', ('255.255.255.255', UDP_PORT)); print('ESCAPED')",
            raw="import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, 1); print('ESCAPED')",
            packet="import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW); print('ESCAPED')",
            path_socket=connect.format("socket.AF_UNIX", "connect(PATH_SOCKET)"),
            path_socket_in_workspace=connect.format("socket.AF_UNIX", "connect(WS + '/person.sock')"),
            abstract=connect.format("socket.AF_UNIX", "connect('\\0' + ABSTRACT)"),
            docker=connect.format("socket.AF_UNIX", "connect('/run/docker.sock')"),
            pair_sends="""
                import socket
                a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
                a.sendto(b'x', WS + '/person.dgram'); print('ESCAPED')""",
            pair_connects="""
                import socket
                a, b = socket.socketpair()
                b.close(); a.connect(WS + '/person.sock'); print('ESCAPED')""",
            pair_rebinds="""
                import socket
                a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                a.sendto(b'x', '\\0' + ABSTRACT)""",
            vsock="import socket; socket.socket(40, socket.SOCK_STREAM); print('ESCAPED')",
            bluetooth="import socket; socket.socket(31, socket.SOCK_RAW, 1); print('ESCAPED')",
            crypto="import socket; socket.socket(38, socket.SOCK_SEQPACKET); print('ESCAPED')",
            audit="import socket; socket.socket(16, socket.SOCK_RAW, 9); print('ESCAPED')",
            firewall="import socket; socket.socket(16, socket.SOCK_RAW, 12); print('ESCAPED')",
            events="import socket; socket.socket(16, socket.SOCK_DGRAM, 15); print('ESCAPED')",
        ),
    ]


# Calls that the filter refuses whatever their arguments are: with these the kernel itself would say otherwise.
CALLS = {
    "userfaultfd": "0", "keyctl": "0, -3, 0", "add_key": "b'user', b'x', b'y', 1, -3",
    "request_key": "b'user', b'x', 0, -3", "ptrace": "0, 0, 0, 0", "process_vm_readv": "os.getpid(), 0, 0, 0, 0, 0",
    "process_vm_writev": "os.getpid(), 0, 0, 0, 0, 0", "bpf": "0, 0, 0", "perf_event_open": "0, 0, -1, -1, 0",
    "io_uring_setup": "1, b'\\0' * 128", "io_uring_enter": "-1, 0, 0, 0, 0", "io_uring_register": "-1, 0, 0, 0",
    "mount": "b'none', b'/tmp', b'tmpfs', 0, 0", "umount2": "b'/tmp', 2", "fsopen": "b'tmpfs', 0",
    "fsconfig": "-1, 0, 0, 0, 0", "fsmount": "-1, 0, 0", "fspick": "-100, b'/', 0", "open_tree": "-100, b'/', 0",
    "move_mount": "-1, b'', -1, b'', 0", "mount_setattr": "-100, b'/', 0, b'\\0' * 32, 32", "pivot_root": "b'.', b'.'",
    "chroot": "b'.'", "setns": "-1, 0", "kexec_load": "0, 0, 0, 0", "kexec_file_load": "-1, -1, 0, 0, 0",
    "init_module": "0, 0, b''", "finit_module": "-1, b'', 0", "delete_module": "b'x', 0",
    "open_by_handle_at": "-100, b'\\0' * 64, 0", "name_to_handle_at": "-100, b'/', b'\\x80' + b'\\0' * 255, b'\\0' * 8, 0",
    "reboot": "0, 0, 0, 0", "swapon": "b'/x', 0", "swapoff": "b'/x'", "acct": "0", "settimeofday": "0, 0",
    "clock_settime": "0, 0", "clock_adjtime": "0, b'\\0' * 256", "adjtimex": "b'\\0' * 256", "sethostname": "b'x', 1",
    "setdomainname": "b'x', 1", "quotactl": "0, 0, 0, 0", "quotactl_fd": "-1, 0, 0, 0", "syslog": "10, 0, 0",
    "kcmp": "os.getpid(), os.getpid(), 0, 0, 0", "pidfd_getfd": "-1, 0, 0", "memfd_secret": "0",
    "fanotify_init": "0, 0", "process_madvise": "-1, 0, 0, 0, 0", "vmsplice": "-1, 0, 0, 0",
    "migrate_pages": "0, 0, 0, 0", "move_pages": "0, 0, 0, 0, 0, 0", "mbind": "0, 0, 0, 0, 0, 0",
    "set_mempolicy": "0, 0, 0", "lookup_dcookie": "0, 0, 0", "nfsservctl": "0, 0, 0", "vhangup": "",
    "open_tree_attr": "-100, b'/', 0, 0, 0",
}  # fmt: skip
NAMESPACES = {"mounts": 0x20000, "cgroups": 0x2000000, "names": 0x4000000, "queues": 0x8000000, "users": 0x10000000,
              "processes": 0x20000000, "network": 0x40000000, "time": 0x80}  # fmt: skip


def calls() -> list[Attempt]:
    """System calls that no ordinary program needs."""
    listed = [
        Attempt("call", name, f"call(NR[{name!r}], {given})".replace(", )", ")"), python=True)
        for name, given in CALLS.items()
    ]
    spaces = [
        Attempt("call", f"unshare_{name}", f"call(NR['unshare'], {flag})", python=True)
        for name, flag in NAMESPACES.items()
    ]
    more = python(
        "call",
        clone_users="call(NR['clone'], 0x10000000 | 17, 0, 0, 0, 0)",
        clone_mounts="call(NR['clone'], 0x20000 | 17, 0, 0, 0, 0)",
        clone3="call(435, b'\\0' * 64, 64)",
        unknown="call(471, 0)",
        far_unknown="call(1000, 0)",
        personality="call(NR['personality'], 0x0400000)",
        read_implies_execute="call(NR['personality'], 0x0040000 | 0x0400000)",
        type_into_terminal="call(NR['ioctl'], 0, 0x5412, b'x')",
        type_high_word="call(NR['ioctl'], 0, 0x100005412, b'x')",
        console="call(NR['ioctl'], 0, 0x541C, b'\\2')",
        other_numbers="if X86: call(0x40000000 + 39)",
        old_numbers="""
            if X86:  # getpid by the 32 bit entry: mov eax, 20; int 0x80; ret
                import mmap
                m = mmap.mmap(-1, 4096, prot=7); m.write(b'\\xb8\\x14\\0\\0\\0\\xcd\\x80\\xc3')
                f = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(m)))
                print('ESCAPED', f())""",
        filter_off="done(NR['prctl'], 22, 0, 0, 0, 0)",
        gain_again="done(NR['prctl'], 38, 0, 0, 0, 0)",
        capability="done(NR['capset'], b'\\x22\\x05\\x08\\x20' + b'\\0' * 4, b'\\xff' * 24)",
        ambient="done(NR['prctl'], 47, 2, 21, 0, 0)",
        another_user="done(NR['setuid'], 12345)",
    )
    return [*listed, *spaces, *more]


def privileges() -> list[Attempt]:
    """Becoming more than the program was, and changing the machine."""
    changed = {
        "passwd": "/etc/passwd", "preload": "/etc/ld.so.preload", "cron": "/etc/cron.d/evil", "unit": "/etc/systemd/system/e.service",
        "profile": "/etc/profile.d/evil.sh", "sudo": "/etc/sudoers.d/evil", "program": "/usr/bin/env", "new_program": "/usr/local/bin/evil",
        "library": "/lib/x86_64-linux-gnu/libc.so.6", "opt": "/opt/evil", "root": "/evil", "var": "/var/spool/cron/evil",
        "core_pattern": "/proc/sys/kernel/core_pattern", "modprobe": "/proc/sys/kernel/modprobe", "sysrq": "/proc/sysrq-trigger",
        "hostname": "/proc/sys/kernel/hostname", "user_map": "/proc/self/uid_map", "group_map": "/proc/self/gid_map",
        "limits": "/proc/sys/user/max_user_namespaces", "release_agent": "/sys/fs/cgroup/release_agent",
        "uevent": "/sys/kernel/uevent_helper", "first_memory": "/proc/1/mem", "first_comm": "/proc/1/comm",
        "first_score": "/proc/1/oom_score_adj", "device": "/dev/evil", "limnos_itself": "/run/limnos/limnos/process/spawn.py",
        "interpreter": "$(readlink -f /proc/self/exe)", "interpreter_of_limnos": "$PYTHON", "systemd_user": "/run/systemd/system/e.service",
        "temporary_link": "/var/tmp/../evil", "scheduler": "/proc/sys/kernel/sched_rt_runtime_us", "address_layout": "/proc/sys/kernel/randomize_va_space",
    }  # fmt: skip
    return [
        *[Attempt("privilege", f"write_{name}", f"echo evil > {path} && echo ESCAPED") for name, path in changed.items()],
        *shell(
            "privilege",
            su="timeout 2 su -c id < /dev/null && echo ESCAPED",
            su_other="timeout 2 su nobody -s /bin/sh -c id < /dev/null && echo ESCAPED",
            sudo="timeout 2 sudo -n id && echo ESCAPED",
            pkexec="timeout 2 pkexec id && echo ESCAPED",
            mount_tool="mount -t tmpfs none /tmp && echo ESCAPED",
            fuse="timeout 2 fusermount -u /tmp && echo ESCAPED",
            passwd_tool="timeout 2 passwd -d root < /dev/null && echo ESCAPED",
            setuid_copy="cp /bin/bash sb; chmod u+s sb; ./sb -p -c 'cat /etc/shadow' && echo ESCAPED",
            capabilities_on_file="cp /bin/bash cb; setcap cap_sys_admin+ep cb && ./cb -c 'mount --bind / /tmp' && echo ESCAPED",
            other_owner="touch own; chown 1:1 own && echo ESCAPED",
            date="date -s 2030-01-01 && echo ESCAPED",
            host_name="hostname evil && echo ESCAPED",
            priority="nice -n -20 sh -c 'test $(nice) -lt 0' && echo ESCAPED",
            real_time="chrt -f 50 true && echo ESCAPED",
            lock_memory="ulimit -l unlimited && ulimit -n 99999999 && echo ESCAPED",
            core_dump="ulimit -c unlimited && test \"$(ulimit -c)\" = unlimited && echo ESCAPED",
            more_processes="ulimit -u unlimited && echo ESCAPED",
            device_null="mknod n c 1 3 && echo ESCAPED",
            device_memory="mknod m c 1 1 && head -c 1 m && echo ESCAPED",
            capabilities_left="grep -E 'Cap(Prm|Eff|Bnd|Amb)' /proc/self/status | grep -v 0000000000000000 && echo ESCAPED",
            new_privileges="grep 'NoNewPrivs:.*0' /proc/self/status && echo ESCAPED",
            no_filter="grep 'Seccomp:.*[01]$' /proc/self/status && echo ESCAPED",
            remount="mount -o remount,rw / && echo ESCAPED; mount -o remount,rw /usr && echo ESCAPED",
            cgroup="mkdir /tmp/cg && mount -t cgroup2 none /tmp/cg && echo ESCAPED",
            proc_again="mkdir /tmp/pr && mount -t proc none /tmp/pr && echo ESCAPED",
            at="echo 'touch $OUT/pwned' | timeout 2 at now; timeout 2 batch < /dev/null; true",
            crontab='echo "* * * * * touch $OUT/pwned" | timeout 2 crontab - && echo ESCAPED',
            service="timeout 2 systemd-run true && echo ESCAPED",
            bus="timeout 2 busctl list --no-pager && echo ESCAPED",
            module="modprobe dummy && echo ESCAPED; insmod x.ko && echo ESCAPED",
        ),
        *python(
            "privilege",
            first_process_memory="""
                with open('/proc/1/maps') as maps: first = next(line for line in maps if 'r-x' in line or 'r--' in line)
                with open('/proc/1/mem', 'r+b', 0) as memory:
                    memory.seek(int(first.split('-')[0], 16)); memory.read(4); print('ESCAPED')""",
            parent_memory="open(f'/proc/{os.getppid()}/root' + OUT + '/secret')",
            keys="print('ESCAPED' if 'keyring' in open('/proc/keys').read() and call(NR['keyctl'], 11, -3) else '')",
        ),
    ]  # fmt: skip


def processes() -> list[Attempt]:
    """Other processes, terminals, and what is told to a program by its start."""
    return [
        *shell(
            "process",
            kill_victim='kill -9 "$VICTIM"',
            stop_victim='kill -STOP "$VICTIM"',
            victim_environment='cat "/proc/$VICTIM/environ"',
            victim_limits='prlimit --pid "$VICTIM" --nofile=1',
            victim_priority='renice 19 -p "$VICTIM"',
            by_name="pkill -9 -f limnos-victim && echo ESCAPED",
            debugger='timeout 2 gdb -batch -p "$VICTIM" 2>&1 | grep -q "^0x" && echo ESCAPED',
            trace='timeout 2 strace -p "$VICTIM" 2>&1 | grep -q attached && echo ESCAPED',
            trace_first="timeout 2 strace -p 1 2>&1 | grep -q attached && echo ESCAPED",
            kill_first="kill -9 1; kill -STOP 1; sleep 0.1; grep -q 'State:.T' /proc/1/status && echo ESCAPED",
            environment="env | grep CANARY-",
            own_environment="tr '\\0' '\\n' < /proc/self/environ | grep CANARY-",
            all_environments="cat /proc/*/environ | tr '\\0' '\\n' | grep CANARY-",
            command_lines="cat /proc/*/cmdline | tr '\\0' '\\n' | grep CANARY-",
            keys_by_name="env | grep -E '(API_KEY|TOKEN|SECRET|PASSWORD|OPENAI|ANTHROPIC)' && echo ESCAPED",
            outer_variables="env | grep -vE '^(PATH|HOME|WS|OUT|STATE|INNER|PORT|UDP_PORT|PATH_SOCKET|ABSTRACT|VICTIM|PYTHON|SLEEP|PWD|SHLVL|_|OLDPWD)=' && echo ESCAPED",
            terminal="echo x > /dev/tty && echo ESCAPED",
            console_device="echo x > /dev/console && echo ESCAPED",
            other_terminals="ls /dev/pts | grep -v ptmx && echo ESCAPED",
            serial="echo x > /dev/ttyS0 && echo ESCAPED; echo x > /dev/tty0 && echo ESCAPED",
            daemon='setsid nohup bash -c "exec -a limnos-left-over sleep $SLEEP" > /dev/null 2>&1 &',
            daemon_twice='(setsid sh -c "(exec sleep $SLEEP) &" &) > /dev/null 2>&1',
            stopped_daemon='setsid sh -c "kill -STOP \\$\\$; sleep $SLEEP" > /dev/null 2>&1 &',
        ),
        *python(
            "process",
            victim_handle="import signal; d = os.pidfd_open(int(os.environ['VICTIM'])); signal.pidfd_send_signal(d, 9)",
            trace_me="call(NR['ptrace'], 0, 0, 0, 0)",
            controlling_terminal="import fcntl; fcntl.ioctl(0, 0x540E, 1); print('ESCAPED')",
            ignoring_daemon="""
                import signal, time
                if os.fork() == 0:
                    os.setsid()
                    [signal.signal(n, signal.SIG_IGN) for n in (1, 2, 3, 15)]
                    if os.fork() == 0:
                        [os.close(n) for n in range(3)]
                        os.execvp('sleep', ['sleep', os.environ['SLEEP']])
                    os._exit(0)""",
        ),
    ]


def attempts() -> list[Attempt]:
    """All of them."""
    return [
        *reads(), *names_present(), *names_absent(), *repositories(), *network(), *calls(), *privileges(), *processes()
    ]  # fmt: skip
