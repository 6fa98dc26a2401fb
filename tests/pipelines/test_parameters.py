"""Run parameters as a person types them."""

import pytest

from driveflow.errors import UsageError
from pipelines.parameters import with_changes

KNOWN = {"flow": "{}", "seed": -1, "force": False}


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (["seed"], "takes name=value, got 'seed'"),
        (["sed=1"], "Did you mean 'seed'"),
        (["seed=one"], "seed takes a whole number, got 'one'"),
        (["seed=1e3"], "seed takes a whole number, got '1e3'"),
        (["seed=9007199254740993"], "seed takes 9007199254740992 at most"),
        (["force=maybe"], "force takes true or false, got 'maybe'"),
        (["seed=1", "seed=2"], "names 'seed' twice"),
    ],
)
def test_what_is_no_parameter_is_refused_with_what_would_do(changes, says):
    with pytest.raises(UsageError, match=says):
        with_changes(KNOWN, changes)


def test_a_parameter_has_the_type_it_had():
    assert with_changes(KNOWN, ["seed=2", "force=YES", "flow=a=b"]) == {"flow": "a=b", "seed": 2, "force": True}


@pytest.mark.parametrize(("name", "value"), [("seed", -2), ("epochs", 0), ("budget_frames", -7)])
def test_what_the_first_step_would_refuse_is_refused_before_a_run_or_a_schedule_is_made(name, value):
    with pytest.raises(UsageError, match=f"{name} takes . or more, or -1 for what the flow file says; got {value}"):
        with_changes({name: -1}, [f"{name}={value}"])

    assert with_changes({name: 3}, [f"{name}=-1"]) == {name: -1}
