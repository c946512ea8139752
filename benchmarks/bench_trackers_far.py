"""Bodies from trackers, far from what the prior was chosen on: other bodies, people and skeletons, rates, lying people.

    POSABLE_CLIPS=FOLDER python -m benchmarks trackers_far

FOLDER has what the shared data have not, each in a folder of its own, and may lack any of them:

- `kept`: thirteen clips of CMU's subjects 06, 56 and 88, of the conversion that `posable data` names, which nothing was
  chosen on: 06_02 06_04 06_08 06_12 56_01 56_02 88_01 88_02 88_06 88_08 88_09 88_10 88_11 (drawn with seed 1 among
  those of 0.15 to 4.1 MB of subjects 06, 56, 86 and 88, before any of them was reconstructed);
- `bandai`: BVH files of Bandai Namco Research's motion data set 1 (github.com/BandaiNamcoResearchInc).

Every clip: 30 s at 30 Hz at most.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import posable as ps
from posable.evaluate.reconstruct import motion_of

from .bench_trackers import MOST, SETS, _clip, _measured
from .harness import Table, data_dir, table

FOUR = ("head and hands", "head, hands, hips", "head, hands, feet", "six")
ENDS = ("head and hands", "six")
OTHERS = ("02_01", "13_01", "49_06", "135_04")
LYING = ("126_01", "140_01", "111_07", "113_28")
RATES = (24.0, 30.0, 60.0, 90.0, 120.0)
RATED = ("02_04", "13_33", "49_06")
TOLERANCE = 0.05  # [cm] within which a clip is not worse
SLOW = (88,)  # subjects captured at 60 Hz, though their files say 120
CHARACTERS = {
    "MakeHuman": "makehuman/default.mhskel",
    "a VRM": "VRMC_materials_mtoon_UV_Animation_Test.vrm",
    "CesiumMan": "CesiumMan.glb",
    "RiggedFigure": "RiggedFigure.glb",
    "KayKit's knight": "KayKit_Knight.glb",
}
ROBOTS = {"Unitree G1": "mjcf/unitree_g1/g1.xml", "NAO": "nao_v50.urdf"}
LENGTHS = {"upper_arm": ("left_lower_arm", "right_lower_arm"), "forearm": ("left_hand", "right_hand")}
LENGTHS |= {"thigh": ("left_lower_leg", "right_lower_leg"), "calf": ("left_foot", "right_foot")}

Clip = tuple[str, ps.Humanoid, ps.Motion]


def run() -> list[Table]:
    folder, tables = data_dir(), []
    if folder is None:
        return tables
    for name, body in _others(folder):
        clips = [(clip, *_moved(folder, clip, body)) for clip in OTHERS]
        tables.append(_compared(f"Four clips ({', '.join(OTHERS)}) brought to {name}", clips, ENDS))
    tables.append(_compared("Lying and crawling, people who were learned", _of(folder / "cmu", LYING), FOUR))
    tables.append(_rates(folder / "cmu"))
    more = Path(os.environ["POSABLE_CLIPS"]) if "POSABLE_CLIPS" in os.environ else None
    if more and (more / "kept").is_dir():
        names = sorted(path.stem for path in (more / "kept").glob("*.bvh"))
        tables.append(_compared(f"{len(names)} clips that nothing was chosen on", _of(more / "kept", names), FOUR))
    if more and (more / "bandai").is_dir():
        tables.append(_compared("Another skeleton, Bandai Namco's", list(_bandai(more / "bandai")), FOUR))
    return tables


def _compared(title: str, clips: list[Clip], sets: tuple[str, ...]) -> Table:
    """Errors with and without the prior, by set; which clips are worse with it, and by how much."""
    rows = {}
    for name in sets:
        for oriented in (True, False):
            found = {
                prior: np.array([_measured(body, motion, SETS[name], oriented, prior) for _, body, motion in clips])
                for prior in ("default", None)
            }
            ours, plain = found["default"], found[None]
            lost = ours[:, 0] - plain[:, 0]
            worse = [f"{clips[k][0]} by {lost[k]:.2f}" for k in np.flatnonzero(lost > TOLERANCE)]
            note = f"plain {plain[:, 0].mean():.3g}; jitter {ours[:, 2].mean():.2f} of the capture's; "
            note += f"worse: {', '.join(worse) or 'none'}"
            rows[f"{name}{'' if oriented else ', positions'}"] = ([float(ours[:, 0].mean())], note)
    return table(f"{title}: mean joint position error", "cm", rows)


def _of(folder: Path, names: tuple[str, ...] | list[str]) -> list[Clip]:
    return [(name, *_true_rate(name, *_clip(folder / f"{name}.bvh"))) for name in names]


def _true_rate(name: str, body: ps.Humanoid, motion: ps.Motion) -> tuple[ps.Humanoid, ps.Motion]:
    """Give clips whose files say 120 for 60 Hz their rate."""
    if int(name.split("_")[0]) not in SLOW:
        return body, motion
    return body, ps.Motion(motion.skeleton, motion.pose, 0.5 * motion.fps)


def _others(folder: Path) -> Iterator[tuple[str, ps.Humanoid]]:
    """Yield bodies unlike CMU's: figures, characters, and the built-in figure with the limbs of robots."""
    yield "the built-in figure", ps.figure()
    for name, path in CHARACTERS.items():
        yield name, ps.Humanoid(ps.load(folder / "characters" / path).skeleton)
    for name, path in ROBOTS.items():
        robot = ps.Humanoid(ps.load(folder / "robots" / path).skeleton)
        yield f"a figure with the limbs of {name}", _with_limbs_of(robot)


def _with_limbs_of(robot: ps.Humanoid) -> ps.Humanoid:
    """Return the built-in figure with limbs as long for its trunk as those of a robot, which cannot be a body itself:
    its joints have one axis each.
    """
    figure, offsets = ps.figure(), ps.figure().skeleton.offsets.copy()
    trunk = [one.measures["torso"] for one in (robot, figure)]
    for measure, roles in LENGTHS.items():
        factor = robot.measures[measure] / trunk[0] / (figure.measures[measure] / trunk[1])
        for role in roles:
            offsets[figure.index(role)] *= factor
    skeleton = figure.skeleton
    rest = skeleton.rest.rotations
    return ps.Humanoid(
        ps.Skeleton(skeleton.names, skeleton.parents, offsets, rest_rotations=rest, kinds=skeleton.kinds)
    )


def _moved(folder: Path, clip: str, body: ps.Humanoid) -> tuple[ps.Humanoid, ps.Motion]:
    captured, motion = _clip(folder / "cmu" / f"{clip}.bvh")
    return body, ps.retarget(motion, captured, body).motion


def _bandai(folder: Path) -> Iterator[Clip]:
    """Clips in centimetres; how the skeleton stands is taken from the first frame of its bow."""
    stands = ps.load(folder / "dataset-1_bow_normal_001.bvh", scale=0.01)
    body = ps.Humanoid(stands.skeleton, standing=stands.pose[0])
    for path in sorted(folder.glob("*.bvh")):
        motion = ps.load(path, scale=0.01)
        most = int(MOST * motion.fps)
        name = path.stem.removeprefix("dataset-1_").removesuffix("_001")
        yield name, body, ps.Motion(body.skeleton, motion.pose[:most], motion.fps)


def _rates(folder: Path) -> Table:
    """The same motions at several rates, each pose between two captured ones."""
    rows = {}
    for name in ENDS:
        for rate in RATES:
            told = []
            for clip in RATED:
                motion, _ = motion_of(folder / f"{clip}.bvh")
                resampled = _resampled(motion, rate)
                told.append(_measured(ps.Humanoid(motion.skeleton), resampled, SETS[name], True, "default"))
            error, met, shaken = np.mean(told, axis=0)
            note = f"{100.0 * met:.1f} % of points met, jitter {shaken:.2f} of the capture's"
            rows[f"{name}, {rate:g} Hz"] = ([float(error)], note)
    return table(f"The same motions ({', '.join(RATED)}) at several rates, with orientations", "cm", rows)


def _resampled(motion: ps.Motion, rate: float) -> ps.Motion:
    """Return a motion at another rate, at most `MOST` seconds of it."""
    from posable.math import slerp

    seconds = min(MOST, (len(motion) - 1) / motion.fps)
    at = np.arange(int(seconds * rate)) / rate * motion.fps
    first = np.minimum(at.astype(int), len(motion) - 2)
    part, pose = at - first, motion.pose
    root = pose.translation[first] * (1.0 - part[:, None]) + pose.translation[first + 1] * part[:, None]
    turns = slerp(pose.rotations[first], pose.rotations[first + 1], part[:, None])
    return ps.Motion(motion.skeleton, ps.Pose(root, turns), rate)
