"""How far `AutoPose` leaps while a part is dragged: `python -m tools.measure_leaps [--rigs figure,VRM] [--drags 24]`.

Drags are drawn at random: one to four parts of a body in its neutral pose, up to three of them held where they were, or
up to a quarter of the joint height away anywhere, one dragged along a curve of 0.2 to 0.7 of it, half a hundredth a
step. Most come where no body can be. Printed for each rig is in how many drags the longest step of any part was how
long [% of the joint height], the longest of all, and how many steps were met; `--alone` solves each step without the
one before.
"""

from __future__ import annotations

import argparse
import itertools
from pathlib import Path

import numpy as np

import posable as ps
from benchmarks.harness import data_dir
from posable.compute.types import Floats

RIGS = ("figure", "MakeHuman", "VRM", "CesiumMan", "mixamo")
PARTS = ("head", "left_hand", "right_hand", "hips", "left_foot", "right_foot", "left_lower_arm", "right_lower_arm")
PARTS = (*PARTS, "left_lower_leg", "right_lower_leg", "upper_chest")
ODDS = (3.0, 4.0, 4.0, 3.0, 2.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0)  # how often each is drawn, relative to the others
STEP = 0.005  # of the joint height
EDGES = (0.0, 0.01, 0.025, 0.05, 0.1, 0.2, np.inf)


def rig_of(name: str, folder: Path | None) -> ps.Humanoid:
    """Return a body: "figure", a naming convention of `tests.body.rigs`, or that of a file."""
    from tests.body.bodies import FILES, file_body, plan_body

    if name == "figure":
        return ps.figure()
    if name not in FILES:
        return plan_body(name)
    if folder is None:
        raise SystemExit("there is no data; set POSABLE_DATA")
    return file_body(folder, name)


def drawn(body: ps.Humanoid, seed: int) -> tuple[str, dict[str, Floats], Floats]:
    """Return (the part that is dragged, part to where it is held [m], the path of the first (N, 3) [m])."""
    rng, tall = np.random.default_rng([7, seed]), body.joint_height
    was = body.skeleton.forward(body.neutral_pose).positions

    def direction() -> Floats:
        v = rng.normal(size=3)
        return np.asarray(v / np.linalg.norm(v))

    pool = [k for k, part in enumerate(PARTS) if part in body.roles]
    odds = np.array(ODDS)[pool]
    part, *others = [PARTS[k] for k in rng.choice(pool, rng.integers(1, 5), replace=False, p=odds / odds.sum())]
    held = {}
    for other in others:
        size = 0.0 if rng.random() < 0.4 else 0.25 * rng.random()
        held[other] = was[body.index(other)] + size * tall * direction()
    along, length = direction(), rng.uniform(0.2, 0.7)
    if part.endswith("hand") and rng.random() < 0.7:
        along[1:] = np.abs(along[1:])  # ahead and up, where hands are
    s = np.linspace(0.0, 1.0, int(length / STEP) + 1)[:, None]
    bend = 0.15 * length * rng.normal(size=3)
    return part, held, was[body.index(part)] + tall * (s * length * along + 4.0 * s * (1.0 - s) * bend)


def leaps(body: ps.Humanoid, auto: ps.AutoPose, seed: int, *, alone: bool = False) -> tuple[Floats, float]:
    """Return (the largest step of any part in each step of a drag [joint heights], how many of its steps were met)."""
    part, held, path = drawn(body, seed)
    joints, before, places, met = list(body.roles.values()), None, [], 0
    for position in path:
        answer = auto.solve({**held, part: position}, before=before)
        places.append(body.skeleton.forward(answer.pose).positions[joints])
        met += answer.ok
        before = None if alone else answer
    steps = np.linalg.norm(np.diff(np.array(places), axis=0), axis=-1).max(axis=-1)
    return steps / body.joint_height, met / len(path)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rigs", default=",".join(RIGS))
    parser.add_argument("--drags", type=int, default=24)
    parser.add_argument("--alone", action="store_true", help="solve each step without the one before")
    given = parser.parse_args()
    ends = [f"{100.0 * a:g} to {100.0 * b:g} %" for a, b in itertools.pairwise(EDGES)]
    print(" | ".join(["rig", *ends, "longest", "99 % of steps", "met"]))
    for name in given.rigs.split(","):
        body = rig_of(name, data_dir())
        auto = ps.AutoPose(body)
        found = [leaps(body, auto, seed, alone=given.alone) for seed in range(given.drags)]
        counts = np.histogram([steps.max() for steps, _ in found], EDGES)[0]
        every, met = np.concatenate([steps for steps, _ in found]), np.mean([share for _, share in found])
        most = [f"{100.0 * value:.1f} %" for value in (every.max(), np.percentile(every, 99))]
        print(" | ".join([name, *map(str, counts), *most, f"{100.0 * met:.0f} %"]), flush=True)


if __name__ == "__main__":
    main()
