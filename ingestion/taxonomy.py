"""Map the class names of a batch to those of the project."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow.compute as pc

from driveflow.errors import UnmappedClassError, UsageError
from driveflow.flow.problems import nearest
from driveflow.flow.sections import BatchSection, TaxonomySection
from driveflow.formats.label_set import LabelSet, names_ignore_region

_TO_FILL_IN = "CLASS"


@dataclass(frozen=True, slots=True)
class ClassMap:
    """What becomes of each foreign class name: a class, an ignore region of every class, or nothing."""

    classes: tuple[str, ...]
    outcomes: Mapping[str, tuple[str, ...]]  # foreign name -> classes of its boxes; none: they are dropped
    ignored: frozenset[str]  # foreign names whose boxes become ignore regions

    def annotated(self, names: tuple[str, ...]) -> frozenset[str]:
        """Return the project's classes that were looked for where `names` were."""
        found = (self.outcomes.get(name, ()) for name in names if name not in self.ignored)
        return frozenset(name for names_ in found for name in names_)


def map_classes(taxonomy: TaxonomySection, box_counts: Mapping[str, int], batch: str = "") -> ClassMap:
    """Map every name of `box_counts`; names match exactly first, then without case where only one thing is meant.

    Errors name `batch`. A name that only says "ignore" (KITTI's DontCare) is an ignore region of every
    class where the taxonomy is silent.

    Raises:
        UnmappedClassError: names with boxes that the taxonomy does not know; it lists them all with their counts.
    """
    rules = _rules(taxonomy)
    outcomes: dict[str, tuple[str, ...]] = {}
    ignored: set[str] = set()
    unmapped: dict[str, int] = {}
    for name, count in box_counts.items():
        meaning = _meaning(rules, name) or ("ignore:" if names_ignore_region(name) else None)
        if meaning is None:
            if count:
                unmapped[name] = count
        elif meaning == "ignore:":
            ignored.add(name)
            outcomes[name] = taxonomy.classes
        else:
            outcomes[name] = (meaning.removeprefix("class:"),) if meaning != "drop:" else ()
    if unmapped:
        raise UnmappedClassError(_describe(unmapped, taxonomy, batch))
    return ClassMap(taxonomy.classes, outcomes, frozenset(ignored))


def classes_as_found(box_counts: Mapping[str, int]) -> ClassMap:
    """Take every name of `box_counts` as a class, letter for letter; those that only say "ignore" are none."""
    ignored = frozenset(name for name in box_counts if names_ignore_region(name))
    classes = tuple(sorted(box_counts.keys() - ignored))
    return ClassMap(classes, {name: (name,) for name in classes} | dict.fromkeys(ignored, classes), ignored)


def box_counts(labels: LabelSet) -> dict[str, int]:
    """Return how many boxes each class has that the labels use or list."""
    counts = {name: 0 for names in labels.class_lists for name in names}
    found = pc.value_counts(labels.boxes["class_name"])
    return counts | dict(zip(found.field("values").to_pylist(), found.field("counts").to_pylist(), strict=True))


def check_annotated(section: BatchSection, taxonomy: TaxonomySection) -> None:
    """Refuse classes that a batch states as looked for and the taxonomy does not have."""
    unknown = [name for name in section.annotated_classes if name not in taxonomy.classes]
    if unknown:
        known = ", ".join(taxonomy.classes)
        raise UsageError(f"Batch {section.name!r}: annotated_classes names {unknown[0]!r}; the taxonomy has {known}.")


def _rules(taxonomy: TaxonomySection) -> dict[str, str]:
    """Return what each known name means; what was written for one name beats the class of that name."""
    rules = {name: f"class:{name}" for name in taxonomy.classes}
    rules |= dict.fromkeys(taxonomy.ignore, "ignore:")
    rules |= dict.fromkeys(taxonomy.drop, "drop:")
    return rules | {name: f"class:{target}" for name, target in taxonomy.aliases.items()}


def _meaning(rules: Mapping[str, str], name: str) -> str | None:
    if name in rules:
        return rules[name]
    alike = {meaning for known, meaning in rules.items() if known.strip().casefold() == name.strip().casefold()}
    return alike.pop() if len(alike) == 1 else None


def _describe(unmapped: Mapping[str, int], taxonomy: TaxonomySection, batch: str) -> str:
    by_count = sorted(unmapped.items(), key=lambda item: (-item[1], item[0]))
    listed = ", ".join(f"{name!r} ({count:,} {'box' if count == 1 else 'boxes'})" for name, count in by_count)
    number = "1 class" if len(by_count) == 1 else f"{len(by_count)} classes"
    return (
        f"The taxonomy does not know {number} of {f'batch {batch!r}' if batch else 'the batch'}: {listed}. "
        f"Its classes are {', '.join(taxonomy.classes)}; name the others under aliases, drop or ignore. "
        f"To paste, with a class for each {_TO_FILL_IN}: {alias_line(by_count, taxonomy.classes)}"
    )


def alias_line(by_count: Iterable[tuple[str, int]], classes: Sequence[str]) -> str:
    """Return a line of YAML that maps each name to the class most like it, or to what has to be filled in."""
    pairs = (f"{json.dumps(name, ensure_ascii=False)}: {nearest(name, classes) or _TO_FILL_IN}" for name, _ in by_count)
    return f"aliases: {{{', '.join(pairs)}}}"
