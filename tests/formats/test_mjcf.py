"""MJCF robots are where MuJoCo has them, with its limits, motors and shapes; broken files are refused in a sentence."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import posable as ps
import posable.math as pm
from posable.compute import FormatError
from posable.formats import load, read_robot
from posable.skeleton.robot import UP

from .mjcf_files import ROBOTS, TRICKY, Judge, without_meshes


def written(folder, text, name="robot.xml"):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def robot_file(data_dir, name):
    return data_dir / "robots" / "mjcf" / name


@pytest.mark.parametrize("name", ROBOTS)
def test_links_are_where_mujoco_has_them(name, data_dir):
    path = robot_file(data_dir, name)
    judge = Judge(without_meshes(path))
    skeleton = read_robot(path)
    assert [link for link in skeleton.robot.links if link] == judge.names("BODY", judge.model.nbody)[1:]
    assert judge.check_bodies(skeleton, 1, 50) < 1e-9
    upright = read_robot(path, up="z")
    assert judge.check_bodies(upright, 2, 10) < 1e-9


@pytest.mark.parametrize("name", ROBOTS)
def test_joints_come_in_the_order_of_mujoco_with_its_limits_and_efforts(name, data_dir):
    path = robot_file(data_dir, name)
    judge = Judge(without_meshes(path))
    skeleton = read_robot(path)
    robot, model = skeleton.robot, judge.model
    assert skeleton.kinds[0] == "free" and skeleton.names[1:] == tuple(judge.names("JOINT", model.njnt)[1:])
    assert len(robot.lower) == model.nv
    limited = model.jnt_limited[1:] != 0
    np.testing.assert_array_equal(robot.lower[6:], np.where(limited, model.jnt_range[1:, 0], -np.inf))
    np.testing.assert_array_equal(robot.upper[6:], np.where(limited, model.jnt_range[1:, 1], np.inf))
    assert np.isinf(robot.lower[:6]).all() and np.isinf(robot.velocity).all()
    effort = np.full(model.nv, np.inf)
    for k in range(model.nu):
        d = model.jnt_dofadr[model.actuator_trnid[k, 0]]
        if model.actuator_forcelimited[k]:
            effort[d] = np.abs(model.actuator_forcerange[k]).max() * abs(model.actuator_gear[k, 0])
    for k in range(model.njnt):
        if model.jnt_actfrclimited[k]:
            effort[model.jnt_dofadr[k]] = min(effort[model.jnt_dofadr[k]], np.abs(model.jnt_actfrcrange[k]).max())
    np.testing.assert_array_equal(robot.effort, effort)
    motors = [model.jnt_dofadr[model.actuator_trnid[k, 0]] for k in range(model.nu)] or list(range(6, model.nv))
    assert list(robot.motors) == motors


def check_shapes(judge, skeleton):
    robot, model, data = skeleton.robot, judge.model, judge.data
    back = pm.conjugate(UP[robot.up])
    judge.mujoco.mj_resetData(model, data)
    judge.mujoco.mj_kinematics(model, data)
    values = np.zeros(len(robot.lower))
    frames = skeleton.forward(skeleton.from_values(values))
    kinds = ("plane", "hfield", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh")
    left = [*robot.collisions]
    for g in range(model.ngeom):
        body = judge.name("BODY", model.geom_bodyid[g])
        touches = model.geom_contype[g] or model.geom_conaffinity[g] or model.geom_group[g] == 3
        if body not in robot.links or not touches:
            continue
        shape = left.pop(0)
        assert robot.links[shape.joint] == body and shape.name == judge.name("GEOM", g)
        kind = kinds[model.geom_type[g]]
        assert shape.kind == kind
        half = model.geom_size[g]
        sizes = {"sphere": half[:1], "box": 2 * half, "ellipsoid": half}.get(kind, half[:2] * [1, 2])
        np.testing.assert_allclose(shape.size, sizes, atol=1e-12)
        centre = pm.rotate(back, frames.point(shape.joint, shape.position))
        np.testing.assert_allclose(centre, data.geom_xpos[g], atol=1e-9)
        ours = pm.to_matrix(pm.multiply(back, pm.multiply(frames.orientations[shape.joint], shape.orientation)))
        theirs = data.geom_xmat[g].reshape(3, 3)
        if kind in ("box", "ellipsoid"):
            np.testing.assert_allclose(ours, theirs, atol=1e-9)
        elif kind != "sphere":
            np.testing.assert_allclose(ours[:, 2], theirs[:, 2], atol=1e-9)
    assert not left


@pytest.mark.parametrize("name", ROBOTS)
def test_shapes_that_touch_are_those_of_mujoco(name, data_dir):
    path = robot_file(data_dir, name)
    check_shapes(Judge(without_meshes(path)), read_robot(path))


@pytest.mark.parametrize("name", [name for name in ROBOTS if "scene" in name])
def test_a_robot_stands_as_its_keyframe_says(name, data_dir):
    path = robot_file(data_dir, name)
    judge = Judge(without_meshes(path))
    skeleton = read_robot(path)
    names = judge.names("KEY", judge.model.nkey)
    qpos = judge.model.key_qpos[names.index("home" if "home" in names else "stand")]
    theirs = judge.bodies(qpos)
    frames = skeleton.forward(skeleton.from_values(skeleton.robot.rest))
    back = pm.conjugate(UP["y"])
    for j, link in enumerate(skeleton.robot.links):
        np.testing.assert_allclose(pm.rotate(back, frames.positions[j]), theirs[link][0], atol=1e-9)


def test_everything_that_a_file_may_say_of_frames_and_joints_is_what_mujoco_reads(tmp_path):
    path = written(tmp_path, TRICKY)
    judge, skeleton = Judge(TRICKY), read_robot(path)
    robot = skeleton.robot
    assert judge.check_bodies(skeleton, 3, 50) < 1e-9
    assert judge.check_bodies(read_robot(path, up="z"), 3, 5) < 1e-9
    check_shapes(judge, skeleton)
    assert "left out, as it is not the robot: 'crate'" in robot.notes
    assert skeleton.names[:3] == ("base", "twice_a", "twice_b") and robot.links[:4] == ("base", "", "", "one")
    for k in range(2, judge.model.njnt):  # not the two free ones
        if judge.model.jnt_type[k] == 1:
            continue
        d = skeleton.dofs.of(skeleton.index(judge.name("JOINT", k))).start
        low, high = judge.model.jnt_range[k] if judge.model.jnt_limited[k] else (-np.inf, np.inf)
        np.testing.assert_allclose([robot.lower[d], robot.upper[d]] + robot.reference[d], [low, high], atol=1e-12)
        np.testing.assert_allclose(robot.reference[d], judge.model.qpos0[judge.model.jnt_qposadr[k]], atol=1e-12)
    motor = {skeleton.names[skeleton.dofs.joint[d]]: robot.effort[d] for d in robot.motors}
    assert motor == {"last": 6.0, "single": 5.0, "twice_a": np.inf}
    assert [*motor] == ["last", "single", "twice_a"]
    (mimic,) = robot.mimics
    assert skeleton.names[skeleton.dofs.joint[mimic.dof]] == "framed" and (mimic.multiplier, mimic.offset) == (-2, 0.1)
    assert [shape.colour for shape in robot.shapes[:2]] == [(0, 0, 255), (255, 0, 0)]
    (site,) = robot.sites
    judge.mujoco.mj_resetData(judge.model, judge.data)
    judge.mujoco.mj_kinematics(judge.model, judge.data)
    frames = skeleton.forward(skeleton.rest)
    ours = pm.rotate(pm.conjugate(UP["y"]), frames.point(site.joint, site.position))
    np.testing.assert_allclose(ours, judge.data.site_xpos[0], atol=1e-12)
    turn = pm.multiply(pm.conjugate(UP["y"]), pm.multiply(frames.orientations[site.joint], site.orientation))
    np.testing.assert_allclose(pm.to_matrix(turn).ravel(), judge.data.site_xmat[0], atol=1e-9)


AXIS = st.tuples(*[st.floats(-2, 2).map(lambda x: round(x, 2))] * 3).filter(lambda v: np.linalg.norm(v) > 0.1)
POINT = st.tuples(*[st.floats(-1, 1).map(lambda x: round(x, 2))] * 3)


def words(*numbers):
    return " ".join(f"{number:g}" for number in numbers)


@st.composite
def orientation(draw):
    kind = draw(st.sampled_from(["", "quat", "euler", "axisangle", "zaxis", "xyaxes"]))
    if kind == "quat":
        return f'quat="{words(*draw(AXIS), draw(st.floats(-1, 1)))}"'
    if kind == "euler":
        return f'euler="{words(*(100 * x for x in draw(POINT)))}"'
    if kind == "axisangle":
        return f'axisangle="{words(*draw(AXIS), draw(st.integers(-400, 400)))}"'
    if kind == "zaxis":
        return f'zaxis="{words(*draw(AXIS))}"'
    if kind == "xyaxes":
        x, y = draw(AXIS), draw(AXIS)
        if np.linalg.norm(np.cross(x, y)) > 0.05:
            return f'xyaxes="{words(*x, *y)}"'
    return ""


@st.composite
def a_body(draw, number, depth=0):
    name = f"b{number[0]}"
    number[0] += 1
    text = f'<body name="{name}" pos="{words(*draw(POINT))}" {draw(orientation())}>'
    text += '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
    kinds = draw(st.lists(st.sampled_from(["hinge", "slide", "ball"]), max_size=3))
    if "ball" in kinds:  # MuJoCo has it last
        kinds = [*(kind for kind in kinds if kind != "ball"), "ball"]
    for k, kind in enumerate(kinds):
        at = draw(st.sampled_from(["", f'pos="{words(*draw(POINT))}"']))
        reference = f'ref="{draw(st.integers(-90, 90))}"' if kind == "hinge" and draw(st.booleans()) else ""
        text += f'<joint name="{name}j{k}" type="{kind}" axis="{words(*draw(AXIS))}" {at} {reference}/>'
    if depth < 3:
        for _ in range(draw(st.integers(0, 2))):
            inner = draw(a_body(number, depth + 1))
            if draw(st.booleans()):
                inner = f'<frame pos="{words(*draw(POINT))}" {draw(orientation())}>{inner}</frame>'
            text += inner
    return text + "</body>"


@st.composite
def files(draw):
    top = draw(a_body([0]))
    if draw(st.booleans()):
        top = f'<body name="root" {draw(orientation())}><freejoint/><geom size="1"/>{top}</body>'
    sequence = draw(st.sampled_from(["xyz", "XYZ", "zyx", "xYz", "ZXz"]))
    return f'<mujoco><compiler eulerseq="{sequence}"/><worldbody>{top}</worldbody></mujoco>'


@settings(deadline=None, max_examples=60)
@given(text=files())
def test_any_tree_of_bodies_is_where_mujoco_has_it(text, tmp_path_factory):
    path = written(tmp_path_factory.mktemp("any"), text)
    assert Judge(text).check_bodies(read_robot(path), 0, 3) < 1e-9, text


def test_neighbours_and_excluded_pairs_are_those_that_mujoco_leaves_out(data_dir):
    path = robot_file(data_dir, "unitree_g1/g1.xml")
    judge = Judge(without_meshes(path))
    robot = read_robot(path).robot
    separate = {frozenset(pair) for pair in robot.separate}
    model = judge.model
    weld, named = model.body_weldid, {judge.name("BODY", k): k for k in range(model.nbody)}
    excluded = {(signature >> 16, signature & 0xFFFF) for signature in model.exclude_signature.tolist()}
    links = sorted({robot.links[shape.joint] for shape in robot.collisions})
    for k, a in enumerate(links):
        for b in links[k + 1 :]:
            i, j = sorted((named[a], named[b]))
            # Its rule, for bodies that are not fixed to the world.
            up = [weld[model.body_parentid[weld[n]]] for n in (i, j)]
            apart = weld[i] == weld[j] or weld[i] == up[1] or weld[j] == up[0]
            apart |= (i, j) in excluded or (j, i) in excluded
            assert (frozenset((a, b)) in separate) == apart, (a, b)


def test_load_gives_one_frame_with_the_robot_and_says_what_is_missing(data_dir):
    motion = load(robot_file(data_dir, "h1/scene_mjx_feetonly.xml"))
    assert len(motion) == 1 and motion.skeleton.robot.name == "h1 feetonly scene"
    (note,) = [note for note in motion.notes if "not found" in note]
    assert note.startswith("21 meshes were not found: pelvis.stl, ") and "left_elbow_link.stl" in note
    assert not [note for note in load(robot_file(data_dir, "unitree_g1/g1.xml")).notes if "mesh" in note]


def test_a_fixed_arm_two_arms_and_a_free_thing(tmp_path):
    arm = '<body name="{0}" pos="{1} 0 0"><body name="{0}1"><joint name="{0}j"/><geom size="1"/></body></body>'
    world = "<mujoco><worldbody>{}</worldbody></mujoco>"
    one = read_robot(written(tmp_path, world.format(arm.format("a", 1))))
    assert one.names == ("a", "aj") and one.kinds == ("fixed", "hinge")
    np.testing.assert_allclose(one.offsets[0], [0, 0, 1])
    two = read_robot(written(tmp_path, world.format(arm.format("a", 1) + arm.format("b", 2))))
    assert two.names == ("world", "a", "aj", "b", "bj") and two.robot.links == ("world", "a", "a1", "b", "b1")
    thing = '<body name="cube"><freejoint/><geom size="1"/></body>'
    both = read_robot(written(tmp_path, world.format(thing + arm.format("a", 1))))
    assert both.names == ("a", "aj") and "'cube'" in both.robot.notes[0]
    alone = read_robot(written(tmp_path, world.format(thing)))
    assert alone.kinds == ("free",)
    assert read_robot(written(tmp_path, world.format(arm.format("a", 1))), free_root=True).kinds[0] == "free"


def test_a_robot_scales_with_its_skeleton(data_dir):
    skeleton = read_robot(robot_file(data_dir, "op3/scene_mjx_feetonly.xml"))
    half = skeleton.scaled(0.5)
    assert half.robot.collisions[0].size.tolist() == (0.5 * skeleton.robot.collisions[0].size).tolist()
    np.testing.assert_allclose(half.robot.rest[6:], skeleton.robot.rest[6:])
    np.testing.assert_allclose(half.robot.rest[:3], 0.5 * skeleton.robot.rest[:3])
    with pytest.raises(ps.ShapeError, match="robot=None"):
        ps.Skeleton(["a"], [-1], [[0, 0, 0]], robot=skeleton.robot)


BODY = "<worldbody><body name='a'><freejoint/><body name='b'><joint name='j'/></body></body></worldbody>"


def file(before="", old="", new=""):
    """Return a file with something before its bodies, in which a first piece is replaced."""
    assert old in BODY
    return f"<mujoco>{before}{BODY.replace(old, new, 1) if old else BODY}</mujoco>"


BROKEN = {
    "another format": ("<html/>", "<mujoco>"),
    "nothing": ("<mujoco/>", "no <body>"),
    "only what is not read": ("<mujoco><worldbody><attach model='m'/></worldbody></mujoco>", "<attach>"),
    "global coordinates": (file("<compiler coordinate='global'/>"), "global coordinates"),
    "an angle": (file("<compiler angle='grad'/>"), "degree or radian"),
    "a sequence": (file("<compiler eulerseq='xyw'/>"), "eulerseq"),
    "an unknown class": (file("", "<joint", "<joint class='x'"), "'x'"),
    "an unknown child class": (file("", "<body", "<body childclass='x'"), "'x'"),
    "two classes": (file("<default><default class='c'/><default class='c'/></default>"), "two default"),
    "a class without a name": (file("<default><default/></default>"), "no name"),
    "two joints": (file("", "<joint", "<joint name='j'/><joint"), "two joints"),
    "two bodies": (file("", "'b'", "'a'"), "two bodies"),
    "two orientations": (file("", "<body", "<body euler='0 0 0' zaxis='0 0 1'"), "both"),
    "no direction": (file("", "<body", "<body quat='0 0 0 0'"), "no direction"),
    "no axis": (file("", "<joint", "<joint axis='0 0 0'"), "axis"),
    "a type": (file("", "<joint", "<joint type='screw'"), "screw"),
    "a free joint below": (file("", "<joint", "<joint type='free'"), "free"),
    "a range": (file("", "<joint", "<joint range='1 -1'"), "range"),
    "a number": (file("", "<joint", "<joint pos='1 nan 2'"), "finite"),
    "a mesh": (file("", "<joint", "<geom type='mesh' mesh='m'/><joint"), "no mesh 'm'"),
    "a size": (file("", "<joint", "<geom type='box' size='1 0 1'/><joint"), "sizes"),
    "an entity": ("<!DOCTYPE x [<!ENTITY a 'b'>]><mujoco/>", "document type"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_broken_files_are_refused_in_a_sentence_that_says_where(case, tmp_path):
    text, expected = BROKEN[case]
    with pytest.raises(FormatError) as caught:
        load(written(tmp_path, text))
    assert expected in str(caught.value) and "line" in str(caught.value) and "\n" not in str(caught.value)


def test_includes_stay_in_their_folder_and_come_once(tmp_path):
    inner = '<mujocoinclude><body name="b"><joint name="j"/><geom size="1"/></body></mujocoinclude>'
    written(tmp_path, inner, "robot/parts/inner.xml")
    written(tmp_path, inner, "outside.xml")
    outer = '<mujoco><worldbody><body name="a"><freejoint/><include file="{}"/></body></worldbody></mujoco>'
    skeleton = read_robot(written(tmp_path, outer.format("parts/inner.xml"), "robot/robot.xml"))
    assert skeleton.names == ("a", "j")
    (tmp_path / "robot" / "link.xml").symlink_to(tmp_path / "outside.xml")
    for name in ("../outside.xml", str(tmp_path / "outside.xml"), "link.xml", "parts/../../outside.xml", "\\\\x\\y"):
        with pytest.raises(FormatError, match="only files in the folder"):
            read_robot(written(tmp_path, outer.format(name), "robot/robot.xml"))
    with pytest.raises(FormatError, match="second time"):
        read_robot(written(tmp_path, outer.format("robot.xml"), "robot/robot.xml"))
    with pytest.raises(FormatError, match="second time"):
        twice = outer.replace("<include", '<include file="parts/inner.xml"/><include')
        read_robot(written(tmp_path, twice.format("parts/inner.xml"), "robot/robot.xml"))
    with pytest.raises(FormatError, match=r"none\.xml"):
        read_robot(written(tmp_path, outer.format("none.xml"), "robot/robot.xml"))


def test_what_mujoco_forgives_is_forgiven(tmp_path):
    """Attributes without a value, quaternions of zeros in a keyframe, and includes beside the file that includes."""
    part = "<mujocoinclude><include file='joint.xml'/><geom size='1' rgba=''/></mujocoinclude>"
    written(tmp_path, part, "parts/part.xml")
    written(tmp_path, "<mujocoinclude><joint name='j' class=' '/></mujocoinclude>", "parts/joint.xml")
    body = "<body name='a'><freejoint/><body name='b'><include file='parts/part.xml'/></body></body>"
    key = "<keyframe><key name='stand' qpos='1 2 3 0 0 0 0 0.5'/></keyframe>"
    skeleton = read_robot(written(tmp_path, f"<mujoco><worldbody>{body}</worldbody>{key}</mujoco>"))
    assert skeleton.names == ("a", "j")
    np.testing.assert_allclose(skeleton.robot.rest, [2, 3, 1, 0, 0, 0, 0.5], atol=1e-12)


def test_the_waist_of_a_robot_looks_at_something_while_it_walks(data_dir):
    chain = ps.Chain.from_robot(robot_file(data_dir, "unitree_g1/g1.xml"), tip="torso_link")
    assert chain.names == ("waist_yaw_joint", "waist_roll_joint", "waist_pitch_joint")
    np.testing.assert_allclose(chain.forward(chain.zero).pointing, [0, 0, 1], atol=1e-12)
    answer = ps.ERIK(chain).solve(chain.zero, look_at=(0.4, 1.0, 1.5))
    away = np.array([0.4, 1.0, 1.5]) - chain.forward(answer.angles).positions[-1]
    assert answer.ok and chain.forward(answer.angles).pointing @ away / np.linalg.norm(away) > np.cos(0.02)
    same = ps.Chain.from_robot(read_robot(robot_file(data_dir, "unitree_g1/g1.xml")), tip="torso_link")
    assert same.names == chain.names
    guessed = ps.Chain.from_robot(robot_file(data_dir, "unitree_g1/g1.xml"))
    assert len(guessed) == 10 and "wrist" in guessed.names[-1]
    with pytest.raises(ps.PosableError, match="from_skeleton"):
        ps.Chain.from_robot(ps.figure().skeleton)
