"""What must hold within a corner case of a flow file."""

import re
from collections.abc import Iterator
from typing import Final, TypeAlias

from driveflow.errors import UsageError
from driveflow.flow.document import Key
from driveflow.flow.miner_section import MinerSection
from driveflow.flow.sections import CornerCaseSection

_FRAME_ID: Final = re.compile("[0-9a-f]{64}")
Finding: TypeAlias = tuple[tuple[Key, ...], str]  # key path and what is wrong there


def corner_case_findings(path: tuple[Key, ...], case: CornerCaseSection) -> Iterator[Finding]:
    """Yield what contradicts itself in the corner case at `path`."""
    yield from unclear_condition((*path, "expression"), case.expression, of_boxes=False)
    yield from unclear_condition((*path, "boxes_expression"), case.boxes_expression, of_boxes=True)
    settings = case.settings
    if case.miner == "like_these" and not settings.frames and not settings.boxes:
        yield (*path, "miner"), "'like_these' needs examples: settings.frames or settings.boxes"
    if case.miner == "like_labels" and not settings.classes:
        yield (*path, "miner"), "'like_labels' needs classes whose labels are examples: settings.classes"
    if (case.miner, settings.measure) == ("uncertainty", "disagreement") and not settings.models:
        yield (*path, "settings", "measure"), "'disagreement' needs models beside the champion: settings.models"
    if settings.models and (case.miner, settings.measure) != ("uncertainty", "disagreement"):
        yield (*path, "settings", "models"), "are asked by miner: uncertainty with measure: disagreement only"
    yield from _examples((*path, "settings"), settings)


def _examples(path: tuple[Key, ...], settings: MinerSection) -> Iterator[Finding]:
    for i, text in enumerate(settings.frames):
        if not _FRAME_ID.fullmatch(text):
            yield (
                (*path, "frames", i),
                f"'{text}' is no frame id, 64 of 0-9 and a-f; `driveflow data explain {text}` tells that of a file",
            )
    for i, text in enumerate(settings.boxes):
        if not all(text.partition("#")[::2]):
            yield (*path, "boxes", i), f"'{text}' names no box; FRAME#BOX would do, its frame and its id"


def unclear_condition(path: tuple[Key, ...], text: str, *, of_boxes: bool) -> Iterator[Finding]:
    """Yield what is wrong with a condition; where nothing is asked, nothing heavy is imported."""
    if not text:
        return
    from driveflow.where import BOX_COLUMNS, FRAME_COLUMNS, compile_where

    try:
        compile_where(text, BOX_COLUMNS if of_boxes else FRAME_COLUMNS)
    except UsageError as error:
        yield path, str(error)
