"""Rounded cones and ellipsoids: their meshes are what they claim to be."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import posable.math as pm
from posable.collision import Volumes
from posable.compute import PosableError, ShapeError

coordinate = st.floats(-1.0, 1.0)
point = st.tuples(coordinate, coordinate, coordinate)
radius = st.floats(0.01, 0.4)
IDENTITY = (1.0, 0.0, 0.0, 0.0)


def capsule(start=(0, 0, 0), end=(0, 1, 0), radii=(0.1, 0.2, 0.0)):
    return Volumes([0], ["capsule"], [start], [end], [radii])


def ellipsoid(centre=(0, 0, 0), radii=(0.1, 0.2, 0.3), rotation=IDENTITY):
    return Volumes([0], ["ellipsoid"], [centre], [centre], [radii], rotations=[rotation])


def depth_in_swept_ball(points, start, end, r0, r1):
    """Distance of points to the union of all balls between two, the slow way: least over finely spaced centres."""
    share = np.linspace(0.0, 1.0, 20001)
    centres = start + share[:, None] * (end - start)
    radii = r0 + share * (r1 - r0)
    return np.array([(np.linalg.norm(p - centres, axis=-1) - radii).min() for p in points])


def enclosed(vertices, faces):
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    return float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6.0)


@given(point, point, radius, radius)
def test_a_rounded_cone_is_the_surface_of_a_ball_swept_from_start_to_end(start, end, r0, r1):
    vertices, _ = capsule(start, end, (r0, r1, 0.0)).mesh(0, detail=8)
    distance = depth_in_swept_ball(vertices, np.array(start), np.array(end), r0, r1)
    # The spaced centres of the slow way are off by at most half a step, squared over the radius.
    assert np.abs(distance).max() < 1e-5


@given(point, radius, radius, radius, st.tuples(coordinate, coordinate, coordinate))
def test_an_ellipsoid_satisfies_its_equation(centre, a, b, c, turn):
    rotation = pm.exp(np.array(turn) * 3.0)
    vertices, _ = ellipsoid(centre, (a, b, c), rotation).mesh(0)
    local = pm.rotate(pm.conjugate(rotation), vertices - np.array(centre))
    np.testing.assert_allclose(((local / [a, b, c]) ** 2).sum(axis=-1), 1.0, atol=1e-9)


@given(point, point, radius, radius, st.integers(3, 17))
def test_meshes_are_closed_and_face_outwards(start, end, r0, r1, detail):
    for volumes in (capsule(start, end, (r0, r1, 0.0)), ellipsoid(start, (r0, r1, 0.5 * (r0 + r1)))):
        vertices, faces = volumes.mesh(0, detail=detail)
        edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
        there = {tuple(edge) for edge in edges.tolist()}
        assert len(there) == len(edges), "an edge is used twice in one direction"
        assert all((b, a) in there for a, b in there), "an edge has no neighbour: the surface has a hole"
        assert enclosed(vertices, faces) > 0.0


def test_a_fine_mesh_encloses_the_volume_of_the_shape():
    vertices, faces = ellipsoid(radii=(0.1, 0.2, 0.3)).mesh(0, detail=128)
    assert enclosed(vertices, faces) == pytest.approx(4 / 3 * np.pi * 0.1 * 0.2 * 0.3, rel=2e-3)
    vertices, faces = capsule(radii=(0.2, 0.2, 0.0)).mesh(0, detail=128)
    assert enclosed(vertices, faces) == pytest.approx(np.pi * 0.2**2 + 4 / 3 * np.pi * 0.2**3, rel=2e-3)


@given(point, point, radius, radius)
def test_normals_are_unit_and_agree_with_the_faces(start, end, r0, r1):
    for volumes in (capsule(start, end, (r0, r1, 0.0)), ellipsoid(start, (r0, r1, 0.5 * (r0 + r1)))):
        mesh = volumes.tessellated(detail=48)
        np.testing.assert_allclose(np.linalg.norm(mesh.normals, axis=-1), 1.0, atol=1e-9)
        a, b, c = (mesh.vertices[mesh.faces[:, k]] for k in range(3))
        across = np.cross(b - a, c - a)
        size = np.linalg.norm(across, axis=-1)
        whole = size > 1e-6 * size.max()
        middle = mesh.normals[mesh.faces].mean(axis=1)
        assert np.all(np.einsum("ij,ij->i", across, middle)[whole] > 0.0)


def test_a_ball_that_holds_the_other_is_all_there_is():
    small = capsule((0, 0, 0), (0.05, 0, 0), (0.2, 0.1, 0.0)).mesh(0)[0]
    np.testing.assert_allclose(np.linalg.norm(small, axis=-1), 0.2, atol=1e-12)
    point_like = capsule((0.3, 0, 0), (0.3, 0, 0), (0.1, 0.1, 0.0)).mesh(0)[0]
    np.testing.assert_allclose(np.linalg.norm(point_like - [0.3, 0, 0], axis=-1), 0.1, atol=1e-12)


def test_all_volumes_as_one_mesh_are_the_single_meshes():
    volumes = Volumes(
        [3, 1],
        ["capsule", "ellipsoid"],
        [[0, 0, 0], [1, 0, 0]],
        [[0, 1, 0], [1, 0, 0]],
        [[0.1, 0.2, 0], [0.1, 0.2, 0.3]],
    )
    mesh = volumes.tessellated(detail=10)
    for k in range(2):
        vertices, faces = volumes.mesh(k, detail=10)
        mine = np.flatnonzero(mesh.volumes == k)
        np.testing.assert_array_equal(mesh.vertices[mine], vertices)
        np.testing.assert_array_equal(mesh.faces[(mesh.volumes[mesh.faces] == k).all(axis=1)] - mine[0], faces)
        assert set(mesh.joints[mine]) == {(3, 1)[k]}


def test_scaling_scales_every_length_and_keeps_the_rest():
    body = ellipsoid((0.1, 0.2, 0.3), rotation=pm.exp(np.array([0.3, 0.2, 0.1])))
    large = body.scaled(2.5)
    np.testing.assert_allclose(large.mesh(0)[0], 2.5 * body.mesh(0)[0])
    assert (large.names, large.kinds) == (body.names, body.kinds)
    with pytest.raises(PosableError, match="positive"):
        body.scaled(0.0)


def test_no_volumes_are_no_triangles():
    none = Volumes([], [], np.empty((0, 3)), np.empty((0, 3)), np.empty((0, 3)))
    assert len(none) == 0
    assert none.tessellated().vertices.shape == (0, 3)


def test_what_kernels_read_cannot_be_written():
    with pytest.raises(ValueError, match="read-only"):
        capsule().packed["radii"][0, 0] = 1.0
    assert capsule().radii[0, 2] == 0.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kinds": ["box"]}, "unknown kind of volume 'box'.*capsule, ellipsoid"),
        ({"radii": [[0.1, -0.2, 0.0]]}, "radii.*must be positive"),
        ({"radii": [[0.1, np.nan, 0.0]]}, "not finite"),
        ({"start": [[0.0, np.inf, 0.0]]}, "not finite"),
        ({"joints": [-1]}, "joint -1"),
        ({"joints": [0.5]}, "joint indices"),
        ({"end": [[0.0, 1.0]]}, r"end must have shape \(1, 3\), got \(1, 2\)"),
        ({"kinds": ["ellipsoid"], "radii": [[0.1, 0.1, 0.1]]}, "one centre"),
        ({"rotations": [[0.0, 0.0, 0.0, 0.0]]}, "zero rotation"),
        ({"names": ("a", "b")}, "different names"),
    ],
)
def test_what_is_no_volume_is_refused_with_its_name(change, message):
    fields = {"joints": [0], "kinds": ["capsule"], "start": [[0, 0, 0]], "end": [[0, 1, 0]], "radii": [[0.1, 0.2, 0]]}
    with pytest.raises(PosableError, match=message):
        Volumes(**(fields | change))


def test_a_mesh_needs_three_corners_around():
    with pytest.raises(PosableError, match="detail=2"):
        capsule().mesh(0, detail=2)
    with pytest.raises(ShapeError):
        Volumes([[0]], ["capsule"], [[0, 0, 0]], [[0, 1, 0]], [[0.1, 0.1, 0]])
