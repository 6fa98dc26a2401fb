import json
from dataclasses import replace

import pytest

from cli.main import main
from tests.validation.drives import Drives, measure
from validation.evaluation_json import evaluation_json
from validation.model.compare import Draws, compare
from validation.model.scored import scored_of
from validation.regression import RegressionObject, RegressionSet, write_regressions
from validation.scored_file import read_scored, write_scored

DRIVES = Drives(groups=20, frames=3)
POLICY = "metric: AP50\nmax_drop: 0.1\nmax_slice_drop: 0.4\nfloors:\n  - {metric: AP50, at_least: 0.5}\n"


@pytest.fixture(scope="module")
def models():
    """A champion, one that is better, one that is far worse, and one of another hold-out."""
    return {
        "champion": measure(DRIVES, 0.8, 1),
        "better": measure(DRIVES, 0.97, 2),
        "worse": measure(DRIVES, 0.5, 3),
        "elsewhere": measure(Drives(groups=19, frames=3), 0.8, 4),
    }


@pytest.fixture
def folder(models, tmp_path):
    for name, evaluation in models.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(evaluation_json(evaluation, 1.0)))
    (tmp_path / "policy.yaml").write_text(POLICY)
    return tmp_path


def call(folder, capsys, challenger, champion="champion", *more):
    options = ["--challenger", str(folder / f"{challenger}.json"), "--policy", str(folder / "policy.yaml"), *more]
    if champion:
        options += ["--champion", str(folder / f"{champion}.json")]
    with pytest.raises(SystemExit) as left:
        main(["gate", *options])
    return left.value.code, capsys.readouterr()


@pytest.mark.parametrize(("challenger", "code", "outcome"), [("better", 0, "PASS"), ("worse", 5, "BLOCK")])
def test_the_verdict_is_the_exit_code_and_every_rule_says_why(folder, capsys, challenger, code, outcome):
    left, said = call(folder, capsys, challenger, "champion", "-o", "json")

    verdict = json.loads(said.out)
    assert (left, verdict["outcome"]) == (code, outcome)
    assert all(rule["reason"] for rule in verdict["rules"])
    headline = verdict["rules"][0]
    assert headline["interval"]["resamples"] == 10_000
    assert headline["n"]["drive_groups"] == 20


def test_words_for_a_person_name_the_verdict_first(folder, capsys):
    _, said = call(folder, capsys, "worse")

    assert said.out.startswith("BLOCK: challenger model-3 against champion model-1")


def test_ac_d15_files_of_different_holdouts_are_refused_with_exit_code_1(folder, capsys):
    code, said = call(folder, capsys, "better", "elsewhere")

    assert code == 1
    assert "different hold-outs" in said.err


def test_a_file_of_another_version_of_the_evaluator_is_refused(folder, capsys, models):
    from dataclasses import replace

    scored = scored_of(models["better"])
    old = write_scored(replace(scored, measure=replace(scored.measure, code="0" * 64)))
    (folder / "old.json").write_text(json.dumps({"scored": old}))

    code, said = call(folder, capsys, "old")

    assert code == 1
    assert "another version of the evaluator" in said.err


@pytest.mark.parametrize("text", ["", "[]", '{"AP": 0.5}', '{"scored": "nonsense"}', '{"scored": "bm9uc2Vuc2U="}'])
def test_a_file_that_holds_no_matches_is_refused(folder, capsys, text):
    (folder / "broken.json").write_text(text)

    code, said = call(folder, capsys, "broken")

    assert code == 1
    assert "broken.json" in said.err


def test_a_missing_file_and_a_wrong_policy_have_their_own_exit_codes(folder, capsys):
    assert call(folder, capsys, "nobody")[0] == 3
    (folder / "policy.yaml").write_text("max_dorp: 0.1\n")
    assert call(folder, capsys, "better")[0] == 2


def test_a_first_model_is_judged_by_floors_alone_and_without_any_needs_data(folder, capsys):
    assert call(folder, capsys, "better", "")[0] == 0
    (folder / "policy.yaml").write_text("metric: AP50\n")

    code, said = call(folder, capsys, "better", "")

    assert code == 5
    assert said.out.startswith("NEEDS DATA")


def test_a_worse_model_in_a_file_of_the_champions_name_is_not_taken_for_the_champion(folder, capsys, models):
    for name in ("champion", "worse"):
        evaluation = replace(models[name], model_digest="results.json")
        (folder / f"{name}.json").write_text(json.dumps(evaluation_json(evaluation, 1.0)))

    left, said = call(folder, capsys, "worse", "champion", "-o", "json")
    assert (left, json.loads(said.out)["nothing_new"]) == (5, False)
    left, said = call(folder, capsys, "champion", "champion", "-o", "json")
    assert (left, json.loads(said.out)["nothing_new"]) == (0, True)


def test_models_of_which_unlike_scores_counted_are_not_compared(folder, capsys, models):
    for name, least in (("champion", 0.5), ("better", 0.0)):
        value = evaluation_json(replace(models[name], min_score=least), 1.0)
        (folder / f"{name}.json").write_text(json.dumps(value))
        (folder / f"report-{name}.json").write_text(json.dumps({"challenger": value}))

    for name in ("better", "report-better"):
        left, said = call(folder, capsys, name)
        assert left == 1
        assert "evaluate both with the same --min-score" in said.err
    assert call(folder, capsys, "champion")[0] == 0


def test_a_regression_set_beside_the_policy_blocks_who_misses_an_object(folder, capsys, models):
    evaluation = models["worse"]
    scored = scored_of(evaluation)
    missed = int((~scored.object_found).nonzero()[0][0])
    truth, scene = evaluation.scene.truth, evaluation.scene
    one = RegressionObject(
        scene.frame_ids[truth.frame[missed]], scene.classes[truth.label[missed]], tuple(truth.corners[missed].tolist())
    )
    (folder / "lost.json").write_bytes(write_regressions(RegressionSet("lost", "seen in May", (one,))))
    (folder / "policy.yaml").write_text(POLICY + "regressions: [lost.json]\n")

    code, said = call(folder, capsys, "worse", "", "-o", "json")

    rule = next(rule for rule in json.loads(said.out)["rules"] if rule["name"] == "regression set lost")
    assert (code, rule["outcome"], rule["value"], rule["n"]["objects"]) == (5, "BLOCK", 0.0, 1)
    assert one.class_name in rule["reason"]


def test_the_text_of_matches_says_the_same_as_the_evaluation(models):
    read = read_scored(write_scored(scored_of(models["worse"])), "there")

    draws = Draws(resamples=64)
    for metric in ("AP", "AP50", "AR100"):
        direct = compare(models["worse"], models["champion"], metric, draws)
        through_file = compare(read, models["champion"], metric, draws)
        assert (through_file.overall, through_file.per_slice) == (direct.overall, direct.per_slice)


def test_matches_that_point_nowhere_are_refused_before_compiled_code_sees_them(models):
    from dataclasses import replace

    from driveflow.errors import InvalidInputError

    scored = scored_of(models["worse"])
    astray = replace(scored, sweep=replace(scored.sweep, frame=scored.sweep.frame + 10_000))

    with pytest.raises(InvalidInputError, match="point nowhere"):
        read_scored(write_scored(astray), "there")


def test_the_json_of_a_runs_report_does_as_well(tmp_path, capsys):
    from tests.validation.reports import report_request
    from validation.report_json import report_json

    (tmp_path / "report.json").write_text(json.dumps(report_json(report_request()), allow_nan=False))
    (tmp_path / "policy.yaml").write_text("name: city\nclasses: [bus]\nbatches: [a]\ngate: {metric: AP50}\n")

    code, said = call(tmp_path, capsys, "report", "report", "-o", "json")

    verdict = json.loads(said.out)
    assert code == 0
    assert verdict["nothing_new"]
    assert {rule["name"]: rule["outcome"] for rule in verdict["rules"]}["leak"] == "PASS"


def test_one_truth_at_two_paths_is_one_holdout_and_two_truths_at_one_path_are_two(tmp_path, capsys):
    for name, drives, path in (
        ("a", DRIVES, "x/gt.json"),
        ("b", DRIVES, "y/gt.json"),
        ("c", Drives(groups=9), "x/gt.json"),
    ):
        evaluation = measure(drives, 0.9, 1, holdout=path)
        (tmp_path / f"{name}.json").write_text(json.dumps(evaluation_json(evaluation, 1.0)))
    (tmp_path / "policy.yaml").write_text(POLICY)

    assert call(tmp_path, capsys, "a", "b")[0] == 0
    assert call(tmp_path, capsys, "a", "c")[0] == 1
