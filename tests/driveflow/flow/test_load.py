from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from driveflow.errors import NotFoundError, UsageError
from driveflow.flow.load import flow_to_json, load_flow, load_flow_text
from driveflow.flow.sections import (
    BatchSection,
    CornerCaseSection,
    Flow,
    HoldoutSection,
    RegistrySection,
    TaxonomySection,
    WhereSection,
)

SHORT = "name: roads\nclasses: [car, person]\nbatches: [data/batch_a]\n"
TEN_LINES = """\
name: roads
classes: [car, person, bicycle]
batches:
  - data/batch_a
  - data/batch_b
holdout:
  source_splits: [valid]
gate:
  floors:
    - {metric: AP50, at_least: 0.3}
"""


def refused(text: str) -> list[str]:
    with pytest.raises(UsageError) as caught:
        load_flow_text(text, "flow.yaml")
    return str(caught.value).splitlines()


def test_ten_lines_make_a_flow():
    flow = load_flow_text(TEN_LINES, "flow.yaml")

    assert len(TEN_LINES.splitlines()) == 10
    assert [batch.name for batch in flow.batches] == ["batch_a", "batch_b"]
    assert flow.taxonomy.classes == ("car", "person", "bicycle")


def test_a_typo_is_one_line_with_its_place_and_the_nearest_key():
    assert refused("name: roads\nclasses: [car]\nbacthes: [a]\nbatches: [b]\n") == [
        'flow.yaml:3: bacthes: unknown key "bacthes", did you mean "batches"?'
    ]


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ("training: {epoch: 3}", 'training.epoch: unknown key "epoch", did you mean "epochs"?'),
        ("epochs: 3", 'epochs: unknown key "epochs" here; it is a key of "training"'),
        ("clases: 3", 'clases: unknown key "clases", did you mean "classes"?'),
        (
            "merge: {zzz: 3}",
            'merge.zzz: unknown key "zzz"; known are rule, trust, same_box_min_iou, consensus_min_iou, quorum, '
            "per_class, where, batch_where, boxes_where",
        ),
        ("merge: {rule: consensus, quorum: '2'}", "merge.quorum: must be a number, got '2'; 2 would do"),
        ("merge: {rule: consensus, quorum: .nan}", "merge.quorum: must be a number, got '.nan'"),
        ("training: {epochs: soon}", "training.epochs: must be a whole number, got 'soon'"),
        ("training: {epochs: 1_000}", "training.epochs: must be a whole number, got '1_000'; 1000 would do"),
        ("training: {epochs: true}", "training.epochs: must be a whole number, got true"),
        ("training: {epochs: 2.5}", "training.epochs: must be a whole number, got 2.5"),
        ("training: {epochs: }", "training.epochs: must be a whole number, got nothing"),
        ("training: {epochs: 0}", "training.epochs: must be 1 or more, got 0"),
        ("training: {learning_rate: 0}", "training.learning_rate: must be more than 0, got 0"),
        ("training: {learning_rate: .inf}", "training.learning_rate: must be a number, got '.inf'"),
        ("training: {image_size_px: 100}", "training.image_size_px: must be a multiple of 32, got 100"),
        ("training: {export: coc}", "must be tables or coco or yolo, got 'coc', did you mean coco?"),
        ("training: {command: python -m 'my mod'}", "got 'python -m 'my mod''; [python, -m, my mod] would do"),
        ("training: {trainer: command}", "training.trainer: 'command' needs training.command"),
        ("training: {command: [x]}", "training.command: is not run by the builtin trainer"),
        ("merge: [union]", "boxes_where, sampling, quotas, seed, got a list of 1"),
        ("filters: {blur: {enabled: nope}}", "filters.blur.enabled: must be true or false, got 'nope'"),
        ("registry: {model: ../x}", "registry.model: must be empty, or letters a-z"),
        ("holdout: {fraction: 1.5}", "holdout.fraction: must be 1 or less, got 1.5"),
        ("holdout: {fraction: 0}", "holdout.fraction: is 0 and nothing else is stated"),
        ("holdout: {fraction: 1}", "holdout.fraction: must be less than 1"),
        ("merge: {trust: [batch_b]}", 'merge.trust[0]: no batch is called "batch_b", did you mean "batch_a"?'),
        (
            "merge: {per_class: {carr: {rule: left}}}",
            'merge.per_class.carr: no class is called "carr", did you mean "car"?',
        ),
        ("taxonomy: {aliases: {auto: carr}}", 'taxonomy.aliases.auto: no class is called "carr", did you mean "car"?'),
        ("taxonomy: {aliases: {car: person}}", '"car" is a class itself'),
        ("taxonomy: {drop: [car]}", '"car" is also a class'),
        ("taxonomy: {drop: [x], ignore: [x]}", 'taxonomy.ignore: "x" is dropped as well'),
        (
            "corner_cases: [{name: x, where: {classes: bus}}]",
            'corner_cases[0].where.classes[0]: no class is called "bus"',
        ),
        ("corner_cases: [{name: x, where: {}}]", "corner_cases[0].where: states nothing"),
        ("corner_cases: [{name: x}]", "corner_cases[0].where: states nothing, so it would mean every frame"),
        ("corner_cases: [{name: x, miner: rare}]", "corner_cases[0].miner: must be rule or rare_frames or"),
        ("corner_cases: [{name: x, expression: wether = 1}]", "corner_cases[0].expression: "),
        ("corner_cases: [{name: x, boxes_expression: area_px >}]", "corner_cases[0].boxes_expression: "),
        ("corner_cases: [{name: x, miner: like_labels}]", "corner_cases[0].miner: 'like_labels' needs classes"),
        (
            "corner_cases: [{name: x, miner: like_labels, settings: {classes: [carr]}}]",
            'corner_cases[0].settings.classes[0]: no class is called "carr", did you mean "car"?',
        ),
        (
            "corner_cases: [{name: x, miner: like_labels, settings: {classes: [car, person]}}]",
            "corner_cases[0].settings.classes: names every class",
        ),
        ("corner_cases: [{name: x, miner: like_these}]", "corner_cases[0].miner: 'like_these' needs examples"),
        (
            "corner_cases: [{name: x, miner: like_these, settings: {boxes: [abc]}}]",
            "corner_cases[0].settings.boxes[0]: 'abc' names no box; FRAME#BOX would do",
        ),
        (
            "corner_cases: [{name: x, miner: uncertainty, settings: {models: [a]}}]",
            "corner_cases[0].settings.models: are asked by miner: uncertainty with measure: disagreement only",
        ),
        ("labeling: {embedding: resnet}", "labeling.embedding: No embedding lies at 'resnet'"),
        ("labeling: {budget_money: 100.0}", "labeling.budget_money: says nothing without labeling.cost_per_frame"),
        ("corner_cases: [{name: x, where: {attributes: {a: []}}}]", "where.attributes.a: has no values"),
        ("gate: {floors: [{class_name: bus, at_least: 0.1}]}", 'gate.floors[0].class_name: no class is called "bus"'),
        (
            "gate: {floors: [{slice: night, at_least: 0.1}]}",
            'gate.floors[0].slice: no slice is called "night"; known are none',
        ),
        ("validation: {slices: [{name: x}]}", "validation.slices[0].where: states nothing"),
        ("validation: {slices: [{name: x, expression: weather}]}", "validation.slices[0].expression: "),
        ("validation: {slices: [{name: x, by: [size, size]}]}", "validation.slices[0].by"),
        ("gate: {floors: [{metric: AP50}]}", "gate.floors[0].at_least: missing; for example at_least: 0.5"),
        ("splits: {place_attribute: city}", "splits.place_attribute: says nothing where by is 'drive_group'"),
        ("schedule: {cron: 0 2 * * 7}", "schedule.cron: the day of week of a schedule must be 0 to 6"),
        ("taxonomy: {classes: [x]}", "taxonomy.classes: stated twice; the short form is on line 2"),
    ],
)
def test_a_mistake_says_where_what_was_got_and_what_would_do(more, says):
    lines = refused(SHORT + more)

    assert len(lines) == 1
    assert lines[0].startswith("flow.yaml:4: ")
    assert says in lines[0]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("classes: [car]\nbatches: [b]", "flow.yaml:1: name: missing; for example name: my-flow"),
        ("name: a\nbatches: [b]", "flow.yaml:1: taxonomy: missing; for example classes: [car, pedestrian]"),
        (
            "name: a\nclasses: []\nbatches: [b]",
            "flow.yaml:2: taxonomy.classes: must be at least one entry, got a list of 0",
        ),
        ("name: a\nclasses: [car, car]\nbatches: [b]", 'flow.yaml:2: taxonomy.classes: "car" stands 2 times'),
        ("name: a\nclasses: [' ']\nbatches: [b]", "flow.yaml:2: taxonomy.classes[0]: is empty"),
        ("name: a\nclasses: [car]\nbatches:\n- {name: x}", "flow.yaml:4: batches[0].path: missing; for example path:"),
        (
            "name: a\nclasses: [car]\nbatches:\n- {name: x, path: a}\n- {name: x, path: b}",
            "flow.yaml:5: batches[1].name",
        ),
        ("name: Big Roads\nclasses: [car]\nbatches: [b]", "got 'Big Roads'; 'big-roads' would do"),
        ("name: a\nclasses: [car]\nbatches: [{path: a, annotated_classes: [cra]}]", 'did you mean "car"?'),
        ("name: a\nclasses: [car]\nbatches: [{path: a, drive: x, drives: folder}]", "contradicts drive"),
        ("name: a\nclasses: [car]\nbatches: [{path: a, as_of: 2026-02-30}]", "no day of the calendar"),
    ],
)
def test_a_wrong_flow_is_named(text, says):
    lines = refused(text)

    assert len(lines) == 1
    assert says in lines[0]


def test_all_mistakes_come_at_once_and_at_most_five_are_shown():
    lines = refused(SHORT + "".join(f"k{i}: 1\n" for i in range(7)))

    assert lines[0] == "flow.yaml has 7 errors:"
    assert [line.split()[0] for line in lines[1:-1]] == [f"flow.yaml:{line}:" for line in range(4, 9)]
    assert lines[-1].strip() == "and 2 more"


def test_a_wrong_entry_does_not_hide_that_its_neighbour_is_there():
    assert len(refused("name: a\nclasses: [car]\nbatches:\n- {path: a, formt: coco}")) == 1


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('name: a\nclasses: ["a\\u2028b"]\nbatches: [x]', r"classes[0]: 'a\u2028b' holds letters that cannot be seen"),
        ('name: a\nclasses: [b]\nbatches: ["x\\0y"]', r"batches[0].path: 'x\x00y' holds control characters"),
        ('name: a\nclasses: [b]\nbatches: [x]\n"k\\ney": 1', r'unknown key "k\ney"'),
    ],
)
def test_letters_that_cannot_be_seen_are_named_on_one_line(text, says):
    lines = refused(text)

    assert len(lines) == 1
    assert says in lines[0]


def test_words_that_only_look_like_numbers_are_taken_as_written():
    flow = load_flow_text("name: 2026\nclasses: [car]\nbatches: [{path: 0012, drive: 0012, attributes: {on: no}}]", "f")

    assert flow.name == "2026"
    assert (flow.batches[0].path, flow.batches[0].drive, flow.batches[0].attributes) == ("0012", "0012", {"on": "no"})


def test_one_word_is_taken_where_a_list_is_wanted():
    text = SHORT + "corner_cases: [{name: x, where: {classes: car, attributes: {weather: rain}}}]"

    where = load_flow_text(text, "f").corner_cases[0].where

    assert where == WhereSection(classes=("car",), attributes={"weather": ("rain",)})


def test_a_section_whose_lines_are_all_comments_keeps_its_defaults():
    flow = load_flow_text(SHORT + "filters:\n#  blur: {}\nmerge:\ncorner_cases:\n", "f")

    assert flow == load_flow_text(SHORT, "f")


@pytest.mark.parametrize(("word", "on"), [("yes", True), ("no", False), ("on", True), ("off", False), ("false", False)])
def test_a_switch_takes_the_words_people_write(word, on):
    assert load_flow_text(SHORT + f"filters: {{blur: {{enabled: {word}}}}}", "f").filters.blur.enabled is on


def test_derived_names_differ_from_each_other_and_from_given_ones():
    flow = load_flow_text("name: a\nclasses: [c]\nbatches: [x/A b, y/a-b, {name: a-b-2, path: z}, s3://k/a-b/]", "f")

    assert [batch.name for batch in flow.batches] == ["a-b", "a-b-3", "a-b-2", "a-b-4"]


def test_where_nothing_is_stated_a_fifth_is_held_out():
    assert load_flow_text(SHORT, "f").holdout == HoldoutSection(fraction=0.2)


@pytest.mark.parametrize(
    "stated", ["holdout: {drives: [d]}", "holdout: {source_splits: [test]}", "holdout: {fraction: 0.5}"]
)
def test_what_is_stated_is_the_only_holdout(stated):
    assert load_flow_text(SHORT + stated, "f").holdout.fraction in {0.0, 0.5}


def test_a_batch_that_is_holdout_states_it():
    text = "name: a\nclasses: [c]\nbatches: [x, {path: y, split: holdout}]"

    assert load_flow_text(text, "f").holdout.fraction == 0.0


def test_the_model_is_called_like_the_flow_unless_stated():
    assert load_flow_text(SHORT, "f").registry.model == "roads"


def test_a_missing_file_is_not_found(tmp_path):
    with pytest.raises(NotFoundError, match=r"There is no file '.*none\.yaml'"):
        load_flow(tmp_path / "none.yaml")


def test_a_folder_is_no_flow(tmp_path):
    with pytest.raises(UsageError, match="cannot be read: Is a directory"):
        load_flow(tmp_path)


def test_other_encodings_are_named_with_their_line(tmp_path):
    path = tmp_path / "flow.yaml"
    path.write_bytes(b"name: a\nclasses: [Fu\xdfg]\n")

    with pytest.raises(UsageError, match=r"flow\.yaml:2: not UTF-8: the byte 0xdf"):
        load_flow(path)


def test_a_byte_order_mark_is_no_part_of_the_first_key(tmp_path):
    path = tmp_path / "flow.yaml"
    path.write_text("\ufeff" + SHORT, encoding="utf-8")

    assert load_flow(path).name == "roads"


names = st.from_regex(r"[a-z0-9][a-z0-9_-]{0,40}", fullmatch=True)
words = st.text(min_size=1, max_size=12).map(str.strip).filter(bool)
seen = words.filter(str.isprintable)


@st.composite
def flows(draw: st.DrawFn) -> Flow:
    name, classes = draw(names), tuple(draw(st.lists(seen, min_size=1, max_size=4, unique=True)))
    batches = tuple(
        BatchSection(name=batch, path=draw(seen), attributes=draw(st.dictionaries(words, words, max_size=2)))
        for batch in draw(st.lists(names, min_size=1, max_size=3, unique=True))
    )
    case = CornerCaseSection(name=draw(names), where=WhereSection(classes=classes))
    return Flow(
        name=name,
        taxonomy=TaxonomySection(classes=classes),
        batches=batches,
        holdout=HoldoutSection(fraction=draw(st.floats(0.01, 0.99))),
        corner_cases=(case,),
        registry=RegistrySection(model=draw(names)),
    )


@given(flows())
def test_a_flow_comes_back_from_its_canonical_text(flow):
    text = flow_to_json(flow)

    assert load_flow_text(text, "flow") == flow
    assert flow_to_json(load_flow_text(text, "flow")) == text


def test_the_canonical_text_hides_what_kfp_would_rewrite():
    flow = load_flow_text(SHORT, "f")
    tricky = replace(flow, batches=(replace(flow.batches[0], path="data/python3/{{$.x}}"),))

    text = flow_to_json(tricky)

    assert "python3" not in text
    assert "{{$" not in text
    assert load_flow_text(text, "f") == tricky
