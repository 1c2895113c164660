"""Which programs need the network."""

from limnos.agent.shell.options import Call
from limnos.agent.shell.tables import names

_PROGRAMS = names(
    "curl wget wget2 fetch http https httpie xh aria2c axel lynx links elinks w3m ssh "
    "scp sftp ftp lftp telnet nc ncat netcat socat "
    "mosh rclone ping dig host nslookup whois traceroute tracepath mtr youtube-dl "
    "yt-dlp gh glab aws az gcloud kubectl oc helm "
    "npx bunx uvx pipx apt apt-get dnf yum apk zypper pacman brew snap flatpak "
    "smbclient rsh tftp curlie"
)
_SUBCOMMANDS: dict[str, frozenset[str]] = {
    "git": names("clone fetch pull push ls-remote submodule remote send-email lfs"),
    "npm": names("install i ci add update outdated view search audit publish exec x"),
    "pnpm": names("install i add update outdated dlx publish fetch audit"),
    "yarn": names("install add upgrade outdated dlx publish audit"),
    "bun": names("install add update x publish"),
    "pip": names("install download index search wheel"),
    "uv": names("sync add lock tool run pip build publish"),
    "poetry": names("install add update lock publish search self"),
    "cargo": names("fetch build b check c test t run r install add update search publish clippy doc"),
    "go": names("get install mod build test run"),
    "docker": names("pull push login search build run buildx compose"),
    "podman": names("pull push login search build run"),
    "gem": names("install update fetch search push outdated"),
    "bundle": names("install update outdated"),
    "composer": names("install update require outdated create-project"),
    "mvn": names("compile test package install verify deploy"),
    "dotnet": names("restore build test add tool"),
    "conda": names("install create update search"),
    "terraform": names("init plan apply destroy"),
    "ollama": names("pull push"),
}
_SUBCOMMANDS["pip3"] = _SUBCOMMANDS["pip"]
_SHOWS_PAGES = names(
    "curl wget wget2 fetch http https xh aria2c axel lynx links elinks w3m nc ncat "
    "netcat socat telnet ftp lftp curlie tftp "
    "ssh sftp scp rclone smbclient gsutil dig host nslookup whois"
)
_SHOWS_WITH = {
    "openssl": names("s_client"),
    "gh": names("api gist release"),
    "glab": names("api snippet release"),
    "aws": names("s3 s3api"),
    "az": names("storage"),
    "gcloud": names("storage"),
}


def needs_network(call: Call) -> str:
    """The program with its subcommand when `call` needs the network, else ""."""
    if call.name in _PROGRAMS:
        return call.name
    if call.name in _SUBCOMMANDS:
        operands = [word for word in call.args if not word.startswith("-")]
        # Values of flags stand before the subcommand too (`git -C x push`).
        sub = next((word for word in operands[:3] if word in _SUBCOMMANDS[call.name]), "")
        return f"{call.name} {sub}" if sub else ""
    remote = any(":" in word.split("/")[0] for word in call.args if not word.startswith("-"))
    return call.name if call.name == "rsync" and remote else ""


def brings_text(call: Call) -> bool:
    """Whether `call` prints what another machine sent."""
    return call.name in _SHOWS_PAGES or bool(_SHOWS_WITH.get(call.name, frozenset()) & set(call.args[:2]))
