"""The filter decides as it says on each processor; a small machine for it runs the program."""

import errno
import struct

import pytest

from limnos.process.seccomp import MACHINES, program

ALLOW, KILL = 0x7FFF0000, 0x80000000
UNIX, INET, NETLINK, STREAM, DGRAM = 1, 2, 16, 1, 2


def decide(machine: str, number: int, *arguments: int, audit: int | None = None) -> int:
    """What the filter returns for one call."""
    data = struct.pack("<IIQ", number & 0xFFFFFFFF, MACHINES[machine].audit if audit is None else audit, 0)
    data += struct.pack("<6Q", *(*arguments, 0, 0, 0, 0, 0, 0)[:6])
    code = list(struct.iter_unpack("<HBBI", program(machine)))
    assert len(code) <= 4096
    accumulator, at = 0, 0
    while True:
        kind, yes, no, value = code[at]
        at += 1
        match kind:
            case 0x20:
                accumulator = struct.unpack_from("<I", data, value)[0]
            case 0x54:
                accumulator &= value
            case 0x06:
                return value
            case 0x15 | 0x35 | 0x45:
                holds = {
                    0x15: accumulator == value,
                    0x35: accumulator >= value,
                    0x45: bool(accumulator & value),
                }
                at += yes if holds[kind] else no
            case other:
                pytest.fail(f"unknown instruction {other:#x}")


def refused(number: int) -> int:
    return 0x50000 | number


@pytest.mark.parametrize("machine", MACHINES)
def test_every_call_has_the_decision_of_the_table(machine: str) -> None:
    kind = MACHINES[machine]
    for number in range(471):
        if number in kind.refused.values():
            assert decide(machine, number) == refused(errno.EPERM)
        elif number not in kind.special.values():
            assert decide(machine, number) == ALLOW


@pytest.mark.parametrize("machine", MACHINES)
def test_calls_are_judged_by_their_arguments(machine: str) -> None:
    call = MACHINES[machine].special
    eperm, family = refused(errno.EPERM), refused(errno.EAFNOSUPPORT)
    for name, arguments, expected in [
        ("socket", (UNIX, STREAM, 0), eperm),
        ("socket", (1 << 32 | UNIX, STREAM, 0), eperm),
        ("socket", (INET, STREAM, 0), ALLOW),
        ("socket", (10, DGRAM, 0), ALLOW),
        ("socket", (NETLINK, 3, 0), ALLOW),
        ("socket", (NETLINK, 3, 9), eperm),
        ("socket", (17, 3, 0), family),
        ("socket", (0, 0, 0), family),
        ("socketpair", (UNIX, STREAM | 0o2000000, 0), ALLOW),
        ("socketpair", (UNIX, 5, 0), ALLOW),
        ("socketpair", (UNIX, DGRAM, 0), eperm),
        ("socketpair", (UNIX, 3, 0), eperm),
        ("socketpair", (INET, STREAM, 0), family),
        ("clone", (0x1200011,), ALLOW),
        ("clone", (0x3D0F00,), ALLOW),
        ("clone", (0x10000011,), eperm),
        ("clone", (0x20011,), eperm),
        ("clone3", (0, 0), refused(errno.ENOSYS)),
        ("unshare", (0x400,), ALLOW),
        ("unshare", (0x80,), eperm),
        ("unshare", (0x10000000,), eperm),
        ("ioctl", (0, 0x5412), eperm),
        ("ioctl", (0, 0x7700005412), eperm),
        ("ioctl", (0, 0x541C), eperm),
        ("ioctl", (0, 0x5401), ALLOW),
        ("personality", (0,), ALLOW),
        ("personality", (0xFFFFFFFF,), ALLOW),
        ("personality", (0x0400000,), eperm),
    ]:
        assert decide(machine, call[name], *arguments) == expected, (name, arguments)


@pytest.mark.parametrize("machine", MACHINES)
def test_foreign_numbers_are_never_let_through(machine: str) -> None:
    assert decide(machine, 20, audit=0x40000003) == KILL
    assert decide(machine, 20, audit=0) == KILL
    for number in (471, 4000, 0x40000000, 0x40000027, 0xFFFFFFFF):
        assert decide(machine, number) == refused(errno.ENOSYS)


def test_a_machine_without_a_table_is_an_error() -> None:
    with pytest.raises(KeyError):
        program("riscv64")
