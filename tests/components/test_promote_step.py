"""A model that passed waits for a person in the ledger, not in a run."""

import json

import pytest

from components.work import promote_model
from driveflow.canonical import canonical_json
from driveflow.reuse import put_object, read_object
from registry.records import Act
from registry.registry import Registry
from tests.components.made_steps import context, pictures_snapshot
from tests.registry.made import ACT, HOLDOUT, judged, new_model, trained

MODEL = "city"


@pytest.fixture
def passed(tmp_path):
    """A step context, its registry, and the inputs of a model that the gate passed."""
    step = context(tmp_path, {"model": MODEL, "promote": "manual"})
    registry = Registry(step.ledger, step.place.store)
    folder = trained(registry, "a")
    verdict = {"outcome": "PASS", "digest": folder.digest, "holdout": HOLDOUT, "report": "file:///r", "detail": {}}
    uri = put_object(step.place.store, canonical_json(verdict).encode(), ".json")
    return step, registry, {"model": folder.uri, "training": pictures_snapshot(step.place.store).uri, "verdict": uri}


def test_ac_o22_a_run_ends_with_a_candidate_and_a_person_promotes_it_days_later(passed):
    step, registry, inputs = passed

    ended = promote_model.work(step, inputs)
    waiting = registry.champion(MODEL)
    registry.promote(MODEL, 1, Act(who="ann", why="the report convinced me"))
    again = promote_model.work(step, inputs)

    assert (ended.outputs, waiting) == ({"version": "city/1", "state": "candidate"}, None)
    assert again.outputs == {"version": "city/1", "state": "champion"}
    assert len(registry.versions(MODEL)) == 1


def test_of_two_runs_beside_one_champion_the_second_waits_and_says_why(passed):
    step, registry, inputs = passed
    step.settings.update(promote="auto", beside="")
    first = promote_model.work(step, inputs)
    other = trained(registry, "b")
    verdict = {**json.loads(read_object(inputs["verdict"])), "digest": other.digest}
    uri = put_object(step.place.store, canonical_json(verdict).encode(), ".json")

    second = promote_model.work(step, {**inputs, "model": other.uri, "verdict": uri})

    assert (first.outputs, first.notes) == ({"version": "city/1", "state": "champion"}, ())
    assert second.outputs == {"version": "city/2", "state": "candidate"}
    assert "judged beside no champion, and version 1 is champion now" in second.notes[0]
    assert second.notes[0] in second.pages["summary"]


def test_a_former_champion_that_passes_again_stays_retired_and_the_run_says_what_brings_it_back(passed):
    step, registry, inputs = passed
    step.settings.update(promote="auto", beside="")
    promote_model.work(step, inputs)
    other = trained(registry, "b")
    registry.record_trained(new_model(other), judged(other.digest))
    registry.register(other.digest, HOLDOUT, ACT)
    registry.promote(MODEL, 2, ACT)

    again = promote_model.work(step, inputs)

    assert again.outputs == {"version": "city/1", "state": "retired"}
    assert again.notes == ("It passed again. Version 1 of city is retired; rollback brings champions back.",)


def test_ac_e6_a_flow_that_calls_its_model_otherwise_gets_a_version_of_that_name(passed):
    step, registry, inputs = passed
    promote_model.work(step, inputs)
    step.settings["model"] = "town"

    told = promote_model.work(step, inputs)

    assert told.outputs["version"] == "town/1"
    assert registry.models() == (MODEL, "town")


def test_ac_e12_what_did_not_pass_is_remembered_and_becomes_no_version(passed):
    step, registry, inputs = passed
    verdict = json.loads(read_object(inputs["verdict"]))
    inputs["verdict"] = put_object(step.place.store, canonical_json({**verdict, "outcome": "BLOCK"}).encode(), ".json")

    told = promote_model.work(step, inputs)

    assert told.outputs == {"version": "", "state": "not registered"}
    assert [event.kind for event in registry.history(MODEL)] == ["recorded"]
