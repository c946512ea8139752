"""A live take replayed: a recorded file of points goes through the solver frame by frame, as trackers send them.

Nothing looks ahead: each step sees the frames before it alone, as in a headset. There is no network here: the take
comes from a CSV file.
"""

import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import posable as ps
from posable.render import Player, save_picture, strip

OUT = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())

# Somebody recorded this: six points a line, some of them lost, with a tracker's noise.
body = ps.figure()
take = ps.samples.throw(body)
points = body.markers(take.pose) + np.random.default_rng(2).normal(scale=0.002, size=(len(take), 6, 3))
points[60:80, ps.MARKERS.index("right_foot")] = np.nan
names = [f"{marker}_{axis}" for marker in ps.MARKERS for axis in "xyz"]
table = np.concatenate([take.times[:, None], points.reshape(len(take), -1)], axis=1)
np.savetxt(OUT / "take.csv", table, delimiter=",", header=",".join(["time", *names]), comments="", fmt="%.5f")

# Replay it.
recorded = ps.load_points(OUT / "take.csv")
stream = ps.SequentialIK(body).stream(fps=recorded.fps, smoothing=0.03, lock_feet=True)
poses, spent = [], []
for frame in recorded.positions:
    began = time.perf_counter()
    answer = stream.step(frame)
    spent.append(time.perf_counter() - began)
    poses.append(answer.pose)
print(
    f"{len(poses)} frames; a step takes {1e3 * np.median(spent):.2f} ms here, a frame lasts {1e3 / recorded.fps:.1f} ms"
)

motion = ps.Motion(body.skeleton, ps.Pose.stack(poses), fps=recorded.fps, name="replayed")
hand = [body.skeleton.forward(one).positions[:, body.index("right_hand")] for one in (take, motion)]
print(
    f"the throwing hand is {1000 * np.linalg.norm(hand[0] - hand[1], axis=-1).mean():.0f} mm off in the mean: it lags"
)

save_picture(strip(body, motion, frames=9, view="left", spacing=1.0), OUT / "11_a_live_take_replayed.png")
ps.save(motion, OUT / "11_a_live_take_replayed.glb")
Player(take, motion, names=["the person", "the body, live"], points=points, view="left").save(
    OUT / "11_a_live_take_replayed.html"
)
