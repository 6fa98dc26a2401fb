"""The house keeps its floors."""

import tomllib
from importlib.metadata import distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOT_IN_THE_WHEEL = {"tests", "benchmarks", "docs", "deploy", "examples"}


def _packages() -> set[str]:
    return {path.parent.name for path in ROOT.glob("*/__init__.py")} - NOT_IN_THE_WHEEL


def _settings() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]


def test_every_package_stands_on_a_floor():
    layers = _settings()["importlinter"]["contracts"][0]["layers"]
    floors = {name.strip() for layer in layers for name in layer.split("|")}

    assert _packages() == floors


def test_the_wheel_and_the_type_checker_take_every_package():
    settings = _settings()

    assert {name.rstrip("*") for name in settings["setuptools"]["packages"]["find"]["include"]} == _packages()
    assert set(settings["mypy"]["packages"]) == _packages()


def test_no_other_installed_distribution_brings_a_package_of_our_names():
    ours = _packages()
    others = {
        dist.metadata["Name"]: sorted(ours & set((dist.read_text("top_level.txt") or "").split()))
        for dist in distributions()
        if dist.metadata["Name"] != "driveflow"
    }

    assert {name: clash for name, clash in others.items() if clash} == {}


@pytest.mark.parametrize("package", sorted(_packages()))
def test_an_init_file_is_one_sentence(package):
    for path in (ROOT / package).rglob("__init__.py"):
        text = path.read_text(encoding="utf-8").strip()
        assert text.startswith('"""'), path
        assert text.endswith('"""'), path
        assert text.count('"""') == 2, f"{path} holds more than a docstring"


@pytest.mark.parametrize("folder", ["components", "pipelines"])
def test_no_step_module_postpones_annotations(folder):
    """KFP reads them as types; as text they break the component."""
    postponing = "from __future__ import annotations"
    late = [path.name for path in (ROOT / folder).glob("*.py") if postponing in path.read_text(encoding="utf-8")]

    assert late == []


def test_no_folder_is_called_by_an_empty_word():
    empty = {"utils", "common", "core", "base", "helpers", "util", "misc"}
    found = [path for package in _packages() for path in (ROOT / package).rglob("*") if path.stem in empty]

    assert found == []
