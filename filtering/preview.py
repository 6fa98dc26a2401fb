"""Say what filters would do to a sample, before they do anything: a function of tables, which writes nothing."""

from collections import Counter
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow.compute as pc

from driveflow.canonical import Json
from driveflow.snapshots import SnapshotTables
from filtering.borderline import Judged, judged_frames
from filtering.filter_frames import FilterOutcome, FilterRequest, filter_frames
from filtering.idle_settings import idle_settings
from filtering.sweeps import Sweep, sweeps

SHARES: Final = (0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25)
"""Shares of the frames for which the limit is told that would drop them."""
_CURVE_POINTS: Final = 101


@dataclass(frozen=True, slots=True)
class Price:
    """What a label costs a frame; 0 where that is not known."""

    per_frame: float = 0.0
    currency: str = ""

    def of(self, frames: int) -> float | None:
        """Return what `frames` cost, None where that is not known."""
        return round(frames * self.per_frame, 2) if self.per_frame else None


@dataclass(frozen=True, slots=True, eq=False)
class LimitPreview:
    """One limit: how many frames it drops by itself, how its score is spread, and which limit would drop how much.

    `curve` has (score, share of the frames at or under it); `limits` has (share dropped, limit that drops no more).
    """

    judged: Judged
    dropped: int  # by this rule, where the filters before it have had their turn
    curve: tuple[tuple[float, float], ...]
    limits: tuple[tuple[float, float], ...]

    def to_json(self) -> dict[str, Json]:
        """Return the limit as JSON."""
        item, known = self.judged.item, len(self.judged.known())
        return {
            "rule": item.rule,
            "reason": item.reason,
            "unit": item.unit,
            "limit": item.limit,
            "setting": self.judged.setting,
            "drops": "above" if self.judged.drops_above else "below",
            "judged": known,
            "beyond": self.judged.beyond,
            "beyond_share": round(self.judged.beyond / known, 4) if known else 0.0,
            "dropped": self.dropped,
            "limit_for_share": {f"{share:g}": limit for share, limit in self.limits},
            "curve": [[score, share] for score, share in self.curve],
        }


@dataclass(frozen=True, slots=True)
class Preview:
    """What the filters would do to the frames that were looked at, and by extension to all training frames."""

    request: FilterRequest
    outcome: FilterOutcome
    all_frames: int  # training frames there are; the sample may be a part of them
    limits: tuple[LimitPreview, ...]
    sweeps: tuple[Sweep, ...]
    price: Price

    @property
    def saved(self) -> int:
        """How many of the frames looked at would not be labeled."""
        return self.outcome.counts["dropped"] + self.outcome.counts["quarantined"]

    def of_all(self, frames: int) -> int:
        """Return how many of all training frames `frames` of the sample stand for."""
        looked_at = self.outcome.counts["frames_in"]
        return round(self.all_frames * frames / looked_at) if looked_at else 0

    def by_reason(self) -> dict[str, int]:
        """Return how many frames would go for which reason, most first."""
        rows = self.outcome.decisions.filter(pc.not_equal(self.outcome.decisions["verdict"], "kept"))
        return dict(sorted(Counter(rows["reason"].to_pylist()).items(), key=lambda item: (-item[1], item[0])))

    def to_json(self) -> dict[str, Json]:
        """Return the preview as JSON."""
        counts = self.outcome.counts
        saved = self.of_all(self.saved)
        verdicts: dict[str, Json] = {name: counts[name] for name in ("kept", "dropped", "quarantined")}
        reasons: dict[str, Json] = dict(self.by_reason())
        saves: dict[str, Json] = {
            "frames": self.saved,
            "share": round(self.saved / counts["frames_in"], 4) if counts["frames_in"] else 0.0,
            "of_all_frames": saved,
            "money": self.price.of(saved),
            "currency": self.price.currency,
        }
        return {
            "frames": {"training": self.all_frames, "looked_at": counts["frames_in"]},
            "would_be": verdicts,
            "by_reason": reasons,
            "saves": saves,
            "limits": [item.to_json() for item in self.limits],
            "sweeps": [item.to_json() for item in self.sweeps],
            "notes": list(idle_settings(self.request.filters, self.request.tables)),
        }


def training_frames(tables: SnapshotTables) -> int:
    """Return how many frames of `tables` a filter may drop."""
    return int(pc.sum(pc.equal(tables.frames["split"], "train")).as_py() or 0)


def preview(request: FilterRequest, all_frames: int, price: Price) -> Preview:
    """Return what the filters would do to the frames of `request`, a sample of `all_frames` training frames."""
    outcome = filter_frames(request)
    by_rule = Counter(outcome.decisions.filter(pc.equal(outcome.decisions["verdict"], "dropped"))["rule"].to_pylist())
    limits = tuple(_limit(judged, by_rule[judged.item.rule]) for judged in judged_frames(request, outcome))
    return Preview(request, outcome, all_frames, limits, sweeps(request), price)


def _limit(judged: Judged, dropped: int) -> LimitPreview:
    known = judged.known()
    if not len(known):
        return LimitPreview(judged, dropped, (), ())
    scores = np.unique(np.quantile(known, np.linspace(0.0, 1.0, min(_CURVE_POINTS, len(known))), method="inverted_cdf"))
    shares = np.searchsorted(known, scores, side="right") / len(known)
    curve = tuple(zip(scores.round(4).tolist(), shares.round(4).tolist(), strict=True))
    away = 1.0 - np.array(SHARES) if judged.drops_above else np.array(SHARES)
    limits = np.quantile(known, away, method="inverted_cdf").round(4)
    return LimitPreview(judged, dropped, curve, tuple(zip(SHARES, limits.tolist(), strict=True)))
