"""Run a step where KFP runs it, and turn its result into KFP artifacts."""

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from driveflow.steps import StepCall, StepResult, StepSpec, Value, Work, run_step


class Artifact(Protocol):
    """What a step needs of a KFP output artifact."""

    path: str
    metadata: dict[str, object]


def run(spec: StepSpec, work: Work, call: StepCall, artifacts: Mapping[str, Artifact]) -> Mapping[str, Value]:
    """Run a step, write what people look at into the KFP `artifacts` by page name, and return its outputs."""

    def deliver(result: StepResult) -> None:
        for name, artifact in artifacts.items():
            _deliver(result, name, artifact)

    return run_step(spec, work, call, deliver).outputs


def _deliver(result: StepResult, name: str, artifact: Artifact) -> None:
    if name == "metrics":
        artifact.metadata.update({key: float(value) for key, value in {**result.counts, **result.metrics}.items()})
    elif name == "confusion":
        _deliver_confusion(result, artifact)
    else:
        Path(artifact.path).write_text(result.pages.get(name, ""), encoding="utf-8")


def _deliver_confusion(result: StepResult, artifact: Artifact) -> None:
    import json

    page = json.loads(result.pages.get("confusion", "{}"))
    if page:
        artifact.log_confusion_matrix(page["labels"], page["matrix"])  # type: ignore[attr-defined]
