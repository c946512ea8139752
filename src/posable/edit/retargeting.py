"""Retargeting: a motion on another body with other proportions, or another rig altogether; contacts are kept.

The posture goes over in canonical rotations (`Humanoid`), the hips in leg lengths. Then hands and feet are brought
where they belong on the new body: feet where they were, times the ratio of the leg lengths, standing on the surfaces
that the source stood on (`soles`); hands as far from their shoulder, times the ratio of the arm lengths; hands that
rested on the body still do (`specs/edit.md`, section 5). Weights that change from frame to frame would make the offsets
flicker (measured there: 3.5 degrees a frame against 1.1), so all weights are the same, or one for the whole clip.

A body of other proportions has other volumes, and arms that passed the source's hips go through the target's. They
are kept out by the elbow's swivel and, where that is not enough, by hands that give way (`keep_out`).

What is said of the result is measured on the poses that are returned: where hands and feet are, how far soles are under
the floor that they stand on, how far standing feet slide, how deep forearms and hands are in the body.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ..body import Humanoid
from ..body.roles import named_parts
from ..compute import PosableError, Status, UnknownNameError, expect
from ..compute.types import Bools, Floats, Records
from ..math import conjugate, rotate
from ..skeleton import Frames, Motion, Pose
from ..skeleton.solution import MotionSolution
from .bounds import Bound, make_bounds
from .clip import Clip, read_clip
from .contacts import Contact, find_contacts
from .dragging import REACHED_WITHIN, Dragger, judged
from .jumps import changes, smoothed_change, without_jumps
from .keep_out import arm_depths, arms_out
from .model import EXACT, GOAL
from .repair import RAMP, ramp
from .soles import Placement, Soles, ankle_positions, every_floor, floors, placements
from .stances import runs
from .toes import toes_on_floor
from .weights import fit_weights

ENDS = ("left_foot", "right_foot", "left_hand", "right_hand", "head")
ITERATIONS = 4
WIDTHS = (0.1, 0.05, 0.025)
"""[s]: standard deviations with which corrections are smoothed, one after the other (Lee and Shin 1999). Each time the
ankles are placed for the orientations that the feet have got."""
SUNK, SLID = 0.005, 0.005
"""[m]: a sole that is further under its floor, or a standing foot that slides further, is not kept."""
CALMNESS = 1.3
"""An arm that keeps out of the body may change its velocity so much faster than the source does at most."""
STILL = 1e-6
"""A joint whose rotation, as a quaternion, changes by less does not move."""
INSIDE = 0.005
"""[m]: a forearm or hand that is that much deeper in the body than the source's is a collision."""
FOOT_ORIENTATION, HAND_ORIENTATION, HEAD_POSITION, HEAD_ORIENTATION = 0.05, 0.3, 0.5, 0.3


@dataclass(frozen=True, eq=False, repr=False)
class RetargetSolution(MotionSolution):
    """A motion on another body.

    REACHED in frames where all hands and feet are within a millimetre of their positions, the soles of standing feet
    no more than 5 mm under their floor, and standing feet slide by no more than 5 mm; COLLISION where a forearm or a
    hand is in the body although it was not in the source's; elsewhere LIMITS or UNREACHABLE. `position_error` is that
    of the worst hand or foot.
    """

    parts: tuple[str, ...]
    """(E,) the hands and feet."""
    part_errors: Floats
    """(F, E) [m]: distance of each of them from its position."""
    contacts: tuple[Contact, ...]
    """The contacts of the original."""
    floors: tuple[Floats, ...]
    """For each placement of a foot (`soles.placements` of the contacts) the height of its floor, one a frame [m]."""
    sunk: Floats
    """(F,) [m]: how far the lowest point of a foot is under its floor; below 0 where it is above. A foot that swings
    has one only on a body with a skin: the lower one of the two that it swings between."""
    slid: Floats
    """(F,) [m]: how far the heel or ball that a foot stands on is from where it stood, more than the source's was; of a
    foot that stands on both and turns, the one that it turns about."""
    depth: Floats
    """(F,) [m]: how deep a forearm or a hand is in the rest of the body; 0 where nothing is."""
    hand_displacement: Floats
    """(F,) [m]: how far a hand is from where it would be if the body were not in its way."""
    limited: Bools
    """(F,): where the second body's limits stopped a joint."""
    dropped: tuple[str, ...]
    """Parts of the first body that the second does not have, its joints of fingers among them where they move, and
    names of its other joints that move and have no counterpart (a mitten, a tail)."""
    added: tuple[str, ...]
    """Parts of the second body that the first does not have: they follow the part above them, and fingers rest."""
    ratio: float
    """Leg length of the second body over that of the first."""

    def __str__(self) -> str:
        worst = dict(zip(self.parts, self.part_errors.max(axis=0), strict=True))
        found = [f"{int(np.sum(self.ok))} of {len(self.status)} frames reach everything"]
        found += [f"{part} up to {1000 * error:.1f} mm away" for part, error in worst.items() if error > REACHED_WITHIN]
        found += [f"feet slide up to {1000 * float(self.slid.max(initial=0.0)):.2f} mm"]
        sunk = float(self.sunk.max(initial=0.0))
        found += [f"soles up to {1000 * sunk:.1f} mm under the floor"] if sunk > SUNK else []
        gave = float(self.hand_displacement.max(initial=0.0))
        found += [f"hands give way to the body by up to {1000 * gave:.0f} mm"] if gave > REACHED_WITHIN else []
        inside = int((self.depth > INSIDE).sum())
        deepest = 1000 * float(self.depth.max(initial=0.0))
        found += [f"forearms or hands up to {deepest:.0f} mm in the body in {inside} frames"] if inside else []
        stopped = int((self.status == Status.LIMITS).sum())
        found += [f"joint limits stopped parts in {stopped} frames"] if stopped else []
        found += [f"no such part on the new body: {', '.join(named_parts(self.dropped))}"] if self.dropped else []
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
    keep_out: bool = True,
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
        keep_out: whether forearms and hands are kept out of the target's body, by swivels of the elbow and by hands
            that give way; default True.
    """
    expect(Motion, motion, "motion")
    for name, body in (("source", source), ("target", target)):
        expect(Humanoid, body, name, f": Humanoid({'motion.' if name == 'source' else ''}skeleton)")
    source.require_person("retarget's source")
    if not motion.skeleton.same_as(source.skeleton):
        own, other = (f"{one!r}" for one in (motion.skeleton, source.skeleton))
        other = "one with other bones" if own == other else other
        raise PosableError(
            f"the motion is one of {own}, the source has {other}; expected the body that performs it: "
            "Humanoid(motion.skeleton)"
        )
    if weights not in ("identity", "clip"):
        raise UnknownNameError("weights of a retargeting", weights, ("identity", "clip"))
    clip = read_clip(motion, source)
    found = find_contacts(clip, hands=contacts)
    stands, ratio = placements(found, len(motion)), target.leg_length / source.leg_length
    soles = (Soles(source), Soles(target))
    base, lost = _carried_over(motion, source, target)
    begun = _transferred(motion, soles, base)
    if soles[1].skinned:
        begun = toes_on_floor(target, begun, found, motion.fps)
    made = read_clip(motion.replace(skeleton=target.skeleton, pose=begun), target)
    dragger = Dragger(made, fit_weights(made, weights), make_bounds(made, limits))
    parts = tuple(role for role in ENDS if role in source.roles and role in target.roles)
    before = source.skeleton.forward(motion.pose)
    surfaces = floors(stands, soles[0], before, soles[1], ratio)
    goals = _goals(clip, target, begun, parts, found)
    pose = smooth = begun
    for width in (*WIDTHS, 0.0):
        for side, positions in _ankles(
            stands, surfaces, soles, before, target.skeleton.forward(pose), motion.fps
        ).items():
            goals["position"][:, parts.index(f"{side}_foot")] = positions
        pose, errors, limited = dragger.pulled(smooth, goals, dragger.logs, iterations, begun)
        smooth = smoothed_change(smooth, pose, width * motion.fps) if width else pose
    allowed = np.maximum(arm_depths(source, before) * target.joint_height / source.joint_height, 0.0)
    belonging = goals["position"].copy()
    out = arms_out(target, pose, motion.fps, allowed, found) if keep_out else pose
    while out is not pose:
        now = target.skeleton.forward(out)
        for g in (g for g, part in enumerate(parts) if part.endswith("hand")):
            joint = target.roles[parts[g]]
            goals["position"][:, g], goals["orientation"][:, g] = now.positions[:, joint], now.orientations[:, joint]
        made_out, errors, limited = dragger.pulled(out, goals, dragger.logs, iterations, begun)
        calm = _calmed(target, pose, out, made_out, ratio * float(changes(before.positions).max(initial=0.0)))
        if calm is out:
            pose = out = made_out
        else:
            out = calm
    pose = without_jumps(dragger, begun, pose, ratio * before.positions, motion.fps)
    hands = [g for g, part in enumerate(parts) if part.endswith("hand")]
    hand_displacement = np.linalg.norm(goals["position"] - belonging, axis=-1)[:, hands].max(axis=1, initial=0.0)
    after = target.skeleton.forward(pose)
    errors = np.linalg.norm(after.positions[:, goals["joint"][0]] - goals["position"], axis=-1)
    ends = [g for g, part in enumerate(parts) if part != "head"]
    worst = errors[:, ends].max(axis=1, initial=0.0)
    sunk, slid = _footing(stands, surfaces, soles, (before, after), ratio)
    depth = arm_depths(target, after)
    broken = (sunk > SUNK) | (slid > SLID)
    status = judged(np.where(limited, Status.LIMITS, Status.REACHED), np.where(broken, np.inf, worst), 0.0, 0.0)
    deeper = depth > allowed + INSIDE
    status = np.where((status == Status.REACHED) & deeper, Status.COLLISION, status).astype(np.int8)
    return RetargetSolution(
        motion.replace(skeleton=target.skeleton, pose=pose),
        status,
        worst,
        np.zeros(len(motion)),
        tuple(parts[g] for g in ends),
        errors[:, ends],
        found,
        tuple(surfaces),
        sunk,
        slid,
        np.maximum(depth, 0.0),
        hand_displacement,
        limited,
        (*(role for role in source.roles if role not in target.roles), *lost),
        tuple(role for role in (*target.roles, *target.fingers) if role not in source.roles | source.fingers),
        ratio,
    )


def _transferred(motion: Motion, soles: tuple[Soles, Soles], base: Pose) -> Pose:
    """Return the posture on the new body, the middle of its legs' joints where it was, times the ratio of leg lengths.

    The hips cannot serve: on some rigs their joint lies below those of the legs, and feet would miss the floor. Soles
    are as high above the floor as before.
    """
    source, target = soles[0].body, soles[1].body
    ratio = target.leg_length / source.leg_length
    pose = target.pose(source.canonical(motion.pose), base)
    lift = np.mean([soles[1].depth(side) - ratio * soles[0].depth(side) for side in ("left", "right")])
    there = ratio * _between_legs(source, motion.pose) + np.array([0.0, lift, 0.0])
    return Pose(pose.translation + there - _between_legs(target, pose), pose.rotations, pose.offsets)


def _between_legs(body: Humanoid, pose: Pose) -> Floats:
    """Return the points (F, 3) halfway between the joints of the legs [m]."""
    legs = [body.roles[f"{side}_upper_leg"] for side in ("left", "right")]
    return np.asarray(body.skeleton.forward(pose).positions[:, legs].mean(axis=1))


def _carried_over(motion: Motion, source: Humanoid, target: Humanoid) -> tuple[Pose, list[str]]:
    """Return a pose of the target (F,) in which joints without a role (a mitten's) rotate as those of the same name,
    where the two rigs agree about them, and the names of those that move and have no counterpart: roles of fingers.
    """
    shared = [*source.roles.values(), *(j for role, j in source.fingers.items() if role in target.fingers)]
    known = {j for joint in shared for j in source.skeleton.path(joint)} | {*source.spine}
    known |= {j for chain in source.segments.values() for j in chain}
    taken = {*target.roles.values(), *target.fingers.values(), *target.spine}
    taken |= {j for chain in target.segments.values() for j in chain}
    finger = {j: role for role, j in source.fingers.items()}
    rotations = np.broadcast_to(target.skeleton.rest.rotations, (len(motion), len(target.skeleton), 4)).copy()
    dropped = []
    for j, name in enumerate(source.skeleton.names):
        moves = np.ptp(motion.pose.rotations[:, j], axis=0).max() > STILL
        if j in known or not moves:
            continue
        k = target.skeleton.names.index(name) if name in target.skeleton.names else -1
        alike = k >= 0 and k not in taken
        if alike and np.allclose(source.skeleton.rest.rotations[j], target.skeleton.rest.rotations[k], atol=1e-3):
            rotations[:, k] = motion.pose.rotations[:, j]
        else:
            dropped.append(finger.get(j, name))
    return Pose(np.zeros((len(motion), 3)), rotations), dropped


def moving_fingers(motion: Motion, body: Humanoid) -> list[str]:
    """Return the roles of the joints of fingers that move."""
    if len(motion) == 0:
        return []
    moves = np.ptp(motion.pose.rotations, axis=0).max(axis=-1) > STILL
    return [role for role, j in body.fingers.items() if moves[j]]


def _ankles(
    stands: list[Placement], surfaces: list[Floats], soles: tuple[Soles, Soles], before: Frames, now: Frames, fps: float
) -> dict[str, Floats]:
    """Return the positions (F, 3) [m] of both ankles, for the orientations that the feet have now."""
    ratio = soles[1].body.leg_length / soles[0].body.leg_length
    return {
        side: ankle_positions(stands, surfaces, (soles[0], before), (soles[1], now), ratio, fps, side)
        for side in ("left", "right")
    }


def _calmed(target: Humanoid, pose: Pose, out: Pose, made: Pose, peak: float) -> Pose:
    """Return the poses `out`, but those in `pose` where what was made of them leaps; `out` itself where nothing does.

    Limits may pull an arm back that was to keep out of the body. `peak` [m a frame squared] is how fast the source
    changes its velocity.
    """
    old, new = (target.skeleton.forward(one).positions for one in (pose, made))
    if len(old) < 3:
        return out
    speeds = [np.linalg.norm(np.diff(positions, 2, axis=0), axis=-1).max(axis=1) for positions in (old, new)]
    leaps = np.flatnonzero(speeds[1] > CALMNESS * np.maximum(peak, speeds[0])) + 1
    changed = (pose.rotations != out.rotations).any(axis=(1, 2))
    back = [(a, b) for a, b in runs(changed) if ((leaps >= a - 2) & (leaps <= b + 2)).any()]
    if not back:
        return out
    rotations = out.rotations.copy()
    for first, last in back:
        rotations[first : last + 1] = pose.rotations[first : last + 1]
    return out.replace(rotations=rotations)


def _footing(
    stands: list[Placement],
    surfaces: list[Floats],
    soles: tuple[Soles, Soles],
    frames: tuple[Frames, Frames],
    ratio: float,
) -> tuple[Floats, Floats]:
    """Return how far (F,) [m] feet are under their floors, and how far standing ones slide more than the source's."""
    slid = np.zeros(len(frames[0].positions))
    sunk = np.max(
        [
            floor - soles[1].lowest(frames[1], side)
            for side, floor in every_floor(stands, surfaces, soles, frames[0]).items()
        ],
        axis=0,
    )
    for stand in stands:
        rows = stand.rows
        least = np.full(stand.last - stand.first + 1, np.inf)
        for was, is_now, down in zip(
            soles[0].standing_points(frames[0], stand.side),
            soles[1].standing_points(frames[1], stand.side),
            (stand.heel[rows], stand.ball[rows]),
            strict=True,
        ):
            moved = (is_now[rows] - ratio * was[rows])[:, [0, 2]]
            if down.any():
                off = np.linalg.norm(moved - np.median(moved[down], axis=0), axis=-1)
                least = np.minimum(least, np.where(down, off, np.inf))
        slid[rows] = np.maximum(slid[rows], least)
    return np.where(np.isfinite(sunk), sunk, 0.0), slid


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
        if kind == "hand":
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


def _part_ratio(source: Humanoid, target: Humanoid, part: str) -> float:
    """Return how much larger a part of the target is: its leg, its arm, or its whole body for trunk and head."""
    if part.endswith(("leg", "foot", "toes")):
        return target.leg_length / source.leg_length
    if part.endswith(("arm", "hand")):
        arm = f"{part.partition('_')[0]}_arm"
        return target.limb(arm).length / source.limb(arm).length
    return target.joint_height / source.joint_height


def _rested(
    clip: Clip, target: Humanoid, old: Frames, new: Frames, part: str, positions: Floats, found: tuple[Contact, ...]
) -> Floats:
    """Return positions (F, 3) of a hand [m]; where it rests on a part they are relative to it, as that is larger."""
    source, total, moved = clip.body, np.zeros((len(clip), 1)), np.zeros_like(positions)
    for on in sorted({contact.on for contact in found if contact.part == part and contact.on in target.roles}):
        inside = np.zeros(len(clip), np.bool_)
        for contact in found:
            inside[contact.first : contact.last + 1] |= (contact.part, contact.on) == (part, on)
        weight = ramp(inside, RAMP * clip.fps)[:, None]
        o, n, ratio = source.roles[on], target.roles[on], _part_ratio(source, target, on)
        orientation = source.canonical_orientation(old, o)
        seen = rotate(conjugate(orientation), old.positions[:, source.roles[part]] - old.positions[:, o])
        there = new.positions[:, n] + rotate(target.canonical_orientation(new, n), ratio * seen)
        total, moved = total + weight, moved + weight * (there - positions)
    # A hand on two parts at once is between the places that either gives it.
    return np.asarray(positions + moved / np.maximum(total, 1.0))
