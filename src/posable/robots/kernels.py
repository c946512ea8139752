"""One frame of a robot's motion: Gauss-Newton steps on an arrowhead of normal equations, within bounds.

Rows are positions and orientations of parts (`TASK`), the state that the frame is drawn to, and one-sided rows that
keep links apart. Bounds hold by an active set within each step: a variable that would leave them is fixed on its bound
and the others are solved again, so that the rest of the body makes up for it at once. Pairs of links that a step would
bring too near are taken in within the same step, too; or they would be noticed only once they touch.

Two limbs that touch couple their blocks, which would fill the arrowhead. Each of them then takes the row with twice its
weight, without the coupling: (a + b)^2 <= 2 a^2 + 2 b^2, so the step is shorter than it could be, never too long.
"""

from __future__ import annotations

import math
from typing import Any

from ..compute import batch, kernel, prange
from ..compute.types import Bools, Floats, Ints, Vec3
from ..math.quaternion import axis_angle, conj, exp, log, mul, rotate, rotate_inverse, unit_quat
from ..math.vector import cross, dot, norm, sub
from ..skeleton.dofs import SLIDE
from ..skeleton.forward import axis_of, quat_at, quat_from, rest_of, set_quat, vec_at, vec_from
from .arrowhead import add_three, clear, clear_rows, copy, eliminate, freeze, substitute
from .model import MOST_CONTACTS, ROOT, Model, Scratch, Track

STRAIGHT, FAR = 0.3, 0.2  # [rad]: a knee less bent than the one, and than lengths ask for by the other, is bent first
SETTLED, STILL = (
    0.02,
    0.01,
)  # [rad]: after shorter steps standing feet are within a tenth of a millimetre; all is solved
ROUNDS = 3  # of the active set in each step


@kernel
def place(r: int, model: Model, state: Floats, work: Scratch) -> None:
    """Fill in where all joints are, and their axes in the world, in buffer row r: forward kinematics of a state."""
    joints, drives = model.joints, model.drives
    positions, orientations, axes = work.positions, work.orientations, work.axes
    for k in range(3):
        positions[r, 0, k] = state[k]
    set_quat(orientations, r, 0, (state[3], state[4], state[5], state[6]))
    for j in range(1, joints.shape[0]):
        parent = joints[j]["parent"]
        above = quat_at(orientations, r, parent)
        offset = (joints[j]["ox"], joints[j]["oy"], joints[j]["oz"])
        own, axis, v = rest_of(joints, j), axis_of(joints, j), drives[j]["variable"]
        if v >= 0 or drives[j]["offset"] != 0.0:
            value = drives[j]["offset"]
            if v >= 0:
                value += drives[j]["ratio"] * state[7 + v]
            if joints[j]["kind"] == SLIDE:
                along = rotate(own, axis)
                offset = (offset[0] + value * along[0], offset[1] + value * along[1], offset[2] + value * along[2])
            else:
                own = mul(own, axis_angle(axis, value))
        arm, orientation = rotate(above, offset), mul(above, own)
        set_quat(orientations, r, j, orientation)
        rotated = rotate(orientation, axis)
        for k in range(3):
            positions[r, j, k] = positions[r, parent, k] + arm[k]
            axes[r, j, k] = rotated[k]


@kernel
def column(v: int, trunk: int) -> int:
    """Return the column of a motor: the root's position comes between those of the limbs and the trunk's."""
    return v if v < trunk else v + 3


@kernel
def local(c: int, first: int, own: int, trunk: int) -> int:
    """Return the place of a column in the system of a limb: `own` columns from `first` on, then the trunk's."""
    return c - first if c < trunk else c - trunk + own


@kernel
def point_of(r: int, j: int, local: Vec3, work: Scratch) -> Vec3:
    """Return a point of joint j in the world."""
    arm, p = rotate(quat_at(work.orientations, r, j), local), vec_at(work.positions, r, j)
    return (p[0] + arm[0], p[1] + arm[1], p[2] + arm[2])


@kernel
def add_motion(
    r: int, model: Model, first: int, last: int, point: Vec3, sign: float, y: Floats, at: int, own: int, work: Scratch
) -> None:
    """Add to `y` (3, M) how a point moves with the joints of a path, in the world; without the root.

    `at` is the first of the `own` columns of the limb whose system it is.
    """
    trunk = model.settings[0]["trunk"]
    for k in range(first, last):
        j = model.paths[k]
        v, ratio = local(model.drives[j]["column"], at, own, trunk), sign * model.drives[j]["ratio"]
        axis = vec_at(work.axes, r, j)
        if model.joints[j]["kind"] != SLIDE:
            axis = cross(axis, sub(point, vec_at(work.positions, r, j)))
        y[0, v] += ratio * axis[0]
        y[1, v] += ratio * axis[1]
        y[2, v] += ratio * axis[2]


@kernel
def root_axes(r: int, work: Scratch) -> tuple[Vec3, Vec3, Vec3]:
    """Return the root's own axes in the world, about which its variables turn it."""
    q = quat_at(work.orientations, r, 0)
    return rotate(q, (1.0, 0.0, 0.0)), rotate(q, (0.0, 1.0, 0.0)), rotate(q, (0.0, 0.0, 1.0))


@kernel
def add_root_motion(r: int, lever: Vec3, translates: bool, y: Floats, own: int, size: int, work: Scratch) -> None:
    """Set in `y` (3, M) how a point moves with the root's variables; `lever` is the part of it that the root turns."""
    a, b, c = root_axes(r, work)
    u, v, w = cross(a, lever), cross(b, lever), cross(c, lever)
    for k in range(3):
        if translates:
            y[k, own + k] = 1.0
        y[k, size - 3], y[k, size - 2], y[k, size - 1] = u[k], v[k], w[k]


@kernel
def add_task(r: int, model: Model, task: Any, target: Floats, work: Scratch) -> None:
    """Add the rows of a part, its position and its orientation, to the system of its limb, or of the trunk.

    The error of an orientation is twice the vector part of the quaternion from the requested one: the rotation vector
    to second order, without an angle's arcs. With w and v the parts, a turn by x changes it by w x + x v.
    """
    trunk, size = model.settings[0]["trunk"], model.settings[0]["size"]
    b, at, own = task["block"], 0, 0
    if b >= 0:
        at, own = model.blocks[b]["first"], model.blocks[b]["last"] - model.blocks[b]["first"]
    else:
        b = model.blocks.shape[0]
    m = own + size - trunk
    y, h, g = work.triple[r], work.matrix[r, b], work.gradient[r, b]
    joint = task["joint"]
    if target[7] > 0.0 or target[8] > 0.0:
        level, up = target[7], target[8]
        base, anchored = (0.0, 0.0, 0.0), task["anchor"] >= 0
        clear_rows(y, m)
        point = point_of(r, joint, vec_from(task["point"]), work)
        add_motion(r, model, task["first"], task["last"], point, 1.0, y, at, own, work)
        lever = sub(point, vec_at(work.positions, r, 0))
        if anchored:
            base = point_of(r, task["anchor"], vec_from(task["anchor_point"]), work)
            add_motion(r, model, task["anchor_first"], task["anchor_last"], base, -1.0, y, at, own, work)
            lever = sub(point, base)
        add_root_motion(r, lever, not anchored, y, own, m, work)
        scale_rows(y, level, up, level, m)
        missing = sub(sub(point, base), (target[0], target[1], target[2]))
        residual = (level * missing[0], up * missing[1], level * missing[2])
        add_curvature(y, norm(residual), own, m, h)
        add_three(y, residual[0], residual[1], residual[2], m, h, g)
    pitch, twist, roll = target[9], target[10], target[11]
    if pitch > 0.0 or twist > 0.0 or roll > 0.0:
        clear_rows(y, m)
        requested = (target[3], target[4], target[5], target[6])
        now = mul(quat_at(work.orientations, r, joint), conj(quat_from(task["neutral"])))
        w, vx, vy, vz = mul(conj(requested), now)
        if w < 0.0:
            w, vx, vy, vz = -w, -vx, -vy, -vz
        for k in range(task["first"], task["last"]):
            j = model.paths[k]
            if model.joints[j]["kind"] != SLIDE:
                axis = rotate_inverse(requested, vec_at(work.axes, r, j))
                c = local(model.drives[j]["column"], at, own, trunk)
                add_rotation(y, c, model.drives[j]["ratio"], w, (vx, vy, vz), axis)
        root_x, root_y, root_z = root_axes(r, work)
        add_rotation(y, m - 3, 1.0, w, (vx, vy, vz), rotate_inverse(requested, root_x))
        add_rotation(y, m - 2, 1.0, w, (vx, vy, vz), rotate_inverse(requested, root_y))
        add_rotation(y, m - 1, 1.0, w, (vx, vy, vz), rotate_inverse(requested, root_z))
        scale_rows(y, pitch, twist, roll, m)
        add_three(y, 2.0 * pitch * vx, 2.0 * twist * vy, 2.0 * roll * vz, m, h, g)


@kernel
def add_curvature(y: Floats, residual: float, own: int, size: int, h: Floats) -> None:
    """Add to the diagonal what bounds the second derivatives of a position: residual times lever, for each rotation.

    Gauss and Newton leave it out; then a stretched leg whose foot is out of reach jumps to and fro. It is nothing once
    the target is met.
    """
    for a in range(size):
        if not own <= a < own + 3:
            h[a, a] += residual * math.sqrt(y[0, a] * y[0, a] + y[1, a] * y[1, a] + y[2, a] * y[2, a])


@kernel
def add_rotation(y: Floats, column_: int, ratio: float, w: float, v: Vec3, axis: Vec3) -> None:
    """Add to a column of `y` (3, N) how the error of an orientation changes with a turn about an axis."""
    rotated = cross(axis, v)
    y[0, column_] += ratio * (w * axis[0] + rotated[0])
    y[1, column_] += ratio * (w * axis[1] + rotated[1])
    y[2, column_] += ratio * (w * axis[2] + rotated[2])


@kernel
def scale_rows(y: Floats, p: float, q: float, s: float, size: int) -> None:
    """Multiply three rows by their weights."""
    for a in range(size):
        y[0, a] *= p
        y[1, a] *= q
        y[2, a] *= s


@kernel
def closest(a: Vec3, b: Vec3, c: Vec3, d: Vec3) -> tuple[Vec3, Vec3]:
    """Return the nearest points of segments a b and c d (Ericson 2005, 5.1.9); segments may be points."""
    u, v, w = sub(b, a), sub(d, c), sub(a, c)
    e, f, uv, uw, vw = dot(u, u), dot(v, v), dot(u, v), dot(u, w), dot(v, w)
    s, t = 0.0, 0.0
    if e > 1e-12 and f > 1e-12:
        across = e * f - uv * uv
        if across > 1e-9 * e * f:
            s = min(max((uv * vw - uw * f) / across, 0.0), 1.0)
        t = (uv * s + vw) / f
        if t < 0.0:
            t, s = 0.0, min(max(-uw / e, 0.0), 1.0)
        elif t > 1.0:
            t, s = 1.0, min(max((uv - uw) / e, 0.0), 1.0)
    elif e > 1e-12:
        s = min(max(-uw / e, 0.0), 1.0)
    elif f > 1e-12:
        t = min(max(vw / f, 0.0), 1.0)
    return (a[0] + s * u[0], a[1] + s * u[1], a[2] + s * u[2]), (c[0] + t * v[0], c[1] + t * v[1], c[2] + t * v[2])


@kernel
def find_contacts(r: int, model: Model, work: Scratch) -> int:
    """List the pairs of links that are nearer than `reach`, in the rows of `work.contacts`; return how many.

    Of each pair the two shapes count that are nearest or deepest.

    A row is how the distance grows with the variables; its last number is the distance less the margin.
    """
    settings, count = model.settings[0], 0
    size = settings["size"]
    margin, reach = settings["margin"], settings["reach"]
    centres = work.centres[r]
    for m in range(model.links.shape[0]):
        link = model.links[m]
        centres[m, 0], centres[m, 1], centres[m, 2] = point_of(r, link["joint"], vec_from(link["centre"]), work)
    for p in range(model.pairs.shape[0]):
        m, n_ = model.pairs[p, 0], model.pairs[p, 1]
        one, other = model.links[m], model.links[n_]
        j, k = one["joint"], other["joint"]
        c = (centres[m, 0] - centres[n_, 0], centres[m, 1] - centres[n_, 1], centres[m, 2] - centres[n_, 2])
        near = one["radius"] + other["radius"] + reach
        if dot(c, c) > near * near:
            continue
        nearest, x, z, found = reach, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 0.0
        for s in range(one["shape"], one["shape_end"]):
            shape = model.shapes[s]
            a, b = point_of(r, j, vec_from(shape["start"]), work), point_of(r, j, vec_from(shape["end"]), work)
            for t in range(other["shape"], other["shape_end"]):
                against = model.shapes[t]
                e = point_of(r, k, vec_from(against["start"]), work)
                f = point_of(r, k, vec_from(against["end"]), work)
                p_, q_ = closest(a, b, e, f)
                n = sub(p_, q_)
                radii = shape["radius"] + against["radius"]
                distance = math.sqrt(dot(n, n)) - radii
                if distance < nearest:
                    nearest, x, z, found = distance, p_, q_, distance + radii
        if nearest >= reach or count == MOST_CONTACTS:
            continue
        n = sub(x, z)
        if found < 1e-6:  # the axes cross: apart along the line between the links
            n, found = c, math.sqrt(dot(c, c)) + 1e-9
        n = (n[0] / found, n[1] / found, n[2] / found)
        row = work.contacts[r, count]
        for i in range(size):
            row[i] = 0.0
        row[size] = nearest - margin
        add_along(r, model, one, x, n, 1.0, row, work)
        add_along(r, model, other, z, n, -1.0, row, work)
        work.limbs[r, count, 0], work.limbs[r, count, 1] = one["block"], other["block"]
        count += 1
    return count


@kernel
def find_floor(i: int, r: int, model: Model, track: Track, count: int, work: Scratch) -> int:
    """List the lowest corners, of heel and tip, of soles that do not stand; `count` rows are listed already.

    Standing soles are where they belong by their targets.
    """
    settings = model.settings[0]
    size, trunk, reach = settings["size"], settings["trunk"], settings["reach"]
    for s in range(model.soles.shape[0]):
        sole = model.soles[s]
        if track.targets[i, sole["task"], 7] > settings["stands"]:
            continue
        height = work.positions[r, sole["joint"], 1] - track.floors[i, s]
        if height > 8.0 * reach:
            continue
        for half in range(2):
            begin, end = (sole["point"], sole["front"]) if half == 0 else (sole["front"], sole["end"])
            lowest, at = math.inf, (0.0, 0.0, 0.0)
            for c in range(begin, end):
                p = point_of(r, sole["joint"], (model.corners[c, 0], model.corners[c, 1], model.corners[c, 2]), work)
                if p[1] < lowest:
                    lowest, at = p[1], p
            distance = lowest - track.floors[i, s]
            if distance > reach or count == MOST_CONTACTS:
                continue
            row = work.contacts[r, count]
            for k in range(size):
                row[k] = 0.0
            add_along(r, model, sole, at, (0.0, 1.0, 0.0), 1.0, row, work)
            row[size] = distance
            row[trunk + 1] = 1.0
            lever = sub(at, vec_at(work.positions, r, 0))
            a, b, c_ = root_axes(r, work)
            row[size - 3], row[size - 2], row[size - 1] = cross(a, lever)[1], cross(b, lever)[1], cross(c_, lever)[1]
            work.limbs[r, count, 0], work.limbs[r, count, 1] = sole["block"], -1
            count += 1
    return count


@kernel
def lift_edges(i: int, r: int, model: Model, track: Track, work: Scratch) -> None:
    """Raise, in place, the targets of feet that stand on an edge, so that the edge is on the floor."""
    for s in range(model.soles.shape[0]):
        sole = model.soles[s]
        if sole["loose"] == 0 or track.targets[i, sole["task"], 7] <= model.settings[0]["stands"]:
            continue
        q, lowest = quat_at(work.orientations, r, sole["joint"]), math.inf
        point = vec_from(model.tasks[sole["task"]]["point"])
        for c in range(sole["point"], sole["end"]):
            corner = (model.corners[c, 0], model.corners[c, 1], model.corners[c, 2])
            lowest = min(lowest, rotate(q, sub(corner, point))[1])
        track.targets[i, sole["task"], 1] = track.floors[i, s] - lowest


@kernel
def add_along(r: int, model: Model, link: Any, point: Vec3, n: Vec3, sign: float, row: Floats, work: Scratch) -> None:
    """Add to a row (N,) how a point of a link moves along n with the joints of its path.

    The root moves both points of a pair as one body does, which does not change their distance.
    """
    for k in range(link["first"], link["last"]):
        j = model.paths[k]
        axis = vec_at(work.axes, r, j)
        if model.joints[j]["kind"] != SLIDE:
            axis = cross(axis, sub(point, vec_at(work.positions, r, j)))
        row[model.drives[j]["column"]] += sign * model.drives[j]["ratio"] * dot(axis, n)


@kernel
def add_contact(r: int, model: Model, c: int, work: Scratch) -> None:
    """Add the row of a pair that counts to the systems of its limbs and of the trunk."""
    settings = model.settings[0]
    trunk, size, blocks = settings["trunk"], settings["size"], model.blocks.shape[0]
    row, residual = work.contacts[r, c], work.contacts[r, c, size]
    weight = settings["touch"] * settings["touch"]
    h, g = work.matrix[r, blocks], work.gradient[r, blocks]
    for a in range(size - trunk):
        s = weight * row[trunk + a]
        if s != 0.0:
            g[a] += s * residual
            for e in range(a, size - trunk):
                h[a, e] += s * row[trunk + e]
    one, other = work.limbs[r, c, 0], work.limbs[r, c, 1]
    doubled = 2.0 if one >= 0 and other >= 0 and one != other else 1.0
    if one >= 0:
        add_limb(r, model, one, row, weight, doubled, residual, work)
    if other >= 0 and other != one:
        add_limb(r, model, other, row, weight, doubled, residual, work)


@kernel
def add_limb(
    r: int, model: Model, b: int, row: Floats, weight: float, doubled: float, residual: float, work: Scratch
) -> None:
    """Add weight times a row (N,) with itself, in one limb's variables, and its coupling with the trunk's.

    `doubled`: by how much more the limb's own products count (2 where the row moves two limbs).
    """
    trunk, size = model.settings[0]["trunk"], model.settings[0]["size"]
    first = model.blocks[b]["first"]
    own = model.blocks[b]["last"] - first
    h, g = work.matrix[r, b], work.gradient[r, b]
    work.stale[r, b] = 1
    for a in range(own):
        s = weight * row[first + a]
        if s != 0.0:
            g[a] += s * residual
            for e in range(a, own):
                h[a, e] += doubled * s * row[first + e]
            for e in range(size - trunk):
                h[a, own + e] += s * row[trunk + e]


@kernel
def add_near(i: int, r: int, model: Model, track: Track, state: Floats, work: Scratch) -> None:
    """Add what draws the frame to its state, each motor to its rest, and the damping."""
    settings, blocks = model.settings[0], model.blocks.shape[0]
    size, trunk, damping = settings["size"], settings["trunk"], settings["damping"]
    for v in range(size - ROOT):
        variable = model.variables[v]
        b, c = variable["block"], 0
        if b >= 0:
            c = v - model.blocks[b]["first"]
        else:
            b, c = blocks, v - trunk + 3
        strong = track.pull[i, 2 + v] * track.pull[i, 2 + v]
        posture = variable["posture"] * variable["posture"]
        work.matrix[r, b, c, c] += strong + posture + damping
        work.gradient[r, b, c] += strong * (state[7 + v] - track.near[i, 7 + v]) + posture * (
            state[7 + v] - variable["rest"]
        )
    h, g = work.matrix[r, blocks], work.gradient[r, blocks]
    strong = track.pull[i, 0] * track.pull[i, 0]
    for k in range(3):
        h[k, k] += strong + damping
        g[k] += strong * (state[k] - track.near[i, k])
    strong = track.pull[i, 1] * track.pull[i, 1]
    there = (track.near[i, 3], track.near[i, 4], track.near[i, 5], track.near[i, 6])
    error = log(mul(conj(there), (state[3], state[4], state[5], state[6])))
    last = size - trunk - 3
    for k in range(3):
        h[last + k, last + k] += strong + damping
        g[last + k] += strong * error[k]


@kernel
def solve_arrow(i: int, r: int, model: Model, track: Track, state: Floats, work: Scratch) -> None:
    """Fill in the step of all variables, those that are frozen at their bounds.

    Limbs whose system changed (`stale`) are eliminated anew, the others are as they were the last time.
    """
    trunk, size, blocks = model.settings[0]["trunk"], model.settings[0]["size"], model.blocks.shape[0]
    step, frozen, stale, width = work.step[r], work.frozen[r], work.stale[r], size - trunk
    whole, right = work.factor[r, blocks], work.right[r, blocks]
    copy(work.matrix[r, blocks], work.gradient[r, blocks], width, whole, right)
    for b in range(blocks):
        first = model.blocks[b]["first"]
        own = model.blocks[b]["last"] - first
        h, x = work.factor[r, b], work.right[r, b]
        if stale[b] != 0:
            stale[b] = 0
            copy(work.matrix[r, b], work.gradient[r, b], own + width, h, x)
            for a in range(own):
                if frozen[first + a] != 0:
                    freeze(h, x, a, step_to(i, first + a, model, track, state, frozen[first + a]), own + width)
            eliminate(h, x, own, own + width)
        for a in range(width):
            right[a] += x[own + a]
            for c in range(a, width):
                whole[a, c] += h[own + a, own + c]
    for v in range(trunk, size - ROOT):
        if frozen[v] != 0:
            freeze(whole, right, v - trunk + 3, step_to(i, v, model, track, state, frozen[v]), width)
    eliminate(whole, right, width, width)
    substitute(whole, right, width, width, trunk, size, step)
    for b in range(blocks):
        first = model.blocks[b]["first"]
        own = model.blocks[b]["last"] - first
        substitute(work.factor[r, b], work.right[r, b], own, own + width, first, trunk, step)


@kernel
def solve_step(i: int, r: int, model: Model, track: Track, state: Floats, count: int, work: Scratch) -> None:
    """Fill in the step of all variables: bounds hold, and no pair of the `count` listed ones comes too near."""
    settings = model.settings[0]
    trunk, size, longest = settings["trunk"], settings["size"], settings["longest"]
    step, frozen = work.step[r], work.frozen[r]
    for a in range(size):
        frozen[a] = 0
    for b in range(model.blocks.shape[0]):
        work.stale[r, b] = 1
    for c in range(count):
        work.on[r, c] = 0
        if work.contacts[r, c, size] < 0.0:
            work.on[r, c] = 1
            add_contact(r, model, c, work)
    for round_ in range(ROUNDS + 1):
        solve_arrow(i, r, model, track, state, work)
        if round_ == ROUNDS:
            break
        changed = False
        for v in range(size - ROOT):
            if frozen[v] == 0:
                move = step[column(v, trunk)]
                side = 1 if move < step_to(i, v, model, track, state, 1) else 0
                if move > step_to(i, v, model, track, state, 2):
                    side = 2
                if side > 0:
                    frozen[v], changed = side, True
                    if model.variables[v]["block"] >= 0:
                        work.stale[r, model.variables[v]["block"]] = 1
        for c in range(count):
            if work.on[r, c] == 0:
                distance = work.contacts[r, c, size]
                for a in range(size):
                    distance += work.contacts[r, c, a] * step[a]
                if distance < 0.0:
                    work.on[r, c], changed = 1, True
                    add_contact(r, model, c, work)
        if not changed:
            break
    largest = 0.0
    for a in range(size - 3, size):
        largest = max(largest, abs(step[a]))
    if largest > longest:  # the root alone may turn too far at once
        for a in range(size):
            step[a] *= longest / largest


@kernel
def limit_of(i: int, v: int, model: Model, track: Track, side: int) -> float:
    """Return the lower (1) or upper (2) bound of a variable in a frame; the model's own where the two exclude."""
    low, high = float(model.variables[v]["lower"]), float(model.variables[v]["upper"])
    if side == 1:
        return min(max(low, float(track.lower[i, v])), high)
    return max(min(high, float(track.upper[i, v])), low)


@kernel
def step_to(i: int, v: int, model: Model, track: Track, state: Floats, side: int) -> float:
    """Return the longest step of a variable downwards (1) or upwards (2): to its bound, or as far as one step goes."""
    longest = float(model.settings[0]["longest"])
    displacement = limit_of(i, v, model, track, side) - float(state[7 + v])
    return max(displacement, -longest) if side == 1 else min(displacement, longest)


@kernel
def advance(i: int, r: int, model: Model, track: Track, state: Floats, work: Scratch) -> None:
    """Move a state along its step; values stay within their bounds to the last bit."""
    step, trunk, size = work.step[r], model.settings[0]["trunk"], model.settings[0]["size"]
    for v in range(size - ROOT):
        value = state[7 + v] + step[column(v, trunk)]
        state[7 + v] = min(max(value, limit_of(i, v, model, track, 1)), limit_of(i, v, model, track, 2))
    for k in range(3):
        state[k] += step[trunk + k]
    q = mul((state[3], state[4], state[5], state[6]), exp((step[size - 3], step[size - 2], step[size - 1])))
    state[3], state[4], state[5], state[6] = unit_quat(q)


@kernel
def leg_step(i: int, r: int, standing: bool, model: Model, track: Track, work: Scratch) -> float:
    """Return the largest step [rad], [m] of a variable that moves a sole, or a `standing` one; 0 without any."""
    largest = 0.0
    for s in range(model.soles.shape[0]):
        b = model.soles[s]["block"]
        if standing and track.targets[i, model.soles[s]["task"], 7] <= model.settings[0]["stands"]:
            continue
        for a in range(model.settings[0]["trunk"], model.settings[0]["size"]):
            largest = max(largest, abs(work.step[r, a]))
        for a in range(model.blocks[b]["first"], model.blocks[b]["last"]):
            largest = max(largest, abs(work.step[r, a]))
    return largest


@kernel
def bend(i: int, model: Model, track: Track, state: Floats) -> None:
    """Bend knees and elbows that are straight and must not be: out of a straight limb no small step leads."""
    for b in range(model.bends.shape[0]):
        v, straight, value = model.bends[b]["variable"], model.bends[b]["straight"], track.begins[i, b]
        bent = abs(state[7 + v] - straight)
        if bent < STRAIGHT and abs(value - straight) > bent + FAR:
            state[7 + v] = min(max(value, limit_of(i, v, model, track, 1)), limit_of(i, v, model, track, 2))


@kernel
def solve_frame(i: int, r: int, iterations: int, model: Model, track: Track, work: Scratch) -> None:
    """Improve the state of frame i in place, with buffers r."""
    settings, state = model.settings[0], track.states[i]
    trunk, size = settings["trunk"], settings["size"]
    if track.begins.shape[0] > 0:
        bend(i, model, track, state)
    for n in range(iterations + settings["more"]):
        place(r, model, state, work)
        for b in range(model.blocks.shape[0]):
            own = model.blocks[b]["last"] - model.blocks[b]["first"]
            clear(work.matrix[r, b], work.gradient[r, b], own + size - trunk)
        clear(work.matrix[r, model.blocks.shape[0]], work.gradient[r, model.blocks.shape[0]], size - trunk)
        add_near(i, r, model, track, state, work)
        lift_edges(i, r, model, track, work)
        for k in range(model.tasks.shape[0]):
            add_task(r, model, model.tasks[k], track.targets[i, k], work)
        count = find_floor(i, r, model, track, find_contacts(r, model, work), work)
        solve_step(i, r, model, track, state, count, work)
        advance(i, r, model, track, state, work)
        if leg_step(i, r, False, model, track, work) < STILL:
            break
        if n >= iterations - 1 and leg_step(i, r, True, model, track, work) < SETTLED:
            break


@batch(rows=256)
def place_rows(n: int, model: Model, states: Floats, work: Scratch) -> None:
    """Fill in where all joints are in n states (n, 7 + V), each in its own row of the buffers."""
    for i in prange(n):
        place(i, model, states[i], work)


@batch(rows=256)
def stands_rows(
    n: int,
    model: Model,
    targets: Floats,
    floors: Floats,
    standing: Bools,
    positions: Floats,
    orientations: Floats,
    away: Floats,
    under: Floats,
) -> None:
    """Fill in how far feet are from where they should stand, and how deep they are in the floor [m].

    Args:
        n: number of frames.
        model: the robot.
        targets: (n, K, TARGET)
        floors: (n, 2) heights of the floor under each foot.
        standing: (n, 2) which feet stand.
        positions: (n, J, 3) of all joints.
        orientations: (n, J, 4)
        away: (n, 2) the largest distance of a corner of the sole from where it should be, along the floor or under it,
            and of its corners' heights from each other, where it may not stand on an edge; 0 of a foot that swings.
        under: (n, 2) how far the lowest corner is under the floor.
    """
    for i in prange(n):
        for s in range(model.soles.shape[0]):
            sole, task = model.soles[s], model.tasks[model.soles[s]["task"]]
            target, joint, point = targets[i, sole["task"]], sole["joint"], vec_from(task["point"])
            q = quat_at(orientations, i, joint)
            requested = mul((target[3], target[4], target[5], target[6]), quat_from(task["neutral"]))
            lowest, highest, largest = math.inf, -math.inf, 0.0
            arm = rotate(q, point)
            at = (positions[i, joint, 0] + arm[0], positions[i, joint, 1] + arm[1], positions[i, joint, 2] + arm[2])
            for c in range(sole["point"], sole["end"]):
                corner = sub((model.corners[c, 0], model.corners[c, 1], model.corners[c, 2]), point)
                there, belongs = rotate(q, corner), rotate(requested, corner)
                x, z = at[0] - target[0] + there[0] - belongs[0], at[2] - target[2] + there[2] - belongs[2]
                largest = max(largest, x * x + z * z)
                lowest, highest = min(lowest, at[1] + there[1]), max(highest, at[1] + there[1])
            under[i, s] = floors[i, s] - lowest
            away[i, s] = 0.0
            if standing[i, s]:
                away[i, s] = max(math.sqrt(largest), under[i, s])
                if sole["loose"] == 0:
                    away[i, s] = max(away[i, s], highest - lowest)


@kernel
def copy_state(states: Floats, source: int, to: int) -> None:
    """Copy the state of one frame to another."""
    for k in range(states.shape[1]):
        states[to, k] = states[source, k]


@batch(rows=2)
def follow_rows(n: int, spans: Ints, model: Model, track: Track, work: Scratch) -> None:
    """Solve n stretches of frames (first, last + 1, first that is kept), each frame from the one before it.

    The first frame of a stretch starts from its own state, and takes as many iterations as the model says; the others
    take `follow`.
    """
    for r in prange(n):
        for i in range(spans[r, 0], spans[r, 1]):
            iterations = model.settings[0]["iterations"]
            if i > spans[r, 0]:
                copy_state(track.states, i - 1, i)
                iterations = model.settings[0]["follow"]
            solve_frame(i, r, iterations, model, track, work)


@batch(rows=2)
def improve_rows(n: int, spans: Ints, model: Model, track: Track, work: Scratch) -> None:
    """Improve the states of n stretches of frames (first, last + 1), each frame by itself."""
    for r in prange(n):
        for i in range(spans[r, 0], spans[r, 1]):
            solve_frame(i, r, model.settings[0]["follow"], model, track, work)


@kernel
def within_speeds(i: int, before: int, free: bool, steps: Floats, standing: Bools, model: Model, track: Track) -> bool:
    """Set the bounds of frame i to what motors can do from the frame `before`; return whether its state is inside.

    Where `free`, motors of limbs that stand are not bounded.
    """
    inside = True
    for v in range(model.variables.shape[0]):
        b = model.variables[v]["block"]
        if free and b >= 0 and standing[i, b]:
            track.lower[i, v], track.upper[i, v] = -math.inf, math.inf
            continue
        value = track.states[before, 7 + v]
        low, high = value - steps[v], value + steps[v]
        track.lower[i, v], track.upper[i, v] = low, high
        if track.states[i, 7 + v] < low or track.states[i, 7 + v] > high:
            inside = False
            track.states[i, 7 + v] = min(max(track.states[i, 7 + v], low), high)
    return inside


@batch(rows=2)
def hold_speeds_rows(
    n: int, backward: bool, steps: Floats, standing: Bools, model: Model, track: Track, work: Scratch
) -> None:
    """Solve again, one after the other, the frames that motors cannot reach from the frame before (or after) them.

    Args:
        n: 1: all frames are one row.
        backward: from the last frame to the first; limbs that stand are then left as they are, others come earlier.
        steps: (V,) how far each variable goes in a frame at most.
        standing: (F, B) which limbs stand.
        model: the robot.
        track: the frames.
        work: buffers.
    """
    for r in prange(n):
        count = track.states.shape[0]
        for k in range(1, count):
            i = count - 1 - k if backward else k
            before = i + 1 if backward else i - 1
            if not within_speeds(i, before, backward, steps, standing, model, track):
                solve_frame(i, r, model.settings[0]["follow"], model, track, work)
