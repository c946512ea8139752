"""Meshes of robots are where MuJoCo has them, are drawn and written, and are looked for in a robot's own folders."""

import pickle
import struct

import numpy as np
import pytest

import posable as ps
import posable.math as pm
from posable.compute import FormatError
from posable.formats import read_robot, stl
from posable.skeleton.robot import UP
from posable.skeleton.robot_look import creased, shape_triangles
from posable.skeleton.simplify import fewer_vertices

# A wedge without any symmetry, its faces counter-clockwise from outside.
CORNERS = np.array([[0.5, 0.25, 0.125], [3.5, 0.25, 0.125], [0.5, 2.25, 0.125], [0.5, 0.25, 1.125]])
FACES = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]])


def binary(corners=CORNERS, faces=FACES):
    rows = np.zeros(len(faces), stl.RECORD)
    rows["corners"] = corners[faces]
    return b"made for a test".ljust(80) + struct.pack("<I", len(faces)) + rows.tobytes()


def words(corners=CORNERS, faces=FACES):
    row = "facet normal 0 0 0\nouter loop\n{}endloop\nendfacet\n"
    corner = "vertex {} {} {}\n"
    return "solid a\n" + "".join(row.format("".join(corner.format(*corners[k]) for k in face)) for face in faces)


def obj(corners=CORNERS, faces=FACES):
    rows = [f"v {x} {y} {z}" for x, y, z in corners] + [f"f {a} {b} {c}" for a, b, c in faces + 1]
    return "\n".join(rows)


def robot_with(folder, mesh="<mesh name='m' file='m.stl'/>", geom="", compiler="", name="robot.xml"):
    path = folder / name
    path.write_text(
        f"<mujoco><compiler {compiler}/><asset>{mesh}</asset><worldbody><body name='a' pos='0 0 1'><freejoint/>"
        f"<geom type='mesh' mesh='m' {geom}/></body></worldbody></mujoco>"
    )
    return path


def volume(vertices, faces):
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    return float(np.einsum("ti,ti->", a, np.cross(b, c))) / 6.0


@pytest.mark.parametrize(
    ("name", "content"), [("m.stl", binary()), ("m.STL", words().encode()), ("m.obj", obj().encode())]
)
def test_every_format_gives_the_same_triangles(name, content, tmp_path):
    (tmp_path / name).write_bytes(content)
    (shape,) = read_robot(robot_with(tmp_path, f"<mesh name='m' file='{name}'/>")).robot.shapes
    vertices, faces = shape.mesh.triangles
    assert vertices.shape == (4, 3)
    np.testing.assert_allclose(vertices[faces], CORNERS[FACES], atol=1e-7)


@pytest.mark.parametrize(
    ("mesh", "geom"),
    [
        ("", ""),
        ("scale='0.5 2 1'", "pos='1 2 3' euler='10 20 30'"),
        ("refpos='0.1 0.2 0.3'", ""),
        ("refquat='1 2 3 4'", "quat='4 3 2 1'"),
        ("refpos='0.1 0.2 0.3' refquat='1 -2 0.5 0.25' scale='1 0.5 3'", "pos='0 1 0' axisangle='1 1 0 50'"),
        ("scale='-1 1 1'", ""),
    ],
)
def test_meshes_are_where_mujoco_has_them(mesh, geom, tmp_path):
    (tmp_path / "m.stl").write_bytes(binary())
    path = robot_with(tmp_path, f"<mesh name='m' file='m.stl' {mesh}/>", geom)
    skeleton = read_robot(path)
    (drawn,) = skeleton.character.meshes
    ours = pm.rotate(pm.conjugate(UP["y"]), drawn.posed(skeleton.forward(skeleton.rest)))
    mujoco = pytest.importorskip("mujoco", reason="MuJoCo is a judge of its own: pip install posable[dev]")
    mujoco.set_mju_user_warning(lambda text: None)
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    theirs = data.geom_xpos[0] + model.mesh_vert.astype(float) @ data.geom_xmat[0].reshape(3, 3).T
    near = np.linalg.norm(ours[:, None] - theirs[None], axis=-1)
    assert near.min(axis=1).max() < 1e-5 and near.min(axis=0).max() < 1e-5
    assert volume(ours, drawn.faces) > 0.0  # counter-clockwise from outside, mirrored or not


def test_class_defaults_folders_and_bare_names_lead_to_a_mesh(tmp_path):
    inside = tmp_path / "robot" / "assets" / "deep"
    inside.mkdir(parents=True)
    (inside / "m.stl").write_bytes(binary())
    folder = tmp_path / "robot"
    for mesh, compiler in (
        ("<mesh file='deep/m.stl'/>", "meshdir='assets'"),
        ("<mesh file='deep\\m.stl'/>", "assetdir='assets/'"),
        ("<mesh name='m' file='/somewhere/else/m.stl'/>", "meshdir='assets/deep' strippath='true'"),
        ("<mesh name='m' file='../robot/assets/deep/m.stl'/>", ""),
    ):
        assert read_robot(robot_with(folder, mesh, compiler=compiler)).robot.shapes, mesh
    scaled = robot_with(folder, "<mesh file='assets/deep/m.stl'/>").read_text()
    scaled = scaled.replace("<asset>", "<default><mesh scale='2 2 2'/></default><asset>")
    (folder / "scaled.xml").write_text(scaled)
    vertices, _ = read_robot(folder / "scaled.xml").robot.shapes[0].mesh.triangles
    np.testing.assert_allclose(vertices.max(axis=0), 2 * CORNERS.max(axis=0))


def test_meshes_of_other_folders_and_formats_are_listed_once_and_not_read(tmp_path):
    (tmp_path / "secret.stl").write_bytes(binary())
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    (folder / "link.stl").symlink_to(tmp_path / "secret.stl")
    names = ("../../secret.stl", str(tmp_path / "secret.stl"), "link.stl", "none.stl", "shape.dae", "x" * 5000 + ".stl")
    assets = "".join(f"<mesh name='m{k}' file='{name}'/>" for k, name in enumerate(names))
    geoms = "".join(f"<geom type='mesh' mesh='m{k}'/>" * 3 for k in range(len(names)))
    path = folder / "robot.xml"
    path.write_text(
        f"<mujoco><asset>{assets}</asset><worldbody><body name='a'><freejoint/>{geoms}</body></worldbody></mujoco>"
    )
    robot = read_robot(path).robot
    assert robot.shapes == ()
    lost, unread = robot.notes[-2:]
    assert lost.startswith("5 meshes were not found: secret.stl, link.stl, none.stl, xxx") and len(lost) < 200
    assert unread.startswith("1 mesh is of a format that is not read (.stl, .obj are): shape.dae")


def test_meshes_of_urdf_come_from_their_package(tmp_path, data_dir):
    package = tmp_path / "little_description"
    (package / "urdf").mkdir(parents=True)
    (package / "meshes").mkdir()
    (package / "meshes" / "m.stl").write_bytes(binary())
    text = (
        "<robot name='r'><link name='l'>"
        + "".join(
            f"<visual><geometry><mesh filename='{name}' scale='2 2 2'/></geometry></visual>"
            for name in ("{}", "no.stl")
        )
        + "</link></robot>"
    )
    for name in ("package://little_description/meshes/m.stl", "../meshes/m.stl"):
        path = package / "urdf" / "r.urdf"
        path.write_text(text.format(name))
        robot = read_robot(path).robot
        (shape,) = robot.shapes
        np.testing.assert_allclose(shape.mesh.triangles[0].max(axis=0), 2 * CORNERS.max(axis=0))
        assert robot.notes == ("1 mesh was not found: no.stl",)
    notes = read_robot(data_dir / "robots" / "nao_v50.urdf").robot.notes
    assert any("HeadYaw.dae" in note for note in notes)


def test_a_broken_mesh_is_named_when_it_is_drawn(tmp_path):
    (tmp_path / "m.stl").write_bytes(b"solid nothing")
    skeleton = read_robot(robot_with(tmp_path))
    with pytest.raises(FormatError, match=r"m\.stl"):
        list(skeleton.character.meshes)
    (tmp_path / "m.stl").write_bytes(binary())
    assert len(skeleton.character.meshes) == 1  # it was mended


def test_meshes_are_read_when_they_are_drawn_and_not_before(tmp_path, monkeypatch):
    (tmp_path / "m.stl").write_bytes(binary())
    monkeypatch.setattr(stl, "read_mesh", None)
    skeleton = ps.load(robot_with(tmp_path)).skeleton
    assert skeleton.character is not None and skeleton.scaled(2.0).robot.shapes
    again = pickle.loads(pickle.dumps(skeleton))
    monkeypatch.undo()
    assert len(again.character.meshes[0].faces) == 4
    twice = skeleton.scaled(2.0)
    ours = skeleton.character.meshes[0].vertices
    np.testing.assert_allclose(twice.character.meshes[0].vertices, 2 * ours, atol=1e-12)


def test_a_robot_is_written_with_its_meshes_and_read_back(data_dir, tmp_path):
    motion = ps.load(data_dir / "robots" / "mjcf" / "unitree_g1" / "g1.xml")
    skeleton = motion.skeleton
    values = np.random.default_rng(0).uniform(-0.5, 0.5, (2, len(skeleton.dofs)))
    motion = ps.Motion(skeleton, skeleton.from_values(values), 30.0)
    ps.save(motion, tmp_path / "g1.glb")
    back = ps.load(tmp_path / "g1.glb")
    ours, theirs = skeleton.character.meshes, back.skeleton.character.meshes
    assert [mesh.name for mesh in theirs] == [mesh.name for mesh in ours] and len(ours) == 35
    for mesh, other in zip(ours, theirs):
        a, b = mesh.posed(skeleton.forward(motion.pose[1])), other.posed(back.skeleton.forward(back.pose[1]))
        np.testing.assert_allclose(a, b, atol=1e-5)
        np.testing.assert_array_equal(mesh.faces, other.faces)


@pytest.mark.parametrize("robot", ["h1/h1_mjx_feetonly.xml", "op3/op3_mjx_feetonly.xml"])
def test_a_robot_without_meshes_shows_what_touches_and_its_bones(robot, data_dir, tmp_path):
    motion = ps.load(data_dir / "robots" / "mjcf" / robot)
    meshes = motion.skeleton.character.meshes
    assert len(meshes) == len(motion.skeleton.robot.collisions) + 1 and meshes[-1].name == "bones"
    ps.save(motion, tmp_path / "robot.glb")
    ps.render.save_picture(ps.render.portrait(motion, size=(60, 80), samples=1), tmp_path / "robot.png")


@pytest.mark.parametrize(
    ("kind", "size", "expected"),
    [
        ("box", [1, 2, 3], 6.0),
        ("sphere", [2.0], 4 / 3 * np.pi * 8),
        ("ellipsoid", [1, 2, 3], 4 / 3 * np.pi * 6),
        ("cylinder", [2, 3], np.pi * 12),
        ("capsule", [2, 3], np.pi * 12 + 4 / 3 * np.pi * 8),
    ],
)
def test_shapes_have_their_volume_and_their_size(kind, size, expected):
    shape = ps.skeleton.Shape(0, kind, np.array(size, dtype=float), np.zeros(3), np.eye(4)[0])
    vertices, faces = shape_triangles(shape, around=96)
    assert np.isclose(volume(vertices, faces), expected, rtol=5e-3)
    reach = {"box": [0.5, 1, 1.5], "sphere": [2] * 3, "cylinder": [2, 2, 1.5], "capsule": [2, 2, 3.5]}.get(kind, size)
    np.testing.assert_allclose(vertices.max(axis=0), reach, rtol=1e-3)
    np.testing.assert_allclose(vertices.min(axis=0), -np.array(reach), rtol=1e-3)


def test_an_edge_is_sharp_and_a_bend_is_smooth():
    corners = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], dtype=float)
    faces = np.array(
        [[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1], [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4]]
    )
    vertices, sharp = creased(corners, faces)
    np.testing.assert_array_equal(vertices[sharp], corners[faces])
    assert len(vertices) == 20  # four each of five faces
    angle = np.linspace(0, 2 * np.pi, 41)[:-1]
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    tube = np.concatenate([np.insert(ring, 2, z, axis=1) for z in (0.0, 1.0)])
    k = np.arange(40)
    sides = np.concatenate(
        [np.stack([k, (k + 1) % 40, k + 40], 1), np.stack([(k + 1) % 40, (k + 1) % 40 + 40, k + 40], 1)]
    )
    assert len(creased(tube, sides)[0]) == 80


def test_fewer_vertices_stay_within_a_cell_of_the_surface(data_dir):
    skeleton = ps.load(data_dir / "robots" / "mjcf" / "unitree_g1" / "g1.xml").skeleton
    meshes = skeleton.character.meshes
    few = fewer_vertices(meshes, 30_000)
    assert 10_000 < sum(len(mesh.vertices) for mesh in few) <= 30_000
    for mesh, thin in zip(meshes, few):
        assert len(thin.faces) and thin.faces.max() < len(thin.vertices)
        np.testing.assert_allclose(thin.vertices.min(axis=0), mesh.vertices.min(axis=0), atol=0.01)
        np.testing.assert_allclose(thin.vertices.max(axis=0), mesh.vertices.max(axis=0), atol=0.01)
    assert fewer_vertices(few, 10**6) is few
