"""Draw bars that are made of parts, so that what a total consists of can be compared."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from driveflow.pages import html
from driveflow.pages.clip import clipped
from driveflow.pages.html import Html, escape
from driveflow.pages.svg import drawing

_PALETTE = 8
_ROW_PX, _LEFT_PX, _WIDTH_PX, _RIGHT_PX = 30, 90, 280, 60
_LEAST_TEXT_PX = 26
_LABEL_CHARS = 13


@dataclass(frozen=True, slots=True)
class Stack:
    """One bar: its label, and how much of each part it holds, in the order of the parts' names."""

    label: str
    values: Sequence[float]


def stacked_bars(title: str, names: Sequence[str], stacks: Sequence[Stack]) -> Html:
    """Return horizontal bars on one scale with a legend; part i of every bar has colour i.

    Raises:
        ValueError: a bar has not one value a name.
    """
    for stack in stacks:
        if len(stack.values) != len(names):
            raise ValueError(f"a bar of this chart has {len(names)} parts, got {len(stack.values)}")
    top = max((sum(map(_amount, stack.values)) for stack in stacks), default=0.0) or 1.0
    rows = "".join(_row(number, stack, top) for number, stack in enumerate(stacks))
    spoken = "; ".join(
        f"{stack.label}: " + ", ".join(f"{name} {value:g}" for name, value in zip(names, stack.values, strict=True))
        for stack in stacks
    )
    size = (_LEFT_PX + _WIDTH_PX + _RIGHT_PX, _ROW_PX * len(stacks) + 4)
    return html.join([legend(names), drawing("bars", size, (title, spoken or "nothing to show"), rows)])


def legend(names: Sequence[str]) -> Html:
    """Return the names with the colours that the parts of `stacked_bars` have."""
    swatch = [Html(f'<i class="solid k{number % _PALETTE}" aria-hidden="true"></i>') for number in range(len(names))]
    items = [html.element("span", {}, mark, name) for mark, name in zip(swatch, names, strict=True)]
    return html.element("div", {"class": "legend"}, *items)


def _row(number: int, stack: Stack, top: float) -> str:
    y, x = number * _ROW_PX + 3, float(_LEFT_PX)
    label = escape(clipped(stack.label, _LABEL_CHARS))
    parts = [f'<text class="strong" x="{_LEFT_PX - 8}" y="{y + 17}" text-anchor="end">{label}</text>']
    for colour, value in enumerate(map(_amount, stack.values)):
        width = _WIDTH_PX * value / top
        if width > 0:
            place = f'x="{x:.1f}" y="{y + 2}" width="{max(width - 1, 0.5):.1f}" height="{_ROW_PX - 9}"'
            parts.append(f'<rect class="fill s{colour % _PALETTE}" {place}/>')
            if width >= _LEAST_TEXT_PX:
                middle = x + width / 2
                parts.append(
                    f'<text class="inside" x="{middle:.1f}" y="{y + 17}" text-anchor="middle">{value:,.0f}</text>'
                )
        x += width
    total = sum(map(_amount, stack.values))
    parts.append(f'<text class="strong" x="{x + 6:.1f}" y="{y + 17}">{total:,.0f}</text>')
    return "".join(parts)


def _amount(value: float) -> float:
    return value if math.isfinite(value) and value > 0 else 0.0
