"""Arms keep out of the body with the fingers that their hands have, as they are bent."""

import numpy as np
import pytest

import posable as ps
from posable.body.collision.clearance import SelfCollision, limb_links
from posable.compute import Status

SIDES = ("left", "right")


@pytest.fixture(scope="module")
def figure():
    return ps.figure(fingers=True)


@pytest.fixture(scope="module")
def targets(figure):
    rng = np.random.default_rng(0)
    away = rng.normal(size=(600, 3))
    away *= rng.uniform(0.15, 0.58, size=(600, 1)) / np.linalg.norm(away, axis=1)[:, None]
    return figure.neutral_frames.positions[figure.index("right_upper_arm")] + away


def with_hands(body, shape):
    pose = body.neutral_pose
    for side in SIDES:
        pose = body.pose_hand(pose, side, shape)
    return pose


def touching_hand(body, poses):
    """(N,) whether the right hand, its fingers as they are in each pose, is in the trunk, the head or the left arm."""
    learned, volumes = SelfCollision.of(body), body.volumes
    hand = np.array([name.startswith("right_") and body.index("right_hand") in body.skeleton.path(int(joint))
                     for name, joint in zip(volumes.names, volumes.packed["joint"])])  # fmt: skip
    legs = np.array([any(part in name for part in ("leg", "hip", "shin", "knee", "foot")) for name in volumes.names])
    pairs = [(a, b) for a, b in learned.pairs if hand[a] != hand[b] and not legs[a] and not legs[b]]
    frames, found, balls = body.skeleton.forward(poses), np.zeros(poses.shape, np.bool_), {}
    for v in {int(v) for pair in pairs for v in pair}:
        packed = volumes.packed[v]
        joint = int(packed["joint"])
        turn, at = frames.orientations[:, joint, None], frames.positions[:, joint, None]
        if packed["kind"] == 0:  # a rounded cone, as balls along it
            t = np.linspace(0.0, 1.0, 12)[:, None]
            points = packed["start"] + t * (packed["end"] - packed["start"])
            radii = packed["radii"][0] + t[:, 0] * (packed["radii"][1] - packed["radii"][0])
            balls[v] = at + ps.math.rotate(turn, points), radii
    for a, b in pairs:
        if a in balls and b in balls:
            (p, r), (q, s) = balls[a], balls[b]
            gap = np.linalg.norm(p[:, :, None] - q[:, None], axis=-1) - r[:, None] - s[None]
            found |= gap.min(axis=(1, 2)) < -learned.softness - 1e-5
    return found


@pytest.mark.parametrize("shape", ["flat", "relaxed", "fist", "open"])
def test_what_reaches_has_no_finger_in_the_body(figure, targets, shape):
    start = with_hands(figure, shape)
    reacher = ps.Reacher(figure, right=ps.Behaviour.default(figure, "right_arm"))
    placed = figure.place(start, "right_hand", targets, self_collision=True)
    for answer in (placed, reacher.solve(right=targets, start=start)):
        ok = np.flatnonzero(answer.status == Status.REACHED)
        poses = ps.Pose(answer.pose.translation[ok], answer.pose.rotations[ok])
        assert len(ok) > 300
        wrong = touching_hand(figure, poses)
        assert not wrong.any(), (shape, ok[wrong])


def test_a_thumb_that_is_not_out_is_in_nobodys_way(figure, targets):
    """What collides with a flat hand only by its thumb is reached with a hand that hangs loosely, as with a mitten."""
    mitten, kinds = ps.figure(), {}
    for shape in ("flat", "relaxed", "fist"):
        answer = figure.place(with_hands(figure, shape), "right_hand", targets, self_collision=True)
        kinds[shape] = answer.status == Status.COLLISION
    plain = mitten.place(mitten.neutral_pose, "right_hand", targets, self_collision=True).status == Status.COLLISION
    assert (kinds["flat"] & ~kinds["relaxed"]).any()
    assert kinds["relaxed"].sum() <= plain.sum() and kinds["fist"].sum() <= plain.sum()


def test_hands_of_a_batch_that_are_bent_differently_are_each_as_alone(figure, targets):
    shapes = ["flat", "fist", "fist", "open", "relaxed", "flat", "flat", "fist"]
    few = np.concatenate([targets[40 * k : 40 * k + 4] for k in range(8)])
    starts = ps.Pose.stack([with_hands(figure, shapes[k // 4]) for k in range(32)])
    reacher = ps.Reacher(figure, right=ps.Behaviour.default(figure, "right_arm"))
    placed = figure.place(starts, "right_hand", few, self_collision=True)
    reached = reacher.solve(right=few, start=starts)
    for k in range(32):
        alone = figure.place(starts[k], "right_hand", few[k], self_collision=True)
        assert alone.status == placed.status[k]
        np.testing.assert_array_equal(alone.pose.rotations, placed.pose.rotations[k])
        alone = reacher.solve(right=few[k], start=starts[k])
        assert alone.status == reached.status[k]
        np.testing.assert_array_equal(alone.pose.rotations, reached.pose.rotations[k])


def test_volumes_of_a_hand_are_where_its_bent_fingers_are(figure):
    """Seen from the wrist, against the volumes of the whole body in a pose."""
    pose, limb = with_hands(figure, "fist"), figure.limb("right_arm")
    straight, bent = limb_links(figure, "right_arm"), limb_links(figure, "right_arm", pose.rotations)
    assert bent is limb_links(figure, "right_arm", pose.rotations.copy())
    frames, packed = figure.skeleton.forward(pose), figure.volumes.packed
    wrist = figure.index("right_hand")
    hand = np.flatnonzero(bent.links["joint"] == 2)
    anchor = hand[figure.volumes.packed["joint"][bent.volumes[hand]] == wrist][0]

    def world(v: int, end: str) -> np.ndarray:
        joint = int(packed[v]["joint"])
        return frames.positions[joint] + ps.math.rotate(frames.orientations[joint], packed[v][end])

    for row in hand:
        for end in ("start", "end"):
            away = np.linalg.norm(bent.links[row][end] - bent.links[anchor]["start"])
            there = world(int(bent.volumes[row]), end) - world(int(bent.volumes[anchor]), "start")
            np.testing.assert_allclose(away, np.linalg.norm(there), atol=1e-9)
    moved = np.abs(bent.links["end"] - straight.links["end"]).max(axis=-1)
    assert (moved[hand] > 0.01).sum() >= 12 and moved[np.setdiff1d(np.arange(len(moved)), hand)].max() == 0.0
    group = bent.groups[2]
    middle = np.array([group[k] for k in "xyz"])
    ends = np.concatenate([bent.links[end][hand] for end in ("start", "end")])
    assert (np.linalg.norm(ends - middle, axis=-1) <= group["bound"] + 1e-9).all()
    assert limb.limits is not None


def test_hands_that_are_not_finite_leave_their_neighbours_alone(figure, targets):
    starts = ps.Pose.stack([with_hands(figure, "fist")] * 3)
    starts.rotations[1, figure.index("right_index_proximal")] = np.nan
    reacher = ps.Reacher(figure, right=ps.Behaviour.default(figure, "right_arm"))
    for answer in (
        figure.place(starts, "right_hand", targets[:3], self_collision=True),
        reacher.solve(right=targets[:3], start=starts),
    ):
        assert answer.status[1] == Status.INVALID and (answer.status[[0, 2]] != Status.INVALID).all()
        assert np.isfinite(answer.pose.rotations[[0, 2]]).all()
