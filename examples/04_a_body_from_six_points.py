"""A body from six points: pelvis, head, wrists and ankles give back everything else.

The points here are those of a dance, with a tracker's noise and one hand lost for half a second. Drawn over each other:
the dance as it was, and the body that was reconstructed from the six points alone.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

import posable as ps
from posable.render import Player, save_picture, strip

OUT = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())

body = ps.figure()
dance = ps.samples.dance(body, duration=6.0)
points = body.markers(dance.pose)  # (F, 6, 3) in the order of ps.MARKERS [m]
points = points + np.random.default_rng(1).normal(scale=0.003, size=points.shape)
points[120:150, ps.MARKERS.index("left_hand")] = np.nan  # lost

solution = ps.SequentialIK(body).track(points, fps=dance.fps, smoothing=0.03, lock_feet=True)
print(solution)
# With exact points every frame is REACHED. Noise lifts the head beyond what a straight spine spans, by a millimetre;
# a locked foot leaves its noisy tracker; and a lost hand glides back for a quarter of a second.
seen = np.where(np.isfinite(solution.marker_errors), solution.marker_errors, 0.0).max(axis=1)
print(f"every point that was seen is within 7 mm in {(seen < 0.007).sum()} of {len(seen)} frames")
print(f"points that were lost: {solution.lost.sum()}, bridged until they are back")

here, there = (body.skeleton.forward(motion).positions for motion in (dance, solution.motion))
away = np.linalg.norm(here - there, axis=-1)
print(f"joints are {1000 * away.mean():.0f} mm from where they were in the mean, {1000 * away.max():.0f} mm at most")
elbow = away[:, body.index("left_lower_arm")]
print(f"the left elbow, which nobody tracked: {1000 * elbow.mean():.0f} mm in the mean")

motion = solution.motion.replace(name="from six points")
save_picture(strip(body, motion, frames=9, spacing=0.9), OUT / "04_a_body_from_six_points.png")
ps.save(motion, OUT / "04_a_body_from_six_points.glb")
Player(dance, motion, names=["as it was", "from six points"], points=points).save(
    OUT / "04_a_body_from_six_points.html"
)
