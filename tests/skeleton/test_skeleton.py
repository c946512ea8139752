import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import RigidTransform, Rotation

import posable.math as pm
from posable.compute import PosableError, ShapeError, UnknownNameError
from posable.skeleton import Pose, Skeleton, topological_order

from .random_skeletons import random_skeleton


def slow_forward(skeleton: Skeleton, pose: Pose) -> tuple[np.ndarray, np.ndarray]:
    """Forward kinematics of one pose by products of scipy's rigid transforms."""
    frames = []
    for j, parent in enumerate(skeleton.parents):
        offset = skeleton.offsets[j] if pose.offsets is None else pose.offsets[j]
        place = pose.translation if parent < 0 else offset
        local = RigidTransform.from_components(place, Rotation.from_quat(pose.rotations[j], scalar_first=True))
        frames.append(local if parent < 0 else frames[parent] * local)
    positions = np.array([frame.translation for frame in frames])
    return positions, np.array([frame.rotation.as_matrix() for frame in frames])


def random_pose(skeleton: Skeleton, seed: int, *shape: int, moved: bool = False) -> Pose:
    rng = np.random.default_rng(seed)
    rotations = pm.normalize(rng.normal(size=(*shape, len(skeleton), 4)))
    offsets = rng.normal(size=(*shape, len(skeleton), 3)) if moved else None
    return Pose(rng.normal(size=(*shape, 3)), rotations, offsets)


@pytest.mark.parametrize("moved", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_forward_kinematics_agrees_with_products_of_rigid_transforms(seed: int, moved: bool):
    skeleton = random_skeleton(seed, joints=1 + 3 * seed)
    pose = random_pose(skeleton, seed, moved=moved)
    frames = skeleton.forward(pose)
    positions, matrices = slow_forward(skeleton, pose)
    np.testing.assert_allclose(frames.positions, positions, atol=1e-12)
    np.testing.assert_allclose(pm.to_matrix(frames.orientations), matrices, atol=1e-12)


@pytest.mark.parametrize("shape", [(1,), (7,), (2, 3), (0,), (700,)])
def test_a_batch_of_any_shape_gives_what_its_poses_give_alone(shape: tuple[int, ...]):
    skeleton = random_skeleton(3)
    poses = random_pose(skeleton, 5, *shape, moved=True)
    frames = skeleton.forward(poses)
    assert frames.positions.shape == (*shape, len(skeleton), 3)
    assert frames.ends.shape == (*shape, 3, 3)
    for index in np.ndindex(*shape):
        alone = skeleton.forward(poses[index])
        np.testing.assert_array_equal(frames.positions[index], alone.positions)
        np.testing.assert_array_equal(frames.orientations[index], alone.orientations)


def test_moving_and_turning_the_root_moves_and_turns_everything():
    skeleton = random_skeleton(4)
    pose = random_pose(skeleton, 1)
    turn, shift = pm.exp([0.3, -1.2, 0.5]), np.array([1.0, -2.0, 3.0])
    rotations = pose.rotations.copy()
    rotations[0] = pm.multiply(turn, rotations[0])
    moved = skeleton.forward(Pose(pm.rotate(turn, pose.translation) + shift, rotations))
    still = skeleton.forward(pose)
    np.testing.assert_allclose(moved.positions, pm.rotate(turn, still.positions) + shift, atol=1e-12)
    np.testing.assert_allclose(moved.ends, pm.rotate(turn, still.ends) + shift, atol=1e-12)


@pytest.mark.parametrize("root", ["free", "ball", "fixed", "hinge", "slide"])
@pytest.mark.parametrize("seed", range(6))
def test_jacobians_agree_with_finite_differences(seed: int, root: str):
    skeleton = random_skeleton(seed, root=root)
    rng = np.random.default_rng(seed)
    pose = skeleton.from_values(rng.uniform(-2, 2, size=(4, len(skeleton.dofs))))
    joint, point, h = len(skeleton) - 1, rng.normal(size=3), 1e-6
    jacobian = skeleton.jacobian(pose, joint, point)
    assert jacobian.shape == (4, 6, len(skeleton.dofs))
    for d in range(len(skeleton.dofs)):
        step = np.zeros(len(skeleton.dofs))
        step[d] = h
        ahead = skeleton.forward(skeleton.integrate(pose, step))
        behind = skeleton.forward(skeleton.integrate(pose, -step))
        linear = (ahead.point(joint, point) - behind.point(joint, point)) / (2 * h)
        turn = pm.multiply(ahead.orientations[:, joint], pm.conjugate(behind.orientations[:, joint]))
        np.testing.assert_allclose(jacobian[:, :3, d], linear, atol=2e-8)
        np.testing.assert_allclose(jacobian[:, 3:, d], pm.log(turn) / (2 * h), atol=2e-8)


def test_a_jacobian_is_zero_for_joints_that_do_not_carry_the_point():
    skeleton = Skeleton(["root", "left", "right"], [-1, 0, 0], np.eye(3))
    jacobian = skeleton.jacobian(skeleton.rest, "left", (0, 1, 0))
    assert not jacobian[:, skeleton.dofs.of(2)].any()
    assert jacobian[:, skeleton.dofs.of(1)].any()


@given(st.integers(0, 10_000))
def test_dof_values_survive_the_trip_through_a_pose(seed: int):
    skeleton = random_skeleton(seed)
    values = np.random.default_rng(seed).uniform(-1.8, 1.8, size=(3, len(skeleton.dofs)))
    np.testing.assert_allclose(skeleton.values(skeleton.from_values(values)), values, atol=1e-12)


def test_the_rest_pose_is_where_all_dof_are_zero():
    skeleton = random_skeleton(8)
    rest = skeleton.from_values(np.zeros(len(skeleton.dofs)))
    np.testing.assert_array_equal(rest.translation, skeleton.rest.translation)
    np.testing.assert_allclose(rest.rotations, skeleton.rest.rotations, atol=1e-15)
    np.testing.assert_allclose(skeleton.values(skeleton.rest), 0, atol=1e-12)


def test_a_zero_step_changes_nothing_and_leaves_its_input_alone():
    skeleton = random_skeleton(9)
    pose = skeleton.from_values(np.full(len(skeleton.dofs), 0.4))
    before = pose.rotations.copy(), pose.translation.copy()
    still = skeleton.integrate(pose, np.zeros(len(skeleton.dofs)))
    np.testing.assert_allclose(still.rotations, pose.rotations, atol=1e-15)
    skeleton.integrate(pose, np.ones(len(skeleton.dofs)))
    np.testing.assert_array_equal(pose.rotations, before[0])
    np.testing.assert_array_equal(pose.translation, before[1])


def test_the_dof_list_says_joint_kind_axis_and_name():
    skeleton = Skeleton(
        ["base", "elbow", "rail", "hand"],
        [-1, 0, 1, 2],
        np.zeros((4, 3)),
        kinds=["fixed", "hinge_twist", "slide", "hinge"],
        axes=[[[0, 0, 0], [0, 0, 0]], [[2, 0, 0], [0, 3, 0]], [[0, 0, -1], [0, 0, 0]], [[0, 1, 0], [0, 0, 0]]],
    )
    assert skeleton.dofs.names == ("elbow.flexion", "elbow.twist", "rail.slide", "hand.angle")
    assert skeleton.dofs.kind == ("rotation", "rotation", "translation", "rotation")
    assert skeleton.dofs.joint.tolist() == [1, 1, 2, 3]
    np.testing.assert_array_equal(skeleton.dofs.axis, [[1, 0, 0], [0, 1, 0], [0, 0, -1], [0, 1, 0]])
    assert skeleton.dofs.of(1) == slice(0, 2)
    assert skeleton.dofs.of(0) == slice(0, 0)


def test_a_slide_moves_along_its_axis_in_its_own_frame():
    turned = pm.exp([0, 0, np.pi / 2])
    skeleton = Skeleton(
        ["base", "rail", "tip"],
        [-1, 0, 1],
        [[0, 0, 0], [1, 0, 0], [0, 0, 1]],
        rest_rotations=[[1, 0, 0, 0], turned, [1, 0, 0, 0]],
        kinds=["fixed", "slide", "fixed"],
        axes=np.tile([1.0, 0, 0], (3, 1)),
    )
    frames = skeleton.forward(skeleton.from_values([0.25]))
    np.testing.assert_allclose(frames.positions, [[0, 0, 0], [1, 0.25, 0], [1, 0.25, 1]], atol=1e-15)


def test_scaling_scales_every_length_and_no_angle():
    skeleton = random_skeleton(2)
    pose = random_pose(skeleton, 3)
    small = skeleton.scaled(0.5).forward(pose.replace(translation=pose.translation * 0.5))
    large = skeleton.forward(pose)
    np.testing.assert_allclose(small.positions, large.positions * 0.5, atol=1e-12)
    np.testing.assert_allclose(small.ends, large.ends * 0.5, atol=1e-12)
    assert skeleton.same_as(skeleton.scaled(2).scaled(0.5))
    assert not skeleton.same_as(skeleton.scaled(2))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"names": ["a", "a", "c"]}, "two joints are called 'a'"),
        ({"names": []}, "at least one joint"),
        ({"parents": [-1, 2, 0]}, "comes before its parent"),
        ({"parents": [-1, 1, 0]}, "comes before its parent"),
        ({"parents": [-1, -1, 0]}, "only root"),
        ({"parents": [0, 0, 1]}, "only root"),
        ({"parents": [-1, 0]}, "must be as many"),
        ({"offsets": np.zeros((2, 3))}, r"expected \(3, 3\)"),
        ({"offsets": [[0, 0, 0], [np.nan, 0, 0], [0, 0, 0]]}, "not finite, first in row 1"),
        ({"kinds": ["free", "bal", "ball"]}, "did you mean 'ball'"),
        ({"kinds": ["free", "free", "ball"]}, "only the root may be free"),
        ({"kinds": ["free", "hinge", "ball"], "axes": np.zeros((3, 3))}, "needs an axis"),
        ({"kinds": ["free", "hinge_twist", "ball"], "axes": np.ones((3, 2, 3))}, "perpendicular"),
        ({"end_parents": [3], "end_offsets": [[0, 0, 0]]}, "joints 0 to 2"),
        ({"end_parents": [1], "end_offsets": np.zeros((2, 3))}, r"expected \(1, 3\)"),
    ],
)
def test_an_impossible_skeleton_is_refused_with_the_reason(change: dict[str, object], says: str):
    good: dict[str, object] = {"names": ["a", "b", "c"], "parents": [-1, 0, 1], "offsets": np.zeros((3, 3))}
    if change.get("names") == []:
        change = {"names": [], "parents": [], "offsets": np.zeros((0, 3))}
    with pytest.raises(PosableError, match=says):
        Skeleton(**(good | change))


def test_wrong_shapes_and_names_are_named():
    skeleton = random_skeleton(0)
    with pytest.raises(ShapeError, match="12"):
        skeleton.forward(Pose(np.zeros(3), np.zeros((5, 4))))
    with pytest.raises(UnknownNameError, match="did you mean 'joint1"):
        skeleton.index("joint_1")
    with pytest.raises(PosableError, match="joint 99 does not exist"):
        skeleton.index(99)
    with pytest.raises(ShapeError, match="one a DoF"):
        skeleton.integrate(skeleton.rest, np.zeros(2))
    with pytest.raises(ShapeError, match="does not fit"):
        skeleton.integrate(skeleton.rest, np.zeros((2, len(skeleton.dofs))))


@given(st.integers(0, 10_000), st.integers(1, 40))
def test_any_tree_can_be_sorted_parents_first(seed: int, count: int):
    rng = np.random.default_rng([seed, count])
    tree = [-1, *(int(rng.integers(0, j)) for j in range(1, count))]
    shuffle = rng.permutation(count)  # joint k of the tree is called shuffle[k]
    parents = [0] * count
    for k, parent in enumerate(tree):
        parents[shuffle[k]] = -1 if parent < 0 else int(shuffle[parent])
    order = topological_order(parents)
    assert sorted(order) == list(range(count))
    place = {j: k for k, j in enumerate(order)}
    assert all(parents[j] < 0 or place[parents[j]] < place[j] for j in range(count))


@pytest.mark.parametrize(
    ("parents", "says"), [([-1, 2, 1], "cycle"), ([-1, -1], "one root; found 2"), ([0], "found 0"), ([-1, 9], "exist")]
)
def test_what_is_no_tree_cannot_be_sorted(parents: list[int], says: str):
    with pytest.raises(PosableError, match=says):
        topological_order(parents)


def test_paths_children_and_ends_are_found():
    skeleton = Skeleton(
        ["hips", "spine", "leg", "foot"],
        [-1, 0, 0, 2],
        np.zeros((4, 3)),
        end_parents=[3, 3, 1],
        end_offsets=np.eye(3),
    )
    assert skeleton.path("foot") == (0, 2, 3)
    assert skeleton.children("hips") == (1, 2)
    assert skeleton.end_names == ("foot_end", "foot_end2", "spine_end")
    assert "4 joints" in repr(skeleton)
