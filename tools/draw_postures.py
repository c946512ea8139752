"""One posture, many rigs: draws canonical postures on every rig of the data folder, a row each.

    python tools/draw_postures.py docs/_static/one_posture_many_rigs.png

Columns, left to right: the built-in figure, a CMU subject, MakeHuman's default rig, MakeHuman's CMU rig, the VRM
sample (its bones only: it has no skin), CesiumMan, RiggedFigure, the KayKit knight. Every rig is drawn at one height.
Rows: neutral, arms raised, sitting, a guard, and a frame of the CMU clip 17_10 (boxing).
"""

import os
import sys
from pathlib import Path

import numpy as np

import posable as ps
import posable.math as pm
from posable.render.picture import save_picture, strip

ROOT = Path(__file__).resolve().parent.parent
RIGS = [
    "cmu/17_10.bvh",
    "characters/makehuman/default.mhskel",
    "characters/makehuman/cmu_mb.mhskel",
    "characters/VRMC_materials_mtoon_UV_Animation_Test.vrm",
    "characters/CesiumMan.glb",
    "characters/RiggedFigure.glb",
    "characters/KayKit_Knight.glb",
]
SKINLESS = "VRMC_materials"  # its three quads would hide the body
WEAPONS = ("Sword", "Shield", "Cape", "Helmet")  # what would hide the knight's arms


def about(axis: str, degrees: float) -> np.ndarray:
    return pm.axis_angle({"x": [1.0, 0.0, 0.0], "y": [0.0, 1.0, 0.0], "z": [0.0, 0.0, 1.0]}[axis], np.radians(degrees))


def postures_by_hand() -> dict[str, ps.CanonicalPose]:
    """Postures written down in canonical rotations."""
    neutral = ps.CanonicalPose.neutral(hips=(0.0, 1.15, 0.0))
    guard = {
        "chest": about("y", 25),
        "left_upper_arm": pm.multiply(about("x", -45), about("z", 20)),
        "right_upper_arm": pm.multiply(about("x", -30), about("z", -15)),
        "left_lower_arm": about("x", -110),
        "right_lower_arm": about("x", -130),
        "left_upper_leg": pm.multiply(about("x", -30), about("z", 5)),
        "left_lower_leg": about("x", 35),
        "right_upper_leg": pm.multiply(about("x", 10), about("z", -5)),
        "right_lower_leg": about("x", 20),
    }
    raised = {
        "chest": about("x", -8),
        "head": about("x", -12),
        "left_upper_arm": about("z", 150),
        "right_upper_arm": about("z", -150),
    }
    thigh, shank, elbow = about("x", -90), about("x", 90), about("x", -80)
    sitting = {f"{side}_upper_leg": thigh for side in ("left", "right")}
    sitting |= {f"{side}_lower_leg": shank for side in ("left", "right")}
    sitting |= {f"{side}_lower_arm": elbow for side in ("left", "right")}
    return {
        "neutral": neutral,
        "arms raised": neutral.rotated(**raised),
        "sitting": neutral.rotated(**sitting).replace(hips=np.array([0.0, 0.62, 0.0])),
        "guard": neutral.rotated(**guard),
    }


def facing_forward(posture: ps.CanonicalPose) -> ps.CanonicalPose:
    """The same posture over the origin, its hips facing +Z."""
    hips = posture.rotation("hips")
    ahead = pm.rotate(hips, [0.0, 0.0, 1.0])
    turn = pm.axis_angle([0.0, 1.0, 0.0], -np.arctan2(ahead[0], ahead[2]))
    return posture.rotated(hips=pm.multiply(turn, hips)).replace(hips=posture.hips * np.array([0.0, 1.0, 0.0]))


def captured_posture(data: Path) -> dict[str, ps.CanonicalPose]:
    """The posture of a person: a frame of a CMU clip."""
    motion = ps.load(data / "cmu" / "17_10.bvh", repair="cmu")
    return {"boxing": facing_forward(ps.Humanoid(motion.skeleton).canonical(motion[600]))}


def bodies(data: Path) -> dict[str, ps.Humanoid]:
    """The built-in figure and the rigs of the data folder, all of one height."""
    found = {"figure": ps.figure()}
    for file in RIGS:
        repair = {"repair": "cmu"} if file.endswith(".bvh") else {}
        skeleton = ps.load(data / file, **repair).skeleton
        body = ps.Humanoid(skeleton)
        roles = {role: skeleton.names[joint] for role, joint in body.roles.items()}
        skeleton = skeleton.scaled(found["figure"].joint_height / body.joint_height)
        if SKINLESS in file:
            skeleton = skeleton.replace(character=None)
        elif skeleton.character is not None:
            kept = tuple(m for m in skeleton.character.meshes if not any(word in m.name for word in WEAPONS))
            skeleton = skeleton.replace(character=ps.Character(kept, skeleton.character.roles))
        found[Path(file).stem] = ps.Humanoid(skeleton, roles=roles)
    return found


def grounded(body: ps.Humanoid, pose: ps.Pose) -> ps.Pose:
    """The pose moved up or down until its lowest joint is as high as joints of feet are."""
    lowest = body.skeleton.forward(pose).positions[list(body.roles.values()), 1].min()
    return pose.replace(translation=pose.translation + np.array([0.0, 0.02 * body.joint_height - lowest, 0.0]))


def draw(data: Path, height: int = 160) -> np.ndarray:
    """The sheet, (rows * height, W, 3) uint8."""
    postures = postures_by_hand() | captured_posture(data)
    columns = []
    for body in bodies(data).values():
        poses = ps.Pose.stack([grounded(body, body.pose(posture)) for posture in postures.values()])
        columns.append(
            strip(body, poses, frames=list(range(len(postures))), columns=1, height=height, view=(-0.45, 0.12))
        )
    return np.concatenate(columns, axis=1)


if __name__ == "__main__":
    folder = Path(os.environ.get("POSABLE_DATA", ROOT.parent / "shared" / "data"))
    image = draw(folder)
    save_picture(image, sys.argv[1])
    print(f"{sys.argv[1]}: {image.shape[1]} x {image.shape[0]}")
