"""The twelve numbers are pycocotools', on published sets and on random ones."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.shared_data import shared_data
from tests.validation.scenes import METRICS, from_coco, pycocotools_numbers, random_coco, read_json
from validation.model.evaluate import evaluate
from validation.model.evaluation import Evaluation

_PUBLISHED = (
    "AP",
    "AP50",
    "AP75",
    "AP_small",
    "AP_medium",
    "AP_large",
    "AR1",
    "AR10",
    "AR100",
    "AR_small",
    "AR_medium",
    "AR_large",
)
_NAMES = dict(zip(_PUBLISHED, METRICS, strict=True))


def _same(evaluation: Evaluation, expected: dict[str, float]) -> None:
    found = {name: -1.0 if value is None else value for name, value in evaluation.numbers.items()}

    assert found == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("case", ["cocoapi_100", "small"])
def test_published_sets_give_the_published_numbers_and_those_of_pycocotools_run_beside(case):
    folder = shared_data("eval_faster_coco")
    expected = read_json(folder / "expected.json")[case]
    truth, predictions = read_json(folder / expected["gt"]), read_json(folder / expected["dt"])

    evaluation = evaluate(from_coco(truth, predictions, "coco"))

    _same(evaluation, {_NAMES[name]: value for name, value in expected["metrics"].items()})
    _same(evaluation, pycocotools_numbers(truth, predictions))
    per_class = {part.class_name: part.numbers for part in evaluation.per_class}
    for name, numbers in expected.get("per_class", {}).items():
        assert {key: per_class[name][key] for key in numbers} == pytest.approx(numbers, abs=1e-9)


def test_a_set_with_crowds_whose_ids_are_text_on_one_side_gives_its_known_numbers():
    folder = shared_data("eval_faster_coco")
    expected = read_json(folder / "expected.json")["ignore_upstream_min_score_0.1"]
    truth = read_json(folder / expected["gt"])
    predictions = [row for row in read_json(folder / expected["dt"]) if row["score"] >= expected["min_score"]]

    evaluation = evaluate(from_coco(truth, predictions, "coco"))

    assert {name: evaluation.numbers[name] for name in expected["metrics"]} == pytest.approx(
        expected["metrics"], abs=1e-9
    )


def test_the_made_set_gives_its_known_numbers_overall_and_per_class():
    folder = shared_data("eval_made")
    expected = read_json(folder / "expected.json")
    truth, predictions = read_json(folder / "gt.json"), read_json(folder / "pred.json")

    evaluation = evaluate(from_coco(truth, predictions, "coco"))

    _same(evaluation, {_NAMES[name]: value for name, value in expected["metrics"].items()})
    for part in evaluation.per_class:
        numbers = expected["per_class"][part.class_name]
        found = {name: -1 if part.numbers[name] is None else part.numbers[name] for name in numbers}
        assert found == pytest.approx(numbers, abs=1e-9)


def test_a_set_whose_ids_start_at_zero_gives_its_known_numbers():
    folder = shared_data("eval_padilla")
    expected = read_json(folder / "expected.json")["toyexample_coco"]
    truth, said = read_json(folder / expected["gt"]), read_json(folder / expected["dt"])
    image_of = {image["file_name"]: image["id"] for image in truth["images"]}
    class_of = {category["name"]: category["id"] for category in truth["categories"]}
    images = {image["id"]: image_of[image["file_name"]] for image in said["images"]}
    classes = {
        category["id"]: class_of[category["name"]] for category in said["categories"] if category["name"] in class_of
    }
    predictions = [
        {
            "image_id": images[row["image_id"]],
            "category_id": classes[row["category_id"]],
            "bbox": row["bbox"],
            "score": row["score"],
        }
        for row in said["annotations"]
        if row["category_id"] in classes
    ]
    for row in truth["annotations"]:
        row.pop("area", None)

    evaluation = evaluate(from_coco(truth, predictions, "coco"))

    _same(evaluation, {_NAMES[name]: value for name, value in expected["metrics"].items()})


@settings(max_examples=25)
@given(st.integers(0, 2**32))
def test_any_set_with_distinct_scores_gives_the_numbers_of_pycocotools(seed):
    truth, predictions = random_coco(seed)
    if predictions:
        _same(evaluate(from_coco(truth, predictions, "coco")), pycocotools_numbers(truth, predictions))
