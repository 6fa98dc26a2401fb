"""What a validation asks the next curation to look for: slices and classes that failed, and clusters of errors."""

from collections.abc import Iterator, Mapping

import pyarrow as pa

from driveflow.flow.sections import GateSection, WhereSection
from driveflow.next_curation import Query
from validation.error_clusters import error_clusters
from validation.gate import RuleResult, Verdict
from validation.gate_floors import floor_name
from validation.model.evaluation import Evaluation


def next_queries(verdict: Verdict, evaluation: Evaluation, frames: pa.Table, gate: GateSection) -> tuple[Query, ...]:
    """Return the predicates of what failed, each once; `frames` are those of the hold-out, of which none is named."""
    failed = {rule.name: rule for rule in verdict.rules if has_failed(rule)}
    found = [*_slices(failed, evaluation), *_classes(failed, gate)]
    for cluster in error_clusters(evaluation, frames):
        found.append(
            Query(
                name=cluster.name,
                kind=cluster.kind,
                where=cluster.where,
                boxes_expression=cluster.boxes_expression,
                why=cluster.why,
            )
        )
    return tuple({query.name: query for query in reversed(found)}.values())[::-1]


def has_failed(rule: RuleResult) -> bool:
    """Return whether the rule was not met; a floor on few frames that is missed is NEEDS DATA, and a failure here."""
    if rule.outcome == "BLOCK":
        return True
    missed = rule.value is not None and rule.limit is not None and rule.value < rule.limit
    return rule.outcome == "NEEDS DATA" and missed


def _slices(failed: Mapping[str, RuleResult], evaluation: Evaluation) -> Iterator[Query]:
    for part in evaluation.per_slice:
        rules = [
            rule
            for name, rule in failed.items()
            if name == f"slice {part.name}" or name.endswith(f" in slice {part.name}")
        ]
        asked = part.predicate
        if (
            not rules
            or asked is None
            or not (asked.where.classes or asked.where.attributes or asked.frames or asked.boxes)
        ):
            continue
        why = [rule.reason for rule in rules]
        if not asked.complete:
            why.append("Not all of the slice can be told by a predicate.")
        yield Query(
            name=part.name,
            where=asked.where,
            expression=asked.frames,
            boxes_expression=asked.boxes,
            why=" ".join(why),
        )


def _classes(failed: Mapping[str, RuleResult], gate: GateSection) -> Iterator[Query]:
    for floor in gate.floors:
        if floor.class_name and not floor.slice and floor_name(floor) in failed:
            where = WhereSection(classes=(floor.class_name,))
            name = f"class {floor.class_name}"
            yield Query(name=name, kind="class", where=where, why=failed[floor_name(floor)].reason)
