"""Retargeting: a motion on another body with other proportions, or another rig altogether; contacts are kept.

The posture goes over in canonical rotations (`Humanoid`), the hips in leg lengths. Then hands and feet are brought
where they belong on the new body: feet where they were, times the ratio of the leg lengths, standing on the surfaces
that the source stood on (`soles`); hands as far from their shoulder, times the ratio of the arm lengths; hands that
rested on the body still do (`specs/edit.md`, section 5). Weights that change from frame to frame would make the offsets
flicker (measured there: 3.5 degrees a frame against 1.1), so all weights are the same, or one for the whole clip.

A body of other proportions has other volumes, and arms that passed the source's hips go through the target's. They
are kept out by the elbow's swivel and, where that is not enough, by hands that give way (`keep_out`).

A long motion is retargeted in windows that overlap (`windows`), so that memory is that of the two motions and of one
window; where feet stand, and on what, is found from the whole.

What is said of the result is measured on the poses that are returned: where hands and feet are, how far soles are under
the floor that they stand on, how far standing feet slide, how deep forearms and hands are in the body.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ..body import Humanoid
from ..body.carrying import is_on_gpu
from ..body.roles import named_parts
from ..compute import PosableError, Status, UnknownNameError, expect
from ..compute.types import Bools, Floats
from ..skeleton import Motion, Pose
from ..skeleton.solution import MotionSolution
from .bounds import Bound, make_bounds
from .clip import read_clip
from .contacts import Contact, foot_contacts, hand_contacts
from .dragging import REACHED_WITHIN, Dragger, judged
from .goals import goals_of
from .jumps import changes, smoothed_change, without_jumps
from .keep_out import arm_depths, arms_out
from .soles import Soles, SoleTrack, ankle_positions, every_floor, floors, placements
from .stances import runs
from .toes import toes_on_floor
from .weights import fit_weights
from .windows import Window, joined_contacts, windows_of

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
BLOCK = 4096  # frames that are measured at once
INSIDE = 0.005
"""[m]: a forearm or hand that is that much deeper in the body than the source's is a collision."""


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
        weights: "identity" (default), or "clip" for weights fitted to the whole motion, to each window of a long one.
        limits: of the target, as for `MotionEditor`; by default its own. A joint that is outside of them in the motion
            stays so, but goes no further out. "clip" is the range of the whole motion, of each window of a long one.
        iterations: number of steps of damped least squares for each frame; default 4.
        keep_out: whether forearms and hands are kept out of the target's body, by swivels of the elbow and by hands
            that give way; default True.
    """
    require_cpu(motion)
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
    return _Retargeting(motion, source, target, contacts, weights, limits, iterations, keep_out).solution()


def require_cpu(motion: Motion) -> None:
    """Raise where a motion is none, or lies on a GPU."""
    expect(Motion, motion, "motion")
    if is_on_gpu(motion.pose):
        raise PosableError(
            "retarget needs a motion of the CPU: where feet stand, on what, and what they need of each other is found "
            "from all its frames together; on a GPU, target.pose(source.canonical(motion.pose)) brings over the "
            "postures alone"
        )


class _Retargeting:
    """One call of `retarget`: what is known of the whole motion; window by window the poses; what is said of them."""

    def __init__(
        self,
        motion: Motion,
        source: Humanoid,
        target: Humanoid,
        hands: bool,
        weights: str,
        limits: Bound | Iterable[Bound],
        iterations: int,
        keep_out: bool,
    ) -> None:
        self.motion, self.source, self.target = motion, source, target
        self.weights, self.limits, self.iterations, self.keep_out = weights, limits, iterations, keep_out
        self.ratio = target.leg_length / source.leg_length
        self.windows = windows_of(len(motion), motion.fps)
        self.contacts = _contacts(motion, source, self.windows, hands)
        self.stands = placements(self.contacts, len(motion))
        self.soles = (Soles(source), Soles(target))
        self.tracks = self.soles[0].tracks(motion.pose)
        self.surfaces = floors(self.stands, self.soles, self.tracks, self.ratio)
        self.carried, self.lost = _carried_over(motion, source, target)
        self.parts = tuple(role for role in ENDS if role in source.roles and role in target.roles)

    def solution(self) -> RetargetSolution:
        """Return the solution, what it says measured on the poses of all windows together."""
        count, joints = len(self.motion), len(self.target.skeleton)
        pose = Pose(np.empty((count, 3)), np.empty((count, joints, 4)))
        belong, gave = np.empty((count, len(self.parts), 3)), np.empty(count)
        allowed, limited = np.empty(count), np.empty(count, np.bool_)
        for window in self.windows:
            made = self._window(window)
            window.put_pose(made.pose, pose)
            window.put(made.belong, belong)
            for values, whole in ((made.gave, gave), (made.allowed, allowed), (made.limited, limited)):
                window.put_own(values, whole)
        ends = [g for g, part in enumerate(self.parts) if part != "head"]
        joint = [self.target.roles[self.parts[g]] for g in ends]
        errors, depth = np.empty((count, len(ends))), np.empty(count)
        for first in range(0, count, BLOCK):
            rows = slice(first, first + BLOCK)
            after = self.target.skeleton.forward(pose[rows])
            errors[rows] = np.linalg.norm(after.positions[:, joint] - belong[rows][:, ends], axis=-1)
            depth[rows] = arm_depths(self.target, after)
        sunk, slid = self._footing(self.soles[1].tracks(pose))
        worst = errors.max(axis=1, initial=0.0)
        broken = (sunk > SUNK) | (slid > SLID)
        status = judged(np.where(limited, Status.LIMITS, Status.REACHED), np.where(broken, np.inf, worst), 0.0, 0.0)
        deeper = depth > allowed + INSIDE
        status = np.where((status == Status.REACHED) & deeper, Status.COLLISION, status).astype(np.int8)
        roles = self.target.roles
        return RetargetSolution(
            self.motion.replace(skeleton=self.target.skeleton, pose=pose),
            status,
            worst,
            np.zeros(count),
            tuple(self.parts[g] for g in ends),
            errors,
            self.contacts,
            tuple(self.surfaces),
            sunk,
            slid,
            np.maximum(depth, 0.0),
            gave,
            limited,
            (*(role for role in self.source.roles if role not in roles), *self.lost),
            tuple(
                role for role in (*roles, *self.target.fingers) if role not in self.source.roles | self.source.fingers
            ),
            self.ratio,
        )

    def _window(self, window: Window) -> _Made:
        """Return the poses of one window, and what belongs to them."""
        rows, source, target, fps = window.rows, self.source, self.target, self.motion.fps
        clip = read_clip(self.motion[rows], source)
        found = window.contacts(self.contacts)
        stands, surfaces = window.placements(self.stands, self.surfaces)
        tracks = {side: track[rows] for side, track in self.tracks.items()}
        begun = _transferred(clip.motion, self.soles, self._base(rows))
        if self.soles[1].skinned:
            begun = toes_on_floor(target, begun, found, fps)
        made = read_clip(clip.motion.replace(skeleton=target.skeleton, pose=begun), target)
        dragger = Dragger(made, fit_weights(made, self.weights), make_bounds(made, self.limits))
        before = source.skeleton.forward(clip.motion.pose)
        goals = goals_of(clip, target, begun, self.parts, found)
        pose = smooth = begun
        for width in (*WIDTHS, 0.0):
            now = target.skeleton.forward(pose)
            for side in ("left", "right"):
                goals["position"][:, self.parts.index(f"{side}_foot")] = ankle_positions(
                    stands, surfaces, (self.soles[0], before), tracks, (self.soles[1], now), self.ratio, fps, side
                )
            pose, _, limited = dragger.pulled(smooth, goals, dragger.logs, self.iterations, begun)
            smooth = smoothed_change(smooth, pose, width * fps) if width else pose
        allowed = np.maximum(arm_depths(source, before) * target.joint_height / source.joint_height, 0.0)
        belonging = goals["position"].copy()
        hands = [g for g, part in enumerate(self.parts) if part.endswith("hand")]
        out = arms_out(target, pose, fps, allowed, found) if self.keep_out else pose
        while out is not pose:
            now = target.skeleton.forward(out)
            for g in hands:
                joint = target.roles[self.parts[g]]
                goals["position"][:, g], goals["orientation"][:, g] = (
                    now.positions[:, joint],
                    now.orientations[:, joint],
                )
            made_out, _, limited = dragger.pulled(out, goals, dragger.logs, self.iterations, begun)
            calm = _calmed(target, pose, out, made_out, self.ratio * float(changes(before.positions).max(initial=0.0)))
            if calm is out:
                pose = out = made_out
            else:
                out = calm
        pose = without_jumps(dragger, begun, pose, self.ratio * before.positions, fps)
        gave = np.linalg.norm(goals["position"] - belonging, axis=-1)[:, hands].max(axis=1, initial=0.0)
        return _Made(pose, goals["position"], gave, allowed, limited)

    def _base(self, rows: slice) -> Pose:
        """Return poses of the target in which joints without a role rotate as those of the same name."""
        rest = self.target.skeleton.rest.rotations
        moved = self.motion.pose.rotations[rows]
        rotations = np.broadcast_to(rest, (len(moved), *rest.shape)).copy()
        for k, j in self.carried.items():
            rotations[:, k] = moved[:, j]
        return Pose(np.zeros((len(moved), 3)), rotations)

    def _footing(self, now: dict[str, SoleTrack]) -> tuple[Floats, Floats]:
        """Return how far (F,) [m] feet are under their floors, and how far standing ones slide more than the source's.

        Args:
            now: how the soles of the target move.
        """
        slid = np.zeros(len(self.motion))
        under = every_floor(self.stands, self.surfaces, self.soles, self.tracks)
        sunk = np.max([floor - now[side].lowest for side, floor in under.items()], axis=0)
        for stand in self.stands:
            rows, then, after = stand.rows, self.tracks[stand.side], now[stand.side]
            least = np.full(stand.last - stand.first + 1, np.inf)
            for was, is_now, down in (
                (then.heel, after.heel, stand.heel[rows]),
                (then.ball, after.ball, stand.ball[rows]),
            ):
                moved = (is_now[rows] - self.ratio * was[rows])[:, [0, 2]]
                if down.any():
                    off = np.linalg.norm(moved - np.median(moved[down], axis=0), axis=-1)
                    least = np.minimum(least, np.where(down, off, np.inf))
            slid[rows] = np.maximum(slid[rows], least)
        return np.where(np.isfinite(sunk), sunk, 0.0), slid


@dataclass(frozen=True, eq=False)
class _Made:
    """The poses of one window (F,), and what is measured and judged of them."""

    pose: Pose
    belong: Floats
    """(F, E, 3) [m] where hands, feet and head belong."""
    gave: Floats
    """(F,) [m] how far a hand gave way."""
    allowed: Floats
    """(F,) [m] how deep arms may be in the body: as deep as the source's."""
    limited: Bools


def _contacts(motion: Motion, source: Humanoid, windows: Sequence[Window], hands: bool) -> tuple[Contact, ...]:
    """Return the contacts of a motion: of feet from all of it, of hands window by window."""
    found = [
        window.own_contacts(hand_contacts(read_clip(motion[window.rows], source)))
        for window in (windows if hands else ())
    ]
    return (*foot_contacts(motion, source), *joined_contacts(found))


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


def _carried_over(motion: Motion, source: Humanoid, target: Humanoid) -> tuple[dict[int, int], list[str]]:
    """Return the joints of the target without a role (a mitten's) that rotate as those of the same name, with these,
    where the two rigs agree about them, and the names of those that move and have no counterpart: roles of fingers.
    """
    shared = [*source.roles.values(), *(j for role, j in source.fingers.items() if role in target.fingers)]
    known = {j for joint in shared for j in source.skeleton.path(joint)} | {*source.spine}
    known |= {j for chain in source.segments.values() for j in chain}
    taken = {*target.roles.values(), *target.fingers.values(), *target.spine}
    taken |= {j for chain in target.segments.values() for j in chain}
    finger = {j: role for role, j in source.fingers.items()}
    carried, dropped = {}, []
    for j, name in enumerate(source.skeleton.names):
        moves = np.ptp(motion.pose.rotations[:, j], axis=0).max() > STILL
        if j in known or not moves:
            continue
        k = target.skeleton.names.index(name) if name in target.skeleton.names else -1
        alike = k >= 0 and k not in taken
        if alike and np.allclose(source.skeleton.rest.rotations[j], target.skeleton.rest.rotations[k], atol=1e-3):
            carried[k] = j
        else:
            dropped.append(finger.get(j, name))
    return carried, dropped


def moving_fingers(motion: Motion, body: Humanoid) -> list[str]:
    """Return the roles of the joints of fingers that move."""
    if len(motion) == 0:
        return []
    moves = np.ptp(motion.pose.rotations, axis=0).max(axis=-1) > STILL
    return [role for role, j in body.fingers.items() if moves[j]]


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
