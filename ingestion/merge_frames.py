"""Unite the frames and the sources of several batches."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import polars as pl

from driveflow.canonical import Json, canonical_json
from driveflow.tables import KEYS


@dataclass(frozen=True, slots=True)
class United:
    """One table of several, and rows of CONFLICTS for what they said differently.

    `turns` has the turn of each conflict: they are in the order of the turns, and where frames are united some at a
    time, that is how they come together.
    """

    table: pl.DataFrame
    conflicts: list[dict[str, str]]
    turns: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Voice:
    """Whose value of an attribute stands.

    `first`: of the first in `order` (turn -> place, else the turn); `most`: what most say, the first of those where
    several are said as often; `none`: none of them, a person decides.
    """

    whose: Literal["first", "most", "none"] = "first"
    order: Mapping[int, int] = field(default_factory=dict)
    rule: str = "first"  # as a conflict tells it


_FIRST = Voice()
Said = tuple[int, str, str]  # turn, batch, attributes


def unite_frames(everything: pl.DataFrame, voice: Voice = _FIRST) -> United:
    """Return every frame once, with the classes that any batch looked for and the attributes that any batch gave.

    `everything` has the frames of all batches with `turn` and `by` of each, in the order of the turns.
    """
    again = everything["frame_id"].is_duplicated()
    if not again.any():
        return United(everything.drop("turn", "by"), [])
    shared = everything.filter(again)
    first = shared.unique("frame_id", keep="first", maintain_order=True)
    names = shared.select("frame_id", "annotated_classes").explode("annotated_classes", empty_as_null=False).unique()
    classes = names.group_by("frame_id").agg(pl.col("annotated_classes").sort())
    attributes = unite_attributes(shared, voice)
    table = first.drop("annotated_classes", "attributes")
    table = table.join(classes, on="frame_id", how="left").join(attributes.table, on="frame_id", how="left")
    table = table.with_columns(pl.col("annotated_classes").fill_null([]), pl.col("attributes").fill_null("{}"))
    whole = pl.concat([everything.filter(~again), table.select(everything.columns)])
    return United(whole.drop("turn", "by"), attributes.conflicts, attributes.turns)


def unite_attributes(said: pl.DataFrame, voice: Voice = _FIRST) -> United:
    """Return frame_id and attributes of every frame that has any; `said` also has `by`, and `turn` by arrival."""
    given = said.select("frame_id", "by", "turn", "attributes").filter(pl.col("attributes") != "{}")
    grouped = given.group_by("frame_id", maintain_order=True).agg(
        "turn", "by", "attributes", differ=pl.col("attributes").n_unique() > 1
    )
    agreed = grouped.filter(~pl.col("differ")).select("frame_id", pl.col("attributes").list.first())
    settled = [
        (turns[0], *_settle_attributes(frame_id, list(zip(turns, names, texts, strict=True)), voice))
        for frame_id, turns, names, texts, _ in grouped.filter("differ").iter_rows()
    ]
    rows = [(frame_id, text) for _, frame_id, text, _ in settled]
    table = pl.DataFrame(rows, schema={"frame_id": pl.String, "attributes": pl.String}, orient="row")
    told = [(turn, conflict) for turn, _, _, found in settled for conflict in found]
    return United(pl.concat([agreed, table]), [conflict for _, conflict in told], [turn for turn, _ in told])


def unite_sources(everything: pl.DataFrame) -> United:
    """Return every source once; where two say something else about one file of one batch, the first is heard."""
    keys = list(KEYS["sources"])
    said = [name for name in everything.columns if name not in {"turn", "by"}]
    again = everything.select(pl.struct(keys).is_duplicated()).to_series()
    if not again.any():
        return United(everything.select(said), [])
    distinct = everything.filter(again).unique(said, keep="first", maintain_order=True)
    first = distinct.unique(keys, keep="first", maintain_order=True)
    others = distinct.join(first.select(*keys, "turn"), on=[*keys, "turn"], how="anti")
    pairs = others.join(first, on=keys, suffix="_first", maintain_order="left")
    conflicts = [_source_conflict(row, said) for row in pairs.iter_rows(named=True)]
    return United(pl.concat([everything.filter(~again), first]).select(said), conflicts, pairs["turn"].to_list())


def _settle_attributes(frame_id: str, rows: Sequence[Said], voice: Voice) -> tuple[str, str, list[dict[str, str]]]:
    heard = sorted(rows, key=lambda row: (voice.order.get(row[0], row[0]), row[0]))
    values: dict[str, list[tuple[int, str, Json]]] = {}
    for turn, name, text in heard:
        for key, value in json.loads(text).items():
            values.setdefault(key, []).append((turn, name, value))
    found: dict[str, Json] = {}
    conflicts: list[dict[str, str]] = []
    for key, told in values.items():
        stands = told[_winner(told, voice)]
        others = [other for other in told if not _same(other[2], stands[2])]
        conflicts += [_attribute_conflict(frame_id, key, (stands, other), voice) for other in others]
        if not (others and voice.whose == "none"):
            found[key] = stands[2]
    return frame_id, canonical_json(found), conflicts


def _same(a: Json, b: Json) -> bool:
    """Tell whether two values are one: 1 and 1.0 are, yes and 1 are not."""
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(_same(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_same, a, b))
    return a == b and isinstance(a, bool) == isinstance(b, bool)


def _winner(told: Sequence[tuple[int, str, Json]], voice: Voice) -> int:
    if voice.whose != "most":
        return 0
    texts = [canonical_json(value) for _, _, value in told]
    said = {text: (value, texts.count(text)) for text, (_, _, value) in zip(texts, told, strict=True)}
    votes = {
        text: sum(count for other, count in said.values() if _same(value, other)) for text, (value, _) in said.items()
    }
    return max(range(len(told)), key=lambda place: (votes[texts[place]], -place))


def _attribute_conflict(
    frame_id: str, key: str, pair: tuple[tuple[int, str, Json], tuple[int, str, Json]], voice: Voice
) -> dict[str, str]:
    heard, other = pair
    left, right = sorted([heard, other], key=lambda entry: entry[0])
    sides = [canonical_json({"batch": name, "key": key, "value": value}) for _, name, value in (left, right)]
    winner = "review" if voice.whose == "none" else "left" if left is heard else "right"
    return _row(frame_id, sides, winner, voice.rule)


def _source_conflict(row: Mapping[str, Any], said: Sequence[str]) -> dict[str, str]:
    differing = [name for name in said if row.get(f"{name}_first", row[name]) != row[name]]
    left = canonical_json(
        {"batch": row["batch"], "path": row["path"], **{name: row[f"{name}_first"] for name in differing}}
    )
    right = canonical_json({"batch": row["batch"], "path": row["path"], **{name: row[name] for name in differing}})
    return _row(row["frame_id"], (left, right), "left", "first")


def _row(frame_id: str, sides: Sequence[str], winner: str, rule: str) -> dict[str, str]:
    left, right = sides
    return {"frame_id": frame_id, "kind": "attribute", "left": left, "right": right, "rule": rule, "winner": winner}
