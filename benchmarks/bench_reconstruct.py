"""Bodies from six points: errors on the paper's three clips, and time (Unzueta et al. 2008: Table 1; 440 us)."""

from __future__ import annotations

import math

import numpy as np

import posable as ps

from .harness import Contender, Table, compare, data_dir, table

CLIPS = {"17_10": (1, 1, 0), "90_05": (1, 1, 0), "01_03": (0.1, 0.1, 1)}
"""Boxing, jump kick and playground, with the weights that the paper set for each."""
PAPER_AVERAGE = 0.0246
SIDED = ("Shoulder", "Arm", "ForeArm", "FingerBase", "UpLeg", "Leg", "Foot")
SCORED = ["Hips", "Hips", "LowerBack", "Spine", "Spine1", "Neck", "Neck1", "Head"]
SCORED += [side + part for side in ("Left", "Right") for part in SIDED]
"""The 22 joints that count; the paper's root and sacroiliac are one joint here (specification reconstruct, 2)."""


def run() -> list[Table]:
    body = ps.figure()
    walk = body.markers(ps.samples.walk(body).pose)
    solver, pose = ps.SequentialIK(body), body.neutral_pose
    tables = [
        compare(
            "The built-in figure from six points, a frame",
            [
                Contender("forward kinematics of the figure, one call", lambda: body.skeleton.forward(pose)),
                Contender("solve, one call", lambda: solver.solve(walk[0])),
                Contender("track, on one core", lambda: solver.track(walk), len(walk)),
            ],
        )
    ]
    return tables if data_dir() is None else [_errors(), *tables]


def _errors() -> Table:
    found = {}
    for clip, weights in CLIPS.items():
        motion = ps.load(data_dir() / "cmu" / f"{clip}.bvh", repair="cmu", first_frame=1)
        found[f"{clip}, {len(motion)} frames"] = ([position_error(motion, weights)], f"weights {weights}")
    found["average"] = ([float(np.mean([values[0] for values, _ in found.values()]))], "")
    found["the paper's average"] = ([PAPER_AVERAGE], "")
    return table("Position error of Sequential IK", "of the height", found, baseline="the paper's average")


def position_error(motion: ps.Motion, weights: tuple[float, float, float]) -> float:
    """The paper's measure: the mean distance of the scored joints over the height, root mean square over frames."""
    body = ps.Humanoid(motion.skeleton)
    rebuilt = ps.SequentialIK(body, weights).track(body.markers(motion.pose), fps=motion.fps).motion
    joints = [motion.skeleton.index(name) for name in SCORED]
    one, other = (motion.skeleton.forward(m.pose).positions[:, joints] for m in (motion, rebuilt))
    error = np.linalg.norm(one - other, axis=-1).mean(axis=-1) / body.height
    return math.sqrt(float((error**2).mean()))
