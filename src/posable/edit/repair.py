"""Holds of a changed motion: pins, contacts and the dragged part, kept over all frames that change.

A change of one frame that fades over the frames around it moves everything, feet that stand too. Here each frame gets
goals, and a few iterations bring the body there: pins to where they were, contacts to where they were (a hand on the
body relative to the part that it rests on), the dragged part to where the fading change has put it.

Decided here:
- Pins win. They are kept ten times as closely as contacts; a contact that a pin does not allow slides, and the edit
  says so.
- The weights are the clip's mean: weights that change from frame to frame make the repair flicker.
- A hold does not begin and end with its frames. Its *goal* moves from the changed position to the original one and
  back within `RAMP` seconds, and a foot between two steps stays near its own path: when goals came and went
  within a tenth of a second, joints leapt by up to 30 cm between two frames.
- The dragged part is exact at its frame. Away from it it gives way to contacts.
- Hips give way before legs are stretched (`leg_reach`), or knees snap and feet are torn off their ground.
- Where all of a drag would pop, the same is done with three quarters of it, a half, a quarter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..body import Humanoid
from ..compute import PosableError
from ..compute.types import Bools, Floats, Ints, Records
from ..math import conjugate, exp, log, multiply, rotate, slerp
from ..skeleton import Frames, Pose
from .clip import frame_of, joint_of
from .contacts import GROUND, Contact, same_foot
from .leg_reach import Foothold, root_displacement
from .model import EXACT, GOAL
from .scopes import LOCKED
from .stances import runs

if TYPE_CHECKING:
    from .dragging import Dragger

RAMP = 0.4
"""[s]: how long before and after a contact or a pin the goal of a part moves to and from its place."""
PINNED = 0.1 * EXACT
LED = 0.05
"""Softness of the dragged part far from its frame, and of a hold at the end of its ramp."""
MIN_ITERATIONS, MAX_ITERATIONS = 8, 32
CLOSE = 5e-5
"""[m]: iterations end when pins, contacts and the dragged part are this near to their goals."""
WIDTHS = (0.1, 0.05, 0.025)
"""[s]: standard deviations with which corrections are smoothed, one after the other."""
KEY_WIDTH = 2.0
"""Times the standard deviation: how far from a frame of the drag its own correction counts."""
FRACTIONS = (0.75, 0.5, 0.25)
"""Of a drag that cannot be made as a whole without a pop, or a pin that moves."""
CALMNESS = 1.5
"""How much larger than in the clip the largest acceleration may be; or than in a plain fade, where nothing moves."""
GENTLE = 10.0
"""[m/s2]: a quicker fade, about the acceleration of a hand that is let fall, is a pop in a clip that is calmer."""
LIFTED = 0.02
"""[m]: a foot that is moved up so far no longer stands, and may move."""
SWINGING = 0.999
"""The largest weight of a foot that does not stand."""
SUNK = 5e-3
"""[m]: a foot that swings and is moved further than this under its ground sinks."""
WITHIN = 1e-3
"""[m]: less than this is no movement of a pin or contact."""
ROUNDED = 1e-12
"""Of numbers of a pose: a smaller difference is rounding."""
UNMOVED = 1e-9
"""[m], [rad]: a hold that a change moves by less is none."""


@dataclass(frozen=True)
class Pin:
    """A joint that stays where it was from frame `first` to frame `last`, both included."""

    joint: int
    first: int
    last: int

    def inside(self, count: int) -> Bools:
        """Return which of `count` frames it holds in."""
        at = np.arange(count)
        return np.asarray((at >= self.first) & (at <= self.last))


def read_pins(body: Humanoid, pins: Iterable[Any], count: int) -> tuple[Pin, ...]:
    """Return pins given as parts, for all of `count` frames, or as (part, first frame, last frame)."""
    found = []
    for pin in pins:
        if isinstance(pin, tuple | list):
            if len(pin) != 3:
                raise PosableError(f"pin {pin!r}: give a part, or a part with its first and last frame")
            part, first, last = pin
            frames = (frame_of(first, count), frame_of(last, count))
            if frames[0] > frames[1]:
                raise PosableError(f"the pin of {part!r} begins at frame {first} and ends at {last}, before it begins")
            found.append(Pin(joint_of(body, part), *frames))
        else:
            found.append(Pin(joint_of(body, pin), 0, count - 1))
    return tuple(found)


@dataclass(frozen=True, eq=False)
class Hold:
    """A part that stays where it was over some frames."""

    part: int
    """The joint."""
    on: int
    """The joint that it rests on; -1: it stays in the world."""
    weight: Floats
    """(K,): 1 where it is kept, 0 where it is free."""
    softness: tuple[float, float]
    """Of its position and its orientation; below 0 is free."""
    pin: bool = False
    """Whether it goes before contacts."""


@dataclass(frozen=True, eq=False)
class Led:
    """The dragged part: exact where `nearness` (K,) is 1, at its frames, and the softer the less it is."""

    joint: int
    nearness: Floats
    path: Floats | None = None
    """(K, 3) [m]: where it goes, if where the change has put it makes the motion pop; None: nowhere else."""
    standing: Bools | None = None
    """(K,): where it stands: a foot, which then goes along its path if it can, with the orientation that it has."""
    rotated: bool = False
    """Whether its orientation is that of the change there too."""

    def shortened(self, old: Frames, fraction: float) -> Led:
        """Return the same with a fraction of its way from where it was."""
        if self.path is None:
            return self
        was = old.positions[:, self.joint]
        return replace(self, path=was + fraction * (self.path - was))

    @property
    def key(self) -> Bools:
        """(K,): the frames at which it must be where the change has put it."""
        return np.asarray(self.nearness >= 1.0)


@dataclass(frozen=True, eq=False)
class Repaired:
    """Frames after a repair."""

    pose: Pose
    """(K,)"""
    slid: float
    """[m]: the largest movement of a contact or a pin, those of a dragged foot included."""
    limited: Bools
    """(K,): where limits stopped a joint."""
    jolt: float
    """The largest acceleration of a joint, over what is calm; above 1 it pops."""


def ramp(inside: Bools, before: float, after: float | None = None) -> Floats:
    """Return weights (F,): 1 inside, falling to 0 within so many frames before and after (by default as many).

    Between two stretches that both reach it a frame has more of the weight than either gives.
    """
    at, free = np.arange(len(inside)), np.ones(len(inside))
    after = before if after is None else after
    for first, last in runs(inside):
        outside = np.maximum(np.maximum((first - at) / (before + 1.0), (at - last) / (after + 1.0)), 0.0)
        fraction = np.clip(1.0 - outside, 0.0, 1.0)
        free *= 0.5 + 0.5 * np.cos(np.pi * fraction)
    return np.asarray(1.0 - free)


def contact_holds(
    dragger: Dragger, contacts: Sequence[Contact], before: Pose, changed: Pose, rows: Ints, led: Sequence[int]
) -> list[Hold]:
    """Return the holds of all contacts but those of joints that are led.

    Where the change of the frames `rows` would push a foot that swings through its ground, its own path is kept too.
    """
    clip, roles = dragger.clip, dragger.clip.body.roles
    old, new = (clip.body.skeleton.forward(pose).positions[..., 1] for pose in (before, changed))
    holds = []
    for part, on in sorted({(contact.part, contact.on) for contact in contacts}):
        joint = roles[part]
        if any(same_foot(clip.body, joint, j) for j in led):
            continue
        inside = np.zeros(len(clip), np.bool_)
        for contact in contacts:
            if (contact.part, contact.on) == (part, on):
                inside[contact.first : contact.last + 1] = True
        sinking = np.zeros(len(clip), np.bool_)
        if on == GROUND:
            sinking[rows] = new[:, joint] < _ground_heights(old[:, joint], inside, rows)
        oriented = 10.0 * EXACT if "toes" not in part else -1.0
        weight = ramp(inside | sinking, RAMP * clip.fps)[rows]
        weight[~inside[rows]] = np.minimum(weight[~inside[rows]], SWINGING)  # no contact, whose movement would count
        holds.append(Hold(joint, -1 if on == GROUND else roles[on], weight, (EXACT, oriented)))
    return holds


def _ground_heights(heights: Floats, standing: Bools, rows: Ints) -> Floats:
    """Return the heights (K,) [m] that a foot at `heights` (F,) may not sink below in some rows.

    The ground between two steps is as high as they are, in between where they differ.
    """
    ground = np.interp(rows, np.flatnonzero(standing), heights[standing])
    return np.asarray(np.minimum(ground, heights[rows]) - SUNK)


def own_stances(dragger: Dragger, contacts: Sequence[Contact], joint: int) -> Bools:
    """Return the frames (F,) in which heel or ball of a foot stand, if the joint is one of its own; else none."""
    body, standing = dragger.clip.body, np.zeros(len(dragger.clip), np.bool_)
    for contact in contacts:
        if contact.on == GROUND and same_foot(body, body.roles[contact.part], joint):
            standing[contact.first : contact.last + 1] = True
    return standing


def planted_path(offsets: Floats, rows: Ints, standing: Bools, keys: Sequence[int], fps: float) -> Floats:
    """Return the displacements (K, 3) [m] of a dragged foot: where it stands it does not slide.

    A step with a key, a frame at which the foot is dragged, moves as a whole along the ground, as far as at the key;
    one without stays. Only what leads up or down fades as everything does.

    Args:
        offsets: (K, 3) displacements that fade with the change.
        rows: (K,) their frames.
        standing: (F,) where the foot stands.
        keys: frames among the rows at which it is dragged.
        fps: frames per second.
    """
    total, targets = np.zeros(len(rows)), np.zeros_like(offsets)
    for first, last in runs(standing):
        if first < rows[0] or last > rows[-1]:
            continue  # it goes on where nothing changes
        inside = np.zeros(len(standing), np.bool_)
        inside[first : last + 1] = True
        # Where less time is left in the frames that change the foot must be back sooner.
        before, after = min(RAMP * fps, first - rows[0]), min(RAMP * fps, rows[-1] - last)
        weight = ramp(inside, float(before), float(after))[rows]
        own = [key for key in keys if first <= key <= last]
        value = offsets[np.searchsorted(rows, own[0])] if own else np.zeros(3)
        near = weight**2 / np.maximum((1.0 - weight) ** 2, 1e-12)  # endless where it stands
        total, targets = total + near, targets + near[:, None] * value
    portion = (total / (1.0 + total))[:, None]
    along = offsets + portion * (targets / np.maximum(total, 1e-300)[:, None] - offsets)
    return np.asarray(np.stack([along[:, 0], offsets[:, 1], along[:, 2]], axis=1))


def slide(old: Floats, new: Floats, standing: Bools) -> float:
    """Return how far a dragged foot slides [m] in frames where it stood (K,) and is not lifted; positions are (K, 3).

    A contact that goes on before or after the frames that change is given up: the drag breaks it.
    """
    offset = new - old
    down = standing & (np.abs(offset[:, 1]) < LIFTED)
    moved = [offset[first : last + 1, [0, 2]] for first, last in runs(down) if first > 0 and last < len(down) - 1]
    return max((float(np.linalg.norm(np.ptp(run, axis=0))) for run in moved), default=0.0)


def pin_hold(joint: int, inside: Bools, fps: float, rows: Ints) -> Hold:
    """Return the hold of a pin."""
    return Hold(joint, -1, ramp(inside, RAMP * fps)[rows], (PINNED, EXACT), True)


def repair(
    dragger: Dragger,
    before: Pose,
    changed: Pose,
    rows: Ints,
    holds: Sequence[Hold],
    led: Sequence[Led] = (),
    scope: Floats | None = None,
) -> Repaired:
    """Bring the holds of changed frames back, and joints into their limits.

    A joint that is inside its limits in a frame before is inside after; one that was outside goes no further out.

    Args:
        dragger: weights and bounds.
        before: all frames (F,) as they were.
        changed: the frames `rows` (K,) after the change.
        rows: (K,) the numbers of these frames.
        holds: pins and contacts.
        led: the dragged parts.
        scope: (n,) logarithms that the scope adds to those of the weights; None: nothing.
    """
    skeleton = dragger.clip.body.skeleton
    source = before[rows]
    old, new = skeleton.forward(source), skeleton.forward(changed)
    holds = [hold for hold in holds if hold.weight.any()]
    none = np.zeros(len(rows))
    if not len(rows):
        return Repaired(changed, 0.0, none > 0.0, 0.0)
    fade = _eased_acceleration(old, new, rows, dragger.clip.fps)
    frames = skeleton.forward(before)
    was = _peak_acceleration(frames, old, rows, dragger.clip.fps)  # an edit before this one may have made it pop
    # What is requested within few frames is made, however quick; but then it pops, and that is said.
    requested, calm = (max(was, CALMNESS * max(dragger.clip.peak_acceleration, by)) for by in (fade, min(fade, GENTLE)))
    best: Repaired | None = None
    fewest: tuple[float, ...] = (np.inf,)
    for pose, limited, fraction in _candidates(dragger, source, changed, rows, len(before), holds, led, scope):
        if fraction < 1.0 and not any(fewest[:3]):
            break  # all of the drag is made already, and only contacts give way
        ended = skeleton.forward(pose)
        peak = _peak_acceleration(frames, ended, rows, dragger.clip.fps)
        moved = [(hold.pin, float(_moved(hold, old, ended)[hold.weight >= 1.0].max(initial=0.0))) for hold in holds]
        own = [
            slide(old.positions[:, one.joint], ended.positions[:, one.joint], one.standing)
            for one in led
            if one.standing is not None
        ]
        pins = max((by for pin, by in moved if pin), default=0.0)
        slid = max((*own, *(by for _, by in moved)), default=0.0)
        missed = max((_missed(one, new, ended) for one in led), default=0.0)
        # Pins come first, then a motion that does not pop, then the target, then contacts.
        faults = (pins > WITHIN, peak > requested, missed > WITHIN, slid > WITHIN)
        amounts = (max(pins, WITHIN), max(peak, requested), max(missed, WITHIN), max(slid, WITHIN), peak)
        if best is None or (*faults, *amounts) < fewest:
            best, fewest = Repaired(pose, slid, limited, peak / calm), (*faults, *amounts)
        if not any(faults):
            break
    assert best is not None
    return replace(best, pose=_with_bits(source, best.pose))


def _with_bits(source: Pose, pose: Pose) -> Pose:
    """Return poses (K,) in which joints that did not move have the bits of `source`: smoothing nothing rounds them."""
    still = np.all(np.abs(pose.rotations - source.rotations) < ROUNDED, axis=(0, 2)).reshape(-1)
    rotations = np.where(still[:, None], source.rotations, pose.rotations)
    resting = np.abs(pose.translation - source.translation).max(initial=0.0) < ROUNDED
    return Pose(source.translation if resting else pose.translation, rotations, pose.offsets)


def _moved(hold: Hold, old: Frames, ended: Frames) -> Floats:
    """Return how far each frame (K,) is from a hold [m]."""
    return np.asarray(np.linalg.norm(_constrained(hold, old, ended)[0] - ended.positions[:, hold.part], axis=-1))


def _missed(led: Led, new: Frames, ended: Frames) -> float:
    """Return how far a dragged part is from where the change has put it, at its frames [m]."""
    away = np.linalg.norm(ended.positions[led.key, led.joint] - new.positions[led.key, led.joint], axis=-1)
    return float(away.max(initial=0.0))


def _candidates(
    dragger: Dragger,
    source: Pose,
    changed: Pose,
    rows: Ints,
    count: int,
    holds: Sequence[Hold],
    led: Sequence[Led],
    scope: Floats | None,
) -> Iterator[tuple[Pose, Bools, float]]:
    """Yield poses (K,), where limits stopped a joint, and the fraction of the drag that they make: the exact ones
    first, then calmer ones that keep less, and then those of a part of the drag.
    """
    skeleton = dragger.clip.body.skeleton
    planted = any(one.standing is not None for one in led)
    _, limited = _pulled(dragger, source, changed, skeleton.forward(changed), (), (), scope)
    old, new = skeleton.forward(source), skeleton.forward(changed)
    if not (limited.any() or planted or any(_moves(hold, old, new) for hold in holds)):
        yield changed, limited, 1.0
        if not any(one.path is not None for one in led):
            return
    for pose, limited in _corrected(dragger, source, changed, rows, count, holds, led, scope):
        yield pose, limited, 1.0
    standing = _standing(dragger, old, new, holds)
    if standing.any():
        rooted = Pose(changed.translation + standing, changed.rotations, changed.offsets)
        given, alone = [replace(one, path=None, standing=None) for one in led], _limbs_alone(dragger, scope)
        reachable = _within_reach(dragger, source, rooted, rows, count, holds, given)
        yield (*_pulled(dragger, source, reachable, skeleton.forward(reachable), holds, given, alone), 1.0)
        yield (*_pulled(dragger, source, rooted, skeleton.forward(rooted), (), (), scope), 1.0)
    if not led:
        return
    for fraction in FRACTIONS:
        part = _between(source, changed, fraction)
        shorter = [one.shortened(old, fraction) for one in led]
        for pose, limited in _corrected(dragger, source, part, rows, count, holds, shorter, scope):
            yield pose, limited, fraction
    yield source, np.zeros(len(rows), np.bool_), 0.0


def _corrected(
    dragger: Dragger,
    source: Pose,
    changed: Pose,
    rows: Ints,
    count: int,
    holds: Sequence[Hold],
    led: Sequence[Led],
    scope: Floats | None,
) -> Iterator[tuple[Pose, Bools]]:
    """Yield poses (K,) that keep the holds of a change, and where limits stopped a joint; calmer ones last.

    The root gives way first, as far as legs are too short (`leg_reach`). Corrections of each frame by itself are not
    smooth, where limits or stretched limbs stop a joint. So they are made in turns, coarse ones first (Lee and Shin
    1999): each turn's are smoothed before they count, and what is left for the last turn is small.
    """
    fps, planted = dragger.clip.fps, any(one.standing is not None for one in led)
    skeleton, keys = (
        dragger.clip.body.skeleton,
        np.unique([k for one in led for k in np.flatnonzero(one.key)]).astype(int),
    )
    first: tuple[Pose, Pose, Sequence[Led]] | None = None
    for along in (planted, not planted) if any(one.path is not None for one in led) else (False,):
        given = led if along else [replace(one, path=None, standing=None) for one in led]
        start = _within_reach(dragger, source, changed, rows, count, holds, given)
        base, new = start, skeleton.forward(start)
        for width in WIDTHS:
            pose, _ = _pulled(dragger, source, base, new, holds, given, scope)
            base = _joined(base, pose, width * fps, rows, keys)
        pose, limited = _pulled(dragger, source, base, new, holds, given, scope)
        first = first or (start, pose, given)
        yield pose, limited
    assert first is not None
    calmer = []
    for width in WIDTHS[::-1]:
        smooth = _joined(*first[:2], width * fps, rows, keys)
        calmer.append(_pulled(dragger, source, smooth, skeleton.forward(smooth), (), (), scope))
        new = skeleton.forward(calmer[-1][0])
        yield _pulled(dragger, source, calmer[-1][0], new, holds, first[2], _limbs_alone(dragger, scope))
    yield from calmer


def _standing(dragger: Dragger, old: Frames, new: Frames, holds: Sequence[Hold]) -> Floats:
    """Return the displacements (K, 3) [m] of the root that put changed frames back onto their standing feet.

    Rotations that fade bend a straight leg in proportion, and so shorten it by the square: a root that fades in
    proportion too is ahead of its knees at first, and feet that are put back make them jerk.
    """
    body = dragger.clip.body
    total, weight = np.zeros((len(old.positions), 3)), np.zeros((len(old.positions), 1))
    for foot in ("left_foot", "right_foot"):
        if foot in body.roles:
            joint = body.roles[foot]
            weights = [
                hold.weight for hold in holds if hold.on < 0 and not hold.pin and same_foot(body, hold.part, joint)
            ]
            fraction = np.max([np.zeros(len(total)), *weights], axis=0)[:, None]
            total += fraction * (old.positions[:, joint] - new.positions[:, joint])
            weight += fraction
    return np.asarray(total / np.maximum(weight, 1.0))


def _limbs_alone(dragger: Dragger, scope: Floats | None) -> Floats:
    """Return a scope (n,) in which root and spine stay: those of smoothed frames are smooth, and limbs reach far."""
    body, parts = dragger.clip.body, dragger.clip.parts
    trunk = [*body.skeleton.path(body.roles["hips"]), *body.spine]
    locked = np.isin(body.skeleton.dofs.joint[parts.dofs], trunk)
    return np.where(locked, LOCKED, 0.0 if scope is None else scope)


def _within_reach(
    dragger: Dragger, source: Pose, changed: Pose, rows: Ints, count: int, holds: Sequence[Hold], led: Sequence[Led]
) -> Pose:
    """Return changed poses (K,) with the root moved so that legs reach where their feet stand."""
    body, skeleton = dragger.clip.body, dragger.clip.body.skeleton
    old, new = skeleton.forward(source), skeleton.forward(changed)
    nearness = np.max([np.zeros(len(rows)), *(one.nearness for one in led)], axis=0)
    footholds = []
    for foot in ("left_foot", "right_foot"):
        if not all(foot.replace("foot", part) in body.roles for part in ("foot", "lower_leg", "upper_leg")):
            continue
        joint = body.roles[foot]
        was, now = old.positions[:, joint], new.positions[:, joint]
        for hold in holds:
            if hold.on < 0 and same_foot(body, hold.part, joint):
                ankle = now + hold.weight[:, None] * (was - now)
                footholds.append(Foothold(foot, ankle, hold.weight > 0.0))
        for one in led:
            if one.standing is not None and one.path is not None and same_foot(body, one.joint, joint):
                ankle = was + one.path - old.positions[:, one.joint]
                footholds.append(Foothold(foot, ankle, np.ones(len(rows), np.bool_)))
    moved = root_displacement(body, footholds, old, new, nearness, rows, count, dragger.clip.fps)
    return Pose(changed.translation + moved, changed.rotations, changed.offsets) if moved.any() else changed


def _between(source: Pose, pose: Pose, fraction: float) -> Pose:
    """Return poses (K,) a fraction of the way from `source` to `pose`."""
    rotations = slerp(source.rotations, pose.rotations, fraction)
    return Pose(source.translation + fraction * (pose.translation - source.translation), rotations, pose.offsets)


def _peak_acceleration(before: Frames, ended: Frames, rows: Ints, fps: float) -> float:
    """Return the largest acceleration of a joint in changed frames and next to them [m/s2]."""
    first, last = max(int(rows[0]) - 2, 0), min(int(rows[-1]) + 3, len(before.positions))
    positions = before.positions[first:last].copy()
    positions[rows - first] = ended.positions
    return float(np.linalg.norm(np.diff(positions, 2, axis=0), axis=-1).max(initial=0.0)) * fps**2


def _eased_acceleration(old: Frames, new: Frames, rows: Ints, fps: float) -> float:
    """Return the acceleration of a joint that goes as far as the change does, by a cosine, in half its time [m/s2]."""
    farthest = float(np.linalg.norm(new.positions - old.positions, axis=-1).max(initial=0.0))
    return float(0.5 * farthest * (np.pi * 2.0 * fps / (rows[-1] - rows[0] + 2.0)) ** 2)


def _pulled(
    dragger: Dragger,
    source: Pose,
    base: Pose,
    new: Frames,
    holds: Sequence[Hold],
    led: Sequence[Led],
    scope: Floats | None,
) -> tuple[Pose, Bools]:
    """Bring the poses `base` (K,) to their goals, each frame by itself."""
    clip, skeleton, none = dragger.clip, dragger.clip.body.skeleton, np.zeros(len(source))
    old, pose = skeleton.forward(source), base
    logs = np.broadcast_to(dragger.logs.mean(axis=0), (len(none), dragger.logs.shape[1]))
    others = [int(j) for j in clip.parts.joints]
    limited = none > 0.0
    for _ in range(2 if any(hold.on >= 0 for hold in holds) else 1):
        goals = np.zeros((len(none), len(holds) + len(led) + len(others)), GOAL)
        goals["position_softness"], goals["orientation_softness"] = -1.0, -1.0
        now = skeleton.forward(pose)
        for g, hold in enumerate(holds):
            _hold_goals(goals[:, g], hold, old, new, now)
        if holds or led:
            _led_goals(goals[:, len(holds) :], led, others, {hold.part for hold in holds}, old, new)
        pose, _, limited = dragger.pulled(
            base, goals, logs, MAX_ITERATIONS, source, scope=scope, min_iterations=MIN_ITERATIONS, close=CLOSE
        )
    return pose, limited


def _joined(base: Pose, pose: Pose, width: float, rows: Ints, keys: Ints) -> Pose:
    """Return `base` (K,) with the corrections that led from it to `pose`, smoothed over `width` frames.

    Outside the rows there is no correction. At `keys`, rows of the drag, they are those of `pose`: the drag has found a
    pose there, and what is smoothed away of it is hard to find again.
    """
    from scipy.ndimage import gaussian_filter1d

    rotated = log(multiply(conjugate(base.rotations), pose.rotations))
    moved = pose.translation - base.translation
    at, count = rows - int(rows[0]), int(rows[-1] - rows[0]) + 1
    whole = np.zeros((count, rotated.shape[1] + 1, 3))
    whole[at, :-1], whole[at, -1] = rotated, moved
    smooth = gaussian_filter1d(whole, width, axis=0, mode="constant")[at]
    if len(keys):
        near = np.exp(-0.5 * ((rows[:, None] - rows[keys]) / (KEY_WIDTH * width)) ** 2)
        left = (whole[at] - smooth)[keys].reshape(len(keys), -1)
        smooth += (near @ np.linalg.lstsq(near[keys], left, rcond=1e-6)[0]).reshape(smooth.shape)
    return Pose(base.translation + smooth[:, -1], multiply(base.rotations, exp(smooth[:, :-1])), base.offsets)


def _moves(hold: Hold, old: Frames, new: Frames) -> bool:
    """Return whether a change moves a hold at all."""
    positions, orientations = _constrained(hold, old, new)
    constrained = hold.weight > 0.0
    away = np.abs(positions - new.positions[:, hold.part])[constrained].max(initial=0.0)
    if hold.softness[1] < 0.0:
        return bool(away > UNMOVED)
    apart = 1.0 - np.abs((orientations * new.orientations[:, hold.part]).sum(axis=-1))[constrained]
    return bool(away > UNMOVED or apart.max(initial=0.0) > UNMOVED**2 + 1e-15)


def _constrained(hold: Hold, old: Frames, now: Frames) -> tuple[Floats, Floats]:
    """Return the positions (K, 3) and orientations (K, 4) of a hold: the old ones, in the world or relative to the
    part that it rests on.
    """
    positions, orientations = old.positions[:, hold.part], old.orientations[:, hold.part]
    if hold.on < 0:
        return positions, orientations
    back = conjugate(old.orientations[:, hold.on])
    relative = rotate(back, positions - old.positions[:, hold.on])
    positions = now.positions[:, hold.on] + rotate(now.orientations[:, hold.on], relative)
    return positions, multiply(now.orientations[:, hold.on], multiply(back, orientations))


def _hold_goals(goals: Records, hold: Hold, old: Frames, new: Frames, now: Frames) -> None:
    """Fill the goals (K,) of one hold; on its ramps they lie between the changed and the original position."""
    positions, orientations = _constrained(hold, old, now)
    start = new.positions[:, hold.part]
    goals["joint"], goals["position"] = hold.part, start + hold.weight[:, None] * (positions - start)
    goals["orientation"] = slerp(new.orientations[:, hold.part], orientations, hold.weight)
    active = hold.weight > 0.0
    goals["fixed"] = hold.weight >= 1.0
    # On its ramps it gives way to what must be kept there: the ankle to the ball of the foot that still stands.
    for name, softness in zip(("position_softness", "orientation_softness"), hold.softness, strict=True):
        softer = softness + LED * (1.0 - hold.weight)
        goals[name] = np.where(active & (softness >= 0.0), softer, -1.0)


def _led_goals(
    goals: Records, led: Sequence[Led], others: list[int], constrained: set[int], old: Frames, new: Frames
) -> None:
    """Fill the goals of parts that the change has moved: exact for `led` at their frames, soft for the effectors."""
    for g, one in enumerate(led):
        goals["joint"][:, g] = one.joint
        goals["position"][:, g] = new.positions[:, one.joint] if one.path is None else one.path
        goals["orientation"][:, g] = new.orientations[:, one.joint]
        nearness = one.nearness if one.standing is None else np.where(one.standing, 1.0, one.nearness)
        soft = EXACT + LED * (1.0 - nearness)
        goals["position_softness"][:, g], goals["orientation_softness"][:, g] = soft, 0.1 + soft
        goals["fixed"][one.key, g] = 1
        if one.standing is not None and not one.rotated:
            goals["orientation"][one.standing, g] = old.orientations[one.standing, one.joint]
            goals["orientation_softness"][one.standing, g] = 10.0 * EXACT
    joints = {one.joint for one in led}
    for g, j in enumerate(others, len(led)):
        goals["joint"][:, g] = j
        if j in constrained or j in joints:
            continue
        goals["position"][:, g], goals["orientation"][:, g] = new.positions[:, j], new.orientations[:, j]
        goals["position_softness"][:, g], goals["orientation_softness"][:, g] = 0.3, 0.5
