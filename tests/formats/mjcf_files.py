"""MJCF files for tests, and MuJoCo as their judge: what it makes of the same file."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

import posable.math as pm
from posable.skeleton import Skeleton
from posable.skeleton.robot import UP

ROBOTS = (
    "unitree_g1/g1.xml",
    "h1/h1_mjx_feetonly.xml",
    "h1/scene_mjx_feetonly.xml",
    "t1/scene_mjx_feetonly_flat_terrain.xml",
    "op3/scene_mjx_feetonly.xml",
)


def without_meshes(path: Path) -> str:
    """Return the text of a file with what it includes and without its meshes, which MuJoCo does not load without."""

    def include(element: ET.Element) -> None:
        for k, child in reversed(list(enumerate(element))):
            if child.tag == "include":
                inner = ET.parse(path.parent / child.attrib["file"]).getroot()
                include(inner)
                element.remove(child)
                for n, one in enumerate(inner):
                    element.insert(k + n, one)
            else:
                include(child)

    def strip(element: ET.Element) -> None:
        for child in list(element):
            if child.tag in ("mesh", "sensor") or (child.tag == "geom" and "mesh" in child.attrib):
                element.remove(child)
                continue
            if child.tag == "geom" and child.attrib.get("type") == "mesh":
                del child.attrib["type"]  # of a default class
            strip(child)

    root = ET.parse(path).getroot()
    include(root)
    strip(root)
    for body in root.iter("body"):
        if body.find("inertial") is None:
            ET.SubElement(body, "inertial", pos="0 0 0", mass="1", diaginertia="1 1 1")
    return ET.tostring(root, encoding="unicode")


class Judge:
    """What MuJoCo makes of a file, given its text."""

    def __init__(self, text: str) -> None:
        self.mujoco = pytest.importorskip("mujoco", reason="MuJoCo is a judge of its own: pip install posable[dev]")
        self.mujoco.set_mju_user_warning(lambda text: None)  # else it writes a file where it is run
        self.model = self.mujoco.MjModel.from_xml_string(text)
        self.data = self.mujoco.MjData(self.model)

    def name(self, kind: str, k: int) -> str:
        return self.mujoco.mj_id2name(self.model, getattr(self.mujoco.mjtObj, f"mjOBJ_{kind}"), k) or ""

    def names(self, kind: str, count: int) -> list[str]:
        return [self.name(kind, k) for k in range(count)]

    def random_qpos(self, rng: np.random.Generator) -> np.ndarray:
        qpos = rng.uniform(-3.0, 3.0, self.model.nq)
        for k in range(self.model.njnt):
            at, kind = self.model.jnt_qposadr[k], self.model.jnt_type[k]
            if kind in (0, 1):
                at += 3 if kind == 0 else 0
                qpos[at : at + 4] /= np.linalg.norm(qpos[at : at + 4])
        return qpos

    def bodies(self, qpos: np.ndarray) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Return the position and the orientation of each body in the file's world."""
        self.data.qpos[:] = qpos
        self.mujoco.mj_kinematics(self.model, self.data)
        return {self.name("BODY", k): (self.data.xpos[k], self.data.xquat[k]) for k in range(self.model.nbody)}

    def pose(self, skeleton: Skeleton, qpos: np.ndarray):
        """Return the pose of ours that has these joint values, found by the names of joints."""
        up = np.array(UP[skeleton.robot.up])
        values = np.zeros(len(skeleton.dofs))
        rotations = {}
        moved = None
        for k in range(self.model.njnt):
            at, kind, name = self.model.jnt_qposadr[k], self.model.jnt_type[k], self.name("JOINT", k)
            if kind == 0:
                if self.name("BODY", self.model.jnt_bodyid[k]) != skeleton.robot.links[0]:
                    continue  # another thing of the scene
                moved = pm.rotate(up, qpos[at : at + 3])
                rotations[0] = pm.multiply(up, qpos[at + 3 : at + 7])
                continue
            j = skeleton.index(name)
            if kind == 1:
                rotations[j] = pm.multiply(skeleton.rest_rotations[j], qpos[at : at + 4])
            else:
                d = skeleton.dofs.of(j).start
                values[d] = qpos[at] - skeleton.robot.reference[d]
        pose = skeleton.from_values(values)
        for j, rotation in rotations.items():
            pose.rotations[j] = rotation
        if moved is not None:
            pose.translation[:] = moved
        return pose

    def check_bodies(self, skeleton: Skeleton, seed: int, count: int = 20) -> float:
        """Return how far any link is from where MuJoCo has it, in metres and in the cosine of half its angle."""
        rng, worst = np.random.default_rng(seed), 0.0
        back = pm.conjugate(UP[skeleton.robot.up])
        for _ in range(count):
            qpos = self.random_qpos(rng)
            theirs = self.bodies(qpos)
            frames = skeleton.forward(self.pose(skeleton, qpos))
            for j, link in enumerate(skeleton.robot.links):
                if link:
                    position, quat = theirs[link]
                    worst = max(worst, np.abs(pm.rotate(back, frames.positions[j]) - position).max())
                    ours = pm.to_matrix(pm.multiply(back, frames.orientations[j]))
                    worst = max(worst, np.abs(ours - pm.to_matrix(quat)).max())
        return worst


TRICKY = """
<mujoco model="tricky">
  <compiler angle="degree" eulerseq="zYx" autolimits="true"/>
  <default>
    <joint range="-90 45" damping="1"/>
    <geom size="0.1 0.2 0.3" rgba="1 0 0 1"/>
    <default class="arm">
      <joint axis="0 1 0" type="hinge"/>
      <geom type="capsule" size="0.02" group="3" contype="0" conaffinity="0"/>
      <site quat="0 1 0 0"/>
      <default class="fore"><joint axis="1 2 3" limited="false"/><geom fromto="0 0 0 0.1 0 0.2"/></default>
    </default>
    <default class="motor"><motor gear="3" ctrlrange="-2 2" forcerange="-100 100"/></default>
  </default>
  <asset><material name="blue" rgba="0 0 1 1"/></asset>
  <worldbody>
    <geom type="plane" size="1 1 1"/>
    <body name="crate" pos="3 0 0"><freejoint/><geom type="box"/></body>
    <body name="base" pos="0.1 0.2 1" euler="10 20 30" childclass="arm">
      <freejoint name="root"/>
      <geom group="1" type="box" material="blue" rgba="0.5 0.5 0.5 1"/>
      <geom group="2" type="ellipsoid" pos="0.1 0 0" zaxis="1 1 0"/>
      <body name="one" pos="0 0 0.3" axisangle="1 2 3 40">
        <joint name="twice_a" pos="0.1 0 0"/>
        <joint name="twice_b" pos="0.1 0.2 0" axis="0 0 1" type="slide" range="-0.1 0.2" ref="0.05"/>
        <geom name="upper" fromto="0 0 0 0 0.3 0"/>
        <frame pos="0 0 0.5" xyaxes="0 1 0 -1 0 0.2" childclass="fore">
          <body name="two" quat="1 1 0 0">
            <joint name="single" pos="0.05 0 -0.2" ref="30"/>
            <geom class="fore"/>
            <geom/>
            <site name="tool" pos="0 0 0.1"/>
            <frame euler="0 0 90"><frame pos="1 0 0"><geom name="deep" type="cylinder" size="0.1 0.2"/></frame></frame>
            <body name="three" pos="0 0.1 0" zaxis="0 0 -1">
              <joint name="ball" type="ball" pos="0 0 0.07" range="0 80"/>
              <body name="fixed" pos="0.01 0.02 0.03" euler="5 6 7">
                <geom class="arm" type="sphere" size="0.03" contype="0" conaffinity="2" group="0"/>
                <body name="four">
                  <joint name="last" range="-20 70" class="arm"/><geom class="main" type="sphere" size="0.01"/>
                </body>
              </body>
            </body>
          </body>
        </frame>
      </body>
      <body name="other" pos="0 0.3 0">
        <frame pos="0 0 0.1" euler="90 0 0"><joint name="framed" pos="0 0.1 0" axis="1 0 0"/></frame>
        <geom type="sphere" size="0.1"/>
      </body>
    </body>
  </worldbody>
  <contact><exclude body1="base" body2="three"/></contact>
  <equality><joint joint1="framed" joint2="last" polycoef="0.1 -2 0 0 0"/></equality>
  <actuator>
    <motor joint="last" class="motor"/>
    <position joint="single" forcerange="-5 4"/>
    <motor joint="twice_a"/>
  </actuator>
</mujoco>
"""
