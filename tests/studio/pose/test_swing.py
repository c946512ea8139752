"""The drawing of a limb's limits: what it shows is what the limits say."""

import re

import numpy as np
import pytest

import posable as ps
import posable.math as pm
from posable.limits import Cone, Ellipse, Hinge, Interval, JointLimit, Limits
from posable.studio.widgets.joint_limit_plot import (
    INSIDE,
    OUTSIDE,
    boundary_on_plane,
    hinge_angle,
    limits_drawing,
    swing_on_plane,
    twist_angle,
)

BALLS = [f"{side}_{part}" for side in ("left", "right") for part in ("upper_arm", "hand", "upper_leg", "foot")]
LIMBS = ("right_arm", "left_arm", "right_leg", "left_leg")


def rotations(count: int, seed: int = 0) -> np.ndarray:
    q = np.random.default_rng(seed).normal(size=(count, 4))
    return q / np.linalg.norm(q, axis=-1, keepdims=True)


def mirrored(q: np.ndarray) -> np.ndarray:
    return q * [1.0, 1.0, -1.0, -1.0]


def enclosed(points: np.ndarray, outline: np.ndarray) -> np.ndarray:
    """(N,) which points lie inside a closed polygon: the even-odd rule."""
    x, y = points[:, None, 0], points[:, None, 1]
    a, b = outline, np.roll(outline, -1, axis=0)
    spans = (a[:, 1] > y) != (b[:, 1] > y)
    with np.errstate(divide="ignore", invalid="ignore"):
        crossing = a[:, 0] + (y - a[:, 1]) * (b[:, 0] - a[:, 0]) / (b[:, 1] - a[:, 1])
    return (spans & (x < crossing)).sum(axis=1) % 2 == 1


@pytest.mark.parametrize("role", BALLS)
def test_a_joint_lies_inside_its_outline_exactly_where_its_limit_allows_it(role: str):
    limit = Limits.human()[role]
    swing_only = Limits({role: JointLimit(limit.swing, None, limit.direction, limit.axis, limit.is_mirrored)})
    q = rotations(2000)
    points, outline = swing_on_plane(limit, q), boundary_on_plane(limit, 2000)
    to_edge = np.linalg.norm(points[:, None] - outline, axis=-1).min(axis=1)
    clear = (to_edge > 0.01) & (np.hypot(*points.T) < 3.1)
    assert clear.sum() > 1500
    assert (enclosed(points, outline) == swing_only.contains(role, q))[clear].all()


@pytest.mark.parametrize("part", ["upper_arm", "hand", "upper_leg", "foot"])
def test_the_planes_of_left_and_right_are_mirror_images(part: str):
    human, q = Limits.human(), rotations(500)
    left, right = human[f"left_{part}"], human[f"right_{part}"]
    assert np.allclose(swing_on_plane(left, q) * [-1.0, 1.0], swing_on_plane(right, mirrored(q)), atol=1e-12)
    assert np.allclose(boundary_on_plane(left) * [-1.0, 1.0], boundary_on_plane(right))


def test_the_distance_on_the_plane_is_the_angle_of_the_swing_and_twist_does_not_move_it():
    limit = Limits.human()["left_upper_arm"]
    q = rotations(500)
    swing, twist = pm.swing_twist(q, np.array(limit.direction))
    angle = pm.angle(swing, np.array([1.0, 0.0, 0.0, 0.0]))
    assert np.allclose(np.hypot(*swing_on_plane(limit, q).T), angle, atol=1e-7)
    assert np.allclose(swing_on_plane(limit, q), swing_on_plane(limit, swing), atol=1e-7)
    assert np.allclose([twist_angle(limit, one) for one in q], twist)


def test_an_arm_raised_forward_is_up_and_one_raised_sideways_is_out():
    human = Limits.human()
    forward = pm.axis_angle([1.0, 0.0, 0.0], -1.0)  # the hanging arm turns to the front
    assert np.allclose(swing_on_plane(human["left_upper_arm"], forward), [0.0, 1.0])
    assert np.allclose(swing_on_plane(human["right_upper_arm"], forward), [0.0, 1.0])
    sideways = pm.axis_angle([0.0, 0.0, 1.0], 1.0)  # the left arm to the left, where +X is
    assert np.allclose(swing_on_plane(human["left_upper_arm"], sideways), [1.0, 0.0])
    assert np.allclose(swing_on_plane(human["right_upper_arm"], mirrored(sideways)), [-1.0, 0.0])


@pytest.mark.parametrize("angle", np.linspace(-1.0, 2.5, 15))
def test_a_hinge_is_bent_by_the_angle_it_was_rotated(angle: float):
    for role in ("left_lower_arm", "right_lower_arm", "left_lower_leg", "right_lower_leg"):
        limit = Limits.human()[role]
        rotation = pm.axis_angle(np.array(limit.axis), angle)
        assert hinge_angle(limit, mirrored(rotation) if limit.is_mirrored else rotation) == pytest.approx(
            angle, abs=1e-9
        )


def test_every_shape_of_limit_has_an_outline():
    free = boundary_on_plane(JointLimit())
    assert np.allclose(np.hypot(*free.T), np.pi)
    bent = boundary_on_plane(JointLimit(Hinge(-0.5, 2.0)))
    assert np.allclose(bent[:, 0], 0.0) and bent[:, 1].min() == pytest.approx(-2.0, abs=0.05)
    assert bent[:, 1].max() == pytest.approx(0.5, abs=0.05)
    ellipse = boundary_on_plane(JointLimit(Ellipse((1.0, 0.5), (0.2, 0.1))))
    assert np.allclose(((-ellipse[:, 1] - 0.2) / 1.0) ** 2 + ((ellipse[:, 0] - 0.1) / 0.5) ** 2, 1.0)
    cone = boundary_on_plane(JointLimit(Cone.from_degrees({-180: 60, 0: 90, 180: 60})))
    assert np.hypot(*cone.T).max() == pytest.approx(np.pi / 2, abs=1e-3)


@pytest.mark.parametrize("limb", LIMBS)
def test_the_drawing_has_every_joint_of_the_limb_and_is_the_same_for_the_same_pose(limb: str):
    body = ps.figure()
    pose = body.neutral_pose
    drawn = limits_drawing(body, limb, pose)
    names = re.findall(r'data-joint="([^"]+)"', drawn)
    arm = limb.endswith("arm")
    assert names[:2] == (["shoulder", "wrist"] if arm else ["hip", "ankle"])
    assert names[2:] == ["elbow bend" if arm else "knee bend", "upper twist", "lower twist"]
    assert drawn == limits_drawing(body, limb, pose)
    assert "nan" not in drawn


def test_a_joint_outside_its_limit_has_the_colour_of_it():
    body = ps.figure()
    pose = body.neutral_pose
    posture = body.canonical(pose)
    back = posture.rotations.copy()
    back[posture.index("left_upper_arm")] = pm.axis_angle([1.0, 0.0, 0.0], 2.5)
    wrong = body.pose(posture.replace(rotations=back), pose)

    def colour(of: ps.Pose) -> str:
        drawn = limits_drawing(body, "left_arm", of)
        return re.search(r'data-joint="shoulder"[^/]*fill="([^"]+)"', drawn)[1]

    forward = posture.rotations.copy()
    forward[posture.index("left_upper_arm")] = pm.axis_angle([1.0, 0.0, 0.0], -1.0)
    assert colour(body.pose(posture.replace(rotations=forward), pose)) == INSIDE
    assert colour(wrong) == OUTSIDE


def test_a_body_with_other_limits_is_drawn_with_them():
    body = ps.figure()
    other = ps.Humanoid(
        body.skeleton,
        limits=body.limits.replace(left_hand=JointLimit(), left_lower_arm=JointLimit(Hinge(0, 2), Interval(-1, 1))),
    )
    drawn = limits_drawing(other, "left_arm", other.neutral_pose)
    assert drawn != limits_drawing(body, "left_arm", body.neutral_pose) and "nan" not in drawn
