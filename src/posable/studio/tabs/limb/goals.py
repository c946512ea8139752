"""What a user has done to a body in the limb tab: where its parts shall be, and on which pose."""

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
    """Where a part shall be."""

    position: Floats
    """(3,) in the actor's world [m]."""
    orientation: Floats | None
    """(4,) in the world, canonical, or None: as it comes."""

    @property
    def target(self) -> Target:
        """The same for a solver."""
        return Target(self.position, self.orientation)

    def is_like(self, other: Goal) -> bool:
        """Whether two goals are one to an eye: browsers know places to 1e-7."""
        if self.orientation is None or other.orientation is None:
            turned = self.orientation is not other.orientation
        else:
            turned = bool(pm.angle(self.orientation, other.orientation) > 1e-5)
        return not turned and bool(np.allclose(self.position, other.position, rtol=0.0, atol=1e-6))


@dataclass(frozen=True, eq=False)
class Placing:
    """Parts with goals, on a pose of the motion or on one from a file."""

    goals: Mapping[str, Goal] = field(default_factory=dict)
    base: Pose | None = None
    """A pose in place of the motion's; None: the motion goes on."""

    def __bool__(self) -> bool:
        return bool(self.goals) or self.base is not None

    def placed(self, part: str, goal: Goal) -> Placing:
        """The same with a part somewhere else."""
        return Placing({**self.goals, part: goal}, self.base)


def goal_here(body: Humanoid, part: str, pose: Pose, turned: bool) -> Goal:
    """The goal that leaves a part where it is in a pose, and with `turned` as it is turned."""
    place = body.skeleton.forward(pose).positions[body.index(part)]
    return Goal(place, canonical_orientation(body, part, pose) if turned else None)
