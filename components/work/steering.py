"""What earlier runs and people said that steers the search for corner cases, frozen for one run."""

import json
import re
from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from components.work.next_curation import last_curation, last_decision
from components.work.settings import write_section
from driveflow.by_hand import said_by_hand
from driveflow.canonical import Json, canonical_json
from driveflow.flow.sections import Flow
from driveflow.next_curation import Query
from driveflow.reuse import put_object, read_object
from driveflow.steps import StepContext

if TYPE_CHECKING:
    from driveflow.by_hand import Said

_OF_SLICE = re.compile(r"^(?:slice|floor \S+ (?:of .+ )?in slice) (?P<name>[a-z0-9_-]+)$")


def steering(context: StepContext, flow: Flow) -> dict[str, Json]:
    """Return the settings of the search that lie outside the flow's own sections; each only where it is asked for.

    So nothing that a run does not look at makes it search again.
    """
    found: dict[str, Json] = {}
    if any(case.miner == "failed_slices" for case in flow.corner_cases):
        found |= _failed(context, flow)
    if flow.labeling.balance in {"slices", "all"}:
        found["slices"] = [write_section(part) for part in flow.validation.slices]
    reviews = _reviews(context.place.store, {case.name for case in flow.corner_cases})
    return {**found, "reviews": reviews} if reviews else found


def answered(context: StepContext, campaigns: Iterable[str]) -> dict[str, Json]:
    """Return where it is written which classes of which frames annotators have answered; nothing where they have not.

    Labels that came back are put onto frames by later steps, so the search must be told what needs no label any more.
    """
    from labeling.collect import answered_classes

    found: Json = {**answered_classes(context.place.store, campaigns, "train")}
    return {"answered": put_object(context.place.store, canonical_json(found).encode(), ".json")} if found else {}


def read_answered(uri: str) -> dict[str, list[str]]:
    """Return the classes of each frame at `uri`; none where it is empty."""
    found: dict[str, list[str]] = json.loads(read_object(uri)) if uri else {}
    return found


def _failed(context: StepContext, flow: Flow) -> dict[str, Json]:
    """Return what the newest model's validation asks for, and which that was; of an old one the slices that failed."""
    model = flow.registry.model or flow.name
    asked = last_curation(context, model)
    if asked is not None:
        uri, made = asked
        told: Json = {"next_curation": uri, "validation": made.origin()}
        known = (query for query in made.queries if set(query.where.classes) <= set(flow.taxonomy.classes))
        return {"failed_slices": [write_section(query) for query in known], "steered_by": told}
    failed = failed_slices(context, model)
    parts = [part for part in flow.validation.slices if part.name in failed]
    queries = [Query(name=part.name, where=part.where, expression=part.expression) for part in parts]
    return {"failed_slices": [write_section(query) for query in queries]}


def failed_slices(context: StepContext, model: str) -> set[str]:
    """Return the slices in which the newest trained model was worse than the gate allows, or missed a floor."""
    decision = last_decision(context, model)
    rules: Any = decision.detail.get("rules", []) if decision is not None else []
    return {found["name"] for rule in rules if _was_missed(rule) and (found := _OF_SLICE.match(rule["name"]))}


def _was_missed(rule: dict[str, Any]) -> bool:
    """Return whether the rule was not met; a floor on few frames that is missed is NEEDS DATA, and a failure here."""
    if rule["outcome"] == "BLOCK":
        return True
    missed = rule["value"] is not None and rule["limit"] is not None and rule["value"] < rule["limit"]
    return bool(rule["outcome"] == "NEEDS DATA" and missed)


def _reviews(store: str, cases: set[str]) -> str:
    said = [asdict(row) for row in said_by_hand(store) if row.about == "review" and row.rule in cases]
    return put_object(store, canonical_json(said).encode(), ".json") if said else ""


def read_reviews(uri: str) -> "tuple[Said, ...]":
    """Return the reviews at `uri`; none where it is empty."""
    from driveflow.by_hand import Said

    return tuple(Said(**row) for row in json.loads(read_object(uri))) if uri else ()
