"""A person's motion on a humanoid robot: feet stand, nothing goes through itself, and its motors can do it.

The robot is Unitree's G1 where $POSABLE_DATA has it; else the small one of capsules in `little_robot.xml`. No table
says which of its joints is a knee: `Humanoid` finds out. The last lines write what training pipelines read.
"""

import os
import sys
import tempfile
from pathlib import Path

import posable as ps
from posable.evaluate import evaluate_retarget
from posable.render import Player, save_picture, strip

OUT = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
G1 = Path(os.environ.get("POSABLE_DATA", "")) / "robots" / "mjcf" / "unitree_g1" / "g1.xml"
ROBOT = G1 if G1.exists() else Path(__file__).with_name("little_robot.xml")

person = ps.figure()
walk = ps.samples.walk(person, duration=3.0)[::2]
robot = ps.Humanoid(ps.load(ROBOT).skeleton)
print(robot)
print("it lacks", "; ".join(robot.robot_parts.lacking) or "nothing")

answer = ps.retarget(walk, person, robot)
facts = evaluate_retarget(walk, person, answer.motion, robot).facts()
print(f"{facts['frames']} frames, {facts['contacts']} contacts of feet")
print(f"feet slide by up to {facts['worst_slide_mm']:.2f} mm while they stand")
print(f"in {facts['self_penetration_percent']:.1f} % of the frames it goes through itself by over 5 mm")
print(f"knees, ankles, elbows and wrists are {facts['posture_error_cm']:.1f} cm off the person's posture in the mean")

motion = answer.motion.replace(name="A person on a robot")
ps.save(motion, OUT / "walk.csv")  # a row a frame: root, quaternion xyzw, joints in the model's order
ps.save(motion.resampled(50), OUT / "walk.npz", layout="mjlab")  # positions and velocities of every body
again = ps.load(OUT / "walk.csv", robot=ROBOT)
print(f"read back: {again}")

picture = strip(motion, frames=[*range(10, 66, 7)], view=(0.9, 0.15), spacing=0.45)
save_picture(picture, OUT / "13_a_person_on_a_robot.png")
ps.save(motion, OUT / "13_a_person_on_a_robot.glb")
Player(walk, motion, names=["person", robot.skeleton.robot.name], spacing=1.0, view=(0.6, 0.15)).save(
    OUT / "13_a_person_on_a_robot.html"
)
