r"""`RobotParts`: a robot's joints sorted into trunk, head and limbs, with what a solver asks of each.

```python
body = ps.Humanoid(ps.load("g1.xml").skeleton)
parts = body.robot_parts
parts.limbs["left_leg"].dofs, parts.limbs["left_leg"].centres, parts.soles["left_foot"].outline
print(*parts.lacking, sep="\n")
```
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ...compute.types import Floats, Ints
from ...skeleton import Mimic
from .extents import RobotSole


@dataclass(frozen=True, eq=False)
class RobotLimb:
    """An arm or a leg of a robot, from the trunk outwards."""

    name: str
    """"left_arm", "right_arm", "left_leg" or "right_leg"."""
    joints: tuple[int, ...]
    """All moving joints of the limb in order, the girdle's first, the toes' last."""
    dofs: Ints
    """(K,) their rows of `skeleton.dofs`, in order."""
    girdle: tuple[int, ...]
    """Joints that move the shoulder itself, before those that rotate the upper arm; usually none."""
    base: tuple[int, ...]
    """The joints of the hip or the shoulder."""
    mid: tuple[int, ...]
    """The joint of the knee or the elbow (two where a leg has two knees)."""
    end: tuple[int, ...]
    """The joints of the ankle or the wrist, what turns the forearm included; none where the limb has no wrist."""
    toes: tuple[int, ...]
    """The joints of toes; usually none."""
    roll: tuple[int, ...]
    """Those of `end` that turn the forearm about itself."""
    carrier: int
    """The joint in whose frame the limb's first axis is fixed: of pelvis or chest, or the last one of the girdle."""
    upper: int
    """The joint in whose frame the upper bone is fixed: the last one of `base`."""
    lower: int
    """The joint in whose frame the lower bone is fixed: the last one of `mid`."""
    last: int
    """The joint in whose frame the hand or the foot is fixed; `lower` where there is no wrist."""
    centres: Floats
    """(3, 3) [m] the centres of hip, knee and ankle (shoulder, elbow and wrist): the first in the frame of `carrier`,
    the second in that of `upper`, the third in that of `lower`. Without a wrist the third is where one would be."""
    tip: Floats
    """(3,) [m] the end of the hand, or the middle of the sole, in the frame of `last`."""
    base_in_upper: Floats
    """(3,) [m] the centre of the hip or the shoulder in the frame of `upper`, as it is in the standing pose."""
    end_in_last: Floats
    """(3,) [m] the centre of the ankle or the wrist in the frame of `last`, as it is in the standing pose."""
    lengths: tuple[float, float]
    """Of the upper and the lower bone [m], between the centres."""
    reach: float
    """From the ankle to the sole, or from the wrist to the end of the hand [m]."""
    flexion: float
    """1 where positive values of the first joint of `mid` bend the limb as a person's, -1 where negative ones do."""
    straight: float
    """The value of the first joint of `mid` at which both bones are in line [rad]."""

    @property
    def length(self) -> float:
        """Of both bones together [m]."""
        return self.lengths[0] + self.lengths[1]


@dataclass(frozen=True, eq=False)
class RobotParts:
    """A robot's joints by what they are for. Joints index `skeleton`, DoF index `skeleton.dofs`."""

    hips: int
    """The joint in whose frame the pelvis is fixed."""
    chest: int
    """The joint in whose frame the chest is fixed; `hips` where the robot has no waist."""
    head: int | None
    """The joint in whose frame the head is fixed; None where it follows the chest."""
    trunk: tuple[int, ...]
    """The joints between pelvis and chest, from the pelvis up."""
    trunk_dofs: Ints
    """(W,) their DoF."""
    trunk_signs: Floats
    """(W,) 1 where a DoF moves the chest against the pelvis; -1 where the root is above it, and it moves the pelvis."""
    neck: tuple[int, ...]
    """The joints of neck and head, from the chest up."""
    head_dofs: Ints
    """(H,) their DoF."""
    limbs: Mapping[str, RobotLimb]
    """"right_arm", "left_arm", "right_leg", "left_leg"."""
    soles: Mapping[str, RobotSole]
    """"left_foot" and "right_foot"."""
    shared: tuple[Mimic, ...]
    """Motors that move joints of two parts: a joint of one that follows a joint of another (NAO's hips)."""
    coupled: tuple[Mimic, ...]
    """Joints that follow another of the same part."""
    others: Ints
    """(O,) DoF of no part: fingers, grippers, wheels; they stay as they are."""
    to_neutral: Mapping[str, Floats]
    """Role to the rotation (4,) that takes its orientation in the world from the standing to the neutral pose's."""
    top: float
    """How high the robot's highest point is above the joint of the pelvis in the standing pose [m]."""
    lacking: tuple[str, ...]
    """What a person has and this robot has not, a phrase each: "no wrists: hands follow the forearms"."""
    notes: tuple[str, ...]
    """What was taken for what where files leave it open: estimated soles, guessed sides."""

    @property
    def shared_dofs(self) -> Ints:
        """The DoF whose motor moves joints of two parts: the leaders of `shared`."""
        return np.array(sorted({mimic.leader for mimic in self.shared}), dtype=np.int64)
