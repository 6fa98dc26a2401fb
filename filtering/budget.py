"""How many frames a budget pays for."""

from decimal import Decimal
from fractions import Fraction

from driveflow.flow.sections import LabelingSection


def affordable_frames(labeling: LabelingSection) -> int:
    """Return how many frames the budget allows, in frames and in money.

    >>> affordable_frames(LabelingSection(budget_frames=500, cost_per_frame=0.1, budget_money=30.0))
    300
    """
    if not labeling.cost_per_frame or not labeling.budget_money:
        return labeling.budget_frames
    paid = Fraction(_exact(labeling.budget_money)) // Fraction(_exact(labeling.cost_per_frame))
    return min(labeling.budget_frames, paid)


def cost_text(labeling: LabelingSection, frames: int) -> str:
    """Return what `frames` cost, with the currency; empty where no cost is stated.

    >>> cost_text(LabelingSection(cost_per_frame=0.1, currency="EUR"), 3)
    '0.3 EUR'
    """
    if not labeling.cost_per_frame:
        return ""
    return f"{_exact(labeling.cost_per_frame) * frames:f} {labeling.currency}".strip()


def unaffordable(labeling: LabelingSection) -> str:
    """Return why the money pays for no frame; empty where it pays for one or is not bounded.

    >>> unaffordable(LabelingSection(cost_per_frame=0.5, budget_money=0.2, currency="EUR"))
    'labeling.budget_money, 0.2 EUR, pays for no frame at 0.5 EUR each; nothing goes to annotators'
    """
    if not labeling.budget_frames or affordable_frames(labeling):
        return ""
    money, each = (
        f"{_exact(value):f} {labeling.currency}".strip() for value in (labeling.budget_money, labeling.cost_per_frame)
    )
    return f"labeling.budget_money, {money}, pays for no frame at {each} each; nothing goes to annotators"


def _exact(money: float) -> Decimal:
    """Return `money` as it is written, so that ten times 0.1 is 1."""
    return Decimal(repr(money))
