"""How often reconstructed bodies touch themselves: `python -m tools.measure_touching`.

The clips that docs/reconstruct.md measures, captured and as `SequentialIK` reconstructs them from their six points,
with and without `elbows_out`: the fraction of frames [%] in which two volumes of the body that must keep apart do not
(`posable.body.collision.clearance`, which sees nothing of the solver: it recomputes from the pose), also by which parts
they are of; how far joints are from the capture [mm], and the time a frame [us].
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import posable as ps
from benchmarks.bench_reconstruct import UNSEEN
from benchmarks.harness import data_dir
from posable.body.collision.clearance import SelfCollision
from posable.evaluate.reconstruct import CLIPS

KINDS = ("arm and trunk", "arm and head", "arm and arm", "arm and leg", "leg and leg")


def kind_of(body: ps.Humanoid, a: int, b: int) -> str:
    """Return what two joints are of, in the words of `KINDS`; "" for others."""
    return " and ".join(sorted((_part(body, a), _part(body, b)), key=("arm", "trunk", "head", "leg").index))


def _part(body: ps.Humanoid, joint: int) -> str:
    path = set(body.skeleton.path(joint))
    for role, name in (("upper_arm", "arm"), ("upper_leg", "leg")):
        if path & {body.roles[f"left_{role}"], body.roles[f"right_{role}"]}:
            return name
    return "head" if path & {body.roles.get("neck", body.roles["head"])} else "trunk"


def main() -> None:
    """Print a line a clip, and the mean over all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clips", default=",".join((*CLIPS, *UNSEEN)))
    parser.add_argument("--every", type=int, default=4, help="every how many frames are looked at")
    given = parser.parse_args()
    folder = data_dir()
    if folder is None:
        raise SystemExit("there is no data; set POSABLE_DATA")
    totals: dict[str, list[list[float]]] = {}
    for clip in given.clips.split(","):
        motion = ps.load(folder / "cmu" / f"{clip}.bvh", repair="cmu", first_frame=1)
        body = ps.Humanoid(motion.skeleton)
        apart, points, joints = SelfCollision.of(body)._clearance, body.markers(motion.pose), list(body.roles.values())
        names, packed = list(KINDS), body.volumes.packed["joint"]
        kinds = np.array([kind_of(body, int(packed[a]), int(packed[b])) for a, b in apart.pairs])
        captured = motion.skeleton.forward(motion.pose[:: given.every])
        for label, elbows_out in (("captured", None), ("without", False), ("with", True)):
            frames, taken, away = captured, 0.0, 0.0
            if elbows_out is not None:
                solver = ps.SequentialIK(body, elbows_out=elbows_out)
                solver.track(points[:32], fps=motion.fps)
                began = time.process_time()
                answer = solver.track(points, fps=motion.fps)
                taken = 1e6 * (time.process_time() - began) / len(motion)
                frames = motion.skeleton.forward(answer.motion.pose[:: given.every])
                away = 1000.0 * np.linalg.norm(frames.positions - captured.positions, axis=-1)[:, joints].mean()
            touches = apart.contacts(frames)[:, : len(kinds)]
            row = [touches.any(axis=1).mean(), *(touches[:, kinds == name].any(axis=1).mean() for name in names)]
            totals.setdefault(label, []).append([*(100.0 * np.array(row)), away, taken])
            print(clip, label, *(f"{value:.1f}" for value in totals[label][-1]), sep=" | ", flush=True)
    print("clip", "body", "any", *KINDS, "mm", "us", sep=" | ")
    for label, rows in totals.items():
        print("mean", label, *(f"{value:.2f}" for value in np.mean(rows, axis=0)), sep=" | ")


if __name__ == "__main__":
    main()
