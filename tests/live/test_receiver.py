"""Bodies sent by VMC stand in an independent renderer as they stand here."""

import numpy as np
import pytest

import posable as ps
from posable.live import Status, VmcWriter

from .models import write_vrm
from .receiver import Renderer


def random_poses(body: ps.Humanoid, count: int, seed: int) -> ps.Pose:
    """Of all joints, also those between bones."""
    draw = np.random.default_rng(seed)
    rest = body.skeleton.rest
    q = rest.rotations + draw.normal(scale=0.3, size=(count, *rest.rotations.shape))
    return ps.Pose(rest.translation + draw.normal(size=(count, 3)), q / np.linalg.norm(q, axis=-1, keepdims=True))


def shown(renderer: Renderer, body: ps.Humanoid, packets: list[bytes]) -> np.ndarray:
    for packet in packets:
        renderer.receive(packet)
    world = renderer.world()
    return np.array([world[renderer.names.index(name)] for name in body.skeleton.names])


@pytest.mark.parametrize("version", [0, 1])
def test_a_vrm_stands_in_the_renderer_as_the_pose_does(version, tmp_path):
    path = write_vrm(tmp_path / "me.vrm", version)
    body = ps.Humanoid(ps.load(path).skeleton)
    renderer, writer = Renderer(path), VmcWriter(body)
    assert len(writer.bones) == 55
    joints = [j for j, name in enumerate(body.skeleton.names) if not name.startswith("between") and name != "Scene"]
    for pose in random_poses(body, 5, 1):
        frames = body.skeleton.forward(pose)
        got = shown(renderer, body, writer.packets(frames, 1.0, Status()))
        np.testing.assert_allclose(got[joints, :3, 3], frames.positions[joints], atol=1e-5)
        axes = ps.math.to_matrix(frames.orientations)
        size = np.linalg.norm(got[:, :3, 0], axis=-1)[:, None, None]
        if version == 1:  # rotations of the file's own; a VRM 0 file is read with half a revolution
            np.testing.assert_allclose((got[:, :3, :3] / size)[joints], axes[joints], atol=1e-5)
    assert renderer.applied == set(renderer.bones)


@pytest.mark.parametrize("version", [0, 1])
def test_at_rest_nothing_moves_in_the_renderer(version, tmp_path):
    path = write_vrm(tmp_path / "me.vrm", version)
    body = ps.Humanoid(ps.load(path).skeleton)
    before = Renderer(path).world()
    renderer = Renderer(path)
    shown(renderer, body, VmcWriter(body).packets(body.skeleton.forward(body.skeleton.rest), 0.0, Status()))
    np.testing.assert_allclose(renderer.world(), before, atol=2e-6)


def test_a_vrm_0_rests_at_identity(tmp_path):
    body = ps.Humanoid(ps.load(write_vrm(tmp_path / "me.vrm", 0)).skeleton)
    transforms = VmcWriter(body).bones.transforms(body.skeleton.forward(body.skeleton.rest))
    np.testing.assert_allclose(transforms[:, 3:], np.tile([0, 0, 0, 1.0], (55, 1)), atol=1e-6)


def test_positions_are_the_models_offsets_and_not_zero(tmp_path):
    """Receivers apply them."""
    body = ps.Humanoid(ps.load(write_vrm(tmp_path / "me.vrm", 1)).skeleton)
    bones = VmcWriter(body).bones
    moved = bones.transforms(body.skeleton.forward(body.neutral_pose))
    still = bones.transforms(body.skeleton.forward(body.skeleton.rest))
    inner = np.array(bones.roles) != "hips"
    np.testing.assert_allclose(moved[inner, :3], still[inner, :3], atol=1e-9)
    assert (np.linalg.norm(moved[:, :3], axis=-1) > 1e-3).all()


def test_a_real_vrm_stands_as_the_pose_does(data_dir):
    path = data_dir / "characters" / "VRMC_materials_mtoon_UV_Animation_Test.vrm"
    body = ps.Humanoid(ps.load(path).skeleton)
    renderer, writer = Renderer(path), VmcWriter(body)
    for pose in random_poses(body, 3, 2):
        frames = body.skeleton.forward(pose)
        got = shown(renderer, body, writer.packets(frames, 1.0, Status()))
        np.testing.assert_allclose(got[:, :3, 3], frames.positions, atol=1e-5)


def test_other_bodies_are_at_identity_in_a_t_pose():
    """Their receiver has a model of its own."""
    from posable.live.bones import Bones, t_pose

    body = ps.figure()
    transforms = Bones(body).transforms(body.skeleton.forward(t_pose(body)))
    np.testing.assert_allclose(np.abs(transforms[:, 6]), 1.0, atol=1e-9)
    hips = body.skeleton.forward(t_pose(body)).positions[body.index("hips")]
    np.testing.assert_allclose(transforms[0, :3], hips * [-1, 1, 1], atol=1e-12)
