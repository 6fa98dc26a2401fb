from collections import Counter
from itertools import pairwise

import cv2
import numpy as np
import pytest

from driveflow.images.hashes import phash64
from sample.drive import Drive, render_drive
from sample.plan import plan_drives


def _drive(motion: str, frames: int = 1000) -> Drive:
    plan = next(plan for plan in plan_drives(frames, 7) if plan.motion == motion and plan.time_of_day == "day")
    return render_drive(plan)


def _hashes(drive: Drive) -> list[int]:
    grays = (cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_GRAYSCALE) for data in drive.pictures)
    return [phash64(np.asarray(gray, dtype=np.uint8)) for gray in grays]


def test_slow_traffic_gives_a_long_run_of_near_duplicates() -> None:
    drive = _drive("slow")
    hashes = _hashes(drive)
    run = max(drive.runs, key=lambda run: run.exclusive_end - run.first)
    sound = [n for n in range(run.first + 1, run.exclusive_end) if not drive.frames[n].defect]
    near = [n for n in sound if (hashes[n] ^ hashes[n - 1]).bit_count() <= 4]

    assert run.exclusive_end - run.first >= 8
    assert len(near) >= 0.6 * len(sound)
    assert len({frame.frame_id for frame in drive.frames}) == len(drive.frames)


def test_a_frozen_camera_delivers_equal_bytes_at_different_times() -> None:
    drive = _drive("frozen")
    frozen = [run for run in drive.runs if run.kind == "frozen"]
    (run,) = frozen
    frames = drive.frames[run.first : run.exclusive_end]

    assert len(frames) >= 4
    assert len({frame.frame_id for frame in frames}) == 1
    assert len({frame.captured_ns for frame in frames}) == len(frames)


def test_a_moving_camera_gives_no_near_duplicates() -> None:
    hashes = _hashes(_drive("cruise"))
    distances = [(left ^ right).bit_count() for left, right in pairwise(hashes)]

    assert min(distances) > 4


def test_a_drive_does_not_depend_on_those_before_it() -> None:
    plan = plan_drives(60, 7)[4]
    first = render_drive(plan)
    render_drive(plan_drives(60, 7)[0])

    assert render_drive(plan) == first


@pytest.mark.slow
def test_electric_bikes_are_rare_but_there_in_a_thousand_frames() -> None:
    boxes: Counter[str] = Counter()
    with_ebike, defects = 0, Counter[str]()
    for plan in plan_drives(1000, 7):
        for frame in render_drive(plan).frames:
            boxes.update(box.class_name for box in frame.boxes)
            with_ebike += any(box.class_name == "ebike" for box in frame.boxes)
            defects[frame.defect] += 1

    assert boxes["ebike"] < 0.02 * boxes.total()
    assert with_ebike >= 15
    assert boxes["cyclist"] > 5 * boxes["ebike"]
    assert {"blurred", "black", "over_exposed"} <= set(defects)
