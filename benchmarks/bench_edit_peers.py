"""One step of a drag beside pink and mink: the same body, goals, softness and weights as a quadratic programme.

From a frame of a pitch the left hand goes 10 mm further, both feet stay, and the other hand and the head go softly
where their velocities take them. Ours minimises sum w dtheta^2 + sum |lack|^2 / softness^2; in pink and mink that is a
damping task with costs sqrt(w) and frame tasks with costs 1 / softness, gain 1, solved by DAQP without limits. A step
counts when hand and feet are within 0.1 mm of their goals; the others take as many solves as that needs. They are
installed apart: `make bench-peers`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec

import numpy as np

import posable as ps
from posable.edit import relative_motion
from posable.edit.dragging import Settings
from posable.jobs.executors import one_thread

from .harness import Contender, Table, compare, data_dir

PEERS = ("daqp", "mink", "pink", "pinocchio")
FRAME, STEP = 60, np.array([0.0, 0.006, 0.008])
ARRIVED = 1e-4  # [m]
MOST = 20  # solves
EXACT, SOFT = (1e-3, 1e-3), (0.3, 0.5)  # softness of position and orientation
PARTS = {"left_hand": (1e-3, 0.5), "left_foot": EXACT, "right_foot": EXACT, "right_hand": SOFT, "head": SOFT}
FIXED = ("left_hand", "left_foot", "right_foot")
LOCKED = 1e4  # damping of what does not move


def run() -> list[Table]:
    if missing := [name for name in PEERS if find_spec(name) is None]:
        print(f"{', '.join(missing)} not installed: make bench-peers")
        return []
    with one_thread():
        step = Step()
        solvers = {"posable": step.ours, "pink": pink_step(step), "mink": mink_step(step)}
        ours = step.ours()
        contenders = []
        for name, solve in solvers.items():
            found = solve()
            apart = 2.0 * np.arccos(np.clip(np.abs((found.rotations * ours.rotations).sum(axis=-1)), 0.0, 1.0))
            found_text = f"hand and feet within {1e6 * step.missed(found):.1f} µm"
            found_text += "" if name == "posable" else f", joints within {np.degrees(apart.max()):.2f}° of ours"
            contenders.append(Contender(name, solve, note=found_text))
        free = int(step.editor.clip.parts.free.sum())
        alone = os.environ.get("OPENBLAS_NUM_THREADS") == "1"
        note = "" if alone else "BLAS ran on several threads, which slows pink and mink down: use make bench-peers."
        return [compare(f"A step of 10 mm of a hand, both feet pinned, {free} DoF, one core", contenders, note=note)]


@dataclass
class Step:
    """The step, with what each library needs of it."""

    @cached_property
    def editor(self) -> ps.MotionEditor:
        folder = data_dir()
        if folder is None:
            body = ps.figure()
            return ps.MotionEditor(ps.samples.throw(body)[:120], body, limits=None)
        motion = ps.load(folder / "cmu" / "124_01.bvh", repair="cmu", first_frame=1)[::2][95:195]
        return ps.MotionEditor(motion, limits=None)

    @property
    def body(self) -> ps.Humanoid:
        return self.editor.body

    @cached_property
    def start(self) -> ps.Pose:
        return self.editor.original[FRAME]

    @cached_property
    def costs(self) -> np.ndarray:
        """(D,): sqrt(w) of every DoF of the skeleton."""
        parts, logs = self.editor.clip.parts, self.editor.logs[FRAME]
        v = np.where(parts.free, np.exp(np.maximum(logs, -50.0)), 0.0)
        v /= v[parts.free].mean()
        costs = np.full(len(self.body.skeleton.dofs), LOCKED)
        costs[parts.dofs[parts.free]] = v[parts.free] ** -0.5
        return costs

    @cached_property
    def goals(self) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Position (3,) and orientation (4,) of each part; in so short a step no part rotates noticeably."""
        frames = self.body.skeleton.forward(self.start)
        joints = [self.body.roles[part] for part in PARTS]
        rates = self.editor.dragger.velocities(joints)[FRAME, :, :3]
        displacements = {part: relative_motion(rates[0], rate, STEP) for part, rate in zip(PARTS, rates)}
        displacements |= {"left_hand": STEP, "left_foot": np.zeros(3), "right_foot": np.zeros(3)}
        return {
            part: (frames.positions[joint] + displacements[part], frames.orientations[joint])
            for part, joint in zip(PARTS, joints)
        }

    def missed(self, pose: ps.Pose) -> float:
        """[m]: how far the worst of hand and feet is from its goal."""
        positions = self.body.skeleton.forward(pose).positions
        return float(max(np.linalg.norm(positions[self.body.roles[part]] - self.goals[part][0]) for part in FIXED))

    @cached_property
    def ours(self) -> Callable[[], ps.Pose]:
        dragger, frame, start = self.editor.dragger, np.array([FRAME]), self.start.reshape(1)
        pins, displacement, settings = ("left_foot", "right_foot"), STEP[None], Settings("frozen", scope="whole")
        return lambda: dragger.drag(start, frame, "left_hand", displacement, None, pins, None, settings).pose[0]

    @cached_property
    def moving(self) -> list[int]:
        """The joints that the editor moves, the root first; the others are parts of the bones."""
        joints = self.body.skeleton.dofs.joint[self.editor.clip.parts.dofs]
        return sorted({0, *joints.tolist()})

    def placement(self, joint: int) -> tuple[int, np.ndarray, np.ndarray]:
        """The moving joint above one, and where (3,) and how (4,) this one's frame rests as that one sees it."""
        skeleton = self.body.skeleton
        position, orientation, j = skeleton.offsets[joint], np.array([1.0, 0.0, 0.0, 0.0]), int(skeleton.parents[joint])
        if joint not in self.moving:
            orientation = self.start.rotations[joint]
        while j not in self.moving:
            position = skeleton.offsets[j] + ps.math.rotate(self.start.rotations[j], position)
            orientation = ps.math.multiply(self.start.rotations[j], orientation)
            j = int(skeleton.parents[j])
        return j, position, orientation

    def pose(self, translation: np.ndarray, rotations: np.ndarray) -> ps.Pose:
        """A pose from the rotations (M, 4) wxyz of the moving joints."""
        rotations = self.start.rotations.copy()
        rotations[self.moving] = rotations
        return ps.Pose(translation, rotations)

    def damping(self) -> np.ndarray:
        """(6 + 3 (M - 1),): costs in the order of the peers' velocities: translation, rotation of the root, balls."""
        skeleton = self.body.skeleton
        rows = [self.costs[skeleton.dofs.of(j)] for j in self.moving]
        return np.concatenate([row if len(row) in (3, 6) else np.full(3, LOCKED) for row in rows])


def pink_step(step: Step) -> Callable[[], ps.Pose]:
    """pink on pinocchio: a free flyer and a spherical joint each."""
    import pinocchio as pin
    from pink import Configuration, solve_ik
    from pink.tasks import DampingTask, FrameTask

    def se3(position: np.ndarray, orientation: np.ndarray) -> pin.SE3:
        return pin.SE3(pin.Quaternion(*orientation.tolist()), position)

    model, added = pin.Model(), {}
    for j in step.moving:
        if j == 0:
            added[j] = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "root")
        else:
            above, position, orientation = step.placement(j)
            added[j] = model.addJoint(added[above], pin.JointModelSpherical(), se3(position, orientation), f"joint{j}")
    for part in PARTS:
        joint = step.body.roles[part]
        above, position, orientation = (joint, np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]))
        if joint not in step.moving:
            above, position, orientation = step.placement(joint)
        model.addFrame(pin.Frame(part, added[above], se3(position, orientation), pin.FrameType.OP_FRAME))
    xyzw = np.roll(step.start.rotations[step.moving], -1, axis=-1)
    q = np.concatenate([step.start.translation, xyzw.ravel()])
    state = Configuration(model, model.createData(), q)
    tasks = _tasks(step, FrameTask, DampingTask, se3)

    def solve() -> ps.Pose:
        state.update(q)
        for _ in range(MOST):
            velocity = solve_ik(state, tasks, 1.0, solver="daqp", limits=[], safety_break=False)
            state.integrate_inplace(velocity, 1.0)
            away = [np.linalg.norm(tasks[k].compute_error(state)[:3]) for k in range(len(FIXED))]
            if max(away) <= ARRIVED:
                break
        return step.pose(state.q[:3], np.roll(state.q[3:].reshape(-1, 4), 1, axis=-1))

    return solve


def mink_step(step: Step) -> Callable[[], ps.Pose]:
    """mink on MuJoCo: a free joint and a ball each."""
    import mink
    import mujoco

    spec = mujoco.MjSpec()
    added = {}
    for j in step.moving:
        above, position, orientation = (
            (-1, np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0])) if j == 0 else step.placement(j)
        )
        parent = spec.worldbody if j == 0 else added[above]
        made = parent.add_body(name=f"body{j}", pos=position, quat=orientation, mass=1.0, inertia=[1.0, 1.0, 1.0])
        made.add_joint(type=mujoco.mjtJoint.mjJNT_FREE if j == 0 else mujoco.mjtJoint.mjJNT_BALL)
        added[j] = made
    for part in PARTS:
        joint = step.body.roles[part]
        above, position, orientation = (joint, np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]))
        if joint not in step.moving:
            above, position, orientation = step.placement(joint)
        added[above].add_site(name=part, pos=position, quat=orientation)
    state = mink.Configuration(spec.compile())
    q = np.concatenate([step.start.translation, step.start.rotations[step.moving].ravel()])

    def frame_task(name: str, **costs: float) -> mink.FrameTask:
        return mink.FrameTask(name, "site", **costs)

    def se3(position: np.ndarray, orientation: np.ndarray) -> mink.SE3:
        return mink.SE3.from_rotation_and_translation(mink.SO3(orientation), position)

    tasks = _tasks(step, frame_task, lambda cost: mink.DampingTask(state.model, cost=cost), se3)

    def solve() -> ps.Pose:
        state.update(q)
        for _ in range(MOST):
            velocity = mink.solve_ik(state, tasks, 1.0, "daqp", limits=[])
            state.integrate_inplace(velocity, 1.0)
            away = [np.linalg.norm(tasks[k].compute_error(state)[:3]) for k in range(len(FIXED))]
            if max(away) <= ARRIVED:
                break
        return step.pose(state.q[:3], state.q[3:].reshape(-1, 4))

    return solve


def _tasks(step: Step, frame_task: Callable, damping_task: Callable, se3: Callable) -> list:
    """A frame task for each part, hand and feet first, and the damping."""
    tasks = []
    for part, (position, orientation) in PARTS.items():
        task = frame_task(
            part, position_cost=1.0 / position, orientation_cost=1.0 / orientation, lm_damping=0.0, gain=1.0
        )
        task.set_target(se3(*step.goals[part]))
        tasks.append(task)
    return [*tasks, damping_task(step.damping())]


if __name__ == "__main__":
    for one in run():
        print(one.markdown(), "\n")
