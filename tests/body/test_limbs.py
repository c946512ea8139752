"""Limbs of bodies: what is read from a pose can be put back, and hands go where they are sent."""

from pathlib import Path

import numpy as np
import pytest

import posable as ps
import posable.math as pm
from posable.compute import ShapeError, Status, UnknownNameError
from posable.limb import LIMBS

from .bodies import all_bodies

RIGS = {
    "boxing": ("cmu/17_10.bvh", {"repair": "cmu", "first_frame": 1}),
    "yoga": ("cmu/113_28.bvh", {"repair": "cmu", "first_frame": 1}),
    "CesiumMan": ("characters/CesiumMan.glb", {}),
    "knight": ("characters/KayKit_Knight.glb", {}),
    "RiggedFigure": ("characters/RiggedFigure.glb", {}),
}


@pytest.fixture(scope="module")
def body() -> ps.Humanoid:
    return ps.figure()


@pytest.fixture(scope="module", params=RIGS)
def motion(request: pytest.FixtureRequest, data_dir: Path) -> ps.Motion:
    path, options = RIGS[request.param]
    return ps.load(data_dir / path, **options)


@pytest.mark.parametrize("name", LIMBS)
def test_a_limb_read_from_a_captured_pose_and_posed_back_changes_nothing(motion: ps.Motion, name: str):
    body = ps.Humanoid(motion.skeleton)
    limb = body.limb(name)
    reading = limb.read(motion.pose)
    back = body.pose_limb(motion.pose, name, reading.values)
    before, after = motion.skeleton.forward(motion.pose), motion.skeleton.forward(back)
    assert np.abs(after.positions - before.positions).max() < 1e-9
    assert pm.angle(after.orientations, before.orientations).max() < 1e-9
    if motion.pose.offsets is not None:
        return  # these files change the bones' lengths, and forward() has the skeleton's
    frames = limb.forward(reading.values)
    assert np.abs(frames.end - reading.position).max() < 1e-9
    assert pm.angle(frames.orientation, reading.orientation).max() < 1e-9


@pytest.mark.parametrize("name", LIMBS)
def test_the_swivel_read_is_the_swivel_that_gives_the_elbow_back(motion: ps.Motion, name: str):
    body = ps.Humanoid(motion.skeleton)
    limb = body.limb(name, limits=None)
    reading = limb.read(motion.pose)
    model = limb._model(motion.pose, motion.skeleton.forward(motion.pose))
    answer = limb._solve(reading.position, reading.orientation, swivel=reading.swivel, model=model)
    near = answer.position_error < 1e-9
    assert near.all()
    posed = limb.pose(motion.pose, answer.values, reading)
    mid = body.limb_joints(name)[1]
    moved = motion.skeleton.forward(posed).positions[:, mid] - motion.skeleton.forward(motion.pose).positions[:, mid]
    # The distance of a stretched limb's end tells its mid joint's place to half the digits only.
    bent = np.abs(reading.values[:, 3]) > 1e-3
    assert np.abs(moved[bent]).max() < 1e-9
    assert np.abs(moved[~bent]).max(initial=0) < 1e-7


def test_captured_knees_and_elbows_swivel_as_the_specification_measured(data_dir: Path):
    motion = ps.load(data_dir / "cmu/17_10.bvh", repair="cmu", first_frame=1)
    body = ps.Humanoid(motion.skeleton)
    knee = np.degrees(body.limb("left_leg").read(motion.pose).swivel)
    assert abs(np.median(knee)) < 15  # forward
    elbow = np.degrees(body.limb("right_arm").read(motion.pose).swivel)
    assert 0 < np.median(elbow) < 60  # down and out


@pytest.mark.parametrize("part", ["right_hand", "left_hand", "right_foot", "left_foot"])
def test_a_part_goes_exactly_where_it_is_sent_and_the_rest_stays(motion: ps.Motion, part: str):
    body = ps.Humanoid(motion.skeleton)
    step = max(1, len(motion) // 40)
    poses = motion.pose[::step]
    before = motion.skeleton.forward(poses)
    goal = before.positions[:, body.index(part)] + body.leg_length * np.array([0.03, 0.04, 0.05])
    told = body.place(poses, part, ps.Target(goal))
    after = motion.skeleton.forward(told.pose)
    there = after.positions[:, body.index(part)]
    np.testing.assert_allclose(np.linalg.norm(there - goal, axis=-1), told.position_error, atol=1e-12)
    assert told.position_error[told.ok].max(initial=0) < 1e-9
    assert told.ok.mean() > 0.2  # a straight leg cannot go everywhere, nor a yogi's inside our limits
    limb = set(motion.skeleton.path(body.index(part))) - set(motion.skeleton.path(body.index(part))[:-3])
    below = {j for j in range(len(motion.skeleton)) if limb & set(motion.skeleton.path(j))}
    others = [j for j in range(len(motion.skeleton)) if j not in below]
    np.testing.assert_array_equal(after.positions[:, others], before.positions[:, others])


def test_an_orientation_asked_for_is_the_canonical_one_of_the_part():
    body = ps.figure()
    turn = pm.exp([-1.2, 0.2, 0.1])  # the hand points ahead
    told = body.place(body.neutral_pose, "right_hand", ps.Target([-0.25, 1.1, 0.35], turn))
    assert told.status is Status.REACHED
    frames = body.skeleton.forward(told.pose)
    hand = pm.multiply(
        frames.orientations[body.index("right_hand")], pm.conjugate(body.neutral_orientation("right_hand"))
    )
    assert pm.angle(hand, turn) < 1e-9
    assert told.orientation_error < 1e-9


def test_the_elbow_turns_towards_its_pole():
    body = ps.figure()
    goal = [-0.2, 1.2, 0.3]
    elbow = body.index("right_lower_arm")
    out = body.place(body.neutral_pose, "right_hand", ps.Target(goal, pole=[-2.0, 1.2, 0.1]))
    low = body.place(body.neutral_pose, "right_hand", ps.Target(goal, pole=[-0.2, -1.0, 0.1]))
    places = [body.skeleton.forward(told.pose).positions[elbow] for told in (out, low)]
    assert out.ok and low.ok
    assert places[0][0] < places[1][0] - 0.02  # further out to the right, which is -X
    assert places[1][1] < places[0][1] - 0.02  # further down


def test_what_is_too_far_stretches_towards_it_and_a_bad_target_changes_nothing():
    body = ps.figure()
    told = body.place(body.neutral_pose, "right_hand", ps.Target([[-3.0, 1.4, 0.0], [np.nan, 0, 0], [-0.3, 1.2, 0.3]]))
    assert told.status.tolist() == [Status.UNREACHABLE, Status.INVALID, Status.REACHED]
    assert told.pose.is_finite()
    np.testing.assert_array_equal(told.pose[1].rotations, body.neutral_pose.rotations)
    hand = body.skeleton.forward(told.pose).positions[0, body.index("right_hand")]
    assert hand[0] < -0.6
    with pytest.raises(UnknownNameError, match="did you mean 'right_hand'"):
        body.place(body.neutral_pose, "righthand", ps.Target([0, 0, 0]))


def test_what_is_placed_inside_the_limits_is_read_inside_them_on_every_rig(data_dir: Path):
    beside = {name for name in all_bodies(data_dir) if name.startswith("unreal")}  # its twist joints hang beside
    for name, body in all_bodies(data_dir).items():
        rng = np.random.default_rng(0)
        for limb, part in (("right_arm", "right_hand"), ("left_leg", "left_foot")):
            base = body.skeleton.forward(body.neutral_pose).positions[body.limb_joints(limb)[0]]
            places = base + rng.normal(0.0, 0.5 * body.limb(limb).length, (300, 3))
            placed = body.place(body.neutral_pose, part, ps.Target(places, pm.exp(rng.normal(0.0, 0.6, (300, 3)))))
            pose = placed.pose[placed.ok]
            assert len(pose) > 20, name
            told = body.canonical(pose)
            for role in (role for role in told.roles if role in body.limits and name not in beside):
                assert body.limits.contains(role, told.rotation(role), 1e-6).all(), (name, role)
            back = body.pose(told, base=pose)
            assert pm.angle(back.rotations, pose.rotations).max() < 1e-7, name


def test_a_twist_is_handed_out_over_the_joints_a_rig_has_for_it(data_dir: Path):
    body = ps.Humanoid(ps.load(data_dir / "characters/makehuman/default.mhskel").skeleton)
    arm = body.limb("right_arm")
    assert arm.packed["last_driven"] - arm.packed["first_driven"] > 2
    values = np.zeros(7)
    values[3:5] = 1.0, 1.2
    still, turned = values.copy(), values
    still[4] = 0.0
    pose = body.neutral_pose
    a, b = (body.skeleton.forward(arm.pose(pose, v)) for v in (still, turned))
    _, mid, end = body.limb_joints("right_arm")
    way = [j for j in body.skeleton.path(end) if mid in body.skeleton.path(j)]
    angles = pm.angle(a.orientations[way], b.orientations[way])
    assert (np.diff(angles[:-1]) > 0.1).all()  # more and more of it towards the wrist, which has none of its own
    np.testing.assert_allclose(angles[-2:], 1.2, atol=1e-9)
    np.testing.assert_allclose(a.positions[end], b.positions[end], atol=2e-3)


def touching_pairs(body: ps.Humanoid, pose: ps.Pose, limb: str) -> list[tuple[str, str]]:
    """Pairs of the body's own volumes that touch and of which one is the limb's."""
    from posable.body.collision.clearance import SelfCollision, limb_links

    own = {body.volumes.names[k] for k in limb_links(body, limb).volumes}
    return [pair for pair in SelfCollision.of(body).touching(body.skeleton.forward(pose)) if own & set(pair)]


def test_the_elbow_keeps_out_of_the_body():
    body = ps.figure()
    rng = np.random.default_rng(3)
    goals = rng.uniform([-0.35, 0.95, 0.1], [0.25, 1.5, 0.35], size=(300, 3))
    poses = ps.Pose.stack([body.neutral_pose] * len(goals))
    blind = body.place(poses, "right_hand", ps.Target(goals))
    careful = body.place(poses, "right_hand", ps.Target(goals), self_collision=True)
    hits = [
        sum(bool(touching_pairs(body, told.pose[k], "right_arm")) for k in np.flatnonzero(told.ok))
        for told in (blind, careful)
    ]
    assert hits[0] > 5  # otherwise this test shows nothing
    assert hits[1] == 0
    assert (careful.status == Status.COLLISION).sum() + careful.ok.sum() > 100
    assert careful.position_error[careful.ok].max() < 1e-9


def test_the_arm_keeps_out_of_a_table():
    body = ps.figure()
    target = ps.Target([-0.3, 1.27, 0.3], pole=[-0.3, -1.0, 0.2])
    table = ps.Scene().box("table", (0.6, 0.04, 0.9), (-0.52, 1.13, 0.35))
    volumes = body.volumes

    def touches(scene: ps.Scene, pose: ps.Pose) -> bool:
        frames = body.skeleton.forward(pose)
        return scene.touches(volumes, frames.positions, frames.orientations)

    start = body.place(body.neutral_pose, "right_hand", target).pose
    told = body.place(body.neutral_pose, "right_hand", target, scene=table)
    assert touches(table, start)  # the elbow hangs into the table top
    assert told.status is Status.REACHED
    assert not touches(table, told.pose)


def test_a_scene_s_meshes_are_kept_out_of_too():
    pytest.importorskip("coal")
    body = ps.figure()
    corners = np.array([[x, y, z] for x in (-0.82, -0.22) for y in (1.11, 1.15) for z in (-0.1, 0.8)])
    faces = [
        [0, 1, 3],
        [0, 3, 2],
        [4, 6, 7],
        [4, 7, 5],
        [0, 4, 5],
        [0, 5, 1],
        [2, 3, 7],
        [2, 7, 6],
        [0, 2, 6],
        [0, 6, 4],
        [1, 5, 7],
        [1, 7, 3],
    ]
    slab = ps.Scene().mesh("slab", corners, np.array(faces))
    target = ps.Target([-0.3, 1.27, 0.3], pole=[-0.3, -1.0, 0.2])
    told = body.place(body.neutral_pose, "right_hand", target, scene=slab)
    frames = body.skeleton.forward(told.pose)
    blind = body.skeleton.forward(body.place(body.neutral_pose, "right_hand", target).pose)
    assert slab.touches(body.volumes, blind.positions, blind.orientations)
    assert told.status is Status.REACHED
    assert not slab.touches(body.volumes, frames.positions, frames.orientations)


def test_a_batch_of_placements_is_each_of_them_in_any_shape_that_broadcasts(motion: ps.Motion):
    body = ps.Humanoid(motion.skeleton)
    poses = motion.pose[:: max(1, len(motion) // 5)][:5]
    base = motion.skeleton.forward(poses).positions[:, body.index("left_upper_arm")]
    rng = np.random.default_rng(0)
    goals = base[:, None] + body.limb("left_arm").length * rng.uniform(-0.6, 0.6, (5, 3, 3))
    turn, pole = pm.exp(rng.normal(size=(3, 3)) * 0.3), base[:, None] + [1.0, -0.5, 0.2]
    wide = poses.reshape(len(poses), 1)
    told = body.place(wide, "left_hand", ps.Target(goals, turn, pole))
    assert told.pose.shape == told.status.shape == told.position_error.shape == (5, 3)
    for i, k in np.ndindex(5, 3):
        one = body.place(poses[i], "left_hand", ps.Target(goals[i, k], turn[k], pole[i, 0]))
        assert one.status == told.status[i, k]
        np.testing.assert_array_equal(one.pose.rotations, told.pose[i, k].rotations)
        np.testing.assert_array_equal(one.position_error, told.position_error[i, k])


def test_a_target_of_the_wrong_shape_is_refused_by_its_name():
    body = ps.figure()
    with pytest.raises(ShapeError, match="orientation"):
        body.place(body.neutral_pose, "right_hand", ps.Target([0.0, 1.0, 0.3], [0.0, 0.0, 1.0]))
    with pytest.raises(ShapeError, match="do not broadcast"):
        body.place(body.neutral_pose, "right_hand", ps.Target(np.zeros((2, 3)), np.ones((3, 4))))


def test_a_misspelt_option_is_answered_with_the_nearest_name():
    body = ps.figure()
    with pytest.raises(ps.PosableError, match="self_collision"):
        body.place(body.neutral_pose, "right_hand", ps.Target([0.0, 1.0, 0.3]), self_colision=True)


def test_errors_and_status_are_those_of_the_returned_pose(data_dir: Path):
    rng = np.random.default_rng(3)
    for name, body in all_bodies(data_dir).items():
        part = ("right_hand", "left_hand", "right_foot", "left_foot")[len(name) % 4]
        joint, reach = body.index(part), body.limb(part.replace("hand", "arm").replace("foot", "leg")).length
        base = body.neutral_frames.positions[body.limb_joints(part.replace("hand", "arm").replace("foot", "leg"))[0]]
        goals = base + rng.normal(size=(60, 3)) * 0.5 * reach
        orientations = pm.exp(rng.normal(0.0, 0.5, (60, 3)))
        solution = body.place(body.neutral_pose, part, ps.Target(goals, 3.0 * orientations))
        frames = body.skeleton.forward(solution.pose)
        away = np.linalg.norm(frames.positions[:, joint] - goals, axis=-1)
        canonical = pm.multiply(frames.orientations[:, joint], pm.conjugate(body.neutral_orientation(part)))
        turned = pm.angle(canonical, orientations)
        np.testing.assert_allclose(solution.position_error, away, atol=1e-9 * reach, err_msg=name)
        np.testing.assert_allclose(solution.orientation_error, turned, atol=1e-7, err_msg=name)
        assert (away[solution.ok] < 2e-9 * max(reach, 1.0)).all() and (turned[solution.ok] < 2e-6).all(), name
        assert repr(solution).startswith("PlaceSolution(60 rows: ") and "\n" not in repr(solution)


def test_positions_alone_are_a_target(body: ps.Humanoid):
    position = np.array([[-0.3, 1.3, 0.35], [-0.2, 1.1, 0.4]])
    alone = body.place(body.neutral_pose, "right_hand", position)
    full = body.place(body.neutral_pose, "right_hand", ps.Target(position))
    np.testing.assert_array_equal(alone.pose.rotations, full.pose.rotations)
    np.testing.assert_array_equal(alone.status, full.status)
    with pytest.raises(ps.PosableError, match="the target"):
        body.place(body.neutral_pose, "right_hand", "there")


@pytest.mark.parametrize("name", LIMBS)
def test_a_world_orientation_is_that_of_the_rigs_joint(body: ps.Humanoid, name: str):
    limb, end = body.limb(name, limits=None), body.limb_joints(name)[2]
    pose = ps.samples.throw(body).pose[::20]
    frames = body.skeleton.forward(pose)
    goal = pm.multiply(frames.orientations[:, end], pm.axis_angle([0.6, 0.8, 0.0], 0.4))
    target = ps.Target(frames.positions[:, end], world_orientation=goal)
    placed = body.skeleton.forward(limb.place(pose, target).pose)
    assert pm.angle(placed.orientations[:, end], goal).max() < 1e-9
    assert np.abs(placed.positions[:, end] - frames.positions[:, end]).max() < 1e-9
    with pytest.raises(ps.PosableError, match="give one of them"):
        ps.Target([0, 1, 0], [1, 0, 0, 0], world_orientation=[1, 0, 0, 0])


def test_a_hand_that_looks_at_a_point_points_its_fingers_there(body: ps.Humanoid):
    limb, end = body.limb("right_arm", limits=None), body.limb_joints("right_arm")[2]
    position, point = np.array([-0.3, 1.2, 0.3]), np.array([[-0.3, 1.2, 2.0], [1.0, 0.4, 0.5], [-0.3, 5.0, 0.3]])
    placed = body.skeleton.forward(limb.place(body.neutral_pose, ps.Target.look_at(position, point)).pose)
    neutral = body.skeleton.forward(body.neutral_pose).orientations[end]
    fingers = pm.rotate(pm.multiply(placed.orientations[:, end], pm.conjugate(neutral)), np.array([0.0, -1.0, 0.0]))
    direction = (point - position) / np.linalg.norm(point - position, axis=-1, keepdims=True)
    np.testing.assert_allclose(fingers, direction, atol=1e-9)
    with pytest.raises(ps.PosableError, match="nothing to point at"):
        ps.Target.look_at(position, position)
