"""Bodies from six points: errors on the paper's three clips, and time (Unzueta et al. 2008: Table 1; 440 us)."""

from __future__ import annotations

import posable as ps
from posable.evaluate import evaluate_reconstruct, method_names
from posable.evaluate.table1 import CLIPS

from .harness import Contender, Table, compare, data_dir, table

PAPER_AVERAGE = 0.0246


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
    return tables if data_dir() is None else [*_clips(), *tables]


def _clips() -> list[Table]:
    """Errors and times of every method on the paper's clips, in one run."""
    folder = data_dir() / "cmu"
    found = evaluate_reconstruct([folder / f"{clip}.bvh" for clip in CLIPS], method_names())
    errors, times = {}, {}
    for row in found.rows():
        clips = ", ".join(f"{clip} {error:.4f}" for clip, error in row["clips"].items())
        paper = f"; the paper {row['paper_position']:.4f}" if row["paper_position"] else ""
        errors[row["method"]] = ([row["position"]], f"{clips}{paper}; {row['orientation']:.3f} rad")
        paper = f"the paper {row['paper_milliseconds']:.2f}" if row["paper_milliseconds"] else ""
        times[row["method"]] = ([clip["methods"][row["method"]]["milliseconds"] for clip in found.clips], paper)
    errors["the paper's Sequential IK"] = ([PAPER_AVERAGE], "")
    return [
        table("Position error, average of the paper's clips", "of the height", errors, baseline="sik"),
        table("Time a frame on the same clips, in the same run", "ms", times, baseline="sik"),
    ]
