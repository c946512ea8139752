"""Other libraries set to solve `benchmarks.arm`, each as its own documentation and examples have it.

Every function returns a `Solver`: a call takes the number of a target and gives seven hinges, NaN where it gave up.
Targets are converted to each library's own type beforehand. Where a library has an inner step only (pinocchio, pink,
mink, placo), the loop around it is the one of its examples, stopped at `STOP`; one that has not arrived after
`iterations` begins anew from a random posture, `TRIES` times at most, as ik_LM does by itself. Of the dampings and
numbers of iterations tried on other targets, those are kept that always succeeded and took the least time.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from .arm import AXES, HIGH, LOW, LOWER, START, STEPS, UPPER, Arm, Targets

STOP = 5e-7
"""[m] and [rad] together: below what the judge allows."""
TRIES = 100
NOTHING = np.full(7, np.nan)


@dataclass(frozen=True)
class Solver:
    """A library's way from target number i to seven hinges."""

    name: str
    settings: str
    solve: Callable[[int], np.ndarray]


def eaik_search(arm: Arm, targets: Targets, spacing: float = 10.0) -> Solver:
    """Exact for six hinges, so the upper arm's turn is held at one angle after the other, from the middle outwards."""
    from eaik.IK_HP import HPRobot

    angles = np.radians(np.arange(-180.0 + spacing, 180.0 + spacing, spacing))
    robots = [HPRobot(AXES, STEPS, [(2, angle)]) for angle in sorted(angles, key=abs)]

    def solve(i: int) -> np.ndarray:
        goal = targets.matrices[i]
        for robot in robots:
            found = robot.IK(goal)
            good = ((found.Q >= LOW) & (found.Q <= HIGH)).all(axis=1) & ~found.is_LS
            if good.any():
                return found.Q[good.argmax()]
        return NOTHING

    told = (
        f"the upper arm's turn held every {spacing:.0f}° from 0 outwards until one of the postures is inside the limits"
    )
    return Solver("EAIK, searched", told, solve)


def eaik_held(arm: Arm, targets: Targets) -> Solver:
    """One exact solve, told the upper arm's turn."""
    from eaik.IK_HP import HPRobot

    robots = [HPRobot(AXES, STEPS, [(2, angle)]) for angle in targets.hinges[:, 2]]

    def solve(i: int) -> np.ndarray:
        return robots[i].IK(targets.matrices[i]).Q

    return Solver("EAIK, upper arm's turn given", "all of up to 8 postures, limits not looked at", solve)


def toolbox(arm: Arm, targets: Targets, tol: float = 1e-13, **settings: object) -> Solver:
    """The Robotics Toolbox: Levenberg-Marquardt with random restarts, all in C++."""
    from roboticstoolbox import ET, ETS

    turns = [
        getattr(ET, "R" + "xyz"[int(np.argmax(axis))])(qlim=np.array(limits))
        for axis, limits in zip(AXES, zip(LOW, HIGH))
    ]
    chain = ETS([*turns[:3], ET.tz(UPPER), turns[3], ET.tz(LOWER), *turns[4:]])
    assert np.allclose(chain.fkine(START).A, arm.forward(START).homogeneous)

    def solve(i: int) -> np.ndarray:
        found = chain.ik_LM(targets.matrices[i], q0=START, tol=tol, **settings)
        return found.q if found.success else NOTHING

    told = ", ".join([f"tol={tol:g}", *(f"{name}={value}" for name, value in settings.items())])
    return Solver("rtb ik_LM", f"C++, {told}, otherwise its defaults", solve)


def clik_example(arm: Arm, targets: Targets) -> Solver:
    """The example of pinocchio's documentation, to the letter but for its tolerance and its start."""
    model, data = arm.model, arm.model.createData()
    goals = [pin.SE3(matrix) for matrix in targets.matrices]

    def solve(i: int) -> np.ndarray:
        q = START.copy()
        for _ in range(1000):
            pin.forwardKinematics(model, data, q)
            apart = data.oMi[7].actInv(goals[i])
            error = pin.log(apart).vector
            if np.linalg.norm(error) < STOP:
                return q
            jacobian = pin.computeJointJacobian(model, data, q, 7)
            jacobian = -np.dot(pin.Jlog6(apart.inverse()), jacobian)
            v = -jacobian.T.dot(np.linalg.solve(jacobian.dot(jacobian.T) + 1e-12 * np.eye(6), error))
            q = pin.integrate(model, q, v * 0.1)
        return NOTHING

    return Solver("pinocchio, its CLIK example", "DT=0.1, damp=1e-12, IT_MAX=1000; knows no limits", solve)


def clik(arm: Arm, targets: Targets, damp: float = 1e-2, iterations: int = 15) -> Solver:
    """The same loop with whole steps, damping by the error as Levenberg and Marquardt, limits and restarts."""
    model, data = arm.model, arm.model.createData()
    goals = [pin.SE3(matrix) for matrix in targets.matrices]
    eye = np.eye(6)

    def solve(i: int) -> np.ndarray:
        rng, q, goal = np.random.default_rng(i), START, goals[i]
        for _ in range(TRIES):
            for _ in range(iterations):
                pin.forwardKinematics(model, data, q)
                apart = data.oMi[7].actInv(goal)
                error = pin.log6(apart).vector
                size = error @ error
                if size < STOP * STOP:
                    return q
                jacobian = pin.Jlog6(apart.inverse()) @ pin.computeJointJacobian(model, data, q, 7)
                q = q + jacobian.T @ np.linalg.solve(jacobian @ jacobian.T + damp * size * eye, error)
                q = np.minimum(np.maximum(q, LOW), HIGH)
            q = rng.uniform(LOW, HIGH)
        return NOTHING

    told = f"whole steps, damping {damp:g} times the squared error, clamped to the limits, {iterations} steps a try"
    return Solver("pinocchio, LM", told, solve)


def pink(arm: Arm, targets: Targets, lm: float = 1e-3, iterations: int = 15) -> Solver:
    from pink import Configuration, solve_ik
    from pink.limits import ConfigurationLimit
    from pink.tasks import FrameTask

    model, data = arm.model, arm.model.createData()
    goals = [pin.SE3(matrix) for matrix in targets.matrices]
    task = FrameTask("hand", position_cost=1.0, orientation_cost=1.0, lm_damping=lm)
    limits = [ConfigurationLimit(model)]
    state = Configuration(model, data, START)

    def solve(i: int) -> np.ndarray:
        rng, tasks = np.random.default_rng(i), [task]
        task.set_target(goals[i])
        state.update(START)
        for _ in range(TRIES):
            for _ in range(iterations):
                error = task.compute_error(state)
                if error @ error < STOP * STOP:
                    return state.q
                velocity = solve_ik(state, tasks, 1.0, solver="daqp", limits=limits, safety_break=False)
                state.integrate_inplace(velocity, 1.0)
            state.update(rng.uniform(LOW, HIGH))
        return NOTHING

    told = f"FrameTask costs 1, gain 1, lm_damping={lm:g}, dt=1, DAQP, configuration limits, {iterations} steps a try"
    return Solver("pink", told, solve)


def mink(arm: Arm, targets: Targets, lm: float = 1e-3, iterations: int = 15) -> Solver:
    import mink as library
    import mujoco

    logging.getLogger().setLevel(logging.ERROR)  # it warns of every limit that is touched
    state = library.Configuration(mujoco.MjModel.from_xml_path(str(arm.urdf)))
    task = library.FrameTask("hand", "body", position_cost=1.0, orientation_cost=1.0, lm_damping=lm)
    limits = [library.ConfigurationLimit(state.model)]
    goals = [library.SE3.from_matrix(matrix) for matrix in targets.matrices]

    def solve(i: int) -> np.ndarray:
        rng, tasks = np.random.default_rng(i), [task]
        task.set_target(goals[i])
        state.update(START)
        for _ in range(TRIES):
            for _ in range(iterations):
                error = task.compute_error(state)
                if error @ error < STOP * STOP:
                    return state.q
                velocity = library.solve_ik(state, tasks, 1.0, "daqp", limits=limits)
                state.integrate_inplace(velocity, 1.0)
            state.update(rng.uniform(LOW, HIGH))
        return NOTHING

    told = f"FrameTask costs 1, gain 1, lm_damping={lm:g}, dt=1, DAQP, configuration limits, {iterations} steps a try"
    return Solver("mink", told, solve)


def placo(arm: Arm, targets: Targets, damp: float = 1e-9, iterations: int = 20) -> Solver:
    import placo as library

    robot = library.RobotWrapper(str(arm.urdf), library.Flags.ignore_collisions)
    solver = library.KinematicsSolver(robot)
    solver.mask_fbase(True)
    solver.enable_joint_limits(True)
    task = solver.add_frame_task("hand", np.eye(4))
    task.configure("hand", "soft", 1.0, 1.0)
    solver.add_regularization_task(damp)
    position, orientation = task.position(), task.orientation()

    def start(q: np.ndarray) -> None:
        state = robot.state.q
        state[7:] = q
        robot.state.q = state
        robot.update_kinematics()

    def solve(i: int) -> np.ndarray:
        rng = np.random.default_rng(i)
        task.T_world_frame = targets.matrices[i]
        start(START)
        for _ in range(TRIES):
            for _ in range(iterations):
                solver.solve(True)
                robot.update_kinematics()
                if position.error_norm() + orientation.error_norm() < STOP:
                    return robot.state.q[7:].copy()
            start(rng.uniform(LOW, HIGH))
        return NOTHING

    told = f"frame task soft 1 and 1, regularization {damp:g}, joint limits, {iterations} steps a try"
    return Solver("placo", told, solve)
