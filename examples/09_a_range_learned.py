"""A limb's range learned: where a hand goes, and with which elbows, taken from motions.

A range knows the combinations that joint limits do not: it tells poses that people take from poses that nobody takes,
and corrects the others. Drawn: a hand that is sent around the body, as asked and as corrected.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

import posable as ps
from posable.render import Player, save_picture, strip

OUT = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())

body = ps.figure()
arm = body.limb("right_arm")
names = ("reach", "throw", "boxing", "dance", "walk")
motions = [getattr(ps.samples, name)(body) for name in names]
mine = ps.LimbRange.fit(body, "right_arm", motions)
mine.save(OUT / "right-arm.npz")
print(f"learned from {mine.report.examples} poses of {', '.join(names)}")

# How much of another motion does it know? And what does it say of elbows on the wrong side?
reading = arm.read(ps.samples.run(body).pose)
people = ps.LimbRange.builtin("right_arm").for_limb(arm)  # learned from 78 people
for name, one in (("mine", mine), ("of 78 people", people)):
    inside = one.contains(reading.position, reading.swivel).mean()
    reversed_ = one.contains(reading.position, reading.swivel + np.pi).mean()
    print(f"{name}: {inside:.0%} of a run is inside, {reversed_:.0%} with the elbow on the wrong side")

# A hand sent once around the shoulder, far behind the back too: as limits allow it, and as people do it.
around = np.linspace(0.0, 2.0 * np.pi, 180)
shoulder = body.skeleton.forward(body.neutral_pose).positions[body.index("right_upper_arm")]
path = shoulder + 0.42 * np.stack([np.sin(around) - 0.3, -0.25 + 0 * around, np.cos(around)], axis=-1)
asked = body.place(body.neutral_pose, "right_hand", ps.Target(path))
kept = body.place(body.neutral_pose, "right_hand", ps.Target(path), limb_range=people)
print(f"reached: {asked.ok.mean():.0%} within the limits, {kept.ok.mean():.0%} within the range too")

before, after = (ps.Motion(body.skeleton, solution.pose, fps=60) for solution in (asked, kept))
save_picture(strip(body, after, frames=8, view=(-0.9, 0.3)), OUT / "09_a_range_learned.png")
ps.save(after, OUT / "09_a_range_learned.glb")
shown = ["within the limits", "within the range"]
Player(before, after, names=shown, points=path[:, None], view=(-0.9, 0.3)).save(OUT / "09_a_range_learned.html")
