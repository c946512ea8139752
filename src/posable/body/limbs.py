"""`BodyLimb`: an arm or a leg of a body, between its own frame and poses of the body in the world."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..compute import PosableError, Status, UnknownNameError
from ..compute.types import ArrayLike, Bools, Floats, Ints, Records
from ..limb import Limb, Obstacles, Search, Target
from ..limb.model import ROLES, SIDES
from ..limits import Limits
from ..math import conjugate, exp, from_matrix, multiply, rotate
from ..skeleton import Frames, Pose
from .limb_kernels import DRIVEN, PLACE, READING, pose_rows, read_rows
from .roles import parent_role

if TYPE_CHECKING:
    from ..collision import Scene
    from .humanoid import Humanoid

TWISTERS = ("twist", "roll")  # parts of joint names that say: this joint only hands out a bone's twist
MISSED = 1e-6  # [m]: further from its target than this, a part has not reached it


@dataclass(frozen=True, eq=False)
class LimbReading:
    """A limb as it is in a pose, in the limb's frame."""

    position: Floats
    """(..., 3) [m]: of the hand or foot joint."""
    orientation: Floats
    """(..., 4): of the hand or foot; the identity at zero posture."""
    swivel: Floats
    """(...) [rad]."""
    values: Floats
    """(..., 7) [rad]: what the seven values can say of the posture."""
    remainders: Floats
    """(..., K, 4): what they cannot, for each joint of the limb; `pose` puts it back."""


@dataclass(frozen=True, eq=False)
class Placement:
    """A body with a hand or a foot put somewhere."""

    pose: Pose
    status: Any
    """A `Status`, or an int8 array of them."""
    residual: Floats
    """(...) [m]: how far the part stayed from its target."""
    orientation_residual: Floats
    """(...) [rad]: and how far from the orientation asked for."""
    swivel: Floats
    """(...) [rad]."""
    tests: Ints
    """(...): swivels tested."""

    @property
    def ok(self) -> Any:
        """Whether the target was reached."""
        return np.equal(self.status, Status.REACHED) if isinstance(self.status, np.ndarray) else self.status.ok


class BodyLimb(Limb):
    """A limb that knows its body: made by `Humanoid.limb`.

    Where a rig hands out the twist of a bone over several joints, they share it by their place along the bone.
    """

    def __init__(
        self,
        body: Humanoid,
        name: str,
        limits: Limits | None,
        search: Search | None = None,
        reference: str = "transport",
    ) -> None:
        if name not in ROLES:
            raise UnknownNameError("limb", name, ROLES)
        self.body = body
        base, mid, end = body.limb_joints(name)
        places = body.skeleton.forward(body.neutral_pose).positions
        upper, lower = (float(np.linalg.norm(places[b] - places[a])) for a, b in ((base, mid), (mid, end)))
        super().__init__(name, upper, lower, limits=limits, search=search, reference=reference)
        self._place = _place(body, name)
        self._driven = _driven(body, base, mid, end)

    def read(self, pose: Pose, frames: Frames | None = None) -> LimbReading:
        """The limb as it is in a pose or a batch of them."""
        frames = self.body.skeleton.forward(pose) if frames is None else frames
        n, count = math.prod(pose.shape), len(self.body.skeleton)
        out, rest = np.zeros(n, READING), np.empty((n, len(self._driven), 4))
        places, turned = frames.positions.reshape(n, count, 3), frames.orientations.reshape(n, count, 4)
        read_rows(n, self._model(pose, frames), self._place, self._driven, places, turned, out, rest)
        told = out.reshape(pose.shape)
        rest = rest.reshape(*pose.shape, -1, 4)
        return LimbReading(told["position"], told["orientation"], told["swivel"], told["values"], rest)

    def pose(self, pose: Pose, values: ArrayLike, reading: LimbReading | None = None) -> Pose:
        """The pose with this limb turned to `values` (..., 7) [rad]; the rig's remainders stay as they are.

        Args:
            pose: one, or a batch with the shape of the values.
            values: as `solve` gives them.
            reading: `read(pose)`, when it is at hand already.
        """
        skeleton = self.body.skeleton
        given = np.asarray(values, dtype=np.float64)
        shape = np.broadcast_shapes(pose.shape, given.shape[:-1])
        pose = _spread(pose, shape)
        frames = skeleton.forward(pose)
        reading = self.read(pose, frames) if reading is None else reading
        n, count = math.prod(shape), len(skeleton)
        rotations = pose.rotations.reshape(n, count, 4).copy()
        turned = frames.orientations.reshape(n, count, 4).copy()
        rows = np.ascontiguousarray(np.broadcast_to(given, (*shape, 7))).reshape(n, 7)
        rest = np.broadcast_to(reading.remainders, (*shape, len(self._driven), 4)).reshape(n, -1, 4)
        pose_rows(
            n,
            skeleton.packed,
            self._model(pose, frames),
            self._place,
            self._driven,
            rows,
            np.ascontiguousarray(rest),
            turned,
            rotations,
        )
        return pose.replace(rotations=rotations.reshape(pose.rotations.shape))

    def obstacles(
        self, pose: Pose, scene: Scene | None = None, *, itself: bool = True, margin: float = 0.0
    ) -> Obstacles:
        """What this limb must keep out of in a pose: the rest of the body, and the primitives of a scene.

        Args:
            pose: one, or a batch; only the rest of the body matters.
            scene: obstacles in the world. Its meshes are not among them: `place` asks them by themselves.
            itself: whether the body's own volumes count.
            margin: to keep away from everything [m].
        """
        from .obstacles import limb_links, limb_obstacles

        made = limb_links(self.body, self.name)
        rows = limb_obstacles(self.body, self.name, self.body.skeleton.forward(pose), scene, itself=itself)
        return Obstacles(
            made.links, made.groups, np.ascontiguousarray(rows.reshape(math.prod(pose.shape), rows.shape[-1])), margin
        )

    def place(
        self, pose: Pose, target: Target, *, scene: Scene | None = None, itself: bool = False, **options: Any
    ) -> Placement:
        """The pose with this limb's end at a target in the world.

        Args:
            pose: one, or a batch that broadcasts with the target.
            target: where, how turned, and where the elbow or knee turns to.
            scene: what the limb must keep out of.
            itself: whether it must also keep out of the body it belongs to.
            **options: for `solve`.
        """
        goal = np.asarray(target.position, dtype=np.float64)
        turn = None if target.orientation is None else np.asarray(target.orientation, dtype=np.float64)
        shape = np.broadcast_shapes(pose.shape, goal.shape[:-1], () if turn is None else turn.shape[:-1])
        pose = _spread(pose, shape)
        frames = self.body.skeleton.forward(pose)
        reading, model = self.read(pose, frames), self._model(pose, frames)
        frame, origin = self._frame(frames)
        position = rotate(conjugate(frame), goal - origin)
        orientation = None if turn is None else self._end_in_limb(frame, turn)
        if target.pole is not None:
            options["preferred"] = self._towards(
                model, position, rotate(conjugate(frame), np.asarray(target.pole) - origin)
            )
        if scene is not None or itself:
            options["obstacles"] = self.obstacles(pose, scene, itself=itself, margin=options.pop("margin", 0.0))
        if scene is not None and scene.has_meshes:
            options["collides"] = self._against_meshes(scene, frame, origin, options.get("collides"))
        answer = self.solve(position, orientation, wrist=reading.values[..., 4:], model=model, **options)
        posed = self.pose(pose, answer.values, reading)
        away = np.linalg.norm(
            self.body.skeleton.forward(posed).positions[..., self._place["end"][0], :] - goal, axis=-1
        )
        invalid = np.equal(answer.status, Status.INVALID)
        status = np.where(np.equal(answer.status, Status.REACHED) & (away > MISSED), Status.UNREACHABLE, answer.status)
        if invalid.any():
            posed = _kept(pose, posed, invalid)
            away = np.where(invalid, np.inf, away)
        told: Any = status.astype(np.int8) if shape else Status(int(status))
        return Placement(posed, told, away, answer.orientation_residual, answer.swivel, answer.tests)

    def _against_meshes(
        self, scene: Scene, frame: Floats, origin: Floats, also: Callable[[Floats, float], bool] | None
    ) -> Callable[[Floats, float], bool]:
        """A test of postures against the meshes of a scene (one pose at a time), after a test of the user's own."""
        from .obstacles import limb_links

        if frame.ndim != 1:
            raise PosableError(f"meshes are asked for one pose at a time; this is a batch of {frame.shape[:-1]}")
        links = limb_links(self.body, self.name).links

        def collides(values: Floats, swivel: float) -> bool:
            if also is not None and also(values, swivel):
                return True
            places, turns = self._joints(values)
            return scene.meshes_touch(links, origin + rotate(frame, places), multiply(frame, turns))

        return collides

    def _joints(self, values: Floats) -> tuple[Floats, Floats]:
        """(places (3, 3), orientations (3, 4)) of base, mid and end in the limb's frame."""
        frames = self.forward(values)
        base = multiply(exp([values[0], values[1], 0.0]), exp([0.0, 0.0, values[2]]))
        middle = multiply(multiply(base, exp([0.0, values[3], 0.0])), exp([0.0, 0.0, values[4]]))
        return np.stack([np.zeros(3), frames.mid, frames.end]), np.stack([base, middle, frames.orientation])

    def _model(self, pose: Pose, frames: Frames) -> Records:
        """The limb as kernels read it: one row, or a row a pose where poses move joints and so change its bones."""
        if pose.offsets is None:
            return self.packed
        base, mid, end = (frames.positions[..., self._place[name][0], :] for name in ("base", "mid", "end"))
        rows = np.repeat(self.packed, math.prod(pose.shape))
        rows["upper"] = np.maximum(np.linalg.norm(mid - base, axis=-1), 1e-6).reshape(-1)
        rows["lower"] = np.maximum(np.linalg.norm(end - mid, axis=-1), 1e-6).reshape(-1)
        return rows

    def _frame(self, frames: Frames) -> tuple[Floats, Floats]:
        """(orientation (..., 4), origin (..., 3)) of the limb's frame in the world."""
        place = self._place[0]
        neutral = np.array([place["cw"], place["cx"], place["cy"], place["cz"]])
        carrier = multiply(frames.orientations[..., place["carrier"], :], conjugate(neutral))
        axes = from_matrix(np.array(SIDES[self.name].axes, dtype=np.float64).T)
        return multiply(carrier, axes), frames.positions[..., place["base"], :]

    def _end_in_limb(self, frame: Floats, canonical: Floats) -> Floats:
        """A canonical world orientation of the hand or foot as one of the limb's frame."""
        row = self.packed[0]
        back = np.array([row["bw"], row["bx"], row["by"], row["bz"]])
        return multiply(multiply(conjugate(frame), canonical), conjugate(back))

    def _towards(self, model: Records, position: Floats, pole: Floats) -> Floats:
        """The swivel (...) [rad] at which the mid joint turns towards a pole, both in the limb's frame."""
        from .limb_kernels import swivels_towards

        shape = np.broadcast_shapes(position.shape[:-1], pole.shape[:-1])
        out = np.empty(math.prod(shape))
        a, b = (np.ascontiguousarray(np.broadcast_to(v, (*shape, 3))).reshape(-1, 3) for v in (position, pole))
        swivels_towards(len(out), model, a, b, out)
        return out.reshape(shape)


def _place(body: Humanoid, name: str) -> Records:
    base, mid, end = body.limb_joints(name)
    carrier = parent_role(ROLES[name][0], body.roles)
    if carrier is None:
        raise PosableError(f"no part of this body carries the {name}")
    row = np.zeros(1, PLACE)
    row["base"], row["mid"], row["end"], row["carrier"] = base, mid, end, body.index(carrier)
    for letter, role in (("c", carrier), ("e", ROLES[name][2])):
        for axis, value in zip("wxyz", body.neutral_orientation(role), strict=True):
            row[f"{letter}{axis}"] = value
    return row


def _driven(body: Humanoid, base: int, mid: int, end: int) -> Records:
    """The joints the limb turns, its end aside: those on the way from base to end, and twist joints beside it."""
    skeleton = body.skeleton
    frames = skeleton.forward(body.neutral_pose)
    path = [j for j in skeleton.path(end) if j >= base and base in skeleton.path(j)]
    rows: list[tuple[int, int, float, Floats]] = []
    for lower, (first, last) in enumerate(((base, mid), (mid, end))):
        bone = frames.positions[last] - frames.positions[first]
        length = max(float(np.linalg.norm(bone)), 1e-9)
        way = path[path.index(first) : path.index(last)]
        beside = [k for j in way for k in skeleton.children(j) if k not in path and _is_twister(body, k)]
        at = {j: float((frames.positions[j] - frames.positions[first]) @ bone) / length**2 for j in [*way, *beside]}
        for j in sorted([*way, *beside]):
            rows.append((j, lower, _share(j, way, beside, at), frames.orientations[j]))
    out = np.zeros(len(rows), DRIVEN)
    for row, (joint, lower, share, neutral) in zip(out, rows, strict=True):
        row["joint"], row["lower"], row["share"] = joint, lower, share
        for axis, value in zip("wxyz", neutral, strict=True):
            row[f"n{axis}"] = value
    return out


def _share(joint: int, way: list[int], beside: list[int], at: dict[int, float]) -> float:
    """How much of a bone's twist a joint carries: all of it where it is alone, else as at the middle of its stretch."""
    if len(way) == 1 and not beside:
        return 1.0
    if joint in beside:
        return min(max(at[joint], 0.0), 1.0)
    after = [at[j] for j in way if at[j] > at[joint] + 1e-6]
    return min(max(0.5 * (at[joint] + min(after, default=1.0)), 0.0), 1.0) if len(way) > 1 else 0.0


def _is_twister(body: Humanoid, joint: int) -> bool:
    name = body.skeleton.names[joint].lower()
    return any(word in name for word in TWISTERS) and joint not in body.roles.values()


def _spread(pose: Pose, shape: tuple[int, ...]) -> Pose:
    """The pose repeated to a batch's shape."""
    if pose.shape == shape:
        return pose
    tail = pose.rotations.shape[-2:]
    offsets = None if pose.offsets is None else np.broadcast_to(pose.offsets, (*shape, tail[0], 3))
    return Pose(
        np.broadcast_to(pose.translation, (*shape, 3)), np.broadcast_to(pose.rotations, (*shape, *tail)), offsets
    )


def _kept(before: Pose, after: Pose, rows: Bools) -> Pose:
    """The poses `after`, but `before` where `rows` says."""
    return after.replace(rotations=np.where(rows[..., None, None], before.rotations, after.rotations))
