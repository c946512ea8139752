"""Elbows in the torso are turned out of it, bent and stretched, or it is said that they cannot be."""

import numpy as np
import pytest

import posable as ps
from posable.body.collision.clearance import SelfCollision, clearance

ARMS = ("right_arm", "left_arm")


@pytest.fixture(scope="module")
def body():
    return ps.figure()


def arms_in_the_torso(body, limb, count=400, seed=0, stretched=False):
    """Poses with a hand around the body and a swivel that takes the elbow anywhere."""
    rng = np.random.default_rng(seed)
    arm = body.limb(limb, limits=None)
    neutral = body.skeleton.forward(body.neutral_pose)
    frame, origin = arm.frame(neutral)
    hands = rng.uniform([-0.35, 0.75, -0.1], [0.35, 1.4, 0.35], (count, 3))
    from posable.math import conjugate, rotate

    local = rotate(conjugate(frame), hands - origin)
    if stretched:
        local *= arm.length * 0.9995 / np.linalg.norm(local, axis=-1, keepdims=True)
    values = arm.solve(local, swivel=rng.uniform(-np.pi, np.pi, count)).values
    return arm.pose(body.neutral_pose, values)


def in_trunk(body, limb, pose):
    """(...) whether the upper arm or forearm is in the trunk, by the test of the whole body."""
    learned = SelfCollision.of(body)
    names = body.volumes.names
    side = limb.split("_")[0]
    arm = {f"{side}_{part}" for part in ("deltoid", "upper_arm", "biceps", "elbow", "forearm", "lower_arm")}
    trunk = set(np.flatnonzero(np.isin(body.volumes.joints, body.spine)))
    pairs, hit = learned.pairs, clearance(body).contacts(body.skeleton.forward(pose))
    mine = [(names[a] in arm and b in trunk) or (names[b] in arm and a in trunk) for a, b in pairs]
    return hit[..., mine].any(axis=-1)


@pytest.mark.parametrize("limb", ARMS)
def test_an_answer_that_says_out_is_out_and_the_hand_stays(body, limb):
    pose = arms_in_the_torso(body, limb)
    before = in_trunk(body, limb, pose)
    assert before.mean() > 0.3
    answer = body.elbow_out(pose, limb)
    np.testing.assert_array_equal(answer.changed, before)
    after = in_trunk(body, limb, answer.pose)
    assert not after[answer.ok].any()
    assert answer.ok[before].mean() > 0.6
    hand = body.limb_joints(limb)[2]
    moved = np.linalg.norm(
        body.skeleton.forward(answer.pose).positions[..., hand, :]
        - body.skeleton.forward(pose).positions[..., hand, :],
        axis=-1,
    )
    np.testing.assert_allclose(moved, answer.position_error, atol=1e-9)
    bent = answer.swivel_change != 0.0
    assert moved[bent].max() < 1e-9


@pytest.mark.parametrize("limb", ARMS)
def test_a_stretched_arm_is_swung_out_and_says_by_how_much_the_hand_misses(body, limb):
    pose = arms_in_the_torso(body, limb, seed=1, stretched=True)
    before = in_trunk(body, limb, pose)
    assert before.sum() > 20
    answer = body.elbow_out(pose, limb)
    assert (answer.swivel_change == 0.0).all()
    assert not in_trunk(body, limb, answer.pose)[answer.ok].any()
    assert answer.ok[before].mean() > 0.9
    assert (answer.position_error[~before] < 1e-9).all()


def test_what_is_not_in_the_torso_stays_as_it_is(body):
    motion = ps.samples.walk(body)
    for limb in ARMS:
        answer = body.elbow_out(motion.pose, limb)
        assert answer.ok.all()
        assert not answer.changed.any()
        np.testing.assert_array_equal(answer.pose.rotations, motion.pose.rotations)


def test_one_pose_is_answered_as_in_a_batch(body):
    pose = arms_in_the_torso(body, "right_arm", 20)
    batch = body.elbow_out(pose, "right_arm")
    for k in range(20):
        one = body.elbow_out(pose[k], "right_arm")
        np.testing.assert_allclose(one.pose.rotations, batch.pose.rotations[k], atol=1e-15)
        assert one.depth == batch.depth[k]
