"""How batches become one: in which order they are heard, and by which rule."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from driveflow.canonical import digest
from driveflow.flow.merge_section import MergeSection
from driveflow.flow.sections import HoldoutSection, SplitSection
from driveflow.snapshots import Beside, SnapshotTables, snapshot_id
from driveflow.table_digest import table_digest
from ingestion.disputes import Rule
from ingestion.merge_boxes import BoxRules

SYMMETRIC = ("union", "consensus", "review")
"""Rules under which the order of the batches says nothing."""


@dataclass(frozen=True, slots=True)
class NamedSnapshot:
    """A batch: its name in the flow, what it holds, and what lies beside.

    `placed`: it is no import, so its splits and drive groups are decided, and they stand.
    """

    name: str
    tables: SnapshotTables
    beside: Beside = field(default_factory=Beside)
    placed: bool = False


@dataclass(frozen=True, slots=True)
class MergeRules:
    """How batches become one.

    `fixed_splits` gives the split that a batch states for all its frames, `as_of` the day (YYYY-MM-DD) that it states
    for its labels; frames that are `withdrawn` are left out. `ordered`: the batches are given in the order of their
    arrival, and splits go by that; else, under symmetric rules, they go by the names of the batches, and the order in
    which they are given says nothing at all.
    """

    merge: MergeSection = field(default_factory=MergeSection)
    holdout: HoldoutSection = field(default_factory=HoldoutSection)
    splits: SplitSection = field(default_factory=SplitSection)
    fixed_splits: Mapping[str, str] = field(default_factory=dict)
    withdrawn: frozenset[str] = frozenset()
    as_of: Mapping[str, str] = field(default_factory=dict)
    ordered: bool = True

    @property
    def symmetric(self) -> bool:
        """Whether no rule asks for the order of the batches."""
        kinds = [self.merge.rule, *(own.rule for own in self.merge.per_class.values())]
        return all(kind in SYMMETRIC for kind in kinds)


@dataclass(frozen=True, slots=True)
class Heard:
    """A batch and its place in the order of arrival."""

    batch: NamedSnapshot
    arrival: int


def line_up(batches: Sequence[NamedSnapshot], rules: MergeRules) -> list[Heard]:
    """Return the batches in the order in which they are heard: by name, or by arrival where the rule asks for it."""
    arrived = [Heard(batch, arrival) for arrival, batch in enumerate(batches)]
    return by_name(arrived) if rules.merge.rule in SYMMETRIC else arrived


def by_name(batches: Sequence[Heard]) -> list[Heard]:
    """Return the batches by name, those of one name by what they hold."""
    names = [heard.batch.name for heard in batches]
    contents = {heard.arrival: _content(heard.batch) for heard in batches if names.count(heard.batch.name) > 1}
    return sorted(batches, key=lambda heard: (heard.batch.name, contents.get(heard.arrival, ""), heard.arrival))


def _content(batch: NamedSnapshot) -> str:
    beside = {name: table_digest(getattr(batch.beside, name)) for name in ("locations", "quarantine", "conflicts")}
    return snapshot_id(batch.tables) + digest(beside)


def box_rules(heard: Sequence[Heard], rules: MergeRules) -> BoxRules:
    """Return the rules for boxes; turns are places in `heard`."""
    merge = rules.merge
    own = {name: _rule(section.rule, section.quorum, heard, rules) for name, section in merge.per_class.items()}
    return BoxRules(_rule(merge.rule, merge.quorum, heard, rules), own)


def order_of(kind: str, heard: Sequence[Heard], rules: MergeRules) -> dict[int, int]:
    """Return, for each turn, the place at which it is heard under a rule."""
    if kind in SYMMETRIC:
        places = {entry.arrival: place for place, entry in enumerate(by_name(heard))}
        return {turn: places[entry.arrival] for turn, entry in enumerate(heard)}
    ranked = sorted(range(len(heard)), key=lambda turn: _rank(kind, heard[turn], rules))
    return {turn: place for place, turn in enumerate(ranked)}


def _rank(kind: str, entry: Heard, rules: MergeRules) -> tuple[int, int]:
    if kind == "left":
        return 0, entry.arrival
    if kind == "newest":
        days = sorted(set(rules.as_of.values()), reverse=True)
        day = rules.as_of.get(entry.batch.name, "")
        return (days.index(day) if day in days else len(days)), -entry.arrival
    trust = rules.merge.trust
    return (trust.index(entry.batch.name) if entry.batch.name in trust else len(trust)), entry.arrival


def _rule(kind: str, quorum: float, heard: Sequence[Heard], rules: MergeRules) -> Rule:
    order = order_of(kind, heard, rules)
    if kind == "consensus":
        return Rule("consensus", kind, rules.merge.consensus_min_iou, order, quorum)
    same = rules.merge.same_box_min_iou
    if kind == "union":
        return Rule("union", kind, same, order)
    return Rule("review" if kind == "review" else "ranked", kind, same, order)
