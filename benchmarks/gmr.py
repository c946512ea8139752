"""GMR (General Motion Retargeting), run with its own solver, table and settings, as its README beside it says.

It is looked for in `$POSABLE_DATA/../peers/gmr`: its solver class, its hand-made table from SMPL-X to the Unitree G1
and its model of the G1. It needs mink, mujoco, daqp and rich (`make bench-peers`).
"""

from __future__ import annotations

import sys
import time
import types
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import posable as ps
from posable.math import axis_angle, multiply, rotate

from .harness import data_dir

NEEDED = ("mink", "mujoco", "daqp", "rich")
Z_UP = np.array([0.5, 0.5, 0.5, 0.5])  # from our world, y up and z ahead, to z up and x ahead
PERSON_HEIGHT = 1.75  # [m]
TOES_ABOVE_FLOOR = 0.02  # [m]
SMPL = {
    "pelvis": "hips",
    "spine3": "upper_chest",
    "left_hip": "left_upper_leg",
    "right_hip": "right_upper_leg",
    "left_knee": "left_lower_leg",
    "right_knee": "right_lower_leg",
    "left_shoulder": "left_upper_arm",
    "right_shoulder": "right_upper_arm",
    "left_elbow": "left_lower_arm",
    "right_elbow": "right_lower_arm",
    "left_wrist": "left_hand",
    "right_wrist": "right_hand",
}


def folder() -> Path | None:
    """Where GMR is, or None."""
    data = data_dir()
    found = None if data is None else data.parent / "peers" / "gmr"
    return found if found is not None and found.is_dir() else None


def missing() -> list[str]:
    """What is not there of what GMR needs."""
    lacking = [name for name in NEEDED if find_spec(name) is None]
    return [*lacking, *(["peers/gmr beside the data"] if folder() is None else [])]


def retarget(motion: ps.Motion, body: ps.Humanoid) -> tuple[np.ndarray, float]:
    """MuJoCo's qpos (F, 36) of the G1, and how long GMR worked on it [s]."""
    place = folder()
    assert place is not None
    name = "general_motion_retargeting"
    if name not in sys.modules:  # its own __init__ imports viewers
        package = types.ModuleType(name)
        package.__path__ = [str(place / name)]
        sys.modules[name] = package
    from general_motion_retargeting.motion_retarget import GeneralMotionRetargeting

    frames = smpl_frames(motion, body)
    solver = GeneralMotionRetargeting("smplx", "unitree_g1", actual_human_height=PERSON_HEIGHT)
    rows, taken = [], 0.0
    for frame in frames:
        start = time.process_time()
        rows.append(solver.retarget(frame))
        taken += time.process_time() - start
    return np.array(rows), taken


def smpl_frames(motion: ps.Motion, body: ps.Humanoid) -> list[dict[str, list[np.ndarray]]]:
    """A dict a frame: SMPL's name to [position, quaternion wxyz], z up, x ahead, arms as in a T at rest."""
    frames = body.skeleton.forward(motion.pose)
    made = {}
    for name, role in SMPL.items():
        joint = body.roles[role if role in body.roles else "chest"]
        orientation = multiply(Z_UP, body.canonical_orientation(frames, joint))
        if name.endswith(("shoulder", "elbow", "wrist")):
            quarter = -0.5 * np.pi if name.startswith("left") else 0.5 * np.pi
            orientation = multiply(orientation, axis_angle((0.0, 0.0, 1.0), quarter))
        made[name] = [rotate(Z_UP, frames.positions[:, joint]), orientation]
    for side in ("left", "right"):
        toes, foot = body.roles[f"{side}_toes"], body.roles[f"{side}_foot"]
        orientation = multiply(Z_UP, body.canonical_orientation(frames, foot))
        made[f"{side}_foot"] = [rotate(Z_UP, frames.positions[:, toes]), orientation]
    lowest = min(made[f"{side}_foot"][0][:, 2].min() for side in ("left", "right"))
    lower = np.array([0.0, 0.0, lowest - TOES_ABOVE_FLOOR])
    return [
        {name: [position[f] - lower, orientation[f].copy()] for name, (position, orientation) in made.items()}
        for f in range(len(motion))
    ]
