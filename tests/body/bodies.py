"""Bodies that the tests share: the rigs of the data folder, captured people, and the conventions of `rigs`."""

from functools import cache
from pathlib import Path

import numpy as np

import posable.math as pm
from posable.body import Humanoid
from posable.formats import load
from posable.skeleton import Pose, Skeleton

from .rigs import PLANS, rig

FILES = {
    "CesiumMan": "characters/CesiumMan.glb",
    "RiggedFigure": "characters/RiggedFigure.glb",
    "KayKit knight": "characters/KayKit_Knight.glb",
    "VRM": "characters/VRMC_materials_mtoon_UV_Animation_Test.vrm",
    "MakeHuman": "characters/makehuman/default.mhskel",
    "MakeHuman CMU": "characters/makehuman/cmu_mb.mhskel",
    "CMU": "cmu/17_10.bvh",
    "CMU as delivered": "cmu/16_35.bvh",
    "CMU ASF": "cmu/asfamc/02_01.amc",
}

SIDEWAYS = pm.axis_angle([0.0, 1.0, 0.0], np.radians(-90.0))  # faces -X
AWAY = pm.axis_angle([0.0, 1.0, 0.0], np.radians(180.0))
Z_UP = pm.axis_angle([1.0, 0.0, 0.0], np.radians(90.0))  # stands along +Z, faces -Y
OBLIQUE = pm.axis_angle([0.0, 1.0, 0.0], np.radians(40.0))
TURNS = {"forward": None, "sideways": SIDEWAYS, "away": AWAY, "z up": Z_UP, "oblique": OBLIQUE}


@cache
def motion_of(data_dir: Path, name: str):
    repair = "cmu" if name == "CMU" else None
    return load(data_dir / FILES[name], repair=repair) if repair else load(data_dir / FILES[name])


@cache
def file_body(data_dir: Path, name: str) -> Humanoid:
    return Humanoid(motion_of(data_dir, name).skeleton)


@cache
def plan_body(name: str, arms: str = "T", turn: str = "forward", seed: int | None = None) -> Humanoid:
    return Humanoid(rig(PLANS[name], arms, TURNS[turn], seed))


def all_bodies(data_dir: Path) -> dict[str, Humanoid]:
    """Every rig we know: those of files, and each naming convention in a pose, heading and joint frames of its own."""
    bodies = {name: file_body(data_dir, name) for name in FILES}
    kinds = [(arms, turn) for turn in TURNS for arms in ("T", "A", "down")]
    for k, name in enumerate(PLANS):
        arms, turn = kinds[k % len(kinds)]
        bodies[f"{name}, {arms}, {turn}"] = plan_body(name, arms, turn, seed=k)
    return bodies


def random_pose(skeleton: Skeleton, rng: np.random.Generator, shape: tuple[int, ...] = ()) -> Pose:
    """A pose with every joint turned anyhow."""
    rotations = pm.normalize(rng.normal(size=(*shape, len(skeleton), 4)))
    return Pose(rng.normal(size=(*shape, 3)), rotations)


def directions(body: Humanoid, pose: Pose) -> dict[str, np.ndarray]:
    """Unit vectors in the world along the two bones of each limb."""
    places = body.skeleton.forward(pose).positions
    found = {}
    for limb in ("left_arm", "right_arm", "left_leg", "right_leg"):
        base, mid, end = body.limb_joints(limb)
        for part, a, b in (("upper", base, mid), ("lower", mid, end)):
            bone = places[..., b, :] - places[..., a, :]
            found[f"{limb} {part}"] = bone / np.linalg.norm(bone, axis=-1, keepdims=True)
    return found


def angle_between(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Angle between unit vectors [rad], accurate near zero."""
    return 2.0 * np.arcsin(np.clip(0.5 * np.linalg.norm(a - b, axis=-1), 0.0, 1.0))
