"""Volumes fitted to points on a skin."""

import numpy as np
import pytest

import posable as ps
from posable.collision import Volumes
from posable.collision.fitting import fit_volumes
from posable.collision.kernels import volume_obstacles
from posable.collision.scene import all_gaps
from posable.compute import PosableError, ShapeError

STILL = np.array([[1.0, 0.0, 0.0, 0.0]])


def inside(volumes, points, positions, orientations, margin):
    """(N,) whether points lie in one of the volumes, or nearer than `margin` [m]."""
    solid = volume_obstacles(volumes.packed, positions, orientations, np.zeros(3), STILL[0])
    n = len(points)
    specks = Volumes(np.arange(n), "capsule", np.zeros((n, 3)), np.zeros((n, 3)), np.full((n, 3), 1e-9))
    return all_gaps(specks.packed, points, np.tile(STILL, (n, 1)), solid).min(axis=1) < margin


def skin(volume, count=3000, seed=0, noise=0.0):
    """Points all over the surface of a volume."""
    rng = np.random.default_rng(seed)
    vertices, faces = volume.mesh(0, 40)
    corners = vertices[faces]
    area = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=-1)
    chosen = corners[rng.choice(len(faces), count, p=area / area.sum())]
    share = rng.dirichlet([1, 1, 1], count)
    return (chosen * share[..., None]).sum(axis=1) + rng.normal(scale=noise, size=(count, 3))


def fitted(points, tip=None, place=(0.0, 0.0, 0.0), turn=STILL[0]):
    tips = {} if tip is None else {0: np.array(tip, dtype=float)}
    owners = np.zeros(len(points), int)
    return fit_volumes(points, owners, np.array([place]), np.array([turn]), tips, {0: "part"})


@pytest.mark.parametrize("given", [True, False])
def test_a_rounded_cone_is_found_again(given):
    cone = Volumes([0], ["capsule"], [[0.0, 0.02, 0]], [[0.3, 0.1, 0.05]], [[0.06, 0.035, 0]])
    found = fitted(skin(cone), [0.32, 0.1, 0.05] if given else None)
    assert found.kinds == ("capsule",)
    ends = sorted([(found.start[0], found.radii[0, 0]), (found.end[0], found.radii[0, 1])], key=lambda end: end[0][0])
    np.testing.assert_allclose([ends[0][0], ends[1][0]], [cone.start[0], cone.end[0]], atol=4e-3)
    np.testing.assert_allclose([ends[0][1], ends[1][1]], [0.06, 0.035], atol=2e-3)


def test_an_ellipsoid_is_found_again():
    egg = Volumes([0], ["ellipsoid"], [[0.1, 0.2, 0.3]], [[0.1, 0.2, 0.3]], [[0.15, 0.25, 0.08]])
    found = fitted(skin(egg))
    assert found.kinds == ("ellipsoid",)
    np.testing.assert_allclose(found.start[0], [0.1, 0.2, 0.3], atol=4e-3)
    np.testing.assert_allclose(np.sort(found.radii[0]), [0.08, 0.15, 0.25], atol=5e-3)


def test_stray_points_hardly_matter():
    cone = Volumes([0], ["capsule"], [[0.0, 0, 0]], [[0.3, 0, 0]], [[0.05, 0.05, 0]])
    points = skin(cone, noise=0.002)
    stray = np.random.default_rng(1).uniform([-0.1, -0.2, -0.2], [0.4, 0.2, 0.2], (300, 3))
    found = fitted(np.concatenate([points, stray]), [0.3, 0, 0])
    np.testing.assert_allclose(found.radii[0, :2], 0.05, atol=8e-3)


def test_a_fit_follows_the_joints_frame():
    from posable.math import rotate

    cone = Volumes([0], ["capsule"], [[0.0, 0.0, 0]], [[0.3, 0.1, 0.05]], [[0.06, 0.035, 0]])
    points = skin(cone)
    place, turn = np.array([1.0, 2.0, 3.0]), np.array([0.5, 0.5, -0.5, 0.5])
    moved, plain = fitted(points, None, place, turn), fitted(points)
    np.testing.assert_allclose(place + rotate(turn, moved.start[0]), plain.start[0], atol=1e-9)
    np.testing.assert_allclose(place + rotate(turn, moved.end[0]), plain.end[0], atol=1e-9)


def test_few_points_or_one_spot_carry_nothing():
    assert len(fitted(np.random.default_rng(0).normal(size=(5, 3)))) == 0
    assert len(fitted(np.full((100, 3), 0.3))) == 0
    assert len(fitted(np.zeros((0, 3)))) == 0


@pytest.mark.parametrize("flat", [(1.0, 1.0, 0.0), (1.0, 0.0, 0.0)])
def test_flat_and_thin_skins_give_volumes_of_their_size(flat):
    points = np.random.default_rng(0).uniform(-0.1, 0.1, (200, 3)) * flat
    found = fitted(points)
    assert len(found) == 1
    assert np.isfinite(found.packed["bound"]).all()
    assert found.packed["bound"][0] < 0.5


def test_wrong_points_are_refused():
    with pytest.raises(ShapeError, match="expected"):
        fit_volumes(np.zeros((4, 2)), np.zeros(4, int), np.zeros((1, 3)), STILL, {}, {0: "a"})
    with pytest.raises(PosableError, match="not finite"):
        fitted(np.full((20, 3), np.nan))


@pytest.mark.parametrize("name", ["CesiumMan.glb", "makehuman/default.mhskel"])
def test_a_characters_volumes_hold_its_skin(data_dir, name):
    path = data_dir / "characters" / name
    if not path.exists():
        pytest.skip(f"no {name}")
    skeleton = ps.load(path).skeleton
    body = ps.Humanoid(skeleton)
    assert set(body.volumes.names) <= set(body.roles)
    mesh = skeleton.character.meshes[0]
    points = mesh.vertices[::7]
    where = (points, mesh.bind_positions, mesh.bind_orientations)
    assert inside(body.volumes, *where, 0.03).mean() > 0.95
    assert inside(body.volumes, *where, -0.04).mean() < 0.15


def test_a_characters_volumes_do_not_touch_while_it_stands(data_dir):
    from posable.body.collision.clearance import SelfCollision

    path = data_dir / "characters" / "CesiumMan.glb"
    if not path.exists():
        pytest.skip("no CesiumMan.glb")
    body = ps.Humanoid(ps.load(path).skeleton)
    assert not SelfCollision.of(body).touches(body.skeleton.forward(body.neutral_pose))
