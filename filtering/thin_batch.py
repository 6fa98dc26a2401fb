"""Thin the frames of a new batch against each other and against all that was kept before."""

from dataclasses import dataclass

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from driveflow.embeddings.vector_store import VectorSource
from driveflow.flow.sections import NearDuplicateSection
from filtering.distinct import pairs_among
from filtering.equal_pixels import Lookalikes, thin_with_pixels
from filtering.kept_index import KeptFrames
from filtering.near_duplicates import Candidates, Codes, Mask, Twins, asking_order, thin
from filtering.places import Ints, numbered, place_rows

_BEFORE = -1  # the rank of what was kept before: asked ahead of all that is new


@dataclass(frozen=True, slots=True)
class NewFrames:
    """The frames of a new batch, as `Candidates` has them."""

    frame_ids: pa.Array
    phash64: Codes
    rank: Ints
    shielded: Mask


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of old and new frames: their sources, the pairs that are no twins, vectors, and who looks alike.

    `alike` numbers the frames kept before first, then the new ones.
    """

    sources: pa.Table
    distinct: pa.Table | None = None
    vectors: VectorSource | None = None
    alike: Lookalikes | None = None


@dataclass(frozen=True, slots=True)
class BatchOutcome:
    """The twins of new frames, numbered among `frame_ids`, of which the first are old; and the new frames kept."""

    frame_ids: pa.Array
    twins: Twins
    kept: KeptFrames


def thin_batch(new: NewFrames, before: KeptFrames, section: NearDuplicateSection, known: Known) -> BatchOutcome:
    """Thin a new batch against itself and all that was kept `before`, of which nothing is dropped any more.

    The answer is that of one run over all batches in the order in which they arrived.
    """
    candidates = _candidates(new, before, known)
    twins = thin(candidates, section) if known.alike is None else thin_with_pixels(candidates, known.alike, section)
    return BatchOutcome(candidates.frame_ids, twins, _kept(new, candidates, twins))


def _candidates(new: NewFrames, before: KeptFrames, known: Known) -> Candidates:
    old = len(before.frame_ids)
    frame_ids = pa.concat_arrays([before.frame_ids, new.frame_ids])
    mine = known.sources.filter(pc.is_in(known.sources["frame_id"], value_set=frame_ids))
    places = place_rows(frame_ids, mine)
    here = places.filter(pl.col("frame") >= old).with_columns(pl.col("frame") - old)
    order = np.concatenate([np.arange(old), numbered(here, len(new.frame_ids)).order])
    return Candidates(
        frame_ids=frame_ids,
        phash64=np.concatenate([before.phash64, new.phash64]),
        seen=numbered(places, len(frame_ids), order),
        rank=np.concatenate([np.full(old, _BEFORE), new.rank]),
        shielded=np.concatenate([np.ones(old, np.bool_), new.shielded]),
        distinct=None if known.distinct is None else pairs_among(frame_ids, known.distinct),
        vectors=known.vectors,
        settled=old,
    )


def _kept(new: NewFrames, candidates: Candidates, twins: Twins) -> KeptFrames:
    stays = np.ones(len(candidates.frame_ids), np.bool_)
    stays[: candidates.settled] = False
    stays[twins.frame] = False
    asking = asking_order(candidates)
    rows = asking[stays[asking]] - candidates.settled
    return KeptFrames(new.frame_ids.take(pa.array(rows)), new.phash64[rows])
