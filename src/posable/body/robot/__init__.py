"""Robots as bodies: who is who on a machine of one-axis joints, and what it lacks of a person.

`Humanoid` asks here for roles, parts and neutral rotations where its skeleton is a robot's:

- `tree`: which chain is a leg, an arm, a head; which way is front;
- `limbs`: which joints of a limb are its hip, knee and ankle, and where their centres are;
- `extents`: the soles, the ends of the hands, the top;
- `parts`: the records that solvers read;
- `posing`: the nearest pose to a posture, inside the limits.

The neutral rotations come from geometry, not from joint values. Pelvis, chest and head are level as the robot stands; a
thigh or an upper arm is neutral when it hangs, from the centre of its hip to that of its knee, with the knee's axis
across: +X is the axis that knees bend about and elbows against. So an elbow that bends forwards when the arm hangs is a
person's with the palm in, whatever the motors of the shoulder read then. A sole is neutral when it is level and points
forward. A hand goes with its forearm where the motors of the wrist are at zero.
"""

from __future__ import annotations

from .extents import RobotSole
from .finding import find_robot, is_robot
from .parts import RobotLimb, RobotParts

__all__ = ["RobotLimb", "RobotParts", "RobotSole", "find_robot", "is_robot"]
