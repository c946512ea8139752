"""Retargeting: a motion on another body with other proportions, or another rig altogether; contacts are kept.

The posture goes over in canonical rotations (`Humanoid`), the hips in leg lengths. Then hands and feet are brought
where they belong on the new body: feet where they were, times the ratio of the leg lengths, their soles as far above
the floor; hands as far from their shoulder, times the ratio of the arm lengths; hands that rested on the body still do
(`specs/edit.md`, section 5). Weights that change from frame to frame would make the offsets flicker (measured there:
3.5 degrees a frame against 1.1), so all weights are the same, or one for the whole clip.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ..body import Humanoid
from ..body.measures import sole_of
from ..compute import PosableError, Status, UnknownNameError, expect
from ..compute.types import Bools, Floats, Records
from ..math import conjugate, rotate
from ..skeleton import Frames, Motion, Pose
from ..skeleton.solution import MotionSolution
from .bounds import Bound, make_bounds
from .clip import Clip, read_clip
from .contacts import GROUND, Contact, find_contacts, hold_weights
from .dragging import REACHED_WITHIN, Dragger, judged
from .model import EXACT, GOAL
from .weights import fit_weights

ENDS = ("left_foot", "right_foot", "left_hand", "right_hand", "head")
ITERATIONS = 4
FOOT_ORIENTATION, HAND_ORIENTATION, HEAD_POSITION, HEAD_ORIENTATION = 0.05, 0.3, 0.5, 0.3


@dataclass(frozen=True, eq=False, repr=False)
class RetargetSolution(MotionSolution):
    """A motion on another body.

    REACHED in frames where all hands and feet are within a millimetre of their positions; elsewhere LIMITS or
    UNREACHABLE. `position_error` is that of the worst of them.
    """

    parts: tuple[str, ...]
    """(E,) the hands and feet."""
    part_errors: Floats
    """(F, E) [m]: distance of each of them from its position."""
    contacts: tuple[Contact, ...]
    """The contacts of the original."""
    slid: Floats
    """(F,) [m]: the largest distance of a foot on the ground from where it should stand."""
    limited: Bools
    """(F,): where the second body's limits stopped a joint."""
    dropped: tuple[str, ...]
    """Parts of the first body that the second does not have."""
    added: tuple[str, ...]
    """Parts of the second body that the first does not have: they follow the part above them."""
    ratio: float
    """Leg length of the second body over that of the first."""

    def __str__(self) -> str:
        worst = dict(zip(self.parts, self.part_errors.max(axis=0), strict=True))
        found = [f"{int(np.sum(self.ok))} of {len(self.status)} frames reach everything"]
        found += [f"{part} up to {1000 * error:.1f} mm away" for part, error in worst.items() if error > REACHED_WITHIN]
        found += [f"feet slide up to {1000 * float(self.slid.max(initial=0.0)):.2f} mm"]
        stopped = int((self.status == Status.LIMITS).sum())
        found += [f"joint limits stopped parts in {stopped} frames"] if stopped else []
        found += [f"no such part on the new body: {', '.join(self.dropped)}"] if self.dropped else []
        return "; ".join(found)


def retarget(
    motion: Motion,
    source: Humanoid,
    target: Humanoid,
    *,
    contacts: bool = True,
    weights: str = "identity",
    limits: Bound | Iterable[Bound] = "body",
    iterations: int = ITERATIONS,
) -> RetargetSolution:
    """Put a motion of one body on another.

    Args:
        motion: of the source.
        source: the body that performs it.
        target: the body that shall perform it: other proportions, or another rig with roles.
        contacts: whether hands that rest on the body are found and kept, default True; feet always are.
        weights: "identity" (default), or "clip" for weights fitted to the whole motion.
        limits: of the target, as for `MotionEditor`; by default its own. A joint that is outside of them in the motion
            stays so, but goes no further out.
        iterations: number of steps of damped least squares for each frame; default 4.
    """
    expect(Motion, motion, "motion")
    for name, body in (("source", source), ("target", target)):
        expect(Humanoid, body, name, f": Humanoid({'motion.' if name == 'source' else ''}skeleton)")
    if not motion.skeleton.same_as(source.skeleton):
        raise PosableError(
            f"the motion is one of {motion.skeleton}, the source has {source.skeleton}; expected the body that "
            "performs it: Humanoid(motion.skeleton)"
        )
    if weights not in ("identity", "clip"):
        raise UnknownNameError("weights of a retargeting", weights, ("identity", "clip"))
    clip = read_clip(motion, source)
    found = find_contacts(clip, hands=contacts)
    begun = _transferred(motion, source, target)
    made = read_clip(motion.replace(skeleton=target.skeleton, pose=begun), target)
    dragger = Dragger(made, fit_weights(made, weights), make_bounds(made, limits))
    parts = tuple(role for role in ENDS if role in source.roles and role in target.roles)
    goals = _goals(clip, target, begun, parts, found)
    pose, errors, limited = dragger.pulled(begun, goals, dragger.logs, iterations)
    ends = [g for g, part in enumerate(parts) if part != "head"]
    down = np.zeros(errors.shape, np.bool_)
    for contact in found:
        if contact.on == GROUND and contact.part in parts:
            down[contact.first : contact.last + 1, parts.index(contact.part)] = True
    worst = errors[:, ends].max(axis=1, initial=0.0)
    return RetargetSolution(
        motion.replace(skeleton=target.skeleton, pose=pose),
        judged(np.where(limited, Status.LIMITS, Status.REACHED), worst, 0.0, 0.0),
        worst,
        np.zeros(len(motion)),
        tuple(parts[g] for g in ends),
        errors[:, ends],
        found,
        np.where(down, errors, 0.0).max(axis=1, initial=0.0),
        limited,
        tuple(role for role in source.roles if role not in target.roles),
        tuple(role for role in target.roles if role not in source.roles),
        target.leg_length / source.leg_length,
    )


def _transferred(motion: Motion, source: Humanoid, target: Humanoid) -> Pose:
    """Return the posture on the new body, the middle of its legs' joints where it was, times the ratio of leg lengths.

    The hips cannot serve: on some rigs their joint lies below those of the legs, and feet would miss the floor. Soles
    are as high above the floor as before.
    """
    pose = target.pose(source.canonical(motion.pose))
    lift = np.mean([_lift(source, target, side) for side in ("left", "right")])
    there = target.leg_length / source.leg_length * _between_legs(source, motion.pose) + np.array([0.0, lift, 0.0])
    return Pose(pose.translation + there - _between_legs(target, pose), pose.rotations, pose.offsets)


def _between_legs(body: Humanoid, pose: Pose) -> Floats:
    """Return the points (F, 3) halfway between the joints of the legs [m]."""
    legs = [body.roles[f"{side}_upper_leg"] for side in ("left", "right")]
    return np.asarray(body.skeleton.forward(pose).positions[:, legs].mean(axis=1))


def _lift(source: Humanoid, target: Humanoid, side: str) -> float:
    """Return how much higher an ankle is than its scaled position, for its sole to be on the floor [m]."""
    ratio = target.leg_length / source.leg_length
    return sole_of(target, side).depth - ratio * sole_of(source, side).depth


def _goals(clip: Clip, target: Humanoid, begun: Pose, parts: tuple[str, ...], found: tuple[Contact, ...]) -> Records:
    """Return goals (F, E): where hands, feet and head belong on the new body."""
    source, frames = clip.body, len(clip)
    old, new = source.skeleton.forward(clip.motion.pose), target.skeleton.forward(begun)
    goals = np.zeros((frames, len(parts)), GOAL)
    for g, part in enumerate(parts):
        joint = target.roles[part]
        goals["joint"][:, g] = joint
        positions = new.positions[:, joint]
        side, _, kind = part.partition("_")
        if kind == "foot":
            positions = old.positions[:, source.roles[part]] * (target.leg_length / source.leg_length)
            positions = positions + np.array([0.0, _lift(source, target, side), 0.0])
        elif kind == "hand":
            positions = _hand_positions(source, target, old, new, side)
            positions = _rested(clip, target, old, new, part, positions, found)
        goals["position"][:, g], goals["orientation"][:, g] = positions, new.orientations[:, joint]
        soft = {"foot": (EXACT, FOOT_ORIENTATION), "hand": (EXACT, HAND_ORIENTATION)}.get(
            kind, (HEAD_POSITION, HEAD_ORIENTATION)
        )
        goals["position_softness"][:, g], goals["orientation_softness"][:, g] = soft
    return goals


def _hand_positions(source: Humanoid, target: Humanoid, old: Frames, new: Frames, side: str) -> Floats:
    """Return positions (F, 3) of a hand [m], as far from the shoulder as before in arm lengths."""
    ratio = target.limb(f"{side}_arm").length / source.limb(f"{side}_arm").length
    hand, shoulder = f"{side}_hand", f"{side}_upper_arm"
    displacement = old.positions[:, source.roles[hand]] - old.positions[:, source.roles[shoulder]]
    return np.asarray(new.positions[:, target.roles[shoulder]] + ratio * displacement)


def _rested(
    clip: Clip, target: Humanoid, old: Frames, new: Frames, part: str, positions: Floats, found: tuple[Contact, ...]
) -> Floats:
    """Return positions (F, 3) of a hand [m]; where it rests on a part they are relative to it, in body heights."""
    source = clip.body
    ratio = target.joint_height / source.joint_height
    for on in sorted({contact.on for contact in found if contact.part == part and contact.on in target.roles}):
        weight = hold_weights(found, part, on, len(clip), clip.fps)[:, None]
        o, n = source.roles[on], target.roles[on]
        orientation = source.canonical_orientation(old, o)
        seen = rotate(conjugate(orientation), old.positions[:, source.roles[part]] - old.positions[:, o])
        there = new.positions[:, n] + rotate(target.canonical_orientation(new, n), ratio * seen)
        positions = positions + weight * (there - positions)
    return np.asarray(positions)
