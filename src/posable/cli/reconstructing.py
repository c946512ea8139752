"""What `posable reconstruct` does with one file; also what its worker processes run."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..body import MARKERS, Humanoid
from ..compute import PosableError, Status
from ..formats import load, save
from .fitting import body_for, calibrated, calibration_of, fitted
from .points import Points, read_points

if TYPE_CHECKING:
    from ..collision import Scene

CSV = ".csv"
MOTIONS = (".bvh", ".amc", ".glb", ".gltf", ".vrm", ".npz")
STORE = ".posable"  # the folder inside the output that remembers what is done


@dataclass(frozen=True)
class Folder:
    """The jobs of a folder: what to read and where to write, found while going through it."""

    source: Path
    target: Path
    suffix: str
    body: Path | None
    scene: Path | None
    calibration: Path | None

    def __len__(self) -> int:
        return sum(1 for _ in self._files())

    def __iter__(self) -> Iterator[dict[str, Any]]:
        shared = {"body": self.body, "scene": self.scene, "calibration": self.calibration}
        for file, name in self._files():
            yield {"file": file, "output": str(self.target / name), **shared}

    def _files(self) -> Iterator[tuple[Path, str]]:
        """(file, where its motion goes below the target), in the order of names."""
        for folder, inside, names in os.walk(self.source):
            here = Path(folder)
            inside[:] = sorted(name for name in inside if not name.startswith(".") and here / name != self.target)
            found = sorted(name for name in names if not name.startswith("."))
            found = [name for name in found if Path(name).suffix.lower() in (CSV, *MOTIONS)]
            stems = [Path(name).stem for name in found]
            for name in found:
                file = here / name
                # Two files of one name and different suffixes must not become one.
                stem = file.stem if stems.count(file.stem) == 1 else name.replace(".", "_")
                yield file, str(file.relative_to(self.source).with_name(stem + self.suffix))


def reconstruct_file(
    job: Mapping[str, Any],
    method: str | None = None,
    weights: Sequence[float] = (1.0, 1.0, 0.0),
    height: float | None = None,
    fit: bool = True,
    floor: float | None = None,
    markers: Sequence[str] | None = None,
    orientations: Sequence[str] = (),
    tracking: Mapping[str, Any] | None = None,
    reading: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Read points or a motion, reconstruct the body, write the motion; facts about it.

    Args:
        job: "file", "output", and, each None where there is none, "body": the file of a character, "scene": of things,
            "calibration": of how trackers sit on the person.
        method: as `posable.evaluate.find_method` knows it; None: `SequentialIK` with all that it can do.
        weights: of wrists, ankles and the frame before, for the pelvis.
        height: of the built-in figure [m], where there is no other body; None: as the points say.
        fit: scale the points to the size of the character.
        floor: how high it is [m]; None: no floor.
        markers: which points of a motion count; None: the six. A CSV says by its columns what it has.
        orientations: parts of a motion whose orientations count too. A CSV says by its columns.
        tracking: options of `SequentialIK.track`: smoothing, lock_feet.
        reading: options of `load`, and `units` and `up` of points.
    """
    output = Path(job["output"])
    output.parent.mkdir(parents=True, exist_ok=True)
    points, own = points_of(Path(job["file"]), dict(reading or {}), tuple(markers or MARKERS), orientations)
    calibration = calibration_of(job.get("calibration"))
    if calibration is not None:
        points = calibrated(points, calibration)
    body, scales = body_for(points, own, job.get("body"), height, fit, calibration)
    scene = scene_of(job.get("scene"), floor)
    answer = tracked(fitted(points, *scales), body, weights, method, scene, tracking or {})
    save(answer.motion, output)
    return {"file": str(job["file"]), "output": str(output), **_facts(answer, body, scales, points, output)}


def is_whole(job: Mapping[str, Any], facts: Mapping[str, Any]) -> bool:
    """Whether the file that a job wrote is still there, and as it was written."""
    try:
        return bool(_fingerprint(Path(job["output"])) == facts["sha256"])
    except OSError:
        return False


def points_of(
    file: Path, reading: dict[str, Any], markers: tuple[str, ...], turned: Sequence[str]
) -> tuple[Points, Humanoid | None]:
    """(what was tracked, whose it is where the file says that)."""
    units, up = reading.pop("units", "m"), reading.pop("up", "y")
    if file.suffix.lower() == CSV:
        return read_points(file, reading.get("fps"), units, up, reading.get("first_frame", 0)), None
    motion = load(file, **reading)
    if not len(motion):
        raise PosableError(f"{file}: has no frames")
    body = Humanoid(motion.skeleton)
    frames = motion.skeleton.forward(motion.pose)
    places = frames.positions[:, [body.index(role) for role in markers]]
    turns = {role: body.canonical_orientation(frames, body.index(role)) for role in turned}
    return Points(markers, places, motion.fps, turns, tuple(motion.notes)), body


def scene_of(path: Any, floor: float | None) -> Scene | None:
    """The things of a scene's file, and a floor."""
    from ..collision import Scene

    if path is None and floor is None:
        return None
    scene = Scene() if path is None else Scene.load(path)
    return scene if floor is None else scene.plane("floor", (0.0, floor, 0.0))


def tracked(
    points: Points,
    body: Humanoid,
    weights: Sequence[float],
    method: str | None,
    scene: Scene | None,
    tracking: Mapping[str, Any],
) -> Any:
    """What a method makes of points, for a body."""
    if method is None:
        from ..reconstruct import SequentialIK

        solver = SequentialIK(body, weights, markers=points.names, scene=scene)
        return solver.track(points.places, points.fps, orientations=points.turns or None, **tracking)
    from ..evaluate.methods import find_method

    lacking = [role for role in MARKERS if role not in points.names]
    if lacking:
        raise PosableError(f"there is no {', '.join(lacking)}, and the method {method!r} needs all six points")
    return find_method(method)(body, weights).track(points.of(MARKERS), fps=points.fps)


def _facts(answer: Any, body: Humanoid, scales: tuple[float, float], points: Points, output: Path) -> dict[str, Any]:
    away = 1000.0 * np.where(np.isfinite(answer.residual), answer.residual, 0.0).max(axis=-1)
    return {
        "frames": len(points.places),
        "fps": float(answer.motion.fps),
        "seconds": round(float(answer.motion.duration), 3),
        "points": list(points.names),
        "orientations": list(points.turns),
        "ankle_to_head_m": round(float(body.joint_height), 4),
        "points_scaled": [round(scale, 6) for scale in scales],
        "frames_reached": int((answer.status == Status.REACHED).sum()),
        "frames_with_lost_points": int((answer.status == Status.INVALID).sum()),
        "frames_kept_out_of_things": int((answer.status == Status.COLLISION).sum()),
        "points_lost": int(np.isnan(points.places).any(axis=-1).sum()),
        "mean_away_mm": round(float(away.mean()), 4),
        "worst_away_mm": round(float(away.max()), 4),
        "bytes": output.stat().st_size,
        "sha256": _fingerprint(output),
        "notes": list(points.notes),
    }


def _fingerprint(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
