"""A small robot written by hand, for tests that need no data: legs of six joints, arms of four, a waist and a head."""

from pathlib import Path

import posable as ps


def mjcf(ankle_roll: bool = True, one_leg: bool = False) -> str:
    """Return the robot's MJCF; without `ankle_roll` its legs have five joints."""
    legs = "".join(
        leg(side, sign, ankle_roll) for side, sign in (("left", 1), ("right", -1)) if not one_leg or sign > 0
    )
    arms = "".join(arm(side, sign) for side, sign in (("left", 1), ("right", -1)))
    return f"""<mujoco model="biped"><compiler angle="radian" autolimits="true"/>
<worldbody><body name="pelvis" pos="0 0 0.75"><freejoint name="root"/>
 <geom name="pelvis" type="capsule" size="0.06" fromto="0 -0.06 0 0 0.06 0"/>
 {legs}
 <body name="torso" pos="0 0 0.08"><joint name="waist_yaw" axis="0 0 1" range="-1.5 1.5"/>
  <geom name="torso" type="capsule" size="0.09" fromto="0 0 0.12 0 0 0.28"/>
  <body name="head" pos="0 0 0.42"><joint name="head_yaw" axis="0 0 1" range="-1 1"/>
   <geom name="head" type="sphere" size="0.07" pos="0 0 0.08"/></body>
  {arms}
 </body></body></worldbody></mujoco>"""


def leg(side: str, sign: int, ankle_roll: bool) -> str:
    """Return a leg; `sign` 1 for the left one."""
    roll = f'<joint name="{side}_ankle_roll" axis="1 0 0" range="-0.4 0.4"/>' if ankle_roll else ""
    low, high = (-0.5, 1.0) if sign > 0 else (-1.0, 0.5)
    return f"""<body name="{side}_hip" pos="0 {0.1 * sign} -0.05">
  <joint name="{side}_hip_yaw" axis="0 0 1" range="-1 1"/>
  <body name="{side}_hip2"><joint name="{side}_hip_roll" axis="1 0 0" range="{low} {high}"/>
  <body name="{side}_thigh"><joint name="{side}_hip_pitch" axis="0 1 0" range="-2 1.5"/>
   <geom name="{side}_thigh" type="capsule" size="0.05" fromto="0 0 -0.06 0 0 -0.26"/>
   <body name="{side}_shin" pos="0 0 -0.32"><joint name="{side}_knee" axis="0 1 0" range="0 2.4"/>
    <geom name="{side}_shin" type="capsule" size="0.04" fromto="0 0 -0.05 0 0 -0.24"/>
    <body name="{side}_ankle" pos="0 0 -0.3"><joint name="{side}_ankle_pitch" axis="0 1 0" range="-0.9 0.6"/>
     <body name="{side}_foot">{roll}
      <geom name="{side}_foot" type="box" size="0.1 0.04 0.015" pos="0.03 0 -0.045"/>
     </body></body></body></body></body></body>"""


def arm(side: str, sign: int) -> str:
    """Return an arm; `sign` 1 for the left one."""
    low, high = (-0.3, 2.6) if sign > 0 else (-2.6, 0.3)
    return f"""<body name="{side}_shoulder" pos="0 {0.16 * sign} 0.28">
   <joint name="{side}_shoulder_pitch" axis="0 1 0" range="-3 2"/>
   <body name="{side}_shoulder2"><joint name="{side}_shoulder_roll" axis="1 0 0" range="{low} {high}"/>
   <body name="{side}_upper_arm"><joint name="{side}_shoulder_yaw" axis="0 0 1" range="-2 2"/>
    <geom name="{side}_upper_arm" type="capsule" size="0.035" fromto="0 0 -0.04 0 0 -0.18"/>
    <body name="{side}_forearm" pos="0 0 -0.22"><joint name="{side}_elbow" axis="0 1 0" range="-2.4 0"/>
     <geom name="{side}_forearm" type="capsule" size="0.03" fromto="0 0 -0.03 0 0 -0.24"/>
    </body></body></body></body>"""


def biped(folder: Path, **options: bool) -> ps.Humanoid:
    """Return the robot as a body; its file is written into a folder."""
    path = folder / "biped.xml"
    path.write_text(mjcf(**options))
    return ps.Humanoid(ps.formats.read_robot(path))
