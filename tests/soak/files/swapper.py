"""A process that swaps a folder and a file for links that lead outside, and back, until it is killed.

usage: python -m tests.soak.files.swapper FOLDER COUNTER; COUNTER is a file of 8 bytes that has the number of
swaps so far. Each swap is one exchange of names, so that every name is always there.
"""

import mmap
import os
import struct
import sys
from itertools import count

from limnos.sdk.beneath import exchange

PAIRS = (("sub", "sub-link"), ("top.txt", "top-link"))


def main(folder: str, counter: str) -> None:
    """Swap for ever."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    with open(counter, "r+b") as file, mmap.mmap(file.fileno(), 8) as shared:
        for number in count(1):
            for one, other in PAIRS:
                try:
                    exchange(descriptor, one, other)
                except FileNotFoundError:
                    continue  # the file is being removed just now
            struct.pack_into("q", shared, 0, number)


if __name__ == "__main__":
    main(*sys.argv[1:])
