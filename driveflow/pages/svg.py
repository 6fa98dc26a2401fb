"""Draw small charts as inline SVG with a title and a description for those who do not see them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from driveflow.pages.clip import clipped
from driveflow.pages.html import Html, escape

_PALETTE = 8
_LABEL_CHARS = 26


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: a label, its value from 0 to `bar_chart`'s top, and what is written at its end."""

    label: str
    value: float
    text: str = ""
    colour: int = 0


@dataclass(frozen=True, slots=True)
class Line:
    """One curve through points (x, y) in 0..1, in order."""

    label: str
    points: Sequence[tuple[float, float]]
    colour: int = 0
    dashed: bool = False
    mark: tuple[float, float] | None = None  # a point of it that is shown as a dot


@dataclass(frozen=True, slots=True)
class Calibration:
    """One bin of a reliability diagram: mean score, share that was right, and how many detections it holds."""

    mean_score: float
    share_right: float
    count: int


def bar_chart(title: str, bars: Sequence[Bar], top: float = 1.0) -> Html:
    """Return horizontal bars, one a row, on a scale from 0 to `top`."""
    row_px, left_px, width_px, right_px = 24, 170, 190, 70
    height = row_px * len(bars) + 6
    rows = []
    for index, bar in enumerate(bars):
        y = index * row_px + 3
        share = min(max(_finite(bar.value) / top, 0.0), 1.0) if top > 0 else 0.0
        label = escape(clipped(bar.label, _LABEL_CHARS))
        rows.append(
            f'<text class="strong" x="{left_px - 8}" y="{y + 15}" text-anchor="end">{label}</text>'
            f'<rect class="fill s{bar.colour % _PALETTE}" x="{left_px}" y="{y + 3}" '
            f'width="{width_px * share:.1f}" height="{row_px - 9}" rx="2"/>'
            f'<text x="{left_px + width_px * share + 6:.1f}" y="{y + 15}">{escape(bar.text)}</text>'
        )
    spoken = "; ".join(f"{bar.label}: {bar.text or format(bar.value, '.3f')}" for bar in bars)
    axis = f'<path class="axis" d="M{left_px} 0V{height}"/>'
    return drawing("bars", (left_px + width_px + right_px, height), (title, spoken), axis + "".join(rows))


def line_chart(title: str, lines: Sequence[Line], x_title: str, y_title: str) -> Html:
    """Return curves in a unit square, such as precision over recall."""
    # The first line is the one that matters: it is drawn last, so that no other covers it.
    curves = "".join(_curve(line) for line in reversed(lines))
    spoken = "; ".join(f"{line.label}: {_spoken(line.points)}" for line in lines) or "no curve"
    return drawing("lines", (240, 190), (title, spoken), _axes(x_title, y_title) + curves)


def reliability(title: str, bins: Sequence[Calibration]) -> Html:
    """Return share right over mean score: bars on the diagonal belong to a detector whose scores can be believed."""
    most = max((item.count for item in bins), default=0)
    parts = [_axes("score", "share right"), f'<path class="axis dashed" d="{_path([(0, 0), (1, 1)])}"/>']
    for item in bins:
        if item.count:
            x, y = _place(item.mean_score, item.share_right)
            radius = 2.0 + 4.0 * math.sqrt(item.count / most)
            parts.append(f'<circle class="fill s0" cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}"/>')
    spoken = "; ".join(
        f"score {item.mean_score:.2f}: {item.share_right:.2f} right of {item.count}" for item in bins if item.count
    )
    return drawing("lines", (240, 190), (title, spoken or "no detections"), "".join(parts))


def check_scale(low: float, high: float) -> None:
    """Refuse a scale that does not go from a number to a larger one."""
    if not math.isfinite(low) or not math.isfinite(high) or high <= low:
        raise ValueError(f"a scale goes from a number to a larger one, got {low} to {high}")


def drawing(kind: str, size: tuple[int, int], words: tuple[str, str], content: str) -> Html:
    """Return `content`, markup that is safe already, as a drawing; `words` are its title and what is read aloud."""
    title, description = (escape(text) for text in words)
    return Html(
        f'<svg class="{kind}" role="img" aria-label="{title}" viewBox="0 0 {size[0]} {size[1]}" '
        f'xmlns="http://www.w3.org/2000/svg"><title>{title}</title><desc>{description}</desc>{content}</svg>'
    )


def _curve(line: Line) -> str:
    colour = f"s{line.colour % _PALETTE}"
    path = f'<path class="line {colour}{" dashed" if line.dashed else ""}" d="{_path(line.points)}"/>'
    parts = [path] if line.points else []
    if line.mark is not None:
        x, y = _place(*line.mark)
        parts.append(f'<circle class="fill {colour}" cx="{x:.1f}" cy="{y:.1f}" r="4"/>')
    return "".join(parts)


def _axes(x_title: str, y_title: str) -> str:
    parts = []
    for tick in (0.0, 0.5, 1.0):
        (x, low), (_x, high) = _place(tick, 0.0), _place(tick, 1.0)
        (left, y), (right, _y) = _place(0.0, tick), _place(1.0, tick)
        parts.append(f'<path class="axis" d="M{x:.1f} {low:.1f}V{high:.1f}M{left:.1f} {y:.1f}H{right:.1f}"/>')
        parts.append(f'<text x="{x:.1f}" y="{low + 13:.1f}" text-anchor="middle">{tick:g}</text>')
        parts.append(f'<text x="{left - 5:.1f}" y="{y + 4:.1f}" text-anchor="end">{tick:g}</text>')
    middle, bottom = _place(0.5, 0.0)
    left, high = _place(0.0, 0.5)
    parts.append(f'<text x="{middle:.1f}" y="{bottom + 27:.1f}" text-anchor="middle">{escape(x_title)}</text>')
    turned = f'text-anchor="middle" transform="rotate(-90 {left - 30:.1f} {high:.1f})"'
    parts.append(f'<text x="{left - 30:.1f}" y="{high:.1f}" {turned}>{escape(y_title)}</text>')
    return "".join(parts)


def _place(x: float, y: float) -> tuple[float, float]:
    left, bottom, width, height = 40.0, 156.0, 190.0, 148.0
    return left + width * min(max(_finite(x), 0.0), 1.0), bottom - height * min(max(_finite(y), 0.0), 1.0)


def _path(points: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in (_place(*point) for point in points))


def _spoken(points: Sequence[tuple[float, float]]) -> str:
    step = max(1, len(points) // 4)
    return ", ".join(f"{y:.2f} at {x:.2f}" for x, y in points[::step]) or "no points"


def _finite(value: float) -> float:
    return value if math.isfinite(value) else 0.0
