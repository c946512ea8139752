"""Robots from URDF files: their tips are where other readers have them, and every one can look around."""

import numpy as np
import pytest

import posable.math as pm
from posable.compute import PosableError, UnknownNameError
from posable.express import ERIK, Chain

CHAINS = {
    "so101": (None, None, 5),
    "ur5": (None, None, 6),
    "panda": (None, None, 7),
    "pepper": ("torso", "Head", 2),
    "nao_v50": ("torso", "r_wrist", 5),
}


def robot(data_dir, name, base=None, tip=None, **options):
    return Chain.from_urdf(data_dir / "robots" / f"{name}.urdf", base, tip, **options)


@pytest.mark.parametrize("name", CHAINS)
def test_a_chain_has_the_motors_of_its_path(name, data_dir):
    base, tip, count = CHAINS[name]
    chain = robot(data_dir, name, base, tip)
    assert len(chain) == count, chain.names
    assert np.isfinite(chain.limits).all()


@pytest.mark.parametrize("name", CHAINS)
def test_tips_are_where_pinocchio_has_them(name, data_dir):
    pin = pytest.importorskip("pinocchio", reason="pinocchio is a judge of its own: pip install posable[bench]")
    base, tip, _ = CHAINS[name]
    chain = robot(data_dir, name, base, tip, up="z")
    model = pin.buildModelFromUrdf(str(data_dir / "robots" / f"{name}.urdf"))
    data, link = model.createData(), None
    from posable.formats.urdf import read_urdf

    link = read_urdf(data_dir / "robots" / f"{name}.urdf").links[chain.tip]
    frame = model.getFrameId(link, pin.FrameType.BODY)
    for values in np.random.default_rng(0).uniform(chain.lower, chain.upper, (50, len(chain))):
        q = pin.neutral(model)
        for joint, value in zip(chain.names, values):
            q[model.joints[model.getJointId(joint)].idx_q] = value
        pin.framesForwardKinematics(model, data, q)
        ours = chain.forward(values)
        np.testing.assert_allclose(ours.positions[-1], data.oMf[frame].translation, atol=1e-9)
        np.testing.assert_allclose(pm.to_matrix(ours.orientations[-1]), data.oMf[frame].rotation, atol=1e-9)


@pytest.mark.parametrize("method", ["best", "erik", "simple"])
@pytest.mark.parametrize("name", CHAINS)
def test_any_robot_keeps_its_limits_and_tells_its_errors(name, method, data_dir):
    chain = robot(data_dir, name, *CHAINS[name][:2])
    rng = np.random.default_rng(1)
    postures, held = rng.uniform(chain.lower, chain.upper, (2, 60, len(chain)))
    targets = chain.forward(held).orientations[:, -1]
    answer = ERIK(chain, method, symmetric=False).solve(postures, targets)
    assert (answer.angles >= chain.lower).all() and (answer.angles <= chain.upper).all()
    ends = chain.forward(answer.angles).orientations[:, -1]
    off = np.minimum(np.linalg.norm(ends - targets, axis=-1), np.linalg.norm(ends + targets, axis=-1)) / np.sqrt(2)
    np.testing.assert_allclose(answer.orientation_score, off, rtol=0, atol=1e-12)
    if method == "best" and len(chain) > 2:
        # Each target is one that some posture meets.
        assert np.median(answer.orientation_score) < 1e-6 and (answer.orientation_score < 0.05).mean() > 0.9


@pytest.mark.parametrize("name", CHAINS)
def test_holding_still_is_free(name, data_dir):
    chain = robot(data_dir, name, *CHAINS[name][:2])
    postures = np.random.default_rng(2).uniform(chain.lower, chain.upper, (40, len(chain)))
    answer = ERIK(chain, symmetric=False).solve(postures, chain.forward(postures).orientations[:, -1])
    assert answer.error.max() < 1e-6


def test_shared_motors_and_slides_do_what_the_posture_says(data_dir):
    fingers = robot(data_dir, "pepper", "l_wrist", "LFinger13_link")
    assert fingers.names == ("LHand",) and len(fingers.links) == 3
    answer = ERIK(fingers).solve([[0.4], [9.0]], (1, 0, 0, 0))
    np.testing.assert_array_equal(answer.angles, [[0.4], fingers.upper])
    gripper = robot(data_dir, "panda", None, "panda_leftfinger")
    assert len(gripper) == 8 and gripper.links[-1].slides
    posture = np.append(robot(data_dir, "panda").limits.mean(axis=1), 0.03)
    assert ERIK(gripper).solve(posture, (1, 0, 0, 0)).angles[-1] == 0.03
    moved = (
        gripper.forward(posture + np.array([0.0] * 7 + [0.01])).positions[-1] - gripper.forward(posture).positions[-1]
    )
    np.testing.assert_allclose(np.linalg.norm(moved), 0.01, atol=1e-12)


def test_a_follower_alone_is_a_joint_like_any_other(data_dir):
    leg = robot(data_dir, "nao_v50", "torso", "r_ankle")
    assert leg.names[0] == "LHipYawPitch"  # the one motor of both
    answer = ERIK(leg, symmetric=False).solve(leg.limits.mean(axis=1), leg.forward(leg.zero).orientations[-1])
    assert answer.orientation_score < 1e-6


def test_unknown_links_and_paths_that_do_not_exist_are_named(data_dir):
    with pytest.raises(UnknownNameError, match="link 'Haed'; did you mean 'Head'"):
        robot(data_dir, "pepper", "torso", "Haed")
    with pytest.raises(PosableError, match="no joint between 'torso' and 'torso' rotates"):
        robot(data_dir, "pepper", "torso", "torso")


@pytest.mark.parametrize(
    ("name", "base", "tip"),
    [
        ("pepper", "l_wrist", "r_wrist"),
        ("pepper", "Head", "torso"),
        ("pepper", "r_wrist", "CameraTop_optical_frame"),
        ("nao_v50", "r_ankle", "l_gripper"),
        ("panda", "panda_link6", "panda_link2"),
    ],
)
def test_a_path_between_two_branches_is_that_of_the_robot_seen_from_its_base(name, base, tip, data_dir):
    from posable.formats.urdf import read_urdf

    model = read_urdf(data_dir / "robots" / f"{name}.urdf")
    chain = robot(data_dir, name, base, tip)
    first, last = model.links.index(base), model.links.index(tip)
    rest = model.skeleton.forward(model.skeleton.rest)
    rng = np.random.default_rng(5)
    for values in rng.uniform(np.maximum(chain.lower, -3.0), np.minimum(chain.upper, 3.0), (20, len(chain))):
        full = np.zeros(len(model.skeleton.dofs))
        joints = model.skeleton.dofs.joint.tolist()
        for motor, value in zip(chain.names, values):
            full[joints.index(model.skeleton.names.index(motor))] = value
        for mimic in model.mimics:
            full[mimic.dof] = mimic.multiplier * full[mimic.leader] + mimic.offset
        frames = model.skeleton.forward(model.skeleton.from_values(full))
        # The robot moved as a whole, so that its base link is where it is at rest.
        back = pm.multiply(rest.orientations[first], pm.conjugate(frames.orientations[first]))
        expected = rest.positions[first] + pm.rotate(back, frames.positions[last] - frames.positions[first])
        ours = chain.forward(values)
        np.testing.assert_allclose(ours.positions[-1], expected, atol=1e-9)
        seen = pm.multiply(back, frames.orientations[last])
        np.testing.assert_allclose(pm.to_matrix(ours.orientations[-1]), pm.to_matrix(seen), atol=1e-9)
    solution = ERIK(chain).solve(chain.zero, direction=chain.forward(chain.zero).pointing)
    assert solution.ok


@pytest.mark.parametrize("name", ["pepper", "nao_v50"])
@pytest.mark.parametrize(
    ("tip", "axis"),
    [("Head", 0), ("CameraTop_frame", 0), ("CameraTop_optical_frame", 2), ("CameraBottom_optical_frame", 2)],
)
def test_heads_look_along_x_and_optical_frames_along_z(name, tip, axis, data_dir):
    chain = robot(data_dir, name, "torso", tip)
    np.testing.assert_array_equal(chain.pointing, np.eye(3)[axis])
    assert ("z of" if axis == 2 else "x of") in chain.note
    ahead = chain.forward(np.zeros(len(chain))).pointing
    # At rest a robot looks ahead, which is +Z here; the lower camera looks down by 40 degrees.
    assert ahead @ (0.0, 0.0, 1.0) > 0.7
    solution = ERIK(chain).solve(chain.zero, look_at=(0.3, 1.0, 1.5))
    frames = chain.forward(solution.angles)
    away = np.array([0.3, 1.0, 1.5]) - frames.positions[-1]
    assert solution.ok == (frames.pointing @ away / np.linalg.norm(away) >= np.cos(np.radians(1.0)))


def test_a_given_axis_is_taken_and_other_tips_point_away_from_their_joint(data_dir):
    assert robot(data_dir, "pepper", "torso", "Head", pointing=(0, 0, 2)).pointing.tolist() == [0.0, 0.0, 1.0]
    assert "away from the last joint" in robot(data_dir, "ur5").note or "axis" in robot(data_dir, "ur5").note


@pytest.mark.parametrize("name", CHAINS)
def test_every_link_of_a_robot_may_be_a_tip(name, data_dir):
    from posable.formats.urdf import read_urdf

    rng = np.random.default_rng(3)
    for link in read_urdf(data_dir / "robots" / f"{name}.urdf").links[1:]:
        try:
            chain = robot(data_dir, name, None, link)
        except PosableError as error:
            assert "rotates" in str(error)  # nothing but slides or fixed joints between
            continue
        low, high = np.maximum(chain.lower, -np.pi), np.minimum(chain.upper, np.pi)
        postures = rng.uniform(low, high, (3, len(chain)))
        answer = ERIK(chain, symmetric=False, stop_at_threshold=True).solve(
            postures, chain.forward(postures).orientations[:, -1]
        )
        assert (answer.angles >= chain.lower).all() and (answer.angles <= chain.upper).all()
        assert answer.error.max() < 0.04  # each holds still
