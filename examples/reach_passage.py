"""A hand passes from behind the body to its front, close by the trunk, and nothing touches (Kallmann 2008, Figure 11).

python examples/reach_passage.py                                   # tells what happens
python examples/reach_passage.py docs/_static/reach-passage.png    # and draws it
"""

import sys

import numpy as np

import posable as ps
from posable.body.collision.clearance import clearance
from posable.render import save_picture, strip

BACK, FRONT = (-0.25, 1.00, -0.30), (-0.10, 1.10, 0.42)  # beside the hip: the straight way between grazes the waist

body = ps.figure()
behaviour = ps.Behaviour.default(body, "right_arm")
steps = [ps.ReachStep(right=ps.Target(BACK), duration=2.0), ps.ReachStep(right=ps.Target(FRONT), duration=2.0)]


def passage(self_collision: bool) -> ps.reach.ReachMotionSolution:
    """The whole way: from standing to behind the body, and on to its front."""
    return ps.Reacher(body, right=behaviour, self_collision=self_collision).animate(steps=steps, fps=60)


whole = clearance(body)
for self_collision in (False, True):
    told = passage(self_collision)
    frames = body.skeleton.forward(told.motion.pose)
    touching = whole.touches(frames)
    parts = sorted({name for pair in whole.touching(frames) for name in pair})
    print("the arm keeps out of the body:" if self_collision else "the arm does not care:")
    print(f"  {len(told.motion)} frames, {told.ok.sum()} with the hand on its way, {told.jumped.sum()} elbow jumps")
    print(f"  {touching.sum()} frames in which the body touches itself {', '.join(parts)}")
    hand = frames.positions[told.arrivals[0] :, body.index("right_hand")]
    line = np.cross(hand - BACK, np.subtract(FRONT, BACK)) / np.linalg.norm(np.subtract(FRONT, BACK))
    print(f"  on the passage the hand is at most {np.linalg.norm(line, axis=-1).max():.0e} m off its straight line")

if len(sys.argv) > 1:
    way = np.linalg.norm(hand - hand[0], axis=-1)  # figures at even steps of the hand
    moments = told.arrivals[0] + np.searchsorted(way, np.linspace(0.0, way[-1], 8))
    save_picture(strip(body, told.motion, moments, view=(-1.9, 0.22), spacing=0.72, height=300), sys.argv[1])
    print(sys.argv[1])
