"""Which programs need the network."""

from limnos.agent.shell.options import Call

_PROGRAMS = frozenset(
    "curl wget wget2 fetch http https httpie xh aria2c axel lynx links elinks w3m ssh "
    "scp sftp ftp lftp telnet nc ncat netcat socat "
    "mosh rclone ping dig host nslookup whois traceroute tracepath mtr youtube-dl "
    "yt-dlp gh glab aws az gcloud kubectl oc helm "
    "npx bunx uvx pipx apt apt-get dnf yum apk zypper pacman brew snap flatpak "
    "smbclient rsh tftp curlie".split()
)
_SUBCOMMANDS: dict[str, frozenset[str]] = {
    "git": frozenset("clone fetch pull push ls-remote submodule remote send-email lfs".split()),
    "npm": frozenset("install i ci add update outdated view search audit publish exec x".split()),
    "pnpm": frozenset("install i add update outdated dlx publish fetch audit".split()),
    "yarn": frozenset("install add upgrade outdated dlx publish audit".split()),
    "bun": frozenset("install add update x publish".split()),
    "pip": frozenset("install download index search wheel".split()),
    "uv": frozenset("sync add lock tool run pip build publish".split()),
    "poetry": frozenset("install add update lock publish search self".split()),
    "cargo": frozenset(
        "fetch build b check c test t run r install add update search publish clippy doc".split()
    ),
    "go": frozenset("get install mod build test run".split()),
    "docker": frozenset("pull push login search build run buildx compose".split()),
    "podman": frozenset("pull push login search build run".split()),
    "gem": frozenset("install update fetch search push outdated".split()),
    "bundle": frozenset("install update outdated".split()),
    "composer": frozenset("install update require outdated create-project".split()),
    "mvn": frozenset("compile test package install verify deploy".split()),
    "dotnet": frozenset("restore build test add tool".split()),
    "conda": frozenset("install create update search".split()),
    "terraform": frozenset("init plan apply destroy".split()),
    "ollama": frozenset("pull push".split()),
}
_SUBCOMMANDS["pip3"] = _SUBCOMMANDS["pip"]
_SHOWS_PAGES = frozenset(
    "curl wget wget2 fetch http https xh aria2c axel lynx links elinks w3m nc ncat "
    "netcat socat telnet ftp lftp curlie tftp "
    "ssh sftp rclone smbclient".split()
)


def needs_network(call: Call) -> str:
    """The program with its subcommand when `call` needs the network, else ""."""
    if call.name in _PROGRAMS:
        return call.name
    if call.name in _SUBCOMMANDS:
        sub = next((word for word in call.args if not word.startswith("-")), "")
        return f"{call.name} {sub}" if sub in _SUBCOMMANDS[call.name] else ""
    remote = any(":" in word.split("/")[0] for word in call.args if not word.startswith("-"))
    return call.name if call.name == "rsync" and remote else ""


def brings_text(call: Call) -> bool:
    """Whether `call` prints what another machine sent."""
    return call.name in _SHOWS_PAGES
