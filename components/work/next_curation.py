"""Hand on what a validation asks the next curation to look for, and find it again when that is planned."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from components.work.pages import markdown_table
from driveflow.canonical import Json
from driveflow.errors import IntegrityError, NotFoundError
from driveflow.steps import StepContext

if TYPE_CHECKING:
    from components.work.judging import Measured
    from driveflow.ledger.rows import DecisionRow
    from driveflow.next_curation import NextCuration, Query
    from validation.gate import Verdict
    from validation.model.evaluation import Evaluation

OUTPUT = "next_curation"
"""The output of the step validate_model that has the address of its queries."""


def keep_next_curation(
    context: StepContext, holdout: "Measured", verdict: "Verdict", challenger: "Evaluation"
) -> "tuple[str, NextCuration]":
    """Keep what the next curation should look for, and return its address and what it says.

    Tags that slices of the hold-out left out ask for nothing here either.
    """
    from components.work.settings import read_section
    from driveflow.flow.sections import GateSection
    from driveflow.next_curation import NextCuration, put_next_curation
    from validation.model.sound_tags import without_doubted_tags
    from validation.next_queries import next_queries

    settings: Any = context.settings
    tables, signals = holdout
    frames, _ = without_doubted_tags(tables.frames, tables.sources, signals)
    gate = read_section(GateSection, settings["gate"])
    made = NextCuration(
        run_id=context.run_id,
        model=settings["model"],
        digest=verdict.challenger,
        holdout_id=verdict.holdout_id,
        outcome=verdict.outcome,
        queries=next_queries(verdict, challenger, frames, gate),
    )
    return put_next_curation(context.place.store, made), made


def last_curation(context: StepContext, model: str) -> "tuple[str, NextCuration] | None":
    """Return what the validation of the newest model asked for, and its address; None where it left nothing."""
    from driveflow.next_curation import read_next_curation

    decision = last_decision(context, model)
    steps = context.ledger.steps(decision.run_id) if decision is not None else []
    outputs = next((step.outputs for step in steps if step.step == "validate_model"), {})
    uri = str(outputs.get(OUTPUT, ""))
    try:
        return (uri, read_next_curation(uri)) if uri else None
    except (NotFoundError, IntegrityError):  # it was swept away: slices that failed are known to the ledger too
        return None


def last_decision(context: StepContext, model: str) -> "DecisionRow | None":
    """Return what the gate of `model`, and not of another name for the same bytes, said last of the newest model."""
    newest = context.ledger.newest_trained(model)
    decisions = context.ledger.decisions(digest=newest.digest) if newest is not None else []
    return next((row for row in reversed(decisions) if row.model == model), None)


def queries_page(queries: "Sequence[Query]", title: str) -> str:
    """Return the queries with their reasons as Markdown; empty where there are none."""
    if not queries:
        return ""
    rows = [(query.kind, query.name, query.spelled(), query.why) for query in queries]
    return f"\n## {title}\n\n{markdown_table(('kind', 'name', 'predicate', 'why'), rows)}"


def steered_page(queries: "Sequence[Query]", settings: Mapping[str, Json]) -> str:
    """Return what the search was steered by, and by which validation; empty where nothing steered it."""
    return queries_page(queries, f"What failed in {_validation(settings)}")


def steered_notes(queries: "Sequence[Query]", settings: Mapping[str, Json]) -> tuple[str, ...]:
    """Return one sentence that names the predicates and the validation that they come from."""
    if not queries:
        return ()
    names = ", ".join(query.name for query in queries)
    number = "1 predicate" if len(queries) == 1 else f"{len(queries)} predicates"
    return (f"Searched by {number} of {_validation(settings)}: {names}.",)


def _validation(settings: Mapping[str, Json]) -> str:
    steered: Any = settings.get("steered_by", {})
    return f"the validation in {steered['validation']}" if steered else "the last validation"
