"""Scenes: named obstacles that are added, moved and removed, meshes among them, while others ask."""

import threading

import numpy as np
import pytest

from posable.collision import Scene, Volumes
from posable.compute import PosableError, ShapeError, UnknownNameError

from .pairs_of_shapes import matrix, turns

STILL = np.array([[1.0, 0.0, 0.0, 0.0]])


def ball(radius=0.1):
    return Volumes([0], ["capsule"], [[0.0, 0, 0]], [[0.0, 0, 0]], [[radius, radius, 0]], names=("ball",))


def at(*place):
    return np.array([place], dtype=float), STILL


def cube(size=1.0):
    """A closed cube as 12 triangles."""
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * size / 2
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    return corners, np.array([face for a, b, c, d in quads for face in ((a, b, c), (a, c, d))])


def test_what_is_near_is_told_by_name():
    scene = Scene().box("table", (1.0, 0.04, 1.0), (0.0, 0.7, 0.0)).plane("floor").sphere("lamp", 0.2, (0.0, 2.0, 0.0))
    assert scene.names == ("table", "floor", "lamp")
    assert scene.contacts(ball(), *at(0.0, 0.8, 0.0)) == [("table", "ball")]
    assert scene.contacts(ball(), *at(3.0, 0.05, 0.0)) == [("floor", "ball")]
    assert not scene.touches(ball(), *at(0.0, 1.2, 0.0))
    assert scene.touches(ball(), *at(0.0, 1.2, 0.0), margin=0.5)
    told = scene.distance(ball(), *at(0.0, 1.3, 0.0))
    assert told[1:] == ("lamp", "ball")
    assert told[0] == pytest.approx(0.4)


def test_an_empty_scene_and_no_volumes_touch_nothing():
    scene = Scene()
    assert not scene.touches(ball(), *at(0, 0, 0))
    assert scene.distance(ball(), *at(0, 0, 0)) == (np.inf, "", "")
    nobody = Volumes(np.zeros(0, int), [], np.zeros((0, 3)), np.zeros((0, 3)), np.zeros((0, 3)))
    assert not scene.plane("floor").touches(nobody, *at(0, -1, 0))


def test_a_capsule_lies_along_its_own_y_axis():
    q = turns(np.random.default_rng(0), 1)[0]
    scene = Scene().capsule("bar", 0.05, 1.0, (1.0, 2.0, 3.0), q, end_radius=0.1)
    tip = np.array([1.0, 2.0, 3.0]) + matrix(q) @ [0.0, 0.5, 0.0]
    away = matrix(q) @ [0.0, 0.4, 0.0]
    assert scene.distance(ball(), *at(*(tip + away)))[0] == pytest.approx(0.4 - 0.1 - 0.1)
    assert scene.distance(ball(), *at(*(2 * np.array([1.0, 2.0, 3.0]) - tip - away)))[0] == pytest.approx(0.25)


def test_planes_are_solid_on_their_other_side():
    scene = Scene().plane("wall", (1.0, 0, 0), normal=(-2.0, 0, 0))
    assert scene.distance(ball(), *at(0.0, 5.0, 5.0))[0] == pytest.approx(0.9)
    assert scene.touches(ball(), *at(1.5, 0.0, 0.0))


def test_moving_changes_the_place_and_keeps_the_rest():
    scene = Scene().box("box", (0.2, 0.2, 0.2)).sphere("other", 0.1, (5.0, 0, 0))
    before = scene.packed
    scene.move("box", position=(1.0, 0.0, 0.0))
    assert not scene.touches(ball(), *at(0, 0, 0))
    assert scene.contacts(ball(), *at(1.0, 0, 0)) == [("box", "ball")]
    scene.move("box", orientation=(0.0, 1.0, 0.0, 0.0))
    np.testing.assert_array_equal(scene["box"].position, [1.0, 0.0, 0.0])
    assert before["px"].tolist() == [0.0, 5.0]  # what was handed out before is not touched
    with pytest.raises(ValueError, match="read-only"):
        before["px"] = 1.0


def test_a_removed_obstacle_is_gone():
    scene = Scene().sphere("a", 1.0).sphere("b", 1.0, (5.0, 0, 0))
    scene.remove("a")
    assert "a" not in scene
    assert scene.names == ("b",)
    assert not scene.touches(ball(), *at(0, 0, 0))
    with pytest.raises(UnknownNameError, match="unknown obstacle 'a'"):
        scene.remove("a")


def test_in_a_moving_frame_everything_is_as_near_as_in_the_world():
    from posable.math import conjugate, multiply, rotate

    rng = np.random.default_rng(1)
    q = turns(rng, 7)
    scene = Scene().box("box", (0.3, 0.5, 0.9), (0.2, 0, 0), q[0]).plane("floor", (0, -1, 0), (1.0, 2.0, 0.0))
    scene.capsule("bar", 0.1, 0.5, (0, 1, 0), q[1]).ellipsoid("egg", (0.1, 0.2, 0.3), (1, 1, 1), q[2])
    from posable.collision.scene import all_gaps

    rows = ball().packed
    place, turn = rng.normal(size=(1, 3)), q[3:4]
    here = all_gaps(rows, place, turn, scene.packed)
    origin, frame = rng.normal(size=(3, 3)), q[4:]
    for k, seen in enumerate(scene.in_frame(origin, frame)):
        back = conjugate(frame[k])
        there = all_gaps(rows, rotate(back, place - origin[k]), multiply(back, turn), seen)
        np.testing.assert_allclose(there, here, atol=1e-12)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda s: s.box("x", (1, -1, 1)), "size of 'x' is .*-1.*above 0"),
        (lambda s: s.box("x", (1, 0, 1)), "above 0"),
        (lambda s: s.box("x", (1, np.nan, 1)), "not finite"),
        (lambda s: s.box("x", (1, 1)), r"shape \(2,\); expected \(3,\)"),
        (lambda s: s.sphere("x", -1.0), "radius of 'x'"),
        (lambda s: s.sphere("x", 1.0, (np.inf, 0, 0)), "position of 'x'.*not finite"),
        (lambda s: s.capsule("x", 0.1, -1.0), "length -1.0"),
        (lambda s: s.capsule("x", 0.1, 1.0, orientation=(0, 0, 0, 0)), "unit quaternion"),
        (lambda s: s.plane("x", normal=(0, 0, 0)), "expected a direction"),
        (lambda s: s.sphere("x", 1.0).sphere("x", 2.0), "has a 'x' already"),
        (lambda s: s.move("y", (0, 0, 0)), "unknown obstacle 'y'"),
    ],
)
def test_impossible_obstacles_are_refused_with_a_reason(make, message):
    scene = Scene()
    with pytest.raises(PosableError, match=message):
        make(scene)


def test_volumes_of_joints_that_are_not_there_are_refused():
    far = Volumes([3], ["capsule"], [[0.0, 0, 0]], [[0.0, 0, 0]], [[1.0, 1, 0]])
    with pytest.raises(ShapeError, match="joint 3, there are 1"):
        Scene().sphere("a", 1.0).touches(far, *at(0, 0, 0))


def test_readers_never_see_half_a_change():
    """One thread moves both balls of a pair together; in every state that others see, exactly one place is taken."""
    scene = Scene().sphere("a", 0.3, (0.0, 0, 0))
    wrong, done = [], threading.Event()

    def ask():
        while not done.is_set():
            rows = scene.packed
            if len(rows) != 1 or rows["px"][0] not in (0.0, 2.0) or rows["bound"][0] != 0.3:
                wrong.append(rows)
            scene.touches(ball(), *at(0, 0, 0))

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for k in range(300):
        scene.move("a", (2.0 * (k % 2), 0, 0))
    done.set()
    for thread in threads:
        thread.join()
    assert not wrong


class TestMeshes:
    @pytest.fixture(autouse=True)
    def coal(self):
        pytest.importorskip("coal")

    def test_a_cube_of_triangles_is_as_near_as_a_box(self):
        rng = np.random.default_rng(2)
        kinds = ["capsule", "capsule", "ellipsoid"]
        radii = [[0.1, 0.1, 0], [0.12, 0.05, 0], [0.1, 0.2, 0.05]]
        ends = [[0, 0.3, 0], [0.2, 0.1, 0], [0, 0, 0]]
        some = Volumes([0, 0, 0], kinds, np.zeros((3, 3)), ends, radii, names=("bar", "cone", "egg"))
        told = {}
        for _ in range(300):
            q = turns(rng, 2)
            scene = Scene().box("box", (1, 1, 1), (0.1, 0.2, 0.3), q[0])
            meshed = Scene().mesh("box", *cube(), (0.1, 0.2, 0.3), q[0])
            where = rng.normal(scale=0.8, size=(1, 3)), q[1:]
            for name, kind in zip(some.names, some.kinds, strict=True):
                one = Volumes([0], [kind], *[v[[some.names.index(name)]] for v in (some.start, some.end, some.radii)])
                exact, seen = scene.distance(one, *where)[0], meshed.distance(one, *where)[0]
                if exact > 0.0:  # a surface does not know its inside
                    slack = 0.06 * 0.12 if name == "cone" else 0.0
                    assert exact - slack - 1e-5 <= seen <= exact + 1e-5  # coal iterates to 1e-6
                    told[name] = told.get(name, 0) + 1
                if exact > 0.01:
                    assert not meshed.touches(one, *where)
                    assert meshed.touches(one, *where, margin=exact + 0.01)
        assert min(told.values()) > 50

    def test_triangles_far_from_their_own_origin_are_touched_where_they_are(self):
        rng = np.random.default_rng(4)
        size, radius, touched = np.array([0.6, 0.2, 1.0]), 0.1, 0
        for _ in range(400):
            shift, position, q = rng.normal(scale=2.0, size=3), rng.normal(size=3), turns(rng, 1)[0]
            vertices, faces = cube()
            scene = Scene().mesh("box", vertices * size + shift, faces, position, q)
            inside = rng.uniform(-0.5, 0.5, 3) * size + rng.normal(scale=0.1, size=3)  # from the box's own middle
            where = at(*(position + matrix(q) @ (shift + inside)))
            beyond = np.abs(inside) - size / 2
            to_surface = np.linalg.norm(np.maximum(beyond, 0.0)) if (beyond > 0.0).any() else -beyond.max()
            if abs(to_surface - radius) > 1e-4:
                assert scene.touches(ball(radius), *where) == (to_surface < radius)
                assert (scene.contacts(ball(radius), *where) == [("box", "ball")]) == (to_surface < radius)
                touched += to_surface < radius
        assert 100 < touched < 390

    def test_a_moved_mesh_is_where_it_was_moved_to(self):
        scene = Scene().mesh("cube", *cube())
        tree = scene["cube"].mesh.tree
        assert scene.touches(ball(), *at(0.55, 0, 0))
        scene.move("cube", (5.0, 0, 0))
        assert scene["cube"].mesh.tree is tree
        assert not scene.touches(ball(), *at(0.55, 0, 0))
        assert scene.contacts(ball(), *at(4.45, 0, 0)) == [("cube", "ball")]
        assert scene.has_meshes
        assert len(scene.packed) == 0

    def test_threads_may_ask_one_mesh_together(self):
        scene = Scene().mesh("cube", *cube())
        places = np.random.default_rng(3).uniform(-1, 1, (200, 3))
        expected = [scene.touches(ball(), *at(*place)) for place in places]
        answers = {}

        def ask(k):
            answers[k] = [scene.touches(ball(), *at(*place)) for place in places]

        threads = [threading.Thread(target=ask, args=(k,)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert all(answers[k] == expected for k in range(4))

    def test_triangles_without_an_area_are_dropped(self):
        vertices, faces = cube()
        more = np.concatenate([faces, [[0, 0, 1], [2, 2, 2]]])
        assert len(Scene().mesh("cube", vertices, more)["cube"].mesh.faces) == 12

    @pytest.mark.parametrize(
        ("vertices", "faces", "message"),
        [
            (np.zeros((0, 3)), np.zeros((0, 3), int), "no triangle with an area"),
            (np.zeros((3, 3)), [[0, 1, 2]], r"no triangle with an area \(1 were given\)"),
            (np.eye(3), [[0, 1, 3]], "names vertex 3; there are 3"),
            (np.eye(3), [[0, 1, -1]], "names vertex -1"),
            (np.eye(3) * np.nan, [[0, 1, 2]], "vertex 0 .* not finite"),
            (np.eye(2), [[0, 1, 1]], r"expected \(V, 3\)"),
            (np.eye(3), [[0.0, 1.0, 2.0]], r"expected indices \(T, 3\)"),
        ],
    )
    def test_broken_meshes_are_refused_with_a_reason(self, vertices, faces, message):
        with pytest.raises(PosableError, match=message):
            Scene().mesh("broken", vertices, faces)


def test_without_coal_a_mesh_says_what_to_install(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "coal", None)
    with pytest.raises(PosableError, match=r"posable\[collision\]"):
        Scene().mesh("cube", *cube())
