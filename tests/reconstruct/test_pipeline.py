"""From files of points, or motions, to a reconstructed body of the right size."""

import numpy as np
import pytest

import posable as ps
from posable.body import MARKERS
from posable.reconstruct import load_points, reconstruct

TO_FILE = {"m": 1.0, "cm": 100.0, "in": 1.0 / 0.0254}


def walk_of(body: ps.Humanoid, frames: int = 40) -> ps.Motion:
    return ps.samples.walk(body)[:frames]


def write_csv(path, points, fps, up="y"):
    """A line of names, then the time [s] and the coordinates of each frame; nothing where a point is lost."""
    names = [f"{role}_{axis}" for role in MARKERS for axis in "xyz"]
    turned = points if up == "y" else np.stack([points[..., 0], -points[..., 2], points[..., 1]], axis=-1)
    rows = [
        ",".join([f"{k / fps:.6f}", *("" if np.isnan(x) else f"{x:.9f}" for x in row.ravel())])
        for k, row in enumerate(turned)
    ]
    path.write_text("\n".join([",".join(["time", *names]), *rows]) + "\n")
    return path


@pytest.mark.parametrize("unit", TO_FILE)
@pytest.mark.parametrize("up", ["y", "z"])
@pytest.mark.parametrize("suffix", [".csv", ".CSV"])
def test_points_of_a_table_are_read_in_metres_with_y_up(unit, up, suffix, tmp_path):
    body = ps.figure()
    points = body.markers(walk_of(body).pose)
    points[3:6, 2] = np.nan
    file = write_csv(tmp_path / f"walk{suffix}", TO_FILE[unit] * points, 30.0, up)
    found = load_points(file, units=unit, up=up)
    assert found.names == MARKERS and found.fps == pytest.approx(30.0, rel=1e-4)
    np.testing.assert_allclose(found.positions, points, rtol=0, atol=1e-6)


def test_points_of_a_motion_file_are_those_of_its_body(tmp_path):
    body = ps.figure()
    motion = walk_of(body)
    ps.save(motion, tmp_path / "walk.bvh")
    found = load_points(tmp_path / "walk.bvh")
    assert found.names == MARKERS and found.fps == pytest.approx(motion.fps, rel=1e-4)
    np.testing.assert_allclose(found.positions, body.markers(motion.pose), rtol=0, atol=1e-4)


@pytest.mark.parametrize("height", [1.3, 1.75, 2.0])
def test_a_body_is_as_tall_as_its_points_show(height, tmp_path):
    """A person of usual proportions: bones of the figure that is reconstructed are as long as the tracked ones."""
    person = ps.figure(height)
    motion = walk_of(person)
    file = write_csv(tmp_path / "walk.csv", person.markers(motion.pose), motion.fps)
    answer = reconstruct(file)
    bones = np.linalg.norm(answer.motion.skeleton.offsets[1:], axis=-1)
    np.testing.assert_allclose(bones, np.linalg.norm(person.skeleton.offsets[1:], axis=-1), rtol=0.03, atol=1e-4)
    assert answer.marker_errors[:, :2].max() < 0.03


@pytest.mark.parametrize("height", [1.4, 1.9])
def test_points_are_scaled_to_the_body_that_is_given(height):
    """The trunk by hips to head, what is below by hips to ankles: a figure of another height does the same walk."""
    person, other = ps.figure(1.7), ps.figure(height)
    motion = walk_of(person)
    answer = reconstruct(motion, body=other)
    found = other.markers(answer.motion.pose)
    given = person.markers(motion.pose)
    ratio = height / 1.7
    np.testing.assert_allclose(found[:, 0], ratio * given[:, 0], rtol=0, atol=0.02)
    np.testing.assert_allclose(found - found[:, :1], ratio * (given - given[:, :1]), rtol=0, atol=0.03)
    plain = reconstruct(motion, body=other, fit=False)
    np.testing.assert_allclose(plain.points, given, rtol=0, atol=1e-9)
