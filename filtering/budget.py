"""How many frames a budget pays for."""

from decimal import Decimal

from driveflow.flow.sections import LabelingSection


def affordable_frames(labeling: LabelingSection) -> int:
    """Return how many frames the budget allows, in frames and in money.

    >>> affordable_frames(LabelingSection(budget_frames=500, cost_per_frame=0.1, budget_money=30.0))
    300
    """
    if not labeling.cost_per_frame or not labeling.budget_money:
        return labeling.budget_frames
    paid = int(_exact(labeling.budget_money) // _exact(labeling.cost_per_frame))
    return min(labeling.budget_frames, paid)


def cost_text(labeling: LabelingSection, frames: int) -> str:
    """Return what `frames` cost, with the currency; empty where no cost is stated.

    >>> cost_text(LabelingSection(cost_per_frame=0.1, currency="EUR"), 3)
    '0.3 EUR'
    """
    if not labeling.cost_per_frame:
        return ""
    return f"{_exact(labeling.cost_per_frame) * frames:f} {labeling.currency}".strip()


def _exact(money: float) -> Decimal:
    """Return `money` as it is written, so that ten times 0.1 is 1."""
    return Decimal(repr(money))
