"""NumPy archives of robots' motions: for mjlab, BeyondMimic, readers of GMR, and MuJoCo. Nothing is ever pickled.

- "mjlab" and "beyondmimic": `fps` (1,), `joint_pos` and `joint_vel` (F, N), `body_pos_w` (F, B, 3), `body_quat_w`
  (F, B, 4) `wxyz`, `body_lin_vel_w` and `body_ang_vel_w` (F, B, 3), in single precision as those programs write them.
- "gmr": `fps`, `root_pos` (F, 3), `root_rot` (F, 4) `xyzw`, `dof_pos` (F, N), `local_body_pos` (F, B, 3) in the root's
  frame, `link_body_list` (B,).
- "qpos": `fps`, `qpos` (F, 7 + N), `qvel` (F, 6 + N); the root's angular velocity is in its own frame, as MuJoCo's is.

All say more than those programs read: `joint_names`, `body_names`, `joint_order`, `robot`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ...compute import FormatError, PosableError, UnknownNameError
from ...compute.archive import write_archive
from ...compute.types import Floats
from ...math import conjugate, rotate
from ...skeleton import Motion, Skeleton
from ..rows import check_rows
from .bodies import body_motion, rate, root_frame_positions, rotation_rate
from .csv_file import FPS, LARGEST
from .orders import ORDERS, Layout, joint_layout, robot_of
from .qpos_file import checked, motion_of_qpos
from .robots import robot_skeleton
from .values import RobotValues, robot_motion, robot_values

LAYOUTS = {"mjlab": "mujoco", "beyondmimic": "isaac", "gmr": "mujoco", "qpos": "mujoco"}
"""Layouts by name, with the order of joints and bodies of each."""
MEMBERS = {"joint_pos": "mjlab", "dof_pos": "gmr", "qpos": "qpos"}
"""What tells whose file it is."""
APART = 0.01  # [m]: bodies that are further from where the robot's kinematics put them are another robot's


def write(motion: Motion, path: Path, layout: str) -> None:
    """Write a robot's motion in one of `LAYOUTS`."""
    if layout not in LAYOUTS:
        raise UnknownNameError("layout", layout, ("posable", *LAYOUTS))
    values = robot_values(motion, LAYOUTS[layout])
    named = {
        "joint_names": np.array(values.layout.joint_names, dtype=np.str_),
        "joint_order": values.layout.order,
        "robot": robot_of(motion.skeleton).name or "robot",
    }
    made = {"gmr": _gmr, "qpos": _qpos}.get(layout, _tracking)(motion, values)
    write_archive(path, made | named)


def read(
    path: Path,
    arrays: Mapping[str, Any],
    *,
    robot: str | os.PathLike[str] | Skeleton | None = None,
    fps: float | None = None,
) -> Motion:
    """Return the motion in the arrays of a file, whichever of the layouts they have."""
    kind = next(layout for member, layout in MEMBERS.items() if member in arrays)
    skeleton = robot_skeleton(path, robot)
    notes: tuple[str, ...] = ()
    if fps is None and "fps" not in arrays:
        notes = (f"the file says no rate; taken as {FPS:g} frames a second",)
    chosen = fps or _fps(path, arrays)
    if kind == "qpos":
        return motion_of_qpos(path, skeleton, arrays["qpos"], chosen, notes)
    if kind == "gmr":
        layout = joint_layout(skeleton)
        root = checked(path, "root_pos", _member(path, arrays, "root_pos"), (None, 3))
        rotated = np.roll(checked(path, "root_rot", _member(path, arrays, "root_rot"), (len(root), 4)), 1, axis=1)
        joints = checked(path, "dof_pos", arrays["dof_pos"], (len(root), len(layout.dofs)))
        check_rows(path, len(root), len(skeleton))
        return _motion(path, skeleton, layout, root, rotated, joints, chosen, notes)
    return _read_tracking(path, arrays, skeleton, chosen, notes)


def _tracking(motion: Motion, values: RobotValues) -> dict[str, Any]:
    body = body_motion(motion, values)
    single = {
        "joint_pos": values.joints,
        "joint_vel": body.joint_velocities,
        "body_pos_w": body.positions,
        "body_quat_w": body.orientations,
        "body_lin_vel_w": body.velocities,
        "body_ang_vel_w": body.angular_velocities,
    }
    return {
        "fps": np.array([_whole(motion.fps)]),
        **{name: array.astype(np.float32) for name, array in single.items()},
        "body_names": np.array(values.layout.body_names, dtype=np.str_),
    }


def _gmr(motion: Motion, values: RobotValues) -> dict[str, Any]:
    return {
        "fps": np.array(_whole(motion.fps)),
        "root_pos": values.positions,
        "root_rot": np.roll(values.orientations, -1, axis=1),
        "dof_pos": values.joints,
        "local_body_pos": root_frame_positions(body_motion(motion, values)).astype(np.float32),
        "link_body_list": np.array(values.layout.body_names, dtype=np.str_),
    }


def _qpos(motion: Motion, values: RobotValues) -> dict[str, Any]:
    turning = rotate(conjugate(values.orientations), rotation_rate(values.orientations, values.fps))
    speeds = [rate(values.positions, values.fps), turning, rate(values.joints, values.fps)]
    return {"fps": np.array(float(motion.fps)), "qpos": values.qpos, "qvel": np.concatenate(speeds, axis=1)}


def _read_tracking(
    path: Path, arrays: Mapping[str, Any], skeleton: Skeleton, fps: float, notes: tuple[str, ...]
) -> Motion:
    """Return the motion of a file for mjlab or BeyondMimic: in the order whose kinematics put bodies where it says."""
    said = str(arrays["joint_order"]) if "joint_order" in arrays else None
    if said is not None and said not in ORDERS:
        raise FormatError(path, f"joint_order is {said[:40]!r}; expected {' or '.join(ORDERS)}")
    found: list[tuple[float, str, Motion]] = []
    shape = np.shape(_member(path, arrays, "body_pos_w"))
    layouts = [joint_layout(skeleton, order) for order in (ORDERS if said is None else (said,))]
    # Isaac merges links that cannot move, so the number of bodies alone may tell.
    fitting = [layout for layout in layouts if len(shape) == 3 and shape[1] == len(layout.bodies)]
    for layout in fitting or layouts[:1]:
        order, bodies = layout.order, len(layout.bodies)
        positions = checked(path, "body_pos_w", _member(path, arrays, "body_pos_w"), (None, bodies, 3))
        check_rows(path, len(positions), len(skeleton))
        rotated = checked(path, "body_quat_w", _member(path, arrays, "body_quat_w"), (len(positions), bodies, 4))
        joints = checked(path, "joint_pos", arrays["joint_pos"], (len(positions), len(layout.dofs)))
        motion = _motion(path, skeleton, layout, positions[:, 0], rotated[:, 0], joints, fps, notes)
        off = np.linalg.norm(body_motion(motion, robot_values(motion, order)).positions - positions, axis=-1)
        found.append((float(off.max()), order, motion))
    off_by, order, motion = min(found, key=lambda one: one[0])
    if off_by > APART:
        raise FormatError(
            path,
            f"its bodies lie up to {off_by:.2g} m from where the joints of {robot_of(skeleton).name[:60]!r} put them, "
            f"in {'the order ' + said if said else 'either order'}; it is another robot's",
        )
    if said is None:
        motion = motion.replace(notes=(*motion.notes, f"the file names no order; its bodies are in that of {order}"))
    return motion


def _motion(
    path: Path,
    skeleton: Skeleton,
    layout: Layout,
    positions: Floats,
    orientations: Floats,
    joints: Floats,
    fps: float,
    notes: tuple[str, ...],
) -> Motion:
    try:
        return robot_motion(skeleton, layout, positions, orientations, joints, fps, path.stem, notes)
    except PosableError as error:
        raise FormatError(path, str(error)) from None


def _member(path: Path, arrays: Mapping[str, Any], name: str) -> Any:
    if name not in arrays:
        raise FormatError(path, f"member {name!r} is missing")
    return arrays[name]


def _fps(path: Path, arrays: Mapping[str, Any]) -> float:
    if "fps" not in arrays:
        return FPS
    given = np.asarray(arrays["fps"])
    if given.size != 1 or given.dtype.kind not in "fiu" or not 0.0 < float(given.reshape(-1)[0]) < LARGEST:
        raise FormatError(path, f"fps is {str(arrays['fps'])[:60]}; expected frames a second above 0")
    return float(given.reshape(-1)[0])


def _whole(fps: float) -> int | float:
    """Return a rate as a whole number where it is one: as those programs write it."""
    return int(fps) if float(fps).is_integer() else float(fps)
