"""Rotations on arrays: leading axes broadcast, results are float64 and contiguous.

Quaternions are `wxyz` in the last axis. Inputs that should be unit are taken as they are, not normalised.

Inside a kernel, use the tuple functions of `math.vector` and `math.quaternion`; everywhere else those of this page.
"""

from __future__ import annotations

import numpy as np

from ..compute import Batch, ShapeError, UnknownNameError, batch, prange
from ..compute.arguments import explain_mistakes
from ..compute.gpu_arrays import GpuArray, contiguous, empty, unwrapped
from ..compute.types import ArrayLike, Floats, floats
from . import quaternion

__all__ = [
    "angle", "axis_angle", "between", "conjugate", "exp", "from_euler", "from_matrix", "log", "multiply", "normalize",
    "rotate", "slerp", "swing_twist", "to_matrix", "twist_swing",
]  # fmt: skip

ROWS = 8192  # rows here cost tens of nanoseconds: threads pay off late


def multiply(p: ArrayLike, q: ArrayLike) -> Floats:
    """p q, (..., 4): q in the frame of p."""
    return _over(_multiply, 4, p=(p, 4), q=(q, 4))


def conjugate(q: ArrayLike) -> Floats:
    """The inverse rotations, (..., 4)."""
    (a,), shape = _aligned(q=(q, 4))
    return unwrapped(np.multiply(a, np.array((1.0, -1.0, -1.0, -1.0))).reshape(*shape, 4))  # type: ignore[no-any-return]


def rotate(q: ArrayLike, v: ArrayLike) -> Floats:
    """Vectors (..., 3) rotated by q (..., 4)."""
    return _over(_rotate, 3, q=(q, 4), v=(v, 3))


def normalize(q: ArrayLike) -> Floats:
    """Quaternions of unit length; the zero quaternion becomes the identity."""
    return _over(_normalize, 4, q=(q, 4))


def exp(v: ArrayLike) -> Floats:
    """Rotations (..., 4) of rotation vectors (..., 3) [rad]."""
    return _over(_exp, 4, v=(v, 3))


def log(q: ArrayLike) -> Floats:
    """Rotation vectors (..., 3) [rad], at most pi long, of rotations (..., 4)."""
    return _over(_log, 3, q=(q, 4))


def axis_angle(axis: ArrayLike, angle: ArrayLike) -> Floats:
    """Rotations by `angle` (...) [rad] about the unit vectors `axis` (..., 3)."""
    return _over(_axis_angle, 4, axis=(axis, 3), angle=(angle, 0))


def between(a: ArrayLike, b: ArrayLike) -> Floats:
    """Smallest rotations (..., 4) from directions a to b (..., 3).

    Opposite directions: a half turn about the world axis a is least along, made perpendicular to a by a cross product.
    """
    return _over(_between, 4, a=(a, 3), b=(b, 3))


def slerp(p: ArrayLike, q: ArrayLike, t: ArrayLike) -> Floats:
    """Rotations on the shorter arc from p (t = 0) to q (t = 1), (..., 4)."""
    return _over(_slerp, 4, p=(p, 4), q=(q, 4), t=(t, 0))


def angle(p: ArrayLike, q: ArrayLike) -> Floats:
    """The angle (...) in [0, pi] of the rotation from p to q."""
    return _over(_angle, p=(p, 4), q=(q, 4))


def swing_twist(q: ArrayLike, axis: ArrayLike) -> tuple[Floats, Floats]:
    """(swing (..., 4), twist (...) [rad]) about the unit vectors `axis`, with q = swing * twist."""
    (a, b), shape = _aligned(q=(q, 4), axis=(axis, 3))
    swing, twist = empty(a.shape, (a, b)), empty((len(a),), (a, b))
    _swing_twist(len(a), a, b, swing, twist)
    return unwrapped(swing.reshape(*shape, 4)), unwrapped(twist.reshape(shape))


def twist_swing(q: ArrayLike, axis: ArrayLike) -> tuple[Floats, Floats]:
    """(twist (...) [rad], swing (..., 4)) about the unit vectors `axis`, with q = twist * swing."""
    (a, b), shape = _aligned(q=(q, 4), axis=(axis, 3))
    swing, twist = empty(a.shape, (a, b)), empty((len(a),), (a, b))
    _twist_swing(len(a), a, b, twist, swing)
    return unwrapped(twist.reshape(shape)), unwrapped(swing.reshape(*shape, 4))


def from_matrix(m: ArrayLike) -> Floats:
    """Quaternions (..., 4) of rotation matrices (..., 3, 3), w >= 0."""
    array = floats(m, "m", 3, 3)
    flat = contiguous(array.reshape(-1, 3, 3))
    out = empty((len(flat), 4), flat)
    _from_matrix(len(out), flat, out)
    return unwrapped(out.reshape(*array.shape[:-2], 4))  # type: ignore[no-any-return]


def to_matrix(q: ArrayLike) -> Floats:
    """Rotation matrices (..., 3, 3) of unit quaternions (..., 4)."""
    return _over(_to_matrix, 3, 3, q=(q, 4))


def from_euler(order: str, angles: ArrayLike) -> Floats:
    """Quaternions (..., 4) of Euler angles (..., 3) [rad] about moving axes: "ZYX" is Rz(a0) Ry(a1) Rx(a2)."""
    letters = order.upper()
    if len(letters) != 3 or any(c not in "XYZ" for c in letters):
        raise UnknownNameError("Euler order", order, ["XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX"])
    (a,), shape = _aligned(angles=(angles, 3))
    out = empty((len(a), 4), a)
    i, j, k = ("XYZ".index(c) for c in letters)
    _from_euler(len(out), i, j, k, a, out)
    return unwrapped(out.reshape(*shape, 4))  # type: ignore[no-any-return]


def _over(rows: Batch, *core: int, **named: tuple[ArrayLike, int]) -> Floats:
    """Run a batch over arrays aligned by `_aligned`; results of the shape `core` each."""
    arrays, shape = _aligned(**named)
    out = empty((len(arrays[0]), *core), tuple(arrays))
    rows(len(out), *arrays, out)
    return unwrapped(out.reshape((*shape, *core)))  # type: ignore[no-any-return]


def _aligned(**named: tuple[ArrayLike, int]) -> tuple[list[Floats], tuple[int, ...]]:
    """Broadcast arrays over their leading axes: contiguous (n, core) or (n,) arrays, and the leading shape."""
    arrays = {name: floats(value, name, *((core,) if core else ())) for name, (value, core) in named.items()}
    leads = [arrays[name].shape[:-1] if core else arrays[name].shape for name, (_, core) in named.items()]
    lead = leads[0]
    if any(one != lead for one in leads):
        try:
            lead = np.broadcast_shapes(*leads)
        except ValueError:
            shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
            raise ShapeError(f"leading axes do not broadcast: {shapes}") from None
    flat = []
    for (_, core), array in zip(named.values(), arrays.values(), strict=True):
        shape = (*lead, core) if core else lead
        if array.shape != shape:
            # Copied: what is broadcast could not be written, and for such arrays kernels are compiled once more.
            array = np.broadcast_to(array, shape)
            array = array if isinstance(array, GpuArray) else np.array(array, order="C")
        flat.append(contiguous(array).reshape((-1, core) if core else -1))
    return flat, lead


@batch(rows=ROWS)
def _multiply(n: int, p: Floats, q: Floats, out: Floats) -> None:
    for i in prange(n):
        w, x, y, z = quaternion.mul((p[i, 0], p[i, 1], p[i, 2], p[i, 3]), (q[i, 0], q[i, 1], q[i, 2], q[i, 3]))
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = w, x, y, z


@batch(rows=ROWS)
def _rotate(n: int, q: Floats, v: Floats, out: Floats) -> None:
    for i in prange(n):
        x, y, z = quaternion.rotate((q[i, 0], q[i, 1], q[i, 2], q[i, 3]), (v[i, 0], v[i, 1], v[i, 2]))
        out[i, 0], out[i, 1], out[i, 2] = x, y, z


@batch(rows=ROWS)
def _normalize(n: int, q: Floats, out: Floats) -> None:
    for i in prange(n):
        w, x, y, z = quaternion.unit_quat((q[i, 0], q[i, 1], q[i, 2], q[i, 3]))
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = w, x, y, z


@batch(rows=ROWS)
def _exp(n: int, v: Floats, out: Floats) -> None:
    for i in prange(n):
        w, x, y, z = quaternion.exp((v[i, 0], v[i, 1], v[i, 2]))
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = w, x, y, z


@batch(rows=ROWS)
def _log(n: int, q: Floats, out: Floats) -> None:
    for i in prange(n):
        x, y, z = quaternion.log((q[i, 0], q[i, 1], q[i, 2], q[i, 3]))
        out[i, 0], out[i, 1], out[i, 2] = x, y, z


@batch(rows=ROWS)
def _axis_angle(n: int, axis: Floats, angle: Floats, out: Floats) -> None:
    for i in prange(n):
        w, x, y, z = quaternion.axis_angle((axis[i, 0], axis[i, 1], axis[i, 2]), angle[i])
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = w, x, y, z


@batch(rows=ROWS)
def _between(n: int, a: Floats, b: Floats, out: Floats) -> None:
    for i in prange(n):
        w, x, y, z = quaternion.between((a[i, 0], a[i, 1], a[i, 2]), (b[i, 0], b[i, 1], b[i, 2]))
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = w, x, y, z


@batch(rows=ROWS)
def _slerp(n: int, p: Floats, q: Floats, t: Floats, out: Floats) -> None:
    for i in prange(n):
        w, x, y, z = quaternion.slerp((p[i, 0], p[i, 1], p[i, 2], p[i, 3]), (q[i, 0], q[i, 1], q[i, 2], q[i, 3]), t[i])
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = w, x, y, z


@batch(rows=ROWS)
def _angle(n: int, p: Floats, q: Floats, out: Floats) -> None:
    for i in prange(n):
        out[i] = quaternion.angle_between((p[i, 0], p[i, 1], p[i, 2], p[i, 3]), (q[i, 0], q[i, 1], q[i, 2], q[i, 3]))


@batch(rows=ROWS)
def _swing_twist(n: int, q: Floats, axis: Floats, swing: Floats, twist: Floats) -> None:
    for i in prange(n):
        s, t = quaternion.swing_twist((q[i, 0], q[i, 1], q[i, 2], q[i, 3]), (axis[i, 0], axis[i, 1], axis[i, 2]))
        swing[i, 0], swing[i, 1], swing[i, 2], swing[i, 3] = s[0], s[1], s[2], s[3]
        twist[i] = t


@batch(rows=ROWS)
def _twist_swing(n: int, q: Floats, axis: Floats, twist: Floats, swing: Floats) -> None:
    for i in prange(n):
        t, s = quaternion.twist_swing((q[i, 0], q[i, 1], q[i, 2], q[i, 3]), (axis[i, 0], axis[i, 1], axis[i, 2]))
        swing[i, 0], swing[i, 1], swing[i, 2], swing[i, 3] = s[0], s[1], s[2], s[3]
        twist[i] = t


@batch(rows=ROWS)
def _from_matrix(n: int, m: Floats, out: Floats) -> None:
    for i in prange(n):
        w, x, y, z = quaternion.quat_from_matrix(m[i])
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = w, x, y, z


@batch(rows=ROWS)
def _to_matrix(n: int, q: Floats, out: Floats) -> None:
    for i in prange(n):
        quaternion.matrix_from_quat((q[i, 0], q[i, 1], q[i, 2], q[i, 3]), out[i])


@batch(rows=ROWS)
def _from_euler(n: int, a: int, b: int, c: int, angles: Floats, out: Floats) -> None:
    for i in prange(n):
        w, x, y, z = quaternion.quat_from_euler(a, b, c, angles[i, 0], angles[i, 1], angles[i, 2])
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = w, x, y, z


explain_mistakes(__name__)
