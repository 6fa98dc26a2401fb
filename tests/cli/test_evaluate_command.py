import json

import pytest

from tests.cli.calling import call
from tests.shared_data import shared_data
from tests.validation.coco_files import annotation, document, result, write

BOX = (10, 10, 50, 50)
KEYS = {"AP", "AP50", "AP75", "APs", "APm", "APl", "AR1", "AR10", "AR100", "ARs", "ARm", "ARl", "per_class",
        "per_slice", "corrections", "n_frames", "n_drives", "seconds", "peak_memory_bytes", "mode"}  # fmt: skip


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A truth of two frames, one at night, and predictions that find the one by day."""
    monkeypatch.chdir(tmp_path)
    truth = document([annotation(1, 1, BOX), annotation(2, 2, BOX)])
    truth["images"] = [{**image, "drive": f"d{image['id']}", "attributes": {"time_of_day": time}}
                       for image, time in zip(truth["images"], ("day", "night"), strict=True)]  # fmt: skip
    return [str(path) for path in write(tmp_path, truth, [result(1, BOX)])]


def _evaluate(capsys, files, *words):
    return call(capsys, "evaluate", "--truth", files[0], "--predictions", files[1], *words)


def test_json_has_the_twelve_numbers_classes_slices_and_what_it_took(files, capsys):
    code, out, _ = _evaluate(capsys, files, "-o", "json", "--slices", "time_of_day", "width > 100 AND drive = 'd1'")

    found = json.loads(out)
    assert code == 0
    assert set(found) >= KEYS
    assert (found["mode"], found["n_frames"], found["n_drives"]) == ("strict", 2, 2)
    assert found["per_class"]["car"]["n_objects"] == 2
    assert found["per_slice"]["time_of_day=day"]["AP"] == pytest.approx(1.0)
    assert found["per_slice"]["time_of_day=night"]["AP"] == 0.0
    assert found["per_slice"]["width > 100 AND drive = 'd1'"]["n_frames"] == 1
    assert found["peak_memory_bytes"] > 1_000_000
    assert found["min_score"] == 0.0


def test_what_has_no_object_is_null_and_in_mode_coco_minus_one(files, capsys):
    said = [json.loads(_evaluate(capsys, files, "-o", "json", "--mode", mode)[1]) for mode in ("strict", "coco")]

    assert [found["APl"] for found in said] == [None, -1.0]


def test_json_tells_kinds_of_mistakes_and_slices_of_objects_of_a_published_set(capsys):
    folder = shared_data("eval_made")
    paths = [str(folder / name) for name in ("gt.json", "pred.json")]

    found = json.loads(_evaluate(capsys, paths, "-o", "json", "--slices", "size, class*size")[1])

    kinds = {kind: found["errors"]["every"][kind] for kind in ("Cls", "Loc", "Both", "Dupe", "Bkg", "Miss")}
    assert kinds == {"Cls": 13, "Loc": 0, "Both": 1, "Dupe": 11, "Bkg": 7, "Miss": 15}
    sizes = [part["n_objects"] for name, part in found["per_slice"].items() if name.startswith("size=")]
    pairs = [part["n_objects"] for name, part in found["per_slice"].items() if name.startswith("class=")]
    assert sum(sizes) == sum(pairs) == found["n_objects"] == 82


def test_words_and_a_page_say_the_same_number(files, capsys, tmp_path):
    _, words, _ = _evaluate(capsys, files)
    code, _, told = _evaluate(capsys, files, "-o", "html", "--to", str(tmp_path / "page.html"))

    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert (code, "page.html" in told) == (0, True)
    assert "0.505" in words
    assert "0.505" in page
    assert "tied" not in page


def test_published_files_are_measured_through_the_command(capsys):
    folder = shared_data("eval_faster_coco")
    expected = json.loads((folder / "expected.json").read_text())["cocoapi_100"]

    code, out, _ = _evaluate(
        capsys, [str(folder / expected["gt"]), str(folder / expected["dt"])], "--mode", "coco", "-o", "json"
    )

    found = json.loads(out)
    assert code == 0
    assert found["AP"] == pytest.approx(expected["metrics"]["AP"], abs=1e-9)
    assert found["ARl"] == pytest.approx(expected["metrics"]["AR_large"], abs=1e-9)


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("--format", "nonsense"), 2, "No format is called 'nonsense'"),
        (("--iou", "many"), 2, "thresholds are numbers"),
        (("--iou", "1.5"), 2, "over 0 and up to 1"),
        (("--slices", "colour"), 2, "'colour': no frame has such an attribute"),
        (("--slices", "weather"), 2, "has such an attribute. Known here: class, size, occlusion, "),
        (("--slices", "class*colour"), 2, "'colour' is no dimension"),
        (("--slices", "width >"), 2, "Condition, character 7"),
        (("--mode", "lax"), 2, "lax"),
        (("--min-score", "inf"), 2, "--min-score inf: no score is that high"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_was_asked_wrongly_is_exit_code_two(files, capsys, words, code, told):
    left, _, said = _evaluate(capsys, files, *words)

    assert left == code
    assert told in said


@pytest.mark.parametrize("option", ["--truth", "--predictions"])
def test_an_option_without_a_word_is_no_folder_that_one_stands_in(files, capsys, option):
    code, _, told = _evaluate(capsys, files, option, "")

    assert code == 2
    assert f"{option} is empty; name a file" in told


def test_a_file_that_cannot_be_written_is_told_in_one_line(files, capsys, tmp_path):
    (tmp_path / "file").write_text("")

    code, _, said = _evaluate(capsys, files, "--to", "file/page.html", "-o", "html")

    assert (code, said.strip()) == (
        1,
        "driveflow: file/page.html cannot be written: File exists; name another file by --to.",
    )


def test_files_that_no_evaluator_may_count_are_exit_code_one_and_those_that_are_not_there_three(
    files, capsys, tmp_path
):
    write(tmp_path, document([annotation(1, 1, (60, 10, -50, 50))]), [result(1, BOX)])

    assert _evaluate(capsys, files)[0] == 1
    assert _evaluate(capsys, [files[0], str(tmp_path / "nothing.json")])[0] == 3
    assert _evaluate(capsys, ["no-such-tag", files[1]])[0] == 3
    code, _, told = _evaluate(capsys, ["nothing/gt.json", files[1]])
    assert (code, "nothing/gt.json: there is no such file or folder of truth" in told) == (3, True)


def test_ac_d20_the_command_says_the_interval_of_map_by_drives_where_it_is_asked(capsys):
    """AC-D20: users ask for the confidence interval of mAP, and no tool gives it."""
    folder = shared_data("eval_made")
    paths = [str(folder / name) for name in ("gt.json", "pred.json")]

    found = json.loads(_evaluate(capsys, paths, "-o", "json", "--intervals", "--slices", "size")[1])
    words = _evaluate(capsys, paths, "--intervals")[1]

    overall = found["intervals"]["AP"]["overall"]
    assert set(found["intervals"]) == {"AP", "AP50", "AP75", "AR100"}
    assert 0 < overall["low"] < found["AP"] < overall["high"] < 1
    assert overall["resamples"] == 10_000
    assert overall["drive_groups"] <= found["n_drives"]
    assert set(found["intervals"]["AP50"]["per_class"]) == set(found["per_class"])
    assert set(found["intervals"]["AP50"]["per_slice"]) == set(found["per_slice"])
    assert f"{overall['low']:.3f} to {overall['high']:.3f}" in words
    assert "intervals" not in json.loads(_evaluate(capsys, paths, "-o", "json")[1])


def test_a_number_over_other_overlaps_has_no_interval_of_coco(capsys):
    folder = shared_data("eval_made")
    paths = [str(folder / name) for name in ("gt.json", "pred.json")]

    found = json.loads(_evaluate(capsys, paths, "-o", "json", "--intervals", "--iou", "0.5,0.9")[1])

    assert "AP" not in found["intervals"]
    assert "AP50" in found["intervals"]


def test_one_truth_under_two_names_is_one_holdout_and_another_truth_under_one_name_is_none(files, capsys, tmp_path):
    (tmp_path / "copy.json").write_bytes((tmp_path / "truth.json").read_bytes())
    (tmp_path / "policy.yaml").write_text("metric: AP50\nmax_drop: 0.5\n")
    _evaluate(capsys, ["truth.json", "predictions.json"], "-o", "json", "--to", "a.json")
    _evaluate(capsys, ["copy.json", "predictions.json"], "-o", "json", "--to", "b.json")
    (tmp_path / "truth.json").write_text(json.dumps(document([annotation(1, 1, BOX)])))
    _evaluate(capsys, ["truth.json", "predictions.json"], "-o", "json", "--to", "c.json")

    judged = [
        call(capsys, "gate", "--challenger", "b.json", "--champion", other, "--policy", "policy.yaml")
        for other in ("a.json", "c.json")
    ]

    assert "different hold-outs" not in judged[0][2]
    assert (judged[1][0], "different hold-outs" in judged[1][2]) == (1, True)


def test_ac_d10_a_class_without_objects_and_objects_without_attributes_or_area_are_told_and_nothing_is_nan(
    files, capsys, tmp_path
):
    """AC-D10: a box of size zero, and a class that says nothing, crash other evaluators."""
    flat = annotation(1, 1, (10, 10, 0, 50), attributes=None)
    truth = document([flat, annotation(2, 2, BOX, attributes={}), annotation(3, 2, (90, 10, 50, 50), area=...)])
    write(tmp_path, truth, [result(2, BOX), result(1, (10, 10, 0, 0), 0.4)])

    code, out, _ = _evaluate(capsys, files, "-o", "json", "--slices", "occlusion, size, class", "--intervals")

    found = json.loads(out, parse_constant=pytest.fail)
    assert code == 0
    assert {"truth_without_area", "detection_without_area"} <= {item["kind"] for item in found["corrections"]}
    assert found["per_class"]["bus"]["AP"] is None
    assert found["per_class"]["car"]["n_objects"] == 2
    assert found["AP"] == found["per_class"]["car"]["AP"]
    assert _evaluate(capsys, files, "-o", "html")[0] == _evaluate(capsys, files)[0] == 0
