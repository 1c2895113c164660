"""Immutable pieces of an inverted index: postings as arrays, sorted by the 64-bit hash of their key."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

from limnos import lazy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Bools = NDArray[lazy.numpy.bool_]
    Bytes = NDArray[lazy.numpy.uint8]
    Counts = NDArray[lazy.numpy.int64]
    Docs = NDArray[lazy.numpy.int32]
    Hashes = NDArray[lazy.numpy.uint64]

_MAGIC = b"limnosw1"
_HEAD = struct.Struct("<8sQQQ")


class Segment(NamedTuple):
    """Postings of some documents.

    `keys` (k,) sorted; the postings of key i are `docs[starts[i]:starts[i + 1]]`, in the order they came, and
    `counts` says how often each document has it (at most 255). `members` and `lengths` (m,): the documents of
    the segment and their sizes in terms. `name` is the digest of all of it.
    """

    keys: Hashes
    starts: Counts
    docs: Docs
    counts: Bytes
    members: Docs
    lengths: Docs
    name: str

    def dump(self) -> bytes:
        """All of it as bytes, little-endian."""
        return b"".join(_parts(self))


def _parts(segment: Segment) -> list[bytes]:
    head = _HEAD.pack(_MAGIC, len(segment.keys), len(segment.docs), len(segment.members))
    np = lazy.numpy
    # starts last as differences: they fit 32 bits
    sizes = np.diff(segment.starts).astype("<u4")
    arrays = (
        segment.keys.astype("<u8", copy=False),
        sizes,
        segment.docs.astype("<i4", copy=False),
        segment.members.astype("<i4", copy=False),
        segment.lengths.astype("<i4", copy=False),
        segment.counts,
    )
    return [head, *(array.tobytes() for array in arrays)]


def segment(keys: Hashes, starts: Counts, docs: Docs, counts: Bytes, members: tuple[Docs, Docs]) -> Segment:
    """The segment of these arrays; `members` are the documents and their lengths."""
    unnamed = Segment(keys, starts, docs, counts, *members, name="")
    digest = blake2b(digest_size=12)
    for part in _parts(unnamed):
        digest.update(part)
    return unnamed._replace(name=digest.hexdigest())


def load(data: bytes) -> Segment:
    """The segment that `dump` wrote. Raises ValueError for anything else."""
    np = lazy.numpy
    if len(data) < _HEAD.size:
        raise ValueError("no segment of words")
    magic, keys, postings, members = _HEAD.unpack_from(data)
    if magic != _MAGIC or len(data) != _HEAD.size + keys * 12 + postings * 5 + members * 8:
        raise ValueError("no segment of words")
    at = _HEAD.size
    arrays: list[NDArray[lazy.numpy.generic]] = []
    for kind, count in (("<u8", keys), ("<u4", keys), ("<i4", postings), ("<i4", members), ("<i4", members)):
        arrays.append(np.frombuffer(data, kind, count, at))
        at += arrays[-1].nbytes
    counts = np.frombuffer(data, np.uint8, postings, at)
    starts = np.zeros(keys + 1, np.int64)
    np.cumsum(arrays[1], out=starts[1:])
    if starts[-1] != postings:
        raise ValueError("no segment of words")
    name = blake2b(data, digest_size=12).hexdigest()
    return Segment(
        arrays[0].astype(np.uint64, copy=False),
        starts,
        arrays[2].astype(np.int32, copy=False),
        counts,
        arrays[3].astype(np.int32, copy=False),
        arrays[4].astype(np.int32, copy=False),
        name,
    )


def build(keys: Hashes, docs: Docs, counts: Bytes, members: tuple[Docs, Docs]) -> Segment:
    """A segment of postings in any order of keys; those of one key stay in their order."""
    np = lazy.numpy
    order = np.argsort(keys, kind="stable")
    unique, first = np.unique(keys[order], return_index=True)
    starts = np.append(first, len(keys)).astype(np.int64)
    return segment(unique, starts, docs[order], counts[order], members)


def merge(segments: Sequence[Segment]) -> Segment:
    """One segment of several, postings of a key in the order of the segments. Linear in their sizes."""
    np = lazy.numpy
    unique = np.unique(np.concatenate([one.keys for one in segments]))
    places = [np.searchsorted(unique, one.keys) for one in segments]
    sizes = np.zeros(len(unique), np.int64)
    for one, place in zip(segments, places, strict=True):
        sizes[place] += np.diff(one.starts)
    starts = np.zeros(len(unique) + 1, np.int64)
    np.cumsum(sizes, out=starts[1:])
    docs = np.empty(starts[-1], np.int32)
    counts = np.empty(starts[-1], np.uint8)
    free = starts[:-1].copy()
    for one, place in zip(segments, places, strict=True):
        size = np.diff(one.starts)
        target = np.arange(len(one.docs)) + np.repeat(free[place] - one.starts[:-1], size)
        docs[target] = one.docs
        counts[target] = one.counts
        free[place] += size
    members = np.concatenate([one.members for one in segments])
    lengths = np.concatenate([one.lengths for one in segments])
    return segment(unique, starts, docs, counts, (members, lengths))


def without(whole: Segment, gone: Bools) -> Segment:
    """`whole` without the documents for which `gone` (by document) is true."""
    np = lazy.numpy
    stay = ~gone[whole.docs]
    kept = np.zeros(len(whole.docs) + 1, np.int64)
    np.cumsum(stay, out=kept[1:])
    starts = kept[whole.starts]
    alive = np.diff(starts) > 0
    members = ~gone[whole.members]
    return segment(
        whole.keys[alive],
        np.append(starts[:-1][alive], starts[-1]),
        whole.docs[stay],
        whole.counts[stay],
        (whole.members[members], whole.lengths[members]),
    )
