"""What a compiled pipeline may hold: the constructs that a laptop and a cluster both run."""

import pytest
import yaml

from driveflow.flow.load import load_flow_text
from driveflow.flow.profile import load_profile
from pipelines.compile import compile_pipeline, pipeline_parameters
from pipelines.local_run import STEPS

FLOW = """
name: roads
classes: [car, ebike]
batches: [{name: a, path: a}]
training: {trainer: command, command: [python3, train.py, "{{$.inputs}}"]}
"""
MOST_BYTES = 200_000
MOST_TASKS = 13
WORLD = ("plan-run", "hand-off-frames", "collect-labels", "train-model", "promote-model")
PIPELINES = ("curate", "retrain", "flow")


@pytest.fixture(scope="module")
def profiles(tmp_path_factory) -> dict:
    folder = tmp_path_factory.mktemp("profiles")
    (folder / "profiles").mkdir()
    (folder / "profiles" / "kfp.yaml").write_text(
        "profile: kfp\ndata_root: s3://bucket/batches\nstore: s3://bucket/store\nledger: env:DRIVEFLOW_LEDGER_URL\n"
        "image: registry.example.com/driveflow-python\nsecret_name: driveflow\n"
        "secrets: [DRIVEFLOW_LEDGER_URL, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY]\n"
    )
    return {name: load_profile(name, folder) for name in ("local", "kfp")}


@pytest.fixture(scope="module", params=[(p, q) for p in PIPELINES for q in ("local", "kfp")], ids="-".join)
def compiled(request, profiles) -> tuple[str, str, list]:
    pipeline, profile = request.param
    text = compile_pipeline(load_flow_text(FLOW, "flow"), pipeline, profiles[profile])
    return pipeline, text, list(yaml.safe_load_all(text))


def _dags(spec: dict) -> list[dict]:
    return [spec["root"]["dag"], *(item["dag"] for item in spec["components"].values() if "dag" in item)]


def _tasks(spec: dict) -> dict[str, dict]:
    found = {name: task for dag in _dags(spec) for name, task in dag["tasks"].items()}
    return {name: task for name, task in found.items() if not task["componentRef"]["name"].startswith("comp-condition")}


def test_ac_o11_it_is_small_with_few_tasks(compiled):
    _, text, documents = compiled

    assert len(text.encode()) < MOST_BYTES
    assert len(_tasks(documents[0])) <= MOST_TASKS


def test_no_step_installs_anything(compiled):
    _, text, _ = compiled

    assert "pip install" not in text


def test_ac_o30_no_task_is_cached_by_kfp_least_of_all_one_that_touches_the_world(compiled):
    pipeline, _, documents = compiled
    tasks = _tasks(documents[0])

    assert [name for name, task in tasks.items() if task.get("cachingOptions", {}).get("enableCache")] == []
    if pipeline == "flow":
        assert set(WORLD) <= set(tasks)


def test_ac_o6_it_stays_inside_what_both_runners_do_without_an_exit_handler(compiled):
    _, _, documents = compiled
    text = yaml.safe_dump(documents[0])

    for construct in (
        "parameterIterator",
        "artifactIterator",
        "exit-handler",
        "importer:",
        "useFinalTaskStatus",
        "oneof",
    ):
        assert construct not in text, construct


def test_ac_o30_conditions_are_on_booleans_alone(compiled):
    _, _, documents = compiled
    conditions = [
        task["triggerPolicy"]["condition"]
        for dag in _dags(documents[0])
        for task in dag["tasks"].values()
        if "triggerPolicy" in task
    ]

    assert all(condition.endswith("== true") for condition in conditions)


def test_training_hangs_on_what_the_check_of_the_data_says(compiled):
    pipeline, _, documents = compiled
    held = {name: dag for dag in _dags(documents[0]) for name in dag["tasks"]}
    if pipeline == "curate":
        assert "validate-data" not in held
        return
    inner = held["train-model"]["tasks"]
    outer = held["validate-data"]["tasks"].values()
    conditions = [task["triggerPolicy"]["condition"] for task in outer if "triggerPolicy" in task]

    assert {"train-model", "validate-model", "promote-model"} <= set(inner)
    assert "validate-data" not in inner
    assert "inputs.parameter_values['pipelinechannel--validate-data-Output'] == true" in conditions


def test_parameters_a_person_fills_in_have_names_and_descriptions(compiled, profiles):
    pipeline, _, documents = compiled
    parameters = documents[0]["root"]["inputDefinitions"]["parameters"]

    assert all(item.get("description") for item in parameters.values())
    assert set(parameters) == set(pipeline_parameters(load_flow_text(FLOW, "flow"), pipeline, profiles["local"]))


def test_every_step_of_the_yaml_is_a_step_we_know(compiled):
    _, _, documents = compiled

    assert {name.replace("-", "_") for name in _tasks(documents[0])} <= set(STEPS)


def test_the_flow_survives_the_runner_that_rewrites_parameters(compiled):
    _, _, documents = compiled
    text = documents[0]["root"]["inputDefinitions"]["parameters"]["flow"]["defaultValue"]

    assert "python3" not in text
    assert "{{$" not in text
    assert load_flow_text(text, "flow").training.command == ("python3", "train.py", "{{$.inputs}}")


def test_a_cluster_pipeline_names_its_image_and_its_secrets_and_holds_none(profiles):
    text = compile_pipeline(load_flow_text(FLOW, "flow"), "flow", profiles["kfp"])
    spec, platform = yaml.safe_load_all(text)
    executors = spec["deploymentSpec"]["executors"]

    images = {item["container"]["image"] for item in executors.values()}
    secrets = platform["platforms"]["kubernetes"]["deploymentSpec"]["executors"]
    assert len(images) == 1
    assert images.pop().startswith("registry.example.com/driveflow-python:0.")
    assert {name: item["secretAsEnv"][0]["secretName"] for name, item in secrets.items()} == dict.fromkeys(
        executors, "driveflow"
    )
    assert "DRIVEFLOW_PLACE" in text


def test_the_same_flow_compiles_to_the_same_text(profiles):
    flow = load_flow_text(FLOW, "flow")

    assert compile_pipeline(flow, "flow", profiles["kfp"]) == compile_pipeline(flow, "flow", profiles["kfp"])


def test_an_unknown_pipeline_is_named_with_those_there_are(profiles):
    with pytest.raises(ValueError, match=r"No pipeline is called 'fly'\. Known: curate, retrain, flow"):
        compile_pipeline(load_flow_text(FLOW, "flow"), "fly", profiles["local"])
