"""The body of a whole-body reach in compiled code, a row a target (Kallmann 2008, Overall Method; specification,
section 5). The arms are then solved from the shoulders it leaves, as any arm is (`BodyLimb.place`).

Where the target lies, seen from the shoulder of the starting pose, gives a posture and its weight; the driven joints
turn from the start towards it; the legs are solved so that the feet stay.

All of it at an *adjustment* x of the weight: at -1 nothing of the behaviour is taken, at 0 what the distance asks for,
at 1 all of it. The body must not touch what it did not touch at the start, and both feet must be held: else x is
lowered, and when an arm is too short it is raised, by steps and then by bisection to the edge of what is possible, so
that the body moves evenly as targets and obstacles do.
"""

from __future__ import annotations

import math

from ..collision.bodies import body_touching
from ..compute import batch, kernel, prange
from ..compute.types import Records
from ..limb.solve import COLLISION, INVALID, REACHED, UNREACHABLE
from ..math.vector import norm, sub
from ..skeleton.forward import forward_row, quat_at, set_quat, vec_at
from .bending import adjusted, arm_length, bend, gather, look, wanted_weight
from .feet import hold_foot, read_leg
from .model import Arrays, Figure, Legs, Rows, Styles
from .weight_search import FIRST, SETTLED, first_adjustment, next_adjustment


@kernel
def stand(i: int, options: Records, figure: Figure, legs: Legs, rows: Rows, x: float) -> int:
    """The body at adjustment x with its feet held: REACHED, UNREACHABLE (a leg cannot), or COLLISION."""
    bend(i, figure, rows, x)
    starting = x <= -1.0  # what touches then stays allowed: somebody who sits touches the chair, and may still lean
    if rows.shift[i, 3] == 0.0 and not starting:
        return REACHED
    if options[0]["feet"] and not starting:
        held = True
        for side in range(2):
            held = held and hold_foot(i, side, figure, legs, rows)
        forward_answer(i, figure, rows)
        if not held:
            return UNREACHABLE
    first = body_touching(
        i,
        figure.volumes,
        figure.pairs,
        figure.outside,
        rows.positions[1],
        rows.orientations[1],
        figure.around,
        options[0]["margin"],
        options[0]["softness"],
        rows.touched,
        rows.balls,
        starting,
    )
    return COLLISION if first >= 0 else REACHED


@kernel
def forward_answer(i: int, figure: Figure, rows: Rows) -> None:
    """Forward kinematics of the answer."""
    forward_row(
        i, figure.joints, rows.translation[1], rows.rotations[1], rows.offsets, rows.positions[1], rows.orientations[1]
    )


@kernel
def excess(i: int, options: Records, legs: Legs, rows: Rows) -> float:
    """How much too far the hands' targets are for their arms [m], from the body as it stands: the larger of the two."""
    most = -math.inf
    for side in range(2):
        if options[0]["right"] if side == 0 else options[0]["left"]:
            shoulder = vec_at(rows.positions[1], i, legs.arms[side]["base"])
            most = max(most, norm(sub(vec_at(rows.goals, side, i), shoulder)) - arm_length(i, side, legs, rows))
    return most


@kernel
def adjust(i: int, options: Records, figure: Figure, legs: Legs, rows: Rows) -> float:
    """The adjustment nearest to 0 at which the body stands and its arms are long enough; the body is left at it."""
    told = rows.told[i]
    state = first_adjustment(options[0]["most"])
    told["reason"], told["tried"] = REACHED, 0
    started = False
    while True:
        x = state[1] if started else -1.0  # first the starting pose, whose contacts stay allowed
        verdict = stand(i, options, figure, legs, rows, x)
        if not started:
            started = True
            continue
        told["tried"] += 1
        if state[0] == FIRST:
            told["reason"] = verdict
        elif state[0] == SETTLED:
            return x
        lack = excess(i, options, legs, rows)
        state = next_adjustment(state, verdict == REACHED, lack, options[0]["extend"] != 0)
        if state[0] == SETTLED and state[1] == x:
            return x


@kernel
def bend_row(i: int, options: Records, figure: Figure, legs: Legs, styles: Styles, rows: Rows) -> None:
    """Row i: from a starting pose and one or two targets to a standing body, its arms still as they were."""
    told = rows.told[i]
    for k in range(3):
        rows.translation[1, i, k] = rows.translation[0, i, k]
    for j in range(figure.joints.shape[0]):
        set_quat(rows.rotations[1], i, j, quat_at(rows.rotations[0], i, j))
    if not valid(i, options, rows):
        told["status"] = INVALID
        return
    forward_row(
        i, figure.joints, rows.translation[0], rows.rotations[0], rows.offsets, rows.positions[0], rows.orientations[0]
    )
    if options[0]["feet"]:
        read_leg(i, 0, figure, legs, rows)
        read_leg(i, 1, figure, legs, rows)
    u = options[0]["right_share"] * wanted_weight(i, 0, legs, styles, rows) if options[0]["right"] else 0.0
    v = options[0]["left_share"] * wanted_weight(i, 1, legs, styles, rows) if options[0]["left"] else 0.0
    gather(i, options[0], figure, styles, rows, (u, v))
    x = adjust(i, options, figure, legs, rows)
    look(i, options[0], figure, rows, vec_at(rows.goals, 0 if options[0]["right"] else 1, i))
    told["status"], told["adjustment"] = REACHED, x
    told["wanted"][0], told["wanted"][1] = u, v
    told["weight"][0], told["weight"][1] = adjusted(u, x), adjusted(v, x)


@kernel
def valid(i: int, options: Records, rows: Rows) -> bool:
    """Whether the numbers of a row are finite and its quaternions unit ones."""
    for j in range(rows.rotations.shape[2]):
        q = quat_at(rows.rotations[0], i, j)
        if not abs(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3] - 1.0) < 1e-3:
            return False
    total = rows.translation[0, i, 0] + rows.translation[0, i, 1] + rows.translation[0, i, 2]
    if options[0]["right"]:
        total += rows.goals[0, i, 0] + rows.goals[0, i, 1] + rows.goals[0, i, 2]
    if options[0]["left"]:
        total += rows.goals[1, i, 0] + rows.goals[1, i, 1] + rows.goals[1, i, 2]
    return math.isfinite(total)


@kernel
def bend_named(i: int, options: Records, figure: Arrays, legs: Arrays, styles: Arrays, rows: Arrays) -> None:
    """`bend_row` of plain tuples: what they hold is named here (`model`). A parallel loop cannot carry what was named
    outside of it.
    """
    bend_row(i, options, Figure(*figure), Legs(*legs), Styles(*styles), Rows(*rows))


@batch(rows=16)
def bend_rows(n: int, options: Records, figure: Arrays, legs: Arrays, styles: Arrays, rows: Arrays) -> None:
    """`bend_row` over a batch."""
    for i in prange(n):
        bend_named(i, options, figure, legs, styles, rows)
