"""The outside world as it was when a run was planned."""

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from components.work.batches import batch_entry, listing_of
from driveflow.by_hand import put_by_hand
from driveflow.canonical import canonical_json
from driveflow.errors import NotFoundError
from driveflow.flow.profile import batch_address
from driveflow.flow.sections import BatchSection, Flow
from driveflow.reuse import put_object
from driveflow.snapshots import open_snapshot
from driveflow.steps import StepContext
from driveflow.withdrawn import withdrawn_ids


@dataclass(frozen=True, slots=True)
class World:
    """What the plan saw: batches with listings, returned labels, the curated snapshot, the champion, what must not be.

    `trained_on` is the training data of the newest model, empty where there is none. `champion_away` says who set the
    champion aside, why and until when: it is then asked nowhere. `withdrawn` is the address of the list of withdrawn
    frames, `by_hand` that of what people said of the filters' decisions; each is empty where there is nothing. In
    `embeddings` is the digest of the model, no built-in one, by which a step (filter, corner_case) compares frames.
    """

    batches: list[dict[str, Any]]
    files: int
    campaigns: tuple[str, ...]
    returns: int
    returns_listing: str
    base_snapshot: str
    champion_uri: str
    champion_training: str
    champion_away: dict[str, str]
    trained_on: str
    withdrawn: str
    by_hand: str
    embeddings: dict[str, dict[str, str]]


def look(context: StepContext, flow: Flow, pipeline: str, data_root: str) -> World:
    """Return the world as it is now; batches are listed only where `pipeline` imports them."""
    from labeling.collect import list_returns
    from registry.registry import Registry

    batches = [] if pipeline == "retrain" else [_batch(context, section, data_root) for section in flow.batches]
    campaigns = tuple(sorted(row.campaign_id for row in context.ledger.campaigns(flow=flow.name)))
    champion = Registry(context.ledger, context.place.store).champion(flow.registry.model or flow.name)
    away = _set_aside(context, flow)
    returned = [asdict(found) for found in list_returns(context.place.store, campaigns)]
    return World(
        batches=batches,
        files=sum(batch["files"] for batch in batches),
        campaigns=campaigns,
        returns=len(returned),
        returns_listing=put_object(context.place.store, canonical_json(returned).encode(), ".json"),
        base_snapshot=_base_snapshot(context, flow) if pipeline == "retrain" else "",
        champion_uri=champion.model_uri if champion and not away else "",
        champion_training=champion.snapshot_uri if champion and not away else "",
        champion_away=away,
        trained_on=_trained_on(context, flow),
        withdrawn=_withdrawn(context.place.store),
        by_hand=put_by_hand(context.place.store),
        embeddings={} if pipeline == "retrain" else _embeddings(flow),
    )


def _embeddings(flow: Flow) -> dict[str, dict[str, str]]:
    """Return the digest of each model that lies at an address: another one may lie there when the next run asks."""
    from driveflow.embeddings.catalog import declared_digest

    near = flow.filters.near_duplicates
    named = {"filter": near.embedding if near.enabled else "", "corner_case": flow.labeling.embedding}
    found = {step: declared_digest(uri) for step, uri in named.items() if uri}
    return {step: {"embedding": digest} for step, digest in found.items() if digest}


def _set_aside(context: StepContext, flow: Flow) -> dict[str, str]:
    """Return who set the champion aside, why and until when; nothing where nobody did."""
    from registry.set_aside import champion_set_aside

    found = champion_set_aside(context.ledger, flow.registry.model or flow.name, datetime.now(UTC))
    if found is None:
        return {}
    return {"champion": found.digest, "reason": found.why, "by": found.who, "until": found.until}


def _trained_on(context: StepContext, flow: Flow) -> str:
    """Return the training snapshot of the newest model; nothing where that is gone."""
    newest = context.ledger.newest_trained(flow.registry.model or flow.name)
    if newest is None or not newest.snapshot_uri:
        return ""
    try:
        return open_snapshot(newest.snapshot_uri).uri
    except NotFoundError:
        return ""


def _withdrawn(store: str) -> str:
    gone = sorted(withdrawn_ids(store))
    return put_object(store, canonical_json(gone).encode(), ".json") if gone else ""


def _batch(context: StepContext, section: BatchSection, data_root: str) -> dict[str, Any]:
    from ingestion.listing import list_batch

    uri = batch_address(section.path, data_root)
    objects = list_batch(uri)
    listing = put_object(context.place.store, listing_of(objects), ".json")
    return batch_entry(section, uri, listing, len(objects))


def _base_snapshot(context: StepContext, flow: Flow) -> str:
    found = context.ledger.latest_step_output(flow.name, ("curate", "flow"), "filter_frames", "snapshot")
    if not found:
        raise NotFoundError(f"Nothing of {flow.name!r} has been curated yet: run the pipeline curate first.")
    try:
        return open_snapshot(str(found)).uri
    except NotFoundError as error:
        raise NotFoundError(f"{error} It was curated for {flow.name!r}: run the pipeline curate again.") from error
