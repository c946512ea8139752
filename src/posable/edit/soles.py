"""Soles on surfaces: where the undersides of a body's feet are, and where its ankles belong for them to stand.

The underside of a foot is its skin where the body has one: every vertex that its foot and toes carry, posed by linear
blend skinning. Rigs say nothing about it (the ankle of a character may be 5 cm or 20 cm above its sole), and human
proportions put the soles of characters centimetres under the floor. A body without a skin has a heel, a ball and a
tip by its proportions (`body.measures`).

A foot that stands keeps the point that it stands on, heel or ball, where it was, in leg lengths; from one to the other
it rolls over its own sole, however long. Between two placements the correction is interpolated by a curve without
kinks, so nothing leaps where a contact begins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from ..body import Humanoid
from ..body.measures import sole_of, sole_points
from ..compute.types import Bools, Floats, Ints
from ..math import conjugate, rotate
from ..skeleton import Frames, Pose
from ..skeleton.character import SkinnedMesh, Skinning
from .contacts import GROUND, Contact
from .stances import runs

GROUNDED = 0.04  # of a leg of 0.83 m [m]: a floor this near to height 0 is at 0; captures are off by so much
LOW = 0.015  # of the leg's length: what is this near to the lowest point of a foot belongs to its sole
ASTRAY = 0.15  # [m]: how far the rate at the end of a placement may carry a foot on its way to the next
RATE_FRAMES = 2
HARDLY = 0.002  # [m]: by which a sole may sink where toes shake
CALM = 0.015  # [s]: standard deviation of the filter on heights
LIFTING = (0.04, 0.03, 0.02, 0.02, 0.01, 0.01)
"""[s]: standard deviations of those on lifts of a foot that swings, one after the other: each lifts it by what is left
of what it is under the floor."""
SIDES = ("left", "right")
BLOCK = 4096  # frames that are posed at once


@dataclass(frozen=True, eq=False)
class SoleTrack:
    """How one sole of a body moves over F frames [m]."""

    lowest: Floats
    """(F,) the height of its lowest point."""
    heel: Floats
    """(F, 3) what a foot stands on: `Soles.standing_points`."""
    ball: Floats
    heel_height: Floats
    """(F,) the heights of `Soles.undersides`."""
    ball_height: Floats

    def __getitem__(self, rows: slice) -> SoleTrack:
        return SoleTrack(*(getattr(self, field.name)[rows] for field in fields(self)))


class Soles:
    """The undersides of a body's feet.

    Args:
        body: with or without a skin.
    """

    def __init__(self, body: Humanoid) -> None:
        self.body = body
        self._skins = {side: _foot_skin(body, side) for side in SIDES}
        self.anchors = {side: self._anchors(side) for side in SIDES}
        """Heel and ball (2, 3) [m] of each foot in the frame of its joint: what it rolls over."""

    @property
    def skinned(self) -> bool:
        """Whether both feet have a skin."""
        return all(skin is not None for skin in self._skins.values())

    def points(self, frames: Frames, side: str) -> Floats:
        """Return points (F, K, 3) [m] of the underside of a foot, among them the lowest."""
        skin = self._skins[side]
        if skin is not None:
            return np.asarray(skin.posed(frames), np.float64)
        foot = self.body.roles[f"{side}_foot"]
        toes = self.body.roles.get(f"{side}_toes", foot)
        rear, tip = sole_points(self.body, side)
        carried = [(foot, rear[0]), (foot, rear[1]), (toes, tip[0])]
        made = [frames.positions[..., j, :] + rotate(frames.orientations[..., j, :], p) for j, p in carried]
        return np.stack(made, axis=-2)

    def lowest(self, frames: Frames, side: str) -> Floats:
        """Return the height (F,) [m] of the lowest point of a foot."""
        return np.asarray(self.points(frames, side)[..., 1].min(axis=-1))

    def depth(self, side: str) -> float:
        """Return how far below the ankle the sole lies in the neutral pose [m]."""
        frames = self.body.neutral_frames
        return float(frames.positions[self.body.roles[f"{side}_foot"], 1] - self.lowest(frames, side))

    def standing_points(self, frames: Frames, side: str) -> tuple[Floats, Floats]:
        """Return heel and ball (F, 3) [m] of a foot."""
        foot = self.body.roles[f"{side}_foot"]
        position, orientation = frames.positions[..., foot, :], frames.orientations[..., foot, :]
        heel, ball = (position + rotate(orientation, anchor) for anchor in self.anchors[side])
        return heel, ball

    def undersides(self, frames: Frames, side: str) -> tuple[Floats, Floats]:
        """Return the undersides (F, 3) [m] of heel and ball of a foot, by its proportions."""
        foot, toes = self.body.roles[f"{side}_foot"], self.body.roles.get(f"{side}_toes")
        rear, _ = sole_points(self.body, side)
        heel, ball = (frames.positions[:, foot] + rotate(frames.orientations[:, foot], point) for point in rear)
        if toes is not None:
            ball = frames.positions[:, toes] - np.array([0.0, sole_of(self.body, side).hinge, 0.0])
        return heel, ball

    def tracks(self, pose: Pose) -> dict[str, SoleTrack]:
        """Return how both soles move in poses (F,), by side; a block of frames at once is posed."""
        count = len(pose.translation)
        found = {side: SoleTrack(np.empty(count), *np.empty((2, count, 3)), *np.empty((2, count))) for side in SIDES}
        for first in range(0, count, BLOCK):
            rows = slice(first, first + BLOCK)
            frames = self.body.skeleton.forward(pose[rows])
            for side, track in found.items():
                track.lowest[rows] = self.lowest(frames, side)
                track.heel[rows], track.ball[rows] = self.standing_points(frames, side)
                heel, ball = self.undersides(frames, side)
                track.heel_height[rows], track.ball_height[rows] = heel[:, 1], ball[:, 1]
        return found

    def _anchors(self, side: str) -> Floats:
        (heel, ball), _ = sole_points(self.body, side)
        frames = self.body.neutral_frames
        foot, toes = self.body.roles[f"{side}_foot"], self.body.roles.get(f"{side}_toes")
        back, ankle = conjugate(frames.orientations[foot]), frames.positions[foot]
        if self._skins[side] is not None:
            points = self.points(frames, side)
            low = points[points[:, 1] < points[:, 1].min() + LOW * self.body.leg_length]
            heel, ball = (rotate(back, low[k] - ankle) for k in (low[:, 2].argmin(), low[:, 2].argmax()))
        if toes is not None and frames.positions[toes, 2] - ankle[2] > 0.02 * self.body.leg_length:
            ball = rotate(back, frames.positions[toes] - ankle)
        return np.stack([heel, ball])


def _foot_skin(body: Humanoid, side: str) -> Skinning | None:
    """Return the skin of a foot, as few vertices as can ever be its lowest; None where there is none."""
    character, foot = body.skeleton.character, body.roles[f"{side}_foot"]
    if character is None:
        return None
    below = [j for j in range(len(body.skeleton)) if foot in body.skeleton.path(j)]
    parts = []
    for mesh in character.meshes:
        own = np.flatnonzero((mesh.weights * np.isin(mesh.joints, below)).sum(axis=1) > 0.5)
        if len(own):
            main = mesh.joints[own, mesh.weights[own].argmax(axis=1)]
            chosen = np.concatenate([own[main == j][_outside(mesh.vertices[own[main == j]])] for j in np.unique(main)])
            parts.append(_vertices_of(mesh, chosen))
    return Skinning.of_meshes(tuple(parts)) if parts else None


def _vertices_of(mesh: SkinnedMesh, chosen: Ints) -> SkinnedMesh:
    return replace(
        mesh,
        vertices=mesh.vertices[chosen],
        joints=mesh.joints[chosen],
        weights=mesh.weights[chosen],
        faces=np.zeros((0, 3), np.int32),
        colours=np.empty((0, 4), np.uint8),
    )


def _outside(points: Floats) -> Ints:
    """Return the points of the convex hull: no other one is the lowest, however the part is turned."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        return np.asarray(ConvexHull(points).vertices)
    except (QhullError, ValueError):  # a flat patch, or a few vertices
        return np.arange(len(points))


@dataclass(frozen=True, eq=False)
class Placement:
    """A foot that stands from frame `first` to frame `last`, on its heel, its ball or both."""

    side: str
    first: int
    last: int
    heel: Bools
    """(F,) of all frames: where its heel is down."""
    ball: Bools
    """(F,) where its ball is."""

    @property
    def rows(self) -> slice:
        """Its frames."""
        return slice(self.first, self.last + 1)

    @property
    def flattest(self) -> int:
        """The frame that it stands flat in, or the middle one of those in which it stands at all."""
        both = np.flatnonzero(self.heel[self.rows] & self.ball[self.rows])
        return self.first + int(both[len(both) // 2] if len(both) else (self.last - self.first) // 2)

    @property
    def rolled(self) -> Floats:
        """(last - first + 1,): 0 where it stands on its heel, 1 where on its ball, and from one to the other."""
        heel, ball = self.heel[self.rows], self.ball[self.rows]
        only = np.where(heel & ~ball, 0.0, np.where(ball & ~heel, 1.0, np.nan))
        known = np.flatnonzero(np.isfinite(only))
        if not len(known):
            return np.ones(len(only))  # a foot that turns does so about its ball
        return np.interp(np.arange(len(only)), known, only[known])


def placements(contacts: Sequence[Contact], frames: int) -> list[Placement]:
    """Return the placements of both feet; `frames` is how many frames there are."""
    found = []
    for side in SIDES:
        heel, ball = np.zeros((2, frames), np.bool_)
        for contact in contacts:
            if contact.on == GROUND and contact.part in (f"{side}_foot", f"{side}_toes"):
                (heel if contact.part.endswith("foot") else ball)[contact.first : contact.last + 1] = True
        found += [Placement(side, first, last, heel, ball) for first, last in runs(heel | ball)]
    return found


def floors(
    stands: Sequence[Placement], soles: tuple[Soles, Soles], tracks: dict[str, SoleTrack], ratio: float
) -> list[Floats]:
    """Return the height [m] of the surface under each placement on the target, in each of its frames.

    Under a skin it is one height, the median of that of the source's heel or ball, whichever is down (its toes are not
    asked, which are captured badly); at height 0 where it is near. Without a skin it is as high as the source's sole in
    each frame, since neither sole is known to a centimetre.

    Args:
        stands: the placements.
        soles: those of the source and of the target.
        tracks: of the source's soles.
        ratio: leg length of the target over that of the source.
    """
    found = []
    source, target = soles
    near = GROUNDED / 0.83 * target.body.leg_length
    for stand in stands:
        track = tracks[stand.side]
        heights = ratio * track.lowest[stand.rows]
        if target.skinned:
            if not source.skinned:
                heel, ball = (ratio * height[stand.rows] for height in (track.heel_height, track.ball_height))
                down = [np.where(rows[stand.rows], x, np.inf) for rows, x in ((stand.heel, heel), (stand.ball, ball))]
                heights = np.minimum(*down)
            level = float(np.median(heights))
            heights = np.full(len(heights), 0.0 if abs(level) < near else level)
        found.append(heights)
    return found


def ankle_positions(
    stands: Sequence[Placement],
    surfaces: Sequence[Floats],
    source: tuple[Soles, Frames],
    tracks: dict[str, SoleTrack],
    target: tuple[Soles, Frames],
    ratio: float,
    fps: float,
    side: str,
) -> Floats:
    """Return positions (F, 3) [m] of an ankle of the target for its sole to stand as the source's.

    Args:
        stands: the placements.
        surfaces: the heights under each of them.
        source: its soles, and the poses to follow.
        tracks: of its soles in these poses.
        target: its soles, and poses with the orientations that its feet will have.
        ratio: leg length of the target over that of the source.
        fps: frames per second.
        side: of the foot.
    """
    foot_then, foot_now = (one.body.roles[f"{side}_foot"] for one in (source[0], target[0]))
    old, new = source[1].positions[:, foot_then], target[1].positions[:, foot_now]
    base = ratio * old + np.array([0.0, target[0].depth(side) - ratio * source[0].depth(side), 0.0])
    base = base + _apart(source, target[0].body, ratio, side)
    under = target[0].lowest(target[1], side) - new[:, 1]
    points = (tracks[side].heel, tracks[side].ball)
    offsets = [rotate(target[1].orientations[:, foot_now], anchor) for anchor in target[0].anchors[side]]
    known, requested = [], []
    for stand, heights in zip(stands, surfaces, strict=True):
        if stand.side != side:
            continue
        rows, middle = stand.rows, stand.flattest
        heel, ball = (
            base[middle] + offset[middle] + ratio * (point[rows] - point[middle]) - offset[rows]
            for point, offset in zip(points, offsets, strict=True)
        )
        rolled = stand.rolled[:, None]
        ankle = (1.0 - rolled) * heel + rolled * ball
        ankle[:, 1] = heights - under[rows]
        known.append(np.arange(stand.first, stand.last + 1))
        requested.append(ankle - base[rows])
    if not known:
        return np.asarray(base)
    from scipy.ndimage import gaussian_filter1d, maximum_filter1d

    correction = _between(known, requested, len(base))
    # Toes are captured with noise, and a sole that follows them to the millimetre shakes the leg.
    exact, standing = correction[:, 1].copy(), np.isin(np.arange(len(base)), np.concatenate(known))
    correction[:, 1] = gaussian_filter1d(exact, CALM * fps, mode="nearest")
    sunk = np.where(standing, np.maximum(exact - correction[:, 1] - HARDLY, 0.0), 0.0)
    sunk = maximum_filter1d(sunk, 2 * round(CALM * fps) + 1)
    correction[:, 1] += gaussian_filter1d(sunk, CALM * fps, mode="nearest")
    placed = base + correction
    if not target[0].skinned:
        return np.asarray(placed)
    floor = every_floor(stands, surfaces, (source[0], target[0]), tracks)[side]
    for width in LIFTING:
        missing = np.where(standing, 0.0, np.maximum(floor - under - placed[:, 1], 0.0))
        placed[:, 1] += gaussian_filter1d(missing, width * fps, mode="nearest")
    return np.asarray(placed)


def _apart(source: tuple[Soles, Frames], target: Humanoid, ratio: float, side: str) -> Floats:
    """Return how much further out (F, 3) [m] a foot belongs on hips that are wider than the source's, times the ratio.

    Feet of a stocky character would cross otherwise, and its legs not reach the floor.
    """
    leg = f"{side}_upper_leg"
    out = float(_half_width(target, leg) - ratio * _half_width(source[0].body, leg))
    sideways = source[0].body.canonical_orientation(source[1], source[0].body.roles["hips"])
    return np.asarray(rotate(sideways, np.array([out, 0.0, 0.0])))


def _half_width(body: Humanoid, leg: str) -> float:
    """Return how far to the left of the middle of both legs' joints that of one lies in the neutral pose [m]."""
    positions = body.neutral_frames.positions
    middle = positions[[body.roles[f"{side}_upper_leg"] for side in SIDES], 0].mean()
    return float(positions[body.roles[leg], 0] - middle)


def every_floor(
    stands: Sequence[Placement],
    surfaces: Sequence[Floats],
    soles: tuple[Soles, Soles],
    tracks: dict[str, SoleTrack],
) -> dict[str, Floats]:
    """Return the height (F,) [m] that each foot of the target must not sink under; minus infinity where there is none.

    A foot that swings has the lower one of the two floors that it moves between, or one as low as the source's sole
    where that is clearly lower: it may end in a hole. A body without a skin has floors only where it stands.

    Args:
        stands: the placements.
        surfaces: the heights under each of them.
        soles: those of the source and of the target.
        tracks: of the source's soles.
    """
    ratio, near = soles[1].body.leg_length / soles[0].body.leg_length, GROUNDED / 0.83 * soles[1].body.leg_length
    found = {}
    for side in SIDES:
        own = [(stand, heights) for stand, heights in zip(stands, surfaces, strict=True) if stand.side == side]
        floor = np.full(len(tracks[side].lowest), -np.inf)
        if own and soles[1].skinned:
            rows = [np.arange(stand.first, stand.last + 1) for stand, _ in own]
            between = _floor_between(rows, [heights for _, heights in own], len(floor))
            floor = np.minimum(between, ratio * tracks[side].lowest + near)
        for stand, heights in own:
            floor[stand.rows] = heights
        found[side] = floor
    return found


def _between(known: Sequence[Ints], requested: Sequence[Floats], count: int) -> Floats:
    """Return corrections (F, 3): those requested in their frames, cubic in between, kept before and after them.

    The curve leaves each stretch with the rate that it ends with, as far as that does not lead astray.
    """
    made = np.empty((count, 3))
    made[: known[0][0]], made[known[-1][-1] :] = requested[0][0], requested[-1][-1]
    for rows, values in zip(known, requested, strict=True):
        made[rows] = values
    for rows, values, later, others in zip(known, requested, known[1:], requested[1:], strict=False):
        start, end = int(rows[-1]), int(later[0])
        span = end - start
        few, few_later = min(RATE_FRAMES, len(values) - 1), min(RATE_FRAMES, len(others) - 1)
        leaving = (values[-1] - values[-1 - few]) / max(few, 1)
        arriving = (others[few_later] - others[0]) / max(few_later, 1)
        t = (np.arange(start + 1, end) - start)[:, None] / span
        most = ASTRAY / span
        leaving, arriving = np.clip(leaving, -most, most), np.clip(arriving, -most, most)
        made[start + 1 : end] = (
            (2 * t**3 - 3 * t**2 + 1) * values[-1]
            + (t**3 - 2 * t**2 + t) * span * leaving
            + (3 * t**2 - 2 * t**3) * others[0]
            + (t**3 - t**2) * span * arriving
        )
    return made


def _floor_between(known: Sequence[Ints], heights: Sequence[Floats], count: int) -> Floats:
    """Return the height (F,) [m] under which a foot must not sink: the lower floor of the two that it moves between."""
    floor = np.empty(count)
    floor[: known[0][0]], floor[known[-1][-1] :] = heights[0][0], heights[-1][-1]
    for rows, values in zip(known, heights, strict=True):
        floor[rows] = values
    for rows, before, later, after in zip(known, heights, known[1:], heights[1:], strict=False):
        floor[rows[-1] + 1 : later[0]] = min(float(before[-1]), float(after[0]))
    return floor
