"""Killed at any write and started again, an import, a merge, a split or a tag ends as if nothing had happened."""

import io
import random
import re
import signal
import zipfile
from pathlib import Path

import pytest

from tests.ingestion.batches import coco, picture, write
from tests.ingestion.forking import calls

SEED, POINTS = 7, 4


def importing(source, workspace, name="may"):
    return ("data", "import", source, "--as", name, "-w", workspace, "-o", "json")


def merging(workspace):
    return ("data", "merge", "may", "june", "--as", "both", "-w", workspace, "-o", "json")


def contents(workspace):
    """Return the files of a workspace and what is in them, without where it lies and when it was."""
    found = {}
    for path in sorted(Path(workspace).rglob("*")):
        name = re.sub(r"(made_by|reuse/\w+)/[^/]+", r"\1/*", path.relative_to(workspace).as_posix())
        if path.is_file():
            tells_place_or_time = name.startswith("store/tags/") or "*" in name
            found[name] = b"" if tells_place_or_time else path.read_bytes()
    return found


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """Two batches with labels, each with an archive whose members go into shards."""
    home = tmp_path_factory.mktemp("sources")
    for name, first in (("may", 0), ("june", 3)):
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            for number in range(first + 10, first + 14):
                archive.writestr(zipfile.ZipInfo(f"{number}.jpg"), picture(number))
        labels = coco([(n, f"{n}.jpg") for n in range(first, first + 5)], [(n, n, 1, (1, 2, n + 3, 9)) for n in (3, 4)])
        pictures = {f"{n}.jpg": picture(n) for n in range(first, first + 5)}
        write(home / name, {"labels.json": labels, "packed.zip": packed.getvalue(), **pictures})
    return home


@pytest.fixture(scope="module")
def undisturbed(sources, tmp_path_factory):
    """Workspaces in which nothing was killed, one with one import, one with two, one with their merge too."""
    home = tmp_path_factory.mktemp("undisturbed")
    one, two, merged = home / "one", home / "two", home / "merged"
    done = calls(
        (importing(sources / "may", one), 0),
        (("copy", one, two), 0),
        (importing(sources / "june", two, "june"), 0),
        (("copy", two, merged), 0),
        (merging(merged), 0),
    )
    assert [call["code"] for call in done] == [0, 0, 0]
    return {"one": one, "two": two, "merged": merged, "import": done[0], "merge": done[2]}


def points(writes):
    return sorted(random.Random(SEED).sample(range(1, writes + 1), POINTS))


def test_an_import_killed_at_any_write_ends_as_the_undisturbed_one_without_litter(sources, undisturbed, tmp_path):
    chosen = points(undisturbed["import"]["writes"])
    often = tmp_path / "often"  # here every one of them is killed, one after the other
    spaces = [*(tmp_path / f"at-{at}" for at in chosen), often]
    plan = [(importing(sources / "may", space), at) for at, space in zip(chosen, spaces, strict=False)]
    plan += [(importing(sources / "may", often), at) for at in chosen]
    ends = [(importing(sources / "may", space), 0) for space in spaces]

    done = calls(*plan, *ends)

    killed, ended = done[: len(plan)], done[len(plan) :]
    assert {call["code"] for call in killed[:POINTS]} == {-signal.SIGKILL}
    assert {call["report"]["snapshot"] for call in ended} == {undisturbed["import"]["report"]["snapshot"]}
    assert [contents(space) for space in spaces] == [contents(undisturbed["one"])] * len(spaces)


def test_a_merge_killed_at_any_write_ends_as_the_undisturbed_one_without_litter(undisturbed, tmp_path):
    plan = []
    spaces = [tmp_path / f"at-{at}" for at in points(undisturbed["merge"]["writes"])]
    for at, space in zip(points(undisturbed["merge"]["writes"]), spaces, strict=True):
        plan += [(("copy", undisturbed["two"], space), 0), (merging(space), at), (merging(space), 0)]

    done = calls(*plan)

    assert {call["code"] for call in done[::2]} == {-signal.SIGKILL}
    assert {call["report"]["snapshot"] for call in done[1::2]} == {undisturbed["merge"]["report"]["snapshot"]}
    assert [contents(space) for space in spaces] == [contents(undisturbed["merged"])] * POINTS


@pytest.mark.parametrize("words", [("split", "may", "--as", "parts"), ("tag", "release", "may")], ids=["split", "tag"])
def test_a_split_and_a_tag_killed_at_writes_all_along_leave_no_litter_when_they_are_done_again(
    undisturbed, tmp_path, words
):
    def calling(space):
        return ("data", *words, "-w", space, "-o", "json")

    whole = tmp_path / "whole"
    (done,) = calls((("copy", undisturbed["one"], whole), 0), (calling(whole), 0))
    chosen = range(1, done["writes"] + 1, 3)
    plan, spaces = [], [tmp_path / f"at-{at}" for at in chosen]
    for at, space in zip(chosen, spaces, strict=True):
        plan += [(("copy", undisturbed["one"], space), 0), (calling(space), at), (calling(space), 0)]

    killed = calls(*plan)

    assert {call["code"] for call in killed[::2]} == {-signal.SIGKILL}
    assert {call["report"]["snapshot"] for call in killed[1::2]} == {done["report"]["snapshot"]}
    assert [contents(space) for space in spaces] == [contents(whole)] * len(spaces)


def test_imports_at_the_same_time_do_not_disturb_each_other(sources, undisturbed, tmp_path):
    space = tmp_path / "space"

    done = calls(*[(importing(sources / "may", space, name), 0) for name in ("may", "b", "b")], together=True)

    assert [call["code"] for call in done] == [0] * 3
    assert done[0]["report"]["snapshot"] == undisturbed["import"]["report"]["snapshot"]
    assert done[1]["report"]["snapshot"] == done[2]["report"]["snapshot"]
    assert {path.name for path in (space / "store" / "tags").iterdir()} == {"may", "b"}
    assert [path for path in contents(space) if "driveflow-tmp" in path or "writers/" in path] == []
