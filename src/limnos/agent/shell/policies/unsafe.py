"""Programs that can become anything: only a rule for exactly the words shown lets them pass."""

from functools import lru_cache

from limnos.agent.shell.options import Call
from limnos.agent.shell.tables import names

SHELLS = names("sh bash dash zsh ksh ksh93 mksh ash fish csh tcsh rbash pwsh powershell elvish nu xonsh yash")
_VERSIONED = (
    "python",
    "pypy",
    "ruby",
    "perl",
    "php",
    "lua",
    "luajit",
    "node",
    "tclsh",
    "guile",
    "julia",
    "gawk",
)
INTERPRETERS = names(
    "python pypy perl ruby node nodejs deno bun php lua luajit tclsh wish expect guile "
    "racket sbcl clisp ecl julia R "
    "Rscript octave scala groovy kotlin elixir iex erl escript ghci runghc runhaskell "
    "ocaml swipl gst raku crystal "
    "ts-node tsx irb ipython ipython3 jshell java awk gawk mawk nawk m4 osascript qjs "
    "gdb lldb scheme chicken csi "
    "bpython ptpython coffee dart swift nim v zig dc gnuplot maxima gp sage ghc cabal stack clojure "
    "clj janet fennel moon haxe pdb gforth"
)
_EDITORS = (
    "vi vim nvim view vimdiff gvim rvim ex ed red emacs emacsclient nano pico joe "
    "micro kak helix hx mg code codium subl gedit kate"
)
_PAGERS = "less more most man info pinfo lesspipe w3m lynx links elinks"
_REMOTE = (
    "ssh scp sftp ftp lftp telnet rsh rlogin nc ncat netcat socat mosh autossh sshpass "
    "ssh-copy-id sshfs rclone aria2c axel youtube-dl yt-dlp openssl smbclient tftp "
    "buildah skopeo ctr crictl mail mailx mutt sendmail msmtp lpr adb hdc machinectl lxc"
)
_LATER = (
    "at batch systemd-run anacron launchctl cron fcron entr inotifywait incrontab "
    "watchman watchexec nodemon forever pm2 supervisorctl"
)
_DATABASES = (
    "psql mysql mariadb sqlite sqlcmd mongosh mongo redis-cli cqlsh duckdb clickhouse-client influx isql osql"
)
_RUNNERS = (
    "npx pnpx bunx uvx pipx yarnpkg corepack ant gradle gradlew sbt lein rake invoke "
    "fab just task mage bazel scons meson ansible ansible-playbook puppet chef-client "
    "salt salt-call vagrant packer nix nix-shell nix-build direnv asdf mise nvm rbenv "
    "pyenv conda mamba pulumi serverless"
)
_RECORDERS = (
    "tcpdump tshark dumpcap wireshark strace ltrace perf valgrind gdbserver bpftrace dtrace rr heaptrack"
)
_RIGHTS = (
    "sudo doas su runuser pkexec chroot unshare nsenter setpriv capsh newgrp sg "
    "useradd usermod passwd visudo adduser deluser groupadd chpasswd login"
)
_LOADERS = (
    "ldd rename prename file-rename mmv vidir vipe tex latex pdftex pdflatex xelatex lualatex "
    "latexmk context gs ps2pdf"
)
_SCREENS = "screen dtach abduco byobu xterm gnome-terminal konsole alacritty kitty xdg-open open"
_KILLERS = (
    "killall pkill fuser skill xkill umount insmod rmmod modprobe kexec ldconfig "
    "mknod renice atrm update-alternatives dpkg-reconfigure losetup cryptsetup debugfs patch git-shell"
)

_GROUPS = (
    (_EDITORS, "is an editor that can run programs"),
    (_PAGERS, "can run other programs while it shows a text"),
    (_REMOTE, "talks to another machine and can run programs"),
    (_LATER, "runs commands later"),
    (_DATABASES, "is a prompt that can change data and run programs"),
    (_RUNNERS, "runs whatever a file or a package says"),
    (_RECORDERS, "records what others do and can run programs"),
    (_RIGHTS, "runs with other rights"),
    (_LOADERS, "can run what its words or files say"),
    (_SCREENS, "starts programs outside this command"),
    (_KILLERS, "changes the running machine"),
)
REASONS: dict[str, str] = {name: phrase for group, phrase in _GROUPS for name in group.split()}
_ANSWERS = frozenset({"--version", "--help"})
_MORE_ANSWERS = {
    "python": "-V",
    "node": "-v",
    "perl": "-v",
    "php": "-v",
    "ruby": "-v",
    "lua": "-v",
    "java": "-version",
    "ssh": "-V",
}


@lru_cache(maxsize=1_000)
def base_name(name: str) -> str:
    """`python3.11` is python."""
    for stem in _VERSIONED:
        if name.startswith(stem) and name[len(stem) :].replace(".", "").isdigit():
            return stem
    return name


def is_shell(name: str) -> bool:
    """Whether `name` reads commands."""
    return name in SHELLS


def is_interpreter(name: str) -> bool:
    """Whether `name` reads programs of a language."""
    return base_name(name) in INTERPRETERS


def unsafe_reason(call: Call) -> str | None:
    """What such a program does, None when `call` is none of them."""
    name = base_name(call.name)
    if name not in INTERPRETERS and name not in SHELLS and name not in REASONS:
        return None
    if len(call.args) == 1 and (call.args[0] in _ANSWERS or call.args[0] == _MORE_ANSWERS.get(name)):
        return ""
    if name in REASONS:
        return REASONS[name]
    return "runs a program that is not shown" if name in INTERPRETERS else "runs commands"
