"""Damped least squares with two priorities on a chain: what the paper compares ERIK with (Ribeiro 2019, 4.0.4).

The first task is the tip's orientation, the second the posture, in the null space of the first, each with Maciejewski's
damping (Eq. 15). Printed Eq. 25 subtracts the first step twice; here it is subtracted once (specification express,
section 7). The paper's aid is included: targets are rolled by pi so that the tip need not twist to reach them.
Decided here: a task's step is at most `STEP` long (its b_max, which the paper does not give), angles are clamped after
every step, and the angles with the least error are returned.
"""

from __future__ import annotations

import numpy as np

from .. import math as pm
from ..compute.types import Bools, Floats, Ints
from ..express import Chain

STEP = 0.5  # [rad]
Y, Z = np.array([0.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0])


def dls(
    chain: Chain,
    postures: Floats,
    targets: Floats,
    iterations: int,
    *,
    posture_task: bool = True,
    threshold: float = 0.04,
    weights: Floats | None = None,
) -> tuple[Floats, Ints]:
    """(angles (n, N), iterations (n,)) for postures (n, N) and orientations (n, 4), from the zero pose."""
    count, joints = postures.shape
    goals, joint_weights = rolled(targets), shape_weights(chain) if weights is None else weights
    shaping = np.ones(joints)
    for end in (0, joints - 1):
        if abs(chain.links[end].axis[1]) > 0.999:
            shaping[end] = 0.0  # a twister at an end does not change the shape
    angles = np.tile(chain.zero, (count, 1))
    best, least, taken = angles.copy(), np.full(count, np.inf), np.full(count, iterations)
    for step in range(iterations + 1):
        axes, ends = _axes(chain, angles)
        error = combined(chain, angles, ends, postures, targets, joint_weights)[0]
        better = error < least
        best[better], least[better] = angles[better], error[better]
        taken = np.where((least <= threshold) & (taken == iterations), step, taken)
        if step == iterations or (least <= threshold).all():
            break
        away = np.asarray(pm.log(pm.multiply(goals, pm.conjugate(ends))))
        first, null = _damped(axes, away)
        move = first
        if posture_task:
            rest = (postures - angles - first) * shaping
            second, _ = _damped(shaping[:, None] * null, rest)
            move = first + second
        going = (least > threshold)[:, None]
        angles = np.where(going, np.clip(angles + move, chain.lower, chain.upper), angles)
    return best, taken


def rolled(targets: Floats) -> Floats:
    """Return targets rolled by pi about where they point, so that what faces ahead has its z down, and back, up."""
    ahead = np.asarray(pm.rotate(targets, Y))[:, 2] >= 0.0
    up = np.asarray(pm.rotate(targets, Z))[:, 1] > 0.0
    flip: Bools = ahead == up
    return np.where(flip[:, None], pm.multiply(targets, (0.0, 0.0, 1.0, 0.0)), targets)


def shape_weights(chain: Chain, aggravation: float = 1.5) -> Floats:
    """Return (N,) weights of the joints in the posture error; 0 for twisters."""
    bends = np.array([abs(link.axis[1]) < 0.999 for link in chain.links])
    joint_weights = np.zeros(len(chain))
    joint_weights[bends] = aggravation ** np.arange(int(bends.sum()))
    return np.asarray(joint_weights / max(joint_weights.sum(), 1e-300))


def combined(
    chain: Chain, angles: Floats, ends: Floats, postures: Floats, targets: Floats, joint_weights: Floats
) -> tuple[Floats, Floats, Floats]:
    """(error, orientation error, posture error): specification express, section 2."""
    over = np.asarray(pm.multiply(ends, (0.0, 0.0, 1.0, 0.0)))
    apart = [np.linalg.norm(targets - sign * end, axis=-1) for end in (ends, over) for sign in (1.0, -1.0)]
    off = np.min(apart, axis=0) / np.sqrt(2.0)
    shape = np.abs(np.cos(angles) - np.cos(postures)) @ joint_weights / 2.0
    return off + 0.2 * shape, off, shape


def _axes(chain: Chain, angles: Floats) -> tuple[Floats, Floats]:
    """(the axes in the world (n, 3, N): the Jacobian of the orientation; orientations of the tip (n, 4))."""
    frame = np.tile([1.0, 0.0, 0.0, 0.0], (len(angles), 1))
    columns = []
    for k, link in enumerate(chain.links):
        columns.append(pm.rotate(frame, link.axis))
        frame = np.asarray(pm.multiply(frame, pm.axis_angle(link.axis, angles[:, k])))
    return np.stack(columns, axis=-1), frame


def _damped(jacobian: Floats, error: Floats) -> tuple[Floats, Floats]:
    """(the damped step for a task, the projector on the null space of its Jacobian)."""
    u, s, vt = np.linalg.svd(jacobian, full_matrices=False)
    d = np.linalg.norm(error, axis=-1) / STEP
    smallest = np.where(s > 1e-9, s, np.inf).min(axis=-1)
    damping = np.where(
        smallest <= d / 2, d / 2, np.where(smallest >= d, 0.0, np.sqrt(np.maximum(0.0, smallest * (d - smallest))))
    )
    factor = np.where(s > 1e-9, s / (s * s + damping[:, None] ** 2 + 1e-300), 0.0)
    step = np.einsum("nki,nk,nk->ni", vt, factor, np.einsum("nik,ni->nk", u, error))
    used = vt * (s > 1e-6)[:, :, None]
    null = np.eye(vt.shape[-1]) - np.einsum("nki,nkj->nij", used, used)
    return step, null
