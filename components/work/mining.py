"""What miners look at: what models see in frames, and vectors of frames and objects; each is made once for all runs."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from driveflow.flow.sections import CornerCaseSection, LabelingSection
from driveflow.snapshots import SnapshotTables
from driveflow.steps import StepContext

if TYPE_CHECKING:
    from driveflow.images.pixels import PixelReader
    from filtering.miners.material import FrameVectors, Mask, ObjectVectors

_LOOK_AT_LABELED = ("errors", "flicker")  # miners that ask what the champion sees in labeled frames too
_BY_OBJECT = ("rare_objects", "like_labels")


@dataclass(frozen=True, slots=True)
class Search:
    """The frames that are searched, and what for."""

    tables: SnapshotTables
    pixels: "PixelReader"
    corner_cases: Sequence[CornerCaseSection]
    labeling: LabelingSection
    champion: str


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """What the models see: `sure` is the champion's in unlabeled training frames, to be sent along as pre-labels."""

    sure: pa.Table | None = None
    by_model: tuple[pa.Table, ...] = ()
    looked: "Mask | None" = field(default=None)


def look_at_frames(context: StepContext, search: Search) -> Seen:
    """Return what the champion, and the models that a miner names, see in the frames that are searched."""
    if not search.champion:
        return Seen()
    unlabeled = _unlabeled(search.tables.frames)
    wanted = _wanted(search)
    models = [uri for case in search.corner_cases for uri in case.settings.models]
    uris = dict.fromkeys([search.champion, *models])
    seen = tuple(_predict(context, uri, search, wanted) for uri in uris)
    least = search.labeling.prelabel_min_score
    mine = pc.is_in(seen[0]["frame_id"], value_set=search.tables.frames["frame_id"].filter(unlabeled).combine_chunks())
    sure = seen[0].filter(pc.and_(mine, pc.greater_equal(seen[0]["score"], least)))
    return Seen(sure, seen, np.asarray(wanted.to_numpy(zero_copy_only=False), np.bool_))


def frame_vectors(context: StepContext, search: Search) -> "FrameVectors | None":
    """Return a vector of each frame of train and val; None where the flow names no embedding."""
    if not search.labeling.embedding:
        return None
    from driveflow.embeddings.catalog import load_embedder
    from driveflow.embeddings.vector_store import VectorStore
    from filtering.embed_frames import embed_frames
    from filtering.miners.material import FrameVectors

    embedder = load_embedder(search.labeling.embedding)
    store = VectorStore(context.place.store, embedder.digest, embedder.dimensions)
    splits = pc.is_in(search.tables.frames["split"], value_set=pa.array(["train", "val"]))
    wanted = search.tables.frames["frame_id"].filter(splits)
    embed_frames(wanted, search.pixels, embedder, store, context.progress)
    known = store.load(wanted)
    return FrameVectors(tuple(known.frame_ids.to_pylist()), known.vectors)


def object_vectors(context: StepContext, search: Search, sure: pa.Table | None) -> "ObjectVectors | None":
    """Return a vector of each object in train and val; None where no corner case compares objects."""
    if not any(case.miner in _BY_OBJECT or case.settings.boxes for case in search.corner_cases):
        return None
    from driveflow.embeddings.catalog import BUILT_IN, load_embedder
    from driveflow.embeddings.vector_store import VectorStore
    from filtering.miners.crops import ObjectRequest, embed_objects

    embedder = load_embedder(search.labeling.embedding or BUILT_IN)
    store = VectorStore(context.place.store, embedder.digest, embedder.dimensions)
    request = ObjectRequest(search.tables, sure, search.labeling.prelabel_min_score)
    return embed_objects(request, search.pixels, embedder, store, context.progress)


def _unlabeled(frames: pa.Table) -> pa.ChunkedArray:
    lacking = pc.less(pc.list_value_length(frames["annotated_classes"]), 1)
    return pc.and_(lacking, pc.equal(frames["split"], "train"))


def _wanted(search: Search) -> pa.ChunkedArray:
    if not any(case.miner in _LOOK_AT_LABELED for case in search.corner_cases):
        return _unlabeled(search.tables.frames)
    return pc.is_in(search.tables.frames["split"], value_set=pa.array(["train", "val"]))


def _predict(context: StepContext, uri: str, search: Search, wanted: Any) -> pa.Table:  # noqa: ANN401 a column
    from driveflow.detectors.catalog import load_detector
    from driveflow.detectors.predict import PredictionStore, predict_frames

    detector = load_detector(uri, Path(context.scratch))
    store = PredictionStore(context.place.store)
    frame_ids = search.tables.frames["frame_id"].filter(wanted)
    return predict_frames(detector, search.pixels, frame_ids, store, context.progress)
