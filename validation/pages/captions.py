"""What the pictures of the report say below them, in plain words."""

from collections.abc import Sequence
from typing import TypeAlias

from driveflow.pages import html
from driveflow.pages.clip import DIGEST_CHARS, short_name
from driveflow.pages.html import Html, Text
from validation.model.changed_frames import ChangedFrame, ChangedObject
from validation.model.suspects import Suspect
from validation.model.worst_frames import Mistake, WorstFrame

_MOST_SENTENCES = 5
_MOST_CHOSEN = 12  # with those of the classes that a frame is shown for
_Named: TypeAlias = tuple[set[str], list[Text]]  # the classes that a sentence speaks of, and the sentence


def worst_alt(frame: WorstFrame) -> str:
    """Return what a picture of a worst frame shows, for those who do not see it."""
    missed = sum(mistake.fault == "missed" for mistake in frame.mistakes)
    return f"Frame {short_name(frame.frame_id)}: {missed} missed, {len(frame.mistakes) - missed} wrong"


def worst_caption(frame: WorstFrame) -> Html:
    """Return what is wrong in a frame, the gravest first, and something of each class that it is shown for."""
    named = [({item.class_name, item.said}, _mistake(item)) for item in frame.mistakes]
    return _caption(named, frame.ranks.classes, frame.frame_id, frame.drive_group)


def changed_caption(frame: ChangedFrame, *, broken: bool) -> Html:
    """Return what changed in a frame."""
    lost = _grouped([item for item in frame.objects if item.score is None])
    false = _grouped([item for item in frame.objects if item.score is not None])
    named = [({same[0].class_name}, _turned(same, broken=broken)) for same in lost]
    named += [({same[0].class_name}, _false(same, broken=broken)) for same in false]
    return _caption(named, frame.ranks.classes, frame.frame_id, frame.drive_group)


def suspect_caption(item: Suspect) -> Html:
    """Return what both models say and the label does not."""
    words: list[Text] = ["both models see ", html.name(item.said), f" (at least {item.score:.2f})"]
    words += [", labeled ", html.name(item.labeled)] if item.kind == "class" else [", nothing is labeled"]
    return _caption([(set(), words)], (), item.frame_id, item.drive_group)


def digest_name(name: str) -> Html:
    """Return the beginning of a digest, of a frame or a model, and any other name as it is."""
    if len(name) == DIGEST_CHARS:
        return html.element("code", {"title": name}, short_name(name))
    return html.path(name) if name else Html("without digest")


def _caption(named: Sequence[_Named], classes: Sequence[str], frame_id: str, drive_group: str) -> Html:
    sentences = _chosen(named, classes)
    shown = [html.join(words) for words in [*map(_opened, sentences[:1]), *sentences[1:]]]
    more = len(named) - len(shown)
    words = html.join([html.join(shown, "; "), f"; and {more} more" if more else "", "."])
    alone = drive_group == f"frame {frame_id}"  # of no recording: a drive of its own
    group: list[Text] = [] if alone else [" of ", html.path(drive_group)]
    place = html.join(["frame ", digest_name(frame_id), *group])
    return html.join([words, html.element("div", {"class": "soft"}, place)])


def _chosen(named: Sequence[_Named], classes: Sequence[str]) -> list[list[Text]]:
    """Return the first sentences, and of each of `classes` that they do not speak of its first one."""
    chosen = list(range(min(len(named), _MOST_SENTENCES)))
    for name in classes:
        about = [number for number, (names, _words) in enumerate(named) if name in names]
        if about and not set(about) & set(chosen) and len(chosen) < _MOST_CHOSEN:
            chosen.append(about[0])
    return [named[number][1] for number in sorted(chosen)]


def _opened(words: list[Text]) -> list[Text]:
    """Return words with a capital where they open with a word of ours, not with a name."""
    first = words[0]
    return [first[0].upper() + first[1:] if isinstance(first, str) and first else first, *words[1:]]


def _mistake(mistake: Mistake) -> list[Text]:
    what = html.name(mistake.class_name)
    score = f" (score {mistake.score:.2f})" if mistake.score is not None else ""
    height = f" ({mistake.height_px:.0f} px high)" if mistake.height_px is not None else ""
    words: dict[str, list[Text]] = {
        "missed": ["missed ", what, height],
        "false": ["false ", what, score],
        "taken": [what, " taken for ", html.name(mistake.said), score],
        "loose": [what, f" found too loosely (IoU {mistake.overlap or 0.0:.2f})"],
        "twice": ["second box on one ", what, score],
    }
    return words[mistake.fault]


def _grouped(objects: list[ChangedObject]) -> list[list[ChangedObject]]:
    names = dict.fromkeys(item.class_name for item in objects)
    return [[item for item in objects if item.class_name == name] for name in names]


def _turned(same: list[ChangedObject], *, broken: bool) -> list[Text]:
    heights = _range([item.height_px for item in same], 0)
    said = dict.fromkeys(item.said for item in same if item.said)
    taken = [", which it takes for " if broken else ", taken for "] if said else []
    names = [part for name in said for part in (" or ", html.name(name))][1:]
    end = " before" if said and not broken else ""
    return ["no longer finds " if broken else "now finds ", *_many(same), f" ({heights} px high)", *taken, *names, end]


def _false(same: list[ChangedObject], *, broken: bool) -> list[Text]:
    scores = _range([item.score or 0.0 for item in same], 2)
    return ["new false " if broken else "no longer a false ", *_many(same), f" (score {scores})"]


def _many(same: list[ChangedObject]) -> list[Text]:
    return [*([f"{len(same)} × "] if len(same) > 1 else []), html.name(same[0].class_name)]


def _range(values: list[float], digits: int) -> str:
    low, high = f"{min(values):.{digits}f}", f"{max(values):.{digits}f}"
    return low if low == high else f"{low} to {high}"
