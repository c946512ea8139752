"""How well methods reconstruct bodies from six points, or from any trackers: the comparison of Unzueta et al. 2008,
section 9, on any clips, and the measures of those who reconstruct bodies from a headset beside it.

`evaluate_clip` is one clip by some methods, as a plain dictionary that a worker process can hand back;
`evaluate_reconstruct` puts clips together and prints them beside the paper's Table 1 where they are its three.
"""

from __future__ import annotations

import importlib
import inspect
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..body import MARKERS, Humanoid
from ..classic import METHODS
from ..compute import PosableError, UnknownNameError
from ..compute.types import Floats
from ..formats import load
from ..formats.cmu import is_conversion
from ..reconstruct import SequentialIK
from ..skeleton import Motion
from .measures import (
    accelerations,
    jerk,
    jitter,
    local_rotations,
    orientation_errors,
    position_errors,
    root_mean_square,
    scored_joints,
    smpl_joints,
)

Weights = str | Sequence[float]
DEFAULT_METHODS = ("sik",)
TIMED_BLOCKS, TIMED_FRAMES = 25, 16  # whose times the median is taken of; frames a block


def evaluate_clip(
    clip: str | os.PathLike[str] | Motion,
    methods: Sequence[str] = DEFAULT_METHODS,
    *,
    name: str | None = None,
    weights: Weights = "paper",
    per_frame: bool = False,
    body: Humanoid | None = None,
    markers: Sequence[str] = MARKERS,
    orientations: Sequence[str] = (),
) -> dict[str, Any]:
    """Reconstruct one clip from some of its points by each method and measure how far the result is from the clip.

    Args:
        clip: a motion of a person, or a file of one; clips of the CMU conversion are mended and lose their T-pose.
        methods: names as `method_names()` has them, or a class of your own as "package.module:Class": made with the
            body (and `weights=`, if it takes them), it has `track(points, fps)` as `SequentialIK` has.
        name: what to call the clip; the file's name without suffix when not given.
        weights: how much wrists, ankles and the frame before say about the pelvis: "paper" is what the paper set for
            its clips, and (1, 1, 0) for others; three numbers are one setting for all clips.
        per_frame: also the errors of every frame, for plots.
        body: of the clip, where the names of its joints do not tell who is who.
        markers: the parts that are tracked, default the six; others are for `SequentialIK`, and for a class that takes
            `markers=`.
        orientations: the parts whose orientations are tracked as well, default none; for the same, whose
            `track` then gets `orientations=`.

    Returns:
        Plain values only: clip, frames, fps, height [m], weights, markers, orientations, acceleration [m/s^2] and jerk
        [m/s^3] of the original, joints (names), notes of the file, and under "methods" for each: position (of the
        height), orientation [rad], position_joints and orientation_joints (means), jitter [m/s^2], milliseconds (a
        frame, median), reached (fraction of frames), finite; and over SMPL's joints mpjpe [m], mpjre [rad] and jerk
        [m/s^3]; end_points [m], the mean distance of tracked joints from their points, and end_points_worst [m].
    """
    motion, called = motion_of(clip)
    called = name or called
    body = Humanoid(motion.skeleton) if body is None else body
    chosen = weights_of(called, weights)
    scored, smpl = scored_joints(body), smpl_joints(body)
    frames = motion.skeleton.forward(motion.pose)
    tracked = [body.index(role) for role in markers]
    points = frames.positions[:, tracked]
    known = {role: body.canonical_orientation(frames, body.index(role)) for role in orientations}
    positions, rotations = frames.positions[:, scored.joints], local_rotations(frames, scored)
    found: dict[str, Any] = {}
    for method in methods:
        solver = find_method(method, markers, orientations)(body, chosen)
        answer, milliseconds = _timed_track(solver, points, motion.fps, known)
        reconstructed = motion.skeleton.forward(answer.motion.pose)
        away = np.linalg.norm(reconstructed.positions[:, tracked] - points, axis=-1)
        by_smpl = reconstructed.positions[:, smpl.joints]
        there = reconstructed.positions[:, scored.joints]
        position = position_errors(positions, there, body.joint_height)
        orientation = orientation_errors(rotations, local_rotations(reconstructed, scored))
        found[method] = {
            "position": root_mean_square(position),
            "orientation": root_mean_square(orientation),
            "position_joints": _means(position),
            "orientation_joints": _means(orientation),
            "jitter": jitter(positions, there, motion.fps),
            "milliseconds": milliseconds,
            "reached": float(np.mean(answer.ok)) if len(motion) else 1.0,
            "finite": bool(np.isfinite(there).all()),
            "mpjpe": _mean(position_errors(frames.positions[:, smpl.joints], by_smpl, 1.0)),
            "mpjre": _mean(orientation_errors(local_rotations(frames, smpl), local_rotations(reconstructed, smpl))),
            "jerk": jerk(by_smpl, motion.fps),
            "end_points": _mean(away),
            "end_points_worst": float(away.max()) if away.size else 0.0,
        }
        if per_frame:
            found[method]["position_frames"] = position.mean(axis=-1).tolist()
            found[method]["orientation_frames"] = orientation.mean(axis=-1).tolist()
    moved = accelerations(positions, motion.fps)
    return {
        "clip": called,
        "frames": len(motion),
        "fps": motion.fps,
        "height": body.joint_height,
        "weights": list(chosen),
        "markers": list(markers),
        "orientations": list(orientations),
        "acceleration": float(moved.mean()) if moved.size else 0.0,
        "jerk": jerk(frames.positions[:, smpl.joints], motion.fps),
        "joints": list(scored.names),
        "notes": list(motion.notes),
        "methods": found,
    }


@dataclass(frozen=True)
class Evaluation:
    """The results of methods on clips: those of `evaluate_clip`, in order."""

    clips: tuple[Mapping[str, Any], ...]

    @property
    def from_six(self) -> bool:
        """Whether all clips were reconstructed from the positions of the six points, as the paper did."""
        return all(set(clip["markers"]) == set(MARKERS) and not clip["orientations"] for clip in self.clips)

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods that were run, in the order in which they were asked for."""
        return tuple(dict.fromkeys(method for clip in self.clips for method in clip["methods"]))

    def average(self, method: str, measure: str = "position") -> float:
        """A measure's plain mean over the clips, as in the last row of Table 1."""
        return float(np.mean([clip["methods"][method][measure] for clip in self.clips]))

    def paper(self, method: str, measure: str = "position") -> float | None:
        """The paper's average of a measure, where clips and points are its own and the method is in its table."""
        if (
            {clip["clip"] for clip in self.clips} != set(CLIPS)
            or not self.from_six
            or method not in PAPER.get(measure, {})
        ):
            return None
        return float(np.mean(PAPER[measure][method]))

    def rows(self) -> list[dict[str, Any]]:
        """A row a method: average errors, the paper's beside them, jitter, time, and position error by clip."""
        found = []
        for method in self.methods:
            row: dict[str, Any] = {"method": method}
            for measure in ("position", "orientation", "jitter", "milliseconds", "reached"):
                row[measure] = self.average(method, measure)
                row[f"paper_{measure}"] = self.paper(method, measure)
            for measure in ("mpjpe", "mpjre", "jerk", "end_points", "end_points_worst"):
                row[measure] = self.average(method, measure)
            row["clips"] = {clip["clip"]: clip["methods"][method]["position"] for clip in self.clips}
            found.append(row)
        return found

    def table(self) -> str:
        """The rows as text for people, in Markdown."""
        rows = self.rows()
        names = list(dict.fromkeys(name for row in rows for name in row["clips"]))
        shown = names if len(names) <= 4 else []
        head = [
            "method",
            *shown,
            "position",
            "paper",
            "orientation [rad]",
            "paper",
            "jitter [m/s²]",
            "ms a frame (median)",
        ]
        lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
        for row in rows:
            cells = [row["method"], *(f"{row['clips'][name]:.4f}" for name in shown)]
            cells += [f"{row['position']:.4f}", _cell(row["paper_position"])]
            cells += [f"{row['orientation']:.4f}", _cell(row["paper_orientation"])]
            cells += [f"{row['jitter']:.1f}", f"{row['milliseconds']:.3f}"]
            lines.append("| " + " | ".join(cells) + " |")
        return "\n".join(lines)

    def json(self) -> str:
        """All facts, as JSON."""
        return json.dumps({"average": self.rows(), "clips": [dict(clip) for clip in self.clips]}, indent=1)


def evaluate_reconstruct(
    clips: Sequence[str | os.PathLike[str] | Motion],
    methods: Sequence[str] = DEFAULT_METHODS,
    *,
    weights: Weights = "paper",
    per_frame: bool = False,
    markers: Sequence[str] = MARKERS,
    orientations: Sequence[str] = (),
) -> Evaluation:
    """Compare methods on clips, one after the other; arguments as `evaluate_clip` has them."""
    if not len(clips):
        raise PosableError("no clips to evaluate; give motions or files of them")
    options: dict[str, Any] = {"weights": weights, "per_frame": per_frame}
    options |= {"markers": markers, "orientations": orientations}
    return Evaluation(tuple(evaluate_clip(clip, methods, **options) for clip in clips))


def motion_of(clip: str | os.PathLike[str] | Motion) -> tuple[Motion, str]:
    """The motion, mended if it is of the CMU conversion and still as delivered, and its name."""
    if isinstance(clip, Motion):
        return clip, "motion"
    motion = load(clip)
    if is_conversion(motion.skeleton):
        motion = load(clip, repair="cmu", first_frame=1)
    return motion, Path(clip).stem


def weights_of(name: str, weights: Weights) -> tuple[float, float, float]:
    """The pelvis' weights for a clip of that name."""
    if isinstance(weights, str):
        if weights != "paper":
            raise PosableError(f"weights are {weights!r}; expected 'paper' or three numbers")
        return WEIGHTS.get(name, (1.0, 1.0, 0.0))
    given = tuple(float(weight) for weight in weights)
    if len(given) != 3:
        raise PosableError(f"weights are {given}; expected 'paper' or three numbers")
    return given


def _timed_track(
    solver: Any, points: Floats, fps: float, orientations: Mapping[str, Floats] | None = None
) -> tuple[Any, float]:
    """The answer, and milliseconds a frame: the median over blocks of frames, as the paper's times are medians.

    The whole clip is tracked first, so that nothing is compiled while the blocks are timed.
    """

    def track(first: int, last: int) -> Any:
        options = {role: known[first:last] for role, known in (orientations or {}).items()}
        return solver.track(points[first:last], fps=fps, **({"orientations": options} if options else {}))

    answer = track(0, len(points))
    firsts = np.linspace(0, max(len(points) - TIMED_FRAMES, 0), TIMED_BLOCKS).astype(np.int64)
    taken = []
    for first in np.unique(firsts).tolist():
        last = min(first + TIMED_FRAMES, len(points))
        start = time.perf_counter()
        track(first, last)
        taken.append(1e3 * (time.perf_counter() - start) / max(last - first, 1))
    return answer, float(np.median(taken))


def _means(errors: Floats) -> list[float]:
    return errors.mean(axis=0).tolist() if len(errors) else [0.0] * errors.shape[1]


def _mean(errors: Floats) -> float:
    return float(errors.mean()) if errors.size else 0.0


def _cell(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"


Maker = Callable[[Humanoid, Sequence[float]], Any]

_PUBLISHED = {"elbows_out": False, "limit_rates": False}
SEQUENTIAL: dict[str, dict[str, Any]] = {
    "sik": {"prior": None, **_PUBLISHED},
    "sik_literal": {"paper_spine": True, **_PUBLISHED},
    "sik_prior": {},
}
"""Variants of `SequentialIK`: name to the options it is made with; "sik" is the method as published, with the decisions
of specification reconstruct, "sik_literal" the same with the paper's own spine, "sik_prior" ours as it comes."""


def method_names() -> tuple[str, ...]:
    """The methods that `find_method` knows by name."""
    return (*SEQUENTIAL, *METHODS)


def find_method(name: str, markers: Sequence[str] = MARKERS, orientations: Sequence[str] = ()) -> Maker:
    """Return the class of a method, made from a body and the pelvis' weights: by name, or "package.module:Class".

    Args:
        name: as above.
        markers: the points it will get. Other ones than the six in their order are for `SequentialIK` and for classes
            that take `markers=`; another method is refused.
        orientations: the parts whose orientations it will get, likewise for those that track with `orientations=`.
    """
    six, given = tuple(markers) == MARKERS, {"markers": tuple(markers)}
    if name in SEQUENTIAL:
        options = SEQUENTIAL[name] | ({} if six else given)
        return lambda body, weights: SequentialIK(body, weights, **options)
    if name in METHODS:
        if not six or orientations:
            raise PosableError(
                f"the method {name!r} reconstructs from the six positions; {', '.join(SEQUENTIAL)} from any"
            )
        classic = METHODS[name]
        return lambda body, weights: classic(body, weights)
    if ":" not in name:
        raise UnknownNameError("method", name, (*method_names(), "package.module:Class"))
    made = _imported(name)
    takes = inspect.signature(made).parameters
    if not six and "markers" not in takes:
        raise PosableError(f"method {name!r} takes no markers=; it reconstructs from the six")
    if orientations and "orientations" not in inspect.signature(getattr(made, "track", made)).parameters:
        raise PosableError(f"method {name!r} does not track with orientations=")
    of_points: dict[str, Any] = given if "markers" in takes else {}
    if "weights" in takes:
        return lambda body, weights: made(body, weights=weights, **of_points)
    return lambda body, weights: made(body, **of_points)


def _imported(path: str) -> Any:
    module, _, attribute = path.partition(":")
    try:
        found: Any = importlib.import_module(module)
    except ImportError as error:
        raise PosableError(f"method {path!r}: {error}; expected 'package.module:Class' on the import path") from error
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise PosableError(f"method {path!r}: {module!r} has no {attribute!r}")
        found = getattr(found, part)
    if not callable(found):
        raise PosableError(f"method {path!r} is {type(found).__name__}; expected a class that takes a body")
    return found


CLIPS = {"17_10": "boxing", "90_05": "jump kick", "01_03": "playground"}
"""Names in the CMU database."""

WEIGHTS: dict[str, tuple[float, float, float]] = {
    "17_10": (1.0, 1.0, 0.0),
    "90_05": (1.0, 1.0, 0.0),
    "01_03": (0.1, 0.1, 1.0),
}
"""What the paper set for the pelvis of each clip (section 9)."""

_TABLE_1 = {
    "kma": ((0.0281, 0.0256, 0.0295), (0.2524, 0.3175, 0.3452), (1.11, 1.02, 1.13)),
    "ccd": ((0.0316, 0.0292, 0.0275), (0.4376, 0.4651, 0.4606), (0.87, 1.02, 0.78)),
    "pseudoinverse": ((0.0303, 0.0260, 0.0275), (0.3157, 0.3413, 0.3786), (17.46, 22.36, 14.87)),
    "dls": ((0.0325, 0.0291, 0.0256), (0.3115, 0.3331, 0.3492), (11.45, 8.31, 8.28)),
    "dls_svd": ((0.0325, 0.0293, 0.0257), (0.3113, 0.3336, 0.3495), (20.63, 15.71, 14.42)),
    "sdls": ((0.0293, 0.0245, 0.0265), (0.3060, 0.3119, 0.3626), (15.38, 17.09, 12.82)),
    "pik": ((0.0283, 0.0247, 0.0240), (0.3256, 0.3447, 0.3472), (28.56, 39.54, 28.40)),
    "sik": ((0.0265, 0.0213, 0.0261), (0.2508, 0.2849, 0.3469), (0.44, 0.45, 0.43)),
    "tgbsik": ((0.0312, 0.0208, 0.0266), (0.2937, 0.2912, 0.3475), (1.89, 1.92, 1.90)),
}
PAPER: dict[str, dict[str, tuple[float, ...]]] = {
    measure: {method: row[k] for method, row in _TABLE_1.items()}
    for k, measure in enumerate(("position", "orientation", "milliseconds"))
}
"""By measure and method: boxing, jump kick, playground. Position errors of the height, orientations in radians, times
on a Pentium 4 of 2.66 GHz. The Jacobian transpose is in Figure 14 alone. The printed average of PIK's position
errors, 0.0264, is not their mean, 0.0257 (erratum 17)."""
