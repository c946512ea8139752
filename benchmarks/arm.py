"""One 7-DoF arm as robotics knows it, the targets asked of it, and the judge of the answers.

A shoulder and a wrist of three hinges through one point each, and an elbow, as a humanoid robot has them: flexion about
the line through the shoulders, abduction, turning of the upper arm; elbow; turning of the forearm, two hinges of the
wrist. It is the right arm of `ps.Limb("right_arm", upper=0.31, lower=0.26)`: same frame, same bones, same zero posture.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pinocchio as pin
from scipy.spatial.transform import Rotation

import posable as ps
from posable.limb.model import ROLES

UPPER, LOWER = 0.31, 0.26
AXES = np.array([(0, 0, 1), (1, 0, 0), (0, 0, 1), (0, 1, 0), (0, 0, 1), (1, 0, 0), (0, 1, 0)], dtype=float)
STEPS = np.zeros((8, 3))
"""(8, 3) [m] from each axis to the next; the last is from the last axis to the hand."""
STEPS[3, 2], STEPS[4, 2] = UPPER, LOWER
LOW = np.radians([-180, 0, -180, 0, -146, -85, -85])
HIGH = np.radians([180, 155, 180, 160, 146, 85, 85])
"""[rad] the box around the hinges of all postures inside the human limits: who keeps those keeps these."""
START = np.radians([30, 60, 0, 90, 0, 0, 0])
"""Where those that iterate begin: the forearm raised before the body."""
WITHIN = 1e-6
"""[m] and [rad]: a target is reached that is reached to this, by pinocchio's forward kinematics."""


@dataclass(frozen=True, eq=False)
class Targets:
    """Places and orientations (N, ...) of the hand that postures inside all limits have."""

    hinges: np.ndarray
    """(N, 7) [rad]: the postures they were made of."""
    places: np.ndarray
    """(N, 3) [m]."""
    turns: np.ndarray
    """(N, 4) wxyz."""
    matrices: np.ndarray
    """(N, 4, 4): the same as homogeneous transforms."""

    def __len__(self) -> int:
        return len(self.places)


class Arm:
    """The arm in pinocchio, made from its URDF, and its targets."""

    def __init__(self, folder: Path) -> None:
        self.urdf = folder / "robot.urdf"
        self.urdf.write_text(_urdf(), encoding="utf-8")
        self.model = pin.buildModelFromUrdf(str(self.urdf))
        self.data = self.model.createData()
        self.body = ps.figure()

    def forward(self, hinges: np.ndarray) -> pin.SE3:
        """Where the hand is."""
        pin.forwardKinematics(self.model, self.data, hinges)
        return self.data.oMi[7].copy()

    def targets(self, count: int, seed: int = 0, held: float | None = None) -> Targets:
        """Random postures inside the hinges' and the human limits; `held` [rad] is the upper arm's turn in all."""
        drawn = np.random.default_rng(seed).uniform(LOW, HIGH, (40 * count, 7))
        if held is not None:
            drawn[:, 2] = held
        hinges = drawn[self.human(values_of(drawn))][:count]
        assert len(hinges) == count
        hands = [self.forward(q) for q in hinges]
        matrices = np.array([hand.homogeneous for hand in hands])
        turns = Rotation.from_matrix(matrices[:, :3, :3]).as_quat(scalar_first=True)
        return Targets(hinges, matrices[:, :3, 3].copy(), turns, matrices)

    def human(self, values: np.ndarray) -> np.ndarray:
        """(N,): whether postures of seven values are inside the human limits, asked of a body and not of the solver."""
        body = self.body
        rest = ps.Pose(np.zeros((len(values), 3)), np.tile(body.neutral_pose.rotations, (len(values), 1, 1)))
        posture = body.canonical(body.pose_limb(rest, "right_arm", values))
        limits = body.limits
        return np.all([limits.contains(role, posture.rotation(role), 1e-7) for role in ROLES["right_arm"]], axis=0)

    def reached(self, hinges: np.ndarray, targets: Targets) -> np.ndarray:
        """(N,): whether the hand is where it was asked to be."""
        return np.array([self._off(q, goal) for q, goal in zip(hinges, targets.matrices)]) < WITHIN

    def _off(self, hinges: np.ndarray, goal: np.ndarray) -> float:
        if not np.isfinite(hinges).all():
            return np.inf
        apart = self.forward(hinges).actInv(pin.SE3(goal))
        return max(float(np.linalg.norm(apart.translation)), float(np.linalg.norm(pin.log3(apart.rotation))))


def inside(hinges: np.ndarray) -> np.ndarray:
    """(N,): whether the hinges are inside their limits."""
    return np.all((hinges >= LOW - 1e-6) & (hinges <= HIGH + 1e-6), axis=-1)


def hinges_of(values: np.ndarray) -> np.ndarray:
    """(N, 7) hinges that stand as a limb with seven values (swing, twist, flexion, twist, swing) does."""
    base = _turn(values[:, 0], values[:, 1]) * _turn(z=values[:, 2])
    end = _turn(z=values[:, 4]) * _turn(values[:, 5], values[:, 6])
    return np.concatenate([base.as_euler("ZXZ"), values[:, 3:4], end.as_euler("ZXY")], axis=-1)


def values_of(hinges: np.ndarray) -> np.ndarray:
    """(N, 7) the values of a limb that stands as the hinges do."""
    base, end = Rotation.from_euler("ZXZ", hinges[:, :3]), Rotation.from_euler("ZXY", hinges[:, 4:])
    about_base, about_end = (2 * np.arctan2(q[:, 2], q[:, 3]) for q in (base.as_quat(), end.as_quat()))
    swing_base = (base * _turn(z=-about_base)).as_rotvec()
    swing_end = (_turn(z=-about_end) * end).as_rotvec()
    columns = [
        swing_base[:, 0],
        swing_base[:, 1],
        about_base,
        hinges[:, 3],
        about_end,
        swing_end[:, 0],
        swing_end[:, 1],
    ]
    return np.stack(columns, axis=-1)


def _turn(x: np.ndarray | float = 0.0, y: np.ndarray | float = 0.0, z: np.ndarray | float = 0.0) -> Rotation:
    return Rotation.from_rotvec(np.stack(np.broadcast_arrays(x, y, z), axis=-1))


def _urdf() -> str:
    """Links with a little mass, since mujoco refuses a moving body without."""
    mass = '<inertial><mass value="1"/><inertia ixx=".01" iyy=".01" izz=".01" ixy="0" ixz="0" iyz="0"/></inertial>'
    lines = ['<robot name="arm">', '<link name="base"/>']
    for k in range(7):
        parent, child = ("base" if k == 0 else f"link{k}"), ("hand" if k == 6 else f"link{k + 1}")
        lines += [
            f'<link name="{child}">{mass}</link>',
            f'<joint name="joint{k + 1}" type="revolute"><parent link="{parent}"/><child link="{child}"/>',
            f'<origin xyz="{" ".join(map(str, STEPS[k]))}"/><axis xyz="{" ".join(map(str, AXES[k]))}"/>',
            f'<limit lower="{LOW[k]}" upper="{HIGH[k]}" effort="100" velocity="100"/></joint>',
        ]
    return "\n".join([*lines, "</robot>"])
