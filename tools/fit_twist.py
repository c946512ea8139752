"""Which part of the head's twist each joint of the spine takes: `python -m tools.fit_twist`.

From the CMU poses of the shared data (`cmu_poses`, 78 subjects, none of those that docs/reconstruct.md measures): the
twist between pelvis and head about the line from hips to head, as `spine.twist_spine` distributes it, and the part of
it that the segment above each joint of the spine has. A line of least squares through zero over all poses, each subject
with the same weight, gives the fractions that `TWISTED` of `posable.reconstruct.spine` has, at the middles of the
segments between hips (0), the joint that carries the arms (1) and head (2). Nothing is drawn at random. Also printed
are the fractions for small and large twists, and how far the twists are from those with equal parts and with these.
"""

from __future__ import annotations

import numpy as np

from benchmarks.harness import data_dir
from posable import math as pm

SPINE = ("root", "vl5", "spine", "spine1", "neck", "neck1", "head")
CHEST = 3
MOST = np.radians(120.0)  # of twist: more of it is a pose that was captured wrongly


def main() -> None:
    """Print the fractions."""
    folder = data_dir()
    if folder is None:
        raise SystemExit("there is no data; set POSABLE_DATA")
    with np.load(folder / "cmu_poses" / "poses.npz") as found:
        joints, starts = [str(name) for name in found["joints"]], found["clip_start"]
        people = np.array([int(str(name).split("_")[0]) for name in found["clip"]])
        rows = [joints.index(name) for name in SPINE]
        local = pm.normalize(found["rotations"][:, rows].astype(np.float64))
        offsets = found["offsets"][:, rows].astype(np.float64)
    clip = np.repeat(np.arange(len(people)), np.diff(starts))
    world, place = [np.tile([1.0, 0.0, 0.0, 0.0], (len(local), 1))], [np.zeros((len(local), 3))]
    for k in range(1, len(rows)):  # in the pelvis' frame
        place.append(place[-1] + pm.rotate(world[-1], offsets[clip, k]))
        world.append(pm.multiply(world[-1], local[:, k]))
    axis = place[-1] / np.linalg.norm(place[-1], axis=-1)[:, None]
    twists = np.array([2.0 * np.arctan2((q[:, 1:] * axis).sum(axis=-1), q[:, 0]) for q in world]).T
    twists = np.remainder(twists + np.pi, 2.0 * np.pi) - np.pi
    subject = people[clip]
    counts = dict(zip(*np.unique(subject, return_counts=True), strict=True))
    weight = np.array([1.0 / counts[s] for s in subject.tolist()]) * (np.abs(twists[:, -1]) < MOST)

    def fractions(rows: np.ndarray) -> np.ndarray:
        head, w = twists[rows, -1], weight[rows]
        return np.asarray((w * head) @ twists[rows] / ((w * head) @ head))

    every = np.arange(len(twists))
    learned = fractions(every)
    lengths = np.linalg.norm(offsets.mean(axis=0), axis=-1)
    at = np.cumsum(lengths) - lengths[0]
    at = np.where(at <= at[CHEST], at / at[CHEST], 1.0 + (at - at[CHEST]) / (at[-1] - at[CHEST]))
    middles = 0.5 * (at + np.append(at[1:], 2.0))
    print(f"{len(twists)} poses of {len(counts)} subjects")
    for name, s, part in zip(SPINE[1:], middles[1:], learned[1:], strict=True):
        print(f"above {name}, {s:.2f} of the way: {part:.3f}")
    for low, high in ((5, 20), (20, 40), (40, 60), (60, 90)):
        size = np.degrees(np.abs(twists[:, -1]))
        some = np.flatnonzero((size > low) & (size < high))
        print(f"head twisted by {low} to {high} degrees, {len(some)} poses: {fractions(some)[1:].round(3).tolist()}")
    equal = np.array([0.0, 0.0, *(np.arange(1, 6) / 5.0)])
    for label, parts in (("equal parts", equal), ("these", learned)):
        away = np.degrees(np.abs(twists - twists[:, -1:] * parts))
        print(
            f"{label}: {((weight @ away) / weight.sum()).round(2).tolist()[1:-1]} degrees from the captured, on average"
        )


if __name__ == "__main__":
    main()
