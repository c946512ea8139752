"""How much a learned prior is followed, in compiled code: where it does not know, it fades to the analytic answer.

The network was fitted to say how large its error is. The weight falls from 1 to 0 as the logarithm of that error rises,
the sooner the further the proportions of a body are from those that were learned. `tools/fit_fade.py` chose the numbers
on people who were neither learned nor measured. What the network says is mixed with what the method without a prior
would do, in the network's own terms: pelvis, spine, elbows, knees and missing ends. All that follows (limits, points
that are met, streams in which nothing jumps) is as before, and as the weight is continuous, so is the body.
"""

from __future__ import annotations

import math

from ..compute import kernel
from ..compute.types import Floats, Quat, Records, Vec3
from ..math.quaternion import between, conj, log, rotate
from ..math.vector import add, cross, dot, norm, reject, scale, sub, unit
from ..skeleton.forward import quat_at, vec_at
from .packed import HEAD, HIPS, LEFT_ELBOW, LEFT_HAND, Figure, Rows, knows, set_vec, vec_from, vec_of
from .prior_kernels import DOUBT, PREDICTED, Network, Prediction
from .prior_layout import AXES, BENDS, END_POSITIONS, ENDS, ERRORS, MIDS, TO_HEAD
from .spine import pelvis_frame, shape_spine
from .untracked import HANGING, estimate_ends, stand

BEGINS, ENDS_AFTER = -3.290, 3.432  # logarithms of expected errors [heights] at which the weight begins to fall, and
# over which it falls to 0
BENT = 0.3  # of the upper bone: how far an elbow or knee is guessed beside the line to the end


@kernel
def weight_of(net: Network, work: Floats) -> float:
    """Return the weight of what the network says: 1 where it knows, 0 where it does not."""
    t = min(max(float(work[PREDICTED + ERRORS] + net.scales[DOUBT] - BEGINS) / ENDS_AFTER, 0.0), 1.0)
    return 1.0 - t * t * (3.0 - 2.0 * t)


@kernel
def fade(
    i: int,
    t: int,
    net: Network,
    figure: Figure,
    memory: Records,
    dt: float,
    before: Vec3,
    rows: Rows,
    prediction: Prediction,
) -> None:
    """Mix what the network says with what the method without a prior would do."""
    weight = weight_of(net, prediction.work)
    if weight >= 1.0:
        return
    hips, head = vec_at(rows.goals, i, HIPS), vec_at(rows.goals, i, HEAD)
    estimate_ends(i, figure, rows, before)
    mix_analytic(i, weight, figure, dt, before, rows, prediction)
    set_vec(rows.goals, i, HIPS, hips)
    set_vec(rows.goals, i, HEAD, head)


@kernel
def mix_analytic(
    i: int, weight: float, figure: Figure, dt: float, before: Vec3, rows: Rows, prediction: Prediction
) -> None:
    """Do as `fade` where hips and head are known or estimated."""
    settings, size = figure.settings[0], 1.0 / figure.stance[0]["joint_height"]
    hips, head = vec_at(rows.goals, i, HIPS), vec_at(rows.goals, i, HEAD)
    weights = vec_from(settings["weights"]) if norm(before) > 0.5 else (1.0, 1.0, 0.0)
    pelvis, left, _ = pelvis_frame(i, rows, weights, before, settings["pelvis_rate"] * dt)
    if knows(i, rows, HIPS):
        pelvis = quat_at(rows.target_orientations, i, HIPS)
        left = rotate(pelvis, (1.0, 0.0, 0.0))
    mix(prediction, AXES, weight, rotate(pelvis, (1.0, 0.0, 0.0)))
    mix(prediction, AXES + 3, weight, rotate(pelvis, (0.0, 1.0, 0.0)))
    mix(prediction, TO_HEAD, weight, scale(sub(head, hips), size))
    shape_spine(i, figure, norm(sub(head, hips)), rows.trunk)
    bend = scale(log(quat_at(rows.trunk, i, figure.spine.shape[0] - 1)), 1.0 / 6.0)
    for k in range(6):
        lerp_to(prediction.work, BENDS + 3 * k, weight, bend)
    for limb in range(4):
        base = add(hips, rotate(pelvis, base_of(limb, figure)))
        end = end_without(i, limb, base, left, figure, rows)
        mid = mid_without(limb, base, end, pelvis, figure)
        mix(prediction, MIDS + 3 * limb, weight, scale(sub(mid, hips), size))
        mix(prediction, END_POSITIONS + 3 * limb, weight, scale(sub(end, hips), size))
        lerp_to(prediction.work, ENDS + 3 * limb, weight, (0.0, 0.0, 0.0))


@kernel
def mix(prediction: Prediction, at: int, weight: float, v: Vec3) -> None:
    """Mix a vector that the network says in the frame with one of the world."""
    x, y, work = prediction
    lerp_to(work, at, weight, (dot(x, v), dot(y, v), dot(cross(x, y), v)))


@kernel
def lerp_to(work: Floats, at: int, weight: float, v: Vec3) -> None:
    """Mix a vector that the network says with another one."""
    for c in range(3):
        work[PREDICTED + at + c] = weight * work[PREDICTED + at + c] + (1.0 - weight) * v[c]


@kernel
def base_of(limb: int, figure: Figure) -> Vec3:
    """Return where a limb begins, from the hips of the neutral pose [m]."""
    stance = figure.stance[0]
    if limb >= 2:
        return vec_of(stance["hips_to_legs"], limb - 2)
    base = add(vec_of(stance["chest_to_clavicles"], limb), vec_of(stance["clavicles_to_arms"], limb))
    for k in range(1, stance["chest"] + 1):
        base = add(base, vec_from(figure.spine[k]["offset"]))
    return base


@kernel
def end_without(i: int, limb: int, base: Vec3, left: Vec3, figure: Figure, rows: Rows) -> Vec3:
    """Return where a hand or foot is without a prior [m]: known, hanging or standing. `left` is X of the pelvis."""
    goal = vec_at(rows.goals, i, LEFT_HAND + limb)
    if math.isfinite(goal[0]):
        return goal
    if limb >= 2:
        return stand(i, limb - 2, figure, rows, left)
    elbow = vec_at(rows.goals, i, LEFT_ELBOW + limb)
    if math.isfinite(elbow[0]):
        return (elbow[0], elbow[1] - figure.limbs[limb]["lower"], elbow[2])
    return (base[0], base[1] - HANGING * figure.stance[0]["arm_lengths"][limb], base[2])


@kernel
def mid_without(limb: int, base: Vec3, end: Vec3, pelvis: Quat, figure: Figure) -> Vec3:
    """Return where an elbow or knee is without a prior [m]: elbows backward, knees forward of a hanging limb."""
    aim = sub(end, base)
    local = rotate(conj(pelvis), aim)
    ahead = rotate(between((0.0, -1.0, 0.0), unit(local)), (0.0, 0.0, -1.0 if limb < 2 else 1.0))
    pole = unit(reject(rotate(pelvis, ahead), unit(aim))) if norm(aim) > 0.0 else (0.0, 0.0, 0.0)
    return add(add(base, scale(aim, 0.5)), scale(pole, BENT * figure.limbs[limb]["upper"]))
