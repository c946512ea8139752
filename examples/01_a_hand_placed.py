"""A hand placed: the arm follows at once and exactly, and the elbow keeps out of the table.

`body.place` puts a hand, or a foot, on a target. The same call takes one target or a whole path of them, and every
answer says whether it was reached and how far it is off.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

import posable as ps
from posable.render import Player, save_picture, strip

OUT = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())

body = ps.figure(height=1.75)
pose = body.neutral_pose

# One target [m]: x to the figure's left, y up, z ahead.
placed = body.place(pose, "right_hand", ps.Target([-0.3, 1.3, 0.35]))
print(f"one target: {placed.status}, {placed.position_error:.1e} m off")

# A target that is too far gives the closest posture, and says so.
far = body.place(pose, "right_hand", ps.Target([-0.3, 1.3, 2.0]))
print(f"too far: {far.status}, {far.position_error:.2f} m short")

# A path of targets in one call: the hand writes a circle above a table that the elbow must not touch.
around = np.linspace(0.0, 2.0 * np.pi, 120)
path = np.stack([-0.28 + 0.16 * np.cos(around), 1.22 + 0.16 * np.sin(around), np.full(120, 0.36)], axis=-1)
table = ps.Scene().box("table", size=(1.1, 0.05, 0.6), position=(-0.1, 0.92, 0.55))
circle = body.place(pose, "right_hand", ps.Target(path), scene=table, self_collision=True)
print(f"a path: {circle.ok.sum()} of {len(path)} reached, {circle.position_error.max():.1e} m off at most")

motion = ps.Motion(body.skeleton, circle.pose, fps=60, name="A hand placed")
save_picture(strip(body, motion, frames=6, view=(-0.9, 0.15)), OUT / "01_a_hand_placed.png")
ps.save(motion, OUT / "01_a_hand_placed.glb")
Player(motion, points=path[:, None], scene=table, view=(-0.9, 0.15)).save(OUT / "01_a_hand_placed.html")
