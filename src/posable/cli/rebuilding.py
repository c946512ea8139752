"""What `posable reconstruct` does with one file; also what its worker processes run."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..body import MARKERS, Humanoid, figure
from ..compute import PosableError, Status
from ..compute.types import Floats
from ..formats import load, save
from .points import Points, read_points

if TYPE_CHECKING:
    from ..skeleton import Motion

CSV = ".csv"
MOTIONS = (".bvh", ".amc", ".glb", ".gltf", ".vrm", ".npz")
STORE = ".posable"  # the folder inside the output that remembers what is done
TALL = 95.0  # percentile of how far points are apart that counts as the body's own length


@dataclass(frozen=True)
class Folder:
    """The jobs of a folder: what to read and where to write, found while going through it."""

    source: Path
    target: Path
    suffix: str
    body: Path | None

    def __len__(self) -> int:
        return sum(1 for _ in self._files())

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for file, name in self._files():
            yield {"file": file, "output": str(self.target / name), "body": self.body}

    def _files(self) -> Iterator[tuple[Path, str]]:
        """(file, where its motion goes below the target), in the order of names."""
        for folder, inside, names in os.walk(self.source):
            here = Path(folder)
            inside[:] = sorted(name for name in inside if not name.startswith(".") and here / name != self.target)
            found = sorted(name for name in names if Path(name).suffix.lower() in (CSV, *MOTIONS))
            stems = [Path(name).stem for name in found if not name.startswith(".")]
            for name in found:
                file = here / name
                # Two files of one name and different suffixes must not become one.
                stem = file.stem if stems.count(file.stem) == 1 else name.replace(".", "_")
                yield file, str(file.relative_to(self.source).with_name(stem + self.suffix))


def rebuild_file(
    job: Mapping[str, Any],
    method: str = "sik",
    weights: Sequence[float] = (1.0, 1.0, 0.0),
    height: float | None = None,
    fit: bool = True,
    reading: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Read points or a motion, rebuild the body, write the motion; facts about it.

    Args:
        job: "file", "output", and "body": the file of a character, or None.
        method: as `posable.evaluate.find_method` knows it.
        weights: of wrists, ankles and the frame before, for the pelvis.
        height: of the built-in figure [m], where there is no other body; None: as the points say.
        fit: scale the points to the size of the character: with its legs, so that feet on the floor stay there,
            and what is above the hips with its trunk.
        reading: options of `load`, and `units` and `up` of points.
    """
    from ..evaluate.methods import find_method

    output = Path(job["output"])
    output.parent.mkdir(parents=True, exist_ok=True)
    points, notes, fps, own = _points_of(Path(job["file"]), dict(reading or {}))
    body, scales = _body_for(points, own, job.get("body"), height, fit)
    answer = find_method(method)(body, weights).track(_fitted(points, *scales), fps=fps)
    save(answer.motion, output)
    return {"file": str(job["file"]), "output": str(output), **_facts(answer, body, scales, points, notes, output)}


def is_whole(job: Mapping[str, Any], facts: Mapping[str, Any]) -> bool:
    """Whether the file that a job wrote is still there, and as it was written."""
    try:
        return bool(_fingerprint(Path(job["output"])) == facts["sha256"])
    except OSError:
        return False


def _points_of(file: Path, reading: dict[str, Any]) -> tuple[Floats, list[str], float, Humanoid | None]:
    """(points (F, 6, 3) [m], notes, rate, whose they are where the file says it)."""
    units, up = reading.pop("units", "m"), reading.pop("up", "y")
    if file.suffix.lower() == CSV:
        read: Points = read_points(file, reading.get("fps"), units, up, reading.get("first_frame", 0))
        return read.of(MARKERS), list(read.notes), read.fps, None
    motion: Motion = load(file, **reading)
    if not len(motion):
        raise PosableError(f"{file}: has no frames")
    body = Humanoid(motion.skeleton)
    return body.markers(motion.pose), list(motion.notes), motion.fps, body


def _body_for(
    points: Floats, own: Humanoid | None, character: Any, height: float | None, fit: bool
) -> tuple[Humanoid, tuple[float, float]]:
    """(who is rebuilt, by how much the points above the hips and those of the legs grow to fit them)."""
    usual = figure()
    if character is not None:
        path = Path(character)
        body = _character(str(path), path.stat().st_mtime_ns if path.exists() else 0)
    elif height is not None:
        body = figure(height)
    elif own is not None:
        return own, (1.0, 1.0)
    else:
        return figure(1.75 * sum(_sizes(points)) / sum(_sizes(usual.markers(usual.neutral_pose)))), (1.0, 1.0)
    if not fit:
        return body, (1.0, 1.0)
    theirs = _sizes(points if own is None else own.markers(own.neutral_pose))
    ours = _sizes(body.markers(body.neutral_pose))
    return body, (ours[0] / theirs[0], ours[1] / theirs[1])


def _fitted(points: Floats, upper: float, legs: float) -> Floats:
    """Points of one body as another has them: hips and feet grow with the legs, head and hands with the trunk."""
    hips = points[..., :1, :]
    grown = legs * points
    grown[..., 1:4, :] = legs * hips + upper * (points[..., 1:4, :] - hips)
    return grown


@lru_cache(maxsize=1)
def _character(path: str, changed: int) -> Humanoid:
    """A character, read once for all the files of a worker."""
    return Humanoid(load(path).skeleton)


def _sizes(points: Floats) -> tuple[float, float]:
    """(hips to head, hips to ankles) [m], stretched, of a body with points (..., 6, 3)."""
    lengths = np.linalg.norm(points[..., [1, 4, 5], :] - points[..., :1, :], axis=-1).reshape(-1, 3)
    seen = [part[np.isfinite(part)] for part in lengths.T]
    if not all(map(len, seen)):
        raise PosableError("hips, head and feet are never seen together, so that the body's size is not known")
    trunk, left, right = (float(np.percentile(part, TALL)) for part in seen)
    if not min(trunk, left + right) > 0.0:
        raise PosableError("hips, head and feet are in one place, so that the body's size is not known")
    return trunk, 0.5 * (left + right)


def _facts(
    answer: Any, body: Humanoid, scales: tuple[float, float], points: Floats, notes: list[str], output: Path
) -> dict[str, Any]:
    away = 1000.0 * np.where(np.isfinite(answer.residual), answer.residual, 0.0).max(axis=-1)
    return {
        "frames": len(points),
        "fps": float(answer.motion.fps),
        "seconds": round(float(answer.motion.duration), 3),
        "height_m": round(float(body.height), 4),
        "points_scaled": [round(scale, 6) for scale in scales],
        "frames_reached": int((answer.status == Status.REACHED).sum()),
        "frames_invalid": int((answer.status == Status.INVALID).sum()),
        "points_lost": int(np.isnan(points).any(axis=-1).sum()),
        "mean_away_mm": round(float(away.mean()), 4),
        "worst_away_mm": round(float(away.max()), 4),
        "bytes": output.stat().st_size,
        "sha256": _fingerprint(output),
        "notes": notes,
    }


def _fingerprint(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
