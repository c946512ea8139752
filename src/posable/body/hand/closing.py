"""A hand that closes on an object: each finger curls until it touches, and never goes through.

Fingers curl from one shape of the hand to another, all joints of a finger together. When a bone touches, its own joint
and those before it stop, and the joints after it go on, until the tip touches as well or the shape is reached: so
fingers wrap around what they hold, as those of underactuated hands do (Birglen, Laliberte and Gosselin 2008).

No finger passes an obstacle, however thin: the way is advanced conservatively (Mirtich 1996). With a gap d to the
nearest obstacle, and no point of what still moves faster than v for each unit of the way, a step of d / v cannot reach
it. Each step is `FRACTION` of that, until the gap is below `TOUCHING`.

Volumes of fingers are the body's own where it has them, rounded cones around the bones otherwise: as thick as the skin
around them, else as the fingers of a person of that size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...collision import Scene, Volumes
from ...collision.scene import all_gaps
from ...compute import PosableError, Status, UnknownNameError, expect, number
from ...compute.types import Floats, Ints, Records
from ...math import angle, conjugate, multiply, rotate, slerp
from ...skeleton import Pose
from ...skeleton.solution import PoseSolution
from ..canonical import MIRROR
from ..measures import expected_stature
from .frames import finger_chains, finger_tip
from .shapes import JOINTS, HandShape, as_shape, fingers_of, inside_limits, near, with_fingers

if TYPE_CHECKING:
    from ..humanoid import Humanoid

TOUCHING = 1e-4
"""[m] A finger touches what is nearer than this."""
FRACTION, MOST_STEPS = 0.95, 2000
OPENINGS = 8
"""How many shapes on the way to a stretched hand are tried where that which fingers begin in is in an obstacle."""
INSIDE = 1e-6
"""[m] A finger that is deeper in an obstacle collides with it."""
GIRTHS, THUMB = (0.0100, 0.0092, 0.0083, 0.0074), 1.3
"""[m] Radii of a finger of a person of 1.75 m, from the knuckle to the tip; a thumb's are so much larger."""
GRIPS = ("cylinder", "ball")
MOST_RADIUS = 10.0  # [m]
IN_PALM = 0.9
"""Where the middle of what is gripped lies, of the way from the wrist to the knuckles."""
ALONG_Z = (np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0)
"""The orientation of a cylinder that lies across a hanging hand."""
LEAST_SKIN = 6  # vertices around a bone that say how thick it is


@dataclass(frozen=True, eq=False, repr=False)
class HandSolution(PoseSolution):
    """A hand closed on what the scene has.

    REACHED where every finger touches; UNREACHABLE where a finger closed without touching anything; COLLISION where one
    is in an obstacle however far it opens, and stays where it is least so. `position_error` is the largest distance of
    a finger from the obstacles [m].
    """

    fingers: tuple[str, ...]
    """(K,) "left_thumb", "left_index" and so on, those that the hand has."""
    finger_status: NDArray[np.int8]
    """(K,) of `Status`, for each finger by itself."""
    gaps: Floats
    """(K,) [m]: distance of each finger from the nearest obstacle in the returned pose, below 0 where it is inside."""
    touched: tuple[str, ...]
    """(K,) the obstacle that is nearest to each finger, "" where there is none."""
    closed: Floats
    """(K,) how far each finger has closed: 0 as it began, 1 as in the shape that it closes to (its last joint)."""


def close_hand(
    body: Humanoid, pose: Pose, side: str, scene: Scene, start: HandShape | str | None, end: HandShape | str
) -> HandSolution:
    """Return the pose with a hand closed on a scene: see `Humanoid.close_hand`."""
    expect(Scene, scene, "scene")
    if pose.shape:
        raise PosableError(f"pose is a batch of shape {pose.shape}; a hand closes in one pose at a time")
    if not pose.is_finite():
        raise PosableError("pose has numbers that are not finite")
    fingers_of(body, side)
    hand = _Hand(body, pose, side, start, end)
    hand.open_up(scene)
    hand.close(scene)
    return hand.solution(scene)


class _Hand:
    """The fingers of a hand as they close: K fingers of up to three joints, R joints in all."""

    def __init__(
        self, body: Humanoid, pose: Pose, side: str, start: HandShape | str | None, end: HandShape | str
    ) -> None:
        self.body, self.pose, self.side = body, pose, side
        self.chains = [chain for chain in finger_chains(body.fingers) if chain[0].startswith(side)]
        self.roles = [role for chain in self.chains for role in chain]
        self.finger = np.repeat(np.arange(len(self.chains)), [len(chain) for chain in self.chains])
        self.rank: Ints = np.concatenate([np.arange(len(chain)) for chain in self.chains])
        """(R,) which joint of its finger each is."""
        self.joints = np.array([body.fingers[role] for role in self.roles])
        frames = body.skeleton.forward(pose)
        self.bases = np.array([body.neutral_orientation(role) for role in self.roles])
        self.hand = body.canonical_orientation(frames, body.index(f"{side}_hand"))
        self.roots = np.array([frames.positions[body.fingers[chain[0]]] for chain in self.chains])
        self.steps = _steps(body, pose, self.joints, self.rank)
        self.volumes = finger_volumes(body, self.roles)
        ends = [HandShape.of(body, pose, side) if start is None else as_shape(start), as_shape(end)]
        self.start, self.end = (self._rotations(shape, side) for shape in ends)
        self.end = near(self.start, self.end)
        self.angles = angle(self.start, self.end)
        self.progress = np.zeros(len(self.roles))
        self.levers = self._levers()

    def _rotations(self, shape: HandShape, side: str) -> Floats:
        """(R, 4) canonical rotations of the fingers' joints, inside their limits."""
        if shape.rotations.ndim != 2:
            raise PosableError(f"a hand closes from one shape to one shape; this is {shape!r}")
        given = shape.rotations if side == "left" else shape.rotations * MIRROR
        named = {role: given[JOINTS.index(role.partition("_")[2])] for role in self.roles}
        inside = inside_limits(self.body, named)
        return np.array([inside[role] for role in self.roles])

    def _levers(self) -> Floats:
        """(R, R) [m]: how far a point of joint b's volumes can be from joint a, of the same finger and before it or at
        it; 0 for others.
        """
        levers = np.zeros((len(self.roles), len(self.roles)))
        packed = self.volumes.packed
        reach = np.zeros(len(self.roles))
        ends = [np.linalg.norm(packed[end], axis=-1) + packed["radii"].max(axis=-1) for end in ("start", "end")]
        np.maximum.at(reach, packed["joint"], np.maximum(*ends))
        lengths = np.linalg.norm(self.steps, axis=-1)
        for b in range(len(self.roles)):
            away = reach[b]
            for a in range(b, b - int(self.rank[b]) - 1, -1):
                levers[a, b] = away
                away += lengths[a]
        return levers

    def rotations(self, progress: Floats) -> Floats:
        """(R, 4) canonical rotations of the fingers' joints, so far along their way (R,)."""
        return slerp(self.start, self.end, progress)

    def frames(self, progress: Floats) -> tuple[Floats, Floats]:
        """Positions (R, 3) [m] and orientations (R, 4) in the world of the fingers' joints, so far along their way."""
        local = self.rotations(progress)
        canonical, positions = np.empty_like(local), np.empty((len(local), 3))
        orientations = np.empty_like(local)
        for rank in range(int(self.rank.max()) + 1):
            rows = np.flatnonzero(self.rank == rank)
            before = np.broadcast_to(self.hand, (len(rows), 4)) if rank == 0 else canonical[rows - 1]
            canonical[rows] = multiply(before, local[rows])
            orientations[rows] = multiply(canonical[rows], self.bases[rows])
            if rank == 0:
                positions[rows] = self.roots[self.finger[rows]]
            else:
                positions[rows] = positions[rows - 1] + rotate(orientations[rows - 1], self.steps[rows])
        return positions, orientations

    def open_up(self, scene: Scene) -> None:
        """Let fingers that begin inside an obstacle begin further open, as far as they must or as helps most."""
        begun, spread = self.start, self._rotations(as_shape("stretched"), self.side)
        best, least = begun, self._finger_gaps(scene)
        for weight in np.linspace(0.0, 1.0, OPENINGS + 1)[1:]:
            if (least >= 0.0).all():
                break
            self.start = np.where((least < 0.0)[self.finger][:, None], slerp(begun, near(begun, spread), weight), best)
            gaps = self._finger_gaps(scene)
            better = gaps > least
            best, least = np.where(better[self.finger][:, None], self.start, best), np.maximum(gaps, least)
        self.start = best
        self.end = near(self.start, self.end)
        self.angles = angle(self.start, self.end)

    def _finger_gaps(self, scene: Scene) -> Floats:
        """(K,) [m] distance of each finger, as it begins, from the nearest obstacle."""
        gaps = self.gaps(scene, np.zeros(len(self.roles)))[0]
        return np.array([gaps[rows].min() for rows in self._rows()])

    def close(self, scene: Scene) -> None:
        """Move all fingers until they touch or have closed."""
        moving = np.ones(len(self.roles), np.bool_)
        for _ in range(MOST_STEPS):
            gaps = self.gaps(scene, self.progress)[0]
            for row in np.flatnonzero(gaps <= TOUCHING):  # it stops, and what is before it
                moving[row - int(self.rank[row]) : row + 1] = False
            moving &= self.progress < 1.0
            if not moving.any():
                break
            # A bone moves as far as the joints before it that still move, and its own, can swing it.
            speeds = ((moving * self.angles)[:, None] * self.levers).sum(axis=0)
            free = np.where(speeds > 0.0, np.maximum(gaps, 0.0) / np.maximum(speeds, 1e-12), np.inf)
            allowed = np.full(len(self.chains), np.inf)
            np.minimum.at(allowed, self.finger, free)
            step = np.minimum(FRACTION * allowed[self.finger], 1.0)
            self.progress = np.where(moving, np.minimum(self.progress + step, 1.0), self.progress)

    def gaps(self, scene: Scene, progress: Floats) -> tuple[Floats, list[str]]:
        """(R,) [m] distance of each joint's volumes from the nearest obstacle, infinite without, and its name."""
        positions, orientations = self.frames(progress)
        packed, best = self.volumes.packed, np.full(len(self.roles), np.inf)
        names = [""] * len(self.roles)
        rows, known = scene.packed, scene.names
        found = all_gaps(packed, positions, orientations, rows) if len(rows) else np.zeros((len(packed), 0))
        for v, joint in enumerate(packed["joint"]):
            if found.shape[1] and (nearest := found[v].min()) < best[joint]:
                best[joint], names[joint] = nearest, known[int(rows[int(found[v].argmin())]["source"])]
            for obstacle in scene.meshes:
                mesh, frame = obstacle.placed_mesh
                away, _ = mesh.distance(np.array(packed[v : v + 1]), positions, orientations, frame)
                if away < best[joint]:
                    best[joint], names[joint] = away, obstacle.name
        return best, names

    def solution(self, scene: Scene) -> HandSolution:
        """The pose, and what its fingers do, measured on it."""
        progress = self.progress
        pose = with_fingers(self.body, self.pose, dict(zip(self.roles, self.rotations(progress), strict=True)))
        gaps, names = self.gaps(scene, progress)
        nearest = [int(rows[np.argmin(gaps[rows])]) for rows in self._rows()]
        worst, status = gaps[nearest], np.full(len(self.chains), Status.UNREACHABLE, np.int8)
        status[worst <= TOUCHING] = Status.REACHED
        status[worst < -INSIDE] = Status.COLLISION
        order = (Status.COLLISION, Status.UNREACHABLE, Status.REACHED)
        whole = next(one for one in order if (status == one).any())
        return HandSolution(
            pose,
            whole,
            np.asarray(np.abs(worst).max()),
            np.asarray(0.0),
            tuple(chain[0].rpartition("_")[0] for chain in self.chains),
            status,
            worst,
            tuple(names[row] for row in nearest),
            progress[[int(rows[-1]) for rows in self._rows()]],
        )

    def _rows(self) -> list[Ints]:
        return [np.flatnonzero(self.finger == k) for k in range(len(self.chains))]


def _steps(body: Humanoid, pose: Pose, joints: Ints, rank: Ints) -> Floats:
    """(R, 3) [m]: from the joint of a finger before each to it, in the frame of that one; zero for first joints."""
    skeleton, steps = body.skeleton, np.zeros((len(joints), 3))
    offsets = skeleton.offsets if pose.offsets is None else pose.offsets
    for row, joint in enumerate(joints):
        if rank[row]:
            path = [*skeleton.path(int(joint))]
            between = path[path.index(int(joints[row - 1])) + 1 :]
            rotation = np.array([1.0, 0.0, 0.0, 0.0])
            for j in between:
                steps[row] += rotate(rotation, offsets[j])
                rotation = multiply(rotation, pose.rotations[j])
    return steps


def grip(body: Humanoid, radius: float, kind: str, side: str) -> HandShape:
    """Return the shape of a hand around a cylinder or a ball: see `HandShape.grip`."""
    if kind not in GRIPS:
        raise UnknownNameError("kind of a grip", kind, GRIPS)
    if not 0.0 < number(radius) <= MOST_RADIUS:
        raise PosableError(f"radius is {radius!r}; expected metres above 0 and up to {MOST_RADIUS:g}")
    fingers_of(body, side)
    pose, frames, hand = body.neutral_pose, body.neutral_frames, body.index(f"{side}_hand")
    wrist, inwards = frames.positions[hand], np.array([-1.0 if side == "left" else 1.0, 0.0, 0.0])
    knuckles = [frames.positions[body.fingers[chain[0]]] for chain in finger_chains(body.fingers) if side in chain[0]]
    middle = np.mean(knuckles, axis=0) - wrist
    at = wrist + np.array([0.0, IN_PALM * float(min(point[1] for point in knuckles) - wrist[1]), middle[2]])
    packed = body.volumes.packed
    palm = np.array(packed[packed["joint"] == hand])
    away = radius + body.measures["hand"]
    while True:  # from afar until it touches the palm
        scene = Scene()
        if kind == "ball":
            scene.sphere(kind, radius, at + away * inwards)
        else:
            scene.capsule(kind, radius, 4.0 * body.measures["hand"], at + away * inwards, ALONG_Z)
        gap = float(all_gaps(palm, frames.positions, frames.orientations, scene.packed).min()) if len(palm) else 0.0
        if gap <= TOUCHING:
            break
        away -= max(gap - 0.5 * TOUCHING, 0.5 * TOUCHING)
    closed = close_hand(body, pose, side, scene, "ready", "closed")
    return HandShape.of(body, closed.pose, side)


def finger_volumes(body: Humanoid, roles: Sequence[str]) -> Volumes:
    """The volumes of joints of fingers, carried by 0 for the first role, 1 for the second and so on."""
    joints = {body.fingers[role]: row for row, role in enumerate(roles)}
    own = body.volumes.packed[np.isin(body.volumes.packed["joint"], list(joints))]
    if {*own["joint"].tolist()} == {*joints}:
        return _carried(own, joints)
    size = expected_stature(body) / 1.75
    frames = body.neutral_frames
    starts, ends, radii = np.zeros((len(roles), 3)), np.zeros((len(roles), 3)), np.zeros((len(roles), 3))
    for chain in finger_chains(roles):
        points = [frames.positions[body.fingers[role]] for role in chain]
        tip = finger_tip(frames, body.fingers[chain[-1]])
        before = points[-2] if len(points) > 1 else frames.positions[body.index(f"{chain[0].partition('_')[0]}_hand")]
        points.append(points[-1] + 0.75 * (points[-1] - before) if tip is None else tip)
        for k, role in enumerate(chain):
            row, joint = roles.index(role), body.fingers[role]
            ends[row] = rotate(conjugate(frames.orientations[joint]), points[k + 1] - points[k])
            girth = size * np.array(GIRTHS[k : k + 2]) * (THUMB if "thumb" in role else 1.0)
            radii[row, :2] = girth if (skin := _skin_girth(body, joint, ends[row])) is None else skin
    return Volumes(range(len(roles)), ["capsule"] * len(roles), starts, ends, radii, names=tuple(roles))


def _carried(own: Records, joints: dict[int, int]) -> Volumes:
    kinds = ["capsule" if kind == 0 else "ellipsoid" for kind in own["kind"]]
    rows = [joints[int(j)] for j in own["joint"]]
    return Volumes(rows, kinds, own["start"], own["end"], own["radii"], rotations=own["rotation"])


def _skin_girth(body: Humanoid, joint: int, bone: Floats) -> float | None:
    """How thick the skin around a bone (3,) of a joint is [m]: the median of its vertices; None where there are few."""
    character = body.skeleton.character
    away: list[Floats] = []
    for mesh in () if character is None else character.meshes:
        main = mesh.joints[np.arange(len(mesh.joints)), mesh.weights.argmax(axis=1)]
        here = mesh.vertices[main == joint]
        seen = rotate(conjugate(mesh.bind_orientations[joint]), here - mesh.bind_positions[joint])
        along = np.clip(seen @ bone / max(float(bone @ bone), 1e-12), 0.0, 1.0)
        away.append(np.linalg.norm(seen - along[:, None] * bone, axis=-1))
    found = np.concatenate(away) if away else np.zeros(0)
    return float(max(np.median(found), 1e-4)) if len(found) >= LEAST_SKIN else None
