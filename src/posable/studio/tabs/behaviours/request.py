"""The request of the reach tab: targets with handles in the scene, the starting pose, and the solver's options."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from .... import math as pm
from ....compute import PosableError
from ....compute.types import ArrayLike, Floats, Ints
from ....limb import Target
from ....reach import Behaviour, Reacher
from ....reach.stepping import FEET
from ....skeleton import Pose
from ...core.actor import Actor
from ...core.behaviours import SIDES
from ...core.session import Session
from ...view.obstacle import shared_obstacle
from ...widgets.controls import NEAR, DragHandle, redraw_on_update
from ..pose.ranges import limb_frame
from .swing_plane import grid_of, position_at, swing_of

if TYPE_CHECKING:
    from ....body import Humanoid
    from .tab import BehavioursTab

Made = TypeVar("Made")
STANDING, MOVING = "standing", "as in the motion"
AHEAD = (math.radians(20.0), math.radians(60.0), 0.85)
"""A target that nobody has moved yet: swing of the right arm [rad], distance [arm lengths]."""
COMFORT = 0.92
"""Fraction of its length to which an arm is stretched to show a key."""


class ReachOptions:
    """A folder of the panel, and the solver that its controls describe, cached until something changes."""

    def __init__(self, session: Session) -> None:
        gui = session.gui
        self._cache: dict[str, tuple[tuple[Any, ...], Any]] = {}
        with gui.add_folder("How it reaches", expand_by_default=False):
            self._own_weight = gui.add_checkbox("Own weight", False, hint="Instead of the weight by distance")
            self._weight = gui.add_slider("Weight", min=0.0, max=1.0, step=0.01, initial_value=1.0)
            self._start = gui.add_dropdown("From", (STANDING, MOVING), hint="The pose from which the body reaches")
            hint = "Arm and body stay out of the body"
            self._self_collision = gui.add_checkbox("Keep off the body", True, hint=hint)
            hint = "Stay where they stand; step, or rise on the toes, where a target is out of reach; or move along"
            self._feet = gui.add_dropdown("Feet", tuple(FEET), hint=hint)
            hint = "More of the behaviour than its weight requests, where the arm is too short"
            self._extend = gui.add_checkbox("Extend", True, hint=hint)
            hint = "The fraction of the rotation to the target that the head makes"
            self._gaze = gui.add_slider("Gaze", min=0.0, max=1.0, step=0.05, initial_value=0.0, hint=hint)
            hint = "With both hands: 1 moves the body with the right one, 0 with the left one"
            self._handed = gui.add_slider("Handedness", min=0.0, max=1.0, step=0.05, initial_value=0.5, hint=hint)
            self.obstacle = shared_obstacle(session)
        redraw_on_update(session, self._own_weight, self._weight, self._start)
        redraw_on_update(session, self._self_collision, self._feet, self._extend, self._gaze, self._handed)

    @property
    def weight(self) -> float | None:
        """The weight that was set by hand; None: by the distance."""
        return float(self._weight.value) if self._own_weight.value else None

    def start(self, actor: Actor, body: Humanoid, time: float) -> Pose:
        """Return the pose to reach from: standing at the motion's position at a time [s], or its own pose there."""

        def pose() -> Pose:
            moving = actor.motion.at(time)
            return moving if self._start.value == MOVING else _standing(body, moving)

        return self._cached("start", (actor, str(self._start.value), time), pose)

    def ground(self, start: Pose) -> Floats | None:
        """Return (3,) where a body stands on the floor that is carried along with the motion [m]; None: none is."""
        return start.translation * np.array([1.0, 0.0, 1.0]) if self._start.value == STANDING else None

    def reacher(self, body: Humanoid, right: Behaviour, left: Behaviour) -> Reacher:
        """Return the solver that the controls describe."""
        scene = self.obstacle.scene if len(self.obstacle.scene) else None
        options: dict[str, Any] = {
            "self_collision": bool(self._self_collision.value),
            "feet": FEET[str(self._feet.value)],
            "extend": bool(self._extend.value),
            "gaze": float(self._gaze.value),
            "handedness": float(self._handed.value),
        }
        inputs = (body, right, left, self.obstacle.now if scene is not None else None, *options.values())
        return self._cached("reacher", inputs, lambda: Reacher(body, right, left, scene, **options))

    def map(self, reacher: Reacher, side: str, start: Pose, distance: float) -> tuple[Floats, Ints]:
        """Return swings (N, 2) [rad] all over the ellipse of a side, and the statuses (N,) of reaches there.

        The targets are at a distance [m] from the shoulder, and the body reaches from the pose `start`.
        """

        def solved() -> tuple[Floats, Ints]:
            behaviour = reacher.right if side == "right" else reacher.left
            assert behaviour is not None
            swings = grid_of(behaviour)
            targets = Target(position_at(limb_frame(reacher.body, f"{side}_arm", start), swings, distance))
            solution = reacher.solve(**{side: targets}, start=start, weight=self.weight)
            return swings, np.asarray(solution.status, dtype=np.int64)

        return self._cached("map", (reacher, side, start, round(distance, 3), self.weight), solved)

    def _cached(self, name: str, inputs: tuple[Any, ...], make: Callable[[], Made]) -> Made:
        """Return what was made the last time, where it was made from the same inputs."""
        cached = self._cache.get(name)
        if cached is None or len(cached[0]) != len(inputs) or any(_differ(a, b) for a, b in zip(cached[0], inputs)):
            cached = self._cache[name] = (inputs, make())
        made: Made = cached[1]
        return made


def _differ(a: Any, b: Any) -> bool:
    return a != b if isinstance(a, (int, float, str)) else a is not b


def _standing(body: Humanoid, pose: Pose) -> Pose:
    """Return the neutral pose where a pose has its hips over the floor."""
    neutral, hips = body.neutral_pose, body.index("hips")
    old, new = (body.skeleton.forward(one).positions[hips] for one in (neutral, pose))
    return neutral.replace(translation=neutral.translation + (new - old) * np.array([1.0, 0.0, 1.0]))


class ReachTargets:
    """The targets by side, (3,) in the actor's world [m]."""

    def __init__(self, tab: BehavioursTab) -> None:
        self._tab, self._session = tab, tab.session
        self._at: dict[str, Floats] = {}
        self._ground: Floats | None = None
        self._handles = {
            side: DragHandle(
                tab.session, f"reach_{side}", partial(self.drag, side), disable_rotations=True, disable_sliders=False
            )
            for side in SIDES
        }

    def __getitem__(self, side: str) -> Floats:
        return self._at[side]

    def __contains__(self, side: str) -> bool:
        return side in self._at

    def clear(self) -> None:
        """Forget the targets."""
        self._at.clear()
        self._ground = None

    def carry(self, ground: Floats | None) -> None:
        """Move the targets along with a body that stands at (3,) on the floor [m]; None leaves them in the world."""
        if ground is not None and self._ground is not None and not np.array_equal(ground, self._ground):
            self._at = {side: position + (ground - self._ground) for side, position in self._at.items()}
        self._ground = ground

    def targets(self, sides: Sequence[str]) -> dict[str, Target]:
        """Return the targets of some hands, for a solver."""
        return {side: Target(self._at[side]) for side in sides}

    def frame(self, side: str) -> tuple[Floats, Floats]:
        """Return orientation (4,) and origin (3,) [m] of an arm's frame in the world where the reach starts."""
        body, start = self._starting()
        return limb_frame(body, f"{side}_arm", start)

    def length(self, side: str) -> float:
        """Return the length of an arm [m]."""
        arm = self._starting()[0].limb(f"{side}_arm")
        return float(arm.upper + arm.lower)

    def distance(self, side: str) -> float:
        """Return the distance of the target from the shoulder [m]."""
        return float(np.linalg.norm(self._at[side] - self.frame(side)[1]))

    def swing(self, side: str) -> Floats:
        """Return (2,) the swing [rad] that points an arm to its target."""
        return swing_of(self.in_frame(side))

    def in_frame(self, side: str) -> Floats:
        """Return (3,) the position of a target in its arm's frame [arm lengths]."""
        orientation, origin = self.frame(side)
        return np.asarray(pm.rotate(pm.conjugate(orientation), self._at[side] - origin) / self.length(side))

    def put(self, side: str, position: ArrayLike) -> None:
        """Move a target to a position (3,) in its arm's frame [arm lengths]."""
        orientation, origin = self.frame(side)
        self._at[side] = origin + self.length(side) * pm.rotate(orientation, np.asarray(position, dtype=np.float64))

    def aim(self, side: str, swing: ArrayLike) -> None:
        """Move a target into the direction of a swing (2,) [rad], as far away as it is."""
        distance = self.distance(side) if side in self._at else AHEAD[2] * self.length(side)
        self._at[side] = position_at(self.frame(side), np.asarray(swing, dtype=np.float64), distance)

    def reach_out(self, side: str, swing: ArrayLike, shoulder: Floats) -> None:
        """Move a target into the direction of a swing (2,) [rad], as far as the arm comfortably reaches.

        The arm reaches from where its shoulder is when the body goes along: (3,) [m].
        """
        frame = self.frame(side)
        direction = position_at(frame, np.asarray(swing, dtype=np.float64), 1.0) - frame[1]
        offset = shoulder - frame[1]
        along, reach = float(direction @ offset), COMFORT * self.length(side)
        across = float(offset @ offset) - along**2
        distance = along + math.sqrt(max(reach**2 - across, 0.0))
        self._at[side] = frame[1] + direction * max(distance, 0.2 * self.length(side))

    def set_distance(self, side: str, lengths: float) -> bool:
        """Move a target to a distance [arm lengths] from the shoulder, in its direction; return whether it moved."""
        origin, length = self.frame(side)[1], self.length(side)
        displacement = self._at[side] - origin
        distance = max(float(np.linalg.norm(displacement)), 1e-9)
        if abs(distance / length - lengths) < 0.006:
            return False  # an echo of what the target did
        self._at[side] = origin + displacement * (lengths * length / distance)
        return True

    def drag(self, side: str, position: ArrayLike, _orientation: ArrayLike | None = None) -> None:
        """Move a target to a position on the stage (3,) [m]."""
        with self._session.lock:
            actor = self._session.active
            if actor is None or side not in self._at:
                return
            target = np.array(position, dtype=np.float64) - actor.position
            if not np.allclose(target, self._at[side], rtol=0.0, atol=NEAR):  # else a click, or a late message
                self._at[side] = target
                self._tab.target_moved(side)

    def show(self, sides: Sequence[str]) -> None:
        """Show handles for these hands, and for no others."""
        actor, body = self._session.active, self._session.body
        for side, handle in self._handles.items():
            handle.remove()
            if side in sides and actor is not None and body is not None:
                if side not in self._at:
                    self.aim(side, (AHEAD[0], AHEAD[1] if side == "right" else -AHEAD[1]))
                handle.show(self._at[side] + actor.position, scale=0.14 * body.joint_height)

    def draw(self, actor: Actor) -> None:
        """Move the handles to the targets."""
        for side, position in self._at.items():
            if self._handles[side].gizmo is not None:
                self._handles[side].show(position + actor.position)

    def _starting(self) -> tuple[Humanoid, Pose]:
        actor, body = self._session.active, self._session.body
        if actor is None or body is None:
            raise PosableError("there is no human body on the stage; open a motion of one first")
        return body, self._tab.options.start(actor, body, self._session.time)
