"""Kernels that keep joints in their boxes and shapes.

Decided here, where the specification clamps and then punishes (`specs/edit.md`, section 4): a joint becomes heavier
the nearer its rotation vector is to the edge of its box, with the square of the distance, and others take over. As that
depends on the pose alone, and a joint comes near its edge but not to it, joints go back along their own path, which
one that was clamped and released does not. (With a thousandth of its freedom left at the edge a joint arrives there
and is clamped: then one drag of ten came back more than 10 degrees off, and one of a hundred with less.) What crosses
an edge all the same is clamped to it. Joints that leave a shape (`Limits`) are clamped to its edge and get heavier for
the rest of the pull.
"""

from __future__ import annotations

import math
from typing import Any

from ..compute import kernel
from ..compute.types import Floats, Ints, Quat, Records, Vec3
from ..limits.kernels import clamp_widened
from ..math.quaternion import axis_angle, conj, exp, log, mul, unit_quat
from ..math.vector import cross, dot, norm
from ..skeleton.forward import axis_of, quat_at, set_quat
from .model import Rig, Scratch

HEAVY = 1e-8  # of its freedom: a DoF at the edge of its box
BAND = 0.2  # [rad] from an edge: where a DoF begins to become heavier
HEAVY_SHAPE = 0.05  # the three DoF of a joint that left a shape: it may still slide along the edge


@kernel
def _vector_step(u: Vec3, w: Vec3) -> Vec3:
    """Return Jr(u) w, the right Jacobian of SO(3): the rotation in the body's frame that changes the vector u by w."""
    angle = norm(u)
    a, b = 0.5, 1.0 / 6.0
    if angle > 1e-4:
        a = (1.0 - math.cos(angle)) / (angle * angle)
        b = (angle - math.sin(angle)) / (angle * angle * angle)
    first = cross(u, w)
    second = cross(u, first)
    return (
        w[0] - a * first[0] + b * second[0],
        w[1] - a * first[1] + b * second[1],
        w[2] - a * first[2] + b * second[2],
    )


@kernel
def _ease(value: float, low: float, high: float) -> float:
    """Return the remaining freedom of a DoF: 1 inside its interval, falling to `HEAVY` within `BAND` of an edge."""
    room = min(value - low, high - value) / min(BAND, 0.5 * (high - low) + 1e-12)
    if room >= 1.0:
        return 1.0
    t = max(0.0, room)
    return HEAVY + (1.0 - HEAVY) * t * t * (3.0 - 2.0 * t)


@kernel
def ease_to_edges(i: int, rows: int, joints: Records, boxes: Records, rotations: Floats, work: Scratch) -> None:
    """Make DoF heavier towards the edges of their boxes; such joints move along their rotation vector's axes.

    Only so can one component stop while the others go on; columns J become J Jr(u).
    """
    for b in range(boxes.shape[0]):
        box = boxes[b]
        u = _box_vector(box, quat_at(rotations, i, box["joint"]), axis_of(joints, box["joint"]))
        first = box["first"]
        if box["hinge"]:
            work.vec[i, 3, first] *= _ease(u[0], box["lx"], box["hx"])
            continue
        s = (_ease(u[0], box["lx"], box["hx"]), _ease(u[1], box["ly"], box["hy"]), _ease(u[2], box["lz"], box["hz"]))
        box["near_edge"] = 1 if s[0] < 1.0 or s[1] < 1.0 or s[2] < 1.0 else 0
        if box["near_edge"] == 0:
            continue
        x, y, z = _vector_step(u, (1.0, 0.0, 0.0)), _vector_step(u, (0.0, 1.0, 0.0)), _vector_step(u, (0.0, 0.0, 1.0))
        for k in range(3):
            work.vec[i, 3, first + k] *= s[k]
        for a in range(rows):
            c = (work.wide[i, first, a], work.wide[i, first + 1, a], work.wide[i, first + 2, a])
            work.wide[i, first, a] = dot(c, x)
            work.wide[i, first + 1, a] = dot(c, y)
            work.wide[i, first + 2, a] = dot(c, z)


@kernel
def from_vectors(i: int, dofs: Ints, boxes: Records, rotations: Floats, work: Scratch) -> None:
    """Turn steps of rotation vectors into rotations of the joints: the inverse of `ease_to_edges`."""
    for b in range(boxes.shape[0]):
        box = boxes[b]
        if box["near_edge"] == 0 or box["hinge"]:
            continue
        u = log(mul(conj(_reference(box)), quat_at(rotations, i, box["joint"])))
        d = dofs[box["first"]]
        w = _vector_step(u, (work.steps[i, d], work.steps[i, d + 1], work.steps[i, d + 2]))
        for k in range(3):
            work.steps[i, d + k] = w[k]


@kernel
def _reference(box: Any) -> Quat:
    return (box["rw"], box["rx"], box["ry"], box["rz"])


@kernel
def _box_vector(box: Any, q: Quat, axis: Vec3) -> Vec3:
    """Return a joint's rotation in its box: a rotation vector, or (angle, 0, 0) for a hinge [rad]."""
    u = log(mul(conj(_reference(box)), q))
    if box["hinge"]:
        return (u[0] * axis[0] + u[1] * axis[1] + u[2] * axis[2], 0.0, 0.0)
    return u


@kernel
def keep_in_boxes(i: int, joints: Records, boxes: Records, rotations: Floats) -> bool:
    """Clamp joints to their boxes; return whether any was outside."""
    any_left = False
    for b in range(boxes.shape[0]):
        box = boxes[b]
        j = box["joint"]
        axis = axis_of(joints, j)
        u = _box_vector(box, quat_at(rotations, i, j), axis)
        x = min(box["hx"], max(box["lx"], u[0]))
        y = min(box["hy"], max(box["ly"], u[1]))
        z = min(box["hz"], max(box["lz"], u[2]))
        if x == u[0] and y == u[1] and z == u[2]:
            continue
        any_left = True
        local = axis_angle(axis, x) if box["hinge"] else exp((x, y, z))
        set_quat(rotations, i, j, unit_quat(mul(_reference(box), local)))
    return any_left


@kernel
def _canonical(i: int, shape: Any, orientations: Floats) -> Quat:
    above = mul((shape["aw"], shape["ax"], shape["ay"], shape["az"]), conj(quat_at(orientations, i, shape["above"])))
    own = mul(quat_at(orientations, i, shape["joint"]), conj((shape["bw"], shape["bx"], shape["by"], shape["bz"])))
    return mul(above, own)


@kernel
def keep_in_shapes(i: int, rig: Rig, shapes: Records, rotations: Floats, work: Scratch) -> bool:
    """Clamp joints to their shapes; `work` holds the pose's frames. Return whether any was outside."""
    any_left = False
    for s in range(shapes.shape[0]):
        shape = shapes[s]
        q = _canonical(i, shape, work.orientations)
        wider = (shape["swing"], shape["below"], shape["above_twist"])
        clamped = clamp_widened(rig.packed[shape["row"]], rig.curves, q, wider)
        if clamped == q:
            continue
        any_left = True
        j = shape["joint"]
        own = mul(conj((shape["aw"], shape["ax"], shape["ay"], shape["az"])), clamped)
        own = mul(own, (shape["bw"], shape["bx"], shape["by"], shape["bz"]))
        own = mul(quat_at(work.orientations, i, shape["above"]), own)
        local = mul(conj(quat_at(work.orientations, i, rig.joints[j]["parent"])), own)
        set_quat(rotations, i, j, unit_quat(local))
        for k in range(3):
            work.vec[i, 2, shape["first"] + k] *= HEAVY_SHAPE
    return any_left


@kernel
def widen_boxes(i: int, joints: Records, boxes: Records, rotations: Floats) -> None:
    """Widen boxes just enough for the pose to be inside."""
    for b in range(boxes.shape[0]):
        u = _box_vector(boxes[b], quat_at(rotations, i, boxes[b]["joint"]), axis_of(joints, boxes[b]["joint"]))
        boxes[b]["lx"], boxes[b]["hx"] = min(boxes[b]["lx"], u[0]), max(boxes[b]["hx"], u[0])
        boxes[b]["ly"], boxes[b]["hy"] = min(boxes[b]["ly"], u[1]), max(boxes[b]["hy"], u[1])
        boxes[b]["lz"], boxes[b]["hz"] = min(boxes[b]["lz"], u[2]), max(boxes[b]["hz"], u[2])


@kernel
def any_near_edge(boxes: Records) -> bool:
    """Return whether the last pull found a joint near the edge of its box."""
    found = False
    for b in range(boxes.shape[0]):
        found = found or boxes[b]["near_edge"] == 1
    return found
