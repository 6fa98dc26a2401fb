"""The pages say what the code does: every setting, every link, every command, every flow."""

import json
import os
import re
import shlex
import subprocess
import sys
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path

import pytest
import yaml

from cli.main import COMMANDS, load_command
from driveflow.flow import (
    data_validation_section,
    defect_sections,
    gate_section,
    merge_section,
    miner_section,
    profile,
    sections,
)
from driveflow.flow.build import build
from driveflow.flow.document import parse_document
from driveflow.flow.load import load_flow, load_flow_text
from labeling.campaigns import RawReturn
from labeling.manifest import decode_manifest
from labeling.returns import read_returns
from training.contract import read_outcome

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", *ROOT.glob("docs/*.md")])
FLOW_PAGE = (ROOT / "docs" / "flow.md").read_text(encoding="utf-8")
RECORDS = {
    "Top level": sections.Flow,
    "taxonomy": sections.TaxonomySection,
    "batches": sections.BatchSection,
    "merge": merge_section.MergeSection,
    "per_class": merge_section.ClassMergeSection,
    "sampling": merge_section.SamplingSection,
    "holdout": sections.HoldoutSection,
    "splits": sections.SplitSection,
    "near_duplicates": sections.NearDuplicateSection,
    "blur": defect_sections.BlurSection,
    "exposure": defect_sections.ExposureSection,
    "low_contrast": defect_sections.LowContrastSection,
    "truncated_tail": defect_sections.TruncatedTailSection,
    "frozen_camera": defect_sections.FrozenCameraSection,
    "swapped_channels": defect_sections.SwappedChannelsSection,
    "soiled_lens": defect_sections.SoiledLensSection,
    "shield": miner_section.ShieldSection,
    "corner_cases": sections.CornerCaseSection,
    "where": sections.WhereSection,
    "settings": miner_section.MinerSection,
    "labeling": sections.LabelingSection,
    "training": sections.TrainingSection,
    "resources": sections.ResourceSection,
    "retrain": sections.RetrainSection,
    "data_validation": data_validation_section.DataValidationSection,
    "validation": sections.ValidationSection,
    "slices": sections.SliceSection,
    "gate": sections.GateSection,
    "slices of the gate": gate_section.GateSliceSection,
    "floors": sections.FloorSection,
    "registry": sections.RegistrySection,
    "schedule": sections.ScheduleSection,
    "Profiles": profile.Profile,
    "s3": profile.S3Section,
    "kfp": profile.KfpSection,
    "steps": profile.StepSize,
}
LEAST_FLOW = {"name": "city", "classes": ["car", "pedestrian", "cyclist"], "batches": ["data/batch_a"]}


def _spelled(field):
    """Return the default of a setting as the page spells it."""
    if field.default is MISSING and field.default_factory is MISSING:
        return "required"
    value = field.default if field.default is not MISSING else field.default_factory()
    if is_dataclass(value):
        return "see below"
    plain = {(): "[]", "": '""'}.get(value) if not isinstance(value, dict) else "{}"
    return f"`{plain or (json.dumps(value) if isinstance(value, bool) else value)}`"


def _blocks(path, language):
    """Return the blocks of code in `language`, those inside lists without their indent."""
    text = path.read_text(encoding="utf-8")
    found = re.findall(rf"^( *)```{language}\n(.*?)^ *```", text, re.MULTILINE | re.DOTALL)
    return [re.sub(rf"^{indent}", "", block, flags=re.MULTILINE) for indent, block in found]


@pytest.mark.parametrize("heading", RECORDS)
def test_each_section_has_a_table_of_all_its_settings_with_their_defaults(heading):
    part = re.search(rf"^##+ {heading}\n(.*?)(?=^##|\Z)", FLOW_PAGE, re.MULTILINE | re.DOTALL)[1]

    rows = re.findall(r"^\| `(\w+)` \| (.*?) \| \S", part, re.MULTILINE)

    assert rows == [(field.name, _spelled(field)) for field in fields(RECORDS[heading])]


def test_no_section_of_the_flow_file_is_missing_on_the_page():
    described = {record.__name__ for record in RECORDS.values()}
    written = {name for name in vars(sections) if name.endswith("Section")} - {"FilterSection"}

    assert written <= described


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_flow_on_a_page_is_a_flow(page):
    for text in _blocks(page, "yaml"):
        keys = yaml.safe_load(text)
        if "profile" in keys:
            assert build(profile.Profile, parse_document(text, page.name), page.name)
        else:  # a page may show a part of one
            rest = {key: value for key, value in LEAST_FLOW.items() if key not in keys}
            assert load_flow_text(f"{text}\n{yaml.safe_dump(rest)}" if rest else text, page.name)


@pytest.mark.parametrize("path", sorted(ROOT.glob("examples/*/flow.yaml")), ids=lambda path: path.parent.name)
def test_every_example_is_a_flow(path):
    assert load_flow(path).batches


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page):
    text = page.read_text(encoding="utf-8")
    missing = []
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if "://" not in link and not (target.exists() and (not anchor or anchor in _anchors(target))):
            missing.append(link)

    assert missing == []


def _anchors(path):
    headings = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_on_a_page_exists_with_its_options(page):
    for line in re.findall(r"^(?:\$ )?(driveflow .*)$", "\n".join(_blocks(page, "sh")), re.MULTILINE):
        words = shlex.split(line, comments=True)[1:]
        command = load_command(COMMANDS[words[0]], words[0])
        for word in words[1:]:
            inner = getattr(command, "commands", {})
            if not inner:
                break
            command = inner[word] if word in inner else inner["render"]  # `driveflow sample FOLDER`
        known = {name for option in command.params for name in (*option.opts, *option.secondary_opts)}
        wrong = [word for word in words if re.match(r"--?[a-z]", word) and word.partition("=")[0] not in known]

        assert wrong == [], line


def test_the_trainer_on_the_page_keeps_the_contract(tmp_path):
    (script,) = _blocks(ROOT / "docs" / "training.md", "python")
    (tmp_path / "trainer.py").write_text(script, encoding="utf-8")
    labels = {
        "categories": [{"id": 1, "name": "car"}],
        "images": [{"id": 1, "file_name": "a.jpg", "width": 40, "height": 20}],
        "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [2, 4, 10, 6]}],
    }
    for name in ("data/annotations", "output", "pictures"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "data/annotations/instances_train.json").write_text(json.dumps(labels))
    (tmp_path / "pictures" / "000000.png").touch()

    _run(tmp_path / "trainer.py", DRIVEFLOW_DATA=tmp_path / "data", DRIVEFLOW_OUTPUT=tmp_path / "output")
    outcome = read_outcome(tmp_path / "output", ("car",))
    places = {"DRIVEFLOW_MODEL": tmp_path / "output", "DRIVEFLOW_PICTURES": tmp_path / "pictures"}
    predictions = tmp_path / "predictions.jsonl"
    _run(*outcome.declaration.command[1:], cwd=tmp_path / "output", DRIVEFLOW_PREDICTIONS=predictions, **places)

    (answer,) = map(json.loads, predictions.read_text().splitlines())
    assert answer["picture"] == "000000.png"
    assert answer["boxes"] == [{"class_name": "car", "score": 0.5, "x1": 2, "y1": 4, "x2": 12, "y2": 10}]


def _run(*words, cwd=ROOT, **places):
    environment = {**os.environ, **{name: str(path) for name, path in places.items()}}
    subprocess.run([sys.executable, *map(str, words)], check=True, cwd=cwd, env=environment)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_say_the_words_of_the_glossary(page):
    synonyms = r"\b(ground truth|de-?duplicat\w+|test set|annotation (job|task)|artefacts?)\b"

    assert re.findall(synonyms, page.read_text(encoding="utf-8"), re.IGNORECASE) == []


def test_the_campaign_on_the_page_and_its_answer_fit_each_other():
    sent, answer = _blocks(ROOT / "docs" / "labeling.md", "json")
    manifest = decode_manifest(sent.encode(), "docs/labeling.md")

    readings = read_returns(
        [manifest], [RawReturn(manifest.campaign_id, "returns/a.json", len(answer), answer.encode())]
    )

    assert readings.refusals == []
    assert readings.notes() == ()
    assert [entry.box_count() for entry in readings.entries] == [2]
