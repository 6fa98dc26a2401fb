"""Give detections to objects, in every class of every frame, at every threshold and size of object; compiled."""

from typing import Any, NamedTuple

import numba
import numpy as np

compiled: Any = numba.njit(cache=True, nogil=True)
_MOST = 1 - 1e-10  # a threshold of 1 asks for no more than this, as COCO's does


class Boxes(NamedTuple):
    """Boxes by class, frame and (detections) falling score, or in the order in which they are asked (objects)."""

    label: Any
    frame: Any
    corners: Any
    size: Any  # width and height
    area: Any
    score: Any  # of objects: nothing
    region: Any  # of detections: nothing


class Rule(NamedTuple):
    """At which overlaps, for which sizes of object, and whether detections of one score choose as a group."""

    thresholds: Any
    least_area: Any
    most_area: Any
    as_group: bool


class Found(NamedTuple):
    """Sizes x detections, a bit a threshold: right, or in what is ignored. `truth`: thresholds x detections, or none.

    `truth` is filled for the first size only, with rows of the objects or -1.
    """

    right: Any
    void: Any
    truth: Any


class _Desk(NamedTuple):
    """Room to work in, for the largest place: one class in one frame."""

    overlap: Any  # of each detection with each object, one after the other
    outside: Any  # per object: not to be counted at this size
    taken: Any
    chosen: Any  # per detection of a turn
    suitor: Any  # per object: the detection of a turn that overlaps it most


@compiled
def match_all(detected: Boxes, truth: Boxes, rule: Rule, found: Found) -> None:
    """Fill `found`, whose arrays are all zeros (`truth`: -1)."""
    desk = _desk(detected, truth)
    begin, first = 0, 0
    while begin < len(detected.label):
        end = _end(detected, begin)
        label, frame = detected.label[begin], detected.frame[begin]
        while first < len(truth.label) and (
            truth.label[first] < label or (truth.label[first] == label and truth.frame[first] < frame)
        ):
            first += 1
        last = first
        while last < len(truth.label) and truth.label[last] == label and truth.frame[last] == frame:
            last += 1
        if last > first and _overlaps(detected, truth, rule, desk, (begin, end, first, last)):
            _match_place(detected, truth, rule, found, desk, (begin, end, first, last))
        begin, first = end, last
    _void_by_area(detected, rule, found)


@compiled
def _desk(detected: Boxes, truth: Boxes) -> _Desk:
    detections, objects, begin = 1, 1, 0
    while begin < len(detected.label):
        end = _end(detected, begin)
        detections = max(detections, end - begin)
        begin = end
    begin = 0
    while begin < len(truth.label):
        end = _end(truth, begin)
        objects = max(objects, end - begin)
        begin = end
    return _Desk(
        np.empty((detections, objects)),
        np.empty(objects, np.bool_),
        np.empty(objects, np.bool_),
        np.empty(detections, np.int64),
        np.empty(objects, np.int64),
    )


@compiled
def _end(boxes: Boxes, begin: int) -> int:
    end = begin + 1
    while end < len(boxes.label) and boxes.label[end] == boxes.label[begin] and boxes.frame[end] == boxes.frame[begin]:
        end += 1
    return end


@compiled
def _overlaps(detected: Boxes, truth: Boxes, rule: Rule, desk: _Desk, place: Any) -> bool:  # noqa: ANN401 four rows
    """Write the overlaps of a place, and tell whether any is enough for any threshold."""
    begin, end, first, last = place
    least = min(rule.thresholds.min(), _MOST)
    enough = False
    for one in range(begin, end):
        for two in range(first, last):
            value = _overlap(detected, truth, one, two)
            desk.overlap[one - begin, two - first] = value
            enough = enough or value >= least
    return enough


@compiled
def _overlap(detected: Boxes, truth: Boxes, one: int, two: int) -> float:
    """Return the overlap in COCO's own order of operations."""
    left, wide = detected.corners[one, 0], detected.size[one, 0]
    other_left, other_wide = truth.corners[two, 0], truth.size[two, 0]
    width = min(wide + left, other_wide + other_left) - max(left, other_left)
    if width <= 0:
        return 0.0
    top, high = detected.corners[one, 1], detected.size[one, 1]
    other_top, other_high = truth.corners[two, 1], truth.size[two, 1]
    height = min(high + top, other_high + other_top) - max(top, other_top)
    if height <= 0:
        return 0.0
    both, own = width * height, wide * high
    whole = own if truth.region[two] else own + other_wide * other_high - both
    return both / whole


@compiled
def _void_by_area(detected: Boxes, rule: Rule, found: Found) -> None:
    """Leave out, at every threshold, what found nothing and is of another size."""
    every = (1 << len(rule.thresholds)) - 1
    for number in range(len(rule.least_area)):
        for row in range(len(detected.area)):
            area = detected.area[row]
            if area < rule.least_area[number] or area > rule.most_area[number]:
                found.void[number, row] |= every & ~np.int64(found.right[number, row])


@compiled
def _match_place(detected: Boxes, truth: Boxes, rule: Rule, found: Found, desk: _Desk, place: Any) -> None:  # noqa: ANN401 four rows
    begin, end, first, last = place
    most = desk.overlap[: end - begin, : last - first].max()
    every = False  # of the first size: no object is left out
    for number in range(len(rule.least_area)):
        left_out = 0
        for row in range(first, last):
            area = truth.area[row]
            outside = truth.region[row] or area < rule.least_area[number] or area > rule.most_area[number]
            desk.outside[row - first] = outside
            left_out += outside
        if number == 0:
            every = left_out == 0
        elif every and left_out in {0, last - first}:  # the same choices, and all of them count or none
            _copy(found, begin, end, number, left_out > 0)
            continue
        for threshold in range(len(rule.thresholds)):
            desk.taken[: last - first] = False
            least = min(rule.thresholds[threshold], _MOST)
            turn = begin if most >= least else end
            while turn < end:
                after = _end_of_turn(detected.score, turn, end) if rule.as_group else turn + 1
                if after == turn + 1:
                    desk.chosen[0] = _best(truth, desk, turn - begin, first, last, least)
                else:
                    _share_out(truth, desk, (turn - begin, after - begin), first, last, least)
                _note(found, desk, (turn, after), number, threshold, first)
                turn = after


@compiled
def _copy(found: Found, begin: int, end: int, number: int, is_void: bool) -> None:
    """Write what was chosen at the first size as right, or as void, at another one."""
    bits = found.void if is_void else found.right
    for row in range(begin, end):
        bits[number, row] = found.right[0, row]


@compiled
def _end_of_turn(score: Any, turn: int, end: int) -> int:  # noqa: ANN401 an array
    after = turn + 1
    while after < end and score[after] == score[turn]:
        after += 1
    return after


@compiled
def _note(found: Found, desk: _Desk, turn: Any, number: int, threshold: int, first: int) -> None:  # noqa: ANN401
    """Write down what the detections of a turn have chosen."""
    begin, end = turn
    for row in range(begin, end):
        other = desk.chosen[row - begin]
        if other >= 0:
            desk.taken[other] = True
            bits = found.void if desk.outside[other] else found.right
            bits[number, row] |= 1 << threshold
            if number == 0 and len(found.truth):
                found.truth[threshold, row] = first + other


@compiled
def _best(truth: Boxes, desk: _Desk, one: int, first: int, last: int, least: float) -> int:
    """Return the object that a detection takes, else the ignored one, else -1: of equal overlaps the later."""
    best, ignored, found, void = least, least, -1, -1
    for other in range(last - first):
        value = desk.overlap[one, other]
        if value >= least and (not desk.taken[other] or truth.region[first + other]):
            if desk.outside[other]:
                if value >= ignored:
                    ignored, void = value, other
            elif value >= best:
                best, found = value, other
    return found if found >= 0 else void


@compiled
def _share_out(truth: Boxes, desk: _Desk, turn: Any, first: int, last: int, least: float) -> None:  # noqa: ANN401
    """Let detections of one score take objects, the pair that overlaps most first: wherever both want each other."""
    begin, end = turn
    desk.chosen[: end - begin] = -1
    for ignored in range(2):
        going = True
        while going:
            going = False
            for other in range(last - first):
                desk.suitor[other] = _suitor(desk, turn, other, least)
            for one in range(begin, end):
                wanted = _wanted(truth, desk, one, first, last, least, ignored) if desk.chosen[one - begin] < 0 else -1
                if wanted >= 0 and (desk.suitor[wanted] == one or truth.region[first + wanted]):
                    desk.chosen[one - begin] = wanted
                    desk.taken[wanted] = True
                    going = True


@compiled
def _wanted(truth: Boxes, desk: _Desk, one: int, first: int, last: int, least: float, ignored: int) -> int:  # noqa: PLR0913, PLR0917
    """Return the object that a detection overlaps most of those that are free, counted or ignored ones, or -1."""
    best, found = least, -1
    for other in range(last - first):
        free = not desk.taken[other] or truth.region[first + other]
        if free and desk.outside[other] == ignored and desk.overlap[one, other] >= best:
            best, found = desk.overlap[one, other], other
    return found


@compiled
def _suitor(desk: _Desk, turn: Any, other: int, least: float) -> int:  # noqa: ANN401 two rows
    """Return the detection of the turn, of those that have taken nothing, that overlaps an object most, or -1."""
    begin, end = turn
    best, found = least, -1
    for one in range(begin, end):
        if desk.chosen[one - begin] < 0 and desk.overlap[one, other] >= best:
            best, found = desk.overlap[one, other], one
    return found
