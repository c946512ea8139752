"""A humanoid robot that boxes: its upper arms and forearms point where a boxer's point.

Each arm has two end points, elbow and wrist, which share motors and are aimed together. Legs stand still; example 13
puts a whole person on a robot. The robot is Unitree's G1 where $POSABLE_DATA has it; else arms and spine of a figure
do the same, and the head looks at the opponent.
"""

import os
import sys
import tempfile
from pathlib import Path

import numpy as np

import posable as ps
import posable.math as pm
from posable.render import Player, save_picture, strip

OUT = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
G1 = Path(os.environ.get("POSABLE_DATA", "")) / "robots" / "mjcf" / "unitree_g1" / "g1.xml"
boxer = ps.figure()
boxing = ps.samples.boxing(boxer)[::2]
frames = boxer.skeleton.forward(boxing)
chest = pm.conjugate(boxer.canonical_orientation(frames, boxer.index("upper_chest")))


def pointing(start: str, end: str) -> np.ndarray:
    """Directions (F, 3) of a bone of the boxer, seen from the chest: the robot's trunk does not turn."""
    bone = frames.positions[:, boxer.index(end)] - frames.positions[:, boxer.index(start)]
    return pm.rotate(chest, bone / np.linalg.norm(bone, axis=-1, keepdims=True))


chains, directions, looks = {}, {}, {}
if G1.exists():
    robot = ps.load(G1).skeleton
    rest = robot.forward(robot.rest)
    for side in ("left", "right"):
        for name, link, end in (("elbow", "shoulder_yaw", "elbow"), ("wrist", "elbow", "wrist_roll")):
            here, there = robot.index(f"{side}_{link}_joint"), robot.index(f"{side}_{end}_joint")
            bone = pm.rotate(pm.conjugate(rest.orientations[here]), rest.positions[there] - rest.positions[here])
            chains[f"{side} {name}"] = ps.Chain.from_robot(robot, "torso_link", f"{side}_{link}_link", pointing=bone)
        directions[f"{side} elbow"] = pointing(f"{side}_upper_arm", f"{side}_lower_arm")
        directions[f"{side} wrist"] = pointing(f"{side}_lower_arm", f"{side}_hand")
else:
    chains = {f"{side} arm": ps.Chain.from_body(boxer, f"{side}_arm") for side in ("left", "right")}
    directions = {f"{side} arm": pointing(f"{side}_lower_arm", f"{side}_hand") for side in ("left", "right")}
    chains["head"], looks["head"] = ps.Chain.from_body(boxer, "spine"), (0.0, 0.4, 2.0)

track = ps.express.Tree(chains).track({}, directions=directions, look_at=looks, fps=boxing.fps)
print(f"{len(boxing)} frames, {track.jumped.sum()} jumps")
for name, chain in track.chains.items():
    print(f"  {name}: {np.degrees(chain.orientation_error).mean():.1f} degrees off in the mean")

motion = track.motion.replace(name="A robot that boxes")
punch = int(np.clip(frames.positions[:, boxer.index("right_hand"), 2].argmax(), 16, len(boxing) - 13))
picture = strip(motion, frames=[*range(punch - 16, punch + 13, 4)], view=(0.5, 0.15), spacing=0.7)
save_picture(picture, OUT / "12_a_robot_boxes.png")
ps.save(motion, OUT / "12_a_robot_boxes.glb")
Player(motion, view=(0.6, 0.15)).save(OUT / "12_a_robot_boxes.html")
