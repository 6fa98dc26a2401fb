"""Draw a curve over a scale of its own unit, with the limits that are set on it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from driveflow.pages.html import Html, escape
from driveflow.pages.svg import check_scale, drawing

_WIDTH, _HEIGHT = 340, 200
_LEFT, _TOP, _RIGHT, _BOTTOM = 44.0, 10.0, 326.0, 158.0
_TICKS: Final = 4
_STEPS: Final = (1.0, 2.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True, slots=True)
class Scale:
    """What runs along the bottom: its name, and the values at both ends."""

    title: str
    low: float
    high: float

    def __post_init__(self) -> None:
        check_scale(self.low, self.high)

    def ticks(self) -> list[float]:
        """Return a few round values inside the scale.

        >>> Scale("bits", 0, 16).ticks()
        [0.0, 5.0, 10.0, 15.0]
        """
        rough = (self.high - self.low) / _TICKS
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(size * power for size in _STEPS if size * power >= rough * 0.999)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [round(number * step, 12) for number in range(first, last + 1)]


@dataclass(frozen=True, slots=True)
class Curve:
    """Points (value, share from 0 to 1) in order; `stepped` where the share jumps at each value."""

    points: Sequence[tuple[float, float]]
    stepped: bool = False


def curve_chart(title: str, curve: Curve, scale: Scale, y_title: str, marks: Sequence[tuple[str, float]] = ()) -> Html:
    """Return the curve, with a dashed line and its name at each of `marks`; what lies off the scale is left out."""
    parts = [_axes(scale, y_title)]
    if curve.points:
        parts.append(f'<path class="line s0" d="{_path(curve, scale)}"/>')
    for name, value in marks:
        if scale.low <= value <= scale.high:
            parts.append(_mark(name, _x(value, scale)))
    told = [f"{value:g}: {share:.1%}" for value, share in curve.points[:: max(1, len(curve.points) // 8)]]
    told += [f"{name}: {value:g}" for name, value in marks]
    spoken = f"{y_title} over {scale.title}: {'; '.join(told) or 'no point'}"
    return drawing("curve", (_WIDTH, _HEIGHT), (title, spoken), "".join(parts))


def _path(curve: Curve, scale: Scale) -> str:
    words: list[str] = []
    for value, share in curve.points:
        x, y = _x(min(max(value, scale.low), scale.high), scale), _y(share)
        if words and curve.stepped:
            words.append(f"H{x:.1f}V{y:.1f}")
        else:
            words.append(f"{'L' if words else 'M'}{x:.1f} {y:.1f}")
    return "".join(words)


def _mark(name: str, x: float) -> str:
    turned = x > (_LEFT + _RIGHT) / 2
    at, anchor = (x - 4, "end") if turned else (x + 4, "start")
    return (
        f'<path class="line dashed s2" d="M{x:.1f} {_TOP}V{_BOTTOM}"/>'
        f'<text class="strong" x="{at:.1f}" y="{_TOP + 10:.0f}" text-anchor="{anchor}">{escape(name)}</text>'
    )


def _axes(scale: Scale, y_title: str) -> str:
    parts = []
    for share in (0.0, 0.5, 1.0):
        y = _y(share)
        parts.append(f'<path class="axis" d="M{_LEFT} {y:.1f}H{_RIGHT}"/>')
        parts.append(f'<text x="{_LEFT - 5:.0f}" y="{y + 4:.1f}" text-anchor="end">{share:.0%}</text>')
    for value in scale.ticks():
        x = _x(value, scale)
        parts.append(f'<path class="axis" d="M{x:.1f} {_BOTTOM}v4"/>')
        parts.append(f'<text x="{x:.1f}" y="{_BOTTOM + 16:.0f}" text-anchor="middle">{value:g}</text>')
    middle = (_LEFT + _RIGHT) / 2
    parts.append(f'<text x="{middle:.0f}" y="{_BOTTOM + 34:.0f}" text-anchor="middle">{escape(scale.title)}</text>')
    half = (_TOP + _BOTTOM) / 2
    turned = f'text-anchor="middle" transform="rotate(-90 10 {half:.0f})"'
    parts.append(f'<text x="10" y="{half:.0f}" {turned}>{escape(y_title)}</text>')
    return "".join(parts)


def _x(value: float, scale: Scale) -> float:
    return _LEFT + (_RIGHT - _LEFT) * (value - scale.low) / (scale.high - scale.low)


def _y(share: float) -> float:
    return _BOTTOM - (_BOTTOM - _TOP) * min(max(share, 0.0), 1.0)
