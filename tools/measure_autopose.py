"""How near `AutoPose` comes to how people are: `python -m tools.measure_autopose [--clips 28_03,62_07]`.

Two moments of a captured clip: the first is the pose that an artist has, some parts of the second are what is dragged.
Printed for each set of parts, for steps of 0.1 to 1.6 s, is how far the 22 joints of SMPL are from the second moment
[cm]: where the body is left where it was, with all of it moved along with the parts, and as AutoPose has it. `FAR` of
`posable.edit.people` was chosen by it, on clips of `CLIPS`, whose people the prior has seen, none of those that
docs/reconstruct.md measures.
"""

from __future__ import annotations

import argparse

import numpy as np

import posable as ps
from benchmarks.harness import data_dir
from posable.edit import people as model
from posable.evaluate.measures import smpl_joints

CLIPS = ("28_03", "42_01", "62_07", "79_22", "80_07", "111_07", "114_03", "124_05", "126_01", "136_09")
MASKS = {
    "head": ("head",),
    "right hand": ("right_hand",),
    "head and hands": ("head", "left_hand", "right_hand"),
    "hips and feet": ("hips", "left_foot", "right_foot"),
    "the six": ps.MARKERS,
    "head, hands and elbows": ("head", "left_hand", "right_hand", "left_lower_arm", "right_lower_arm"),
}
STEPS = (0.1, 0.4, 1.6)  # [s]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clips", default=",".join(CLIPS))
    parser.add_argument("--moments", type=int, default=6, help="of each clip")
    parser.add_argument("--parts", action="append", choices=list(MASKS), help="only these sets; all by default")
    parser.add_argument("--far", type=float, action="append", help="values of FAR to compare")
    given = parser.parse_args()
    folder = data_dir()
    if folder is None:
        raise SystemExit("there is no data; set POSABLE_DATA")
    people = []
    for name in given.clips.split(","):
        motion = ps.load(folder / "cmu" / f"{name}.bvh", repair="cmu", first_frame=1)
        people.append((motion, ps.Humanoid(motion.skeleton)))
    solvers = [ps.AutoPose(body) for _, body in people]
    values = given.far or [model.FAR]
    print(
        "parts | step [s] | left | along | "
        + " | ".join(f"AutoPose, FAR {far:g}" for far in values)
        + " | worse than left"
    )
    for label, mask in MASKS.items():
        if given.parts and label not in given.parts:
            continue
        for step in STEPS:
            rows = []
            for (motion, body), solver in zip(people, solvers, strict=True):
                joints, ahead = smpl_joints(body).joints, round(step * motion.fps)
                for k in np.linspace(0, max(len(motion) - 1 - ahead, 0), given.moments).astype(int).tolist():
                    one, other = motion[k], motion[min(k + ahead, len(motion) - 1)]
                    there = motion.skeleton.forward(other).positions
                    was = motion.skeleton.forward(one).positions
                    targets = {role: there[body.index(role)] for role in mask}
                    along = np.mean([there[body.index(role)] - was[body.index(role)] for role in mask], axis=0)
                    found = []
                    for far in values:
                        model.FAR = far
                        found.append(motion.skeleton.forward(solver.solve(targets, one).pose).positions)
                    errors = [np.linalg.norm(p - there, axis=-1)[joints].mean() for p in (was, was + along, *found)]
                    rows.append(errors)
            table = 100.0 * np.array(rows)
            worse = (table[:, -1] > table[:, 0]).mean()
            print(" | ".join([label, f"{step:g}", *(f"{v:.2f}" for v in table.mean(axis=0)), f"{100 * worse:.0f} %"]))


if __name__ == "__main__":
    main()
