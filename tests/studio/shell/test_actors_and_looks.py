"""Motions on the stage: where bodies are, what a ray meets, how they are drawn."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import posable.math as pm
from posable.compute import PosableError
from posable.skeleton import Frames, Pose, Skeleton, SkinnedMesh
from posable.skeleton.character import Skinning
from posable.studio import Session
from posable.studio.core.actor import Actor, actor_of, nearest_joint
from posable.studio.view.body_meshes import MAX_COLOURS, _corners, colour_groups, volume_look

from .conftest import chain_motion


class TestTracks:
    def test_a_skeleton_without_roles_has_no_body_and_is_shown_all_the_same(self):
        assert actor_of(chain_motion()).body is None

    def test_an_empty_motion_and_one_with_nan_are_refused(self):
        motion = chain_motion()
        with pytest.raises(PosableError, match="no frames"):
            actor_of(motion[0:0])
        broken = motion.pose.translation.copy()
        broken[3] = np.nan
        with pytest.raises(PosableError, match="not finite"):
            actor_of(motion.replace(pose=motion.pose.replace(translation=broken)))

    @pytest.mark.parametrize("frames", [1, 2, 3, 10, 31])
    def test_the_smoothed_path_of_a_straight_walk_is_the_walk(self, frames):
        actor = actor_of(chain_motion(frames))
        for moment in np.linspace(0.0, actor.motion.duration, 7):
            np.testing.assert_allclose(actor.path_at(float(moment)), [0.0, moment], atol=1e-9)

    def test_the_box_holds_the_body_at_every_frame(self):
        actor = actor_of(chain_motion())
        low, high = actor.box
        for moment in actor.motion.times:
            places = actor.frames(moment).positions - np.insert(actor.path_at(moment), 1, 0.0)
            assert (places >= low - 1e-9).all() and (places <= high + 1e-9).all()

    def test_a_ray_through_a_bone_finds_the_joint_that_rotates_it(self):
        frames = actor_of(chain_motion(1)).frames(0.0)
        middle_of_bone = frames.positions[1] * 0.5 + frames.positions[2] * 0.5
        found = nearest_joint(frames, middle_of_bone + np.array([0.0, 0.0, 5.0]), np.array([0.0, 0.0, -2.0]), 0.05)
        assert found is not None and found[0] == 1 and found[1] < 1e-9

    def test_a_ray_that_points_away_finds_nothing(self):
        frames = actor_of(chain_motion(1)).frames(0.0)
        assert nearest_joint(frames, frames.positions[1] + [0, 0, 5], np.array([0.0, 0.0, 1.0]), 1.0) is None

    @given(st.integers(0, 10_000))
    def test_the_nearest_joint_is_nearest_by_brute_force(self, seed):
        rng = np.random.default_rng(seed)
        count = int(rng.integers(1, 6))
        parents = [-1] + [int(rng.integers(0, k)) for k in range(1, count)]
        skeleton = Skeleton([f"j{k}" for k in range(count)], parents, rng.normal(size=(count, 3)))
        frames = skeleton.forward(skeleton.rest)
        origin, direction = rng.normal(size=3) * 3, rng.normal(size=3)
        found = nearest_joint(frames, origin, direction, np.inf)
        assert found is not None
        ray = origin + np.linspace(0, 30, 3001)[:, None] * direction / np.linalg.norm(direction)
        bones = [(j, j) for j in range(count)] + [(p, k) for k, p in enumerate(parents) if p >= 0]
        fraction = np.linspace(0, 1, 101)[:, None]
        brute = np.inf
        for tail, tip in bones:
            points = frames.positions[tail] * (1 - fraction) + frames.positions[tip] * fraction
            brute = min(brute, float(np.linalg.norm(points[:, None] - ray[None], axis=-1).min()))
        assert found[1] <= brute + 1e-9
        assert found[1] >= brute - 0.03  # the brute force samples ray and bones


class TestLooks:
    @given(st.integers(0, 10_000))
    def test_vertices_are_posed_as_linear_blend_skinning_says(self, seed):
        rng = np.random.default_rng(seed)
        joints = int(rng.integers(1, 6))
        skeleton = Skeleton([f"j{k}" for k in range(joints)], range(-1, joints - 1), rng.normal(size=(joints, 3)))
        meshes = []
        binds = [_random_frames(skeleton, rng), _random_frames(skeleton, rng)]
        for k in range(int(rng.integers(1, 4))):
            count, most = int(rng.integers(3, 9)), int(rng.integers(1, 5))
            weights = rng.random((count, most))
            bind = binds[k % 2]
            meshes.append(
                SkinnedMesh(
                    f"mesh{k}",
                    rng.normal(size=(count, 3)),
                    rng.integers(0, count, size=(4, 3)).astype(np.int32),
                    rng.integers(0, joints, size=(count, most)).astype(np.int32),
                    weights / weights.sum(axis=1, keepdims=True),
                    bind.positions,
                    bind.orientations,
                )
            )
        pose = _random_frames(skeleton, rng)
        expected = np.concatenate([mesh.posed(pose) for mesh in meshes])
        np.testing.assert_allclose(Skinning.of_meshes(tuple(meshes)).posed(pose), expected, atol=1e-5)

    def test_a_person_is_few_messages_and_follows_its_joints_rigidly(self, session: Session):
        actor = session.open_sample("walk", keep=False)
        start, later = actor.frames(0.0), actor.frames(0.4)
        look = volume_look(session.scene, "/test", actor.body.volumes, start, ((1, 2, 3), (4, 5, 6), (7, 8, 9)))
        assert len(look.plain.parts) <= 3
        look.update(later)
        volumes = actor.body.volumes
        posed = look._skinning.posed(later)
        joint = int(volumes.joints[0])
        first = posed[: len(volumes.mesh(0, _corners(volumes, 0))[0])]
        local = pm.rotate(pm.conjugate(later.orientations[joint]), first - later.positions[joint])
        np.testing.assert_allclose(local, volumes.mesh(0, _corners(volumes, 0))[0], atol=1e-5)
        look.remove()

    def test_many_colours_become_few_and_no_face_is_lost(self):
        rng = np.random.default_rng(1)
        faces = np.arange(3000).reshape(1000, 3)
        groups = colour_groups(faces, rng.uniform(0, 255, size=(1000, 3)))
        assert 1 < len(groups) <= MAX_COLOURS
        assert sorted(np.concatenate([part for _, part in groups])[:, 0]) == list(range(0, 3000, 3))
        assert colour_groups(faces[:0], np.zeros((0, 3))) == []

    def test_bones_reach_from_joint_to_child_also_where_a_file_moves_joints(self, session: Session):
        motion = chain_motion()
        offsets = np.tile(motion.skeleton.offsets, (len(motion), 1, 1))
        offsets[:, 2, 0] += np.linspace(0.0, 0.5, len(motion))
        actor = session.add(motion.replace(pose=motion.pose.replace(offsets=offsets)), keep=False)
        session.draw(actor.motion.duration)
        look = session.stage._looks[actor][1]
        frames = actor.frames(actor.motion.duration)
        scales, rotations = look._bones.batched_scales, look._bones.batched_wxyzs
        tips = pm.rotate(
            np.asarray(rotations, dtype=float), np.stack([0 * scales[:, 0], scales[:, 1], 0 * scales[:, 0]], -1)
        )
        np.testing.assert_allclose(tips, frames.positions[1:] - frames.positions[:-1], atol=1e-5)


def _random_frames(skeleton: Skeleton, rng: np.random.Generator) -> Frames:
    quaternions = rng.normal(size=(len(skeleton), 4))
    return skeleton.forward(Pose(rng.normal(size=3), quaternions / np.linalg.norm(quaternions, axis=-1, keepdims=True)))


def test_a_track_is_not_equal_to_another_of_the_same_motion():
    motion = chain_motion()
    assert Actor(motion, None, "a") != Actor(motion, None, "a")
