"""A humanoid robot that boxes: NAO's arms point where a boxer's arms point, and its head looks at the opponent.

Each arm has two end points, elbow and wrist, which share motors and are aimed together. Legs stand still; example 13
puts a whole person on a robot. NAO's elbows bend by 88.5 degrees at most, a boxer's by 130: each bone
misses half of the difference. Without the robot in $POSABLE_DATA, arms and spine of a figure do the same.
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
URDF = Path(os.environ.get("POSABLE_DATA", "")) / "robots" / "nao_v50.urdf"

boxer = ps.figure()
boxing = ps.samples.boxing(boxer)[::2]
frames = boxer.skeleton.forward(boxing)
chest = pm.conjugate(boxer.canonical_orientation(frames, boxer.index("upper_chest")))


def pointing(start: str, end: str) -> np.ndarray:
    """Directions (F, 3) of a bone of the boxer, seen from the chest: the robot's trunk does not turn."""
    bone = frames.positions[:, boxer.index(end)] - frames.positions[:, boxer.index(start)]
    return pm.rotate(chest, bone / np.linalg.norm(bone, axis=-1, keepdims=True))


chains, directions = {}, {}
for side in ("left", "right"):
    forearm = pointing(f"{side}_lower_arm", f"{side}_hand")
    if URDF.exists():
        chains[f"{side} elbow"] = ps.Chain.from_robot(URDF, "torso", f"{side[0].upper()}Elbow")
        chains[f"{side} wrist"] = ps.Chain.from_robot(URDF, "torso", f"{side[0]}_wrist")
        directions[f"{side} elbow"] = pointing(f"{side}_upper_arm", f"{side}_lower_arm")
        directions[f"{side} wrist"] = forearm
    else:
        chains[side], directions[side] = ps.Chain.from_body(boxer, f"{side}_arm"), forearm
chains["head"] = ps.Chain.from_robot(URDF, "torso", "Head") if URDF.exists() else ps.Chain.from_body(boxer, "spine")

track = ps.express.Tree(chains).track({}, directions=directions, look_at={"head": (0.0, 0.4, 2.0)}, fps=boxing.fps)
print(f"{len(boxing)} frames, {track.jumped.sum()} jumps")
for side in ("left", "right") if URDF.exists() else ():
    bend = np.degrees(np.arccos((directions[f"{side} elbow"] * directions[f"{side} wrist"]).sum(axis=-1)))
    print(f"  the boxer's {side} elbow bends {np.maximum(bend - 88.5, 0).mean():.1f} degrees further, in the mean")
for name, chain in track.chains.items():
    print(f"  {name}: {np.degrees(chain.orientation_error).mean():.1f} degrees off in the mean")

motion = track.motion.replace(name="A robot that boxes")
punch = int(np.clip(frames.positions[:, boxer.index("right_hand"), 2].argmax(), 16, len(boxing) - 13))
picture = strip(motion, frames=[*range(punch - 16, punch + 13, 4)], view=(0.5, 0.15), spacing=0.5)
save_picture(picture, OUT / "12_a_robot_boxes.png")
ps.save(motion, OUT / "12_a_robot_boxes.glb")
Player(motion, view=(0.6, 0.15)).save(OUT / "12_a_robot_boxes.html")
