"""The campaign folders of a store: find them, open them, read what came back."""

from collections.abc import Iterable
from dataclasses import dataclass

from driveflow.canonical import Json, canonical_json
from driveflow.errors import BrokenDataError, NotFoundError, UsageError
from driveflow.storage.objects import ObjectInfo, delete, join, list_objects, read_bytes, stat, write_bytes
from driveflow.storage.uris import writable
from labeling.manifest import CampaignManifest, Purpose, decode_manifest

MANIFEST_NAME = "campaign.json"
CLOSED_NAME = "closed.json"
MAX_RETURN_BYTES = 128 * 2**20  # some 25,000 frames of 40 boxes; more comes in several files


@dataclass(frozen=True, slots=True)
class Campaign:
    """A campaign that is complete in its folder; `frames` and `classes` are what it asks for."""

    campaign_id: str
    uri: str
    purpose: Purpose
    frames: tuple[str, ...]
    classes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BrokenCampaign:
    """A campaign whose manifest is gone or broken: whatever it asked for counts as not returned."""

    campaign_id: str
    reason: str
    detail: str

    def __str__(self) -> str:
        return f"Campaign {self.campaign_id} counts as not returned: {self.detail.rstrip('.')}."


@dataclass(frozen=True, slots=True)
class RawReturn:
    """A return file as it lay in the folder of `campaign_id`; `data` is None where it is over the limit."""

    campaign_id: str
    path: str  # relative to the campaign folder
    byte_count: int
    data: bytes | None


def campaign_uri(store: str, campaign_id: str) -> str:
    """Return the address of a campaign's folder."""
    return join(store, "campaigns", campaign_id)


def list_campaigns(store: str) -> tuple[str, ...]:
    """Return the ids of the complete campaigns of `store`, sorted."""
    try:
        found = [item.path.split("/") for item in list_objects(join(store, "campaigns"))]
    except NotFoundError:
        return ()
    return tuple(sorted(parts[0] for parts in found if len(parts) == 2 and parts[1] == MANIFEST_NAME))


def find_campaign(store: str, name: str) -> str:
    """Return the id of the one campaign whose id begins with `name`.

    Raises:
        NotFoundError: there is none.
        UsageError: there are several.
    """
    known = list_campaigns(store)
    found = [campaign_id for campaign_id in known if campaign_id.startswith(name)] if name else []
    if not found:
        raise NotFoundError(
            f"There is no campaign {name!r}; known: {', '.join(known[:5]) or 'none'} ({len(known)} in all)."
        )
    if len(found) > 1:
        raise UsageError(f"{name!r} begins {len(found)} campaigns ({', '.join(found[:5])}); more letters would do.")
    return found[0]


def open_manifest(store: str, campaign_id: str) -> CampaignManifest:
    """Return the manifest of a complete campaign.

    Raises:
        NotFoundError: there is no such campaign, or its hand-off has not come to its end.
        BrokenDataError: its manifest is broken, or is that of another campaign.
    """
    where = join(campaign_uri(store, campaign_id), MANIFEST_NAME)
    try:
        manifest = decode_manifest(read_bytes(where), where)
    except NotFoundError:
        raise NotFoundError(f"There is no complete campaign {campaign_id!r} in {store}.") from None
    if manifest.campaign_id != campaign_id:
        raise BrokenDataError("wrong_campaign", f"{where} is the manifest of campaign {manifest.campaign_id}")
    return manifest


def open_those_there(
    store: str, campaign_ids: Iterable[str]
) -> tuple[tuple[CampaignManifest, ...], tuple[BrokenCampaign, ...]]:
    """Return the manifests of complete campaigns, and why each other one is none: what is lost ends no run."""
    manifests: list[CampaignManifest] = []
    broken: list[BrokenCampaign] = []
    for campaign_id in sorted(set(campaign_ids)):
        try:
            manifests.append(open_manifest(store, campaign_id))
        except NotFoundError as error:
            broken.append(BrokenCampaign(campaign_id, "missing", str(error)))
        except BrokenDataError as error:
            broken.append(BrokenCampaign(campaign_id, error.code, error.detail))
    return tuple(manifests), tuple(broken)


def campaign_of(store: str, manifest: CampaignManifest) -> Campaign:
    """Return the campaign that `manifest` describes."""
    frames = tuple(frame.frame_id for frame in manifest.frames)
    uri = campaign_uri(store, manifest.campaign_id)
    return Campaign(manifest.campaign_id, uri, manifest.purpose, frames, manifest.classes)


def list_returns(store: str, campaign_ids: Iterable[str]) -> tuple[ObjectInfo, ...]:
    r"""Return the files that came back, hidden ones left out; their `path` begins with the campaign's id.

    Bytes of a file name that are no UTF-8, as zip files of other systems bring them, are spelled \xNN.
    """
    found: list[ObjectInfo] = []
    for campaign_id in sorted(set(campaign_ids)):
        try:
            items = list(list_objects(join(campaign_uri(store, campaign_id), "returns")))
        except NotFoundError:
            continue  # nothing came back yet
        visible = [item for item in items if not item.path.rpartition("/")[2].startswith(".")]
        found += [ObjectInfo(i.uri, f"{campaign_id}/returns/{writable(i.path)}", i.size, i.version) for i in visible]
    return tuple(found)


def read_return(item: ObjectInfo) -> RawReturn:
    """Return the bytes of a file that `list_returns` named, unless it is over the limit."""
    campaign_id, _, path = item.path.partition("/")
    data = None if item.size > MAX_RETURN_BYTES else read_bytes(item.uri)
    return RawReturn(campaign_id, path, item.size if data is None else len(data), data)


def is_closed(store: str, campaign_id: str) -> bool:
    """Return whether somebody said that nothing more is awaited of the campaign."""
    return stat(join(campaign_uri(store, campaign_id), CLOSED_NAME)) is not None


def close_campaign(store: str, campaign_id: str, who: str, why: str) -> None:
    """Say that nothing more is awaited of a campaign, so that its unanswered frames may be sent again.

    What came back stays, and what comes back later still counts.
    """
    open_manifest(store, campaign_id)
    if not who.strip() or not why.strip():
        raise UsageError(f"Closing campaign {campaign_id} needs a name and a reason.")
    note: dict[str, Json] = {"who": who, "why": writable(why)}
    write_bytes(join(campaign_uri(store, campaign_id), CLOSED_NAME), canonical_json(note).encode(), if_absent=True)


def reopen_campaign(store: str, campaign_id: str) -> None:
    """Await answers of a campaign again; open already is fine."""
    delete(join(campaign_uri(store, campaign_id), CLOSED_NAME))
