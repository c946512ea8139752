"""A body as an obstacle to itself: it does not cry wolf, and it sees a hand through the chest."""

import gc
import weakref

import numpy as np
import pytest

import posable as ps
from posable.body.collision.clearance import SelfCollision, limb_links, limb_obstacles
from posable.collision import Scene
from posable.collision.scene import all_gaps
from posable.compute import UnknownNameError
from posable.math import conjugate, multiply, rotate

from ..collision import pairs_of_shapes

LIMBS = ("right_arm", "left_arm", "right_leg", "left_leg")


@pytest.fixture(scope="module")
def body():
    return ps.figure()


def t_pose(body):
    from posable.body.collision.clearance import _free_poses

    return _free_poses(body)[1]


def hand_through_the_chest(body, limb="right_arm"):
    """The neutral pose with a hand in the middle of the chest, an elbow out to the side."""
    frames = body.skeleton.forward(body.neutral_pose)
    chest = frames.positions[[body.index("left_upper_arm"), body.index("right_upper_arm")]].mean(axis=0)
    arm = body.limb(limb, limits=None)
    frame, origin = arm.frame(frames)
    goal = chest - np.array([0.0, 0.12 * body.joint_height / 1.55, 0.0])
    values = arm.solve(rotate(conjugate(frame), goal - origin), swivel=1.2).values
    return arm.pose(body.neutral_pose, values)


def test_standing_walking_and_a_t_pose_touch_nothing(body):
    learned = SelfCollision.of(body)
    for pose in (body.neutral_pose, t_pose(body), ps.samples.walk(body).pose, ps.samples.dance(body).pose):
        assert learned.touching(body.skeleton.forward(pose)) == []


def test_a_hand_through_the_chest_is_seen(body):
    for limb, side in (("right_arm", "right"), ("left_arm", "left")):
        frames = body.skeleton.forward(hand_through_the_chest(body, limb))
        assert SelfCollision.of(body).touches(frames)
        found = SelfCollision.of(body).touching(frames)
        assert any({a, b} >= {f"{side}_palm"} and {a, b} & {"ribs", "left_thorax", "right_thorax"} for a, b in found)


@pytest.mark.parametrize("clip", ["02_01.bvh", "16_35.bvh"])
def test_a_captured_body_walks_without_touching_itself(cmu, clip):
    path = cmu / clip
    if not path.exists():
        pytest.skip(f"no {clip}")
    motion = ps.load(path, repair="cmu")
    body = ps.Humanoid(motion.skeleton)
    learned = SelfCollision.of(body)
    assert learned.touches(body.skeleton.forward(motion.pose[::5])).mean() < 0.01
    assert not learned.touches(body.skeleton.forward(t_pose(body)))
    assert learned.touches(body.skeleton.forward(hand_through_the_chest(body)))


def test_pairs_are_symmetric_and_leave_neighbours_out(body):
    wanted = SelfCollision.of(body).tested
    names = body.volumes.names
    np.testing.assert_array_equal(wanted, wanted.T)
    assert not wanted.diagonal().any()
    for a, b in (("left_biceps", "left_elbow"), ("pelvis", "left_hip"), ("ribs", "belly"), ("skull", "neck")):
        assert not wanted[names.index(a), names.index(b)]
    for a, b in (("left_forearm", "right_forearm"), ("right_elbow", "ribs"), ("left_shin", "right_shin")):
        assert wanted[names.index(a), names.index(b)]
    for a, b in (("left_ear", "left_heel"), ("left_instep", "left_hip")):
        assert not wanted[names.index(a), names.index(b)]


def pairs_of_parts(body, one, other):
    """Whether each volume of the one part is tested against some volume of the other: (A,) bools."""
    joints, wanted = body.volumes.packed["joint"], SelfCollision.of(body).tested
    skeleton = body.skeleton
    a, b = ([v for v, j in enumerate(joints) if body.index(part) in skeleton.path(int(j))] for part in (one, other))
    return wanted[np.ix_(a, b)]


MEETING = [
    ("left_hand", "right_hand"),
    ("left_hand", "head"),
    ("right_hand", "head"),
    ("left_hand", "left_upper_leg"),
    ("right_hand", "left_upper_leg"),
    ("right_hand", "left_lower_arm"),
    ("left_foot", "right_foot"),
    ("left_foot", "right_lower_leg"),
]


@pytest.mark.parametrize(("one", "other"), MEETING)
def test_parts_that_can_meet_are_tested_though_random_poses_never_bring_them_together(body, one, other):
    kept = pairs_of_parts(body, one, other)
    assert kept.any(axis=1).all()  # every volume of a hand, of a foot
    assert kept.mean() > 0.6 or other == "left_upper_leg"  # a thigh has volumes that a hand cannot get at


@pytest.mark.parametrize(("one", "other"), MEETING)
def test_a_captured_bodys_parts_that_can_meet_are_tested_too(captured, one, other):
    assert pairs_of_parts(captured, one, other).any(axis=1).all()


@pytest.fixture(scope="module")
def captured(cmu):
    return ps.Humanoid(ps.load(cmu / "02_01.bvh", repair="cmu").skeleton)


def test_two_palms_are_kept_apart(body):
    names, wanted = body.volumes.names, SelfCollision.of(body).tested
    assert wanted[names.index("left_palm"), names.index("right_palm")]


@pytest.mark.parametrize("height", [0.1, 1.0, 2.0, 10.0])
def test_a_small_and_a_large_body_test_the_same_pairs(body, height):
    other = SelfCollision.of(ps.figure(height=height))
    np.testing.assert_array_equal(other.tested, SelfCollision.of(body).tested)


def test_learning_is_the_same_every_time(body):
    again = SelfCollision.of(ps.figure())
    np.testing.assert_array_equal(again.tested, SelfCollision.of(body).tested)


def test_what_was_learned_does_not_keep_a_body_alive():
    body = ps.figure(height=1.5)
    limb_links(body, "left_arm")
    gone = weakref.ref(body)
    del body
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("limb", LIMBS)
def test_links_in_the_limbs_own_frames_are_where_the_body_has_them(body, limb):
    """Any posture: a link placed by the limb's model, and the body's volume placed by its joint, are the same."""
    rng = np.random.default_rng(0)
    part, made = body.limb(limb, limits=None), limb_links(body, limb)
    for _ in range(20):
        values = rng.uniform(-1.0, 1.0, 7) * [1, 1, 1, 0, 0, 1, 1]
        values[3] = part.packed["flex"][0] * rng.uniform(0.1, 2.0)
        pose = part.pose(body.neutral_pose, values)
        frames = body.skeleton.forward(pose)
        turns, places = limb_frames(part, values)
        frame, origin = part.frame(frames)
        joint = body.volumes.packed["joint"][made.volumes]
        for field in ("start", "end"):
            world = frames.positions[joint] + rotate(
                frames.orientations[joint], body.volumes.packed[field][made.volumes]
            )
            seen = rotate(conjugate(frame), world - origin)
            own = places[made.links["joint"]] + rotate(turns[made.links["joint"]], made.links[field])
            np.testing.assert_allclose(own, seen, atol=1e-9)


def limb_frames(part, values):
    """(turns (3, 4), places (3, 3)) of base, mid and end of a limb, in its frame."""
    from posable.limb.kernels import rotations_of

    base, middle, swing = (np.array(q) for q in rotations_of(tuple(float(v) for v in values)))
    turns = np.stack([base, multiply(base, middle), multiply(multiply(base, middle), swing)])
    told = part.forward(values)
    np.testing.assert_allclose(turns[2], told.orientation * np.sign(turns[2] @ told.orientation), atol=1e-12)
    return turns, np.stack([np.zeros(3), told.mid, told.end])


@pytest.mark.parametrize("limb", LIMBS)
def test_the_limbs_own_test_agrees_with_brute_force_over_all_pairs(body, limb):
    rng = np.random.default_rng(1)
    part, made = body.limb(limb, limits=None), limb_links(body, limb)
    scene = Scene().box("table", (1.2, 0.05, 0.8), (0.0, 0.9, 0.5)).sphere("lamp", 0.15, (0.3, 1.5, 0.3))
    frames = body.skeleton.forward(body.neutral_pose)
    obstacles = limb_obstacles(body, limb, frames, scene)
    assert obstacles["source"][-2:].tolist() == [0, 1]
    hits = 0
    for _ in range(100):
        values = rng.uniform(-1.5, 1.5, 7) * [1, 1, 1, 0, 0, 0.5, 0.5]
        values[3] = part.packed["flex"][0] * rng.uniform(0.0, 2.5)
        turns, places = limb_frames(part, values)
        out = np.empty(1, np.int64)
        pairs_of_shapes.limb_touching_rows(
            1, made.links, made.groups, turns[None], places[None, 1:], obstacles, 0.0, out
        )
        gaps = all_gaps(made.links, places, turns, obstacles) + obstacles["softness"]
        spared = (obstacles["spares"][None, :] >> np.arange(len(made.links))[:, None]) & 1 == 1
        touched = ((gaps < 0.0) & ~spared).any(axis=0)
        assert (out[0] >= 0) == touched.any()
        assert out[0] < 0 or touched[out[0]]
        hits += out[0] >= 0
    assert 5 < hits < 100


def test_obstacles_follow_the_pose_and_a_batch_has_rows_for_each(body):
    motion = ps.samples.walk(body)
    frames = body.skeleton.forward(motion.pose)
    rows = limb_obstacles(body, "right_arm", frames)
    assert rows.shape == (len(motion), len(limb_links(body, "right_arm").obstacles))
    one = limb_obstacles(body, "right_arm", body.skeleton.forward(motion[7]))
    np.testing.assert_array_equal(rows[7], one)
    assert limb_obstacles(body, "right_arm", frames, self_collision=False).shape == (len(motion), 0)


def test_an_unknown_limb_is_refused_with_the_known_ones(body):
    with pytest.raises(UnknownNameError, match="right_arm"):
        limb_links(body, "right_wing")
