"""Compile a pipeline of a flow to the YAML that both runners take."""

import tempfile
from pathlib import Path
from typing import Any

from driveflow.errors import UsageError
from driveflow.flow.load import flow_to_json
from driveflow.flow.profile import Profile
from driveflow.flow.sections import Flow


def compile_pipeline(flow: Flow, pipeline: str, profile: Profile) -> str:
    """Return `pipeline` of `flow` as KFP YAML for the place that `profile` describes."""
    from kfp import compiler, dsl

    from pipelines.catalog import PIPELINES
    from pipelines.tasks import prepare_for

    if pipeline not in PIPELINES:
        raise UsageError(f"No pipeline is called {pipeline!r}. Known: {', '.join(PIPELINES)}.")
    function = PIPELINES[pipeline](prepare_for(profile))
    declared = dsl.pipeline(name=f"{flow.name}-{pipeline}", display_name=f"{flow.name}: {pipeline}")(function)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pipeline.yaml"
        compiler.Compiler().compile(
            declared, str(path), pipeline_parameters={"flow": flow_to_json(flow), "data_root": profile.data_root}
        )
        return path.read_text(encoding="utf-8")


def pipeline_parameters(flow: Flow, pipeline: str, profile: Profile) -> dict[str, Any]:
    """Return the parameters of `pipeline` with the values a plain run gives them."""
    every: dict[str, Any] = {
        "flow": flow_to_json(flow),
        "data_root": profile.data_root,
        "force": False,
        "seed": -1,
        "epochs": -1,
        "budget_frames": -1,
    }
    taken = {
        "curate": ("flow", "data_root", "budget_frames"),
        "retrain": ("flow", "data_root", "force", "seed", "epochs"),
        "flow": tuple(every),
    }
    if pipeline not in taken:
        raise UsageError(f"No pipeline is called {pipeline!r}. Known: {', '.join(taken)}.")
    return {name: every[name] for name in taken[pipeline]}
