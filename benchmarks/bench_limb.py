"""One arm solved: alone and in batches, at a given swivel and by search; beside forward kinematics of the same arm."""

from __future__ import annotations

import numpy as np

import posable as ps
import posable.math as pm
from posable.jobs.executors import one_thread

from .harness import Contender, Table, compare

ROWS = 20_000


def run() -> list[Table]:
    body = ps.figure()
    arm, free = body.limb("right_arm"), body.limb("right_arm", limits=None)
    rng = np.random.default_rng(0)
    values = rng.uniform(-1.2, 1.2, (4 * ROWS, 7))
    values[:, 3] = rng.uniform(0.2, 2.2, len(values))
    frames = arm.forward(values)
    reachable = np.flatnonzero(arm.solve(frames.end, frames.orientation).ok)[:ROWS]
    place, turn = frames.end[reachable], frames.orientation[reachable]
    swivel = np.full(len(place), 0.5)
    assert free.solve(place, turn, swivel=swivel).ok.mean() > 0.999
    one, turned = place[0].copy(), turn[0].copy()
    pose, target = body.neutral_pose, ps.Target([-0.3, 1.25, 0.3])
    obstacles = arm.obstacles(pose)
    tests = float(arm.solve(place, turn).tests.mean())
    single = compare(
        "One reachable target, through the public call",
        [
            Contender("forward kinematics of the arm", lambda: arm.forward(values[0])),
            Contender("fixed swivel", lambda: free.solve(one, turned, swivel=0.5)),
            Contender("search inside the limits", lambda: arm.solve(one, turned)),
            Contender("search, out of the body too", lambda: arm.solve(one, turned, obstacles=obstacles)),
            Contender("a hand of the figure in the world", lambda: body.place(pose, "right_hand", target)),
        ],
    )
    with one_thread():
        batch = compare(
            f"{len(place):,} reachable targets on one core, each",
            [
                Contender("forward kinematics of the arm", lambda: arm.forward(values[: len(place)]), len(place)),
                Contender("fixed swivel", lambda: free.solve(place, turn, swivel=swivel), len(place)),
                Contender("search inside the limits", lambda: arm.solve(place, turn), len(place)),
                Contender("reading limbs from poses", _reading(body), 2000),
            ],
            note=f"The search tests {tests:.1f} swivels a target on average here, bisections included.",
        )
    return [single, batch]


def _reading(body: ps.Humanoid) -> object:
    rotations = pm.multiply(
        body.neutral_pose.rotations, pm.exp(np.random.default_rng(1).normal(size=(2000, 29, 3)) * 0.3)
    )
    poses = ps.Pose(np.zeros((2000, 3)), rotations)
    arm, frames = body.limb("right_arm"), body.skeleton.forward(poses)
    return lambda: arm.read(poses, frames)
