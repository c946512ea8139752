"""The paper's spine to the letter: it goes on from the frame before (Unzueta et al. 2008, Algorithms 2 and 3).

The plane in which it bends is that of the line from pelvis to head before and now; steps of 0.1 rad until it is too
short (or too long), then of 0.01 rad back. The paper's loops do not always end: the plane turns over when the head
comes back, and bending straightens the spine then; here each has at most `MOST_STEPS`, and a search that ends without
its length starts again from the neutral posture (specification reconstruct, 5, no. 6).
"""

from __future__ import annotations

from ..compute import kernel
from ..compute.types import Floats, Quat, Vec3
from ..math.quaternion import axis_angle, mul, rotate, rotate_inverse
from ..math.vector import add, cross, norm, sub, unit
from ..skeleton.forward import quat_at, set_quat, vec_at
from .model import Trunk
from .packed import HEAD, HIPS, PAPER_SPINE, Rows
from .spine import hold_spine, place_trunk, shape_spine, vec_at_row
from .track_state import recall, recall_rotation, remember, remember_rotation

COARSE, FINE = 0.1, 0.01  # [rad] of the pelvis
MOST_STEPS = 16
LOST = 0.02  # of the length: a search that ends further off has not found it
PELVIS, CHORD, NORMAL, BENDS = PAPER_SPINE, PAPER_SPINE + 4, PAPER_SPINE + 7, PAPER_SPINE + 10  # in a track's memory


@kernel
def pose_trunk_literally(i: int, t: int, trunk: Trunk, rows: Rows, memory: Floats, estimate: Quat, y: Vec3) -> Vec3:
    """As `spine.pose_trunk`, from the spine that track t had in the frame before."""
    goal = sub(vec_at(rows.goals, i, HEAD), vec_at(rows.goals, i, HIPS))
    chord = shape_literally(i, t, trunk, rows, memory, goal)
    if memory.shape[0] > 0:
        for k in range(trunk.offsets.shape[0]):
            remember_rotation(memory, t, BENDS + 4 * k, quat_at(rows.trunk, i, k))
    position = place_trunk(i, trunk, rows, estimate, y, chord)
    if memory.shape[0] > 0:
        pelvis = quat_at(rows.trunk, i, 0)
        remember_rotation(memory, t, PELVIS, pelvis)
        remember(memory, t, CHORD, rotate(pelvis, chord))
    return position


@kernel
def shape_literally(i: int, t: int, trunk: Trunk, rows: Rows, memory: Floats, goal: Vec3) -> Vec3:
    """The spine's orientations in the pelvis' frame, into `rows.trunk`; the chord from hips to head there."""
    out, length = rows.trunk, norm(goal)
    if length >= trunk.numbers[0]:
        return shape_spine(i, trunk, length, out)
    began = memory.shape[0] > 0 and norm(recall(memory, t, CHORD)) > 0.0
    for k in range(trunk.offsets.shape[0]):
        set_quat(out, i, k, recall_rotation(memory, t, BENDS + 4 * k) if began else (1.0, 0.0, 0.0, 0.0))
    now = norm(chord_of(i, trunk, out))
    if now > trunk.numbers[0]:
        for k in range(trunk.offsets.shape[0]):
            set_quat(out, i, k, (1.0, 0.0, 0.0, 0.0))
        now = trunk.numbers[0]
    normal = (1.0, 0.0, 0.0)
    if began:
        normal = recall(memory, t, NORMAL)
        n = unit(cross(recall(memory, t, CHORD), goal))
        if norm(n) > 0.5:
            normal = rotate_inverse(recall_rotation(memory, t, PELVIS), n)
    if memory.shape[0] > 0:
        remember(memory, t, NORMAL, normal)
    now = search_length(i, trunk, rows, normal, now, length)
    if abs(now - length) > LOST * length:  # the loops did not end: from the neutral posture they do
        for k in range(trunk.offsets.shape[0]):
            set_quat(out, i, k, (1.0, 0.0, 0.0, 0.0))
        search_length(i, trunk, rows, normal, trunk.numbers[0], length)
    return chord_of(i, trunk, out)


@kernel
def search_length(i: int, trunk: Trunk, rows: Rows, normal: Vec3, now: float, length: float) -> float:
    """Algorithm 3: bend about `normal` until the chord is as long as asked for [m]; how long it is."""
    sign = 1.0 if now > length else -1.0
    for _ in range(MOST_STEPS):
        if sign * now <= sign * length:
            break
        now = bend_all(i, trunk, rows, normal, sign * COARSE)
    for _ in range(MOST_STEPS):
        if sign * now >= sign * length:
            break
        now = bend_all(i, trunk, rows, normal, -sign * FINE)
    return now


@kernel
def chord_of(i: int, trunk: Trunk, out: Floats) -> Vec3:
    """From hips to head, in the pelvis' frame."""
    chord = (0.0, 0.0, 0.0)
    for k in range(1, trunk.offsets.shape[0]):
        chord = add(chord, rotate(quat_at(out, i, k - 1), vec_at_row(trunk.offsets, k)))
    return chord


@kernel
def bend_all(i: int, trunk: Trunk, rows: Rows, normal: Vec3, step: float) -> float:
    """Bend every joint by its share of a step of the pelvis [rad] (Eq. 1), inside the limits; the length then [m]."""
    count = 0
    for k in range(trunk.bends.shape[0]):
        count += trunk.bends[k]
    angle = 0.0
    for k in range(trunk.offsets.shape[0]):
        angle += 2.0 * step / max(count, 1) * trunk.bends[k]
        set_quat(rows.trunk, i, k, mul(axis_angle(normal, angle), quat_at(rows.trunk, i, k)))
    hold_spine(i, trunk, rows)
    return norm(chord_of(i, trunk, rows.trunk))
