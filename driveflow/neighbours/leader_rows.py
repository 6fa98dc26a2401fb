"""The arrays that the compiled leader rule works on, as named tuples: compiled functions take no other records."""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

NO_TIME: Final = int(np.iinfo(np.int64).min)
CHUNKS: Final = 4  # of 16 bits: codes within r bits differ in at most r // 4 bits of one of them
CHUNK_BITS: Final = 16

Codes = npt.NDArray[np.uint64]
Ints = npt.NDArray[np.int64]
Places = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


class Memberships(NamedTuple):
    """Which groups each item belongs to, and when and where it was there, as compressed rows.

    `starts` has one more entry than there are items, the others one a membership, those of item i from starts[i] to
    starts[i + 1]: `time_ns` (NO_TIME: not known), and `x_m`, `y_m`, `z_m` (NaN: not known), positions in any frame with
    right angles, in metres.
    """

    starts: Ints
    group: Ints
    time_ns: Ints
    x_m: Floats
    y_m: Floats
    z_m: Floats


class Timeline(NamedTuple):
    """Memberships in groups that go by time, sorted by group and time: at slot s stands row order[s], of item owner[s].

    The slots of group g begin at begins[g] and end at begins[g + 1]; `place` is the slot of each row, -1 without one.
    """

    order: Ints
    owner: Ints
    place: Ints
    begins: Ints


class NamedPairs(NamedTuple):
    """Other items of each of `len(starts) - 1` items, as compressed rows, and a distance to each."""

    starts: Ints
    items: Ints
    distance: Floats


class Items(NamedTuple):
    """What is asked, in this order; an item never follows one it is `barred` from."""

    codes: Codes
    spared: Mask
    rows: Memberships
    timeline: Timeline
    barred: NamedPairs


class Rules(NamedTuple):
    """What each group allows, and the limits of window and floor."""

    limit_bits: Ints
    windowed: Mask
    floored: Mask
    window_ns: int
    floor_ns: int
    standstill_ns: int
    floor_m: float


class Buckets(NamedTuple):
    """Leaders by the value of each chunk: those of `ordered` side by side, newer ones in lists, which -1 ends."""

    starts: Places  # chunk, bucket -> where its codes begin in `ordered`
    ordered: Codes  # chunk, place
    entries: Places  # chunk, place -> which entry that is
    heads: Places  # chunk, bucket -> last newer slot
    after: Places  # chunk, slot -> the one before it in its bucket
    newer: Places  # slot -> which entry that is
    newest: Ints  # how many slots are taken


class Leaders(NamedTuple):
    """The leaders so far, an entry for each group of theirs, those of a group side by side."""

    codes: Codes
    items: Ints
    begins: Ints  # group -> its first entry
    counts: Ints  # group -> how many entries
    latest: Ints  # group -> the entry that was followed or added last
    wild: Ints  # group -> the last entry that was added though others may be near, -1: there is none
    leads: Mask  # item -> whether it leads
    barred: Mask  # item -> whether the item that is asked now may not follow it
    buckets: Buckets  # of groups with many


class Result(NamedTuple):
    """What is found of each item; see `leader_scan.Followers`."""

    leader: Ints
    distance_bits: Ints
    gap_ns: Ints
    vector_distance: Floats
    group: Ints


class Near(NamedTuple):
    """The best so far; -1 where there is none."""

    distance: int  # in bits, or in nanoseconds
    item: int
