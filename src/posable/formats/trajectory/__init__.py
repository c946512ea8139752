"""Motions of robots as those who train and simulate controllers read them: CSV, NumPy archives, MuJoCo's qpos.

All of them hold values of joints in an order that they do not say, in a world with z up: a reader needs the robot, and
has to know the order. So both are chosen here by name, and written beside the numbers wherever a file has room.

- `.csv`: a row a frame, root position, root quaternion `xyzw`, joints, no header. LAFAN1 of Unitree is such, and
  `csv_to_npz` of mjlab and of BeyondMimic read it.
- `.npz`, layout "mjlab": joints, and positions, orientations and velocities of all bodies, in MuJoCo's order.
- `.npz`, layout "beyondmimic": the same in Isaac's order.
- `.npz`, layout "gmr": what GMR writes as a pickle, without one.
- `.npz`, layout "qpos", and `.npy`: MuJoCo's `qpos`; the first with `qvel`.

Orders: "mujoco" is depth first, the order of the robot's file; "isaac" is breadth first, as Isaac and PhysX sort bodies
and joints. A file in the wrong one trains a robot whose knees are told what elbows do (mjlab #777), so what is read
without a name is compared with the robot's own kinematics.

Velocities are central differences, one-sided in the first and the last frame; those of bodies follow from those of root
and joints by the robot's kinematics, and are of the origin of each body's frame.
"""

from __future__ import annotations

from .bodies import BodyMotion, body_motion
from .orders import ORDERS, Layout, joint_layout
from .values import RobotValues, robot_motion, robot_values

__all__ = [
    "ORDERS",
    "BodyMotion",
    "Layout",
    "RobotValues",
    "body_motion",
    "joint_layout",
    "robot_motion",
    "robot_values",
]
