"""Kernels of the skeleton: forward kinematics, transforms relative to other joints, Jacobians, DoF rates and values.

Every row kernel works on row i of flat arrays: translation (N, 3), rotations (N, J, 4), offsets (N, J, 3). Offsets
with no rows mean that the skeleton's own are used.
"""

from __future__ import annotations

import numpy as np

from ..compute import batch, kernel, prange
from ..compute.extent import in_extent, vec_in_extent
from ..compute.types import Floats, Quat, Records, Vec3
from ..math.quaternion import axis_angle, conj, exp, log, mul, rotate, rotate_inverse, twist_angle, unit_quat
from ..math.vector import add, cross, dot, scale, sub
from .dofs import BALL, FIXED, FREE, HINGE, HINGE_TWIST, SLIDE


@kernel
def quat_at(rotations: Floats, i: int, j: int) -> Quat:
    """Rotation of joint j in row i."""
    return (rotations[i, j, 0], rotations[i, j, 1], rotations[i, j, 2], rotations[i, j, 3])


@kernel
def quat_from(q: Floats) -> Quat:
    """A rotation that is a field of a record."""
    return (q[0], q[1], q[2], q[3])


@kernel
def set_quat(rotations: Floats, i: int, j: int, q: Quat) -> None:
    """Store a rotation of joint j in row i."""
    rotations[i, j, 0] = q[0]
    rotations[i, j, 1] = q[1]
    rotations[i, j, 2] = q[2]
    rotations[i, j, 3] = q[3]


@kernel
def vec_at(vectors: Floats, i: int, j: int) -> Vec3:
    """Vector j of row i."""
    return (vectors[i, j, 0], vectors[i, j, 1], vectors[i, j, 2])


@kernel
def is_pose(i: int, translation: Floats, rotations: Floats, offsets: Floats) -> bool:
    """Return whether row i is a pose at all: positions within the extent, and rotations of length 1 within 1e-3."""
    if not (in_extent(translation[i, 0]) and in_extent(translation[i, 1]) and in_extent(translation[i, 2])):
        return False
    for j in range(rotations.shape[1]):
        q = quat_at(rotations, i, j)
        if not abs(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3] - 1.0) < 1e-3:
            return False
        if offsets.shape[0] > 0 and not vec_in_extent(vec_at(offsets, i, j)):
            return False
    return True


@kernel
def vec_from(v: Floats) -> Vec3:
    """A vector that is a field of a record."""
    return (v[0], v[1], v[2])


@kernel
def offset_of(joints: Records, offsets: Floats, i: int, j: int) -> Vec3:
    """Position of joint j in its parent's frame, from the pose where it has offsets, else from the skeleton."""
    if offsets.shape[0] > 0:
        return vec_at(offsets, i, j)
    return (joints[j]["ox"], joints[j]["oy"], joints[j]["oz"])


@kernel
def rest_of(joints: Records, j: int) -> Quat:
    """Rest rotation of joint j."""
    return (joints[j]["rw"], joints[j]["rx"], joints[j]["ry"], joints[j]["rz"])


@kernel
def axis_of(joints: Records, j: int) -> Vec3:
    """Axis of a one-axis joint, flexion axis of a hinge with twist."""
    return (joints[j]["ax"], joints[j]["ay"], joints[j]["az"])


@kernel
def twist_axis_of(joints: Records, j: int) -> Vec3:
    """Twist axis of a hinge with twist."""
    return (joints[j]["bx"], joints[j]["by"], joints[j]["bz"])


@kernel
def forward_row(
    i: int,
    joints: Records,
    translation: Floats,
    rotations: Floats,
    offsets: Floats,
    positions: Floats,
    orientations: Floats,
) -> None:
    """Fill in the position and orientation of every joint in the world, for row i: forward kinematics.

    Parents come before their children.
    """
    for k in range(3):
        positions[i, 0, k] = translation[i, k]
    set_quat(orientations, i, 0, quat_at(rotations, i, 0))
    for j in range(1, joints.shape[0]):
        parent = joints[j]["parent"]
        orientation = quat_at(orientations, i, parent)
        arm = rotate(orientation, offset_of(joints, offsets, i, j))
        for k in range(3):
            positions[i, j, k] = positions[i, parent, k] + arm[k]
        set_quat(orientations, i, j, mul(orientation, quat_at(rotations, i, j)))


POSE = ("translation", "rotations", "offsets", "positions", "orientations")


@batch(rows=256, interleaved=POSE, staged=(*POSE[:2], *POSE[3:]), single=POSE)
def forward_rows(
    n: int,
    joints: Records,
    translation: Floats,
    rotations: Floats,
    offsets: Floats,
    positions: Floats,
    orientations: Floats,
) -> None:
    """`forward_row` over a batch."""
    for i in prange(n):
        forward_row(i, joints, translation, rotations, offsets, positions, orientations)


LOCAL = np.dtype(
    [("joint", "i8"), ("above", "i8"), ("lever", "f8", 3), ("between", "f8", 4), ("own", "f8", 4), ("scale", "f8")],
    align=True,
)
"""A joint in the frame of another one, `above` (-1: from the world). What stands still between the two, as nodes of a
file do: `lever` [m] and `between`, in the frame of the other one. `own`: by what the joint's own frame is rotated.
`scale`: how long a unit of length is there [m]."""


@kernel
def local_row(i: int, records: Records, positions: Floats, orientations: Floats, out: Floats) -> None:
    """Fill in row i (7): position and rotation `wxyz` of a joint, from those in the world, (1, J, 3) and (1, J, 4)."""
    record = records[i]
    joint, above = record["joint"], record["above"]
    lever, between = vec_from(record["lever"]), quat_from(record["between"])
    if above >= 0:
        base = quat_at(orientations, 0, above)
        lever, between = add(vec_at(positions, 0, above), rotate(base, lever)), mul(base, between)
    arm = rotate_inverse(between, sub(vec_at(positions, 0, joint), lever))
    for k in range(3):
        out[i, k] = arm[k] / record["scale"]
    q = mul(conj(between), mul(quat_at(orientations, 0, joint), quat_from(record["own"])))
    for k in range(4):
        out[i, 3 + k] = q[k]


@batch(rows=4096)
def local_rows(n: int, records: Records, positions: Floats, orientations: Floats, out: Floats) -> None:
    """`local_row` of n joints."""
    for i in prange(n):
        local_row(i, records, positions, orientations, out)


@kernel
def jacobian_row(
    i: int,
    joints: Records,
    rotations: Floats,
    positions: Floats,
    orientations: Floats,
    joint: int,
    point: Vec3,
    out: Floats,
) -> None:
    """The geometric Jacobian (6, D) of a point fixed to a joint, for row i: linear rows first, in the world.

    Walks from the joint to the root; DoF that do not move the point keep their zeros.
    """
    arm = rotate(quat_at(orientations, i, joint), point)
    origin = vec_at(positions, i, joint)
    tip = (origin[0] + arm[0], origin[1] + arm[1], origin[2] + arm[2])
    j = joint
    while j >= 0:
        kind, d = joints[j]["kind"], joints[j]["dof"]
        orientation = quat_at(orientations, i, j)
        base = vec_at(positions, i, j)
        lever = (tip[0] - base[0], tip[1] - base[1], tip[2] - base[2])
        if kind == FREE:
            for k in range(3):
                out[i, k, d + k] = 1.0
            d += 3
        if kind in (FREE, BALL):
            _rotation_column(out, i, d, rotate(orientation, (1.0, 0.0, 0.0)), lever)
            _rotation_column(out, i, d + 1, rotate(orientation, (0.0, 1.0, 0.0)), lever)
            _rotation_column(out, i, d + 2, rotate(orientation, (0.0, 0.0, 1.0)), lever)
        elif kind == HINGE:
            _rotation_column(out, i, d, rotate(orientation, axis_of(joints, j)), lever)
        elif kind == HINGE_TWIST:
            twist_axis = twist_axis_of(joints, j)
            twist = twist_angle(mul(conj(rest_of(joints, j)), quat_at(rotations, i, j)), twist_axis)
            flexion = rotate(axis_angle(twist_axis, -twist), axis_of(joints, j))  # the twist has rotated it too
            _rotation_column(out, i, d, rotate(orientation, flexion), lever)
            _rotation_column(out, i, d + 1, rotate(orientation, twist_axis), lever)
        elif kind == SLIDE:
            along = rotate(orientation, axis_of(joints, j))
            for k in range(3):
                out[i, k, d] = along[k]
        j = joints[j]["parent"]


@kernel
def _rotation_column(out: Floats, i: int, d: int, axis: Vec3, lever: Vec3) -> None:
    sweep = cross(axis, lever)
    for k in range(3):
        out[i, k, d] = sweep[k]
        out[i, 3 + k, d] = axis[k]


@batch(rows=256, interleaved=("rotations", "positions", "orientations"))
def jacobian_rows(
    n: int,
    joints: Records,
    rotations: Floats,
    positions: Floats,
    orientations: Floats,
    joint: int,
    point: Vec3,
    out: Floats,
) -> None:
    """`jacobian_row` over a batch, into zeros."""
    for i in prange(n):
        jacobian_row(i, joints, rotations, positions, orientations, joint, point, out)


@kernel
def integrate_row(
    i: int, joints: Records, steps: Floats, translation: Floats, rotations: Floats, offsets: Floats
) -> None:
    """Move the pose in row i along its DoF by `steps` (N, D), in place; `offsets` may have no rows without slides."""
    for j in range(joints.shape[0]):
        kind, d = joints[j]["kind"], joints[j]["dof"]
        q = quat_at(rotations, i, j)
        if kind == FIXED:
            continue
        if kind == FREE:
            for k in range(3):
                translation[i, k] += steps[i, d + k]
            d += 3
        if kind in (FREE, BALL):
            q = mul(q, exp((steps[i, d], steps[i, d + 1], steps[i, d + 2])))
        elif kind == HINGE:
            q = mul(q, axis_angle(axis_of(joints, j), steps[i, d]))
        elif kind == HINGE_TWIST:
            twist_axis = twist_axis_of(joints, j)
            twist = twist_angle(mul(conj(rest_of(joints, j)), q), twist_axis)
            q = mul(q, axis_angle(twist_axis, -twist))
            q = mul(q, axis_angle(axis_of(joints, j), steps[i, d]))
            q = mul(q, axis_angle(twist_axis, twist + steps[i, d + 1]))
        else:
            along = rotate(q, axis_of(joints, j))
            for k in range(3):
                if j == 0:
                    translation[i, k] += along[k] * steps[i, d]
                else:
                    offsets[i, j, k] += along[k] * steps[i, d]
        set_quat(rotations, i, j, unit_quat(q))


@batch(rows=256)
def integrate_rows(
    n: int, joints: Records, steps: Floats, translation: Floats, rotations: Floats, offsets: Floats
) -> None:
    """`integrate_row` over a batch."""
    for i in prange(n):
        integrate_row(i, joints, steps, translation, rotations, offsets)


@kernel
def values_row(
    i: int, joints: Records, translation: Floats, rotations: Floats, offsets: Floats, values: Floats
) -> None:
    """Read the DoF values (N, D) of row i; what a joint's kind cannot say (an off-axis remainder) is left out."""
    for j in range(joints.shape[0]):
        kind, d = joints[j]["kind"], joints[j]["dof"]
        rotation = mul(conj(rest_of(joints, j)), quat_at(rotations, i, j))
        home = (joints[j]["ox"], joints[j]["oy"], joints[j]["oz"])
        if kind == FREE:
            for k in range(3):
                values[i, d + k] = translation[i, k] - home[k]
            d += 3
        if kind in (FREE, BALL):
            v = log(rotation)
            for k in range(3):
                values[i, d + k] = v[k]
        elif kind == HINGE:
            values[i, d] = twist_angle(rotation, axis_of(joints, j))
        elif kind == HINGE_TWIST:
            twist = twist_angle(rotation, twist_axis_of(joints, j))
            values[i, d] = twist_angle(mul(rotation, axis_angle(twist_axis_of(joints, j), -twist)), axis_of(joints, j))
            values[i, d + 1] = twist
        elif kind == SLIDE:
            position = offset_of(joints, offsets, i, j)
            if j == 0:
                position = (translation[i, 0], translation[i, 1], translation[i, 2])
            moved = (position[0] - home[0], position[1] - home[1], position[2] - home[2])
            values[i, d] = dot(rotate_inverse(rest_of(joints, j), moved), axis_of(joints, j))


@batch(rows=256)
def values_rows(
    n: int, joints: Records, translation: Floats, rotations: Floats, offsets: Floats, values: Floats
) -> None:
    """`values_row` over a batch."""
    for i in prange(n):
        values_row(i, joints, translation, rotations, offsets, values)


@kernel
def from_values_row(
    i: int, joints: Records, values: Floats, translation: Floats, rotations: Floats, offsets: Floats
) -> None:
    """Pose row i from DoF values (N, D); `offsets` may have no rows without slides."""
    for j in range(joints.shape[0]):
        kind, d = joints[j]["kind"], joints[j]["dof"]
        home = (joints[j]["ox"], joints[j]["oy"], joints[j]["oz"])
        q = rest_of(joints, j)
        slid = (0.0, 0.0, 0.0)
        if kind == FREE:
            slid = (values[i, d], values[i, d + 1], values[i, d + 2])
            d += 3
        if kind in (FREE, BALL):
            q = mul(q, exp((values[i, d], values[i, d + 1], values[i, d + 2])))
        elif kind == HINGE:
            q = mul(q, axis_angle(axis_of(joints, j), values[i, d]))
        elif kind == HINGE_TWIST:
            q = mul(q, axis_angle(axis_of(joints, j), values[i, d]))
            q = mul(q, axis_angle(twist_axis_of(joints, j), values[i, d + 1]))
        elif kind == SLIDE:
            slid = scale(rotate(q, axis_of(joints, j)), values[i, d])
        set_quat(rotations, i, j, q)
        for k in range(3):
            if j == 0:
                translation[i, k] = home[k] + slid[k]
            if offsets.shape[0] > 0:
                offsets[i, j, k] = home[k] + slid[k]


@batch(rows=256)
def from_values_rows(
    n: int, joints: Records, values: Floats, translation: Floats, rotations: Floats, offsets: Floats
) -> None:
    """`from_values_row` over a batch."""
    for i in prange(n):
        from_values_row(i, joints, values, translation, rotations, offsets)
