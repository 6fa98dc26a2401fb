"""What goes into the key of a step's result."""

import json

import pytest

from driveflow.steps import StepCall, StepSpec, step_key

SPEC = StepSpec("merge_batches", ("ingestion",))


def _key(batches: str, settings: str = "{}") -> str:
    return step_key(SPEC, StepCall({"batches": batches}, settings, "run"))


def _batches(*snapshots: str) -> str:
    return json.dumps([{"name": f"batch{number}", "snapshot": uri} for number, uri in enumerate(snapshots)])


@pytest.mark.parametrize("changed", [0, 1, 2])
def test_every_batch_of_a_list_counts(changed):
    ids = ["file:///w/store/snapshots/aa#1", "file:///w/store/snapshots/bb#2", "file:///w/store/snapshots/cc#3"]
    others = [uri.replace("#", "#9") if number == changed else uri for number, uri in enumerate(ids)]

    assert _key(_batches(*ids)) != _key(_batches(*others))


@pytest.mark.parametrize("store", ["file:///other/place", "s3://bucket/store", "file:///with/snapshots/in/it"])
def test_where_a_store_lies_does_not_count(store):
    there = _batches("file:///w/store/snapshots/aa#1", "file:///w/store/objects/bb.parquet")

    assert _key(there) == _key(there.replace("file:///w/store", store))


def test_the_run_does_not_count():
    call = {"batches": "[]"}

    assert step_key(SPEC, StepCall(call, "{}", "one")) == step_key(SPEC, StepCall(call, "{}", "two"))


def test_the_settings_count():
    assert _key("[]", '{"a":1}') != _key("[]", '{"a":2}')
