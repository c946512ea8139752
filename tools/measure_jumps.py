"""How far bodies jump where points come and go: `python -m tools.measure_jumps`.

Clips of people whom the network never saw, at 60 Hz, from six points that are lost and return in several ways, with and
without orientations: how much further a joint moves in a frame than the captured one does in any frame within a third
of a second [mm], at most and the 99.9th percentile; and by how much more what it moves changes from frame to frame than
that of the captured one [mm], at most; all over the 22 scored joints. Beside them the same where nothing is lost. Seen
from outside: from the returned poses alone.
"""

from __future__ import annotations

import argparse

import numpy as np

import posable as ps
from benchmarks.bench_reconstruct import UNSEEN
from benchmarks.harness import data_dir
from posable.compute.types import Bools, Floats
from posable.evaluate.measures import scored_joints
from posable.evaluate.reconstruct import CLIPS, motion_of

RATE, FRAMES, AROUND = 60.0, 1300, 20
WAYS = ("none", "subsets", "frame", "short", "long", "trunk", "flicker", "uneven")


def lost_in(way: str, seed: int, frames: int) -> tuple[Bools, Bools]:
    """Return (F, 6) which points, and (F, 6) which orientations, are lost in a way.

    none; every subset of six for a third of a second; one random set for one frame, 0.2 s or 5 s with as much between
    (a third of a second after a frame); hips and head together for 1 s; each in a frame of three; orientations and
    points by themselves, for random times.
    """
    rng = np.random.default_rng([seed, WAYS.index(way)])
    lost = np.zeros((frames, 6), bool)
    if way == "none":
        return lost, lost
    if way == "flicker":
        lost[10:] = rng.random((frames - 10, 6)) < 1.0 / 3.0
        return lost, lost
    if way == "uneven":
        return _spells(rng, frames), _spells(rng, frames)
    if way == "subsets":
        sets = (rng.permutation(np.arange(64))[:, None] >> np.arange(6)) & 1 == 0
        lost[10:] = np.repeat(np.resize(sets, (frames, 6)), 20, axis=0)[: frames - 10]
        return lost, lost
    away, between = {"frame": (1, 20), "short": (12, 20), "long": (300, 60), "trunk": (60, 40)}[way]
    for first in range(10, frames, away + between):
        some = np.isin(np.arange(6), (0, 1)) if way == "trunk" else rng.random(6) < 0.5
        lost[first : first + away] = some
    return lost, lost


def _spells(rng: np.random.Generator, frames: int) -> Bools:
    """Return (F, 6): each lost and seen in turn for 1 to 90 frames."""
    out = np.zeros((frames, 6), bool)
    for k in range(6):
        ends = np.cumsum(rng.integers(1, 91, frames))
        out[:, k] = np.searchsorted(ends, np.arange(frames), side="right") % 2 == 1
    out[:10] = False
    return out


def moves(
    clip: str, lost: Bools, blind: Bools, oriented: bool, folder: str, prior: str | None
) -> tuple[Floats, Floats]:
    """Return (F - 1, 22) by how much further than captured each joint moves in a frame [m], and (F - 2, 22) by how
    much more that changes.
    """
    motion, _ = motion_of(f"{folder}/{clip}.bvh")
    every = max(1, round(motion.fps / RATE))
    motion = ps.Motion(motion.skeleton, motion.pose[::every][: len(lost)], RATE)
    lost, blind, body = lost[: len(motion)], blind[: len(motion)], ps.Humanoid(motion.skeleton)
    frames = motion.skeleton.forward(motion.pose)
    points, turns = body.markers(motion.pose), {}
    points[lost] = np.nan
    for k, role in enumerate(ps.MARKERS if oriented else ()):
        turns[role] = body.canonical_orientation(frames, body.index(role))
        turns[role][blind[:, k]] = np.nan
    answer = ps.SequentialIK(body, prior=prior).track(points, fps=RATE, orientations=turns or None)
    joints = scored_joints(body).joints
    found, truth = body.skeleton.forward(answer.motion.pose).positions[:, joints], frames.positions[:, joints]
    (moved, changed), (moves_too, changes_too) = ([_sizes(p, n) for n in (1, 2)] for p in (found, truth))
    return np.maximum(moved - _most_around(moves_too), 0.0), np.maximum(changed - _most_around(changes_too), 0.0)


def _sizes(positions: Floats, order: int) -> Floats:
    return np.linalg.norm(np.diff(positions, order, axis=0), axis=-1)


def _most_around(sizes: Floats) -> Floats:
    """Return the largest of each joint in `AROUND` frames to both sides."""
    from scipy.ndimage import maximum_filter1d

    return maximum_filter1d(sizes, 2 * AROUND + 1, axis=0, mode="nearest")


def main() -> None:
    """Print a line a way of losing points: the worst of all clips and orders, and where."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clips", default=",".join((*CLIPS, *UNSEEN)))
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--orders", type=int, default=2)
    parser.add_argument("--prior", default="default")
    parser.add_argument("--worst", type=int, default=1, help="how many of the worst cases are named")
    given = parser.parse_args()
    folder = data_dir()
    if folder is None:
        raise SystemExit("there is no data; set POSABLE_DATA")
    prior = None if given.prior == "none" else given.prior
    print("lost", "given", "most [mm]", "99.9 % [mm]", "change [mm]", "where (clip, order, frame, joint)", sep=" | ")
    for way in given.ways.split(","):
        for oriented in (False, True):
            found, all_moves = [], []
            for clip in given.clips.split(","):
                for order in range(1 if way == "none" else given.orders):
                    moved, changed = moves(clip, *lost_in(way, order, FRAMES), oriented, f"{folder}/cmu", prior)
                    all_moves.append(moved.ravel())
                    frame, joint = np.unravel_index(moved.argmax(), moved.shape)
                    found.append((moved.max(), changed.max(), (clip, order, int(frame), int(joint))))
            found.sort(key=lambda one: -one[0])
            share = np.quantile(np.concatenate(all_moves), 0.999)
            where = ", ".join(f"{place} {1000 * most:.0f}" for most, _, place in found[: given.worst])
            numbers = (1000 * found[0][0], 1000 * share, 1000 * max(one[1] for one in found))
            given_as = "orientations" if oriented else "positions"
            print(way, given_as, *(f"{value:.0f}" for value in numbers), where, sep=" | ", flush=True)


if __name__ == "__main__":
    main()
