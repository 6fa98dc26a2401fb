"""How far apart two distributions are, as sizes of effect: none of them grows with the number of samples."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_HALF = 0.5  # added to each count where a logarithm of it is taken


def jensen_shannon(before: Floats, now: Floats) -> Floats:
    """Return the Jensen-Shannon distance (base 2, 0 to 1) of counts, along the last axis.

    >>> jensen_shannon(np.array([5.0, 5.0]), np.array([50.0, 50.0])).round(3)
    np.float64(0.0)
    """
    left, right = _shares(before), _shares(now)
    middle = (left + right) / 2
    divergence = (_relative(left, middle) + _relative(right, middle)) / 2
    return np.sqrt(np.clip(divergence, 0.0, 1.0))


def stability_index(before: Floats, now: Floats) -> float:
    """Return the population stability index of counts; half a sample is added to each, so that none is empty."""
    left, right = _shares(before + _HALF), _shares(now + _HALF)
    return float(((right - left) * np.log(right / left)).sum())


def kolmogorov_smirnov(before: Floats, now: Floats) -> Floats:
    """Return the Kolmogorov-Smirnov D (0 to 1) of counts in ordered bins, along the last axis."""
    apart = np.abs(np.cumsum(_shares(before), axis=-1) - np.cumsum(_shares(now), axis=-1))
    return np.asarray(apart.max(axis=-1))


def exact_kolmogorov_smirnov(before: Floats, now: Floats) -> float:
    """Return the Kolmogorov-Smirnov D of two samples."""
    every = np.sort(np.concatenate([before, now]))
    shares = [np.searchsorted(np.sort(side), every, "right") / len(side) for side in (before, now)]
    return float(np.abs(shares[0] - shares[1]).max())


def standard_difference(before: Floats, now: Floats) -> float:
    """Return the difference of the means in pooled standard deviations; 0 where nothing varies and nothing differs."""
    apart = float(now.mean() - before.mean())
    spread = float(np.sqrt((before.var() + now.var()) / 2))
    return apart / spread if spread > 0 else float(np.sign(apart)) * float("inf") if apart else 0.0


def _shares(counts: Floats) -> Floats:
    total = counts.sum(axis=-1, keepdims=True)
    return np.asarray(np.divide(counts, total, out=np.zeros_like(counts, np.float64), where=total > 0))


def _relative(left: Floats, right: Floats) -> Floats:
    """Return the relative entropy in bits."""
    ratio = np.divide(left, right, out=np.ones_like(left), where=(left > 0) & (right > 0))
    return np.asarray((left * np.log2(ratio)).sum(axis=-1))
