"""Where a robot's feet go: one place with a flat sole for as long as the person's foot stands, smooth paths between.

A person's foot rolls over its ball; most robots have no toes. So a robot's foot stands flat, and still, from the first
to the last frame in which the person's toes rest, and what the person did with a heel is left to the robot's ankle,
knee and pelvis. A foot rests while its toes are low and slow by any difference that a judge may take (`resting`).

Between two stances the foot follows the person's, scaled, with a correction that leads from the one place to the other
(Lee and Shin 1999) and begins and ends with the foot at rest. Soles never go under the floor on the way. Stances that
follow each other so closely that the way between would take unreasonable speed are moved towards each other; feet that
stand side by side are moved apart where they, or the shins above them, would touch, and a foot that swings past the
other goes around it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..compute.types import Bools, Floats, Ints
from ..math import conjugate, exp, log, multiply, rotate

LOW, SLOW = 0.062, 0.27
"""[m], [m/s]: lower and slower toes rest. A little more than the 6 cm and 25 cm/s that judges use."""
LOWEST = 0.02
"""[m]: how high the lowest toes of a clip are taken to be above the floor."""
JUDGED_AT = 30.0
"""[Hz]: speeds are also taken over the frames of such a rate: a judge may see fewer frames."""
AROUND = 0.5
"""[s]"""
SAME_FLOOR = 0.05
"""[m]: a clip whose lowest toes are nearer to its own ground than this stands on it."""
STEP_UP = 0.08
"""[m]: a foot that rests higher than this over the lowest floor stands on something; lower, floors are one."""
CLOSED = 0.04
"""[s]: shorter gaps between two stances are none."""
CREPT, ROTATED = 0.08, 0.45
"""[leg lengths], [rad]: a foot that moves further while it rests is moved by a step."""
SHORTEST_STEP = 0.06
"""[s]"""
GAP, APART_ROUNDS = 0.02, 12
"""[leg lengths]: between feet that stand beside each other."""
PASSING, OVER = 0.01, 0.15
"""[leg lengths]: between feet one of which swings past the other; how much higher than the other it is over it."""
CROSSED = 0.4
"""Of a sole's width: soles that overlap further are moved apart sideways."""
TURNING = 0.15
"""[leg lengths / rad]: what a turn of the foot counts as on its way."""
EXTRA = 0.7
"""[leg lengths / s]: how much faster than the person's a foot may move between two stances."""
CLEARANCE = 0.02
"""[leg lengths]: how much a foot is lifted in the middle of a swing, where it would else touch the floor."""


@dataclass(frozen=True, eq=False)
class Steps:
    """Targets of one foot."""

    positions: Floats
    """(F, 3) [m] of its joint."""
    orientations: Floats
    """(F, 4) canonical."""
    standing: Bools
    """(F,)"""
    stances: tuple[tuple[int, int], ...]
    """First and last frame of each."""
    footholds: Floats
    """(S, 4) where and in which direction it stands: x, z [m], the heading [rad], the floor [m]."""
    moved: Floats
    """(F, 3) [m] how far the robot's foot is from where the person's flat one would be, straight between stances."""
    floor: Floats
    """(F,) [m] the height under which the sole must not sink."""


def slow_frames(toes: Floats, fps: float) -> Bools:
    """Return where toes (F, 3) [m] are slow, by one difference or another that a judge may take."""
    slow = np.zeros(len(toes), np.bool_)
    for step in {1, max(1, round(fps / JUDGED_AT))}:
        for span in (step, 2 * step):
            if len(toes) <= span:
                slow[:] |= span == 1
                continue
            away = toes[span:] - toes[:-span]
            moved = np.sqrt((away * away).sum(axis=1)) * (fps / span) < SLOW
            if span > step:
                slow[step : step + len(moved)] |= moved
            else:
                slow[span:] |= moved
                slow[:-span] |= moved
    return slow


def firm_frames(toes: Floats, fps: float) -> Bools:
    """Return where toes (F, 3) are slow by central differences, at the clip's rate or at `JUDGED_AT`."""
    slow = np.zeros(len(toes), np.bool_)
    for step in {1, max(1, round(fps / JUDGED_AT))}:
        if len(toes) <= 2 * step:
            slow[:] = True
            continue
        away = toes[2 * step :] - toes[: -2 * step]
        slow[step:-step] |= np.sqrt((away * away).sum(axis=1)) * (fps / (2 * step)) < SLOW
    return slow


def local_floor(toes: dict[str, Floats], fps: float) -> Floats:
    """Return the height (F,) [m] that the lower toes of a clip have about each frame.

    Captured floors are not level, and people climb: the lowest toes within `AROUND` tell, which is some step of any
    gait and the landing of any jump.
    """
    from scipy.ndimage import minimum_filter1d, uniform_filter1d

    lowest = np.min([toe[:, 1] for toe in toes.values()], axis=0)
    if not len(lowest):
        return np.zeros(0)
    width = 2 * round(AROUND * fps) + 1
    return np.asarray(uniform_filter1d(minimum_filter1d(lowest, width, mode="nearest"), width, mode="nearest"))


def resting(toes: dict[str, Floats], fps: float) -> tuple[dict[str, Bools], dict[str, Bools], Floats]:
    """Return where toes (F, 3) [m] rest, by side, where they do so without doubt, and the height (F,) of the floor [m].

    They rest where a judge says so, whose floor is level, and where they are slow and low over the floor about them.
    """
    lowest = min((float(toe[:, 1].min(initial=np.inf)) for toe in toes.values()), default=0.0)
    floor = local_floor(toes, fps)
    judged = {lowest - LOWEST}
    if abs(lowest - LOWEST) < SAME_FLOOR:
        judged.add(0.0)  # a judge may take the clip's own
    found, firm = {}, {}
    for side, toe in toes.items():
        low = toe[:, 1] - floor < LOW - LOWEST
        for level in judged:
            low = low | (toe[:, 1] - level < LOW)
        found[side], firm[side] = low & slow_frames(toe, fps), low & firm_frames(toe, fps)
    return found, firm, floor


def runs(on: Bools, gap: int) -> list[tuple[int, int]]:
    """Return the first and last frame of each stretch; gaps of at most `gap` frames are closed."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], on, [False]]).astype(np.int8)))
    found: list[tuple[int, int]] = []
    for a, b in zip(edges[::2].tolist(), (edges[1::2] - 1).tolist(), strict=True):
        if found and a - found[-1][1] - 1 <= gap:
            found[-1] = (found[-1][0], b)
        else:
            found.append((a, b))
    return found


def heading(orientations: Floats) -> Floats:
    """Return the unit directions (..., 2) in x and z in which canonical orientations face.

    They are read from the axis to the left, which stays level however far a foot is on its toes.
    """
    left = rotate(orientations, np.array([1.0, 0.0, 0.0]))
    ahead = np.stack([-left[..., 2], left[..., 0]], axis=-1)
    return np.asarray(ahead / np.maximum(np.linalg.norm(ahead, axis=-1, keepdims=True), 1e-9))


@dataclass(frozen=True, eq=False)
class Foot:
    """A person's foot in a clip, scaled and moved to where the robot's is, and the robot's sole."""

    raw: Floats
    """(F, 3) [m] where the robot's foot would be."""
    orientations: Floats
    """(F, 4) canonical."""
    flat: Floats
    """(F, 2) [m] x and z of the robot's foot, were it flat with its ball where the person's is."""
    resting: Bools
    """(F,)"""
    firm: Bools
    """(F,) where it rests without doubt."""
    level: Floats
    """(F,) [m] height of the robot's floor."""
    sole: Floats
    """(P, 3) [m] outline of the sole from the foot's joint, in the canonical frame."""
    width: float
    """[m] the shin's radius."""
    heights: Floats
    """(F,) [m] of the robot's foot, were it flat with its ball where the person's is."""

    def standing_at(self, first: int, last: int) -> Floats:
        """Return where (3,) a flat foot would be in the mean of some frames [m]."""
        rows = slice(first, last + 1)
        x, z = self.flat[rows].mean(axis=0)
        return np.array([x, self.heights[rows].mean(), z])


def stances_of(foot: Foot, positions: Floats, angles: Floats, leg: float, fps: float) -> list[tuple[int, int]]:
    """Return the first and last frame of each stance.

    A stretch in which the foot creeps away, or turns far, is cut where toes are least at rest: a step is made there.
    """
    found: list[tuple[int, int]] = []
    waiting = runs(foot.resting, round(CLOSED * fps))[::-1]
    shortest = max(1, round(SHORTEST_STEP * fps))
    path = np.column_stack([positions, np.unwrap(angles)])
    while waiting:
        a, b = waiting.pop()
        rows = slice(a, b + 1)
        x, z, rotated = (path[rows].max(axis=0) - path[rows].min(axis=0)).tolist()
        if math.hypot(x, z) < CREPT * leg and rotated < ROTATED:
            found.append((a, b))
            continue
        gaps = [(c, d) for c, d in runs(~foot.firm[rows], 1) if c > 0 and d < b - a and d - c + 1 >= shortest]
        if not gaps:
            found.append((a, b))
            continue
        c, d = max(gaps, key=lambda gap: gap[1] - gap[0])
        waiting += [(a + d + 1, b), (a, a + c - 1)]
    return found


def plan(
    feet: dict[str, Foot], found: dict[str, tuple[Floats, Floats]], lateral: Floats, leg: float, fps: float
) -> dict[str, Steps]:
    """Return the targets of both feet.

    Args:
        feet: by side.
        found: by side, where (F, 2) in x and z and in which direction (F,) [rad] the robot's foot can be in each frame.
        lateral: (F, 2) unit direction of the robot's left in x and z.
        leg: length of the robot's legs [m].
        fps: frames a second.
    """
    if not len(lateral):
        nothing = np.zeros((0, 3))
        return {
            side: Steps(nothing, np.zeros((0, 4)), np.zeros(0, np.bool_), (), nothing, nothing, np.zeros(0))
            for side in feet
        }
    stances = {side: stances_of(foot, *found[side], leg, fps) for side, foot in feet.items()}
    footholds = {side: _footholds(feet[side], stances[side], *found[side], leg, fps) for side in feet}
    return _through(feet, stances, footholds, lateral, leg, fps)


def replan(
    feet: dict[str, Foot],
    steps: dict[str, Steps],
    footholds: dict[str, Floats],
    lateral: Floats,
    leg: float,
    fps: float,
) -> dict[str, Steps]:
    """Return the targets of both feet with the same stances in other places (S, 4)."""
    stances = {side: list(step.stances) for side, step in steps.items()}
    return _through(feet, stances, footholds, lateral, leg, fps)


def _through(
    feet: dict[str, Foot],
    stances: dict[str, list[tuple[int, int]]],
    footholds: dict[str, Floats],
    lateral: Floats,
    leg: float,
    fps: float,
) -> dict[str, Steps]:
    """Return paths of both feet through their places, moved apart where they would touch."""
    _moved_apart(feet, stances, footholds, lateral, leg)
    steps = {side: _steps(feet[side], stances[side], footholds[side], leg, fps) for side in feet}
    _swung_apart(feet, steps, lateral, leg)
    return steps


def _footholds(
    foot: Foot, stances: list[tuple[int, int]], positions: Floats, angles: Floats, leg: float, fps: float
) -> Floats:
    """Return where and in which direction the foot stands: (S, 4) x, z [m], the heading [rad], the floor [m]."""
    made = np.zeros((len(stances), 4))
    if not stances:
        return made
    path = np.column_stack([positions, np.unwrap(angles)])
    for row, (a, b) in zip(made, stances, strict=True):
        row[:3] = path[a : b + 1].mean(axis=0)
        row[3] = np.median(foot.level[a : b + 1]) if foot.level[a : b + 1].any() else 0.0
    firsts, lasts = np.array(stances).T
    lengths = (lasts - firsts + 1) / fps
    spans = np.maximum(firsts[1:] - lasts[:-1], 1) / fps
    moved = path[firsts[1:]] - path[lasts[:-1]]
    made[:, :3] = _drawn_together(made[:, :3], moved, lengths, spans, leg)
    return made


def _drawn_together(footholds: Floats, moved: Floats, lengths: Floats, spans: Floats, leg: float) -> Floats:
    """Return footholds (S, 3) between which a foot need not be much faster than the person's; long stances move less.

    Args:
        footholds: where each would stand by itself.
        moved: (S - 1, 3) how far the person's foot moves between two of them.
        lengths: (S,) [s] how long each stance lasts.
        spans: (S - 1,) [s] the time between two of them.
        leg: length of the robot's legs [m].
    """
    if not len(spans):
        return footholds
    most = EXTRA * leg * spans
    made = footholds
    ties = np.zeros(len(spans))
    for _ in range(12):
        steps = np.diff(made, axis=0) - moved
        distance = np.hypot(np.hypot(steps[:, 0], steps[:, 1]), leg * TURNING * steps[:, 2])
        over = distance / most
        if not (over > 1.0).any():
            break
        ties = np.where(over > 1.0, np.maximum(ties, 0.02) * np.maximum(over, 1.2) ** 1.5, ties)
        matrix = np.diag(lengths + 0.05)
        at = np.arange(len(spans))
        matrix[at, at] += ties
        matrix[at + 1, at + 1] += ties
        matrix[at, at + 1] -= ties
        matrix[at + 1, at] -= ties
        right = (lengths + 0.05)[:, None] * footholds
        right[:-1] -= ties[:, None] * moved
        right[1:] += ties[:, None] * moved
        made = np.asarray(np.linalg.solve(matrix, right), np.float64)
    return made


def _moved_apart(
    feet: dict[str, Foot],
    stances: dict[str, list[tuple[int, int]]],
    footholds: dict[str, Floats],
    lateral: Floats,
    leg: float,
) -> None:
    """Move footholds (S, 4) apart, in place, where feet or shins would touch while both stand."""
    if len(feet) < 2:
        return
    left, right = feet["left"], feet["right"]
    together = [
        (s, t)
        for s, (a, b) in enumerate(stances["left"])
        for t, (c, d) in enumerate(stances["right"])
        if c <= b and d >= a
    ]
    for _ in range(APART_ROUNDS):
        near = _may_be_near(together, left, footholds["left"], right, footholds["right"], GAP * leg)
        moved = False
        for s, t in near:
            (a, b), (c, d) = stances["left"][s], stances["right"][t]
            one, other = footholds["left"][s], footholds["right"][t]
            side = lateral[max(a, c) : min(b, d) + 1].sum(axis=0)
            missing, direction = _too_near(one, left, other, right, side, GAP * leg)
            if missing > 1e-4:
                moved = True
                longer = (b - a) / max((b - a) + (d - c), 1)  # the shorter stance gives way
                one[:2] += (1.0 - longer) * missing * direction
                other[:2] -= longer * missing * direction
        if not moved:
            break


def _swung_apart(feet: dict[str, Foot], steps: dict[str, Steps], lateral: Floats, leg: float) -> None:
    """Move feet that swing past the other, in place, so far aside that soles do not touch."""
    if len(feet) < 2:
        return
    left, right = feet["left"], feet["right"]
    free = [~steps[side].standing for side in ("left", "right")]
    at, lowest = [], []
    for side, foot in feet.items():
        step, face = steps[side], heading(steps[side].orientations)
        at.append(np.column_stack([step.positions[:, [0, 2]], np.arctan2(face[:, 0], face[:, 1])]))
        lowest.append(step.positions[:, 1] + rotate(step.orientations[:, None], foot.sole[None])[..., 1].min(axis=1))
    away = np.hypot(at[0][:, 0] - at[1][:, 0], at[0][:, 1] - at[1][:, 1])
    reach = sum(float(np.hypot(foot.sole[:, 0], foot.sole[:, 2]).max()) for foot in (left, right)) + PASSING * leg
    height = np.abs(lowest[0] - lowest[1])
    rows = np.flatnonzero((free[0] | free[1]) & (away < reach) & (height < OVER * leg))
    if not len(rows):
        return
    distance, direction = _apart(at[0][rows], left, at[1][rows], right)
    narrow = min(float(np.ptp(left.sole[:, 0])), float(np.ptp(right.sole[:, 0])))
    across = distance < -CROSSED * narrow
    direction[across] = lateral[rows][across]
    missing = np.clip(PASSING * leg - distance, 0.0, 1.5 * narrow) * (1.0 - height[rows] / (OVER * leg))
    both = free[0][rows] & free[1][rows]
    for side, on, sign in (("left", free[0][rows], 1.0), ("right", free[1][rows], -1.0)):
        moved = np.where(both, 0.5, 1.0) * on * sign * missing
        steps[side].positions[rows, 0] += moved * direction[:, 0]
        steps[side].positions[rows, 2] += moved * direction[:, 1]


def _may_be_near(
    together: list[tuple[int, int]], left: Foot, ones: Floats, right: Foot, others: Floats, gap: float
) -> list[tuple[int, int]]:
    """Return those of the pairs of stances whose soles or shins are too near to each other."""
    if not together:
        return []
    s, t = np.array(together).T
    ankles = ones[s, :2] - others[t, :2]
    near = _apart(ones[s], left, others[t], right)[0] < gap
    near |= np.hypot(ankles[:, 0], ankles[:, 1]) < left.width + right.width + gap
    return [pair for pair, on in zip(together, near.tolist(), strict=True) if on]


def _too_near(one: Floats, left: Foot, other: Floats, right: Foot, side: Floats, gap: float) -> tuple[float, Floats]:
    """Return by how much two feet are too near to each other [m], and the unit direction from the right to the left.

    Soles count as they are, shins about the ankles.
    """
    (distance,), (direction,) = _apart(one[None], left, other[None], right)
    if distance < -CROSSED * min(float(np.ptp(left.sole[:, 0])), float(np.ptp(right.sole[:, 0]))):
        direction = side / max(float(np.hypot(*side)), 1e-9)  # one is across the other
        p, q = _sole_at(one, left.sole) @ direction, _sole_at(other, right.sole) @ direction
        distance = p.min() - q.max()
    missing, ankles = gap - float(distance), np.asarray(one[:2] - other[:2], np.float64)
    shins = left.width + right.width + gap - float(np.hypot(*ankles))
    if shins > missing:
        return shins, np.asarray(ankles / max(float(np.hypot(*ankles)), 1e-9))
    return missing, np.asarray(direction, np.float64)


def _apart(ones: Floats, left: Foot, others: Floats, right: Foot) -> tuple[Floats, Floats]:
    """Return how far (N,) left soles are from right ones [m], below 0 by how much they overlap, and along what (N, 2).

    The axes that may separate two convex outlines are those of both feet, and the line between their middles: exact
    for soles with straight sides and ends, and never too far for others.
    """
    p, q = _sole_at(ones, left.sole), _sole_at(others, right.sole)
    between = p.mean(axis=1) - q.mean(axis=1)
    between /= np.maximum(np.hypot(between[:, 0], between[:, 1]), 1e-9)[:, None]
    axes = [between]
    for footholds in (ones, others):
        sine, cosine = np.sin(footholds[:, 2]), np.cos(footholds[:, 2])
        for axis in (np.stack([sine, cosine], axis=-1), np.stack([cosine, -sine], axis=-1)):
            axes += [axis, -axis]
    found = np.stack(axes, axis=1)
    near = (p @ found.swapaxes(1, 2)).min(axis=1) - (q @ found.swapaxes(1, 2)).max(axis=1)
    best, rows = near.argmax(axis=1), np.arange(len(near))
    return near[rows, best], found[rows, best]


def _sole_at(foothold: Floats, sole: Floats) -> Floats:
    """Return the outlines (..., P, 2) of standing soles (..., 4), in x and z [m]."""
    ahead = np.stack([np.sin(foothold[..., 2]), np.cos(foothold[..., 2])], axis=-1)
    left = np.stack([ahead[..., 1], -ahead[..., 0]], axis=-1)
    on = sole[:, :1] * left[..., None, :] + sole[:, 2:] * ahead[..., None, :]
    return np.asarray(foothold[..., None, :2] + on)


def yawed(angles: Floats) -> Floats:
    """Return rotations (..., 4) about the vertical."""
    out = np.zeros((*np.shape(angles), 4))
    out[..., 0], out[..., 2] = np.cos(0.5 * angles), np.sin(0.5 * angles)
    return out


def _steps(foot: Foot, stances: list[tuple[int, int]], footholds: Floats, leg: float, fps: float) -> Steps:
    """Return a foot's path through its stances."""
    count = len(foot.raw)
    positions, orientations = foot.raw.copy(), foot.orientations.copy()
    standing = np.zeros(count, np.bool_)
    height = -float(foot.sole[:, 1].min())
    rotated = yawed(footholds[:, 2]) if len(footholds) else np.empty((0, 4))
    shift, rotation = np.zeros((count, 3)), np.zeros((count, 3))
    bump = np.full(count, 1.0)
    floor = foot.level.copy()
    for (a, b), foothold, q in zip(stances, footholds, rotated, strict=True):
        standing[a : b + 1], floor[a : b + 1] = True, foothold[3]
        positions[a : b + 1] = foothold[0], foothold[3] + height, foothold[1]
        orientations[a : b + 1] = q
    ankles = np.stack([footholds[:, 0], footholds[:, 3] + height, footholds[:, 1]], axis=-1)
    if stances:
        _led(foot, stances, footholds, ankles, rotated, fps, shift, rotation, bump, floor)
    else:
        floor[:] = 0.0
    free = ~standing
    if free.any():
        positions[free] += shift[free]
        orientations[free] = multiply(exp(rotation[free]), orientations[free])
        corners = rotate(orientations[free][:, None], foot.sole[None])
        below = floor[free] - (
            positions[free, 1] + corners[..., 1].min(axis=1)
        )  # how far the lowest corner is under the floor
        soft = CLEARANCE * leg * bump[free]
        positions[free, 1] += 0.5 * (below + np.sqrt(below**2 + soft**2))
    moved = np.zeros((count, 3))
    if stances:
        firsts, lasts = np.array(stances).T
        away = ankles - np.array([foot.standing_at(a, b) for a, b in stances])
        for k in range(3):
            moved[:, k] = np.interp(np.arange(count), 0.5 * (firsts + lasts), away[:, k])
    return Steps(positions, orientations, standing, tuple(stances), footholds, moved, floor)


def _led(
    foot: Foot,
    stances: list[tuple[int, int]],
    footholds: Floats,
    ankles: Floats,
    rotated: Floats,
    fps: float,
    shift: Floats,
    rotation: Floats,
    bump: Floats,
    floor: Floats,
) -> None:
    """Fill in, for frames between stances, what leads the person's foot from one place to the next.

    Args:
        foot: the person's.
        stances: first and last frame of each.
        footholds: (S, 4).
        ankles: (S, 3) where the foot stands [m].
        rotated: (S, 4) how it does.
        fps: frames a second.
        shift: (F, 3) displacements [m].
        rotation: (F, 3) rotation vectors [rad].
        bump: (F,) how much of the lift in the middle of a swing counts.
        floor: (F,) [m]: the lower of the floors on both sides.
    """
    count = len(shift)
    firsts, lasts = np.array(stances).T
    begin = _corrections(foot, firsts, ankles, rotated)
    end = _corrections(foot, lasts, ankles, rotated)
    frames = np.arange(count)
    after = np.searchsorted(firsts, frames, side="right")  # stances that began
    swings = (after > 0) & (frames > lasts[np.maximum(after - 1, 0)])
    inner = np.flatnonzero(swings & (after < len(stances)))
    k = after[inner]
    floor[inner] = np.minimum(footholds[k - 1, 3], footholds[k, 3])
    floor[: firsts[0]], floor[lasts[-1] + 1 :] = footholds[0, 3], footholds[-1, 3]
    span = (firsts[k] - lasts[k - 1])[:, None].astype(np.float64)
    t = (inner - lasts[k - 1])[:, None] / span
    h00, h10, h01, h11 = 2 * t**3 - 3 * t**2 + 1, t**3 - 2 * t**2 + t, 3 * t**2 - 2 * t**3, t**3 - t**2
    shift[inner] = h00 * end[k - 1, 0] + h10 * span * end[k - 1, 2] + h01 * begin[k, 0] + h11 * span * begin[k, 2]
    away = _nearest_rotation(end[:-1, 1], begin[1:, 1])
    rotation[inner] = h00 * end[k - 1, 1] + h10 * span * end[k - 1, 3] + h01 * away[k - 1] + h11 * span * begin[k, 3]
    bump[inner] = (16 * (t * (1 - t)) ** 2)[:, 0]
    for rows, since, known, sign in (
        (slice(0, firsts[0]), firsts[0] - frames[: firsts[0]], begin[0], -1.0),
        (slice(lasts[-1] + 1, count), frames[lasts[-1] + 1 :] - lasts[-1], end[-1], 1.0),
    ):
        after_ = since[:, None].astype(np.float64)
        calm = np.exp(-after_ / (0.15 * fps)) * after_
        shift[rows] = known[0] + sign * calm * known[2]
        rotation[rows] = known[1] * np.exp(-((after_ / (0.4 * fps)) ** 2)) + sign * calm * known[3]
        bump[rows] = np.minimum(after_[:, 0] / (0.1 * fps), 1.0)


def _corrections(foot: Foot, frames: Ints, ankles: Floats, orientations: Floats) -> Floats:
    """Return what takes the person's foot to its foothold in one frame of each stance.

    (S, 4, 3): displacement, rotation vector, and how fast both must change for the robot's foot to be at rest.
    """
    before, after = np.maximum(frames - 1, 0), np.minimum(frames + 1, len(foot.raw) - 1)
    span = np.maximum(after - before, 1)[:, None]
    out = np.zeros((len(frames), 4, 3))
    out[:, 0] = ankles - foot.raw[frames]
    out[:, 1] = log(multiply(orientations, conjugate(foot.orientations[frames])))
    out[:, 2] = -(foot.raw[after] - foot.raw[before]) / span
    out[:, 3] = -log(multiply(foot.orientations[after], conjugate(foot.orientations[before]))) / span
    return out


def _nearest_rotation(a: Floats, b: Floats) -> Floats:
    """Return the rotation vectors b (..., 3), or the same rotations the other way about, whichever are nearer to a."""
    size = np.linalg.norm(b, axis=-1, keepdims=True)
    other = b * (1.0 - 2.0 * np.pi / np.maximum(size, 1e-9))
    nearer = np.linalg.norm(other - a, axis=-1) < np.linalg.norm(b - a, axis=-1)
    return np.where(nearer[..., None] & (size >= 1e-9), other, b)
