import pytest

from driveflow.errors import UnmappedClassError
from driveflow.flow.sections import TaxonomySection
from ingestion.taxonomy import map_classes

TAXONOMY = TaxonomySection(
    classes=("car", "Truck"), aliases={"lorry": "Truck", "Lorry": "car"}, drop=("tree",), ignore=("DontCare",)
)


@pytest.mark.parametrize(
    ("name", "outcome"),
    [
        ("car", ("car",)),
        ("CAR", ("car",)),
        (" truck ", ("Truck",)),
        ("lorry", ("Truck",)),
        ("Lorry", ("car",)),
        ("Tree", ()),
        ("dontcare", ("car", "Truck")),
    ],
)
def test_names_match_exactly_first_and_then_without_case(name, outcome):
    assert map_classes(TAXONOMY, {name: 1}).outcomes[name] == outcome


def test_a_name_that_means_two_things_without_case_is_unmapped():
    with pytest.raises(UnmappedClassError, match="'LORRY'"):
        map_classes(TAXONOMY, {"LORRY": 1})


def test_a_listed_class_without_boxes_needs_no_mapping():
    assert map_classes(TAXONOMY, {"tram": 0}).outcomes == {}


def test_ignored_and_dropped_names_were_not_looked_for():
    mapped = map_classes(TAXONOMY, dict.fromkeys(["car", "tree", "DontCare", "tram"], 0))

    assert mapped.annotated(("car", "tree", "DontCare", "tram")) == {"car"}


def test_an_alias_beats_the_class_of_that_name():
    taxonomy = TaxonomySection(classes=("car", "van"), aliases={"van": "car"})

    assert map_classes(taxonomy, {"van": 1}).outcomes["van"] == ("car",)


@pytest.mark.parametrize("name", ["DontCare", "dontcare", "ignore", "Ignore_Region"])
def test_a_name_that_only_says_ignore_is_an_ignore_region_of_every_class(name):
    mapped = map_classes(TaxonomySection(classes=("car", "van")), {name: 3, "car": 0})

    assert mapped.outcomes[name] == ("car", "van")
    assert mapped.ignored == {name}
    assert mapped.annotated((name, "car")) == {"car"}


def test_the_taxonomy_may_give_the_name_ignore_another_meaning():
    assert map_classes(TaxonomySection(classes=("car",), drop=("ignore",)), {"ignore": 3}).outcomes["ignore"] == ()
