"""The part of the report that shows frames: truth solid, predictions dashed, and what is wrong in words."""

from collections.abc import Callable

from driveflow.errors import DriveflowError
from driveflow.images.decode import Pixels
from driveflow.pages import html
from driveflow.pages.html import Html, Picture, Text
from driveflow.pages.pictures import Box, Colour, thumbnail_data_uri
from validation.model.evaluation import Evaluation
from validation.model.worst_frames import DrawnBox, Mistake, WorstFrame, worst_frames

MAX_PICTURE_BYTES = 3_500_000  # of all pictures together, so that the page stays under 5 MB
_SIDE_PX = 900
_MOST_SENTENCES = 6
_FOUND: Colour = (46, 160, 67)
_MISSED: Colour = (255, 176, 0)
_RIGHT: Colour = (64, 156, 255)
_WRONG: Colour = (230, 50, 80)
_REGION: Colour = (150, 150, 150)


def worst_gallery(evaluation: Evaluation, pictures: Callable[[str], Pixels], count: int) -> Html:
    """Return the worst frames as pictures with captions, as many as fit into the page."""
    worst = worst_frames(evaluation, count)
    if not worst:
        return html.paragraph("No frame has a missed object or a false detection.")
    shown: list[Picture] = []
    troubles: list[Text] = []
    used = 0
    for frame in worst:
        try:
            picture = _picture(frame, pictures(frame.frame_id))
        except DriveflowError as error:
            troubles.append(html.join([html.code(frame.frame_id[:16]), f": {error}"]))
            continue
        used += len(picture.data_uri)
        if used > MAX_PICTURE_BYTES:
            troubles.append(f"{len(worst) - len(shown)} more frames are left out to keep this page small.")
            break
        shown.append(picture)
    left = [html.paragraph("Not shown:", tone="warn"), html.bullets(troubles)] if troubles else []
    return html.join([_legend(), html.gallery(shown, "Worst frames"), *left])


def _legend() -> Html:
    keys = (
        (_FOUND, "solid: an object that was found"),
        (_MISSED, "solid: an object that was missed"),
        (_RIGHT, "dashed: a right detection"),
        (_WRONG, "dashed: a wrong detection"),
    )
    items = []
    for (red, green, blue), text in keys:
        swatch = html.element("span", {"style": f"color:rgb({red} {green} {blue})", "aria-hidden": "true"}, "■ ")
        items.append(html.element("span", {}, swatch, text))
    words = "Frames with the most missed objects and false detections first; detections count from their class's cut."
    return html.join([html.paragraph(words, tone="info"), html.element("div", {"class": "legend"}, *items)])


def _picture(frame: WorstFrame, pixels: Pixels) -> Picture:
    missed = sum(mistake.fault == "missed" for mistake in frame.mistakes)
    alt = f"Frame {frame.frame_id[:12]}: {missed} missed, {len(frame.mistakes) - missed} wrong"
    uri = thumbnail_data_uri(pixels, [_drawn(box) for box in _painted_last(frame.boxes)], _SIDE_PX, quality=78)
    return Picture(uri, alt, _caption(frame))


def _painted_last(boxes: tuple[DrawnBox, ...]) -> list[DrawnBox]:
    """Order boxes so that what is wrong lies on top."""
    return sorted(boxes, key=lambda box: (not box.ignore, not box.right, box.score is not None))


def _drawn(box: DrawnBox) -> Box:
    if box.ignore:
        return (*box.corners, "not judged", _REGION, False)
    if box.score is None:
        return (*box.corners, "" if box.right else box.class_name, _FOUND if box.right else _MISSED, False)
    label = "" if box.right else f"{box.class_name} {box.score:.2f}"
    return (*box.corners, label, _RIGHT if box.right else _WRONG, True)


def _caption(frame: WorstFrame) -> Html:
    sentences = [sentence(mistake, opens=not place) for place, mistake in enumerate(frame.mistakes[:_MOST_SENTENCES])]
    more = len(frame.mistakes) - len(sentences)
    words = html.join([html.join(sentences, "; "), f"; and {more} more" if more else "", "."])
    place = html.join(["frame ", html.code(frame.frame_id[:12]), " of ", html.name(frame.drive_group)])
    return html.join([words, html.element("div", {"class": "soft"}, place)])


def sentence(mistake: Mistake, *, opens: bool) -> Html:
    """Return what is wrong in a few plain words, with a capital where they open a sentence."""
    what = html.name(mistake.class_name)
    score = f" (score {mistake.score:.2f})" if mistake.score is not None else ""
    height = f" ({mistake.height_px:.0f} px high)" if mistake.height_px is not None else ""
    words: dict[str, list[Text]] = {
        "missed": ["Missed " if opens else "missed ", what, height],
        "false": ["False " if opens else "false ", what, score],
        "taken": [what, " taken for ", html.name(mistake.said), score],
        "loose": [what, f" found too loosely (IoU {mistake.overlap or 0.0:.2f})"],
        "twice": ["Second box on one " if opens else "second box on one ", what, score],
    }
    return html.join(words[mistake.fault])
