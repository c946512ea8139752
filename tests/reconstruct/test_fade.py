"""Where a prior does not know, its weight falls, and the body goes over to that of the method without one."""

import numpy as np
import pytest

import posable as ps
from posable.evaluate.measures import scored_joints
from posable.evaluate.reconstruct import motion_of
from posable.reconstruct.mirrors import proportions
from posable.reconstruct.prior_fade import weight_of
from posable.reconstruct.prior_kernels import DOUBT, LEGS, PREDICTED, TRUNK
from posable.reconstruct.prior_layout import ERRORS

THREE = ("head", "left_hand", "right_hand")


def weights(solver, points, turns=None):
    """The weight of every frame of a stream."""
    stream, found = solver.stream(60.0), []
    for k in range(len(points)):
        stream.step(points[k], None if turns is None else {role: q[k] for role, q in turns.items()})
        found.append(weight_of(solver._net, (stream._with_orientations if turns else stream._plain).work[0]))
    return np.array(found)


def fading(solver, doubt):
    """The solver with so much added to the logarithm of the error that it expects."""
    scales = solver._net.scales.copy()
    scales[DOUBT] = doubt
    solver._net = solver._net._replace(scales=scales)
    return solver


@pytest.fixture(scope="module")
def body():
    return ps.figure()


@pytest.fixture(scope="module")
def characters(data_dir):
    return data_dir / "characters"


@pytest.fixture(scope="module")
def walk(body):
    return body.skeleton.forward(ps.samples.walk(body).pose).positions[:120]


def seen(body, positions, markers):
    return positions[:, [body.index(role) for role in markers]]


def test_the_weight_is_one_where_the_network_knows_and_falls_where_it_expects_errors(body, walk):
    assert weights(ps.SequentialIK(body), seen(body, walk, ps.MARKERS)).min() == 1.0
    solver, points = ps.SequentialIK(body, markers=THREE), seen(body, walk, THREE)
    assert weights(solver, points).min() > 0.9
    upside_down = points * [1.0, -1.0, 1.0] + [0.0, 1.7, 0.0]  # hands above a head near the floor
    assert weights(solver, upside_down)[-1] < 0.8


def test_the_weight_is_continuous_and_falls_with_the_expected_error(body):
    solver = ps.SequentialIK(body)
    work = np.zeros(PREDICTED + ERRORS + 1)
    found = []
    for error in np.linspace(-9.0, 5.0, 2801):
        work[PREDICTED + ERRORS] = error
        found.append(weight_of(solver._net, work))
    assert found[0] == 1.0 and found[-1] == 0.0
    steps = -np.diff(found)
    assert steps.min() >= 0.0 and 0.0 < steps.max() < 0.005


def test_a_stream_that_leaves_what_is_known_does_not_jump(body, walk):
    """The head sinks below the hands within two seconds and rises; without fading a foot jumps by 0.3 m."""
    solver, points = ps.SequentialIK(body, markers=THREE), np.repeat(seen(body, walk, THREE)[:1], 240, axis=0)
    swing = np.sin(np.linspace(0.0, np.pi, 240))
    points[:, :, 1] -= 1.3 * swing[:, None] * [1.0, 0.6, 0.2]
    away = weights(solver, points)
    assert away.min() < 0.8 and away.max() > 0.9
    assert np.abs(np.diff(away)).max() < 0.1
    assert largest_step(body, solver, points) < 0.1
    assert largest_step(body, fading(solver, -50.0), points) > 0.25


def largest_step(body, solver, points):
    """How far hips or feet move from frame to frame at most [m]."""
    places = body.skeleton.forward(solver.track(points, fps=60.0).motion.pose).positions
    parts = [body.index(role) for role in ("hips", "left_foot", "right_foot")]
    return np.linalg.norm(np.diff(places[:, parts], axis=0), axis=-1).max()


def test_proportions_far_from_those_of_people_are_doubted():
    dwarf = stretched(ps.figure(), {"left_upper_leg": 0.3, "right_upper_leg": 0.3, "left_hand": 3.0, "right_hand": 3.0})
    usual, odd = ps.SequentialIK(ps.figure()), ps.SequentialIK(dwarf)
    assert np.abs(proportions(dwarf) - proportions(ps.figure())).max() > 0.1
    assert odd._net.scales[DOUBT] > 2.0 * usual._net.scales[DOUBT] > 0.0


def stretched(body, factors):
    """A body some of whose bones are so many times as long."""
    skeleton, offsets = body.skeleton, body.skeleton.offsets.copy()
    for role, factor in factors.items():
        offsets[body.index(role)] *= factor
        for child in np.flatnonzero(skeleton.parents == body.index(role)):
            offsets[child] *= factor
    rest = skeleton.rest.rotations
    return ps.Humanoid(
        ps.Skeleton(skeleton.names, skeleton.parents, offsets, rest_rotations=rest, kinds=skeleton.kinds)
    )


@pytest.mark.parametrize("oriented", [False, True])
def test_without_weight_the_body_is_that_of_the_method_without_a_prior(body, walk, oriented):
    """Single poses: hips, head, hands, feet and the pelvis are the same, elbows and knees as near as it gets."""
    points, frames = seen(body, walk, THREE), body.skeleton.forward(ps.samples.walk(body).pose[:120])
    turns = {role: body.canonical_orientation(frames, body.index(role)) for role in THREE} if oriented else None
    places = []
    for solver in (
        fading(ps.SequentialIK(body, markers=THREE), 50.0),
        ps.SequentialIK(body, prior=None, markers=THREE),
    ):
        places.append(body.skeleton.forward(solver.solve(points, turns).pose).positions)
    apart = np.linalg.norm(places[0] - places[1], axis=-1)
    assert apart[:, [body.index(role) for role in ps.MARKERS]].max() < 2e-3
    assert (
        apart[:, [body.index(f"{side}_lower_{part}") for side in ("left", "right") for part in ("arm", "leg")]].max()
        < 0.03
    )
    known = body.skeleton.forward(ps.SequentialIK(body, markers=THREE).solve(points, turns).pose).positions
    assert np.linalg.norm(known - places[1], axis=-1).mean() > 0.01  # the prior says something else


def test_a_weight_between_gives_a_body_between(body, walk):
    points = seen(body, walk, THREE)[:1]
    hips = []
    for doubt in np.linspace(-3.0, 5.0, 161):
        pose = fading(ps.SequentialIK(body, markers=THREE), doubt).solve(points).pose
        hips.append(body.skeleton.forward(pose).positions[0, body.index("hips")])
    steps = np.linalg.norm(np.diff(hips, axis=0), axis=-1)
    whole = np.linalg.norm(hips[-1] - hips[0])
    assert whole > 0.005
    assert steps.max() < 0.1 * whole


def test_lengths_of_people_stay_and_those_of_others_are_brought_to_them(body, characters):
    knight = ps.Humanoid(ps.load(characters / "KayKit_Knight.glb").skeleton)
    people, other = ps.SequentialIK(body)._net.scales, ps.SequentialIK(knight)._net.scales
    assert np.abs(people[: DOUBT - 2] - 1.0).max() < 0.06
    assert other[0] > 1.5 and other[TRUNK] < 0.8 and other[LEGS] > 1.4  # a quarter of his height are legs


@pytest.mark.parametrize("name", ["VRMC_materials_mtoon_UV_Animation_Test.vrm", "CesiumMan.glb"])
@pytest.mark.parametrize("clip", ["02_01", "49_06"])
def test_on_other_bodies_head_and_hands_are_better_with_the_prior(name, clip, cmu, characters):
    """Walking, and a cartwheel: worse by up to 8 cm where neither lengths nor doubts counted."""
    motion, _ = motion_of(cmu / f"{clip}.bvh")
    motion = ps.Motion(motion.skeleton, motion.pose[::4], motion.fps / 4)
    body = ps.Humanoid(ps.load(characters / name).skeleton)
    moved = ps.retarget(motion, ps.Humanoid(motion.skeleton), body).motion
    frames, joints = body.skeleton.forward(moved.pose), scored_joints(body).joints
    points = seen(body, frames.positions, THREE)
    errors = []
    for prior in ("default", None):
        pose = ps.SequentialIK(body, prior=prior, markers=THREE).track(points, fps=moved.fps).motion.pose
        away = body.skeleton.forward(pose).positions[:, joints] - frames.positions[:, joints]
        errors.append(np.linalg.norm(away, axis=-1).mean())
    assert errors[0] < errors[1] + 5e-4
