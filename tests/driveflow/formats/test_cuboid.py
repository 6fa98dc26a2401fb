import math

import numpy as np
import pytest

from driveflow.formats.cuboid import NEAR_M, Pinhole, Pose, cuboid_corners, project_cuboids, rotation_of

CAMERA = Pinhole(np.array([[1266.4, 0, 816.3], [0, 1266.4, 491.5], [0, 0, 1.0]]), 1600, 900)
CAR = (4.5, 1.9, 1.6)  # length, width, height


def _about_y(degrees):
    half = math.radians(degrees) / 2
    return rotation_of((math.cos(half), 0, math.sin(half), 0))


def _in_camera(right_m, down_m, ahead_m, yaw_deg=0.0):
    """Return the pose of a car whose x axis lies along the camera's z axis, turned by yaw about the vertical."""
    upright = np.array([[0, -1, 0], [0, 0, -1], [1, 0, 0]], dtype=float)  # columns: the car's axes in the camera's
    return Pose(_about_y(yaw_deg) @ upright, np.array([right_m, down_m, ahead_m], dtype=float))


def _seen_by_rays(pose, size, step_px=4):
    """Return the box around the pixels whose own ray meets the cuboid beyond the near plane."""
    us, vs = np.arange(0, CAMERA.width + 1, step_px), np.arange(0, CAMERA.height + 1, step_px)
    pixels = np.stack([part.ravel() for part in np.meshgrid(us, vs)], axis=1)
    rays = np.concatenate([pixels, np.ones((len(pixels), 1))], axis=1) @ np.linalg.inv(CAMERA.intrinsic).T
    start, along = -pose.translation @ pose.rotation, rays @ pose.rotation  # as the cuboid sees them
    with np.errstate(divide="ignore"):
        first, second = np.array([side * np.asarray(size) / 2 - start for side in (-1, 1)])[:, None] / along
    enters = np.minimum(first, second).max(axis=1)
    leaves = np.maximum(first, second).min(axis=1)
    seen = pixels[leaves >= np.maximum(enters, NEAR_M)]  # the depth of a ray is its z
    return [*seen.min(axis=0), *seen.max(axis=0)] if len(seen) else None


def _seen_by_sampling(pose, size, steps):
    """Return the box around a dense grid of points on the surface of which each is looked at by itself."""
    line = np.linspace(-0.5, 0.5, steps)
    first, second = (part.ravel() for part in np.meshgrid(line, line))
    faces = []
    for axis in range(3):
        for side in (-0.5, 0.5):
            face = np.empty((first.size, 3))
            face[:, axis] = side
            face[:, [other for other in range(3) if other != axis]] = np.stack([first, second], axis=1)
            faces.append(face)
    points = (np.concatenate(faces) * np.asarray(size)) @ pose.rotation.T + pose.translation
    points = points[points[:, 2] >= NEAR_M] @ CAMERA.intrinsic.T
    pixels = points[:, :2] / points[:, 2:]
    inside = (pixels >= 0).all(axis=1) & (pixels[:, 0] <= CAMERA.width) & (pixels[:, 1] <= CAMERA.height)
    return [*pixels[inside].min(axis=0), *pixels[inside].max(axis=0)]


def _projected(pose, size=CAR):
    return project_cuboids(cuboid_corners(pose, size)[None], CAMERA)


def _iou(a, b):
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    shared = max(width, 0) * max(height, 0)
    return shared / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - shared)


@pytest.mark.parametrize("ahead_m", [1.5, 1.75, 2.0])
@pytest.mark.parametrize("right_m", [-2.6, 2.2, 3.0])
@pytest.mark.parametrize("yaw_deg", [-12, 0, 7])
def test_a_car_alongside_has_the_box_that_its_visible_surface_has(ahead_m, right_m, yaw_deg):
    pose = _in_camera(right_m, 0.8, ahead_m, yaw_deg)

    found = _projected(pose)

    assert np.abs(found.corners[0] - _seen_by_rays(pose, CAR)).max() <= 4  # rays stand 4 pixels apart
    assert found.cut[0]


def test_the_points_of_a_car_alongside_say_the_same_as_the_rays():
    pose = _in_camera(2.2, 0.8, 1.75)

    assert _iou(_projected(pose).corners[0], _seen_by_sampling(pose, CAR, 500)) > 0.99


def test_corners_behind_the_camera_must_not_simply_be_left_out():
    pose = _in_camera(2, 0.8, 1.75, -20)
    corners = cuboid_corners(pose, CAR)
    ahead = corners[corners[:, 2] > NEAR_M] @ CAMERA.intrinsic.T
    naive = (ahead[:, :2] / ahead[:, 2:]).clip(0, [CAMERA.width, CAMERA.height])

    wrong = [*naive.min(axis=0), *naive.max(axis=0)]

    assert _iou(wrong, _seen_by_rays(pose, CAR)) < 0.8
    assert _iou(_projected(pose).corners[0], _seen_by_rays(pose, CAR)) > 0.98


def test_boxes_anywhere_around_the_camera_agree_with_the_rays_that_meet_them():
    random = np.random.default_rng(3)
    for _ in range(80):
        pose = _in_camera(*random.uniform((-8, -2, -4), (8, 2, 12)), random.uniform(-180, 180))
        size = random.uniform(0.4, 6, 3)
        found, truth = _projected(pose, size).corners[0], _seen_by_rays(pose, size, 8)
        if truth is None:
            assert not (found[2] - found[0] > 8 and found[3] - found[1] > 8)
        else:
            assert found[:2] == pytest.approx(truth[:2], abs=17)
            assert found[2:] == pytest.approx(truth[2:], abs=17)


def test_a_box_inside_the_view_is_that_of_its_corners_and_is_not_cut():
    found = _projected(_in_camera(0, 0, 20))

    near = 1266.4 / (20 - 2.25)
    assert found.corners[0] == pytest.approx(
        [816.3 - 0.95 * near, 491.5 - 0.8 * near, 816.3 + 0.95 * near, 491.5 + 0.8 * near]
    )
    assert not found.cut[0]


@pytest.mark.parametrize("where", [(0, 0, -5), (30, 0, 5), (0, 20, 5), (-9, 0, 0.5)])
def test_what_is_behind_or_beside_is_not_in_the_picture(where):
    assert np.isnan(_projected(_in_camera(*where)).corners).all()


def test_a_box_around_the_camera_fills_the_picture():
    assert _projected(_in_camera(0, 0, 0)).corners[0] == pytest.approx([0, 0, 1600, 900])


def test_quaternions_are_w_x_y_z_of_any_length():
    quarter = rotation_of((2, 0, 0, 2))

    assert quarter @ [1, 0, 0] == pytest.approx([0, 1, 0])
    with pytest.raises(ValueError, match="no rotation"):
        rotation_of((0, 0, 0, 0))
