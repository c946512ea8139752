"""A body from three points: a headset and two controllers.

Nobody tracks hips and feet, so they are guessed: hips under the head, feet that step after the body. The result is
believable above the waist and a guess below it, and this example measures how much of a guess. Hands and head are met
all the same.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

import posable as ps
from posable.render import Player, save_picture, strip

OUT = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
TRACKED = ("head", "left_hand", "right_hand")

body = ps.figure()
boxing = ps.samples.boxing(body)
frames = body.skeleton.forward(boxing)
points = frames.positions[:, [body.index(role) for role in TRACKED]]
turned = {role: body.canonical_orientation(frames, body.index(role)) for role in TRACKED}

solver = ps.SequentialIK(body, markers=TRACKED)
solution = solver.track(points, fps=boxing.fps, orientations=turned)
print(f"{solution.ok.sum()} of {len(boxing)} frames meet all three points")

away = np.linalg.norm(frames.positions - body.skeleton.forward(solution.motion).positions, axis=-1)
for role in (*TRACKED, "left_lower_arm", "hips", "left_lower_leg", "left_foot"):
    known = "tracked" if role in TRACKED else "guessed"
    print(f"{role:>15} ({known}): {100 * away[:, body.index(role)].mean():5.1f} cm off in the mean")

motion = solution.motion.replace(name="from three points")
save_picture(strip(body, motion, frames=8, view=(0.75, 0.18), spacing=1.0), OUT / "05_a_body_from_three_points.png")
ps.save(motion, OUT / "05_a_body_from_three_points.glb")
Player(boxing, motion, names=["as it was", "from three points"], points=points, view=(0.75, 0.18)).save(
    OUT / "05_a_body_from_three_points.html"
)
