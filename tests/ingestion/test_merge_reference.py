"""A merge decides what a slow reading of the documented rules decides, one box after the other."""

import math
from collections import Counter
from itertools import combinations
from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from ingestion.merge_rules import SYMMETRIC
from tests.ingestion.test_merge_rules import CLASSES, annotated, merged, person

MIN_IOU = 0.6
NAMES = "abcd"
RULES = ("union", "consensus", "prefer", "newest", "left", "review")
_box = st.tuples(st.sampled_from(CLASSES), st.sampled_from([0.0, 1.0, 1.5, 3.0, 5.0, 40.0]), st.booleans())
_people = st.lists(
    st.tuples(st.lists(_box, max_size=4), st.lists(st.sampled_from(CLASSES), unique=True)), min_size=1, max_size=4
)


class Box(NamedTuple):
    """A box of one class, 10 px wide; `who` is the place of who drew it among all who arrived."""

    who: int
    number: int
    x1: float
    ignore: bool


@given(_people, st.permutations(NAMES), st.sampled_from(RULES), st.sampled_from([1, 2, 3, 0.5, 1.0]))
@settings(max_examples=60)
def test_a_merge_decides_what_the_rules_say_when_they_are_followed_box_by_box(people, names, rule, quorum):
    ious = {"same_box_min_iou": MIN_IOU, "consensus_min_iou": MIN_IOU}
    contributors = [_person(name, *said) for name, said in zip(names, people, strict=False)]

    result = merged(*contributors, rule=rule, quorum=quorum, trust=("b",), **ious)

    kept, reviewed = Counter(), set()
    for class_name in CLASSES:
        stays, disputed = _of_class(people, names, class_name, rule, quorum)
        kept.update((class_name, names[box.who], box.x1, box.ignore) for box in stays)
        reviewed |= {class_name} if disputed else set()
    assert kept == Counter(
        (row["class_name"], row["origin"][-1], row["x1"], row["ignore"]) for row in result.tables.boxes.to_pylist()
    )
    assert annotated(result) == sorted({name for _, looked in people for name in looked} - reviewed)


def _person(name, boxes, looked):
    return person(name, *((class_name, x1, {"ignore": ignore}) for class_name, x1, ignore in boxes), looked=looked)


def _of_class(people, names, class_name, rule, quorum):
    """Return the boxes of a class that stay, and whether a review must look at it."""
    drawn = [
        [Box(who, number, x1, ignore) for number, (name, x1, ignore) in enumerate(boxes) if name == class_name]
        for who, (boxes, _) in enumerate(people)
    ]
    looked = [who for who, (_, classes) in enumerate(people) if class_name in classes]
    heard = sorted(range(len(people)), key=lambda who: _place(rule, names, who))
    if rule == "consensus":
        return _agreed([box for who in heard for box in drawn[who]], set(looked), quorum), False
    if rule not in SYMMETRIC:
        first = [who for who in heard if who in looked][:1]
        return ([box for who in first for box in drawn[who]] if first else _united(drawn, heard, looked)[0]), False
    stays, missed, pairs = _united(drawn, heard, looked)
    if rule == "union":
        return stays, False
    aside = missed | {box for pair in pairs if pair[0].ignore != pair[1].ignore for box in pair}
    return [box for box in stays if box not in aside], bool(aside)


def _place(rule, names, who):
    places = {"left": who, "newest": -who, "prefer": (names[who] != "b", who)}
    return places.get(rule, names[who])


def _united(drawn, heard, looked):
    """Return what anybody drew, each box once; the boxes that somebody who looked did not draw; and the pairs."""
    stays, missed, pairs = [], set(), []
    for turn, who in enumerate(heard):
        found = _paired(stays, drawn[who])
        pairs += found
        new = [box for box in drawn[who] if box not in {right for _, right in found}]
        if who in looked:
            missed |= set(stays) - {left for left, _ in found}
        if any(other in looked for other in heard[:turn]):
            missed |= set(new)
        stays = stays + new
    return stays, missed, pairs


def _paired(stays, fresh):
    near = [(-_iou(left, right), a, b) for a, left in enumerate(stays) for b, right in enumerate(fresh)]
    found = {}
    for iou, a, b in sorted(near):
        if -iou >= MIN_IOU and a not in found and b not in found.values():
            found[a] = b
    return [(stays[a], fresh[b]) for a, b in found.items()]


def _agreed(boxes, looked, quorum):
    """Return the middle of each cluster that enough of those who looked drew."""
    ious = {(a, b): _iou(a, b) for a, b in combinations(boxes, 2) if a.who != b.who and _iou(a, b) >= MIN_IOU}
    clusters = [[box] for box in boxes]
    for a, b in sorted(ious, key=lambda pair: -ious[pair]):
        one, other = (next(cluster for cluster in clusters if box in cluster) for box in (a, b))
        if one is not other and not {box.who for box in one} & {box.who for box in other}:
            clusters.remove(other)
            one += other
    share = max(1, math.ceil(round(quorum * len(looked), 9)))
    needed = (min(quorum, len(looked)) if isinstance(quorum, int) else share) if looked else 0
    middles = []
    for cluster in clusters:
        if len({box.who for box in cluster} & looked) >= needed:
            alike = {box: round(sum(iou for pair, iou in ious.items() if box in pair and {*pair} <= {*cluster}), 9)
                     for box in boxes if box in cluster}  # fmt: skip
            middles.append(max(alike, key=lambda box: alike[box]))
    return middles


def _iou(a, b):
    both = max(0.0, 10 - abs(a.x1 - b.x1))
    return round(both / (20 - both), 9)
