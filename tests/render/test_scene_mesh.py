"""Obstacles as triangles: on their surface, normals outwards, where the scene has them."""

import numpy as np
import pytest

import posable as ps
from posable.render.scene_mesh import scene_mesh

TURN = np.array([0.8, 0.1, 0.5, 0.3]) / np.linalg.norm([0.8, 0.1, 0.5, 0.3])
AT = np.array([0.3, 1.0, -0.2])
SHAPES = {
    "box": lambda scene: scene.box("it", (0.4, 0.2, 0.6), AT, TURN),
    "sphere": lambda scene: scene.sphere("it", 0.3, AT),
    "capsule": lambda scene: scene.capsule("it", 0.1, 0.5, AT, TURN, end_radius=0.05),
    "ellipsoid": lambda scene: scene.ellipsoid("it", (0.1, 0.2, 0.3), AT, TURN),
}


@pytest.mark.parametrize("kind", SHAPES)
def test_triangles_lie_on_the_obstacle_and_face_outwards(kind):
    scene = SHAPES[kind](ps.Scene())
    mesh = scene_mesh(scene)
    probe = ps.Volumes([0], ["capsule"], np.zeros((1, 3)), np.zeros((1, 3)), np.full((1, 3), 1e-6))
    still = np.array([[1.0, 0.0, 0.0, 0.0]])
    for vertex in mesh.vertices[::7]:
        gap, _, _ = scene.distance(probe, vertex[None], still)
        assert abs(gap) < 5e-3, "on its surface"
    corners = mesh.vertices[mesh.faces]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    area = np.linalg.norm(normals, axis=-1)
    outward = (normals * (corners.mean(axis=1) - AT)).sum(-1)[area > 1e-9]
    assert (outward > 0.0).mean() > 0.99 or (outward < 0.0).mean() > 0.99, "all wound the same way"
    assert ((mesh.normals * (mesh.vertices - AT)).sum(-1) > 0.0).all()


def test_half_spaces_are_not_drawn():
    assert scene_mesh(ps.Scene().plane("floor")) is None


def test_a_strip_shows_the_scene_at_every_figure():
    from posable.render import strip

    walk = ps.samples.walk(duration=1.0)
    scene = ps.Scene().box("crate", (0.3, 0.9, 0.3), (0.0, 0.45, 1.6))
    brown = []
    for around in (None, scene):
        image = strip(walk, frames=3, height=120, scene=around).astype(float)
        brown.append((image[..., 0] > image[..., 2] + 12).sum(axis=0) > 20)
    starts = [np.flatnonzero(np.diff(columns.astype(int)) == 1) for columns in brown]
    assert len(starts[1]) >= len(starts[0]) + 2
