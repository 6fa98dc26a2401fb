"""Galleries have up to so many frames for each class, and a picture stands in the page once, in whatever galleries."""

import re
from collections import Counter

import numpy as np
import pytest

from driveflow.flow.sections import GateSection
from driveflow.images.decode import Pixels
from tests.validation.drives import NO_LEAK
from tests.validation.reports import report_request
from tests.validation.scenes import simple, square
from validation.gate import JudgeRequest, judge
from validation.model.changed_frames import changes
from validation.model.compare import Draws
from validation.model.evaluate import evaluate
from validation.model.frame_rows import FrameRows
from validation.model.worst_frames import worst_frames
from validation.pages.album import Wanted, more_pictures
from validation.report import report_html

FRAMES = [f"f{number:02d}" for number in range(30)]
TRUTH = [(frame, "car", square(60.0 * place, side=40)) for frame in FRAMES for place in range(3)]
TRUTH += [(frame, "bus", square(0, 200, side=40)) for frame in FRAMES]
CLASSES = ("one", "two", "three", "four")
NOISE = np.random.default_rng(0).integers(0, 255, (380, 520, 3)).astype(np.uint8)


@pytest.fixture(scope="module")
def frames():
    """Cars are missed everywhere, buses in the last few frames, where no more is wrong than elsewhere."""
    found = [(*row, 0.9) for row in TRUTH if row[1] == "bus" and row[0] < "f20"]
    found += [(*row, 0.9) for row in TRUTH if row[1] == "car" and row[0] >= "f20"][::3]
    return worst_frames(evaluate(simple(TRUTH, found)), 12)


def _of(frames, name: str) -> list[str]:
    places = {frame.ranks.by_class[name]: frame.frame_id for frame in frames if name in frame.ranks.by_class}
    assert sorted(places) == list(range(len(places)))
    return [places[place] for place in sorted(places)]


def test_each_class_has_its_own_frames_those_with_most_wrong_of_it_first(frames):
    assert _of(frames, "bus") == [frame for frame in FRAMES if frame >= "f20"]
    assert len(_of(frames, "car")) == 12
    missed = {frame.frame_id: Counter(item.class_name for item in frame.mistakes) for frame in frames}
    for name in ("bus", "car"):
        counts = [missed[frame][name] for frame in _of(frames, name)]
        assert counts == sorted(counts, reverse=True)
        assert min(counts) > 0


def test_a_frame_stands_in_the_list_once_whatever_it_is_shown_for(frames):
    names = [frame.frame_id for frame in frames]

    assert len(names) == len(set(names))
    assert [frame.ranks.overall for frame in frames[:12]] == list(range(12))
    assert all(frame.ranks.overall is None for frame in frames[12:])


def test_what_is_newly_broken_and_fixed_is_chosen_by_class_too():
    perfect = evaluate(simple(TRUTH, [(*row, 0.9) for row in TRUTH]))
    no_bus = evaluate(simple(TRUTH, [(*row, 0.9) for row in TRUTH if row[1] == "car"]))

    found = changes(no_bus, perfect, 5)

    assert _of(found.broken, "bus") == FRAMES[:5]
    assert [bool(frame.boxes) for frame in found.broken] == [frame.ranks.is_chosen for frame in found.broken]
    assert len(found.broken) == 30  # all of them are told, pictures are made of five


def test_rows_of_a_frame_come_in_the_order_of_the_table():
    rows = FrameRows(np.array([2, 0, 2, 1, 2]), 4)

    assert [rows.of(frame).tolist() for frame in range(4)] == [[1], [3], [0, 2, 4], []]


def test_no_picture_is_in_the_page_twice_and_every_class_can_be_chosen():
    page = report_html(report_request(classes=CLASSES, worst_frames=4))
    gallery = page.split('aria-label="Worst frames"')[0].rpartition('<div class="chooser">')[2]

    stored = re.findall(r'src="(data:image/jpeg;base64,[^"]+)" alt="(Frame[^"]+)"', page)
    assert len(stored) == len(set(stored))
    assert re.findall(r"<option [^>]*>(\w+)", gallery) == ["all", *sorted(CLASSES)]
    figures = page.split('aria-label="Worst frames"')[1].split("</section>")[0].split("<figure")[1:]
    for number in range(len(CLASSES)):
        places = [re.search(rf'data-c{number}="(\d+)"', figure) for figure in figures]
        assert sorted(int(place[1]) for place in places if place) == [0, 1, 2, 3]


def _crowded(seed: int, names: list[str]):
    """A model that misses and invents things of very many classes in each frame."""
    chance, found, truth = np.random.default_rng(seed), [], []
    for frame in FRAMES:
        for place, number in enumerate(np.random.default_rng(len(truth)).integers(0, len(names), 40)):
            row = (frame, names[number], square(60.0 * (place % 8), 60.0 * (place // 8), side=40))
            truth.append(row)
            found += [(*row, 0.9)] if chance.random() < 0.6 else []
            found += [(frame, names[number - 1], row[2], 0.8)] if chance.random() < 0.3 else []
    return evaluate(simple(truth, found, classes=tuple(names)))


@pytest.mark.parametrize(("count", "ending", "least"), [(300, "things", 36), (400, '"' * 55, 1)])
def test_galleries_of_very_many_classes_stay_under_five_megabytes(count, ending, least):
    names = [f"{number:03d} {ending}" for number in range(count)]
    challenger, champion = _crowded(1, names), _crowded(2, names)
    verdict = judge(JudgeRequest(challenger, champion, GateSection(), NO_LEAK, Draws(resamples=40)))

    page = report_html(
        report_request(challenger=challenger, champion=champion, verdict=verdict, pictures=lambda _frame: NOISE)
    )

    assert len(page.encode()) < 5_000_000
    assert page.count("data:image/jpeg") >= least
    assert page.count('<select class="choose"') == 3


def test_a_caption_speaks_of_every_class_that_its_picture_is_shown_for(frames):
    from validation.pages.captions import worst_caption

    for frame in frames:
        words = worst_caption(frame).markup
        assert all(f">{name}<" in words for name in frame.ranks.classes)


def test_pictures_of_single_classes_end_where_the_room_does_and_no_frame_is_read_after():
    read: list[str] = []

    def picture(frame_id: str) -> Pixels:
        read.append(frame_id)
        return NOISE

    made = more_pictures([Wanted(f"f{number}", ()) for number in range(500)], picture, 1_000_000)

    shown = [uri for uri in made.uris if uri is not None]
    assert len(made.uris) == 500
    assert 0 < sum(map(len, shown)) <= 1_000_000
    assert len(read) == len(shown) + 1
    assert (
        made.note
        == f"{500 - len(shown)} more pictures of single classes are left out to keep this page under 5 MB; "
        + ("report.json names their frames.")
    )
