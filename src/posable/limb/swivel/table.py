"""Kernels that say where an elbow or knee would be: as the sensorimotor model says, or as a table does.

The sensorimotor model (Soechting and Flanders 1989, which Kallmann 2008 cites for the initial swivel) gives the
upper arm's elevation and yaw as linear functions of the target's distance, azimuth and elevation seen from the
shoulder. `preferred.Sensorimotor` says what of it was checked, and what was decided here.
"""

from __future__ import annotations

import math
from typing import Any

from ...compute import batch, kernel, prange
from ...compute.types import Floats, Ints, Records, Vec3
from ...math.angles import wrap_angle
from ...math.vector import dot, norm
from ..kernels import reach_of
from ..range.locate import direction_of, locate

TYPICAL_REACH = 70.0  # [cm] from shoulder to the pen's tip of the people measured: 30 for the upper arm, 40 beyond it
DEGREE = math.pi / 180.0
IN_FRONT = 0.3  # forward part of the target's direction from which on the model counts fully; from 0 on it fades in
SURE = 0.1  # how much the limb's own preferred swivel counts beside the model's, whose say is the sine of its angle


@kernel
def swivel_at(limb: Any, angle: float) -> float:
    """The swivel in [-pi, pi) [rad] of an angle measured from the limb's reference."""
    return wrap_angle((angle - limb["offset"]) * limb["sign"])


@kernel
def upper_arm(limb: Any, target: Vec3) -> Vec3:
    """The direction of the upper arm by the sensorimotor model, in the limb's frame, for a target [m] that is not 0."""
    front = math.copysign(
        1.0, limb["px"]
    )  # x points forward on a right arm and back on a left one; the pole is in front
    x, y, z = front * target[0], target[1], target[2]
    distance = min(norm(target) / (limb["upper"] + limb["lower"]), 1.0) * TYPICAL_REACH
    azimuth = math.atan2(z, x) / DEGREE
    elevation = math.atan2(y, math.hypot(x, z)) / DEGREE
    raised = (-4.0 + 1.10 * distance + 0.90 * elevation) * DEGREE  # from hanging down
    yaw = (13.2 + 0.86 * azimuth + 0.11 * elevation) * DEGREE  # from straight ahead, outwards
    return (front * math.sin(raised) * math.cos(yaw), -math.cos(raised), math.sin(raised) * math.sin(yaw))


@kernel
def sensorimotor_swivel(limb: Any, target: Vec3) -> float:
    """The swivel [rad] of the sensorimotor model; where it says little, drawn to the limb's own preferred one.

    It says little where the upper arm points along the way to the target, and it was measured in front of the body
    only: beside and behind, where an azimuth winds around the vertical, it fades out. So the swivel is continuous.
    """
    if not (math.isfinite(norm(target)) and norm(target) > 0.0):
        return float(limb["preferred"])
    _, n, u, v, _, _, _ = reach_of(limb, target)
    elbow = upper_arm(limb, target)
    weight = min(max(math.copysign(1.0, limb["px"]) * n[0] / IN_FRONT, 0.0), 1.0)
    own = limb["sign"] * limb["preferred"] + limb["offset"]
    rest = SURE + 1.0 - weight
    x = weight * dot(elbow, u) + rest * math.cos(own)
    return swivel_at(limb, math.atan2(weight * dot(elbow, v) + rest * math.sin(own), x))


@kernel
def table_swivel(
    head: Records, points: Records, faces: Records, index: Ints, cells: Floats, layers: Floats, position: Vec3
) -> float:
    """The swivel [rad] that a table has for a position [m]: between the corners of a triangle and two distances.

    `cells` (V, K, 2) has the swivels at V directions and K distances as cosine and sine, `layers` (K,) the distances.
    """
    distance = norm(position)
    if not math.isfinite(distance):
        return 0.0
    face, w = locate(head, points, faces, index, direction_of(head, position, distance))
    reach = distance / (head[0]["upper"] + head[0]["lower"])
    last = layers.shape[0] - 1
    k = 0
    while k < last - 1 and reach > layers[k + 1]:
        k += 1
    t = 0.0
    if last > 0:
        t = min(max((reach - layers[k]) / (layers[k + 1] - layers[k]), 0.0), 1.0)
    x, y = 0.0, 0.0
    for corner, share in ((faces[face]["a"], w[0]), (faces[face]["b"], w[1]), (faces[face]["c"], w[2])):
        below, above = share * (1.0 - t), share * t
        x += below * cells[corner, k, 0] + above * cells[corner, min(k + 1, last), 0]
        y += below * cells[corner, k, 1] + above * cells[corner, min(k + 1, last), 1]
    return math.atan2(y, x)


@batch(rows=4096)
def sensorimotor_swivels(n: int, limb: Records, places: Floats, out: Floats) -> None:
    """`sensorimotor_swivel` over a batch of positions (N, 3)."""
    for i in prange(n):
        out[i] = sensorimotor_swivel(limb[i % limb.shape[0]], (places[i, 0], places[i, 1], places[i, 2]))


@batch(rows=4096)
def table_swivels(
    n: int,
    head: Records,
    points: Records,
    faces: Records,
    index: Ints,
    cells: Floats,
    layers: Floats,
    places: Floats,
    out: Floats,
) -> None:
    """`table_swivel` over a batch of positions (N, 3)."""
    for i in prange(n):
        place = (places[i, 0], places[i, 1], places[i, 2])
        out[i] = table_swivel(head, points, faces, index, cells, layers, place)
