"""A whole-body reach in compiled code, a row a target (Kallmann 2008, Overall Method; specification, section 5).

The target's position relative to the shoulder of the starting pose gives a posture and its weight; the driven joints
rotate from the start towards it; the legs are solved so that the feet stay; the arms are solved from the shoulders that
this leaves, as any arm is; and the status is taken from the resulting pose.

All of it at an *adjustment* x of the weight: at -1 nothing of the behaviour is taken, at 0 what the target requests,
at 1 all of it. Where an arm is too short and the weight may be raised, x begins with what the arm needs (`need`). The
body must not touch what it did not touch at the start, nor sink deeper into what it did, and both feet must be fixed:
else x is lowered to the largest feasible one. The line search does steps first, then bisection to the edge, so that
the body moves evenly as targets and obstacles do. It is a state machine that proposes an adjustment and takes whether
the body stands there, so that the trial of a posture is called once: it is long, and each call is compiled.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

from ..compute import batch, kernel, prange
from ..compute.extent import vec_in_extent
from ..compute.types import Records
from ..compute.verdict import verdict
from ..limb.solve import COLLISION, INVALID, REACHED, UNREACHABLE
from ..math.quaternion import angle_between, conj, mul, unit_quat
from ..math.vector import norm, sub
from ..skeleton.forward import forward_row, is_pose, quat_at, quat_from, set_quat, vec_at
from .bending import adjusted, bend, forward_solution, gather, locate_target, look, target_of
from .contacts import first_contact, forget_contacts, legs_of
from .limbs import fix_foot, place_hand, read_leg
from .need import EXTENDING, comfortable, need
from .packed import ALL, ARM, BEND, COMPARE, JUDGE, LEG, Arrays, Body, Rows, Styles
from .posture import NEEDED

ORIENTATION_TOLERANCE = 1e-6  # [rad]
POSITION_TOLERANCE = 1e-9  # [m], and of the distance from the origin: a hand or foot further from its target missed it
SHARED = 0.1  # the weight that one of two hands must request for `extend` to take more in full
STEPS, BISECTIONS = 8, 20

FIRST, LOWER, EDGE, SETTLED = range(4)

Adjusting: TypeAlias = tuple[int, float, int, float, float]
# stage; adjustment proposed; steps done in this stage; LOWER: where it began, EDGE: the last feasible one; the last
# infeasible one.


@kernel
def stand(i: int, options: Any, body: Body, rows: Rows, x: float) -> tuple[int, int]:
    """Pose the body at adjustment x with its feet fixed.

    A leg that touches something swivels out of it, about the line from hip to foot.

    Returns:
        REACHED, UNREACHABLE (a leg cannot), or COLLISION; and the contact, -1 for none.
    """
    bend(i, body, rows, x)
    if rows.work[i]["shift_weight"] == 0.0:
        return REACHED, -1
    swivelling, contact = 0, -1
    while True:
        if options["feet"]:
            fixed = True
            for side in range(2):
                fixed = fixed and fix_foot(i, LEG - side, options, body, rows, swivelling & (1 << side))
            forward_solution(i, body, rows)
            if not fixed:
                return UNREACHABLE if contact < 0 else COLLISION, contact
        contact = first_contact(i, options, body, rows, 0)
        if contact < 0:
            return REACHED, -1
        legs = legs_of(contact, body) & ~swivelling
        if not options["feet"] or legs == 0:
            return COLLISION, contact
        swivelling |= legs


@kernel
def requested_weight(i: int, side: int, options: Any, body: Body, styles: Styles, rows: Rows) -> tuple[float, float]:
    """Return the weight that a hand's target requests, and its fading: of the distance, or what the arm needs."""
    header = styles.header[side]
    u, fading = locate_target(i, side, body, styles, rows)
    if header["weight"] != NEEDED:
        return u * fading, fading
    right, left = (1.0, 0.0) if side == 0 else (0.0, 1.0)
    gather(i, options, body, styles, rows, (right, left))
    shoulder = vec_at(rows.positions[0], i, body.limbs[ARM - side]["base"])
    low = comfortable(header["k"], target_of(i, side, rows), shoulder)
    return fading * need(i, (right, left), (low, low), body, rows, -1.0, 0.0), fading


@kernel
def adjust(i: int, options: Any, body: Body, rows: Rows, x: float) -> float:
    """Return the largest adjustment up to x at which the body stands; pose it so."""
    result = rows.result[i]
    result["reason"], result["tried"], result["contact"] = REACHED, 0, -1
    forget_contacts(i, rows)
    state = first_adjustment(x)
    while True:
        x = state[1]
        standing, contact = REACHED, -1
        if x <= -1.0:
            bend(i, body, rows, -1.0)
        else:
            standing, contact = stand(i, options, body, rows, x)
        result["tried"] += 1
        if state[0] == FIRST:
            result["reason"], result["contact"] = standing, contact
        elif state[0] == SETTLED:
            return x
        state = next_adjustment(state, standing == REACHED)
        if state[0] == SETTLED and state[1] == x:
            return x


@kernel
def first_adjustment(x: float) -> Adjusting:
    """Return the machine that proposes x."""
    return (FIRST, x, 0, x, x)


@kernel
def next_adjustment(state: Adjusting, stands: bool) -> Adjusting:
    """Return the machine after the body at its proposal was tried; SETTLED when that, or the next one, is the result.

    Args:
        state: the machine.
        stands: whether the feet are fixed and nothing touches.
    """
    stage, x, count, best, low = state
    if stage == FIRST:
        return (SETTLED, x, 0, x, x) if stands else (LOWER, x - (1.0 + x) / STEPS, 1, x, x)
    if stage == LOWER:
        if stands:
            return _halve(x, low, 0)
        if count + 1 == STEPS:
            return _halve(-1.0, x, 0)
        return (LOWER, best - (1.0 + best) * (count + 1) / STEPS, count + 1, best, x)
    return _halve(x if stands else best, low if stands else x, count + 1)


@kernel
def _halve(good: float, bad: float, count: int) -> Adjusting:
    """Bisect between an adjustment that is feasible and one that is not."""
    if count == BISECTIONS:
        return (SETTLED, good, count, good, bad)
    return (EDGE, 0.5 * (good + bad), count, good, bad)


@kernel
def bend_row(i: int, options: Any, body: Body, styles: Styles, rows: Rows) -> None:
    """Bend the body of row i towards one or two targets, from its starting pose, its arms still as they were."""
    result = rows.result[i]
    restore_start(i, body, rows)
    if not valid(i, options, rows):
        result["status"] = INVALID
        return
    forward_row(
        i, body.joints, rows.translation[0], rows.rotations[0], rows.offsets, rows.positions[0], rows.orientations[0]
    )
    if options["feet"]:
        read_leg(i, LEG, body, rows)
        read_leg(i, LEG - 1, body, rows)
    hands, fractions, extensions = options["hands"], options["fractions"], options["extensions"]
    u, v, right, left = 0.0, 0.0, 0.0, 0.0
    if hands[0]:
        u, right = requested_weight(i, 0, options, body, styles, rows)
    if hands[1]:
        v, left = requested_weight(i, 1, options, body, styles, rows)
    u, v, right, left = fractions[0] * u, fractions[1] * v, extensions[0] * right, extensions[1] * left
    gather(i, options, body, styles, rows, (u, v))
    x = options["adjustment"]
    if math.isnan(x):
        x = 0.0
        # A hand alone whose weight is what it needs has it by now; two share the body, and may need more.
        satisfied = hands[0] != hands[1] and styles.header[0 if hands[0] else 1]["weight"] == NEEDED
        if options["extend"] and not satisfied:
            x = need(i, (right, left), (EXTENDING, EXTENDING), body, rows, 0.0, 1.0)
            if styles.header[0]["weight"] == NEEDED and styles.header[1]["weight"] == NEEDED:
                # Hands that request nothing have no posture in common: what is taken of it must fade as they do.
                fraction = min(1.0, max(u, v) / SHARED)
                x *= fraction * fraction * (3.0 - 2.0 * fraction)
    x = adjust(i, options, body, rows, x)
    look(i, options, body, rows, target_of(i, 0 if hands[0] else 1, rows))
    result["status"], result["adjustment"] = REACHED, x
    result["requested_weight"][0], result["requested_weight"][1] = u, v
    result["weight"][0], result["weight"][1] = adjusted(u, x), adjusted(v, x)


@kernel
def restore_start(i: int, body: Body, rows: Rows) -> None:
    """Make the solution of row i its starting pose."""
    for k in range(3):
        rows.translation[1, i, k] = rows.translation[0, i, k]
    for j in range(body.joints.shape[0]):
        set_quat(rows.rotations[1], i, j, quat_at(rows.rotations[0], i, j))


@kernel
def valid(i: int, options: Any, rows: Rows) -> bool:
    """Return whether row i starts from a pose, and its targets are positions: `is_pose`, `vec_in_extent`."""
    for side in range(2):
        if options["hands"][side] and not vec_in_extent(target_of(i, side, rows)):
            return False
    return is_pose(i, rows.translation[0], rows.rotations[0], rows.offsets)


@kernel
def judge_row(i: int, options: Any, body: Body, rows: Rows) -> None:
    """Set the status of row i, and of its hands, from the pose that is returned: the hands' positions and orientations,
    and those of the feet, which were to stay. An invalid row returns its starting pose.
    """
    result = rows.result[i]
    status = int(result["status"])
    for side in range(2):
        if options["hands"][side] and result["hand_status"][side] == INVALID:
            status = INVALID
    if status == INVALID:
        restore_start(i, body, rows)
        for side in range(2):
            result["hand_status"][side], result["swivel"][side] = INVALID, 0.0
            result["position_error"][side] = result["orientation_error"][side] = math.inf
        result["status"] = INVALID
        return
    forward_solution(i, body, rows)
    cause = REACHED
    for side in range(2):
        if options["hands"][side]:
            error, angle = _hand_errors(i, side, options, body, rows)
            why, tolerance = int(result["hand_status"][side]), _tolerance(target_of(i, side, rows))
            # The arm's solver knows of limits and contacts: where it failed, no error can be small enough.
            failed = 0.0 if why == REACHED else 1.0
            result["hand_status"][side] = verdict(why, error, tolerance, angle, ORIENTATION_TOLERANCE, failed)
            if cause == REACHED:
                cause = int(result["hand_status"][side])
    failed = 0.0 if cause == REACHED else 1.0
    error, angle, tolerance = 0.0, 0.0, POSITION_TOLERANCE
    if options["feet"]:
        for side in range(2):
            end = body.limbs[LEG - side]["end"]
            before, now = vec_at(rows.positions[0], i, end), vec_at(rows.positions[1], i, end)
            error, tolerance = max(error, norm(sub(now, before))), max(tolerance, _tolerance(before))
            orientations = quat_at(rows.orientations[0], i, end), quat_at(rows.orientations[1], i, end)
            angle = max(angle, angle_between(orientations[0], orientations[1]))
    result["status"] = verdict(cause, error, tolerance, angle, ORIENTATION_TOLERANCE, failed)


@kernel
def compare_row(i: int, options: Any, body: Body, rows: Rows) -> None:
    """Set the contact of row i to the first one of its solution that its starting pose does not have, or has less deep;
    -1 for none.
    """
    forward_row(
        i, body.joints, rows.translation[0], rows.rotations[0], rows.offsets, rows.positions[0], rows.orientations[0]
    )
    forget_contacts(i, rows)
    forward_solution(i, body, rows)
    rows.result[i]["contact"] = first_contact(i, options, body, rows, 0)


@kernel
def _hand_errors(i: int, side: int, options: Any, body: Body, rows: Rows) -> tuple[float, float]:
    """Return the distance [m] and the angle [rad] of a hand from its target, by forward kinematics."""
    model = body.limbs[ARM - side]
    error, angle = norm(sub(vec_at(rows.positions[1], i, model["end"]), target_of(i, side, rows))), 0.0
    if options["oriented"][side]:
        q = rows.work[i]["orientation"]
        now = mul(quat_at(rows.orientations[1], i, model["end"]), conj(quat_from(model["end_neutral"])))
        angle = angle_between(now, unit_quat((q[side, 0], q[side, 1], q[side, 2], q[side, 3])))
    return error, angle


@kernel
def _tolerance(position: tuple[float, float, float]) -> float:
    """Return the largest distance [m] from a position that counts as met: the further away, the fewer its digits."""
    return POSITION_TOLERANCE * max(1.0, norm(position))


@kernel
def reach_row(i: int, options: Any, body: Body, styles: Styles, rows: Rows) -> None:
    """Do the stages of row i that the options name: bend the body, place the hands, judge the pose."""
    if options["stage"] == COMPARE:
        compare_row(i, options, body, rows)
        return
    if options["stage"] != JUDGE:
        bend_row(i, options, body, styles, rows)
    if options["stage"] == ALL and rows.result[i]["status"] != INVALID:
        placed = False
        for side in range(2):
            if options["hands"][side]:
                if placed:
                    forward_solution(i, body, rows)
                place_hand(i, side, options, body, rows)
                placed = True
    if options["stage"] != BEND:
        judge_row(i, options, body, rows)


@kernel
def reach_named(i: int, options: Records, body: Arrays, styles: Arrays, rows: Arrays) -> None:
    """`reach_row` of plain tuples, whose arrays are named here (`packed`): a parallel loop cannot carry what was named
    outside of it.
    """
    reach_row(i, options[0], Body(*body), Styles(*styles), Rows(*rows))


@batch(rows=16)
def reach_rows(n: int, options: Records, body: Arrays, styles: Arrays, rows: Arrays) -> None:
    """`reach_row` over a batch."""
    for i in prange(n):
        reach_named(i, options, body, styles, rows)
