"""Bodies from any set of trackers: errors on people never seen, by set, with and without the prior; time a frame."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

import posable as ps
from posable.compute.types import Floats
from posable.evaluate.measures import scored_joints
from posable.evaluate.reconstruct import CLIPS, motion_of

from .bench_reconstruct import UNSEEN
from .harness import Contender, Table, compare, data_dir, table

HEAD_AND_HANDS = ("head", "left_hand", "right_hand")
WITH_HIPS = ("hips", *HEAD_AND_HANDS)
ELEVEN = (*ps.MARKERS, "left_lower_arm", "right_lower_arm", "left_lower_leg", "right_lower_leg", "upper_chest")
SETS = {
    "head and hands": HEAD_AND_HANDS,
    "head, hands, hips": WITH_HIPS,
    "head, hands, feet": (*HEAD_AND_HANDS, "left_foot", "right_foot"),
    "six": ps.MARKERS,
    "six, shoulders": (*ps.MARKERS, "left_upper_arm", "right_upper_arm"),
    "six, elbows, knees, chest": ELEVEN,
}
RATE, MOST = 30.0, 30.0  # [Hz], [s] of each clip
MET = 1e-4  # [m]


def run() -> list[Table]:
    folder, tables = data_dir(), [_times()]
    return tables if folder is None else [*_errors(folder / "cmu"), *tables]


def _errors(folder: Path) -> list[Table]:
    """Mean distance of the 22 scored joints, by set: mean of clips."""
    clips = [_clip(folder / f"{clip}.bvh") for clip in (*CLIPS, *UNSEEN)]
    tables: list[Table] = []
    seen: dict[str, Floats] = {}  # errors with orientations
    means: dict[tuple[str, bool], float] = {}
    for what, oriented in (("positions and orientations", True), ("positions alone", False)):
        rows = {}
        for name, markers in SETS.items():
            both = {}
            for prior in ("default", None):
                told = np.array([_measured(*clip, markers, oriented, prior) for clip in clips])
                both[prior] = told[:, 0]
                met, shaken = 100.0 * told[:, 1].mean(), told[:, 2].mean()
                note = f"{met:.1f} % of points met, jitter {shaken:.2f} of the capture's"
                if prior and oriented:
                    seen[name] = told[:, 0]
                elif prior:
                    note += f"; orientations make {int((seen[name] > told[:, 0]).sum())} clips worse"
                if prior is None:
                    note += f"; the prior is worse on {int((both['default'] > both[None]).sum())} clips"
                if prior:
                    means[name, oriented] = float(told[:, 0].mean())
                    worse = [one for one, of in means if of == oriented and set(SETS[one]) < set(markers)]
                    worse = [one for one in worse if means[one, oriented] < means[name, oriented]]
                    note += f"; worse than with fewer: {', '.join(worse) or 'none'}"
                rows[f"{name}, {'prior' if prior else 'plain'}"] = ([float(told[:, 0].mean())], note)
        tables.append(table(f"Mean joint position error from {what}, 19 clips of people never seen", "cm", rows))
    return tables


def _clip(path: Path) -> tuple[ps.Humanoid, ps.Motion]:
    motion, _ = motion_of(path)
    every = max(round(motion.fps / RATE), 1)
    fps = motion.fps / every
    return ps.Humanoid(motion.skeleton), ps.Motion(motion.skeleton, motion.pose[::every][: int(MOST * fps)], fps)


def _measured(
    body: ps.Humanoid, motion: ps.Motion, markers: tuple[str, ...], oriented: bool, prior: str | None
) -> tuple[float, float, float]:
    """(error [cm], fraction of points met, jitter of the capture's)."""
    frames = body.skeleton.forward(motion.pose)
    points = frames.positions[:, [body.index(role) for role in markers]]
    turns = {role: body.canonical_orientation(frames, body.index(role)) for role in markers}
    solver = ps.SequentialIK(body, prior=prior, markers=markers)
    answer = solver.track(points, fps=motion.fps, orientations=turns if oriented else None)
    joints = scored_joints(body).joints
    truth, found = frames.positions[:, joints], body.skeleton.forward(answer.motion.pose).positions[:, joints]
    far = 100.0 * np.linalg.norm(found - truth, axis=-1).mean()
    return far, float((answer.marker_errors < MET).mean()), _shaken(found) / _shaken(truth)


def _shaken(positions: Floats) -> float:
    return float(np.linalg.norm(np.diff(positions, 3, axis=0), axis=-1).mean())


def _times() -> Table:
    return compare("The built-in figure, a frame of a track on one core", list(_contenders()))


def _contenders() -> Iterator[Contender]:
    body = ps.figure()
    motion = ps.samples.walk(body)
    frames = body.skeleton.forward(motion.pose)
    for name, markers in SETS.items():
        points = frames.positions[:, [body.index(role) for role in markers]]
        turns = {role: body.canonical_orientation(frames, body.index(role)) for role in markers}
        solver = ps.SequentialIK(body, markers=markers)

        def track(solver: ps.SequentialIK = solver, points: Floats = points, turns: dict[str, Floats] = turns) -> None:
            solver.track(points, orientations=turns)

        def bare(solver: ps.SequentialIK = solver, points: Floats = points) -> None:
            solver.track(points)

        yield Contender(f"{name}, with orientations", track, len(points))
        yield Contender(f"{name}, positions", bare, len(points))
