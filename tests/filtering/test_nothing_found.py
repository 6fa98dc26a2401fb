"""A corner case that found nothing says why, so that a wrong word is not taken for a world without it."""

import pytest

from driveflow.flow.miner_section import MinerSection
from driveflow.flow.sections import CornerCaseSection, WhereSection
from filtering.finds import find
from filtering.miners.catalog import MINERS
from tests.filtering.made import FAR, Made
from tests.filtering.test_miners import HERE, detections, full, label, material

FRAMES = [
    Made("a", FAR[0], attributes={"weather": "rain", "time_of_day": "night"}),
    Made("b", FAR[1], attributes={"weather": "dry"}),
    Made("h", FAR[2], split="holdout", attributes={"weather": "snow"}),
]


def why(made, miner="rule", where=None, **settings) -> str:
    case = CornerCaseSection(name="case", miner=miner, where=where or WhereSection(), settings=MinerSection(**settings))
    return find(made, case, seed=0).why


@pytest.mark.parametrize(
    ("where", "says"),
    [
        (WhereSection(attributes={"wether": ("rain",)}), "has an attribute wether; known are time_of_day, weather"),
        (
            WhereSection(attributes={"weather": ("snow",)}),
            "no kept frame of train or val has weather snow; there are dry, rain",
        ),
        (
            WhereSection(classes=("bus",)),
            "no label of bus is in the kept frames of train and val, and no model is champion",
        ),
        (WhereSection(attributes={"weather": ("dry",), "time_of_day": ("night",)}), "meets all of its condition"),
    ],
)
def test_a_rule_names_the_part_that_no_kept_frame_of_train_or_val_meets(where, says):
    assert says in why(material(FRAMES), where=where)


def test_a_champion_that_is_sure_of_none_is_told():
    made = material(FRAMES, predictions=(detections(("a", "car", 0.9, HERE)),))

    assert "the champion is sure of none where nobody looked" in why(made, where=WhereSection(classes=("bus",)))


def test_what_the_champion_is_sure_of_is_not_said_to_be_absent():
    made = material(FRAMES, predictions=(detections(("a", "car", 0.9, HERE)),))
    fog = WhereSection(classes=("car",), attributes={"weather": ("fog",)})

    assert why(made, where=fog) == "no kept frame of train or val has weather fog; there are dry, rain"


@pytest.mark.parametrize(
    ("expression", "says"),
    [
        ("speed_mps > 20", "speed_mps is known of no kept frame of train or val"),
        (
            "attributes.wether = 'rain'",
            "no kept frame of train or val has an attribute wether; known are time_of_day, weather",
        ),
        ("camera = 'rear'", "no kept frame of train or val meets all of its condition"),
    ],
)
def test_a_condition_names_what_nothing_is_known_of(expression, says):
    case = CornerCaseSection(name="case", expression=expression)

    assert find(material(FRAMES), case, seed=0).why == says


@pytest.mark.parametrize(
    ("miner", "settings", "says"),
    [
        ("uncertainty", {}, "no model is champion yet"),
        ("flicker", {}, "no model is champion yet"),
        ("errors", {}, "no kept frame of train or val is labeled"),
        ("failed_slices", {}, "no validation has left slices that failed"),
        ("rare_frames", {"reference": "labeled"}, "too few of what is labeled"),
        ("rare_frames", {"at_least": 65.0}, "under settings.at_least 65"),
        ("rare_objects", {}, "no object is labeled or seen"),
        ("like_labels", {"classes": ("bus",)}, "no object is labeled or seen"),
    ],
)
def test_a_miner_says_what_it_lacks(miner, settings, says):
    assert says in why(material(FRAMES), miner, **settings)


@pytest.mark.parametrize(
    ("classes", "says"),
    [
        (("tram",), "no label of tram is in the kept frames of train and val; label a handful"),
        (("bus", "car"), "no label of another class is in the kept frames of train and val to tell bus or car from"),
    ],
)
def test_like_labels_says_which_labels_are_lacking_and_what_would_do(classes, says):
    assert says in why(full(), "like_labels", classes=classes)


def test_a_condition_that_no_scored_frame_meets_is_told_beside_the_scores():
    made = material(FRAMES, [label("h", "bus", HERE)])

    assert why(made, "rare_frames", WhereSection(classes=("bus",))).startswith(
        "2 frames have a score, but no label of bus"
    )


@pytest.mark.parametrize("miner", MINERS)
def test_every_miner_says_why_where_no_frame_is_kept(miner):
    settings = {"classes": ("bus",)} if miner == "like_labels" else {}

    assert why(material([]), miner, WhereSection(classes=("bus",)), **settings) == "no frame of train or val is kept"


def test_what_was_found_needs_no_reason():
    assert why(material(FRAMES), where=WhereSection(attributes={"weather": ("rain",)})) == ""
