"""A limb kept out of things in its own frame."""

import numpy as np
import pytest

import posable as ps
import posable.math as pm


def elbow_low():
    """A box under the arm, where the elbow would like to be."""
    return ps.Scene().box("shelf", (0.5, 0.1, 0.5), (0.2, -0.22, 0.25))


@pytest.mark.parametrize("limb", ["alone", "of a body"])
def test_the_elbow_keeps_out_of_a_scene_in_the_limbs_frame(limb):
    arm = ps.Limb("right_arm", 0.31, 0.26) if limb == "alone" else ps.figure().limb("right_arm")
    place = np.array([0.35, -0.02, 0.2])
    free, clear = arm.solve(place), arm.solve(place, scene=elbow_low())
    assert free.ok and clear.ok
    assert free.swivel != clear.swivel
    assert arm.forward(clear.values).mid[1] > arm.forward(free.values).mid[1]


def test_a_scene_in_the_limbs_frame_is_the_scene_of_the_world_seen_from_there():
    body = ps.figure()
    arm, pose = body.limb("right_arm"), body.neutral_pose
    frame, origin = arm.frame(body.skeleton.forward(pose))
    size, at = (0.4, 0.08, 0.5), np.array([0.2, -0.2, 0.25])
    here = ps.Scene().box("shelf", size, at)
    world = ps.Scene().box("shelf", size, origin + pm.rotate(frame, at), frame)
    for place in np.random.default_rng(0).uniform([0.1, -0.2, 0.0], [0.4, 0.3, 0.4], (60, 3)):
        wrist = arm.read(pose).values[4:]
        one = arm.solve(place, scene=here, wrist=wrist)
        other = body.place(pose, "right_hand", ps.Target(origin + pm.rotate(frame, place)), scene=world)
        assert one.status == other.status
        assert one.swivel == pytest.approx(other.swivel, abs=1e-9)


def test_a_batch_takes_a_scene_and_obstacles_together():
    body = ps.figure()
    arm = body.limb("right_arm")
    places = np.random.default_rng(1).uniform([0.1, -0.3, 0.0], [0.4, 0.3, 0.4], (50, 3))
    own = arm.obstacles(body.neutral_pose)
    both = arm.solve(places, scene=elbow_low(), obstacles=own)
    alone = [arm.solve(place, scene=elbow_low(), obstacles=own) for place in places]
    np.testing.assert_array_equal(both.status, [int(one.status) for one in alone])


@pytest.mark.parametrize("factor", [0.1, 8.0])
def test_a_larger_limb_keeps_out_of_a_larger_scene_in_the_same_way(factor):
    targets = np.random.default_rng(2).uniform([0.1, -0.3, 0.0], [0.4, 0.3, 0.4], (120, 3))
    made = []
    for size in (1.0, factor):
        scene = ps.Scene().box("shelf", np.array([0.5, 0.1, 0.5]) * size, np.array([0.2, -0.22, 0.25]) * size)
        scene.sphere("ball", 0.08 * size, np.array([0.15, 0.15, 0.15]) * size)
        arm = ps.Limb("right_arm", 0.31 * size, 0.26 * size)
        made.append((arm.solve(size * targets, scene=scene), arm.solve(size * targets)))
    (one, free), (other, _) = made
    np.testing.assert_array_equal(one.status, other.status)
    np.testing.assert_allclose(one.values[one.ok], other.values[one.ok], rtol=0, atol=1e-9)
    assert one.ok.sum() > 60 and (np.abs(one.swivel - free.swivel)[one.ok] > 1e-3).sum() > 15


def test_meshes_need_the_volumes_of_a_body():
    pytest.importorskip("coal")
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=float) - [0.0, 0.5, 0.0]
    faces = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    scene = ps.Scene().mesh("rock", corners, faces)
    with pytest.raises(ps.PosableError, match="limb of a body"):
        ps.Limb("right_arm", 0.31, 0.26).solve([0.3, 0, 0.2], scene=scene)
    assert ps.figure().limb("right_arm").solve([0.3, 0.0, 0.2], scene=scene).status == ps.Status.COLLISION
