"""A five-joint robot, and a figure, follow somebody with their eyes in a posture, as fast as motors can."""

import numpy as np

import posable as ps

# Somebody walks past, two metres away.
fps, time = 60, np.arange(240) / 60
somebody = np.stack([2.0 - time, np.full(240, 1.6), np.full(240, 2.0)], axis=-1)

# The robot: axes root first, lengths in metres. ps.Chain.from_urdf("robot.urdf") reads one from a file.
robot = ps.Chain.from_axes("YXXZY", lengths=[0.1, 0.3, 0.3, 0.2, 0.2], limits=(-1.5708, 1.5708))
sad = np.array([0.0, 0.7, 0.8, 0.2, 0.0])
for method in ("erik", "best"):
    track = ps.ERIK(robot, method).track(sad, look_at=somebody, fps=fps)
    print(f"{method}: mean error {track.error.mean():.4f}, {track.jumped.sum()} jumps in {len(track.angles)} frames")

# What the motors are sent: never faster, never harder, however the answers leap.
sent = ps.MotionFilter(velocity=3, acceleration=20, jerk=200, fps=fps, position_limits=robot.limits).run(track.angles)
speed = np.abs(np.diff(sent, axis=0)).max() * fps
print(f"sent: at most {speed:.2f} rad/s, at most {np.abs(sent - track.angles).max():.2f} rad behind")

# The same with a person's spine: the head looks, the back keeps as much of its stoop as it can.
body = ps.figure()
spine = ps.Chain.from_body(body, "spine")
stoop = np.where([name.endswith("flexion") for name in spine.names], 0.2, 0.0)
looking = ps.ERIK(spine, stop_at_threshold=True).track(stoop, look_at=somebody[::10], fps=6)
print(f"figure: {looking.ok.sum()} of {len(looking.angles)} frames within the threshold, {len(looking.motion)} poses")
