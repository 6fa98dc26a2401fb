import errno
import re
from dataclasses import asdict, fields
from pathlib import Path
from typing import get_args

import pytest
import yaml

from driveflow.errors import InvalidInputError, UsageError
from driveflow.flow.build import build
from driveflow.flow.document import find, parse_document
from driveflow.flow.gate_section import GateSliceSection
from driveflow.flow.init import new_texts, write_new_flow, write_profiles
from driveflow.flow.load import load_flow, load_flow_text
from driveflow.flow.miner_section import MinerSection
from driveflow.flow.profile import Profile, check_profile, load_profile
from driveflow.flow.sections import BatchSection, CornerCaseSection, FloorSection, LabelFormatName, SliceSection


def with_options(text: str) -> str:
    """Take the "#" away from every option, as a person would."""
    return re.sub(r"^#(?! )|^#(?=  )", "", text, flags=re.MULTILINE)


def keys(value: object, path: str = "") -> set[str]:
    if isinstance(value, dict):
        return {path} | {key for name, item in value.items() for key in keys(item, f"{path}.{name}")}
    if isinstance(value, list | tuple) and value:
        return {key for item in value for key in keys(item, f"{path}[]")}
    return {path}


def test_a_new_flow_and_its_profiles_are_good(tmp_path):
    paths = write_new_flow(tmp_path / "City Roads")

    flow = load_flow(paths[0])

    assert flow.name == "city-roads"
    for name in ("local", "kfp"):
        check_profile(flow, load_profile(name, paths[0].parent))


def test_every_option_of_the_new_flow_is_there_and_none_is_invented():
    text = with_options(new_texts("roads")["flow.yaml"])

    flow = load_flow_text(text, "flow.yaml")
    root = parse_document(text, "flow.yaml")

    stated = {path for path in keys(asdict(flow)) if "[]" not in path and ".aliases." not in path}
    missing = {path for path in stated if find(root, tuple(path.strip(".").split("."))) is None}
    assert missing <= {"", ".taxonomy", ".taxonomy.classes"}  # stated in the short form
    assert len(flow.batches) == 2


@pytest.mark.parametrize(
    ("where", "record"),
    [
        (("batches",), BatchSection),
        (("corner_cases",), CornerCaseSection),
        (("validation", "slices"), SliceSection),
        (("gate", "floors"), FloorSection),
        (("gate", "slices"), GateSliceSection),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, tuple) else "",
)
def test_the_entries_of_every_list_show_all_their_options(where, record):
    value = yaml.safe_load(with_options(new_texts("roads")["flow.yaml"]))

    for name in where:
        value = value[name]

    shown = {key for entry in value if isinstance(entry, dict) for key in entry}
    assert shown == {item.name for item in fields(record)}


def test_all_settings_of_miners_are_shown_with_their_defaults():
    flow = load_flow_text(with_options(new_texts("roads")["flow.yaml"]), "flow.yaml")
    shown = yaml.safe_load(with_options(new_texts("roads")["flow.yaml"]))["corner_cases"][-1]["settings"]

    assert shown.keys() == asdict(MinerSection()).keys()
    assert flow.corner_cases[-1].settings == MinerSection()


def test_the_options_shown_are_the_defaults():
    examples = {"taxonomy", "batches", "corner_cases", "validation", "gate"}
    texts = new_texts("roads")["flow.yaml"]

    shown, plain = asdict(load_flow_text(with_options(texts), "f")), asdict(load_flow_text(texts, "f"))

    assert {name for name in shown if shown[name] != plain[name]} == examples


@pytest.mark.parametrize("name", ["local", "kfp"])
def test_every_option_of_a_new_profile_is_known(name):
    text = with_options(new_texts("roads")[f"profiles/{name}.yaml"])

    assert build(Profile, parse_document(text, "p"), "p").profile == name


def test_nothing_is_overwritten_unless_forced(tmp_path):
    write_new_flow(tmp_path)
    (tmp_path / "profiles" / "kfp.yaml").unlink()
    (tmp_path / "flow.yaml").write_text("mine")

    with pytest.raises(InvalidInputError, match=r"flow\.yaml, .*local\.yaml would be overwritten; --force"):
        write_new_flow(tmp_path)

    assert (tmp_path / "flow.yaml").read_text() == "mine"
    assert not (tmp_path / "profiles" / "kfp.yaml").exists()
    write_new_flow(tmp_path, force=True)
    assert load_flow(tmp_path / "flow.yaml")


def test_profiles_alone_are_written_where_they_are_not_there_and_nothing_else_is_touched(tmp_path):
    (tmp_path / "flow.yaml").write_text("mine")
    (tmp_path / "profiles").mkdir()
    (tmp_path / "profiles" / "local.yaml").write_text("mine too")

    assert write_profiles(tmp_path) == (tmp_path / "profiles" / "kfp.yaml",)
    assert write_profiles(tmp_path) == ()
    assert (tmp_path / "flow.yaml").read_text() == "mine"
    assert (tmp_path / "profiles" / "local.yaml").read_text() == "mine too"


def test_every_format_is_named_where_a_batch_may_state_one():
    stated = re.search(r"format: auto.*?metadata", new_texts("roads")["flow.yaml"], re.DOTALL)

    assert set(get_args(LabelFormatName)) <= set(re.findall(r"\w+", stated[0]))


def test_a_file_in_the_way_is_named(tmp_path):
    (tmp_path / "x").write_text("")

    with pytest.raises(UsageError, match="x' is no folder"):
        write_new_flow(tmp_path / "x")


def test_a_folder_that_cannot_be_made_is_named(tmp_path, monkeypatch):
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", refuse)

    with pytest.raises(UsageError, match="x' cannot be made: Permission denied"):
        write_new_flow(tmp_path / "x")
