"""Bodies from six points: errors on the paper's three clips, and time (Unzueta et al. 2008: Table 1; 440 us)."""

from __future__ import annotations

import posable as ps
from posable.evaluate import evaluate_reconstruct, method_names
from posable.evaluate.reconstruct import CLIPS

from .harness import Contender, Table, compare, data_dir, table

PAPER_AVERAGE = 0.0246
UNSEEN = ("02_01", "02_04", "02_06", "05_02", "05_12", "13_01", "13_10", "13_26", "13_29", "13_33", "13_39", "16_18")
UNSEEN += ("16_35", "49_06", "61_07", "135_04")
"""Clips of subjects that the prior was not learned from, besides the paper's."""


def run() -> list[Table]:
    body = ps.figure()
    walk = body.markers(ps.samples.walk(body).pose)
    plain, learned, pose = ps.SequentialIK(body, prior=None), ps.SequentialIK(body), body.neutral_pose
    tables = [
        compare(
            "The built-in figure from six points, a frame",
            [
                Contender("forward kinematics of the figure, one call", lambda: body.skeleton.forward(pose)),
                Contender("solve without prior, one call", lambda: plain.solve(walk[0])),
                Contender("track without prior, on one core", lambda: plain.track(walk), len(walk)),
                Contender("solve, one call", lambda: learned.solve(walk[0])),
                Contender("track, on one core", lambda: learned.track(walk), len(walk)),
            ],
        )
    ]
    return tables if data_dir() is None else [*_clips(), _unseen(), *tables]


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


def _unseen() -> Table:
    """With and without the prior, one setting for all clips, on people whom it never saw."""
    folder, found = data_dir() / "cmu", {}
    for name, clips in (("the paper's clips", tuple(CLIPS)), ("sixteen others", UNSEEN)):
        told = evaluate_reconstruct([folder / f"{c}.bvh" for c in clips], ["sik", "sik_prior"], weights=(1, 1, 0))
        worse = sum(c["methods"]["sik_prior"]["position"] > c["methods"]["sik"]["position"] for c in told.clips)
        for row in told.rows():
            also = (
                f"{row['orientation']:.3f} rad, jitter {row['jitter']:.1f} m/s^2, {100 * row['reached']:.0f} % reached"
            )
            also += f", worse on {worse} clips" if row["method"] == "sik_prior" else ""
            found[f"{name}, {row['method']}"] = ([row["position"]], also)
    return table("Position error, subjects never seen", "of the height", found, baseline="the paper's clips, sik")
