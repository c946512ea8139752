"""What one call costs, through the public functions: the compiled library and the JIT, process by process in turn.

Each contender is a process of its own, since one has kernels of one kind. A round of each follows the other, so that
what slows one slows both.
"""

from __future__ import annotations

import os

from .harness import Table, fresh_python, table

SETUP = """
import time
import numpy as np
import posable as ps
body = ps.figure()
pose = body.neutral_pose
"""
CALLS = {
    "an arm with its search: `Limb.solve`": """
arm = body.limb("right_arm")
target = [0.3, -0.2, 0.2]
run = lambda: arm.solve(target)
""",
    "a hand of a body: `Body.place`": """
target = ps.Target([-0.3, 1.25, 0.3])
run = lambda: body.place(pose, "right_hand", target)
""",
    "forward kinematics of a robot of seven joints: `Skeleton.forward`": """
robot = ps.Skeleton("abcdefgh", [-1, *range(7)], np.full((8, 3), 0.2), kinds=["fixed", *["hinge"] * 7])
values = robot.from_values(np.linspace(-1, 1, 7))
run = lambda: robot.forward(values)
""",
    "a whole-body reach: `Reacher.solve`": """
reacher = ps.Reacher(body, right=ps.Behaviour.default(body, "right_arm"))
target = ps.Target([-0.3, 0.9, 0.6])
run = lambda: reacher.solve(right=target)
""",
    "a body from six points with the prior: `SequentialIK.solve`": """
solver = ps.SequentialIK(body)
points = body.markers(ps.samples.walk(body, duration=0.5).pose[10])
run = lambda: solver.solve(points)
""",
    "a posture that aims: `ERIK.solve`": """
solver = ps.ERIK(ps.Chain.from_axes("YXXZY"))
run = lambda: solver.solve([0, 0.6, -0.9, 0.3, 0], direction=(0.3, 0.6, 0.5))
""",
}
MEASURE = """
run()
best = []
for _ in range(60):
    start = time.process_time()
    for _ in range(50):
        run()
    best.append((time.process_time() - start) / 50)
print(sorted(best)[len(best) // 4] * 1e6)
"""
ROUNDS = 7


def run() -> list[Table]:
    return [_calls(title, code) for title, code in CALLS.items()]


def _calls(title: str, code: str) -> Table:
    samples: dict[str, tuple[list[float], str]] = {"library": ([], ""), "JIT": ([], "Numba's dispatch")}
    for _ in range(ROUNDS):
        for name, way in (("library", "library"), ("JIT", "jit")):
            _, printed = fresh_python(SETUP + code + MEASURE, **{**os.environ, "POSABLE_KERNELS": way})
            samples[name][0].append(float(printed.split()[-1]))
    return table(f"One call: {title}", "µs", samples, note="Processor time, the lower quartile of sixty tries.")
