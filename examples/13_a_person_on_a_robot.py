"""A person's motion on a humanoid robot: feet stand, nothing goes through itself, and its motors can do it.

The robot is Unitree's G1 where $POSABLE_DATA has it; else a small one of capsules, written here as MJCF. No table says
which of its joints is a knee: `Humanoid` finds out. The last lines write what training pipelines read.
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


def leg(side: str, out: float) -> str:
    """A hip of three joints, a knee, an ankle of two and a foot that is a box."""
    return f"""
    <body name="{side}_thigh" pos="0 {0.09 * out} -0.06">
      <joint name="{side}_hip_pitch" axis="0 1 0" range="-2 1"/>
      <joint name="{side}_hip_roll" axis="1 0 0" range="-0.7 0.7"/>
      <joint name="{side}_hip_yaw" axis="0 0 1" range="-1 1"/>
      <geom type="capsule" size="0.045" fromto="0 0 -0.05 0 0 -0.25"/>
      <body name="{side}_shin" pos="0 0 -0.3">
        <joint name="{side}_knee" axis="0 1 0" range="0 2.3"/>
        <geom type="capsule" size="0.04" fromto="0 0 -0.03 0 0 -0.28"/>
        <body name="{side}_foot" pos="0 0 -0.3">
          <joint name="{side}_ankle_pitch" axis="0 1 0" range="-0.9 0.7"/>
          <joint name="{side}_ankle_roll" axis="1 0 0" range="-0.4 0.4"/>
          <geom type="box" size="0.1 0.04 0.015" pos="0.04 0 -0.035"/>
        </body>
      </body>
    </body>"""


def arm(side: str, out: float) -> str:
    """A shoulder of three joints and an elbow."""
    return f"""
    <body name="{side}_upper_arm" pos="0 {0.16 * out} 0.3">
      <joint name="{side}_shoulder_pitch" axis="0 1 0" range="-3 2"/>
      <joint name="{side}_shoulder_roll" axis="1 0 0" range="{"-0.3 2.5" if out > 0 else "-2.5 0.3"}"/>
      <joint name="{side}_shoulder_yaw" axis="0 0 1" range="-1.6 1.6"/>
      <geom type="capsule" size="0.035" fromto="0 0 -0.03 0 0 -0.17"/>
      <body name="{side}_forearm" pos="0 0 -0.21">
        <joint name="{side}_elbow" axis="0 1 0" range="-2.4 0"/>
        <geom type="capsule" size="0.03" fromto="0 0 -0.03 0 0 -0.2"/>
      </body>
    </body>"""


ROBOT = f"""
<mujoco model="little_one"><compiler angle="radian"/><worldbody><body name="pelvis" pos="0 0 0.72"><freejoint/>
  <geom type="capsule" size="0.06" fromto="0 -0.05 0 0 0.05 0"/>
  {leg("left", 1.0)} {leg("right", -1.0)}
  <body name="torso" pos="0 0 0.08"><joint name="waist_yaw" axis="0 0 1" range="-1.5 1.5"/>
    <geom type="capsule" size="0.08" fromto="0 0 0.1 0 0 0.24"/>
    {arm("left", 1.0)} {arm("right", -1.0)}
    <body name="head" pos="0 0 0.36"><joint name="neck_yaw" axis="0 0 1" range="-1 1"/>
      <geom type="sphere" size="0.08" pos="0 0 0.09"/>
    </body>
  </body>
</body></worldbody></mujoco>"""

path = G1
if not G1.exists():
    path = OUT / "little_one.xml"
    path.write_text(ROBOT)

person = ps.figure()
walk = ps.samples.walk(person, duration=3.0)[::2]
robot = ps.Humanoid(ps.load(path).skeleton)
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
again = ps.load(OUT / "walk.csv", robot=path)
print(f"read back: {again}")

picture = strip(motion, frames=[*range(10, 66, 7)], view=(0.9, 0.15), spacing=0.45)
save_picture(picture, OUT / "13_a_person_on_a_robot.png")
ps.save(motion, OUT / "13_a_person_on_a_robot.glb")
Player(walk, motion, names=["person", robot.skeleton.robot.name], spacing=1.0, view=(0.6, 0.15)).save(
    OUT / "13_a_person_on_a_robot.html"
)
