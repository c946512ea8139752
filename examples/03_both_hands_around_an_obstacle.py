"""Both hands around an obstacle: over a box on a table, to what lies behind it.

A path straight through the box collides; a step above it leads around. Arms keep out of the box, of the table, of the
body and of each other, frame by frame.
"""

import sys
import tempfile
from pathlib import Path

import posable as ps
from posable.render import Player, save_picture, strip

OUT = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())

body = ps.figure()
scene = ps.Scene()
scene.box("table", size=(1.4, 0.04, 0.5), position=(0.0, 0.74, 0.62))
scene.box("box", size=(0.5, 0.22, 0.08), position=(0.0, 0.87, 0.44))
reacher = ps.Reacher(
    body,
    right=ps.Behaviour.default(body, "right_arm"),
    left=ps.Behaviour.default(body, "left_arm"),
    scene=scene,
    self_collision=True,
)


def both(x: float, y: float, z: float) -> dict[str, ps.Target]:
    """A target for each hand, mirrored [m]."""
    return {"right": ps.Target([-x, y, z]), "left": ps.Target([x, y, z])}


behind = both(0.14, 0.92, 0.66)
straight = reacher.animate(steps=[ps.ReachStep(**behind)], fps=60)
print(f"straight: {(straight.status == ps.Status.COLLISION).sum()} of {len(straight.motion)} frames touch something")

above = both(0.20, 1.16, 0.42)
over = reacher.animate(steps=[ps.ReachStep(**above), ps.ReachStep(**behind, hold=0.5), ps.ReachStep(**above)], fps=60)
touching = (over.status == ps.Status.COLLISION).sum()
print(f"over the box: {touching} of {len(over.motion)} frames touch something, {over.ok.sum()} are met")

motion = over.motion.replace(name="Both hands around a box")
picture = strip(body, motion, frames=6, view=(-0.9, 0.2))
save_picture(picture, OUT / "03_both_hands_around_an_obstacle.png")
ps.save(motion, OUT / "03_both_hands_around_an_obstacle.glb")
Player(motion, scene=scene, view=(-0.9, 0.25)).save(OUT / "03_both_hands_around_an_obstacle.html")
