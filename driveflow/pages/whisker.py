"""Draw a value with its interval as a dot and a whisker, a row of a table each, all on one scale."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from driveflow.pages.html import Html, Tone
from driveflow.pages.svg import check_scale, drawing

_WIDTH, _HEIGHT, _EDGE, _MIDDLE = 190, 26, 9.0, 13.0
_LETTER = 7.0  # width of a digit at most
_STEPS: Final = (1.0, 2.0, 3.0, 5.0, 10.0)


@dataclass(frozen=True, slots=True)
class WhiskerScale:
    """What the whiskers of one column are drawn on: both ends, and a dashed `limit` no value may fall below."""

    low: float
    high: float
    limit: float | None = None

    def __post_init__(self) -> None:
        check_scale(self.low, self.high)


@dataclass(frozen=True, slots=True)
class Whisker:
    """A value with the ends of its interval; `other` is a second value to compare with, drawn as a ring."""

    value: float
    low: float | None = None
    high: float | None = None
    tone: Tone = "info"
    other: float | None = None


def difference_scale(ends: Iterable[float], limit: float | None = None, most: float = 1.0) -> WhiskerScale:
    """Return a scale with zero in its middle that holds `ends` (those beyond `most` run off it) and the limit.

    >>> difference_scale([-0.03, 0.11], limit=-0.02)
    WhiskerScale(low=-0.2, high=0.2, limit=-0.02)
    """
    far = [abs(end) for end in ends if math.isfinite(end)]
    half = _round_up(min(max([*far, 1.5 * abs(limit or 0.0), 0.01]), most))
    return WhiskerScale(-half, half, limit)


def whisker(item: Whisker, scale: WhiskerScale, spoken: str) -> Html:
    """Return one whisker; `spoken` says in words what it shows. An end that lies off the scale becomes an arrow."""
    parts = [_grid(scale)]
    if item.low is not None and item.high is not None and math.isfinite(item.low) and math.isfinite(item.high):
        left, right = _x(item.low, scale), _x(item.high, scale)
        ends = _end(item.low, left, scale) + _end(item.high, right, scale)
        parts.append(f'<path class="line {item.tone}" d="M{left:.1f} {_MIDDLE}H{right:.1f}{ends}"/>')
    if item.other is not None and math.isfinite(item.other):
        parts.append(f'<circle class="ring plain" cx="{_x(item.other, scale):.1f}" cy="{_MIDDLE}" r="3.5"/>')
    if math.isfinite(item.value):
        parts.append(f'<circle class="dot {item.tone}" cx="{_x(item.value, scale):.1f}" cy="{_MIDDLE}" r="4.5"/>')
    return drawing("whisker", (_WIDTH, _HEIGHT), (spoken, spoken), "".join(parts))


def axis(scale: WhiskerScale) -> Html:
    """Return the scale with its ends, and zero where it lies within, to stand above a column of whiskers."""
    marks = sorted({scale.low, scale.high, *([0.0] if scale.low < 0 < scale.high else [])})
    texts = []
    for value in marks:
        spelled = _spell(value, scale)
        half = min(_LETTER * len(spelled) / 2, _WIDTH / 2)
        at = min(max(_x(value, scale), half), _WIDTH - half)  # over its mark, unless it would run out of the drawing
        texts.append(f'<text x="{at:.1f}" y="12" text-anchor="middle">{spelled}</text>')
    words = f"scale from {scale.low:g} to {scale.high:g}"
    return drawing("scale", (_WIDTH, 16), (words, words), "".join(texts))


def _grid(scale: WhiskerScale) -> str:
    origin = _x(0.0, scale) if scale.low <= 0 <= scale.high else None
    parts = [f'<path class="axis" d="M{_EDGE} {_MIDDLE}H{_WIDTH - _EDGE}"/>']
    if origin is not None:
        parts.append(f'<path class="zero" d="M{origin:.1f} 2V{_HEIGHT - 2}"/>')
    if scale.limit is not None and scale.low <= scale.limit <= scale.high:
        parts.append(f'<path class="limit" d="M{_x(scale.limit, scale):.1f} 0V{_HEIGHT}"/>')
    return "".join(parts)


def _end(value: float, x: float, scale: WhiskerScale) -> str:
    if scale.low <= value <= scale.high:
        return f"M{x:.1f} {_MIDDLE - 4}V{_MIDDLE + 4}"
    back = 5 if value < scale.low else -5
    return f"M{x + back:.1f} {_MIDDLE - 4}L{x:.1f} {_MIDDLE}L{x + back:.1f} {_MIDDLE + 4}"


def _x(value: float, scale: WhiskerScale) -> float:
    share = (min(max(value, scale.low), scale.high) - scale.low) / (scale.high - scale.low)
    return _EDGE + (_WIDTH - 2 * _EDGE) * share


def _round_up(value: float) -> float:
    power = 10.0 ** math.floor(math.log10(value))
    return round(next(step * power for step in _STEPS if step * power >= value * 0.999), 12)


def _spell(value: float, scale: WhiskerScale) -> str:
    sign = "+" if value > 0 and scale.low < 0 else ""
    return f"{sign}{value:g}".replace("-", "−")
