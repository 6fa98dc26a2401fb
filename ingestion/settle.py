"""Decide disputes by hearing one contributor after the other."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ingestion.disputes import FATES, Alone, Bools, Dispute, Verdicts, hearing
from ingestion.overlap import Ints, Pairs, alike, pair_off

_KEPT, _UNITED, _OVERRULED, _IN_REVIEW = range(len(FATES))
_PAIRS: tuple[tuple[str, type], ...] = (("left", np.int64), ("right", np.int64), ("iou", np.float64))
_ALONE: tuple[tuple[str, type], ...] = (("box", np.int64), ("silent", np.int64), ("stays", np.bool_))


@dataclass(slots=True)
class _Hearing:
    """What was heard so far."""

    dispute: Dispute
    heard: Ints  # place of each claimant
    at: Ints  # place of the contributor of each box
    open_groups: Bools  # group -> whether everything that anybody drew stays
    kept: Bools
    fates: npt.NDArray[np.int8]
    same: list[Pairs] = field(default_factory=list)
    alone: list[Alone] = field(default_factory=list)


def settle(dispute: Dispute) -> Verdicts:
    """Return what becomes of each box under `union`, `review` or `ranked`."""
    heard = hearing(dispute)
    at = heard[dispute.claim_of(dispute.groups, dispute.turns)]
    count = len(dispute.groups)
    fates = np.full(count, _KEPT, np.int8)
    state = _Hearing(dispute, heard, at, _open_groups(dispute), at == 0, fates)
    for place in range(1, int(heard.max(initial=0)) + 1):
        _hear(state, place)
    pairs = Pairs(*(_joined([getattr(part, name) for part in state.same], kind) for name, kind in _PAIRS))
    alone = Alone(*(_joined([getattr(part, name) for part in state.alone], kind) for name, kind in _ALONE))
    if dispute.rule.kind == "review":
        _put_aside(state, pairs, alone)
        alone = Alone(alone.box, alone.silent, np.zeros(len(alone.box), np.bool_))
    return Verdicts(state.fates, pairs, alone, state.at[pairs.right])


def _joined(parts: Sequence[npt.NDArray[Any]], kind: type) -> npt.NDArray[Any]:
    return np.concatenate(parts) if parts else np.empty(0, kind)


def _open_groups(dispute: Dispute) -> Bools:
    """Tell in which groups nobody is overruled: under a rank, those for which nobody looked."""
    groups = int(dispute.claim_groups.max(initial=-1)) + 1
    open_groups = np.ones(groups, np.bool_)
    if dispute.rule.kind == "ranked":
        open_groups[dispute.claim_groups[dispute.claim_looked]] = False
    return open_groups


def _hear(state: _Hearing, place: int) -> None:
    """Hear the claimant at `place` of every group that has so many."""
    dispute = state.dispute
    claims = np.flatnonzero(state.heard == place)
    speaks = np.full(len(state.open_groups), -1, np.int64)  # group -> claimant that is heard now
    speaks[dispute.claim_groups[claims]] = claims
    known = np.flatnonzero(state.kept & (speaks[dispute.groups] >= 0))
    fresh = np.flatnonzero(state.at == place)
    pairs = alike(dispute.corners, dispute.groups, (known, fresh), dispute.rule.min_iou)
    pairs = pair_off(pairs, len(dispute.groups))
    state.same.append(pairs)
    state.fates[pairs.right] = _UNITED
    unseen = np.setdiff1d(known, pairs.left)
    unseen = unseen[dispute.claim_looked[speaks[dispute.groups[unseen]]]]
    silent = dispute.claim_turns[speaks[dispute.groups[unseen]]]
    state.alone.append(Alone(unseen, silent, np.ones(len(unseen), np.bool_)))
    _hear_lonely(state, np.setdiff1d(fresh, pairs.right), place)


def _hear_lonely(state: _Hearing, lonely: Ints, place: int) -> None:
    """Decide the boxes that nobody heard before drew."""
    dispute = state.dispute
    stays = state.open_groups[dispute.groups[lonely]]
    first = _first_looked(state, place)[dispute.groups[lonely]]
    missed = first >= 0
    state.alone.append(Alone(lonely[missed], dispute.claim_turns[first[missed]], stays[missed]))
    state.kept[lonely] = stays
    state.fates[lonely[~stays]] = _OVERRULED


def _first_looked(state: _Hearing, place: int) -> Ints:
    """Return, for each group, the claimant heard first of those before `place` that looked; -1 where none did."""
    dispute = state.dispute
    claims = np.flatnonzero(dispute.claim_looked & (state.heard < place))
    claims = claims[np.argsort(-state.heard[claims], kind="stable")]
    first = np.full(len(state.open_groups), -1, np.int64)
    first[dispute.claim_groups[claims]] = claims  # the last one written is the one heard first
    return first


def _put_aside(state: _Hearing, pairs: Pairs, alone: Alone) -> None:
    """Take out of the truth what not all drew, and what only some call an ignore region."""
    state.fates[alone.box] = _IN_REVIEW
    ignore = state.dispute.boxes["ignore"].fill_null(value=False).to_numpy()
    differ = ignore[pairs.left] != ignore[pairs.right]
    state.fates[pairs.left[differ]] = _IN_REVIEW
    state.fates[pairs.right[differ]] = _IN_REVIEW
