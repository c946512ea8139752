"""Kernels of postures: from canonical rotations to orientations in the world, and from those to a rig's rotations.

Row i of flat arrays, as in `skeleton.forward`: rotations (N, R, 4) of R parts or J joints, parents before children.
"""

from __future__ import annotations

from ..compute import batch, kernel, prange
from ..compute.types import Floats, Ints
from ..math.quaternion import conj, mul
from ..skeleton.forward import quat_at, set_quat


@kernel
def chain_row(i: int, parents: Ints, local: Floats, world: Floats) -> None:
    """Orientation of every part in the world, from rotations in the frames of the parts above; -1 has none above."""
    for k in range(parents.shape[0]):
        q = quat_at(local, i, k)
        if parents[k] >= 0:
            q = mul(quat_at(world, i, parents[k]), q)
        set_quat(world, i, k, q)


@kernel
def drive_row(
    i: int,
    joints: Ints,
    parents: Ints,
    slots: Ints,
    canonical: Floats,
    neutral: Floats,
    rotations: Floats,
    world: Floats,
) -> None:
    """Local rotations of the joints that a posture decides, W = C N in the world; the others keep theirs.

    `joints` lists them and every joint above them, `slots` (J,) says which row of `canonical` (N, K, 4) and `neutral`
    (1, K, 4) is a joint's, or -1; `rotations` (N, J, 4) are changed in place, `world` (N, J, 4) is filled for `joints`.
    """
    for p in range(joints.shape[0]):
        j = joints[p]
        above = parents[j]
        if slots[j] >= 0:
            turned = mul(quat_at(canonical, i, slots[j]), quat_at(neutral, 0, slots[j]))
            if above >= 0:
                set_quat(rotations, i, j, mul(conj(quat_at(world, i, above)), turned))
            else:
                set_quat(rotations, i, j, turned)
        elif above >= 0:
            turned = mul(quat_at(world, i, above), quat_at(rotations, i, j))
        else:
            turned = quat_at(rotations, i, j)
        set_quat(world, i, j, turned)


@batch
def chain_rows(n: int, parents: Ints, local: Floats, world: Floats) -> None:
    """`chain_row` over all rows."""
    for i in prange(n):
        chain_row(i, parents, local, world)


@batch
def drive_rows(
    n: int,
    joints: Ints,
    parents: Ints,
    slots: Ints,
    canonical: Floats,
    neutral: Floats,
    rotations: Floats,
    world: Floats,
) -> None:
    """`drive_row` over all rows."""
    for i in prange(n):
        drive_row(i, joints, parents, slots, canonical, neutral, rotations, world)
