"""The gate's rules about the challenger alone: floors, and the size of the hold-out."""

from dataclasses import replace

from driveflow.errors import UsageError
from driveflow.flow.sections import FloorSection, GateSection
from validation.gate_champion import stands_on, too_small
from validation.model.compare import Counts, Draws, Estimate, counted_rows, counts_of, counts_of_objects, estimate
from validation.model.scene import Ints
from validation.model.scored import Scored
from validation.verdict import RuleOutcome, RuleResult


def floor_rule(challenger: Scored, floor: FloorSection, gate: GateSection, draws: Draws) -> RuleResult:
    """Return whether the challenger reaches a floor; on too few drive groups with an object nothing reaches one.

    Raises:
        UsageError: the floor names a class or slice that is not there.
    """
    model, rows, label = _where(challenger, floor)
    found = estimate(model, floor.metric, rows, label, draws)
    if model is not challenger:
        found = replace(found, counts=counts_of_objects(model, rows, label))
    place, name = _place(floor), floor_name(floor)
    if found.value is None:
        reason = f"{floor.metric} {place} cannot be measured: the hold-out has no such object.".replace("  ", " ")
        return RuleResult(name, "NEEDS DATA", reason, None, floor.at_least, None, found.counts)
    reached = found.value >= floor.at_least
    outcome: RuleOutcome = "PASS" if reached else "BLOCK"
    if too_small(found, gate) and (reached or floor.slice):
        outcome = "NEEDS DATA"
    reason = (
        f"{floor.metric} {place} is {found.value:.3f}, {'at or over' if reached else 'under'} the floor of "
        f"{floor.at_least:.3f}{_on_little(outcome, found)}."
    ).replace("  ", " ")
    return RuleResult(name, outcome, reason, found.value, floor.at_least, found.interval, found.counts)


def floor_name(floor: FloorSection) -> str:
    """Return the name of the rule of a floor."""
    return f"floor {floor.metric} {_place(floor)}".strip()


def size_rules(challenger: Scored, gate: GateSection) -> list[RuleResult]:
    """Return whether the hold-out has enough frames and drive groups."""
    counts = counts_of(challenger, counted_rows(challenger))
    wanted = (
        ("hold-out frames", counts.frames, gate.min_frames, "labelled frames"),
        ("hold-out drive groups", counts.drive_groups, gate.min_drive_groups, "drive groups"),
    )
    return [_size_rule(name, have, need, what, counts) for name, have, need, what in wanted]


def _place(floor: FloorSection) -> str:
    parts = (floor.class_name and f"of {floor.class_name}", floor.slice and f"in slice {floor.slice}")
    return " ".join(part for part in parts if part)


def _size_rule(name: str, have: int, need: int, what: str, counts: Counts) -> RuleResult:
    enough = have >= need
    reason = f"The hold-out has {have} {what}; " + (f"{need} are enough." if enough else f"at least {need} are needed.")
    return RuleResult(name, "PASS" if enough else "NEEDS DATA", reason, float(have), float(need), None, counts)


def _on_little(outcome: RuleOutcome, found: Estimate) -> str:
    return f", but it stands on {stands_on(found)} only" if outcome == "NEEDS DATA" else ""


def _where(model: Scored, floor: FloorSection) -> tuple[Scored, Ints, int | None]:
    """Return the model as it is in the floor's slice, the slice's rows, and the floor's class."""
    slices = {part.name: part for part in model.slices}
    if floor.slice and floor.slice not in slices:
        raise UsageError(f"A floor names the slice {floor.slice!r}; the flow has {sorted(slices) or 'no slices'}.")
    if floor.class_name and floor.class_name not in model.classes:
        raise UsageError(f"A floor names the class {floor.class_name!r}; the taxonomy has {list(model.classes)}.")
    label = model.classes.index(floor.class_name) if floor.class_name else None
    if not floor.slice:
        return model, counted_rows(model), label
    part = slices[floor.slice]
    return model if part.sweep is None else replace(model, sweep=part.sweep), part.rows, label
