"""Motions of people on humanoid robots, beside GMR on the Unitree G1: the same clips and the same measures.

The clips are those of the table in the robots' specification, at 30 frames a second. GMR runs as `benchmarks.gmr`
says; what it answers is taken as MuJoCo's qpos, and `posable.evaluate.evaluate_retarget` measures both. Times are of
one core, without reading and preparing.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

import posable as ps
from posable.compute import threads
from posable.evaluate import evaluate_retarget, retarget_table
from posable.formats import read_robot

from . import gmr
from .harness import Sheet, data_dir

CLIPS = ("02_01", "16_18", "05_02", "124_01", "127_23", "135_04", "17_10")
FPS = 30.0
ROUNDS = 5
ROBOTS = {
    "Unitree G1": "mjcf/unitree_g1/g1.xml",
    "Unitree H1": "mjcf/h1/h1_mjx_feetonly.xml",
    "Booster T1": "mjcf/t1/t1_mjx_feetonly.xml",
    "Robotis OP3": "mjcf/op3/op3_mjx_feetonly.xml",
    "NAO": "nao_v50.urdf",
}


def run() -> list[Sheet]:
    data = data_dir()
    if data is None:
        print("no data: set POSABLE_DATA to a folder with cmu/ and robots/")
        return []
    clips = {name: clip(data, name) for name in CLIPS}
    bodies = {name: ps.Humanoid(read_robot(data / "robots" / path, free_root=True)) for name, path in ROBOTS.items()}
    lacking = gmr.missing()
    if lacking:
        print(f"GMR is not measured: {', '.join(lacking)} not there; make bench-peers")
    with threads(1):
        g1 = bodies["Unitree G1"]
        rows = []
        for name, (motion, person) in clips.items():
            if not lacking:
                rows.append({"clip": name, "by": "GMR"} | by_gmr(motion, person, g1))
            rows.append({"clip": name, "by": "posable"} | by_posable(motion, person, g1))
        sheets = [Sheet("On the Unitree G1, a clip at a time", retarget_table(rows, ("clip", "by")), note=NOTE)]
        others = []
        for robot, body in bodies.items():
            found = [by_posable(motion, person, body) for motion, person in clips.values()]
            others.append({"robot": robot} | together(found))
        sheets.append(
            Sheet(
                "On five robots: means over the seven clips, of what is worst the worst",
                retarget_table(others, ("robot",)),
            )
        )
    return sheets


NOTE = "How each is measured: `posable.evaluate.robots`. GMR's own slide in the specification is of another point."


def clip(data: Path, name: str) -> tuple[ps.Motion, ps.Humanoid]:
    """A clip of the CMU collection at 30 frames a second, and who moves in it."""
    motion = ps.load(data / "cmu" / f"{name}.bvh", repair="cmu", first_frame=1)
    motion = motion[:: round(motion.fps / FPS)]
    return motion, ps.Humanoid(motion.skeleton)


def by_gmr(motion: ps.Motion, person: ps.Humanoid, robot: ps.Humanoid) -> dict[str, object]:
    qpos, seconds = gmr.retarget(motion, person)
    made = motion_of(qpos, motion, robot)
    return evaluate_retarget(motion, person, made, robot, seconds=seconds).facts()


def by_posable(motion: ps.Motion, person: ps.Humanoid, robot: ps.Humanoid) -> dict[str, object]:
    made, times = ps.retarget(motion, person, robot).motion, []
    for _ in range(ROUNDS):
        start = time.process_time()
        made = ps.retarget(motion, person, robot).motion
        times.append(time.process_time() - start)
    return evaluate_retarget(motion, person, made, robot, seconds=float(np.median(times))).facts()


def motion_of(qpos: np.ndarray, motion: ps.Motion, robot: ps.Humanoid) -> ps.Motion:
    """MuJoCo's qpos as a motion of our robot."""
    from posable.formats.trajectory import joint_layout, robot_motion

    layout = joint_layout(robot.skeleton)
    return robot_motion(robot.skeleton, layout, qpos[:, :3], qpos[:, 3:7], qpos[:, 7:], motion.fps)


def together(found: list[dict[str, object]]) -> dict[str, float]:
    """The mean of each measure over clips; of what is worst or most, the largest."""
    made = {}
    for key, value in found[0].items():
        if isinstance(value, (int, float)):
            values = [float(facts[key]) for facts in found]
            most = key.startswith(("worst", "frames_outside", "jumps")) or key.endswith("_max") or "_mm" in key
            made[key] = max(values) if most and key != "mean_slide_mm" else float(np.mean(values))
    return made
