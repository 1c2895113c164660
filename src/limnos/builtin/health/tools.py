"""The tool `health`."""

from limnos.builtin.health.host import Host, look
from limnos.sdk.plugin import Call, Output, Plugin

GIB = 1 << 30
_MINUTE, _HOUR, _DAY = 60, 3600, 86_400

plugin = Plugin()


@plugin.tool
def health(call: Call) -> Output:
    """How this machine does."""
    host = look(call.cwd)
    return Output("\n".join(_rows(host)), f"load {host.load[0]:.2f}, {host.disk_free / GIB:.1f} GB free")


def _rows(host: Host) -> list[str]:
    load = ", ".join(f"{one:.2f}" for one in host.load)
    rows = [
        f"limnos {host.version} on {host.system}",
        f"up: {_time(host.uptime_s)}" if host.uptime_s is not None else "up: unknown",
        f"processors: {host.processors}; load of the last 1, 5 and 15 minutes: {load}",
    ]
    if host.memory is not None:
        rows.append(f"memory: {host.available / GIB:.1f} GB of {host.memory / GIB:.1f} GB free")
    rows.append(f"disk of the working folder: {host.disk_free / GIB:.1f} GB of {host.disk / GIB:.1f} GB free")
    rows.append(f"not installed: {', '.join(host.missing) or 'nothing that limnos makes use of'}")
    return rows


def _time(seconds: float) -> str:
    days, rest = divmod(int(seconds), _DAY)
    hours, rest = divmod(rest, _HOUR)
    return f"{days} days, {hours} h {rest // _MINUTE} min"
