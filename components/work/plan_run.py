"""Read the outside world once, freeze it, and decide whether there is anything to do."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from components.work.pages import markdown_table
from driveflow.canonical import Json, canonical_json
from driveflow.errors import UsageError
from driveflow.steps import StepContext, StepResult, StepSpec, Value

if TYPE_CHECKING:
    from components.work.due import Due
    from components.work.world import World
    from driveflow.flow.sections import Flow

SPEC = StepSpec("plan_run", (), touches_world=True, opens_run=True)
LEAST = {"seed": 0, "epochs": 1, "budget_frames": 0}  # of the run parameters that stand in for the flow file


def work(context: StepContext, inputs: Mapping[str, Value]) -> StepResult:
    """Return each later step's settings, and whether a new model is due."""
    from components.work.due import decide
    from components.work.steering import answered, steering
    from components.work.world import look
    from driveflow.flow.load import load_flow_text
    from driveflow.ledger.rows import RunRow

    flow = _changed(load_flow_text(str(inputs["flow"]), "flow"), inputs)
    pipeline = str(inputs["pipeline"])
    if context.place.profile != "local":  # the local runner notes its runs itself
        row = RunRow(run_id=context.run_id, flow=flow.name, pipeline=pipeline, profile=context.place.profile)
        context.ledger.begin_run(row)
    flow = flow if pipeline == "curate" else _with_kept_regressions(flow, context.place.store)
    world = look(context, flow, pipeline, str(inputs["data_root"]))
    due = decide(context, flow, world, pipeline, force=bool(inputs["force"]))
    labeled = {} if pipeline == "retrain" else answered(context, world.campaigns)
    sections = _sections(flow, world, steering(context, flow) | labeled)
    return StepResult(
        outputs={
            "due": due.due,
            "why": due.why,
            "base_snapshot": world.base_snapshot,
            **{f"{name}_settings": canonical_json(value) for name, value in sections.items()},
        },
        counts={"batches": len(world.batches), "files": world.files, "returns": world.returns},
        pages={"summary": _page(flow, world, due)},
    )


def _changed(flow: "Flow", inputs: Mapping[str, Value]) -> "Flow":
    seed, epochs, budget = (given(name, int(inputs[name])) for name in LEAST)
    training = flow.training if seed is None else replace(flow.training, seed=seed)
    training = training if epochs is None else replace(training, epochs=epochs)
    labeling = flow.labeling if budget is None else replace(flow.labeling, budget_frames=budget)
    return replace(flow, training=training, labeling=labeling)


def _with_kept_regressions(flow: "Flow", store: str) -> "Flow":
    """Return the flow with its regression sets by digest, as they are now: a set that grows is judged anew."""
    from validation.regression import keep_regressions

    kept = tuple(keep_regressions(name, store) for name in flow.gate.regressions)
    return replace(flow, gate=replace(flow.gate, regressions=kept))


def given(name: str, value: int) -> int | None:
    """Return the run parameter `name`, one of `LEAST`; None where it leaves the matter to the flow file.

    Raises:
        UsageError: it is less than it may be.
    """
    if value < LEAST[name] and value != -1:
        raise UsageError(f"{name} takes {LEAST[name]} or more, or -1 for what the flow file says; got {value}.")
    return None if value == -1 else value


def _sections(flow: "Flow", world: "World", steered: Mapping[str, Json]) -> dict[str, Json]:
    from components.work.settings import write_section

    names = ("taxonomy", "merge", "holdout", "splits", "filters", "labeling")
    plain = {name: write_section(getattr(flow, name)) for name in names}
    corner_cases: Json = [write_section(case) for case in flow.corner_cases]
    classes: Json = list(flow.taxonomy.classes)
    # Where no rule asks what it sees, a new champion is no reason to filter again.
    champion: dict[str, Json] = {"champion": world.champion_uri} if flow.filters.shield.by_predictions else {}
    arrival: dict[str, Json] = {"arrival": [batch.name for batch in flow.batches]} if flow.filters.by_arrival else {}
    fixed: Json = {batch.name: batch.split for batch in flow.batches if batch.split}
    return {
        "import": {"batches": world.batches, "taxonomy": plain["taxonomy"]},
        "merge": {
            "merge": plain["merge"],
            "holdout": plain["holdout"],
            "splits": plain["splits"],
            "fixed_splits": fixed,
            "as_of": {batch.name: batch.as_of for batch in flow.batches if batch.as_of},
            "withdrawn": world.withdrawn,
        },
        "filter": {"filters": plain["filters"], "corner_cases": corner_cases, "by_hand": world.by_hand}
        | champion
        | arrival
        | dict(world.embeddings.get("filter", {})),
        "corner_case": {"corner_cases": corner_cases, "labeling": plain["labeling"], "champion": world.champion_uri}
        | dict(world.embeddings.get("corner_case", {}))
        | dict(steered),
        "hand_off": {
            "labeling": plain["labeling"],
            "flow": flow.name,
            "purpose": "train",
            "aliases": dict(flow.taxonomy.aliases),
        },
        "collect": {"campaigns": list(world.campaigns), "returns": world.returns_listing, "classes": classes},
        **_model_sections(flow, world),
    }


def _model_sections(flow: "Flow", world: "World") -> dict[str, Json]:
    """Return the sections of the steps from the training set on."""
    from components.work.settings import write_section

    names = ("data_validation", "training", "validation", "gate")
    plain = {name: write_section(getattr(flow, name)) for name in names}
    model = flow.registry.model or flow.name
    seen: dict[str, Json] = {"model": model, "champion": world.champion_uri}
    return {
        "training_set": {"leak_max_bits": flow.validation.leak_max_bits, "withdrawn": world.withdrawn},
        "validate_data": {
            **seen,
            "data_validation": plain["data_validation"],
            "against": world.trained_on,
            "gate": _size(flow),
        },
        "train": {"training": plain["training"]},
        "validate": {
            **seen,
            "champion_training": world.champion_training,
            "champion_away": dict(world.champion_away),
            "validation": plain["validation"],
            "gate": plain["gate"],
        },
        "promote": {**seen, "promote": flow.registry.promote, "beside": _in_place(world)},
    }


def _in_place(world: "World") -> str:
    """Return the digest of the champion, of one that is set aside too; empty where there is none."""
    return world.champion_away.get("champion", "") or world.champion_uri.rpartition("/")[2]


def _size(flow: "Flow") -> Json:
    """Return how large a hold-out the gate asks for; its other rules are no reason to check the data again."""
    return {"min_frames": flow.gate.min_frames, "min_drive_groups": flow.gate.min_drive_groups}


def _page(flow: "Flow", world: "World", due: "Due") -> str:
    champion = _in_place(world)[:12] or "none yet"
    if world.champion_away:
        champion += f", set aside by {world.champion_away['by']} until {world.champion_away['until']}"
    rows: list[tuple[str, object]] = [("champion", champion), ("label files returned", world.returns)]
    rows += [(f"batch {batch['section']['name']}", f"{batch['files']} files") for batch in world.batches]
    verdict = "Due" if due.due else "Not due"
    return f"# Plan of {flow.name}\n\n**{verdict}**: {due.why}\n\n{markdown_table(('what', 'is'), rows)}"
