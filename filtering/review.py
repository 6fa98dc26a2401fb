"""Let people judge a sample of what a rule dropped or a miner found, and say how often it was right, band by band."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from driveflow.by_hand import Said
from driveflow.canonical import Json
from driveflow.errors import UsageError
from filtering.finds import wilson
from filtering.rarity import shuffled
from filtering.sheets import open_sheet

ANSWERS: Final = {"yes": True, "y": True, "1": True, "true": True, "no": False, "n": False, "0": False, "false": False}
_COLUMNS: Final = ("number", "path", "twin_path", "band", "score", "answer", "frame_id", "twin")
_MOST_SINGLE: Final = 8  # with more different scores than this, a band holds a quarter of the frames


@dataclass(frozen=True, slots=True)
class Case:
    """One thing a rule did: it dropped a frame, maybe beside a twin, or found it; the score is in the rule's unit."""

    frame_id: str
    rule: str
    score: float | None = None
    twin: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Band:
    """The cases whose score lies from `low` to `high`, both within, and the sample of them that people look at."""

    name: str
    cases: tuple[Case, ...]
    sample: tuple[Case, ...]


@dataclass(frozen=True, slots=True)
class BandPrecision:
    """How many cases of a band were judged, how many of those rightly decided, and Wilson's 95 % interval of the share.

    `low` and `high` are 0 and 1 where nobody judged.
    """

    band: str
    cases: int
    judged: int
    right: int
    low: float
    high: float

    @property
    def precision(self) -> float | None:
        """The share that was right; None where nobody judged."""
        return round(self.right / self.judged, 4) if self.judged else None

    def to_json(self) -> dict[str, Json]:
        """Return the band as JSON."""
        return {
            "band": self.band,
            "cases": self.cases,
            "judged": self.judged,
            "right": self.right,
            "precision": self.precision,
            "low": self.low,
            "high": self.high,
        }


def dropped_by(decisions: pa.Table, rule: str) -> list[Case]:
    """Return what `rule`, or any rule under it, dropped, by frame."""
    rows = decisions.filter(pc.not_equal(decisions["verdict"], "quarantined")).sort_by("frame_id").to_pylist()
    return [
        Case(row["frame_id"], row["rule"], row["score"], row["twin"] or "", row["detail"] or "")
        for row in rows
        if row["verdict"] == "dropped" and (row["rule"] == rule or row["rule"].startswith(f"{rule}."))
    ]


def found_by(selection: pa.Table, rule: str) -> list[Case]:
    """Return the frames that corner case `rule` brought into a selection; the score is the place among them, from 1."""
    mine = selection.filter(pc.equal(selection["rule"], rule)).sort_by("rank")["frame_id"].to_pylist()
    return [Case(frame_id, rule, float(place), detail=f"find {place}") for place, frame_id in enumerate(mine, 1)]


def bands(cases: Sequence[Case], per_band: int, seed: int) -> list[Band]:
    """Return the cases by score, with a sample of each band that `seed` decides and no order of the cases changes."""
    scores = np.array([np.nan if case.score is None else case.score for case in cases], np.float64)
    return [_band(name, [cases[row] for row in rows], per_band, seed) for name, rows in _split(scores)]


def precisions(drawn: Iterable[Band], said: Iterable[Said]) -> list[BandPrecision]:
    """Return how often the rule was right in each band, by what people said last of each of its cases."""
    words = {(row.rule, row.frame_id, row.twin): row.yes for row in said if row.about == "review"}
    found = []
    for band in drawn:
        judged = [words[key] for case in band.cases if (key := (case.rule, case.frame_id, case.twin)) in words]
        low, high = wilson(sum(judged), len(judged)) if judged else (0.0, 1.0)
        found.append(BandPrecision(band.name, len(band.cases), len(judged), sum(judged), low, high))
    return found


def overall(found: Sequence[BandPrecision]) -> float | None:
    """Return the precision over all bands that were judged, each weighed by its cases; None where none was.

    >>> overall([BandPrecision("2", 90, 10, 10, 0.7, 1.0), BandPrecision("4", 10, 10, 5, 0.2, 0.8)])
    0.95
    """
    judged = [band for band in found if band.judged]
    cases = sum(band.cases for band in judged)
    return round(sum(band.cases * band.right / band.judged for band in judged) / cases, 4) if cases else None


def answer_sheet(drawn: Iterable[Band], known: Mapping[str, str], names: Mapping[str, str]) -> str:
    """Return a CSV with a row for each case of the samples, to be answered by yes or no; `known` answers stand.

    Rows are numbered as the pictures of the page are; `names` are the paths of frames.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_COLUMNS)
    cases = [(band.name, case) for band in drawn for case in band.sample]
    for number, (band_name, case) in enumerate(cases, 1):
        score = "" if case.score is None else f"{case.score:g}"
        paths = names.get(case.frame_id, ""), names.get(case.twin, "")
        answer = known.get(case.frame_id, "")
        writer.writerow([number, *paths, band_name, score, answer, case.frame_id, case.twin])
    return out.getvalue()


def read_answers(text: str, name: str) -> dict[str, bool]:
    """Return for each frame of a CSV with the columns frame_id and answer whether the rule was right; blank: unsaid.

    Raises:
        UsageError: the columns are missing, an answer is neither yes nor no, or a frame has both.
    """
    reader = open_sheet(text)
    if not {"frame_id", "answer"} <= set(reader.fieldnames or ()):
        raise UsageError(f"{name} has no columns frame_id and answer.")
    found: dict[str, bool] = {}
    for line, row in enumerate(reader, 2):
        answer, frame_id = (row["answer"] or "").strip().lower(), row["frame_id"] or ""
        if answer and answer not in ANSWERS:
            raise UsageError(f"{name}:{line} answers {answer!r}; yes or no would do.")
        if answer and found.setdefault(frame_id, ANSWERS[answer]) != ANSWERS[answer]:
            raise UsageError(f"{name}:{line} answers {answer!r} for {frame_id[:16]}, a line before it the contrary.")
    return found


def unsaid_answers(answers: Mapping[str, bool], drawn: Iterable[Band], said: Iterable[Said]) -> list[str]:
    """Return the frames of `answers` that are in no sample and of which nobody said so: a new sheet would lose them."""
    shown = {case.frame_id for band in drawn for case in band.sample}
    heard = {(row.frame_id, row.yes) for row in said if row.about == "review"}
    return [item for item, right in answers.items() if item not in shown and (item, right) not in heard]


def _split(scores: np.ndarray) -> list[tuple[str, list[int]]]:
    """Return the rows of each band under its name: a score where these are few, else quarters; the unscored last."""
    known = np.flatnonzero(~np.isnan(scores))
    different = np.unique(scores[known])
    found: list[tuple[str, list[int]]] = []
    if len(different) <= _MOST_SINGLE:
        found += [(f"{value:g}", np.flatnonzero(scores == value).tolist()) for value in different]
    else:
        edges = np.unique(np.quantile(scores[known], [0.25, 0.5, 0.75], method="inverted_cdf"))
        number = np.searchsorted(edges, scores[known], side="left")
        for part in np.unique(number):
            rows = known[number == part]
            found.append((f"{scores[rows].min():g} to {scores[rows].max():g}", rows.tolist()))
    unscored = np.flatnonzero(np.isnan(scores)).tolist()
    return [*found, ("no score", unscored)] if unscored else found


def _band(name: str, cases: list[Case], per_band: int, seed: int) -> Band:
    by_id = {case.frame_id: case for case in sorted(cases, key=lambda case: case.frame_id)}
    drawn = shuffled(by_id, f"review {name} {seed}")[:per_band]
    return Band(name, tuple(by_id.values()), tuple(by_id[frame_id] for frame_id in drawn))
