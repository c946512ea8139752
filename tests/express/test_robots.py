"""Robots from URDF files: their tips are where other readers have them, and every one can look around."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

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
    return Chain.from_robot(data_dir / "robots" / f"{name}.urdf", base, tip, **options)


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
    from posable.formats import read_robot

    link = read_robot(data_dir / "robots" / f"{name}.urdf").robot.links[chain.tip]
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
    from posable.formats import read_robot

    model = read_robot(data_dir / "robots" / f"{name}.urdf")
    chain = robot(data_dir, name, base, tip)
    first, last = model.robot.links.index(base), model.robot.links.index(tip)
    rest = model.forward(model.rest)
    rng = np.random.default_rng(5)
    for values in rng.uniform(np.maximum(chain.lower, -3.0), np.minimum(chain.upper, 3.0), (20, len(chain))):
        full = np.zeros(len(model.dofs))
        joints = model.dofs.joint.tolist()
        for motor, value in zip(chain.names, values):
            full[joints.index(model.names.index(motor))] = value
        for mimic in model.robot.mimics:
            full[mimic.dof] = mimic.multiplier * full[mimic.leader] + mimic.offset
        frames = model.forward(model.from_values(full))
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
    from posable.formats import read_robot

    rng = np.random.default_rng(3)
    for link in read_robot(data_dir / "robots" / f"{name}.urdf").robot.links[1:]:
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


FOLLOWED = """
<robot name="followed">
  <link name="base"/><link name="side"/><link name="one"/><link name="two"/><link name="three"/><link name="tip"/>
  <joint name="lead" type="revolute">
    <parent link="base"/><child link="side"/><origin xyz="0 -0.2 0.1"/><axis xyz="0 1 0"/>
    <limit lower="-1.4" upper="1.0" effort="1" velocity="1"/>
  </joint>
  <joint name="yaw" type="revolute">
    <parent link="base"/><child link="one"/><origin xyz="0 0 0.3"/><axis xyz="0 0 1"/>
    <limit lower="-2.5" upper="2.5" effort="1" velocity="1"/>
  </joint>
  <joint name="follower" type="revolute">
    <parent link="one"/><child link="two"/><origin xyz="0.05 0 0.2"/><axis xyz="0 1 0"/>
    <limit lower="-0.1" upper="1.2" effort="1" velocity="1"/><mimic joint="lead" multiplier="-0.7" offset="0.4"/>
  </joint>
  <joint name="pitch" type="revolute">
    <parent link="two"/><child link="three"/><origin xyz="0 0 0.3"/><axis xyz="1 0 0"/>
    <limit lower="-1.5" upper="1.5" effort="1" velocity="1"/>
  </joint>
  <joint name="end" type="fixed"><parent link="three"/><child link="tip"/><origin xyz="0 0 0.25"/></joint>
</robot>
"""
"""A robot whose lead moves a joint of another branch too: by -0.7 times its value, 0.4 rad further."""
STEPS = {  # joint to (parent, where it is [m], its axis)
    "lead": ("", (0.0, -0.2, 0.1), (0.0, 1.0, 0.0)),
    "yaw": ("", (0.0, 0.0, 0.3), (0.0, 0.0, 1.0)),
    "follower": ("yaw", (0.05, 0.0, 0.2), (0.0, 1.0, 0.0)),
    "pitch": ("follower", (0.0, 0.0, 0.3), (1.0, 0.0, 0.0)),
    "end": ("pitch", (0.0, 0.0, 0.25), (0.0, 0.0, 0.0)),
}


def followed(tmp_path, base, tip, **options):
    (tmp_path / "followed.urdf").write_text(FOLLOWED)
    return Chain.from_robot(tmp_path / "followed.urdf", base, tip, up="z", **options)


def placed(joint, angles):
    """(position [m], rotation) of the link that a joint of `FOLLOWED` moves, step by step."""
    if not joint:
        return np.zeros(3), Rotation.identity()
    parent, at, axis = STEPS[joint]
    position, rotation = placed(parent, angles)
    return position + rotation.apply(at), rotation * Rotation.from_rotvec(angles[joint] * np.array(axis))


def seen(base, tip, motors):
    """The tip as `placed` has it, with the robot moved as a whole so that its base is where it is at rest."""
    still, angles = dict.fromkeys(STEPS, 0.0), {**dict.fromkeys(STEPS, 0.0), **motors}
    angles["follower"] = -0.7 * angles["lead"] + 0.4
    (rest, rested), (p, q), (to, at) = placed(base, still), placed(base, angles), placed(tip, angles)
    back = rested * q.inv()
    return rest + back.apply(to - p), back * at


LINKS = {"base": "", "side": "lead", "tip": "end"}
PATHS = [("base", "tip"), ("side", "tip"), ("tip", "side"), ("tip", "base")]


@pytest.mark.parametrize(("base", "tip"), PATHS)
def test_a_joint_that_follows_with_an_offset_is_where_its_leader_puts_it_from_any_base(base, tip, tmp_path):
    chain = followed(tmp_path, base, tip)
    for values in np.random.default_rng(6).uniform(chain.lower, chain.upper, (20, len(chain))):
        position, rotation = seen(LINKS[base], LINKS[tip], dict(zip(chain.names, values)))
        frames = chain.forward(values)
        np.testing.assert_allclose(frames.positions[-1], position, rtol=0, atol=1e-12)
        np.testing.assert_allclose(pm.to_matrix(frames.orientations[-1]), rotation.as_matrix(), rtol=0, atol=1e-12)


@pytest.mark.parametrize(("base", "tip"), PATHS)
@pytest.mark.parametrize("kind", ["look_at", "direction", "orientation"])
def test_a_tip_after_a_joint_that_follows_with_an_offset_aims_as_it_reports(base, tip, kind, tmp_path):
    chain = followed(tmp_path, base, tip, pointing=(0.2, 0.1, 1.0))
    rng = np.random.default_rng(7)
    postures, meeting = rng.uniform(chain.lower, chain.upper, (2, 30, len(chain)))
    if "side" in (base, tip):  # a motor of two joints of the path keeps the posture's value
        meeting[:, chain.names.index("lead")] = postures[:, chain.names.index("lead")]
    poses = [seen(LINKS[base], LINKS[tip], dict(zip(chain.names, values))) for values in meeting]
    ahead = np.array([rotation.apply(chain.pointing) for _, rotation in poses])
    targets = {
        "look_at": np.array([position for position, _ in poses]) + 0.6 * ahead,
        "direction": ahead,
        "orientation": np.array([rotation.as_quat(scalar_first=True) for _, rotation in poses]),
    }[kind]
    solution = ERIK(chain, symmetric=False).solve(postures, **{kind: targets})
    off = []
    for values, target in zip(solution.angles, targets):
        position, rotation = seen(LINKS[base], LINKS[tip], dict(zip(chain.names, values)))
        if kind == "orientation":
            off.append((Rotation.from_quat(target, scalar_first=True) * rotation.inv()).magnitude())
        else:
            to, now = (target - position if kind == "look_at" else target), rotation.apply(chain.pointing)
            off.append(np.arctan2(np.linalg.norm(np.cross(now, to)), now @ to))
    np.testing.assert_allclose(solution.orientation_error, off, rtol=0, atol=1e-6)
    assert solution.ok.all() and max(off) <= np.radians(1.0)  # each is met by some pose


@pytest.mark.parametrize(("base", "tip"), PATHS)
def test_a_motor_stays_where_it_and_what_follows_it_are_inside_their_limits(base, tip, tmp_path):
    chain = followed(tmp_path, base, tip)
    values = np.linspace(-4.0, 4.0, 80_001)
    follower = -0.7 * values + 0.4
    allowed = values[(values >= -1.4) & (values <= 1.0) & (follower >= -0.1) & (follower <= 1.2)]
    np.testing.assert_allclose(chain.limits[chain.names.index("lead")], [allowed[0], allowed[-1]], rtol=0, atol=1.01e-4)


@pytest.mark.parametrize("kind", ["look_at", "direction"])
def test_the_posture_error_of_a_robot_with_a_follower_is_that_of_the_angles_between_its_segments(kind, tmp_path):
    """Specification express, section 2: yaw twists; the follower counts 1 and the pitch 1.5 times."""
    chain = followed(tmp_path, "base", "tip", pointing=(0.2, 0.1, 1.0))
    rng = np.random.default_rng(8)
    postures, targets = rng.uniform(chain.lower, chain.upper, (20, len(chain))), rng.normal(size=(20, 3))

    def cosines(values):
        angles = {**dict.fromkeys(STEPS, 0.0), **dict(zip(chain.names, values))}
        angles["follower"] = -0.7 * angles["lead"] + 0.4
        yaw, follower, pitch = (placed(joint, angles)[0] for joint in ("yaw", "follower", "pitch"))
        ahead = placed("end", angles)[1].apply(chain.pointing)
        before, along = follower - yaw, pitch - follower
        cosine = before @ along / np.linalg.norm(before) / np.linalg.norm(along)
        return np.array([cosine, along @ ahead / np.linalg.norm(along)])

    solution = ERIK(chain).solve(postures, **{kind: targets})
    off = np.array([abs(cosines(one) - cosines(other)) / 2 for one, other in zip(solution.angles, postures)])
    np.testing.assert_allclose(solution.posture_error, off @ [0.4, 0.6], rtol=0, atol=1e-12)


@pytest.mark.parametrize("base", [None, "base", "one"])
def test_the_tip_that_is_not_named_is_the_end_after_most_motors_or_what_is_called_a_tool(base, tmp_path):
    file = tmp_path / "robot.urdf"
    file.write_text(FOLLOWED)
    chain = Chain.from_robot(file, base, up="z")
    assert chain.names == (("yaw", "lead", "pitch") if base != "one" else ("lead", "pitch"))
    assert chain.skeleton.names[chain.tip] == "end"
    # A finger that follows, and a drawer, end no arm; a camera on a shorter branch does not either.
    finger = '<mimic joint="pitch"/></joint>'
    more = f"""
    <link name="finger"/><link name="drawer"/><link name="camera"/>
    <joint name="curl" type="revolute"><parent link="three"/><child link="finger"/><origin xyz="0 0 0.4"/>
      <axis xyz="1 0 0"/><limit lower="-1" upper="1" effort="1" velocity="1"/>{finger}
    <joint name="pull" type="prismatic"><parent link="three"/><child link="drawer"/><origin xyz="0 0 0.5"/>
      <axis xyz="0 0 1"/><limit lower="0" upper="1" effort="1" velocity="1"/></joint>
    <joint name="mount" type="fixed"><parent link="one"/><child link="camera"/><origin xyz="0 0 0.6"/></joint>
    </robot>"""
    file.write_text(FOLLOWED.replace("</robot>", more))
    chain = Chain.from_robot(file, base, up="z")
    assert chain.skeleton.names[chain.tip] == "end", chain.skeleton.names[chain.tip]
    if base != "one":
        file.write_text(FOLLOWED.replace('"side"', '"left_tool0"'))
        chain = Chain.from_robot(file, base, up="z")
        assert chain.names == ("lead",) and chain.skeleton.names[chain.tip] == "lead"
