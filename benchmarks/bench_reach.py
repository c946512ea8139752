"""A whole body reaching: one call and batches, with its own volumes, among boxes, and beside 12,000 triangles.

Kallmann 2008, Performance: 50 us without search and collisions, 100 us with the search, 10 ms with 12K triangles, on a
Pentium at 3 GHz.
"""

from __future__ import annotations

from time import perf_counter

import numpy as np

import posable as ps
from posable.jobs.executors import one_thread
from posable.math import angle
from posable.reach.examples import EXAMPLES

from .bench_collision import twelve_thousand_triangles
from .harness import Contender, Table, compare, table

ROWS = 4000


def run() -> list[Table]:
    body = ps.figure()
    behaviour = ps.Behaviour.default(body, "right_arm")
    bare = ps.Reacher(body, right=behaviour, self_collision=False)
    whole = ps.Reacher(body, right=behaviour)
    goals = np.random.default_rng(0).uniform([-0.9, 0.5, 0.0], [0.3, 1.9, 0.8], (3 * ROWS, 3))
    goals = goals[whole.solve(right=ps.Target(goals)).ok][:ROWS]
    pose = body.neutral_pose
    near = body.place(pose, "right_hand", ps.Target(goals)).ok
    one = ps.Target(goals[near][0])  # the arm alone reaches it too
    poses = ps.Pose(np.zeros((len(goals), 3)), np.repeat(pose.rotations[None], len(goals), axis=0))
    single = compare(
        "One reachable target, through the public call",
        [
            Contender("forward kinematics of the figure", lambda: body.skeleton.forward(pose)),
            Contender("the arm alone", lambda: body.place(pose, "right_hand", one)),
            Contender("the whole body", lambda: bare.solve(right=one)),
            Contender("the whole body, out of itself", lambda: whole.solve(right=one)),
        ],
    )
    with one_thread():
        many = ps.Target(goals)
        batch = compare(
            f"{len(goals):,} reachable targets on one core, each",
            [
                Contender("forward kinematics of the figure", lambda: body.skeleton.forward(poses), len(goals)),
                Contender("the arm alone", lambda: body.place(pose, "right_hand", many), len(goals)),
                Contender("the whole body", lambda: bare.solve(right=many), len(goals)),
                Contender("the whole body, out of itself", lambda: whole.solve(right=many), len(goals)),
            ],
        )
    return [single, batch, _among(body, behaviour, goals[:400]), *_examples(body)]


def _among(body: ps.Humanoid, behaviour: ps.Behaviour, goals: np.ndarray) -> Table:
    """Targets in a room, with another person of many triangles beside the figure; a call a target, best of three."""
    vertices, faces, name = twelve_thousand_triangles()
    room = (
        ps.Scene()
        .box("table", (1.2, 0.04, 0.6), (0.0, 0.75, 0.75))
        .plane("floor")
        .box("wall", (3, 3, 0.1), (0, 1.5, 1.6))
    )
    crowded = ps.Scene().box("table", (1.2, 0.04, 0.6), (0.0, 0.75, 0.75)).plane("floor")
    crowded.mesh("person", vertices - [0, vertices[:, 1].min(), 0], faces, (-0.75, 0.0, 0.45))
    samples = {}
    for label, scene in (("a table, a floor and a wall", room), (f"a table, a floor and {name}", crowded)):
        reacher = ps.Reacher(body, right=behaviour, scene=scene, allowed_contacts=())
        times, told = [], []
        for goal in goals:
            target = ps.Target(goal)
            best = np.inf
            for _ in range(3):
                begin = perf_counter()
                answer = reacher.solve(right=target)
                best = min(best, perf_counter() - begin)
            times.append(1e6 * best)
            told.append(answer)
        lowered = np.mean([bool(answer.lowered) for answer in told])
        reached = np.mean([bool(answer.ok) for answer in told])
        note = f"{reached:.0%} reached, {lowered:.0%} with less of the behaviour; worst {max(times) / 1000:.1f} ms"
        samples[label] = (times, note)
    return table(
        "The whole body out of itself and of what is around it, a target",
        "µs",
        samples,
        note=f"{len(faces)} triangles.",
    )


def _examples(body: ps.Humanoid) -> list[Table]:
    """What the example behaviours add to the arm, and how fast they move with a target."""
    rng = np.random.default_rng(1)
    around = ps.Target(rng.uniform([-1.6, 0.0, -1.2], [1.2, 2.4, 1.6], (20_000, 3)))
    alone = float(body.place(body.neutral_pose, "right_hand", around, self_collision=True).ok.mean())
    ends = rng.uniform([-1.2, 0.1, -0.6], [0.8, 2.1, 1.2], (60, 2, 3))
    paths = [np.linspace(a, b, int(np.linalg.norm(b - a) * 1000)) for a, b in ends]  # a millimetre a step
    volumes, rates = {"the arm alone": ([1.0], "")}, {}
    for name in EXAMPLES:
        behaviour = ps.Behaviour.example(name, "right_arm", body)
        for extend in (False, True):
            reacher = ps.Reacher(body, right=behaviour, extend=extend)
            label = f"{name}, extend" if extend else name
            volumes[label] = ([float(reacher.solve(right=around).ok.mean()) / alone], "")
        joints = [body.roles[part] for part in behaviour.parts]
        reacher, worst = ps.Reacher(body, right=behaviour), 0.0
        for path in paths:
            turned = reacher.solve(right=ps.Target(path)).pose.rotations[:, joints]
            worst = max(worst, 1000.0 * float(angle(turned[1:], turned[:-1]).max()))
        rates[name] = ([worst], "")
    return [
        table("Targets reached, of 20,000 in a box around the figure", "times the arm's", volumes),
        table("Fastest driven joint, on 60 straight paths of the target", "mrad/mm", rates),
    ]
