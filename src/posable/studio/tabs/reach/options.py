"""How the reach tab reaches: from which pose, with what of the body, around what; and the solver made of it."""

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
from ..limb.learned import limb_frame
from .sphere import place_at
from .swings import grid_of

if TYPE_CHECKING:
    from ....body import Humanoid

Made = TypeVar("Made")
STANDING, MOVING = "standing", "as in the motion"


class ReachOptions:
    """A folder of the panel, and the solver that its controls ask for. What is made is kept until something changes."""

    def __init__(self, session: Session) -> None:
        gui = session.gui
        self._kept: dict[str, tuple[tuple[Any, ...], Any]] = {}
        with gui.add_folder("How it reaches", expand_by_default=False):
            self._own_weight = gui.add_checkbox("Own weight", False, hint="Instead of what the distance asks for")
            self._weight = gui.add_slider("Weight", min=0.0, max=1.0, step=0.01, initial_value=1.0)
            self._start = gui.add_dropdown("From", (STANDING, MOVING), hint="The pose from which the body reaches")
            self._itself = gui.add_checkbox("Keep off the body", True, hint="Arm and body stay out of the body")
            self._feet = gui.add_checkbox("Feet stay", True, hint="Both feet stay where they stood")
            hint = "How far the head turns to the target"
            self._gaze = gui.add_slider("Look at it", min=0.0, max=1.0, step=0.05, initial_value=0.0, hint=hint)
            hint = "With both hands: 1 has the body go with the right one, 0 with the left one"
            self._handed = gui.add_slider("Handedness", min=0.0, max=1.0, step=0.05, initial_value=0.5, hint=hint)
            self.obstacle = shared_obstacle(session)
        again = session.guarded(lambda _: session.changed("pose"))
        controls = (self._own_weight, self._weight, self._start, self._itself, self._feet, self._gaze, self._handed)
        for control in controls:
            control.on_update(again)

    @property
    def weight(self) -> float | None:
        """The weight that was set by hand; None: what the distance asks for."""
        return float(self._weight.value) if self._own_weight.value else None

    def start(self, actor: Actor, body: Humanoid, time: float) -> Pose:
        """The pose to reach from: standing where the motion is at a time [s], or as it is there."""
        if self._start.value == MOVING:
            return self._keep("start", (actor, MOVING, time), lambda: actor.motion.at(time))
        return self._keep("start", (actor, STANDING, time), lambda: _standing(body, actor.motion.at(time)))

    def ground(self, start: Pose) -> Floats | None:
        """(3,) where on the floor somebody stands who is carried along with the motion [m]; None: nobody is."""
        return start.translation * np.array([1.0, 0.0, 1.0]) if self._start.value == STANDING else None

    def reacher(self, body: Humanoid, right: Behaviour, left: Behaviour) -> Reacher:
        """The solver as the controls have it."""
        scene = self.obstacle.scene if len(self.obstacle.scene) else None
        options: dict[str, Any] = {
            "self_collision": bool(self._itself.value),
            "feet": bool(self._feet.value),
            "gaze": float(self._gaze.value),
            "handedness": float(self._handed.value),
        }
        asked = (body, right, left, self.obstacle.now if scene is not None else None, *options.values())
        return self._keep("reacher", asked, lambda: Reacher(body, right, left, scene, **options))

    def map(self, reacher: Reacher, side: str, start: Pose, distance: float) -> tuple[Floats, Ints]:
        """Swings (N, 2) [rad] all over a behaviour's ellipse, and what becomes of reaches there (N,).

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
            targets = Target(place_at(limb_frame(reacher.body, f"{side}_arm", start), swings, distance))
            answer = reacher.solve(**{side: targets}, start=start, weight=self.weight)
            return swings, np.asarray(answer.status, dtype=np.int64)

        return self._keep("map", (reacher, side, start, round(distance, 3), self.weight), solved)

    def _keep(self, what: str, asked: tuple[Any, ...], make: Callable[[], Made]) -> Made:
        """What was made the last time, where it was asked for with the same things."""
        kept = self._kept.get(what)
        if kept is None or len(kept[0]) != len(asked) or any(_differ(a, b) for a, b in zip(kept[0], asked)):
            kept = self._kept[what] = (asked, make())
        made: Made = kept[1]
        return made


def _differ(a: Any, b: Any) -> bool:
    return a != b if isinstance(a, (int, float, str)) else a is not b


def _standing(body: Humanoid, pose: Pose) -> Pose:
    """The neutral pose where a pose has its hips over the floor."""
    neutral = body.neutral_pose
    hips = body.index("hips")
    there = body.skeleton.forward(pose).positions[hips]
    here = body.skeleton.forward(neutral).positions[hips]
    return neutral.replace(translation=neutral.translation + (there - here) * np.array([1.0, 0.0, 1.0]))
