"""Other libraries at the same jobs, where they are installed: set as their own documentation and examples have it."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

from ...compute.types import Floats
from .cases import Case, Contender, person, random_poses
from .judge import Judged, apart, joints_of

__all__ = ["PEERS", "of"]


def pinocchio_forward(case: Case) -> Contender:
    """Forward kinematics by pinocchio: a free root and ball joints. Its placements stay in its own data."""
    pin: Any = importlib.import_module("pinocchio")
    skeleton, poses = person().skeleton, random_poses(case.rows)
    model = pin.Model()
    for j, (name, parent) in enumerate(zip(skeleton.names, skeleton.parents, strict=True)):
        joint = pin.JointModelFreeFlyer() if j == 0 else pin.JointModelSpherical()
        placement = pin.SE3.Identity() if j == 0 else pin.SE3(np.eye(3), skeleton.offsets[j])
        model.addJoint(int(parent) + 1, joint, placement, name)
    data = model.createData()
    xyzw = np.roll(poses.rotations, -1, axis=-1).reshape(case.rows, -1)
    q = np.concatenate([poses.translation, xyzw], axis=-1)

    def positions(i: int) -> Floats:
        pin.forwardKinematics(model, data, q[i])
        return np.array([one.translation for one in data.oMi])[1:]

    def judged(_: Any) -> Judged:
        few = poses[:50]
        found = np.array([positions(i) for i in range(50)])
        return Judged(apart(found, joints_of(skeleton, few)).max(axis=-1), 1e-9)

    note = "no call for many; left in its own data"
    return Contender("pinocchio", lambda i: pin.forwardKinematics(model, data, q[i]), None, judged, None, note, True)


def scipy_rotations(case: Case) -> Contender:
    """Forward kinematics by SciPy's rotations, joint by joint and all poses at once, as one writes it by hand."""
    from scipy.spatial.transform import Rotation

    skeleton, poses = person().skeleton, random_poses(case.rows)

    def forward(pose: Any) -> Any:
        positions, rotations = [pose.translation], [Rotation.from_quat(pose.rotations[..., 0, :], scalar_first=True)]
        for j in range(1, len(skeleton)):
            parent = int(skeleton.parents[j])
            positions.append(positions[parent] + rotations[parent].apply(skeleton.offsets[j]))
            rotations.append(rotations[parent] * Rotation.from_quat(pose.rotations[..., j, :], scalar_first=True))
        return np.stack(positions, axis=-2)

    single = [poses[i] for i in range(64)]

    def judged(found: Any) -> Judged:
        return Judged(apart(found, joints_of(skeleton, poses)).max(axis=-1), 1e-9)

    return Contender(
        "scipy", lambda i: forward(single[i]), lambda: forward(poses), judged, None, "Rotation, by joint", True
    )


PEERS: dict[str, tuple[tuple[str, Callable[[Case], Contender]], ...]] = {
    "forward": (("pinocchio", pinocchio_forward), ("scipy", scipy_rotations)),
}
"""By case: the module that must be there, and the function that opens its contender."""


def of(name: str, case: Case) -> list[Contender]:
    """Return the other libraries at a case that are installed."""
    return [opened(case) for module, opened in PEERS.get(name, ()) if find_spec(module) is not None]
