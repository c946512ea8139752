"""Robots that follow a body as it moves: their motors' limits hold, whatever comes, late or never.

`HumanoidDriver` puts the body's poses on a humanoid robot (`posable.robots`); `ChainDriver` lets any chain of motors
look at a part of the body and keep an expressive posture (ERIK). Either way a motion filter comes last, so that
positions, speeds, accelerations and jerks are within bounds from the first value on, which is the robot's pose at rest.
When no body comes the last one stays the target, and the robot comes to rest.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from ..body import Humanoid
from ..compute import PosableError, UnknownNameError
from ..compute.types import ArrayLike, Floats
from ..express import ERIK, Chain, MotionFilter
from ..formats import load
from ..robots import Retargeter
from ..robots.packing import ACCELERATION, SPEED
from .following import BodyFrame

if TYPE_CHECKING:
    from ..skeleton import Skeleton

JERKS = 20.0
"""[1/s]: how much jerk a motor is allowed, as a multiple of its acceleration: full push within a twentieth of a
second."""
SETTLE = 0.5
"""[s] after the last body for which a humanoid still moves towards it; then its motors stop where they are."""


class RobotDriver(Protocol):
    """The interface of what turns bodies into values of motors."""

    names: tuple[str, ...]
    """(N,) of the joints."""
    rate: float
    """[1/s] at which `step` is called."""

    def step(self, frame: BodyFrame | None) -> Floats:
        """Return the values (N,) of the next moment, [rad] or [m]; None where no body came."""


class HumanoidDriver:
    """A humanoid robot that follows a person.

    Args:
        body: whose poses come.
        robot: the robot.
        rate: steps a second; default 50.
        speeds: largest speed of each motor, one number or one for each DoF [rad/s, m/s]; default as for `ps.retarget`.
        accelerations: likewise [rad/s^2, m/s^2].
    """

    def __init__(
        self,
        body: Humanoid,
        robot: Humanoid,
        *,
        rate: float = 50.0,
        speeds: ArrayLike | None = None,
        accelerations: ArrayLike | None = None,
    ) -> None:
        if robot.robot is None:
            raise PosableError("the robot is no robot's body; expected Humanoid of a URDF or MJCF file's skeleton")
        self.rate, self.robot = float(rate), robot
        self._silent = 0  # steps without a body
        retargeter = Retargeter(body, robot, speeds=speeds, accelerations=accelerations)
        retargeter.stream(rate).step(body.neutral_pose)  # so that the first body finds compiled code
        self._stream = retargeter.stream(rate)
        record, dofs = robot.robot, robot.skeleton.dofs
        self._motors = np.array(record.motors)
        self.names = tuple(dofs.names[dof] for dof in self._motors)
        self.limits = np.stack([record.lower, record.upper], axis=-1)[self._motors]
        """(N, 2) [rad, m] of the motors."""
        count = len(dofs)
        given = np.full(count, SPEED) if speeds is None else np.broadcast_to(np.asarray(speeds, float), (count,))
        self.speeds = np.minimum(given, np.asarray(record.velocity))[self._motors]
        """(N,) [rad/s, m/s] at most."""
        pushes = np.broadcast_to(np.asarray(ACCELERATION if accelerations is None else accelerations, float), (count,))
        self.accelerations = pushes[self._motors]
        """(N,) [rad/s^2, m/s^2] at most."""
        rest = np.zeros(count) if record.rest is None else np.asarray(record.rest)
        self._filter = _filter(self.limits, self.speeds, self.accelerations, self.rate).stream(
            np.clip(rest[self._motors], self.limits[:, 0], self.limits[:, 1])
        )

    def step(self, frame: BodyFrame | None) -> Floats:
        """See `RobotDriver`."""
        pose = None if frame is None or not frame.tracking else frame.pose
        self._silent = 0 if pose is not None else self._silent + 1
        if self._silent > SETTLE * self.rate:  # what is solved for a pose that stays may go on trembling
            return self._filter.step(None, 1.0 / self.rate)
        made = self._stream.step(pose)
        return self._filter.step(None if made is None else made.values[self._motors], 1.0 / self.rate)


class ChainDriver:
    """A chain of motors that looks at a part of a body and keeps a posture.

    Args:
        chain: the motors.
        posture: (N,) that it keeps [rad]; default zero.
        look_at: the part of the body that it looks at.
        position: (3,) where the chain's root stands in the world of the body [m]; default the origin.
        rate: steps a second; default 50.
        speed: at most [rad/s].
        acceleration: at most [rad/s^2].
    """

    def __init__(
        self,
        chain: Chain,
        posture: ArrayLike | None = None,
        *,
        look_at: str = "head",
        position: ArrayLike = (0.0, 0.0, 0.0),
        rate: float = 50.0,
        speed: float = 3.0,
        acceleration: float = 20.0,
    ) -> None:
        self.chain, self.rate, self.look_at = chain, float(rate), look_at
        self.names = tuple(chain.names)
        zero = np.zeros(len(chain)) if posture is None else np.asarray(posture, dtype=np.float64)
        self.posture = np.clip(chain.finite("posture", zero), chain.limits[:, 0], chain.limits[:, 1])
        self.limits = np.asarray(chain.limits)
        """(N, 2) [rad]."""
        self.speeds, self.accelerations = np.full(len(chain), float(speed)), np.full(len(chain), float(acceleration))
        self._position = np.asarray(position, dtype=np.float64)
        erik = ERIK(chain)
        erik.stream(self.rate).step(self.posture, look_at=(0.3, 1.5, 2.0))  # so that the first body finds compiled code
        self._stream = erik.stream(self.rate)
        self._filter = _filter(self.limits, self.speeds, self.accelerations, self.rate).stream(self.posture)
        self._joint: tuple[Skeleton, int] | None = None

    def step(self, frame: BodyFrame | None) -> Floats:
        """See `RobotDriver`."""
        goal = None
        if frame is not None and frame.tracking:
            goal = self._stream.step(
                self.posture, look_at=frame.frames.positions[self._joint_in(frame)] - self._position
            ).angles
        return self._filter.step(goal, 1.0 / self.rate)

    def _joint_in(self, frame: BodyFrame) -> int:
        """Return the joint of the part that is looked at."""
        skeleton = frame.frames.skeleton
        if self._joint is None or self._joint[0] is not skeleton:
            self._joint = (skeleton, Humanoid(skeleton).index(self.look_at))
        return self._joint[1]


def _filter(limits: Floats, speeds: Floats, accelerations: Floats, rate: float) -> MotionFilter:
    wide = np.where(np.isfinite(limits), limits, np.array([-1e6, 1e6]))
    speeds = np.where(np.isfinite(speeds), speeds, SPEED)
    return MotionFilter(speeds, accelerations, accelerations * JERKS, fps=rate, position_limits=wide)


def robot_driver(
    path: str | os.PathLike[str],
    body: Humanoid,
    *,
    rate: float = 50.0,
    posture: ArrayLike | None = None,
    look_at: str | None = None,
) -> HumanoidDriver | ChainDriver:
    """Return the driver of a robot's file: a humanoid follows the body, anything else looks at a part of it.

    Args:
        path: URDF or MJCF.
        body: whose poses come.
        rate: steps a second; default 50.
        posture: of a robot that looks; default zero.
        look_at: the part that it looks at; given, a humanoid only looks too. Default: the head, of others.
    """
    if look_at is not None and look_at not in body.roles:
        raise UnknownNameError("part of the body", look_at, body.roles)
    skeleton = load(Path(path)).skeleton
    robot: Humanoid | None = None
    if look_at is None and posture is None:
        try:
            robot = Humanoid(skeleton)
        except PosableError:
            robot = None
    if robot is not None and robot.robot is not None:
        return HumanoidDriver(body, robot, rate=rate)
    if skeleton.robot is None:
        raise PosableError(f"{str(path)!r} is no robot's file; expected URDF or MJCF")
    return ChainDriver(Chain.from_robot(skeleton), posture, look_at=look_at or "head", rate=rate)
