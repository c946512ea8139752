"""Files read and written."""

import tempfile
from pathlib import Path

import numpy as np

import posable as ps

from ..calls import call
from ..inputs import sample

BVH = """HIERARCHY
ROOT Hips
{
	OFFSET 0 1 0
	CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
	JOINT Chest
	{
		OFFSET 0 0.5 0
		CHANNELS 3 Xrotation Yrotation Zrotation
		End Site
		{
			OFFSET 0 0.25 0
		}
	}
}
MOTION
Frames: 3
Frame Time: 0.0083333
0 1 0 0 0 0 0 0 0
1 2 3 90 0 0 0 90 0
1.25 2e-3 -3 12.5 -33.25 170.125 10 20 30
"""

URDF = """<robot name="arm">
  <link name="base"/><link name="one"/><link name="two"/><link name="finger"/><link name="other"/><link name="tool"/>
  <joint name="a" type="revolute"><parent link="base"/><child link="one"/><origin xyz="0 0 0.3" rpy="0.1 0.2 0.3"/>
    <axis xyz="0 0 1"/><limit lower="-2" upper="1.5" velocity="2"/></joint>
  <joint name="b" type="continuous"><parent link="one"/><child link="two"/><origin xyz="0.1 0 0.4" rpy="1.5708 0 0"/>
    <axis xyz="0 1 0"/></joint>
  <joint name="c" type="prismatic"><parent link="two"/><child link="finger"/><origin xyz="0 0 0.1"/>
    <axis xyz="1 0 0"/><limit lower="0" upper="0.04" velocity="0.1"/></joint>
  <joint name="d" type="prismatic"><parent link="two"/><child link="other"/><origin xyz="0 0 0.1"/>
    <axis xyz="-1 0 0"/><limit lower="0" upper="0.04" velocity="0.1"/><mimic joint="c"/></joint>
  <joint name="e" type="fixed"><parent link="two"/><child link="tool"/><origin xyz="0 0 0.2" rpy="0 0 0.5"/></joint>
</robot>
"""


def _described(motion: ps.Motion) -> dict[str, object]:
    skeleton = motion.skeleton
    return {
        "names": skeleton.names,
        "parents": skeleton.parents,
        "offsets": skeleton.offsets,
        "rest": skeleton.rest_rotations,
        "kinds": skeleton.kinds,
        "axes": skeleton.axes,
        "ends": skeleton.end_offsets,
        "frames": len(motion),
        "motion": motion,
    }


def _again(motion: ps.Motion, name: str, **options: object) -> tuple[bytes, ps.Motion]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        ps.save(motion, path, **options)
        return path.read_bytes(), ps.load(path)


def _written(text: str, name: str, **options: object) -> ps.Motion:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_text(text, encoding="utf-8")
        return ps.load(path, **options)


@call()
def bvh_read():
    return {
        "plain": _described(_written(BVH, "a.bvh")),
        "scaled": _described(_written(BVH, "a.bvh", scale=0.01, fps=25.0, first_frame=1)),
    }


@call()
def bvh_written():
    text, again = _again(sample("walk")[:12], "walk.bvh")
    scaled, small = _again(sample("dance")[:12], "dance.bvh", order="YXZ", scale=0.01)
    return {"text": text, "again": _described(again), "scaled": scaled, "small": _described(small)}


@call()
def glb_written():
    data, again = _again(sample("run")[:12], "run.glb")
    return {"bytes": data, "again": _described(again), "gltf": _again(sample("run")[:3], "run.gltf")[0]}


@call()
def npz_written():
    data, again = _again(sample("boxing")[:12], "boxing.npz")
    return {"bytes": data, "again": _described(again)}


@call()
def urdf_read():
    from posable.formats import read_robot

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "arm.urdf"
        path.write_text(URDF, encoding="utf-8")
        skeleton, upright = read_robot(path), read_robot(path, up="z", free_root=True)
    robot = skeleton.robot
    values = np.linspace(-0.5, 0.5, len(skeleton.dofs))
    return {
        "motion": _described(_written(URDF, "arm.urdf")),
        "links": robot.links,
        "lower": robot.lower,
        "upper": robot.upper,
        "velocity": robot.velocity,
        "coupled": robot.coupled(values),
        "offsets_z_up": upright.offsets,
        "kinds_z_up": upright.kinds,
    }


@call("cmu/17_10.bvh")
def cmu_bvh(path):
    return {
        "mended": _described(ps.load(path, repair="cmu", first_frame=1)),
        "plain": _described(ps.load(path, scale=0.056444)),
    }


@call("cmu/asfamc/01_03.amc", "cmu/asfamc/01.asf")
def cmu_asf_amc(amc, asf):
    return {"motion": _described(ps.load(amc, asf=asf)), "mended": _described(ps.load(amc, repair="cmu"))}


@call("characters/KayKit_Knight.glb")
def knight(path):
    motion = ps.load(path, animation="Walking_A")
    data, again = _again(motion[:10], "knight.glb", keep_animations=False)
    mesh = motion.skeleton.character.meshes[0]
    frames = motion.skeleton.forward(motion[5])
    return {
        "motion": _described(motion),
        "again": _described(again),
        "bytes": data,
        "vertices": mesh.vertices,
        "faces": mesh.faces,
        "weights": mesh.weights,
        "colours": mesh.colours,
        "posed": mesh.posed(frames),
    }


@call("characters/Fox.glb")
def fox(path):
    return {"motion": _described(ps.load(path, animation="Run", scale=0.01))}


@call("characters/VRMC_materials_mtoon_UV_Animation_Test.vrm")
def vrm(path):
    motion = ps.load(path)
    roles = motion.skeleton.character.roles
    return {"motion": _described(motion), "roles": [list(pair) for pair in sorted(roles.items())]}


@call(
    "characters/makehuman/default.mhskel", "characters/makehuman/base.obj", "characters/makehuman/default_weights.mhw"
)
def makehuman(path, _obj, _weights):
    motion = ps.load(path)
    mesh = motion.skeleton.character.meshes[0]
    return {"motion": _described(motion), "vertices": mesh.vertices, "joints": mesh.joints, "weights": mesh.weights}


@call("robots/panda.urdf")
def panda(path):
    return {"motion": _described(ps.load(path))}
