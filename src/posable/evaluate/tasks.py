"""Tasks of worker processes: one file reconstructed and saved, one clip evaluated.

A task takes and returns plain values, so that `posable.jobs.run` can hand it to any process and store its result.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..body import MARKERS, Humanoid
from ..compute import PosableError, Status
from ..compute.files import sha256_of
from ..formats import check_input, load, save
from ..formats.points_csv import Points
from ..reconstruct import SequentialIK
from ..reconstruct.pipeline import body_for, calibrated, calibration_of, character_of, fitted, roles_on, source_points
from .reconstruct import evaluate_clip, find_method, motion_of

if TYPE_CHECKING:
    from ..collision import Scene

MOTIONS = (".bvh", ".amc", ".glb", ".gltf", ".vrm", ".vrma", ".npz", ".c3d")
PER_FRAME = ("position_frames", "orientation_frames")


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
    roles: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Read points or a motion, reconstruct the body, write the motion; return facts about it.

    Args:
        job: "file", "output", and, each None where there is none, "body": the file of a character, "scene": of
            obstacles, "calibration": of how trackers sit on the person.
        method: as `posable.evaluate.find_method` knows it; None: `SequentialIK` with all its options.
        weights: of wrists, ankles and the frame before in the pelvis' heading.
        height: of the built-in figure [m], where there is no other body; None: as tall as the points are.
        fit: whether points are scaled to the size of the character.
        floor: its height [m]; None: no floor.
        markers: the parts of a motion that become points; None: the six. A CSV file names its own.
        orientations: parts of a motion whose orientations are taken too. A CSV file names its own.
        tracking: options of `SequentialIK.track`: smoothing, lock_feet.
        reading: options of `load_points`.
        roles: joints that are parts which their names do not tell, on the skeletons that have them.
    """
    output = Path(job["output"])
    options = {**(reading or {}), "roles": roles}
    points, own = source_points(job["file"], tuple(markers or MARKERS), orientations, **options)
    calibration = calibration_of(job.get("calibration"))
    if calibration is not None:
        points = calibrated(points, calibration)
    body, scales = body_for(points, own, character_of(job.get("body"), roles), height, fit, calibration)
    scene = scene_of(job.get("scene"), floor)
    points_of_body = fitted(points, *scales)
    if floor is not None and not floor <= np.nanmax(points_of_body.positions[..., 1]):
        raise PosableError(f"the floor at {floor:g} m is above every point; heights are in metres")
    solution = tracked(points_of_body, body, weights, method, scene, tracking or {})
    output.parent.mkdir(parents=True, exist_ok=True)
    save(solution.motion, output)
    return {"file": str(job["file"]), "output": str(output), **_facts(solution, body, scales, points, output)}


def scene_of(path: str | os.PathLike[str] | None, floor: float | None) -> Scene | None:
    """Return the obstacles of a scene's file with a floor at a height [m]; None without either."""
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
    """Return the motion solution of a method, by name, for points and a body."""
    if method is None:
        solver = SequentialIK(body, weights, markers=points.names, scene=scene)
        rotations = points.orientations or None
        return solver.track(points.positions, fps=points.fps, orientations=rotations, **tracking)
    lacking = [role for role in MARKERS if role not in points.names]
    if lacking:
        raise PosableError(f"there is no {', '.join(lacking)}, and the method {method!r} needs all six points")
    return find_method(method)(body, weights).track(points.of(MARKERS), fps=points.fps)


def _facts(solution: Any, body: Humanoid, scales: tuple[float, float], points: Points, output: Path) -> dict[str, Any]:
    known = np.isfinite(solution.marker_errors)  # a lost point has no error, and a frame without any point none either
    errors = 1000.0 * np.where(known, solution.marker_errors, 0.0).max(axis=-1)[known.any(axis=-1)]
    return {
        "frames": len(points),
        "fps": float(solution.motion.fps),
        "seconds": round(float(solution.motion.duration), 3),
        "points": list(points.names),
        "orientations": list(points.orientations),
        "ankle_to_head_m": round(float(body.joint_height), 4),
        "points_scaled": [round(scale, 6) for scale in scales],
        "frames_reached": int((solution.status == Status.REACHED).sum()),
        "frames_with_lost_points": int((solution.status == Status.INVALID).sum()),
        "frames_kept_out_of_obstacles": int((solution.status == Status.COLLISION).sum()),
        "points_lost": int(np.isnan(points.positions).any(axis=-1).sum()),
        "mean_error_mm": round(float(errors.mean()), 4) if len(errors) else None,
        "worst_error_mm": round(float(errors.max()), 4) if len(errors) else None,
        "bytes": output.stat().st_size,
        "sha256": sha256_of(output),
        "notes": list(points.notes),
    }


def evaluate_file(
    path: Path,
    methods: Sequence[str],
    weights: str | Sequence[float] = "paper",
    plots: str | None = None,
    reading: Mapping[str, Any] | None = None,
    roles: Mapping[str, str] | None = None,
    points: Mapping[str, Sequence[str]] | None = None,
) -> dict[str, Any]:
    """Evaluate a clip as `evaluate_clip` does; into a folder for plots, its errors over time and its frames.

    With options of `posable.load` in `reading` the clip is read with these, and nothing is mended unasked. `points` has
    `markers` and `orientations` where they are not the six positions.
    """
    accepted = check_input(path).load_options | {"fps", "first_frame"}
    given = {name: value for name, value in (reading or {}).items() if value and name in accepted}
    clip = load(path, **given) if given else motion_of(path)[0]
    body = Humanoid(clip.skeleton, roles_on(clip.skeleton, roles))
    options: dict[str, Any] = {"weights": weights, "body": body, **(points or {})}
    facts = evaluate_clip(clip, methods, name=path.stem, per_frame=plots is not None, **options)
    if not facts["frames"]:
        raise PosableError(f"the clip {facts['clip']!r} has no frames; there is nothing to measure")
    if plots is not None:
        from .plots import picture_frames, plot_errors

        Path(plots).mkdir(parents=True, exist_ok=True)
        plot_errors(facts, Path(plots) / f"{facts['clip']}_errors.png")
        picture_frames(clip, methods, Path(plots) / f"{facts['clip']}_frames.png", **options)
        for measured in facts["methods"].values():
            for name in PER_FRAME:
                del measured[name]
    return facts
