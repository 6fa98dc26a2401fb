"""Decide disputes by how many of those who looked for a class drew a box."""

import math
from collections.abc import Sequence

import numpy as np

from ingestion.disputes import FATES, Alone, Bools, Dispute, Verdicts
from ingestion.overlap import Ints, Pairs, alike

_KEPT, _UNITED, _OVERRULED, _ = range(len(FATES))


def reach_consensus(dispute: Dispute) -> Verdicts:
    """Return what becomes of each box: clusters that enough contributors drew stay, each as its middle member.

    A cluster has at most one box of a contributor. Who alone looked for a class needs no second: of those who looked,
    no more than all can be asked for. Who drew without having looked for the class is asked for nothing and has no
    vote, but where nobody looked: then everything stays.
    """
    count = len(dispute.groups)
    everything = np.arange(count)
    pairs = alike(dispute.corners, dispute.groups, (everything, everything), dispute.rule.min_iou, dispute.turns)
    clusters = _clusters(pairs, dispute.turns)
    middle = _middles(pairs, clusters)
    voters = clusters[dispute.claim_looked[dispute.claim_of(dispute.groups, dispute.turns)]]
    stays = (np.bincount(voters, minlength=count) >= _needed(dispute))[clusters]
    fates = np.where(stays, np.where(middle == everything, _KEPT, _UNITED), _OVERRULED).astype(np.int8)
    losers = np.flatnonzero(fates == _UNITED)
    same = Pairs(middle[losers], losers, np.ones(len(losers)))
    return Verdicts(fates, same, _alone(dispute, clusters, middle, stays), np.zeros(len(losers), np.int64))


def _needed(dispute: Dispute) -> Ints:
    """Return, for the cluster that each box would found, how many must have drawn it."""
    looked = np.bincount(dispute.claim_groups, dispute.claim_looked).astype(np.int64)[dispute.groups]
    quorum = dispute.rule.quorum
    if isinstance(quorum, int):
        return np.minimum(looked, quorum)
    most = int(looked.max(initial=0))
    shares = (math.ceil(round(quorum * number, 9)) for number in range(most + 1))
    table = np.array([max(min(1, number), share) for number, share in enumerate(shares)], np.int64)
    return table[looked]


def _clusters(pairs: Pairs, turns: Ints) -> Ints:
    """Return for each box the first box of its cluster."""
    clusters = _connected(pairs.left, pairs.right, len(turns))
    order = np.lexsort((turns, clusters))
    again = (np.diff(clusters[order]) == 0) & (np.diff(turns[order]) == 0)
    crowded = np.zeros(len(turns), np.bool_)
    crowded[clusters[order[1:][again]]] = True
    boxes = np.flatnonzero(crowded[clusters])
    clusters[boxes] = boxes
    for chosen, first in _agglomerate(pairs.only(crowded_pairs(pairs, boxes, len(turns))), turns).items():
        clusters[chosen] = first
    return clusters


def crowded_pairs(pairs: Pairs, boxes: Ints, count: int) -> Bools:
    """Tell which pairs are of `boxes`."""
    wanted = np.zeros(count, np.bool_)
    wanted[boxes] = True
    return wanted[pairs.left]


def _connected(left: Ints, right: Ints, count: int) -> Ints:
    labels = np.arange(count)
    while True:
        before = labels.copy()
        np.minimum.at(labels, left, labels[right])
        np.minimum.at(labels, right, labels[left])
        labels = labels[labels]
        if np.array_equal(before, labels):
            return labels


def _agglomerate(pairs: Pairs, turns: Ints) -> dict[int, int]:
    """Join the most alike first, wherever no contributor would be in a cluster twice."""
    members: dict[int, list[int]] = {}
    for pair in np.lexsort((pairs.right, pairs.left, -pairs.iou)).tolist():
        left, right = int(pairs.left[pair]), int(pairs.right[pair])
        a, b = members.setdefault(left, [left]), members.setdefault(right, [right])
        if a is not b and not {turns[box] for box in a} & {turns[box] for box in b}:
            a += b
            members |= dict.fromkeys(b, a)
    return {box: min(cluster) for box, cluster in members.items()}


def _middles(pairs: Pairs, clusters: Ints) -> Ints:
    """Return for each box the middle member of its cluster: most alike to the others, ties by the number of the box."""
    inside = pairs.only(clusters[pairs.left] == clusters[pairs.right])
    size = len(clusters)
    score = np.bincount(inside.left, inside.iou, size) + np.bincount(inside.right, inside.iou, size)
    order = np.lexsort((np.arange(size), -np.round(score, 9), clusters))
    firsts = order[np.flatnonzero(np.diff(clusters[order], prepend=-1))]
    middle = np.arange(size)
    middle[clusters[firsts]] = firsts
    found: Ints = middle[clusters]
    return found


def _alone(dispute: Dispute, clusters: Ints, middle: Ints, stays: Bools) -> Alone:
    """Return who looked and is not in a cluster: all where it stays, the first one for each box where it goes."""
    claims = dispute.claim_of(dispute.groups, dispute.turns)
    firsts = np.flatnonzero(clusters == np.arange(len(clusters)))
    starts = np.searchsorted(dispute.claim_groups, dispute.groups[firsts], side="left")
    counts = np.searchsorted(dispute.claim_groups, dispute.groups[firsts], side="right") - starts
    cluster = np.repeat(firsts, counts)
    offsets = np.zeros(len(clusters), np.int64)  # from a claimant to its place among those of each cluster
    offsets[firsts] = np.cumsum(counts) - counts - starts
    claim = np.arange(int(counts.sum())) - offsets[cluster]
    silent = dispute.claim_looked[claim]
    silent[claims + offsets[clusters]] = False
    cluster, turn = cluster[silent], dispute.claim_turns[claim[silent]]
    first = np.full(len(clusters), -1, np.int64)
    first[cluster[::-1]] = turn[::-1]
    kept = stays[cluster]
    gone = np.flatnonzero(~stays)
    return Alone(*_both((middle[cluster[kept]], turn[kept]), (gone, first[clusters[gone]])))


def _both(kept: Sequence[Ints], gone: Sequence[Ints]) -> tuple[Ints, Ints, Bools]:
    stays = np.concatenate([np.ones(len(kept[0]), np.bool_), np.zeros(len(gone[0]), np.bool_)])
    return np.concatenate([kept[0], gone[0]]), np.concatenate([kept[1], gone[1]]), stays
