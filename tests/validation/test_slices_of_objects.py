"""A slice of some objects is compared and judged by these objects alone, in a run and from the JSON."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from driveflow.errors import InvalidInputError
from driveflow.flow.sections import SliceSection
from tests.validation.scenes import simple, square
from validation.model.compare import Draws, compare
from validation.model.evaluate import evaluate
from validation.model.scored import scored_of
from validation.scored_file import read_scored, write_scored

TRUTH = [(f"f{k}", name, square(0, side=15.0 * k)) for k in range(1, 9) for name in ("bus", "car")]
SLICES = tuple(SliceSection(name="*".join(by), by=by) for by in (("class",), ("size",), ("class", "size")))
FEW = Draws(resamples=80)


def _evaluation(seed: int):
    rng = np.random.default_rng(seed)
    found = [
        (frame, name if rng.random() < 0.8 else "bus", (x + 1, y, x2, y2 + 2), float(rng.random()))
        for frame, name, (x, y, x2, y2) in TRUTH
        if rng.random() < 0.85
    ]
    found += [(f"f{k}", "car", square(200, side=30), float(rng.random())) for k in range(1, 9)]
    return evaluate(simple(TRUTH, found, slices=SLICES))


@pytest.mark.parametrize("metric", ["AP", "AP50", "AP75", "AR100"])
def test_what_is_compared_in_a_slice_is_what_was_measured_there(metric):
    challenger, champion = _evaluation(1), _evaluation(2)

    found = compare(challenger, champion, metric, FEW)

    assert len(found.per_slice) > 8
    for part, own, other in zip(found.per_slice, challenger.per_slice, champion.per_slice, strict=True):
        assert part.value == pytest.approx(own.numbers[metric], abs=1e-9)
        assert part.champion == pytest.approx(other.numbers[metric], abs=1e-9)
        assert part.counts == type(part.counts)(own.frames, own.drive_groups, own.objects)


def test_the_json_of_two_evaluations_gives_the_same_comparison_as_the_run():
    models = _evaluation(1), _evaluation(2)
    kept = [read_scored(write_scored(scored_of(model)), "a.json") for model in models]

    assert compare(kept[0], kept[1], "AP50", FEW) == compare(models[0], models[1], "AP50", FEW)


def test_slices_of_other_objects_in_the_same_frames_are_another_hold_out():
    hidden = SliceSection(name="hidden", by=("occlusion",))
    models = []
    for levels in ((0, 2), (2, 0)):
        request = simple([("f", "car", square(0)), ("f", "car", square(50))], [("f", "car", square(0), 0.9)])
        rows = zip(request.boxes.to_pylist(), levels, strict=True)
        told = [{**row, "attributes": f'{{"occluded": {level}}}'} for row, level in rows]
        boxes = pa.Table.from_pylist(told, request.boxes.schema)
        models.append(evaluate(replace(request, boxes=boxes, slices=(hidden,))))

    assert [part.name for part in models[0].per_slice] == [part.name for part in models[1].per_slice]
    with pytest.raises(InvalidInputError, match="different hold-outs"):
        compare(*models, "AP50", FEW)
