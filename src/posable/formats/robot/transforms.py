"""Transforms in MJCF: a position and an orientation, in one of five notations.

Plain tuples: a file has thousands of them, and an array for each would cost more than reading it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .xml import Element

if TYPE_CHECKING:
    from .settings import Settings

Vec3 = tuple[float, float, float]
Quat = tuple[float, float, float, float]
Transform = tuple[Vec3, Quat]

ORIGIN: Vec3 = (0.0, 0.0, 0.0)
IDENTITY: Quat = (1.0, 0.0, 0.0, 0.0)
NOTATIONS = ("axisangle", "xyaxes", "zaxis", "euler")


def transform_of(element: Element, settings: Settings) -> Transform:
    """Return the transform that an element says of itself, in what it is in."""
    attributes = element.attributes
    notations = [notation for notation in NOTATIONS if notation in attributes]
    if len(notations) > 1:
        element.fail(f"it has both {notations[0]!r} and {notations[1]!r}")
    position = element.vector("pos")
    if not notations:
        return position, _quat(element) if "quat" in attributes else IDENTITY
    return position, _other(element, notations[0], settings)


def within(outer: Transform, inner: Transform) -> Transform:
    """Return a transform that is given in another one."""
    if outer[1] == IDENTITY:
        x, y, z = inner[0]
        rotation = inner[1]
    else:
        x, y, z = rotated(outer[1], inner[0])
        rotation = times(outer[1], inner[1])
    return (outer[0][0] + x, outer[0][1] + y, outer[0][2] + z), rotation


def times(p: Quat, q: Quat) -> Quat:
    """Return p q: q in the frame of p."""
    a, b, c, d = p
    w, x, y, z = q
    return (
        a * w - b * x - c * y - d * z,
        a * x + b * w + c * z - d * y,
        a * y - b * z + c * w + d * x,
        a * z + b * y - c * x + d * w,
    )


def rotated(q: Quat, v: Vec3) -> Vec3:
    """Return a vector rotated by a unit quaternion."""
    w, x, y, z = q
    a, b, c = v
    s, t, u = 2.0 * (y * c - z * b), 2.0 * (z * a - x * c), 2.0 * (x * b - y * a)
    return a + w * s + y * u - z * t, b + w * t + z * s - x * u, c + w * u + x * t - y * s


def _unit(element: Element, what: str, *values: float) -> tuple[float, ...]:
    length = math.hypot(*values)
    if not 1e-14 < length < math.inf:
        element.fail(f"{what} is {element.attributes[what][:60]!r}, which has no direction")
    return tuple(value / length for value in values)


def _quat(element: Element) -> Quat:
    w, x, y, z = _unit(element, "quat", *element.numbers("quat", IDENTITY).tolist())
    return w, x, y, z


def _other(element: Element, notation: str, settings: Settings) -> Quat:
    if notation == "axisangle":
        *axis, angle = element.numbers(notation, (0.0,) * 4).tolist()
        x, y, z = _unit(element, notation, *axis)
        return _about(x, y, z, angle * settings.angle)
    if notation == "euler":
        total = IDENTITY
        for letter, angle in zip(settings.eulerseq, element.numbers(notation, (0.0,) * 3).tolist()):
            axis = [float(letter.lower() == other) for other in "xyz"]
            rotation = _about(axis[0], axis[1], axis[2], angle * settings.angle)
            total = times(total, rotation) if letter.islower() else times(rotation, total)
        return total
    if notation == "zaxis":
        x, y, z = _unit(element, notation, *element.numbers(notation, (0.0,) * 3).tolist())
        if z < -1.0 + 1e-14:
            return (0.0, 1.0, 0.0, 0.0)
        half = math.hypot(1.0 + z, x, y)
        return ((1.0 + z) / half, -y / half, x / half, 0.0)
    six = element.numbers(notation, (0.0,) * 6).tolist()
    u = _unit(element, notation, *six[:3])
    along = sum(a * b for a, b in zip(u, six[3:]))
    v = _unit(element, notation, *(b - along * a for a, b in zip(u, six[3:])))
    return _of_axes(u, v, (u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]))


def _about(x: float, y: float, z: float, angle: float) -> Quat:
    sine = math.sin(0.5 * angle)
    return (math.cos(0.5 * angle), sine * x, sine * y, sine * z)


def _of_axes(x: tuple[float, ...], y: tuple[float, ...], z: tuple[float, ...]) -> Quat:
    """Return the rotation whose matrix has these columns; the largest part of the quaternion is found first."""
    squares = (
        1.0 + x[0] + y[1] + z[2],
        1.0 + x[0] - y[1] - z[2],
        1.0 - x[0] + y[1] - z[2],
        1.0 - x[0] - y[1] + z[2],
    )
    rows = (
        (squares[0], y[2] - z[1], z[0] - x[2], x[1] - y[0]),
        (y[2] - z[1], squares[1], x[1] + y[0], z[0] + x[2]),
        (z[0] - x[2], x[1] + y[0], squares[2], y[2] + z[1]),
        (x[1] - y[0], z[0] + x[2], y[2] + z[1], squares[3]),
    )
    best = rows[max(range(4), key=lambda k: squares[k])]
    length = math.hypot(*best)
    return best[0] / length, best[1] / length, best[2] / length, best[3] / length
