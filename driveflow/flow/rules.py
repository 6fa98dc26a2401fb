"""What must hold between the sections of a flow file."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date
from typing import TypeAlias

from driveflow.errors import UsageError
from driveflow.flow.corner_case_rules import corner_case_findings, unclear_condition
from driveflow.flow.cron import check_cron
from driveflow.flow.document import Key
from driveflow.flow.merge_section import MergeSection
from driveflow.flow.problems import nearest, spell
from driveflow.flow.sections import BatchSection, Flow, SliceSection, WhereSection

Finding: TypeAlias = tuple[tuple[Key, ...], str]  # key path and what is wrong there


def contradictions(flow: Flow) -> list[Finding]:
    """Return what contradicts itself in a flow whose sections are each well formed."""
    return [finding for rule in _RULES for finding in rule(flow)]


def states_holdout(flow: Flow) -> bool:
    """Return whether the flow says what judges models."""
    stated = flow.holdout.source_splits or flow.holdout.drives or flow.holdout.fraction
    return bool(stated) or any(batch.split == "holdout" for batch in flow.batches)


def _taxonomy(flow: Flow) -> Iterator[Finding]:
    taxonomy = flow.taxonomy
    yield from _twice(("taxonomy", "classes"), taxonomy.classes)
    yield from _named(("taxonomy", "classes"), taxonomy.classes)
    for foreign, own in taxonomy.aliases.items():
        yield from _known(("taxonomy", "aliases", foreign), own, taxonomy.classes, "class")
        if foreign in taxonomy.classes and foreign != own:
            yield ("taxonomy", "aliases", foreign), f'"{foreign}" is a class itself and cannot be an alias too'
    for name in ("drop", "ignore"):
        for i, word in enumerate(getattr(taxonomy, name)):
            if word in taxonomy.classes or word in taxonomy.aliases:
                yield ("taxonomy", name, i), f'"{word}" is also a class or an alias; it can be only one of them'
    for word in sorted(set(taxonomy.drop) & set(taxonomy.ignore)):
        yield ("taxonomy", "ignore"), f'"{word}" is dropped as well; it can be only one of them'


def _batches(flow: Flow) -> Iterator[Finding]:
    yield from _unique_names("batches", [batch.name for batch in flow.batches])
    for i, batch in enumerate(flow.batches):
        yield from _batch(("batches", i), batch, flow)


def _batch(path: tuple[Key, ...], batch: BatchSection, flow: Flow) -> Iterator[Finding]:
    for j, name in enumerate(batch.annotated_classes):
        yield from _known((*path, "annotated_classes", j), name, flow.taxonomy.classes, "class")
    for key in ("path", "annotations", "metadata"):
        if any(ord(letter) < ord(" ") for letter in getattr(batch, key)):
            yield (*path, key), f"'{getattr(batch, key)}' holds control characters; no path does"
    if batch.as_of and not _is_day(batch.as_of):
        yield (*path, "as_of"), f"'{batch.as_of}' is no day of the calendar; 2026-11-29 would do"
    if batch.drive and batch.drives not in {"auto", "batch"}:
        yield (*path, "drives"), f"'{batch.drives}' contradicts drive: the whole batch is the drive '{batch.drive}'"


def _is_day(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _merge(flow: Flow) -> Iterator[Finding]:
    names = [batch.name for batch in flow.batches]
    for i, name in enumerate(flow.merge.trust):
        yield from _known(("merge", "trust", i), name, names, "batch")
    yield from _twice(("merge", "trust"), flow.merge.trust)
    for key in ("quotas", "batch_where"):
        for name in getattr(flow.merge, key):
            yield from _known(("merge", key, name), name, names, "batch")
    for i, sample in enumerate(flow.merge.sampling):
        if sample.batch:
            yield from _known(("merge", "sampling", i, "batch"), sample.batch, names, "batch")
    yield from _own_rules(flow)
    yield from _conditions(flow.merge)


def _own_rules(flow: Flow) -> Iterator[Finding]:
    """Check the classes that have a rule of their own, and every quorum."""
    for name in flow.merge.per_class:
        yield from _known(("merge", "per_class", name), name, flow.taxonomy.classes, "class")
    for path, quorum in _quorums(flow.merge):
        if isinstance(quorum, float) and quorum > 1:
            yield path, f"{quorum} is more than all; a share is at most 1.0, a number of contributors is whole"


def _quorums(merge: MergeSection) -> Iterator[tuple[tuple[Key, ...], int | float]]:
    yield ("merge", "quorum"), merge.quorum
    for name, own in merge.per_class.items():
        yield ("merge", "per_class", name, "quorum"), own.quorum


def _conditions(merge: MergeSection) -> Iterator[Finding]:
    """Check what a merge asks of frames and boxes."""
    frames: list[tuple[tuple[Key, ...], str]] = [(("where",), merge.where)]
    frames += [(("batch_where", name), text) for name, text in merge.batch_where.items()]
    frames += [(("sampling", i, "where"), sample.where) for i, sample in enumerate(merge.sampling)]
    asked = [(path, text, "frames") for path, text in frames if text]
    asked += [(("boxes_where",), merge.boxes_where, "boxes")] if merge.boxes_where else []
    for path, text, rows in asked:
        yield from unclear_condition(("merge", *path), text, of_boxes=rows == "boxes")


def _holdout(flow: Flow) -> Iterator[Finding]:
    if flow.holdout.fraction == 1.0:
        yield ("holdout", "fraction"), "must be less than 1, got 1.0: nothing would be left to train on"
    if flow.splits.val_fraction == 1.0:
        yield ("splits", "val_fraction"), "must be less than 1, got 1.0: nothing would be left to train on"
    if flow.splits.place_attribute and "place" not in flow.splits.by:
        yield ("splits", "place_attribute"), f"says nothing where by is {flow.splits.by!r}; by: place would do"


def _predicates(flow: Flow) -> Iterator[Finding]:
    yield from _unique_names("corner_cases", [case.name for case in flow.corner_cases])
    yield from _unique_names("slices", [part.name for part in flow.validation.slices], ("validation",))
    for i, case in enumerate(flow.corner_cases):
        yield from corner_case_findings(("corner_cases", i), case)
        if case.miner == "rule" and not case.expression and not case.boxes_expression:
            yield from _states_something(("corner_cases", i, "where"), case.where)
        yield from _where(("corner_cases", i, "where"), case.where, flow)
        for j, name in enumerate(case.settings.classes):
            yield from _known(("corner_cases", i, "settings", "classes", j), name, flow.taxonomy.classes, "class")
        if case.miner == "like_labels" and set(flow.taxonomy.classes) <= set(case.settings.classes):
            path = ("corner_cases", i, "settings", "classes")
            yield path, "names every class, so no label is left to tell them from; leave one class out"
    for i, part in enumerate(flow.validation.slices):
        yield from _slice(("validation", "slices", i), part, flow)


def _slice(path: tuple[Key, ...], part: SliceSection, flow: Flow) -> Iterator[Finding]:
    if not part.expression and not part.by:
        yield from _states_something((*path, "where"), part.where)
    yield from unclear_condition((*path, "expression"), part.expression, of_boxes=False)
    yield from _twice((*path, "by"), part.by)
    yield from _where((*path, "where"), part.where, flow)


def _states_something(path: tuple[Key, ...], where: WhereSection) -> Iterator[Finding]:
    if not where.classes and not where.attributes:
        yield path, "states nothing, so it would mean every frame; name classes or attributes"


def _where(path: tuple[Key, ...], where: WhereSection, flow: Flow) -> Iterator[Finding]:
    for j, name in enumerate(where.classes):
        yield from _known((*path, "classes", j), name, flow.taxonomy.classes, "class")
    for key, values in where.attributes.items():
        if not values:
            yield (*path, "attributes", key), "has no values, so it would match no frame"


def _gate(flow: Flow) -> Iterator[Finding]:
    for i, floor in enumerate(flow.gate.floors):
        path = ("gate", "floors", i)
        if floor.class_name:
            yield from _known((*path, "class_name"), floor.class_name, flow.taxonomy.classes, "class")
        if floor.slice:
            yield from _judged_slice((*path, "slice"), floor.slice, flow)
    for i, part in enumerate(flow.gate.slices):
        yield from _judged_slice(("gate", "slices", i, "name"), part.name, flow)


def _judged_slice(path: tuple[Key, ...], name: str, flow: Flow) -> Iterator[Finding]:
    """Check that the flow has a slice of that name, as far as can be told before the data is seen."""
    sections = {part.name: part for part in flow.validation.slices}
    section = sections.get(name) or sections.get(name.partition("/")[0].partition("=")[0])
    if section is None:
        yield from _known(path, name, list(sections), "slice")
    elif section.by and section.name == name:
        yield path, f"is cut along {', '.join(section.by)}; name one of its slices, {name}/VALUE"


def _training(flow: Flow) -> Iterator[Finding]:
    training = flow.training
    if training.trainer == "command" and not training.command:
        yield ("training", "trainer"), "'command' needs training.command, for example command: [python, train.py]"
    if training.trainer == "builtin" and training.command:
        yield ("training", "command"), "is not run by the builtin trainer; write trainer: command beside it"


def _schedule(flow: Flow) -> Iterator[Finding]:
    try:
        check_cron(flow.schedule.cron)
    except UsageError as error:
        yield ("schedule", "cron"), str(error)


def _labeling(flow: Flow) -> Iterator[Finding]:
    labeling = flow.labeling
    if labeling.budget_money and not labeling.cost_per_frame:
        yield ("labeling", "budget_money"), "says nothing without labeling.cost_per_frame, what one frame costs"
    if labeling.balance == "slices" and not flow.validation.slices:
        yield ("labeling", "balance"), "says nothing without validation.slices; drives, classes or all would do"


def _embeddings(flow: Flow) -> Iterator[Finding]:
    near = ("filters", "near_duplicates", "embedding")
    for path, uri in (
        (near, flow.filters.near_duplicates.embedding),
        (("labeling", "embedding"), flow.labeling.embedding),
    ):
        if uri:
            from driveflow.embeddings.catalog import check_uri

            try:
                check_uri(uri)
            except UsageError as error:
                yield path, str(error)


_RULES: tuple[Callable[[Flow], Iterable[Finding]], ...] = (
    _taxonomy,
    _batches,
    _merge,
    _holdout,
    _predicates,
    _labeling,
    _embeddings,
    _gate,
    _training,
    _schedule,
)


def _known(path: tuple[Key, ...], word: str, known: Sequence[str], kind: str) -> Iterator[Finding]:
    if word in known:
        return
    near = nearest(word, known)
    listed = ", ".join(known[:8]) + (", ..." if len(known) > 8 else "") if known else "none"
    hint = f', did you mean "{near}"?' if near else f"; known are {listed}"
    yield path, f'no {kind} is called "{word}"{hint}'


def _twice(path: tuple[Key, ...], words: Sequence[str]) -> Iterator[Finding]:
    for word, count in Counter(words).items():
        if count > 1:
            yield path, f'"{word}" stands {count} times'


def _named(path: tuple[Key, ...], words: Sequence[str]) -> Iterator[Finding]:
    for i, word in enumerate(words):
        if not word:
            yield (*path, i), "is empty; a class has a name"
        elif not word.isprintable():
            yield (*path, i), f"'{word}' holds letters that cannot be seen"


def _unique_names(key: str, names: Sequence[str], above: tuple[Key, ...] = ()) -> Iterator[Finding]:
    first: dict[str, int] = {}
    for i, name in enumerate(names):
        if name in first:
            path = (*above, key, i, "name")
            yield path, f'"{name}" is also the name of {spell((*above, key, first[name]))}; names must differ'
        first.setdefault(name, i)
