"""A person's motion on robots, judged by plain NumPy from what is returned."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import posable as ps
from posable.compute import threads
from posable.robots.packing import capsules
from posable.skeleton.robot import Shape

SLIDE, SUNK = 1e-3, 2e-3  # [m]
CLIPS = ("02_01", "16_18", "05_02", "124_01", "127_23", "135_04", "17_10")
FILES = {
    "g1": "mjcf/unitree_g1/g1.xml",
    "h1": "mjcf/h1/h1_mjx_feetonly.xml",
    "t1": "mjcf/t1/t1_mjx_feetonly.xml",
    "op3": "mjcf/op3/op3_mjx_feetonly.xml",
    "nao": "nao_v50.urdf",
}


def quat(q):
    return Rotation.from_quat(np.roll(q, -1, axis=-1))


def world(skeleton, pose, joint):
    """Positions (F, 3) and rotations of one joint, down its path."""
    path = skeleton.path(joint)
    at, turned = pose.translation, quat(pose.rotations[:, 0])
    for j in path[1:]:
        at = at + turned.apply(np.array(skeleton.offsets[j]))
        turned = turned * quat(pose.rotations[:, j])
    return at, turned


def contacts(motion, person, fps):
    """(side, frames) in which toes are lower than 6 cm and slower than 25 cm/s, the lowest at 2 cm."""
    sides = ("left", "right")
    toes = {side: world(motion.skeleton, motion.pose, person.roles[f"{side}_toes"])[0] for side in sides}
    lowest = min(toe[:, 1].min() for toe in toes.values())
    found = []
    for side, toe in toes.items():
        speed = np.linalg.norm(np.gradient(toe, axis=0), axis=1) * fps
        on = np.flatnonzero((toe[:, 1] - lowest + 0.02 < 0.06) & (speed < 0.25))
        found += [(side, rows) for rows in np.split(on, np.flatnonzero(np.diff(on) > 1) + 1) if len(rows)]
    return found


def footing(solution, motion, person, robot):
    """The largest distance of two positions of a sole's tip along the floor, and the deepest corner, in contact [m]."""
    slide, sunk = [0.0], [0.0]
    for side, rows in contacts(motion, person, motion.fps):
        sole = robot.robot_parts.soles[f"{side}_foot"]
        at, turned = world(robot.skeleton, solution.motion.pose, sole.joint)
        ahead = sole.outline @ sole.forward
        tip = sole.outline[ahead > ahead.max() - 0.1 * np.ptp(ahead)].mean(axis=0)
        place = (at + turned.apply(tip))[rows][:, [0, 2]]
        slide.append(np.linalg.norm(place[:, None] - place[None], axis=-1).max())
        corners = [(at + turned.apply(np.array(c)))[rows, 1] for c in sole.outline]
        sunk.append(-np.min(corners))
    return slide, sunk


def rates(solution, robot):
    """How far joints are outside their limits, and their speeds over those of the file, both the worst."""
    record = robot.robot
    joints = slice(6, None)
    values = solution.values[:, joints]
    excess = np.maximum(values - record.upper[joints], record.lower[joints] - values).max(initial=-np.inf)
    speeds = np.abs(np.diff(values, axis=0)) * solution.motion.fps
    most = np.where(np.isfinite(record.velocity[joints]), record.velocity[joints], 20.0)
    return float(excess), float((speeds / most).max(initial=0.0))


def check(solution, motion, person, robot):
    slide, sunk = footing(solution, motion, person, robot)
    excess, speed = rates(solution, robot)
    assert max(slide) <= SLIDE
    assert max(sunk) <= SUNK
    assert excess <= 1e-9
    assert speed <= 1.0 + 1e-6
    made = robot.joint_values(solution.motion.pose)
    np.testing.assert_allclose(made, solution.values, atol=1e-9)


@pytest.mark.parametrize("which", ["robot", "edgy"])
def test_a_walk_stands_on_feet_that_neither_slide_nor_sink(which, walk, person, request):
    robot = request.getfixturevalue(which)
    solution = ps.retarget(walk, person, robot)
    check(solution, walk, person, robot)
    assert solution.ok.mean() > 0.9
    assert solution.depth.max() < 5e-3


@pytest.mark.parametrize("clip", CLIPS)
@pytest.mark.parametrize("name", FILES)
def test_captured_motions_stand_and_keep_to_limits_and_motors(name, clip, data_dir, cmu):
    robot = ps.Humanoid(ps.formats.read_robot(data_dir / "robots" / FILES[name]))
    motion = ps.load(cmu / f"{clip}.bvh", repair="cmu", first_frame=1)[::4]
    person = ps.Humanoid(motion.skeleton)
    solution = ps.retarget(motion, person, robot)
    check(solution, motion, person, robot)
    assert (solution.depth > 5e-3).mean() <= 0.01


@pytest.mark.parametrize("name", FILES)
def test_every_robot_walks_with_no_configuration(name, data_dir, cmu):
    robot = ps.Humanoid(ps.formats.read_robot(data_dir / "robots" / FILES[name]))
    motion = ps.load(cmu / "16_18.bvh", repair="cmu", first_frame=1)[::4]
    person = ps.Humanoid(motion.skeleton)
    solution = ps.retarget(motion, person, robot)
    check(solution, motion, person, robot)
    hips = world(robot.skeleton, solution.motion.pose, robot.robot_parts.hips)[0]
    asked = solution.ratio * world(motion.skeleton, motion.pose, person.roles["hips"])[0]
    gone, path = np.ptp(hips, axis=0), np.ptp(asked, axis=0)
    assert np.abs(gone - path)[[0, 2]].max() < 0.15 * robot.leg_length + 0.1 * path.max()


def test_answers_are_the_same_on_one_thread_and_many(walk, person, robot):
    many = ps.retarget(walk, person, robot)
    with threads(1):
        one = ps.retarget(walk, person, robot)
    assert (many.values == one.values).all()
    assert (many.status == one.status).all()


def test_bad_frames_are_invalid_and_leave_their_neighbours_alone(walk, person, robot):
    rotations, translation = walk.pose.rotations.copy(), walk.pose.translation.copy()
    rotations[40, 3], translation[90] = np.nan, np.inf
    broken = ps.retarget(walk.replace(pose=ps.Pose(translation, rotations)), person, robot)
    whole = ps.retarget(walk, person, robot)
    assert broken.status[[40, 90]].tolist() == [ps.Status.INVALID] * 2
    assert np.isfinite(broken.values).all()
    assert np.abs(broken.values[150:] - whole.values[150:]).max() < 0.02
    assert (broken.status == ps.Status.INVALID).sum() == 2


def test_a_first_frame_at_the_origin_is_no_floor_for_the_others(walk, person, robot):
    translation, rotations = np.array(walk.pose.translation), np.array(walk.pose.rotations)
    translation[0], rotations[0] = [0.3, -0.2, 0.5], person.neutral_pose.rotations
    translation[1:, 1] += 0.8
    lifted = walk.replace(pose=ps.Pose(translation, rotations))
    solution = ps.retarget(lifted, person, robot)
    height = footing(solution, walk, person, robot)[1]
    assert max(np.abs(height[1:])) < 0.02


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_short_motions_have_as_many_frames(count, walk, person, robot):
    solution = ps.retarget(walk[:count], person, robot)
    assert len(solution.motion) == count and solution.values.shape == (count, len(robot.skeleton.dofs))
    assert np.isfinite(solution.values).all()


def test_slow_motors_are_never_asked_for_more(walk, person, robot):
    solution = ps.retarget(walk, person, robot, speeds=2.0)
    speeds = np.abs(np.diff(solution.values[:, 6:], axis=0)) * walk.fps
    assert speeds.max() <= 2.0 * (1.0 + 1e-6)


def test_a_person_as_target_is_answered_as_before(walk, person):
    taller = ps.figure(height=1.9)
    assert type(ps.retarget(walk[:5], person, taller)).__name__ == "RetargetSolution"


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"hands": -1.0}, "hands is -1.0"),
        ({"speeds": [1.0, 2.0]}, "speeds are"),
        ({"accelerations": 0.0}, "accelerations are 0"),
        ({"lookahead": 3}, "expected 0, 1 or 2 frames"),
    ],
)
def test_a_wrong_setting_is_said_in_one_sentence(settings, problem, walk, person, robot):
    with pytest.raises(ps.PosableError, match=problem):
        ps.retarget(walk[:3], person, robot, **settings)


def test_a_robot_with_one_leg_is_refused(tmp_path):
    from .robot_files import biped

    with pytest.raises(ps.PosableError, match="no two legs"):
        biped(tmp_path, one_leg=True)


def test_a_motion_of_another_body_is_refused(walk, robot):
    with pytest.raises(ps.PosableError, match="expected the body that performs it"):
        ps.retarget(walk[:3], ps.figure(height=1.2), robot)


def test_a_thin_plate_is_a_few_capsules():
    """Of a plate a nanometre thick there would be millions."""
    plate = Shape(0, "box", np.array([1e6, 0.04, 1e-9]), np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]))
    made = capsules(plate)
    assert 2 <= len(made) <= 64
    along = np.array(made[0][:2])
    assert np.ptp(along[:, 0]) > 0.99e6  # as long as the plate
