"""Unite the frames and the sources of several batches."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from driveflow.canonical import Json, canonical_json
from driveflow.tables import KEYS


@dataclass(frozen=True, slots=True)
class United:
    """One table of several, and rows of CONFLICTS for what they said differently."""

    table: pl.DataFrame
    conflicts: list[dict[str, str]]


def unite_frames(batches: Sequence[tuple[str, pl.DataFrame]], trust: Mapping[str, int]) -> United:
    """Return every frame once, with the classes that any batch looked for and the attributes that any batch gave.

    Where they give one attribute differently, the more trusted by `trust` is heard, then the one that came first.
    """
    everything = _stack(batches)
    first = everything.unique("frame_id", keep="first", maintain_order=True).drop("annotated_classes", "attributes")
    classes = everything.group_by("frame_id").agg(
        pl.col("annotated_classes").explode(empty_as_null=False).unique().sort()
    )
    attributes = unite_attributes(everything, trust)
    table = first.join(classes, on="frame_id").join(attributes.table, on="frame_id", how="left")
    table = table.with_columns(pl.col("attributes").fill_null("{}")).drop("turn", "by")
    return United(table, attributes.conflicts)


def unite_attributes(said: pl.DataFrame, trust: Mapping[str, int]) -> United:
    """Return frame_id and attributes of every frame that has any; `said` also has `by`, and `turn` by arrival."""
    given = said.select("frame_id", "by", "turn", "attributes").filter(pl.col("attributes") != "{}")
    settled = [_settle_attributes(frame_id, rows, trust) for frame_id, rows in _by_frame(given)]
    rows = [(frame_id, text) for frame_id, text, _ in settled]
    table = pl.DataFrame(rows, schema={"frame_id": pl.String, "attributes": pl.String}, orient="row")
    return United(table, [conflict for _, _, found in settled for conflict in found])


def unite_sources(batches: Sequence[tuple[str, pl.DataFrame]]) -> United:
    """Return every source once; where two say something else about one file of one batch, the first is heard."""
    everything = _stack(batches)
    keys = list(KEYS["sources"])
    said = [name for name in everything.columns if name not in {"turn", "by"}]
    distinct = everything.unique(said, keep="first", maintain_order=True)
    table = distinct.unique(keys, keep="first", maintain_order=True)
    others = distinct.join(table.select(*keys, "turn"), on=[*keys, "turn"], how="anti")
    pairs = others.join(table, on=keys, suffix="_first")
    conflicts = [_source_conflict(row, said) for row in pairs.iter_rows(named=True)]
    return United(table.select(said), conflicts)


def _stack(batches: Sequence[tuple[str, pl.DataFrame]]) -> pl.DataFrame:
    return pl.concat(
        table.with_columns(turn=pl.lit(turn, pl.Int64), by=pl.lit(name)) for turn, (name, table) in enumerate(batches)
    )


def _by_frame(given: pl.DataFrame) -> Iterator[tuple[str, list[tuple[int, str, str]]]]:
    """Yield (turn, batch, attributes) of each frame."""
    grouped = given.group_by("frame_id", maintain_order=True).agg("turn", "by", "attributes")
    for frame_id, turns, names, texts in grouped.iter_rows():
        yield frame_id, list(zip(turns, names, texts, strict=True))


def _settle_attributes(
    frame_id: str, rows: Sequence[tuple[int, str, str]], trust: Mapping[str, int]
) -> tuple[str, str, list[dict[str, str]]]:
    if len({text for _, _, text in rows}) == 1:
        return frame_id, rows[0][2], []
    heard = sorted(rows, key=lambda row: (trust.get(row[1], len(trust)), row[0]))
    found: dict[str, tuple[int, str, Json]] = {}
    conflicts: list[dict[str, str]] = []
    for turn, name, text in heard:
        for key, value in json.loads(text).items():
            known = found.setdefault(key, (turn, name, value))
            if known[2] != value:
                conflicts.append(_attribute_conflict(frame_id, key, known, (turn, name, value)))
    return frame_id, canonical_json({key: value for key, (_, _, value) in found.items()}), conflicts


def _attribute_conflict(
    frame_id: str, key: str, heard: tuple[int, str, Json], other: tuple[int, str, Json]
) -> dict[str, str]:
    left, right = sorted([heard, other], key=lambda entry: entry[0])
    sides = [canonical_json({"batch": name, "key": key, "value": value}) for _, name, value in (left, right)]
    winner = "left" if left is heard else "right"
    return _row(frame_id, sides, winner)


def _source_conflict(row: Mapping[str, Any], said: Sequence[str]) -> dict[str, str]:
    differing = [name for name in said if row.get(f"{name}_first", row[name]) != row[name]]
    left = canonical_json(
        {"batch": row["batch"], "path": row["path"], **{name: row[f"{name}_first"] for name in differing}}
    )
    right = canonical_json({"batch": row["batch"], "path": row["path"], **{name: row[name] for name in differing}})
    return _row(row["frame_id"], (left, right), "left")


def _row(frame_id: str, sides: Sequence[str], winner: str) -> dict[str, str]:
    left, right = sides
    rule = "first"
    return {"frame_id": frame_id, "kind": "attribute", "left": left, "right": right, "rule": rule, "winner": winner}
