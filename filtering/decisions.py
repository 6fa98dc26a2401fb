"""What was decided about each frame, as columns."""

from dataclasses import InitVar, dataclass, field
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from driveflow import tables as columns

STEP: Final = "filter_frames"
Ints: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.float64]
Mask: TypeAlias = npt.NDArray[np.bool_]
Texts: TypeAlias = str | pa.Array | pa.ChunkedArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """One decision about several frames; what is not one value for all has an entry for each."""

    verdict: str
    rule: Texts
    reason: Texts
    score: float | Floats | None = None
    limit: float | Floats | None = None
    twin: pa.Array | None = None
    detail: Texts = ""


@dataclass(slots=True)
class Decisions:
    """The decisions so far about `frame_ids`, which are sorted; each is decided once, by who comes first.

    What is `settled` was decided before: it is not open, and not among the rows of the table. What is `held` stays
    whatever a filter says.
    """

    frame_ids: pa.Array
    settled: InitVar[pa.Array | None] = None
    held: Mask | None = None
    open: Mask = field(init=False)
    _parts: list[pa.Table] = field(init=False, default_factory=list)

    def __post_init__(self, settled: pa.Array | None) -> None:
        self.open = np.ones(len(self.frame_ids), np.bool_)
        if settled is not None and len(settled):
            known = pc.is_in(self.frame_ids, value_set=settled)
            self.open = ~np.asarray(known.to_numpy(zero_copy_only=False), np.bool_)

    def decide(self, rows: Ints, decision: Decision) -> None:
        """Decide about the frames at `rows`; refused where one is decided already.

        Raises:
            ValueError: a frame would be decided twice.
        """
        if not self.open[rows].all():
            raise ValueError("a frame is decided once")
        values = {name: _column(getattr(decision, name), name, len(rows)) for name in _VALUES}
        step = _column(STEP, "step", len(rows))
        table = pa.table({"frame_id": self.frame_ids.take(pa.array(rows)), "step": step, **values})
        self._parts.append(table.select(columns.DECISIONS.names).cast(columns.DECISIONS))
        self.open[rows] = False

    def let_go(self, rows: Ints) -> Mask:
        """Return which of the frames at `rows`, which a filter would drop, it may; those that are held are kept."""
        held = np.zeros(len(rows), np.bool_) if self.held is None else self.held[rows]
        self.decide(rows[held], _UNDONE)
        return ~held

    def table(self) -> pa.Table:
        """Return the rows of DECISIONS, by frame."""
        if not self._parts:
            return columns.DECISIONS.empty_table()
        return pa.concat_tables(self._parts).sort_by("frame_id").combine_chunks()


_UNDONE: Final = Decision(verdict="kept", rule="by_hand", reason="kept_by_hand", detail="a person said that it stays")
_VALUES: Final = ("verdict", "rule", "reason", "score", "limit", "twin", "detail")


def score_texts(scores: Floats, form: str) -> pa.Array:
    """Return `form` filled with each score; most scores are there many times, so each is written once.

    >>> score_texts(np.array([2.0, 2.0, 0.5]), "{:g} bits").to_pylist()
    ['2 bits', '2 bits', '0.5 bits']
    """
    different, where = np.unique(scores, return_inverse=True)
    texts = pa.array([form.format(score) for score in different.tolist()], pa.string())
    return texts.take(pa.array(where))


def counts_of(decisions: pa.Table) -> dict[str, int]:
    """Return how many frames there are, how many of each verdict, and why those that are not kept are not."""
    groups = decisions.group_by(["verdict", "reason"]).aggregate([("frame_id", "count")]).to_pylist()
    by_verdict = {
        verdict: sum(row["frame_id_count"] for row in groups if row["verdict"] == verdict)
        for verdict in columns.VERDICTS
    }
    shielded = sum(row["frame_id_count"] for row in groups if row["reason"] == "corner_case")
    reasons = {f"{row['verdict']}_{row['reason']}": row["frame_id_count"] for row in groups if row["verdict"] != "kept"}
    return {
        "frames_in": decisions.num_rows,
        **by_verdict,
        "kept_corner_case": shielded,
        **dict(sorted(reasons.items())),
    }


def quarantine_rows(decisions: pa.Table, frames: pa.Table, sources: pa.Table) -> pa.Table:
    """Return a row of QUARANTINE for every file of a quarantined frame."""
    gone = decisions.filter(pc.equal(decisions["verdict"], "quarantined")).select(["frame_id", "reason", "detail"])
    mine = sources.filter(pc.is_in(sources["frame_id"], value_set=gone["frame_id"].combine_chunks()))
    at = pc.index_in(mine["frame_id"], value_set=gone["frame_id"].combine_chunks())
    size = pc.index_in(mine["frame_id"], value_set=frames["frame_id"].combine_chunks())
    return pa.table(
        {
            "batch": mine["batch"],
            "path": mine["path"],
            "reason": gone["reason"].take(at),
            "detail": gone["detail"].take(at),
            "byte_count": frames["byte_count"].take(size),
            "line": pa.nulls(mine.num_rows, pa.int64()),
        },
        schema=columns.QUARANTINE,
    )


def _column(value: object, name: str, count: int) -> pa.Array | pa.ChunkedArray:
    kind = columns.DECISIONS.field(name).type
    if value is None:
        return pa.nulls(count, kind)
    if isinstance(value, pa.Array | pa.ChunkedArray):
        return value
    if isinstance(value, np.ndarray):
        return pa.array(value, kind)
    return pa.repeat(pa.scalar(value, kind), count)
