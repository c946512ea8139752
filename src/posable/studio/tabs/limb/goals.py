"""Where a user has put the parts of a body in the limb tab, and on which pose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from .... import math as pm
from ....compute.types import Floats
from ....limb import Target
from ....skeleton import Pose
from ...core.actor import canonical_orientation

if TYPE_CHECKING:
    from ....body import Humanoid


@dataclass(frozen=True, eq=False)
class Goal:
    """The target of a part."""

    position: Floats
    """(3,) in the actor's world [m]."""
    orientation: Floats | None
    """(4,) in the world, canonical; None leaves it to the limb."""

    @property
    def target(self) -> Target:
        """The same for a solver."""
        return Target(self.position, self.orientation)

    def is_close(self, other: Goal) -> bool:
        """Return whether two goals look the same: browsers know positions to 1e-7."""
        if self.orientation is None or other.orientation is None:
            rotated = self.orientation is not other.orientation
        else:
            rotated = bool(pm.angle(self.orientation, other.orientation) > 1e-5)
        return not rotated and bool(np.allclose(self.position, other.position, rtol=0.0, atol=1e-6))


@dataclass(frozen=True, eq=False)
class Placing:
    """Parts with goals, on a pose of the motion or on one from a file."""

    goals: Mapping[str, Goal] = field(default_factory=dict)
    base: Pose | None = None
    """A pose in place of the motion's; None follows the motion."""

    def __bool__(self) -> bool:
        return bool(self.goals) or self.base is not None

    def placed(self, part: str, goal: Goal) -> Placing:
        """Return the same with another goal of a part."""
        return Placing({**self.goals, part: goal}, self.base)


def goal_here(body: Humanoid, part: str, pose: Pose, with_orientation: bool) -> Goal:
    """Return the goal that leaves a part at its position in a pose, and, if requested, with its orientation."""
    position = body.skeleton.forward(pose).positions[body.index(part)]
    return Goal(position, canonical_orientation(body, part, pose) if with_orientation else None)
