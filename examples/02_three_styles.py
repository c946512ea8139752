"""A reach in three styles: the same target, the same feet, three moods.

A behaviour says how the body helps an arm that is too short. Three come with Posable; a fourth is learned here from a
motion and kept in a file that a person can read.
"""

import sys
import tempfile
from pathlib import Path

import posable as ps
from posable.render import Player, save_picture, strip

OUT = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
STYLES = ("normal", "tired", "energetic")
CUP = ps.Target([-0.25, 0.55, 0.55])  # low and ahead [m]

body = ps.figure()
motions = []
for style in STYLES:
    reacher = ps.Reacher(body, right=ps.Behaviour.example(style))
    reach = reacher.animate(right=CUP, fps=60)
    last = reacher.solve(right=CUP)
    print(f"{style}: {last.status} with {last.weight:.2f} of the behaviour, in {reach.motion.duration:.2f} s")
    motions.append(reach.motion.replace(name=style))

# A style of your own: learned from somebody's motion, stored, loaded, used.
learned = ps.Behaviour.fit(body, "right_arm", ps.samples.reach(body), interpolation="around", name="like the sample")
learned.save(OUT / "like-the-sample.json")
shelf = ps.Target([-0.25, 1.75, 0.40])
mine = ps.Reacher(body, right=ps.Behaviour.load(OUT / "like-the-sample.json")).solve(right=shelf)
print(f"learned from {learned.learned.used} frames, a shelf: {mine.status} with {mine.weight:.2f} of the behaviour")

poses = ps.Pose.stack([motion[-1] for motion in motions])
save_picture(strip(body, poses, [0, 1, 2], view=(-0.9, 0.12), spacing=1.1), OUT / "02_three_styles.png")
ps.save(motions[0], OUT / "02_three_styles.glb")
Player(*motions, spacing=1.0, title="A reach in three styles").save(OUT / "02_three_styles.html")
