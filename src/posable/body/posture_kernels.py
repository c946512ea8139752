"""Kernels of postures: from canonical rotations to orientations in the world, and from those to a rig's rotations.

Row i of flat arrays, as in `skeleton.forward`: rotations (N, R, 4) of R parts or J joints, parents before children.
"""

from __future__ import annotations

from ..compute import batch, kernel, prange
from ..compute.types import Floats, Ints, Records
from ..math.quaternion import conj, mul
from ..skeleton.forward import quat_at, quat_from, set_quat


@kernel
def chain_row(i: int, parents: Ints, local: Floats, world: Floats) -> None:
    """Orientation of every part in the world, from rotations in the frames of the parts above; -1 has none above."""
    for k in range(parents.shape[0]):
        q = quat_at(local, i, k)
        if parents[k] >= 0:
            q = mul(quat_at(world, i, parents[k]), q)
        set_quat(world, i, k, q)


@kernel
def drive_row(i: int, drive: Records, canonical: Floats, rotations: Floats, world: Floats) -> None:
    """Local rotations of the joints that a posture decides, W = C N in the world; the others keep theirs.

    `drive` (J,) of `packed.DRIVE` gives each joint's row of `canonical` (N, K, 4); `rotations` (N, J, 4) are changed in
    place, `world` (N, J, 4) is filled for those joints and all above them.
    """
    for j in range(drive.shape[0]):
        row = drive[j]
        if row["needed"] == 0:
            continue
        parent, k = row["parent"], row["row"]
        if k >= 0:
            orientation = mul(quat_at(canonical, i, k), quat_from(row["neutral"]))
            if parent >= 0:
                set_quat(rotations, i, j, mul(conj(quat_at(world, i, parent)), orientation))
            else:
                set_quat(rotations, i, j, orientation)
        elif parent >= 0:
            orientation = mul(quat_at(world, i, parent), quat_at(rotations, i, j))
        else:
            orientation = quat_at(rotations, i, j)
        set_quat(world, i, j, orientation)


@batch
def chain_rows(n: int, parents: Ints, local: Floats, world: Floats) -> None:
    """`chain_row` over all rows."""
    for i in prange(n):
        chain_row(i, parents, local, world)


@batch
def drive_rows(n: int, drive: Records, canonical: Floats, rotations: Floats, world: Floats) -> None:
    """`drive_row` over all rows."""
    for i in prange(n):
        drive_row(i, drive, canonical, rotations, world)
