"""A robot that looks sadly: it follows somebody with its head and keeps its posture while it does.

Five motors, a drooping posture, and a person who walks past. The solver aims the tip and holds as much of the posture
as it can; a filter turns its angles into motion that motors can follow.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

import posable as ps
from posable.render import Player, save_picture, strip

OUT = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
FPS = 60

# Somebody walks past, two metres away [m].
time = np.arange(240) / FPS
somebody = np.stack([2.0 - time, np.full(240, 1.6), np.full(240, 2.0)], axis=-1)

# Axes from the root on, lengths in metres. ps.Chain.from_robot("robot.urdf") reads a robot from its file.
robot = ps.Chain.from_axes("YXXZY", lengths=[0.1, 0.3, 0.3, 0.2, 0.2], limits=(-1.5708, 1.5708))
sad = np.array([0.0, 0.7, 0.8, 0.2, 0.0])  # radians, one a joint
track = ps.ERIK(robot).track(sad, look_at=somebody, fps=FPS)
print(f"aimed in {track.ok.sum()} of {len(track.angles)} frames; {track.jumped.sum()} jumps")
print(f"posture error {track.posture_error.mean():.3f} in the mean, 0 would be the posture itself")

# What the motors are sent: never faster, never harder, however the answers leap.
motors = ps.MotionFilter(velocity=3, acceleration=20, jerk=200, fps=FPS, position_limits=robot.limits)
sent = motors.run(track.angles)
print(f"sent: at most {np.abs(np.diff(sent, axis=0)).max() * FPS:.2f} rad/s; 3 are allowed")

motion = ps.Motion(track.motion.skeleton, robot.pose(sent), fps=FPS, name="A robot that looks sadly")
save_picture(strip(motion, frames=8, view=(0.5, 0.15)), OUT / "06_a_robot_looks_sadly.png")
ps.save(motion, OUT / "06_a_robot_looks_sadly.glb")
Player(motion, view=(0.5, 0.15)).save(OUT / "06_a_robot_looks_sadly.html")
