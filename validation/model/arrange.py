"""Turn truth and predictions as given into a scene, and say what could not be counted and why."""

from dataclasses import dataclass

import numpy as np

from validation.model import order_kernel
from validation.model.lint import correction, odd_areas, refuse_broken, sample, twice
from validation.model.raw import RawBoxes, RawScene
from validation.model.scene import COCO_DETECTION_LIMIT, Bools, Correction, Detected, Floats, Ints, Mode, Scene, Truth


@dataclass(frozen=True, slots=True)
class Arrangement:
    """What of `EvaluationRequest` decides which boxes count, and in which order."""

    mode: Mode = "strict"
    min_score: float = 0.0
    max_detections: int = 0


def arrange(raw: RawScene, how: Arrangement) -> Scene:
    """Return the scene of `raw`.

    Raises:
        InvalidInputError: a number that is none (NaN, infinite, a score that is missing), or a box turned inside out.
    """
    refuse_broken(raw)
    annotated = raw.annotated if how.mode == "strict" else np.ones_like(raw.annotated)
    corrections = [*raw.corrections, *_unlabeled(raw, annotated)]
    truth, found = _truth(raw, how, annotated)
    corrections += found
    rows, found, under = _counted_predictions(raw, how, annotated)
    corrections += found
    detected, by_score = _sorted_detections(raw, rows, how)
    limit, found = _limit(raw, detected, how)
    corrections += [*found, *_tied(detected, by_score, how), *_said_twice(raw, detected)]
    detected, by_score = _within(detected, by_score, limit)
    return Scene(
        frame_ids=raw.frame_ids,
        classes=raw.classes,
        groups=raw.groups,
        frame_group=raw.frame_group,
        annotated=annotated,
        truth=truth,
        detected=detected,
        limit=limit,
        under_min_score=under,
        corrections=tuple(corrections),
        by_score=by_score,
        mode=how.mode,
    )


def _unlabeled(raw: RawScene, annotated: Bools) -> list[Correction]:
    bare = np.flatnonzero(~annotated.any(axis=1))
    done = "not counted: nobody labelled these frames"
    examples = sample(raw.frame_ids[row] for row in bare[:100])
    return [Correction("unlabeled_frame", len(bare), examples, done)] if len(bare) else []


def _split(rows: Ints, keep: Bools) -> tuple[Ints, Ints]:
    return (rows, rows[:0]) if keep.all() else (rows[keep], rows[~keep])


def _flat(boxes: RawBoxes, rows: Ints) -> Bools:
    """Return which of `rows` have no area."""
    nothing = boxes.sizes() == 0
    return nothing[rows].any(axis=1) if nothing.any() else np.zeros(len(rows), bool)


def _asked(annotated: Bools, frame: Ints, label: Ints) -> Bools:
    """Return for which boxes somebody looked."""
    return np.ones(len(frame), bool) if annotated.all() else annotated[frame, label]


def _truth(raw: RawScene, how: Arrangement, annotated: Bools) -> tuple[Truth, list[Correction]]:
    boxes = raw.truth
    regions = _regions(boxes, how.mode)
    rows, unknown = _split(np.arange(len(boxes)), boxes.frame < len(raw.frame_ids))
    general = regions & (boxes.label >= len(raw.classes))
    rows, everywhere = _split(rows, ~general[rows])
    rows, foreign = _split(rows, boxes.label[rows] < len(raw.classes))
    label = np.concatenate([boxes.label[rows], np.repeat(np.arange(len(raw.classes)), len(everywhere))])
    every = np.concatenate([rows, np.tile(everywhere, len(raw.classes))]).astype(np.int64)
    looked = _asked(annotated, boxes.frame[every], label)
    unasked = every[~looked & (np.arange(len(every)) < len(rows))]
    label, every = label[looked].astype(np.int64), every[looked]
    flat = _flat(boxes, every)
    truth = _sorted_truth(boxes.rows(every), label, regions[every] | flat, how.mode)
    return truth, [
        *correction("truth_of_unknown_frame", raw, boxes, unknown, "not counted: the frame is not in the hold-out"),
        *correction("truth_of_unknown_class", raw, boxes, foreign, "not counted: the class is not in the taxonomy"),
        *correction(
            "truth_of_unannotated_class",
            raw,
            boxes,
            unasked,
            "not counted: the frame does not list the class as annotated",
        ),
        *correction(
            "truth_without_area",
            raw,
            boxes,
            np.unique(every[flat]),
            "counted as an ignore region: nothing can match a box without area",
        ),
        *_odd_objects(raw, every[~(regions[every] | flat)]),
    ]


def _odd_objects(raw: RawScene, rows: Ints) -> list[Correction]:
    """Say which objects, by their rows of the truth, are there twice or have an area that nothing in their box has."""
    boxes = raw.truth
    again = rows[twice(boxes.frame[rows], boxes.label[rows], boxes.corners.take(rows, axis=0))]
    odd = (
        np.unique(rows[odd_areas(boxes.area_px[rows], boxes.sizes()[rows])]) if boxes.area_px is not None else rows[:0]
    )
    done = "sized by the area that is stated, as COCO does; no object in such a box has it, so APs to ARl may be off"
    return [
        *correction(
            "truth_twice",
            raw,
            boxes,
            again,
            "counted as often as they stand; were the same labels read from two files?",
        ),
        *correction("truth_area_beyond_box", raw, boxes, odd, done),
    ]


def _regions(boxes: RawBoxes, mode: Mode) -> Bools:
    """Return which boxes are regions: COCO only knows crowds, whatever else says to ignore it."""
    nothing = np.zeros(len(boxes), bool)
    crowd = nothing if boxes.crowd is None else boxes.crowd
    if mode == "coco" and boxes.crowd is not None:
        return crowd
    return crowd | (nothing if boxes.ignore is None else boxes.ignore)


def _sorted_truth(boxes: RawBoxes, label: Ints, ignore: Bools, mode: Mode) -> Truth:
    sizes = boxes.sizes()
    area = sizes[:, 0] * sizes[:, 1]
    if boxes.area_px is not None:
        area = np.where(np.isfinite(boxes.area_px), boxes.area_px, area)
    rows = _by_place(label, boxes.frame, np.arange(len(boxes)))
    if mode == "strict":
        facts = [] if boxes.facts is None else boxes.facts.columns()
        values = np.column_stack([boxes.corners, area, ignore, *facts]).astype(np.float64)
        order_kernel.settle(rows, label, boxes.frame, np.zeros(len(boxes)), values)
    return Truth(
        frame=boxes.frame[rows],
        label=label[rows],
        corners=boxes.corners.take(rows, axis=0),
        area_px=area[rows],
        ignore=ignore[rows],
        size=None if boxes.size is None else boxes.size.take(rows, axis=0),
        facts=None if boxes.facts is None else boxes.facts.rows(rows),
    )


def _counted_predictions(raw: RawScene, how: Arrangement, annotated: Bools) -> tuple[Ints, list[Correction], int]:
    boxes = raw.found
    score = _scores(boxes)
    rows, unknown = _split(np.arange(len(boxes)), boxes.frame < len(raw.frame_ids))
    rows, under = _split(rows, score[rows] >= (how.min_score or -np.inf))  # of 0: none is under it, logits neither
    rows, foreign = _split(rows, boxes.label[rows] < len(raw.classes))
    rows, unasked = _split(rows, _asked(annotated, boxes.frame[rows], boxes.label[rows]))
    flat = rows[_flat(boxes, rows)]
    odd = rows[(score[rows] < 0) | (score[rows] > 1)]
    done = "not counted: the frame is not in the hold-out"
    empty = [Correction("no_detections", 1, (), "every number is 0")] if not len(boxes) else []
    found = [
        *empty,
        *correction("detection_in_unknown_frame", raw, boxes, unknown, done),
        *correction("detection_of_unknown_class", raw, boxes, foreign, "not counted: the class is not in the taxonomy"),
        *correction(
            "detection_of_unannotated_class",
            raw,
            boxes,
            unasked,
            "not counted: nobody looked for the class in the frame",
        ),
        *correction(
            "detection_without_area", raw, boxes, flat, "counted as false: nothing can match a box without area"
        ),
        *correction(
            "score_outside_0_to_1",
            raw,
            boxes,
            odd,
            "counted in the order of scores; as no scores are chances then, calibration is not measured",
        ),
    ]
    return rows, found, len(under)


def _scores(boxes: RawBoxes) -> Floats:
    return np.zeros(len(boxes)) if boxes.score is None else boxes.score


def _by_place(label: Ints, frame: Ints, rows: Ints) -> Ints:
    """Return `rows` by class, then by frame, otherwise in the order in which they are."""
    by_frame = order_kernel.stable_order(frame, int(frame.max(initial=0)) + 1, rows)
    order: Ints = order_kernel.stable_order(label, int(label.max(initial=0)) + 1, by_frame)
    return order


def _sorted_detections(raw: RawScene, rows: Ints, how: Arrangement) -> tuple[Detected, Ints]:
    """Return the detections in their order, and their rows by class and falling score."""
    boxes = raw.found if len(rows) == len(raw.found) else raw.found.rows(rows)
    score, frame, label = _scores(boxes), boxes.frame, boxes.label
    by_score = np.argsort(-score)
    if how.mode == "coco":  # COCO's order: by score, then by frame, then as given
        given = np.column_stack([frame.astype(np.int32), np.arange(len(boxes), dtype=np.int32)])
        order_kernel.settle(by_score, score, score, score, given)
    place = np.empty(len(boxes), np.int64)
    place[_placed(boxes, score, by_score, how)] = np.arange(len(boxes))
    by_score = place.take(order_kernel.stable_order(label, max(1, len(raw.classes)), by_score))
    label, frame, score = (order_kernel.placed(place, values) for values in (label, frame, score))
    rank = order_kernel.ranks(label, frame, score, how.mode == "strict")
    size = None if boxes.size is None else order_kernel.placed_rows(place, boxes.size)
    return Detected(frame, label, order_kernel.placed_rows(place, boxes.corners), score, rank, size), by_score


def _placed(boxes: RawBoxes, score: Floats, by_score: Ints, how: Arrangement) -> Ints:
    """Return the rows by class, frame and falling score."""
    rows = _by_place(boxes.label, boxes.frame, by_score)
    if how.mode == "strict":
        order_kernel.settle(rows, boxes.label, boxes.frame, score, boxes.corners)
    return rows


def _limit(raw: RawScene, detected: Detected, how: Arrangement) -> tuple[int, list[Correction]]:
    most = int(detected.rank.max(initial=-1)) + 1
    taken = COCO_DETECTION_LIMIT if how.mode == "coco" else max(COCO_DETECTION_LIMIT, most)
    limit = how.max_detections or taken
    over = np.unique(detected.frame[detected.rank >= COCO_DETECTION_LIMIT])
    if not over.size:
        return limit, []
    examples = sample(raw.frame_ids[row] for row in over[:100])
    done = f"up to {limit} detections of a class in a frame were counted; COCO stops at {COCO_DETECTION_LIMIT}"
    return limit, [Correction("more_detections_than_coco_counts", len(over), examples, done)]


def _tied(detected: Detected, by_score: Ints, how: Arrangement) -> list[Correction]:
    """Say how many detections have the score of another one of their class."""
    label, score = detected.label[by_score], detected.score[by_score]
    same = (label[1:] == label[:-1]) & (score[1:] == score[:-1])
    tied = np.zeros(len(score), bool)
    tied[1:] |= same
    tied[:-1] |= same
    done = (
        "taken as a group, in any order" if how.mode == "strict" else "counted in the order of the file, as COCO does"
    )
    return [Correction("tied_scores", int(tied.sum()), (), done)] if tied.any() else []


def _said_twice(raw: RawScene, detected: Detected) -> list[Correction]:
    """Say which detections are equal in all to another one, all but one of each."""
    parts = (detected.score, detected.frame, detected.label)
    same = np.all([part[1:] == part[:-1] for part in parts], axis=0)
    rows = np.flatnonzero(np.append(same, False) | np.insert(same, 0, False)) if same.any() else np.zeros(0, np.int64)
    run = np.concatenate([[0], np.cumsum(~same)]) if len(rows) else rows
    rows = rows[twice(run[rows], detected.label[rows], detected.corners[rows])]
    said = RawBoxes(frame=detected.frame[rows], label=detected.label[rows], corners=detected.corners[rows])
    done = "counted as often as they stand, and one alone can be right; are the same predictions there twice?"
    return correction("detection_twice", raw, said, np.arange(len(rows)), done)


def _within(detected: Detected, by_score: Ints, limit: int) -> tuple[Detected, Ints]:
    kept = detected.rank < limit
    if kept.all():
        return detected, by_score
    place = np.cumsum(kept) - 1
    return detected.rows(kept), place[by_score[kept[by_score]]]
