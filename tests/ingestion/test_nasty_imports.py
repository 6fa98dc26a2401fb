"""`driveflow data import` of nasty files: the right verdict for each, bounded memory, and nothing written elsewhere."""

import csv
import json
import os
import shutil
import unicodedata
import zipfile
from pathlib import Path

import pytest

from tests.cli.calling import call
from tests.ingestion.batches import coco, picture, write
from tests.ingestion.forking import calls
from tests.shared_data import shared_data

GIB = 1 << 30
SETS = {"made": "nasty_made", "pillow": "nasty_pillow", "turbo": "nasty_jpegturbo", "mapillary": "nasty_mapillary",
        "heic": "nasty_heic"}  # fmt: skip
OTHERWISE = {
    "no_end_marker.jpg": "keep",  # every row of it is there; cases.json says keep
    "bit_flips.jpg": "quarantine",  # its decoder warns of damage; cases.json says either
    "one_pixel.jpg": "quarantine",  # what has no two pixels a side is no camera picture
    "strip_4000x1.jpg": "quarantine",
    "multiple_exif.jpg": "quarantine",
    "orientation_rectangle.jpg": "quarantine",
    "xmp_padded.jpg": "quarantine",
}
"""Where driveflow decides otherwise than whether Pillow decodes the file."""


@pytest.fixture(scope="module")
def imported(tmp_path_factory):
    """Import every nasty set, each under its name; the HEIC set with one good picture beside, else it has none."""
    home = tmp_path_factory.mktemp("nasty")
    folders = {name: shared_data(found) for name, found in SETS.items()}
    folders["made"] /= "files"
    folders["heic"] = shutil.copytree(folders["heic"], home / "heic")
    (home / "heic" / "good.jpg").write_bytes(picture(1))
    workspace = home / "workspace"
    before = _around(home, *folders.values())
    done = calls(*[(("data", "import", folder, "--as", name, "-w", workspace, "-o", "json"), 0)
                   for name, folder in folders.items()])  # fmt: skip
    after = _around(home, *folders.values())
    assert [entry["code"] for entry in done] == [0] * len(folders)
    return {
        "reports": {name: entry["report"] for name, entry in zip(folders, done, strict=True)},
        "workspace": workspace,
        "before": before,
        "after": [path for path in after if workspace not in Path(path).parents and Path(path) != workspace],
    }


def _around(home, *folders):
    """Return all that lies in the folders and in those around them."""
    found = [Path(top, name) for folder in (home, *folders) for top, _, names in os.walk(folder) for name in names]
    return sorted({str(path) for path in [*found, *(p for folder in folders for p in Path(folder).parent.iterdir())]})


@pytest.mark.parametrize("name", SETS)
def test_every_file_gets_the_verdict_that_its_content_deserves(imported, name):
    held = {row["path"] for row in imported["reports"][name]["quarantined"]["rows"]}
    with (shared_data(SETS[name]) / "behaviour.csv").open(encoding="utf-8", newline="") as file:
        decodes = {row["file"].removeprefix("files/"): "load=ok" in row["pillow"] for row in csv.DictReader(file)}

    verdicts = {path: "quarantine" if path in held else "keep" for path in decodes}

    expected = {path: "keep" if good else "quarantine" for path, good in decodes.items()}
    assert verdicts == expected | {path: verdict for path, verdict in OTHERWISE.items() if path in decodes}


def test_every_made_case_gets_its_verdict(imported):
    cases = json.loads((shared_data("nasty_made") / "cases.json").read_text("utf-8"))
    held = {row["path"] for row in imported["reports"]["made"]["quarantined"]["rows"]}
    kept = _paths(imported, "made")
    decided = {case["file"]: _decided(case["file"], kept, held) for case in cases}

    wrong = {case["file"]: decided[case["file"]] for case in cases
             if case["verdict"] not in {decided[case["file"]], "either"}}  # fmt: skip
    assert wrong == {}
    assert "vanished" not in {verdict for path, verdict in decided.items() if not path.endswith(".zip")}


def _decided(path, kept, held):
    """Return the verdict of a file; one of several pages may have become several frames."""
    if path in held:
        return "quarantine"
    return "keep" if path in kept or any(name.startswith(f"{path}!") for name in kept) else "vanished"


def _paths(imported, name):
    from driveflow.snapshots import open_snapshot

    return set(open_snapshot(imported["reports"][name]["uri"]).sources()["path"].to_pylist())


def test_hostile_archives_give_what_is_harmless_and_nothing_else(imported):
    rows = imported["reports"]["made"]["quarantined"]["rows"]
    reasons = {row["path"]: row["reason"] for row in rows}
    kept = _paths(imported, "made")

    assert {path for path in kept if path.startswith("zips/slip.zip!")} == {"zips/slip.zip!ok.jpg"}
    assert {path for path in kept if path.startswith("zips/blow_up.zip!")} == {"zips/blow_up.zip!ok.jpg"}
    assert not [path for path in kept if path.startswith("zips/cut.zip")]
    assert len([path for path in kept if path.startswith("zips/same_name.zip!")]) == 3
    assert {"archive_path_escape", "archive_link", "archive_ratio", "archive_broken"} <= set(reasons.values())


@pytest.mark.parametrize("name", SETS)
def test_memory_stays_under_a_gibibyte_and_the_counts_add_up(imported, name):
    report = imported["reports"][name]

    assert report["peak_memory_bytes"] < GIB
    assert report["files_in"] == report["files_kept"] + report["files_quarantined"] + report["files_skipped"]
    assert report["sources"] == report["files_kept"]
    assert sum(report["quarantined"]["reasons"].values()) == report["quarantined"]["total"]


def test_nothing_is_written_outside_the_workspace(imported):
    assert imported["after"] == imported["before"]
    assert not Path("/abs").exists()  # where one of the hostile archives points


def test_heic_is_refused_by_its_name(imported):
    rows = imported["reports"]["heic"]["quarantined"]["rows"]
    reasons = {row["path"]: (row["reason"], row["detail"]) for row in rows}

    reason, detail = reasons["heif_special__200MP.heic"]
    assert reason == "unsupported"
    assert "HEI" in detail


def test_hard_names_of_an_archive_survive_to_sources_and_to_what_is_shown(imported, capsys):
    with_marks = ["quote'\"name.jpg", "a%2Fb.jpg", "-rf.jpg", "trailing space .jpg", "日本語_フレーム001.jpg"]
    kept = _paths(imported, "made")

    for name in with_marks:
        assert f"names.tar!{name}" in kept
        code, out, _ = call(capsys, "data", "explain", f"names.tar!{name}", "--snapshot", "made", "-w",
                            str(imported["workspace"]), "-o", "json")  # fmt: skip
        assert code == 0
        assert name in {source["path"].removeprefix("names.tar!") for source in json.loads(out)["sources"]}
    forms = [path for path in kept if unicodedata.normalize("NFC", path) == "names.tar!café_frame.jpg"]
    assert len(forms) == 2


def test_hard_names_of_a_folder_survive_and_stay_apart(tmp_path, capsys, monkeypatch):
    names = ["line\nbreak.jpg", "quote'\"s.jpg", "A.jpg", "a.jpg", "caf\u00e9.jpg", "cafe\u0301.jpg"]
    names += ["\u202egpj.exe.jpg", "semi;colon & amp.jpg", "tab\there.jpg", " lead.jpg", "back\\slash.jpg"]
    names += ["<b>bold</b>.jpg"]
    monkeypatch.chdir(tmp_path)
    labels = coco(list(enumerate(names)), [(n, n, 1, (1, 2, n + 3, 9)) for n in range(len(names))])
    write(tmp_path / "hard", {name: picture(number) for number, name in enumerate(names)} | {"labels.json": labels})

    code, out, err = call(capsys, "data", "import", "hard", "--as", "hard", "-o", "json")
    shown = call(capsys, "data", "show", "hard", "--html", "page.html", "-o", "json")[1]

    assert code == 0, err
    report = json.loads(out)
    assert (report["frames"], report["boxes"]) == (len(names), len(names) - _mistaken(report))
    listed = {row["name"] for row in json.loads(shown)["by_drive"]["largest"]}
    assert {f"hard/{name}" for name in names} <= listed
    page = Path("page.html").read_text("utf-8")
    assert "<b>bold" not in page
    assert "\u202e" not in page


def _mistaken(report):
    """Return how many boxes were put aside because two names differ in nothing but their Unicode form."""
    return report["counts"]["boxes_quarantined"]


def test_names_that_are_no_text_are_spelled_out(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / os.fsdecode(b"\xff\xfe.jpg")).write_bytes(picture(1))

    code, out, _ = call(capsys, "data", "import", "odd", "--as", "odd", "-o", "json")

    assert code == 0
    assert json.loads(out)["frames"] == 1
    assert r"odd/\xff\xfe.jpg" in call(capsys, "data", "show", "odd")[1]


def test_an_archive_of_zeros_is_refused_in_bounded_memory(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bomb").mkdir()
    with zipfile.ZipFile(tmp_path / "bomb" / "zeros.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros.jpg", bytes(150 << 20))
    write(tmp_path / "bomb", {"good.jpg": picture(1)})

    (done,) = calls((("data", "import", tmp_path / "bomb", "--as", "bomb", "-w", tmp_path / "w", "-o", "json"), 0))

    assert done["code"] == 0
    assert done["report"]["peak_memory_bytes"] < GIB
    assert set(done["report"]["quarantined"]["reasons"]) == {"archive_ratio"}
