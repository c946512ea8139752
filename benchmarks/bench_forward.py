"""Forward kinematics beside pinocchio and yourdfpy: robots, and a 31-joint body; one pose and batches.

The job is the same for all: from joint values (robots) or local rotations (body) to the place and orientation of every
joint. Before anything is timed, the contenders' answers are compared.
"""

from __future__ import annotations

import numpy as np
import pinocchio as pin

import posable as ps
from posable.compute import thread_count, threads
from posable.formats import read_robot

from .harness import Contender, Table, compare, data_dir

ROBOTS = ("so101", "ur5", "panda", "pepper", "nao_v50")
BATCH = 20_000
POSE_NOTE = "pinocchio has no call for a batch of placements, so its poses are looped over in Python."


def run() -> list[Table]:
    folder = data_dir()
    if folder is None:
        raise SystemExit("needs the robots and clips of $POSABLE_DATA")
    tables = [_robot(folder / "robots" / f"{name}.urdf") for name in ROBOTS]
    skeleton = ps.load(folder / "cmu" / "01_03.bvh").skeleton
    return [*tables, _body_single(skeleton), _body_batch(skeleton)]


def _robot(path) -> Table:
    """Joint values to placements of every link, one configuration a call."""
    import yourdfpy

    ours = read_robot(path, up="z")
    theirs = pin.buildModelFromUrdf(str(path))
    data = theirs.createData()
    other = yourdfpy.URDF.load(str(path), load_meshes=False, build_scene_graph=True)
    values = _values(ours)
    q = _pinocchio_values(ours, theirs, values)
    named = {name: value for name, value in zip(ours.names, _by_joint(ours, values)) if value is not None}
    cfg = np.array([named[joint] for joint in other.actuated_joint_names])
    links = [joint.child for joint in other.robot.joints]

    def pose_theirs() -> None:
        pin.forwardKinematics(theirs, data, q)

    def pose_other() -> list[object]:
        other.update_cfg(cfg)
        return [other.get_transform(link) for link in links]

    def pose_ours() -> object:
        return ours.forward(ours.from_values(values))

    frames = pose_ours()
    pose_theirs()
    for name, place in zip(theirs.names[1:], list(data.oMi)[1:]):
        assert np.allclose(frames.point(name), place.translation, atol=1e-9), name
    for joint, transform in zip(other.robot.joints, pose_other()):
        assert np.allclose(frames.point(joint.name), transform[:3, 3], atol=1e-6), joint.name

    contenders = [
        Contender("posable", pose_ours, note=f"all {len(ours)} frames"),
        Contender("pinocchio", pose_theirs, note=f"its {theirs.njoints - 1} moving joints"),
        Contender("yourdfpy", pose_other, note=f"all {len(links)} links"),
    ]
    return compare(f"{path.stem}: one configuration", contenders, seconds=1.0)


def _body_single(skeleton: ps.Skeleton) -> Table:
    model, data, q = _pinocchio_body(skeleton, poses := _poses(skeleton, 1))
    pose = poses[0]

    def theirs() -> None:
        pin.forwardKinematics(model, data, q[0])

    _check_body(skeleton, poses, model, data, q)
    return compare(
        f"{len(skeleton)}-joint body: one pose",
        [Contender("posable", lambda: skeleton.forward(pose)), Contender("pinocchio", theirs)],
        seconds=1.0,
    )


def _body_batch(skeleton: ps.Skeleton) -> Table:
    poses = _poses(skeleton, BATCH)
    model, data, q = _pinocchio_body(skeleton, poses)
    some = range(0, BATCH, 20)
    cores = thread_count()

    def ours(count: int):
        def forward() -> object:
            with threads(count):
                return skeleton.forward(poses)

        return forward

    def theirs() -> None:
        for i in some:
            pin.forwardKinematics(model, data, q[i])

    def theirs_kept() -> np.ndarray:
        places = np.empty((len(some), model.njoints, 3))
        for row, i in enumerate(some):
            pin.forwardKinematics(model, data, q[i])
            places[row] = [place.translation for place in data.oMi]
        return places

    _check_body(skeleton, poses[:50], model, data, q)
    return compare(
        f"{len(skeleton)}-joint body: a batch of {BATCH:,} poses, each",
        [
            Contender("posable, one core", ours(1), BATCH),
            Contender(f"posable, {cores} cores", ours(cores), BATCH),
            Contender("pinocchio, one core", theirs, len(some), "placements left in its own data"),
            Contender("pinocchio, kept", theirs_kept, len(some), "positions copied to an array"),
        ],
        note=POSE_NOTE,
    )


def _poses(skeleton: ps.Skeleton, count: int) -> ps.Pose:
    rng = np.random.default_rng(0)
    rotations = rng.normal(size=(count, len(skeleton), 4))
    rotations /= np.linalg.norm(rotations, axis=-1, keepdims=True)
    return ps.Pose(rng.normal(size=(count, 3)), rotations)


def _pinocchio_body(skeleton: ps.Skeleton, poses: ps.Pose):
    """The body as pinocchio knows it: a free root, ball joints at the offsets; its quaternions are xyzw."""
    model = pin.Model()
    for j, (name, parent) in enumerate(zip(skeleton.names, skeleton.parents)):
        joint = pin.JointModelFreeFlyer() if j == 0 else pin.JointModelSpherical()
        place = pin.SE3.Identity() if j == 0 else pin.SE3(np.eye(3), skeleton.offsets[j])
        model.addJoint(int(parent) + 1, joint, place, name)
    xyzw = np.roll(poses.rotations, -1, axis=-1)
    return model, model.createData(), np.concatenate([poses.translation, xyzw.reshape(len(poses), -1)], axis=-1)


def _check_body(skeleton, poses, model, data, q) -> None:
    frames = skeleton.forward(poses)
    for i in range(len(poses)):
        pin.forwardKinematics(model, data, q[i])
        want = np.array([place.translation for place in data.oMi])[1:]
        assert np.allclose(frames.positions[i], want, atol=1e-9)


def _values(model: ps.Skeleton) -> np.ndarray:
    """Values inside the limits for every DoF, followers set from their leaders."""
    low, high = np.maximum(model.robot.lower, -3.0), np.minimum(model.robot.upper, 3.0)
    return model.robot.coupled(np.random.default_rng(0).uniform(low, high))


def _by_joint(model: ps.Skeleton, values: np.ndarray) -> list[float | None]:
    found: list[float | None] = [None] * len(model)
    for joint, value in zip(model.dofs.joint, values):
        found[joint] = float(value)
    return found


def _pinocchio_values(ours: ps.Skeleton, theirs: pin.Model, values: np.ndarray) -> np.ndarray:
    """The same values in pinocchio's order; its continuous joints are a cosine and a sine."""
    by_joint = _by_joint(ours, values)
    q = pin.neutral(theirs)
    for k, name in enumerate(theirs.names[1:], start=1):
        value = by_joint[ours.index(name)]
        assert value is not None
        first, size = theirs.idx_qs[k], theirs.nqs[k]
        q[first : first + size] = [value] if size == 1 else [np.cos(value), np.sin(value)]
    return q
