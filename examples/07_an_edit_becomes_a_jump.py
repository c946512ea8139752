"""An edit that becomes a jump: one foot of a runner is dragged up and forward, and the body jumps.

How the other parts answer is learned from the run itself: the knee comes up, the other foot leaves the ground, the arms
are thrown. The change fades out over the frames around it.
"""

import os
import sys
import tempfile
from pathlib import Path

import numpy as np

import posable as ps
from posable.render import Player, save_picture, strip

OUT = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
CLIP = Path(os.environ.get("POSABLE_DATA", "")) / "cmu" / "09_01.bvh"

if CLIP.exists():  # a captured run; otherwise the built-in one
    run = ps.load(CLIP, repair="cmu", first_frame=1).resampled(60)
    body = ps.Humanoid(run.skeleton)
else:
    body = ps.figure()
    run = ps.samples.run(body, duration=1.4)

# The moment at which the right foot is furthest ahead of the hips.
positions = body.skeleton.forward(run).positions
ahead = positions[:, body.index("right_foot")] - positions[:, body.index("hips")]
way = positions[-1, 0] - positions[0, 0]
way[1] = 0.0
way /= np.linalg.norm(way)
frame = int(np.argmax((ahead @ way)[20:-20])) + 20

editor = ps.MotionEditor(run, body)
jump = editor.edit(
    frame=frame,
    part="right_foot",
    displacement=0.45 * way + (0.0, 0.6, 0.0),
    mode="frozen",  # the other parts come along as they move at this frame
    scope="whole",
    softness=(0.1, 0.3),
    contacts=False,
    spread=0.3,
)
print(jump)
feet = [body.index("left_foot"), body.index("right_foot")]
for name, motion in (("before", run), ("after", editor.motion)):
    print(f"{name}: the lower foot rises {body.skeleton.forward(motion).positions[:, feet, 1].min(axis=1).max():.2f} m")

moments = [frame - 16, frame - 8, frame, frame + 8, frame + 16]
save_picture(strip(body, editor.motion, moments, view="side", spacing=1.3), OUT / "07_an_edit_becomes_a_jump.png")
ps.save(editor.motion, OUT / "07_an_edit_becomes_a_jump.glb")
Player(run, editor.motion, names=["run", "jump"], view="side", frame=frame).save(OUT / "07_an_edit_becomes_a_jump.html")
