"""What touches in a whole-body reach: legs swivel out of it, contacts of the start sink no deeper, both are named."""

import numpy as np
import pytest

import posable as ps
import posable.math as pm
from posable.body.collision.clearance import clearance
from posable.reach import Posture, Weight, naming


@pytest.fixture(scope="module")
def body():
    return ps.figure()


def test_a_knee_swivels_around_a_ball(body):
    """A ball 3 cm across where the knee would pass: the leg goes around it, and the hand still arrives."""
    reacher = ps.Reacher(body, right=ps.Behaviour.default(body, "right_arm"))
    goal = np.array([-0.15, 0.60, 0.50])
    free = reacher.solve(right=goal)
    knee = body.skeleton.forward(free.pose).positions[body.index("right_lower_leg")]
    reached = 0
    for aside in (-0.06, -0.05, 0.05, 0.06):
        scene = ps.Scene().sphere("ball", 0.03, knee + np.array([aside, 0.0, 0.02]))
        told = ps.Reacher(body, right=reacher.right, scene=scene).solve(right=goal)
        assert not clearance(body, self_collision=False).touches(body.skeleton.forward(told.pose), scene)
        start, end = (
            body.skeleton.forward(p).positions[body.index("right_foot")] for p in (body.neutral_pose, told.pose)
        )
        assert np.linalg.norm(start - end) < 1e-9
        moved = body.skeleton.forward(told.pose).positions[body.index("right_lower_leg")]
        reached += bool(told.ok and np.linalg.norm(moved - knee) > 1e-3)
    assert free.ok and reached >= 3


def test_what_touches_at_the_start_sinks_no_deeper(body):
    """A box that the chest is in by 10 mm at the start: leaning on would be 40 mm and more."""
    chest = body.neutral_frames.positions[body.index("upper_chest")]
    behaviour = ps.Behaviour("right_arm", ("hips", "spine", "chest", "upper_chest"), weight=Weight("constant", 1.0))
    bow = pm.axis_angle([1, 0, 0], 0.25)
    for key in behaviour.keys:
        posture = Posture.neutral(behaviour.parts).rotated(spine=bow, chest=bow, upper_chest=bow)
        behaviour.set(key.id, posture.shifted((0.0, -0.05, 0.0)))
    looked = clearance(body, ("right_arm",), self_collision=False)
    frames = body.neutral_frames
    for near in np.arange(0.02, 0.3, 0.002):
        wall = ps.Scene().box("wall", (0.3, 0.2, 0.02), (0.0, float(chest[1]) + 0.05, float(chest[2]) + 0.3 - near))
        if looked.depth(frames, wall) > 0.01:
            break
    before = looked.depth(frames, wall)
    free = ps.Reacher(body, right=behaviour).solve(right=[-0.35, 1.1, 0.3])
    assert looked.depth(body.skeleton.forward(free.pose), wall) > before + 0.02
    told = ps.Reacher(body, right=behaviour, scene=wall).solve(right=[-0.35, 1.1, 0.3])
    assert looked.depth(body.skeleton.forward(told.pose), wall) < before + 1e-4
    assert told.reason == ps.Status.COLLISION and told.contact[1] == "wall" and "wall" in repr(told)


def test_a_collision_names_the_two_that_touch(body):
    reacher = ps.Reacher(body, right=ps.Behaviour.default(body, "right_arm"))
    told = reacher.solve(right=[[0.0, 1.25, 0.02], [-0.25, 1.1, 0.35]])
    assert told.status[0] == ps.Status.COLLISION and told.contact[1] is None
    one, other = told.contact[0]
    assert one.startswith("right_") and not other.startswith("right_") and one in repr(told)
    scene = ps.Scene().sphere("ball", 0.2, (-0.25, 1.1, 0.35))
    assert ps.Reacher(body, right=reacher.right, scene=scene).solve(right=[-0.25, 1.1, 0.35]).contact[1] == "ball"


@pytest.mark.parametrize("around", ["nothing", "a ball", "a mesh"])
def test_an_arm_that_touches_nothing_with_a_name_touches_the_body_or_a_mesh(body, around, monkeypatch):
    """Volumes that rest on each other where none is deep: a mesh is blamed only where the scene has one."""
    scene = None if around == "nothing" else ps.Scene().sphere("ball", 0.05, (1.0, 1.0, 1.0))
    if scene is not None and around == "a mesh":
        pytest.importorskip("coal")
        scene.mesh("rock", np.eye(3) + 1.0, [[0, 1, 2]])
    monkeypatch.setattr(naming, "body_depth_rows", lambda *given: given[-1].fill(-1))
    reacher = ps.Reacher(body, right=ps.Behaviour.default(body, "right_arm"), scene=scene)
    told = reacher.solve(right=[0.0, 1.25, 0.02])
    assert told.status == ps.Status.COLLISION
    assert told.contact == ("right_arm", naming.MESH if around == "a mesh" else "the body")


def test_the_leading_hand_alone_moves_what_both_drive(body):
    arms = [ps.Behaviour.default(body, arm) for arm in ("right_arm", "left_arm")]
    right, left = [-0.2, 1.15, 0.25], [0.3, 0.6, 0.7]  # near; far and low
    head = body.index("head")

    def drop(handedness):
        told = ps.Reacher(body, *arms, handedness=handedness).solve(right=right, left=left)
        return body.neutral_frames.positions[head, 1] - body.skeleton.forward(told.pose).positions[head, 1]

    alone = ps.Reacher(body, arms[0]).solve(right=right)
    moved = body.neutral_frames.positions[head, 1] - body.skeleton.forward(alone.pose).positions[head, 1]
    assert drop(1.0) == pytest.approx(moved, abs=0.01) and drop(0.5) > moved + 0.05 and drop(0.0) > moved + 0.05


def test_a_motion_takes_a_weight(body):
    reacher = ps.Reacher(body, right=ps.Behaviour.default(body, "right_arm"))
    for weight in (0.0, 0.4):
        told = reacher.animate(right=[-0.25, 1.2, 0.35], weight=weight, fps=30)
        assert told.weight[-1] == pytest.approx(weight) and told.ok.all()
    with pytest.raises(ps.PosableError, match="weight"):
        reacher.animate(right=[-0.25, 1.2, 0.35], weight=1.5)
