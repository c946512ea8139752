"""The renderer draws what is there: nearest triangles, sane cameras, files that others read."""

import io
from itertools import combinations

import matplotlib.image
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posable import samples
from posable.body import figure
from posable.compute import PosableError, ShapeError
from posable.render import portrait, save_picture, strip
from posable.render.bones import bone_volumes
from posable.render.picture import VIEWS, volume_look
from posable.render.raster import Camera, nearest_triangles
from posable.skeleton import Character, Motion, Pose, Skeleton, SkinnedMesh
from posable.skeleton.character import vertex_normals

angle = st.floats(-3.0, 3.0)


@pytest.fixture(scope="module")
def body():
    return figure()


def arm(**more):
    return Skeleton(["a", "b", "c"], [-1, 0, 1], [[0, 0.2, 0], [0, 0.4, 0], [0.3, 0.1, 0]], **more)


def slowly(xy, depth, faces, width, height):
    """Each pixel by itself: barycentric coordinates of its centre in every triangle, the nearest one wins."""
    image = np.full((height, width), -1)
    for row in range(height):
        for column in range(width):
            best = np.inf
            for k, face in enumerate(faces):
                (ax, ay), (bx, by), (cx, cy) = xy[face]
                area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
                if abs(area) < 1e-12:
                    continue
                x, y = column + 0.5, row + 0.5
                v = ((x - ax) * (cy - ay) - (y - ay) * (cx - ax)) / area
                w = ((bx - ax) * (y - ay) - (by - ay) * (x - ax)) / area
                z = (1 - v - w) * depth[face[0]] + v * depth[face[1]] + w * depth[face[2]]
                if min(v, w, 1 - v - w) >= 0 and z < best:
                    best, image[row, column] = z, k
    return image


@pytest.mark.parametrize("seed", range(25))
def test_every_pixel_shows_the_nearest_triangle(seed):
    rng = np.random.default_rng([1, seed])
    xy = rng.uniform(-6, 26, (12, 2))
    depth = rng.uniform(-1, 1, 12)
    faces = rng.choice(list(combinations(range(12), 3)), 9, replace=False)  # no triangle twice: neither would be nearer
    np.testing.assert_array_equal(nearest_triangles(xy, depth, faces, 20, 16), slowly(xy, depth, faces, 20, 16))


def test_nothing_is_drawn_of_flat_distant_or_missing_triangles():
    xy = np.array([[0.0, 0.0], [5.0, 5.0], [10.0, 10.0], [90.0, 90.0], [99.0, 90.0], [90.0, 99.0]])
    faces = np.array([[0, 1, 2], [3, 4, 5], [1, 1, 1]])
    assert (nearest_triangles(xy, np.zeros(6), faces, 8, 8) == -1).all()
    assert (nearest_triangles(np.zeros((0, 2)), np.zeros(0), np.zeros((0, 3), int), 8, 8) == -1).all()


@given(angle, st.floats(0.05, 1.5), st.floats(2.0, 50.0), st.booleans())
def test_the_floor_a_pixel_sees_projects_back_onto_that_pixel(azimuth, elevation, distance, parallel):
    camera = Camera(np.array([0.3, 0.9, -0.4]), azimuth, elevation, 2.0, np.inf if parallel else distance)
    place, depth = camera.floor(16, 12, level=0.1)
    seen = np.isfinite(depth) & (depth < 100.0)
    points = np.stack([place[..., 0], np.full(depth.shape, 0.1), place[..., 1]], axis=-1)[seen]
    xy, _ = camera.project(points, 16, 12)
    rows, columns = np.nonzero(seen)
    np.testing.assert_allclose(xy, np.stack([columns, rows], axis=-1) + 0.5, atol=1e-6)


@given(angle, st.floats(-1.5, 1.5))
def test_a_cameras_axes_are_a_frame_with_up_upwards(azimuth, elevation):
    right, up, forward = Camera(np.zeros(3), azimuth, elevation, 1.0).axes
    np.testing.assert_allclose(np.cross(right, up), -forward, atol=1e-12)
    assert up[1] >= 0.0
    assert abs(right[1]) < 1e-12


def test_names_of_views_say_where_a_resting_figure_looks():
    facing = np.array([[0.0, 0.0, 1.0]])
    right, up, forward = Camera(np.zeros(3), *VIEWS["front"], 1.0).axes
    assert facing @ forward < -0.9
    right, up, forward = Camera(np.zeros(3), *VIEWS["side"], 1.0).axes
    assert facing @ right > 0.9
    assert right[1] == 0.0 and up[1] > 0.9


def test_normals_of_a_ball_point_away_from_its_middle(body):
    mesh = body.volumes.tessellated(40)
    skull = mesh.volumes == body.volumes.names.index("skull")
    faces = mesh.faces[skull[mesh.faces].all(axis=1)]
    normals = vertex_normals(mesh.vertices, faces, merge=True)[skull]
    assert np.einsum("ij,ij->i", normals, mesh.normals[skull]).min() > 0.99


def test_a_symmetric_body_seen_from_the_front_has_a_symmetric_outline(body):
    look = volume_look(body.volumes)
    frames = body.skeleton.forward(body.skeleton.rest)
    mesh = look.mesh(frames.positions, frames.orientations)
    camera = Camera(np.array([0.0, 0.9, 0.0]), 0.0, 0.1, 2.0)
    xy, depth = camera.project(mesh.vertices, 160, 160)
    drawn = nearest_triangles(xy, depth, mesh.faces, 160, 160) >= 0
    assert drawn.mean() > 0.05
    assert (drawn ^ drawn[:, ::-1]).mean() < 2e-3  # the corners of tessellations are not mirrored, shapes are


def test_a_strip_shows_as_many_figures_as_asked_for(body):
    motion = samples.walk(body, duration=1.0)
    image = strip(body, motion, frames=4, height=64, view="front", spacing=1.2)
    assert image.shape[0] == 64 and image.dtype == np.uint8
    inked = np.abs(image.astype(int) - 255).sum(axis=-1) > 160
    columns = inked[:48].any(axis=0)  # heads and trunks: shadows lie below
    assert np.count_nonzero(columns[1:] & ~columns[:-1]) == 4


def test_rows_are_broken_into_columns(body):
    motion = samples.walk(body, duration=1.0)
    one = strip(body, motion, frames=6, height=48, samples=1)
    two = strip(body, motion, frames=6, columns=3, height=48, samples=1)
    assert two.shape[0] == 2 * 48 and one.shape[0] == 48 and two.shape[1] < one.shape[1]


def test_a_motion_is_drawn_alike_wherever_on_the_floor_it_happens(body):
    motion = samples.reach(body, duration=0.5)
    away = motion.replace(pose=motion.pose.replace(translation=motion.pose.translation + np.array([40.0, 0.0, -7.5])))
    here, there = (strip(body, m, frames=3, height=60, samples=1).astype(int) for m in (motion, away))
    assert np.abs(here - there).max() <= 1


def test_the_ways_to_name_a_subject_give_the_same_picture(body):
    motion = samples.walk(body, duration=0.2)
    frames = [0, 5]
    expected = strip(body, motion, frames, height=40, samples=1)
    for image in (
        strip(motion, None, frames, height=40, samples=1),
        strip(body, motion.pose, frames, height=40, samples=1),
        strip(motion.skeleton, motion, np.array(frames), height=40, samples=1),
    ):
        np.testing.assert_array_equal(image, expected)


def test_a_skeleton_that_is_no_person_is_drawn_as_bones():
    skeleton = arm(end_parents=[2], end_offsets=[[0, 0.2, 0]])
    image = strip(skeleton, height=60, samples=1)
    assert (image < 200).any()
    volumes = bone_volumes(skeleton)
    bones = volumes.tones == 0
    assert volumes.joints[bones].tolist() == [0, 1, 2]  # a bone to each child and end site, carried by where it starts
    np.testing.assert_allclose(volumes.end[bones], [[0, 0.4, 0], [0.3, 0.1, 0], [0, 0.2, 0]])
    assert volumes.joints[~bones].tolist() == [0, 1, 2]  # and a ball at each joint
    assert len(bone_volumes(Skeleton(["only"], [-1], [[0, 0, 0]]))) == 1


def test_frames_that_only_mark_a_point_of_a_link_are_not_drawn():
    kinds = ["fixed", "hinge", "fixed", "hinge"]
    axes = np.tile([1.0, 0.0, 0.0], (4, 1))
    offsets = [[0, 0, 0], [0, 0.3, 0], [0.2, 0, 0], [0, 0.3, 0]]
    robot = Skeleton(["base", "shoulder", "sensor", "elbow"], [-1, 0, 1, 1], offsets, kinds=kinds, axes=axes)
    volumes = bone_volumes(robot)
    assert np.abs(volumes.end[:, 0]).max() == 0.0
    assert volumes.joints[volumes.tones == 1].tolist() == [1, 3]


def test_a_skinned_character_is_drawn_with_its_mesh_and_colours():
    corners = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])
    mesh = SkinnedMesh(
        name="sail",
        vertices=corners,
        faces=np.array([[0, 1, 2]], np.int32),
        joints=np.zeros((3, 1), np.int32),
        weights=np.ones((3, 1)),
        bind_positions=np.zeros((3, 3)),
        bind_orientations=np.tile([1.0, 0, 0, 0], (3, 1)),
        colours=np.tile(np.array([200, 20, 20, 255], np.uint8), (3, 1)),
    )
    image = strip(arm(character=Character(meshes=(mesh,))), height=60, view="front", samples=1).astype(int)
    red = (image[..., 0] > 2 * image[..., 1]) & (image[..., 0] > 80)
    assert red.mean() > 0.2


def test_a_portrait_has_the_size_asked_for_and_a_white_sky(body):
    image = portrait(body, size=(90, 120), samples=1)
    assert image.shape == (120, 90, 3)
    assert (image[0] > 245).all()
    assert (image[40:80, 35:55] < 230).any()


@pytest.mark.parametrize("size", [(1, 1), (7, 3), (64, 48)])
def test_others_read_the_png_back_exactly(tmp_path, size):
    image = np.random.default_rng(5).integers(0, 256, (*size, 3)).astype(np.uint8)
    image[: size[0] // 2] = 200
    path = tmp_path / "picture.png"
    save_picture(image, path)
    read = matplotlib.image.imread(io.BytesIO(path.read_bytes()), format="png")
    np.testing.assert_array_equal(np.round(read[..., :3] * 255).astype(np.uint8), image)


def test_what_cannot_be_drawn_or_written_is_named(body, tmp_path):
    motion = samples.walk(body, duration=0.1)
    with pytest.raises(PosableError, match="unknown view 'above'"):
        strip(body, motion, view="above")
    with pytest.raises(PosableError, match="elevation"):
        strip(body, motion, view=(0.0, 2.0))
    with pytest.raises(PosableError, match="at least 1 figure"):
        strip(body, motion, frames=0)
    with pytest.raises(PosableError, match="7 frames at hand"):
        strip(body, motion, frames=[99])
    with pytest.raises(PosableError, match="no frames"):
        strip(Motion(body.skeleton, motion.pose[:0], 60.0))
    with pytest.raises(ShapeError, match="one axis"):
        strip(body, Pose.stack([motion.pose, motion.pose]))
    with pytest.raises(ShapeError, match="uint8"):
        save_picture(np.zeros((4, 4, 3)), tmp_path / "a.png")
    with pytest.raises(PosableError, match=r"\.png"):
        save_picture(np.zeros((4, 4, 3), np.uint8), tmp_path / "a.jpg")
    assert list(tmp_path.iterdir()) == []


def test_the_shadow_of_a_giant_takes_no_more_memory_than_that_of_a_person():
    import tracemalloc

    body = figure()
    scaled = Skeleton(
        body.skeleton.names, body.skeleton.parents, 100.0 * body.skeleton.offsets, kinds=body.skeleton.kinds
    )
    tracemalloc.start()
    image = portrait(scaled, size=(60, 80), samples=1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert image.shape == (80, 60, 3)
    assert peak < 400e6  # cells of 8 mm would take 20 GB
