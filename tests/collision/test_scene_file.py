"""Scenes in files: what is saved comes back, and what a stranger wrote is read with care."""

import json
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import posable as ps
from posable.collision.scene_file import FORMAT, MAX_BYTES, MAX_MESHES, MAX_OBSTACLES
from posable.compute import FormatError
from posable.math import exp

QUAD = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3 4\n"


def written(folder: Path, *obstacles: dict, **changes: object) -> Path:
    """A scene's file with these things."""
    file = folder / "scene.json"
    file.write_text(json.dumps({"format": FORMAT, "obstacles": obstacles, **changes}))
    return file


def refused(file: Path) -> FormatError:
    with pytest.raises(FormatError) as error:
        ps.Scene.load(file)
    return error.value


def random_scene(seed: int) -> ps.Scene:
    """Some of everything but meshes."""
    rng = np.random.default_rng(seed)
    scene = ps.Scene()
    for row in range(int(rng.integers(0, 12))):
        name, place, turn = f"thing {row} “é”", rng.normal(size=3), exp(rng.normal(size=3))
        kind = int(rng.integers(0, 6))
        if kind == 0:
            scene.box(name, rng.uniform(0.01, 2.0, 3), place, turn)
        elif kind == 1:
            scene.sphere(name, float(rng.uniform(0.01, 1.0)), place)
        elif kind == 2:
            scene.capsule(name, *rng.uniform(0.01, 1.0, 2), place, turn)
        elif kind == 3:
            scene.capsule(name, 0.1, 0.5, place, end_radius=0.05)
        elif kind == 4:
            scene.ellipsoid(name, rng.uniform(0.01, 1.0, 3), place, turn)
        else:
            scene.plane(name, place, rng.normal(size=3))
    return scene


@pytest.mark.parametrize("seed", range(40))
def test_a_scene_comes_back_as_it_was(seed, tmp_path):
    scene = random_scene(seed)
    scene.save(tmp_path / "scene.json")
    again = ps.Scene.load(tmp_path / "scene.json")
    assert again.names == scene.names
    for name in scene.packed.dtype.names:
        np.testing.assert_allclose(again.packed[name], scene.packed[name], rtol=0, atol=1e-14)


def test_a_scene_comes_back_in_the_order_and_with_the_shapes_of_its_things(tmp_path):
    scene = ps.Scene().plane("floor").capsule("pole", 0.1, 0.5, end_radius=0.05).ellipsoid("egg", (0.1, 0.2, 0.3))
    scene.save(tmp_path / "scene.json")
    again = ps.Scene.load(tmp_path / "scene.json")
    assert [(obstacle.name, obstacle.kind, obstacle.length) for obstacle in again.obstacles] == [
        ("floor", "plane", 0.0),
        ("pole", "capsule", 0.5),
        ("egg", "ellipsoid", 0.0),
    ]
    assert [obstacle.sizes.tolist() for obstacle in again.obstacles] == [
        obstacle.sizes.tolist() for obstacle in scene.obstacles
    ]


def test_a_person_may_leave_out_what_is_usual(tmp_path):
    file = written(tmp_path, {"kind": "plane", "name": "floor"}, {"kind": "sphere", "name": "ball", "radius": 1})
    scene = ps.Scene.load(file)
    assert scene.names == ("floor", "ball") and scene["floor"].position.tolist() == [0.0, 0.0, 0.0]


def test_meshes_come_back_to_the_last_bit(tmp_path):
    pytest.importorskip("coal")
    rng = np.random.default_rng(0)
    points, faces = rng.normal(size=(30, 3)), np.arange(30).reshape(10, 3)
    scene = ps.Scene().sphere("ball", 0.1).mesh("statue", points, faces, (0, 0, 1), exp([0.1, 0.2, 0.3]))
    scene.save(tmp_path / "scene.json")
    again = ps.Scene.load(tmp_path / "scene.json")["statue"]
    assert again.mesh is not None and (again.mesh.vertices == points).all() and (again.mesh.faces == faces).all()
    np.testing.assert_allclose(again.orientation, scene["statue"].orientation, rtol=0, atol=1e-15)


def test_a_mesh_is_scaled_and_faces_with_more_corners_are_cut(tmp_path):
    pytest.importorskip("coal")
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "quad.obj").write_text("# a quad\no quad\n" + QUAD + "f -4//1 -3//1 -2//1\n")
    file = written(tmp_path, {"kind": "mesh", "name": "quad", "file": "parts/quad.obj", "scale": 0.01})
    mesh = ps.Scene.load(file)["quad"].mesh
    assert mesh is not None and mesh.vertices.max() == 0.01 and mesh.faces.tolist() == [[0, 1, 2], [0, 2, 3], [0, 1, 2]]


OUT = ["../out.obj", "/etc/passwd", "a/../../out.obj", "..\\out.obj", "C:/out.obj", "link.obj", "nul\0.obj", "x" * 900]


@pytest.mark.parametrize("name", OUT)
def test_a_mesh_outside_the_folder_is_refused(name, tmp_path):
    folder = tmp_path / "inside"
    folder.mkdir()
    (tmp_path / "out.obj").write_text(QUAD)
    (folder / "link.obj").symlink_to(tmp_path / "out.obj")
    error = refused(written(folder, {"kind": "mesh", "name": "m", "file": name}))
    assert error.location == "obstacles[0].file"


@pytest.mark.parametrize("name", ["missing.obj", "folder", "notes.txt"])
def test_a_mesh_that_is_none_is_refused(name, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "notes.txt").write_text(QUAD)
    assert refused(written(tmp_path, {"kind": "mesh", "name": "m", "file": name})).location == "obstacles[0].file"


@pytest.mark.parametrize(
    "text", ["", "v 0 0 0\nf 1 2 3\n", "v 0 0\n", "v a b c\n", "v 0 0 0\nf 0 0 0\n", "v nan 0 0\nf 1 1 1\n", "f 1 1\n"]
)
def test_a_broken_mesh_file_is_told_by_its_name(text, tmp_path):
    (tmp_path / "bad.obj").write_text(text)
    assert refused(written(tmp_path, {"kind": "mesh", "name": "m", "file": "bad.obj"})).path.endswith("bad.obj")


BALL = {"kind": "sphere", "name": "ball", "radius": 0.1}
WRONG = [
    ({**BALL, "radius": 0}, "obstacles[0].radius"),
    ({**BALL, "radius": "big"}, "obstacles[0].radius"),
    ({**BALL, "radius": 1e300}, "obstacles[0].radius"),
    ({**BALL, "position": [0, 0]}, "obstacles[0].position"),
    ({**BALL, "position": [0, 0, 1e9]}, "obstacles[0].position[2]"),
    ({**BALL, "colour": "red"}, "obstacles[0]"),
    ({**BALL, "name": ""}, "obstacles[0].name"),
    ({**BALL, "kind": "teapot"}, "obstacles[0].kind"),
    ({"name": "ball", "radius": 0.1}, "obstacles[0]"),
    ({"kind": "box", "name": "b", "size": [1, 1, -1]}, "obstacles[0].size[2]"),
    ({"kind": "box", "name": "b", "size": [1, 1, 1], "orientation": [0, 0, 0, 0]}, "obstacles[0]"),
    ({"kind": "plane", "name": "p", "normal": [0, 0, 0]}, "obstacles[0]"),
    ({"kind": "capsule", "name": "c", "radius": 0.1}, "obstacles[0]"),
]


@pytest.mark.parametrize(("obstacle", "place"), WRONG)
def test_what_is_wrong_is_told_with_its_place(obstacle, place, tmp_path):
    assert refused(written(tmp_path, obstacle)).location == place


def test_a_name_that_stands_twice_is_refused(tmp_path):
    assert refused(written(tmp_path, BALL, BALL)).location == "obstacles[1]"


@pytest.mark.parametrize(
    "text", [b"", b"[]", b"{", b"\xff\xfe", b'{"format": 1}', b"[" * 100_000, b'{"format": "posable-scene/1"}']
)
def test_what_is_no_scene_is_refused(text, tmp_path):
    file = tmp_path / "scene.json"
    file.write_bytes(text)
    refused(file)


def test_another_format_a_large_file_and_too_many_things_are_refused(tmp_path):
    assert refused(written(tmp_path, BALL, format="posable-behaviour/1")).location == "format"
    many = [{**BALL, "name": str(row)} for row in range(MAX_OBSTACLES + 1)]
    assert refused(written(tmp_path, *many)).location == "obstacles"
    meshes = [{"kind": "mesh", "name": str(row), "file": "a.obj"} for row in range(MAX_MESHES + 1)]
    assert refused(written(tmp_path, *meshes)).location == "obstacles"
    (tmp_path / "scene.json").write_bytes(b" " * (MAX_BYTES + 1))
    assert "bytes" in str(refused(tmp_path / "scene.json"))
    assert refused(tmp_path / "missing.json")


@pytest.mark.parametrize("seed", range(200))
def test_a_damaged_file_is_refused_or_read_but_never_breaks(seed, tmp_path):
    rng = np.random.default_rng(seed)
    random_scene(seed).box("last", (1, 1, 1)).save(tmp_path / "scene.json")
    text = bytearray((tmp_path / "scene.json").read_bytes())
    for _ in range(int(rng.integers(1, 4))):
        at = int(rng.integers(len(text)))
        if rng.uniform() < 0.5:
            text[at] = int(rng.integers(256))
        else:
            del text[at : at + int(rng.integers(1, 30))]
    (tmp_path / "scene.json").write_bytes(bytes(text))
    with suppress(ps.PosableError):
        assert np.isfinite(ps.Scene.load(tmp_path / "scene.json").packed["px"]).all()
