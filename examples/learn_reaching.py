"""Learn how somebody reaches from a motion, keep it in a file, and reach that way somewhere else."""

import tempfile
from pathlib import Path

import numpy as np

import posable as ps
from posable.limb import Target
from posable.reach import Behaviour, Reacher

# Any motion in which somebody stands and reaches will do: ps.load("02_06.bvh", repair="cmu", first_frame=1), or several
# of several people. This one is built in.
body = ps.figure()
motion = ps.samples.reach(body)

# Keys in space around the shoulder, where the hand goes; "linear" and "smooth" put them on the swing plane.
behaviour = Behaviour.fit(body, "right_arm", motion, interpolation="around", name="like the sample")
print(behaviour.learned)

# A person can read the file, and change it; so can the studio.
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "like-the-sample.json"
    behaviour.save(path)
    behaviour = Behaviour.load(path)
    print(f"{len(behaviour.keys)} keys of {len(behaviour.parts)} parts in {path.stat().st_size // 1024} kB")

# Reach with it: the hand is on the target, the feet stay, the body goes along as it did in the motion.
reacher = Reacher(body, right=behaviour)
targets = np.array([[-0.25, 1.75, 0.40], [0.45, 1.20, 0.25], [-0.45, 1.10, 0.45]])
answer = reacher.solve(right=Target(targets))
hips = body.canonical(answer.pose).hips - body.canonical(body.neutral_pose).hips
for target, ok, residual, weight, moved in zip(
    targets, answer.ok, answer.position_error, answer.weight, hips * body.leg_length, strict=True
):
    print(
        f"to {target}: {'on it' if ok else f'{1000 * residual:.0f} mm short'}, weight {weight:.2f}, "
        f"hips {100 * moved[0]:+.1f} cm left, {100 * moved[1]:+.1f} up, {100 * moved[2]:+.1f} ahead"
    )
