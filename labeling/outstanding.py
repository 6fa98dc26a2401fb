"""What other campaigns have asked for, and still await or have got."""

from collections.abc import Mapping

from labeling.campaigns import is_closed, list_campaigns, list_returns, open_those_there, read_return
from labeling.manifest import CampaignManifest, Purpose
from labeling.returns import answered_pairs, read_returns


def classes_out(store: str, purpose: Purpose, but: str = "") -> Mapping[str, frozenset[str]]:
    """Return for each frame the classes that campaigns of `purpose` asked for, so that nobody pays for them twice.

    The campaign `but` is left out. Of a closed one only what was answered counts, of one whose manifest is broken
    nothing.
    """
    out: dict[str, set[str]] = {}
    for manifest in open_those_there(store, list_campaigns(store))[0]:
        if manifest.purpose == purpose and manifest.campaign_id != but:
            for frame_id, name in _pairs(store, manifest):
                out.setdefault(frame_id, set()).add(name)
    return {frame_id: frozenset(names) for frame_id, names in out.items()}


def _pairs(store: str, manifest: CampaignManifest) -> set[tuple[str, str]]:
    if is_closed(store, manifest.campaign_id):
        raws = (read_return(item) for item in list_returns(store, [manifest.campaign_id]))
        return answered_pairs(read_returns([manifest], raws).entries)
    return {(frame.frame_id, name) for frame in manifest.frames for name in frame.missing_classes}
