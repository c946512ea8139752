"""How far feet that nobody tracks slide where the captured ones stand: `python -m tools.measure_slides`.

The 19 clips of people whom the network never saw, at 30 Hz, from head and hands, with and without hips, with
orientations: the mean horizontal speed [m/s] of a foot in the frames in which that of the capture stands
(`posable.body.contacts`), the captured one's there, the mean error of the 22 scored joints and of feet [cm], and jitter
of the capture's, as in `benchmarks.bench_trackers`. Seen from outside: from the returned poses alone.
"""

from __future__ import annotations

import argparse

import numpy as np

import posable as ps
from benchmarks.bench_reconstruct import UNSEEN
from benchmarks.bench_trackers import HEAD_AND_HANDS, WITH_HIPS, _clip, _shaken
from benchmarks.harness import data_dir
from posable.body.contacts import foot_contacts
from posable.compute.types import Floats
from posable.evaluate.measures import scored_joints
from posable.evaluate.reconstruct import CLIPS

FEET = ("left_foot", "right_foot")


def slides(body: ps.Humanoid, motion: ps.Motion, markers: tuple[str, ...]) -> tuple[float, ...]:
    """Return (slide, the captured one [m/s], error, that of feet [cm], jitter) of a clip."""
    frames, feet = body.skeleton.forward(motion.pose), [body.index(role) for role in FEET]
    points = frames.positions[:, [body.index(role) for role in markers]]
    turns = {role: body.canonical_orientation(frames, body.index(role)) for role in markers}
    answer = ps.SequentialIK(body, markers=markers).track(points, fps=motion.fps, orientations=turns)
    found, truth = body.skeleton.forward(answer.motion.pose).positions, frames.positions
    stands = foot_contacts(truth[:, feet], motion.fps, body.leg_length)
    both = stands[1:] & stands[:-1]

    def slid(positions: Floats) -> float:
        steps = np.diff(positions[:, feet], axis=0)[..., [0, 2]]
        return float(motion.fps * np.linalg.norm(steps, axis=-1)[both].mean()) if both.any() else np.nan

    scored = scored_joints(body).joints
    away = np.linalg.norm(found - truth, axis=-1)
    shaken = _shaken(found[:, scored]) / _shaken(truth[:, scored])
    return slid(found), slid(truth), 100.0 * float(away[:, scored].mean()), 100.0 * float(away[:, feet].mean()), shaken


def main() -> None:
    """Print a line a set and clip, and the mean."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clips", default=",".join((*CLIPS, *UNSEEN)))
    parser.add_argument("--each", action="store_true", help="whether clips are printed, too")
    given = parser.parse_args()
    folder = data_dir()
    if folder is None:
        raise SystemExit("there is no data; set POSABLE_DATA")
    print("points", "slide", "captured [m/s]", "error", "of feet [cm]", "jitter", sep=" | ")
    for name, markers in (("head, hands", HEAD_AND_HANDS), ("head, hands, hips", WITH_HIPS)):
        rows = []
        for clip in given.clips.split(","):
            rows.append(slides(*_clip(folder / "cmu" / f"{clip}.bvh"), markers))
            if given.each:
                print(name, clip, *(f"{value:.3f}" for value in rows[-1]), sep=" | ")
        print(name, *(f"{value:.3f}" for value in np.nanmean(rows, axis=0)), sep=" | ", flush=True)


if __name__ == "__main__":
    main()
