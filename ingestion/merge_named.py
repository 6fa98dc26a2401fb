"""Merge snapshots that are already there into one that gets a name."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from driveflow.canonical import Json, canonical_json, digest
from driveflow.code_digest import code_digest
from driveflow.flow.part import RulesFile
from driveflow.reuse import KeptResult, load_result, store_result
from driveflow.snapshots import Snapshot, open_snapshot, write_snapshot
from driveflow.storage.sweep import noted_writer
from driveflow.tags import TagEntry, check_tag_name
from driveflow.withdrawn import withdrawn_for
from ingestion.import_source import name_snapshot
from ingestion.merge import MergeRules, NamedSnapshot, merge_snapshots
from ingestion.source_report import conflicts_of, contents, named

STEP = "merge_snapshots"
_IMPORTS = frozenset(["import_source", "import_batch"])


@dataclass(frozen=True, slots=True)
class MergeRequest:
    """What to merge, each under its own name, by which rules, and what to call it.

    Splits go by the order of arrival. With `in_order`, and under rules that ask for an order, that is the order of the
    parts; else it says nothing, and what was merged or split before stands first, then imports by name.
    """

    name: str
    parts: Mapping[str, Snapshot]
    rules: RulesFile
    store: str
    in_order: bool = False


@dataclass(frozen=True, slots=True)
class NamedMerge:
    """The snapshot of a merge, what was counted, and how the tag moved; see `Merged` for how the counts add up."""

    snapshot: Snapshot
    merged: tuple[str, ...]
    tag: TagEntry
    moved: bool
    reused: bool
    counts: Mapping[str, int] = field(default_factory=dict)


def merge_named(request: MergeRequest, now: datetime) -> NamedMerge:
    """Merge the parts, which stay as they are, and let the name mean the result; the same again changes nothing.

    Where the parts have different classes, the result has those of all.

    Raises:
        InvalidInputError: the rules name what no part has.
    """
    check_tag_name(request.name)
    rules = _rules(request)
    made_from = _made_from(request, rules)
    key = digest(made_from)
    with noted_writer(request.store):
        kept = load_result(request.store, STEP, key)
        result = kept or _merge(request, rules, made_from)
        if kept is None:
            store_result(request.store, STEP, key, result, made_from)
        snapshot = open_snapshot(str(result.outputs["snapshot"]))
        snapshot, entry, moved = name_snapshot(request.store, request.name, snapshot, now)
    return NamedMerge(snapshot, tuple(request.parts), entry, moved, kept is not None, result.counts)


def merge_report(made: NamedMerge) -> dict[str, Json]:
    """Return what `made` brought, for a program to read."""
    snapshot = made.snapshot
    return {
        **named(made),
        "merged": list(made.merged),
        "counts": dict(made.counts),
        **contents(snapshot),
        **conflicts_of(snapshot),
    }


def part_names(texts: Sequence[str], snapshots: Sequence[Snapshot]) -> dict[str, Snapshot]:
    """Return the snapshots by the name that rules call them: their tag, else their batch, else how their id begins.

    Where several would be called alike, one that was asked for by just that name has it, and the others are numbered by
    what they were asked for by: the order in which parts are given says nothing.
    """
    wished = [_name_of(text, snapshot) for text, snapshot in zip(texts, snapshots, strict=True)]
    order = sorted(range(len(texts)), key=lambda part: (texts[part] != wished[part], texts[part], snapshots[part].uri))
    names: dict[int, str] = {}
    for part in order:
        name = free = wished[part]
        number = 1
        while free in names.values():
            number += 1
            free = f"{name[:37]}-{number}"
        names[part] = free
    return {names[part]: snapshot for part, snapshot in enumerate(snapshots)}


def _name_of(text: str, snapshot: Snapshot) -> str:
    tag = re.fullmatch(r"([a-z0-9][a-z0-9_-]{0,40})([@~].*)?", text)
    if tag and not snapshot.snapshot_id.startswith(text):
        return tag[1]
    made_by = snapshot.made_by() if snapshot.record_id else {}
    return str(made_by.get("batch") or snapshot.snapshot_id[:12])


def _made_from(request: MergeRequest, rules: MergeRules) -> dict[str, Json]:
    """Return all that decides what the merge makes; where the order of the parts says nothing, it is not in it."""
    return {
        "parts": [[name, part.uri.rpartition("/")[2]] for name, part in _arrival(request, rules).items()],
        "rules": json.loads(canonical_json(asdict(request.rules))),
        "withdrawn": digest(sorted(rules.withdrawn)),
        "code": code_digest("ingestion"),
    }


def _rules(request: MergeRequest) -> MergeRules:
    return MergeRules(
        merge=request.rules.merge,
        holdout=request.rules.holdout,
        splits=request.rules.splits,
        fixed_splits=_stated(request, "split"),
        withdrawn=withdrawn_for(request.store, *request.parts.values()),
        as_of=_stated(request, "as_of"),
    )


def _arrival(request: MergeRequest, rules: MergeRules) -> dict[str, Snapshot]:
    """Return the parts in the order of their arrival: data that has splits already keeps them against new data."""
    if request.in_order or not rules.symmetric:
        return dict(request.parts)
    return dict(sorted(request.parts.items(), key=lambda item: (_is_import(item[1]), item[0])))


def _is_import(part: Snapshot) -> bool:
    return not part.record_id or part.made_by().get("step") in _IMPORTS


def _stated(request: MergeRequest, key: str) -> dict[str, str]:
    """Return what the import of each part stated for all of it, where it did."""
    sections = {name: _section(part) for name, part in request.parts.items()}
    return {name: str(section[key]) for name, section in sections.items() if section.get(key)}


def _section(part: Snapshot) -> Mapping[str, Json]:
    section = part.made_by().get("section") if part.record_id else None
    return section if isinstance(section, Mapping) else {}


def _merge(request: MergeRequest, rules: MergeRules, made_from: Mapping[str, Any]) -> KeptResult:
    arrival = _arrival(request, rules).items()
    named = [NamedSnapshot(name, part.tables(), part.beside(), placed=not _is_import(part)) for name, part in arrival]
    merged = merge_snapshots(named, rules)
    made_by: dict[str, Json] = {
        "step": STEP,
        "merged": [name for name, _ in made_from["parts"]],
        "parents": [parent for _, parent in made_from["parts"]],
        "rules": made_from["rules"],
        "counts": dict(merged.counts),
        "code": made_from["code"],
    }
    snapshot = write_snapshot(request.store, merged.tables, merged.beside, made_by)
    return KeptResult({"snapshot": snapshot.uri}, merged.counts, {}, {}, (snapshot.uri,), ())
