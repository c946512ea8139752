"""Robots are read in any order of their file, and stand where other readers have them; broken files are refused."""

import contextlib
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import posable.math as pm
from posable.compute import FormatError, PosableError, UnknownNameError
from posable.formats import load, read_robot, save

ROBOTS = {"nao_v50": (42, 17), "panda": (9, 1), "pepper": (48, 28), "so101": (6, 0), "ur5": (6, 0)}  # DoF, mimics

LITTLE = """<?xml version="1.0"?>
<robot name="little">
  <link name="base"/><link name="arm"/><link name="hand"/><link name="finger"/>
  <joint name="grip" type="prismatic">
    <parent link="hand"/><child link="finger"/><axis xyz="0 2 0"/>
    <origin xyz="0 0 0.1" rpy="0.1 0.2 0.3"/><limit lower="0" upper="0.05" velocity="0.2" effort="1"/>
  </joint>
  <joint name="wrist" type="continuous">
    <parent link="arm"/><child link="hand"/><axis xyz="0 0 1"/><origin xyz="0.3 0 0"/>
    <mimic joint="shoulder" multiplier="-2" offset="0.5"/>
  </joint>
  <joint name="shoulder" type="revolute">
    <parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
    <origin xyz="0 0 1" rpy="0 0 1.5707963267948966"/><limit lower="-1" upper="2" velocity="3" effort="1"/>
  </joint>
</robot>
"""


def written(tmp_path, text, name="robot.urdf"):
    path = tmp_path / name
    path.write_text(text)
    return path


def random_values(model, count, seed):
    low = np.where(np.isfinite(model.robot.lower), model.robot.lower, -np.pi)
    high = np.where(np.isfinite(model.robot.upper), model.robot.upper, np.pi)
    return np.random.default_rng(seed).uniform(low, high, (count, len(low)))


@pytest.mark.parametrize("robot", ROBOTS)
def test_links_are_where_pinocchio_has_them(robot, data_dir):
    pin = pytest.importorskip("pinocchio", reason="pinocchio is a judge of its own: pip install posable[bench]")
    path = data_dir / "robots" / f"{robot}.urdf"
    model = read_robot(path, up="z")
    theirs = pin.buildModelFromUrdf(str(path))
    data = theirs.createData()
    values = random_values(model, 1000, 1)
    frames = model.forward(model.from_values(values))
    ids = [theirs.getFrameId(link, pin.FrameType.BODY) for link in model.robot.links]
    joints = [theirs.joints[theirs.getJointId(model.names[j])] for j in model.dofs.joint]
    for row, at in enumerate(values):
        q = np.zeros(theirs.nq)
        for joint, value in zip(joints, at):
            q[joint.idx_q : joint.idx_q + joint.nq] = value if joint.nq == 1 else (np.cos(value), np.sin(value))
        pin.framesForwardKinematics(theirs, data, q)
        places = np.array([data.oMf[i].translation for i in ids])
        np.testing.assert_allclose(frames.positions[row], places, atol=1e-12)
        if row % 50 == 0:
            turns = np.array([data.oMf[i].rotation for i in ids])
            np.testing.assert_allclose(pm.to_matrix(frames.orientations[row]), turns, atol=1e-12)


@pytest.mark.parametrize("robot", ROBOTS)
def test_links_are_where_yourdfpy_has_them(robot, data_dir):
    yourdfpy = pytest.importorskip("yourdfpy")
    path = data_dir / "robots" / f"{robot}.urdf"
    model = read_robot(path, up="z")
    assert (len(model.robot.lower), len(model.robot.mimics)) == ROBOTS[robot]
    theirs = yourdfpy.URDF.load(str(path), load_meshes=False, load_collision_meshes=False, build_scene_graph=True)
    values = random_values(model, 100, 2)
    coupled = model.robot.coupled(values)
    frames = model.forward(model.from_values(coupled))
    names = [model.names[model.dofs.joint[d]] for d in model.robot.independent]
    assert set(names) == set(theirs.actuated_joint_names)
    for row in range(len(values)):
        theirs.update_cfg(dict(zip(names, coupled[row, model.robot.independent])))
        for j, link in enumerate(model.robot.links):
            np.testing.assert_allclose(
                frames.positions[row, j], theirs.get_transform(link, theirs.base_link)[:3, 3], atol=1e-9
            )


def test_limits_speeds_and_mimics_are_read(tmp_path):
    model = read_robot(written(tmp_path, LITTLE))
    assert model.names == ("base", "shoulder", "wrist", "grip")
    assert model.kinds == ("fixed", "hinge", "hinge", "slide")
    assert model.robot.links == ("base", "arm", "hand", "finger")
    np.testing.assert_array_equal(model.robot.lower, [-1, -np.inf, 0])
    np.testing.assert_array_equal(model.robot.upper, [2, np.inf, 0.05])
    np.testing.assert_array_equal(model.robot.velocity, [3, np.inf, 0.2])
    np.testing.assert_allclose(model.robot.coupled([[1.0, 9.0, 0.01]]), [[1.0, -1.5, 0.01]])
    np.testing.assert_array_equal(model.robot.independent, [0, 2])


def test_a_robot_stands_upright_in_our_axes(tmp_path):
    path = written(tmp_path, LITTLE)
    ours, theirs = read_robot(path), read_robot(path, up="z")
    values = np.random.default_rng(0).uniform(-1, 1, (20, 3))
    a = ours.forward(ours.from_values(values)).positions
    b = theirs.forward(theirs.from_values(values)).positions
    np.testing.assert_allclose(a, b[..., [1, 2, 0]], atol=1e-12)  # left, up, forward
    with pytest.raises(UnknownNameError, match="up axis"):
        read_robot(path, up="x")


def test_a_robot_prints_as_one_line(tmp_path):
    shown = repr(read_robot(written(tmp_path, LITTLE)).robot)
    assert shown.startswith("Robot(") and "\n" not in shown and len(shown) < 120


def test_a_free_root_lets_a_robot_walk_away(tmp_path):
    model = read_robot(written(tmp_path, LITTLE), free_root=True)
    assert model.kinds[0] == "free" and len(model.robot.lower) == 9
    assert np.isinf(model.robot.upper[:6]).all()


@given(st.integers(0, 2**32))
def test_the_order_of_the_file_does_not_matter(seed):
    import re
    import tempfile
    from pathlib import Path

    blocks = re.findall(r"<joint .*?</joint>|<link [^>]*/>", LITTLE, re.S)
    random.Random(seed).shuffle(blocks)
    with tempfile.TemporaryDirectory() as folder:
        model = read_robot(written(Path(folder), f"<robot name='r'>{''.join(blocks)}</robot>"))
    assert model.names == ("base", "shoulder", "wrist", "grip")
    assert [(m.dof, m.leader, m.multiplier) for m in model.robot.mimics] == [(1, 0, -2.0)]


def test_load_gives_one_frame_and_it_survives_a_glb(data_dir, tmp_path):
    motion = load(data_dir / "robots" / "panda.urdf")
    assert len(motion) == 1 and any("follow" in note for note in motion.notes)
    save(motion, tmp_path / "panda.glb")
    back = load(tmp_path / "panda.glb")
    assert back.skeleton.kinds == motion.skeleton.kinds
    np.testing.assert_allclose(back.skeleton.axes, motion.skeleton.axes)


BROKEN = {
    "no robot": ("<html/>", "line 1"),
    "no links": ("<robot name='r'/>", "line 1"),
    "a document type": ("<!DOCTYPE robot [<!ENTITY a 'b'>]><robot name='&a;'/>", "line 1"),
    "an outside entity": ("<!DOCTYPE r SYSTEM 'file:///etc/passwd'><robot/>", "line 1"),
    "broken off": (LITTLE[:300], "line"),
    "not a number": (LITTLE.replace("0 0 0.1", "0 nan 0.1"), "line 6, <origin>"),
    "two numbers": (LITTLE.replace("0 0 0.1", "0 0.1"), "line 6, <origin>"),
    "xacro left in it": (LITTLE.replace("0 0 0.1", "${a} 0 0"), "line 6, <origin>"),
    "no axis": (LITTLE.replace('xyz="0 2 0"', 'xyz="0 0 0"'), "line 4, <joint name='grip'>"),
    "no parent": (LITTLE.replace('<parent link="hand"/>', ""), "line 4, <joint name='grip'>"),
    "a link that is not there": (LITTLE.replace('link="finger"', 'link="toe"'), "line 4, <joint name='grip'>"),
    "a link with two parents": (LITTLE.replace('<child link="hand"/>', '<child link="finger"/>'), "line 8"),
    "two roots": (LITTLE.replace('<link name="arm"/>', '<link name="arm"/><link name="x"/>'), "line 2"),
    "two links of a name": (LITTLE.replace('<link name="arm"/>', '<link name="arm"/><link name="arm"/>'), "line 2"),
    "two joints of a name": (LITTLE.replace('name="wrist"', 'name="grip"'), "line"),
    "an unknown type": (LITTLE.replace("prismatic", "elastic"), "line 4, <joint name='grip'>"),
    "limits the wrong way round": (LITTLE.replace('lower="0"', 'lower="1"'), "line 6, <limit>"),
    "mimicking nobody": (LITTLE.replace('joint="shoulder" m', 'joint="knee" m'), "line 10, <mimic>"),
    "mimicking oneself": (LITTLE.replace('joint="shoulder" m', 'joint="wrist" m'), "line 10, <mimic>"),
    "joints in a circle": (LITTLE.replace('<parent link="base"/>', '<parent link="finger"/>'), "line"),
    "very deep": ("<robot>" + "<a>" * 10_000, "line 1"),
    "very many": ("<robot>" + "<a/>" * 250_000 + "</robot>", "line 1"),
    "rubbish": ("\x01\x02\x03", "line 1"),
    "an unknown encoding": ("<?xml version='1.0' encoding='klingon'?><robot/>", ""),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_robot_is_one_error_with_its_line(what, tmp_path):
    text, place = BROKEN[what]
    with pytest.raises(FormatError) as caught:
        read_robot(written(tmp_path, text))
    assert (caught.value.location or "").startswith(place)


def test_entities_are_never_expanded(tmp_path):
    laughs = "".join(f"<!ENTITY l{k} '{f'&l{k - 1};' * 10}'>" for k in range(1, 10))
    text = f"<!DOCTYPE robot [<!ENTITY l0 'lol'>{laughs}]><robot name='&l9;'><link name='a'/></robot>"
    with pytest.raises(FormatError, match="document type"):
        read_robot(written(tmp_path, text))


@pytest.mark.filterwarnings("error")
def test_thousands_of_mutated_robots_are_read_or_refused(data_dir, tmp_path):
    texts = [LITTLE.encode(), (data_dir / "robots" / "so101.urdf").read_bytes()]
    path = tmp_path / "robot.urdf"
    for seed in range(3000):
        rng = random.Random(seed)
        data = bytearray(rng.choice(texts))
        for _ in range(rng.randint(1, 6)):
            at = rng.randrange(len(data))
            data[at : at + rng.choice([0, 1, 1, 5, 40])] = rng.choice(
                [b"", rng.randbytes(1), b"0", b"<", b'"', b"link", b"1e999"]
            )
        path.write_bytes(bytes(data))
        with contextlib.suppress(PosableError):
            load(path)


def test_a_freed_robot_is_the_same_robot_six_degrees_of_freedom_later(data_dir):
    path = data_dir / "robots" / "nao_v50.urdf"
    fixed, free = read_robot(path), read_robot(path, free_root=True)
    assert fixed.kinds[0] == "fixed" and free.kinds[0] == "free" and free.kinds[1:] == fixed.kinds[1:]
    values = np.random.default_rng(0).uniform(-1, 1, len(fixed.dofs))
    moved = free.robot.coupled(np.concatenate([np.zeros(6), values]))
    np.testing.assert_array_equal(moved[6:], fixed.robot.coupled(values))
    ours = free.forward(free.from_values(moved)).positions
    np.testing.assert_allclose(ours, fixed.forward(fixed.from_values(moved[6:])).positions, atol=1e-12)
    names = [[skeleton.dofs.names[d] for d in skeleton.robot.motors] for skeleton in (fixed, free)]
    assert names[0] == names[1] and len(names[0]) == 25
    for field in ("lower", "upper", "velocity", "effort", "reference"):
        np.testing.assert_array_equal(getattr(free.robot, field)[6:], getattr(fixed.robot, field))
