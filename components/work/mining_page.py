"""What a search found and what a selection adds, in words and figures."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from components.work.pages import markdown_table
from driveflow.flow.sections import LabelingSection

if TYPE_CHECKING:
    from filtering.corner_cases import Selection
    from filtering.finds import Find
    from filtering.outlook import Coverage, Outlook

_MOST_NAMES = 8


def mining_page(selection: "Selection", labeling: LabelingSection) -> str:
    """Return the part of the step's page about corner cases, cost and coverage; empty where there is nothing to say."""
    from filtering.budget import cost_text

    parts = []
    cost = cost_text(labeling, selection.counts["selected"])
    if cost:
        parts.append(f"The labels of {selection.counts['selected']:,} frames cost {cost}.\n")
    if selection.finds:
        header = ("corner case", "miner", "found", "taken", "right where reviewed")
        rows = [(find.name, find.miner, len(find.frame_ids), find.taken, _precision(find)) for find in selection.finds]
        parts.append(f"## Corner cases\n\n{markdown_table(header, rows)}")
        scores = [(find.name, find.formula, find.unit, find.reference) for find in selection.finds]
        parts.append(markdown_table(("corner case", "score", "unit", "compared with"), scores))
        parts += [f"{note}\n" for note in empty_notes(selection)]
    if selection.outlook is not None:
        parts.append(_coverage(selection.outlook))
    return "\n".join(parts)


def empty_notes(selection: "Selection") -> tuple[str, ...]:
    """Return a sentence for each corner case that found nothing, which says why."""
    return tuple(f"Corner case {find.name} found nothing: {find.why}." for find in selection.finds if find.why)


def outlook_metrics(selection: "Selection") -> Mapping[str, float]:
    """Return the coverage radius before the selection, with it and with the next frames, and what these reach first."""
    ahead = selection.outlook
    if ahead is None:
        return {}
    stages = {"before": ahead.before, "after": ahead.after, "beyond": ahead.beyond}
    radii = {f"coverage_radius_{name}": part.radius for name, part in stages.items() if part.radius is not None}
    return {**radii, "groups_reached_first": len(ahead.new_groups), "groups_reached_next": len(ahead.next_groups)}


def _precision(find: "Find") -> str:
    found = find.precision
    if found is None:
        return "not reviewed"
    return f"{found.right} of {found.reviewed} ({found.low:.2f} to {found.high:.2f})"


def _coverage(ahead: "Outlook") -> str:
    header = ("with", "frames", f"radius ({ahead.unit})", "mean distance", "groups reached")
    rows = [
        ("what is labeled", *_figures(ahead.before)),
        ("this selection", *_figures(ahead.after)),
    ]
    words = [f"First reached by this selection: {_names(ahead.new_groups)}."]
    if ahead.next_frames:
        rows.append((f"the next {ahead.next_frames:,} frames", *_figures(ahead.beyond)))
        words.append(f"First reached by the next {ahead.next_frames:,} frames: {_names(ahead.next_groups)}.")
    else:
        words.append("More frames would bring nothing nearer: what is left looks like what is labeled or chosen.")
    return f"## Coverage\n\n{markdown_table(header, rows)}\n" + "\n\n".join(words) + "\n"


def _figures(part: "Coverage") -> tuple[str, str, str, str]:
    radius, mean = ("not known" if value is None else f"{value:.4g}" for value in (part.radius, part.mean))
    return f"{part.frames:,}", radius, mean, str(part.groups)


def _names(groups: tuple[str, ...]) -> str:
    from filtering.groups import NO_CLASS

    told = ["frames in which nothing is seen" if name == NO_CLASS else name for name in groups[:_MOST_NAMES]]
    more = f" and {len(groups) - _MOST_NAMES} more" if len(groups) > _MOST_NAMES else ""
    return ", ".join(told) + more if groups else "no drive, class or slice that was not reached before"
