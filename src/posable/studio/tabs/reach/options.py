"""How the reach tab reaches: from which pose, with what of the body, around which obstacle; and the solver for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ....compute.types import Floats, Ints
from ....limb import Target
from ....reach import Behaviour, Reacher
from ....skeleton import Pose
from ...core.actor import Actor
from ...core.session import Session
from ...view.obstacle import shared_obstacle
from ...widgets.controls import redraw_on_update
from ..limb.learned import limb_frame
from .swing_plane import grid_of, position_at

if TYPE_CHECKING:
    from ....body import Humanoid

Made = TypeVar("Made")
STANDING, MOVING = "standing", "as in the motion"


class ReachOptions:
    """A folder of the panel, and the solver that its controls describe, cached until something changes."""

    def __init__(self, session: Session) -> None:
        gui = session.gui
        self._cache: dict[str, tuple[tuple[Any, ...], Any]] = {}
        with gui.add_folder("How it reaches", expand_by_default=False):
            self._own_weight = gui.add_checkbox("Own weight", False, hint="Instead of the weight by distance")
            self._weight = gui.add_slider("Weight", min=0.0, max=1.0, step=0.01, initial_value=1.0)
            self._start = gui.add_dropdown("From", (STANDING, MOVING), hint="The pose from which the body reaches")
            self._self_collision = gui.add_checkbox(
                "Avoid self-collision", True, hint="Arm and body stay out of the body"
            )
            self._feet = gui.add_checkbox("Feet fixed", True, hint="Both feet stay where they stood")
            hint = "The fraction of the rotation to the target that the head makes"
            self._gaze = gui.add_slider("Gaze", min=0.0, max=1.0, step=0.05, initial_value=0.0, hint=hint)
            hint = "With both hands: 1 moves the body with the right one, 0 with the left one"
            self._handed = gui.add_slider("Handedness", min=0.0, max=1.0, step=0.05, initial_value=0.5, hint=hint)
            self.obstacle = shared_obstacle(session)
        redraw_on_update(session, self._own_weight, self._weight, self._start)
        redraw_on_update(session, self._self_collision, self._feet, self._gaze, self._handed)

    @property
    def weight(self) -> float | None:
        """The weight that was set by hand; None: by the distance."""
        return float(self._weight.value) if self._own_weight.value else None

    def start(self, actor: Actor, body: Humanoid, time: float) -> Pose:
        """Return the pose to reach from: standing at the motion's position at a time [s], or its own pose there."""
        if self._start.value == MOVING:
            return self._cached("start", (actor, MOVING, time), lambda: actor.motion.at(time))
        return self._cached("start", (actor, STANDING, time), lambda: _standing(body, actor.motion.at(time)))

    def ground(self, start: Pose) -> Floats | None:
        """Return (3,) where a body stands on the floor that is carried along with the motion [m]; None: none is."""
        return start.translation * np.array([1.0, 0.0, 1.0]) if self._start.value == STANDING else None

    def reacher(self, body: Humanoid, right: Behaviour, left: Behaviour) -> Reacher:
        """Return the solver that the controls describe."""
        scene = self.obstacle.scene if len(self.obstacle.scene) else None
        options: dict[str, Any] = {
            "self_collision": bool(self._self_collision.value),
            "feet": bool(self._feet.value),
            "gaze": float(self._gaze.value),
            "handedness": float(self._handed.value),
        }
        inputs = (body, right, left, self.obstacle.now if scene is not None else None, *options.values())
        return self._cached("reacher", inputs, lambda: Reacher(body, right, left, scene, **options))

    def map(self, reacher: Reacher, side: str, start: Pose, distance: float) -> tuple[Floats, Ints]:
        """Return swings (N, 2) [rad] all over a behaviour's ellipse, and the statuses (N,) of reaches there.

        Args:
            reacher: to solve with.
            side: "right" or "left".
            start: pose to reach from.
            distance: of the targets from the shoulder [m].
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
