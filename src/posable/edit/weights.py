"""Weights from motion: which joints a person uses for what, at each moment of a clip (Komura et al. 2004, section 4).

Decided in `specs/edit.md`, sections 2 and 7: a diagonal weighting that explains a frame exactly rarely exists, and the
best one of a single frame does not fit the frames next to it. So by default one weighting is fitted to a tenth of a
second before and after; per-frame weights (the paper's) and one for the clip are options. Weights of several similar
motions together (the paper's future work) use, for each window, also the frames of the others with the nearest poses.

A fit takes milliseconds a frame, so weights can be stored in a file next to their motion.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..compute import FormatError, PosableError, UnknownNameError
from ..compute.archive import read_archive, write_archive
from ..compute.types import ArrayLike, Floats, Ints
from .clip import Clip

KINDS = ("window", "frame", "clip", "identity")
HALF_WINDOW = 0.1  # [s]
SAMPLES_APART = 1.0 / 30.0  # [s] within a window
WINDOWS_APART = 0.05  # [s]
REG = 1e-2
IN_A_ROW = 8  # windows that start from the one before; the same on any number of cores, so that answers are too
BLOCK = 12  # rows of windows at once: bounds the memory for Jacobians
CLIP_SAMPLES = 48
LOCKED_LOG = -1e9  # the logarithm of a locked DoF
MAX_FILE = 1 << 30  # bytes

Progress = Callable[[float], None]


@dataclass(frozen=True, eq=False)
class FitReport:
    """How well weights explain a motion: |rates - explained| / |rates| of each frame, 0 for all, 1 for nothing."""

    residual: Floats
    """(F,) with the weights."""
    identity: Floats
    """(F,) with all weights the same: the plain pseudo-inverse."""

    def __repr__(self) -> str:
        return f"FitReport({self})"

    def __str__(self) -> str:
        return (
            f"weights leave {np.median(self.residual):.2f} of the rates unexplained in the median, "
            f"{self.residual.max():.2f} at worst; without them {np.median(self.identity):.2f}"
        )


def fit_weights(
    clip: Clip,
    kind: str = "window",
    *,
    reg: float = REG,
    prior: float = 0.0,
    similar: Sequence[Clip] = (),
    progress: Progress | None = None,
) -> Floats:
    """Return the logarithms (F, n) of the inverse weights of the edited DoF; `LOCKED_LOG` where locked.

    Args:
        clip: the motion.
        kind: "window", "frame" (the paper's), "clip": one for all frames, or "identity": all the same.
        reg: strength of the regularisation that draws weights together.
        prior: strength of the regularisation that draws a window's weights to those of the window before.
        similar: other clips of bodies with the same joints, whose nearest poses count too.
        progress: called now and then with the fraction done, 0 to 1.
    """
    if kind not in KINDS:
        raise UnknownNameError("kind of weights", kind, KINDS)
    for other in similar:
        if len(other.parts.dofs) != len(clip.parts.dofs):
            raise PosableError(
                f"a similar motion has {len(other.parts.dofs)} edited DoF, this one {len(clip.parts.dofs)}; "
                "similar motions need the same joints"
            )
    frames, columns = len(clip), clip.parts.fitted
    logs = np.zeros((frames, len(clip.parts.dofs)))
    logs[:, ~clip.parts.free] = LOCKED_LOG
    if kind == "identity" or not len(columns) or frames < 2:
        return logs
    found = _clip_fit(clip, reg, similar)
    if kind != "clip":
        apart = max(1, round(WINDOWS_APART * clip.fps)) if kind == "window" else 1
        centres = np.unique(np.append(np.arange(0, frames, apart), frames - 1))
        samples = _windows(clip, centres, kind)
        keys = _fit_windows(clip, centres, samples, found, reg, prior, similar, progress)
        at = np.arange(frames)
        found = np.stack([np.interp(at, centres, keys[:, k]) for k in range(len(columns))], axis=1)
    logs[:, columns] = found - found.mean(axis=-1, keepdims=True)
    return logs


def fit_report(clip: Clip, logs: Floats) -> FitReport:
    """Return how well weights explain each frame of a clip."""
    fitted = np.exp(logs[:, clip.parts.fitted])
    weighted = [explain(clip, frames, weights)[1] for frames, weights in _pieces(clip, fitted)]
    plain = [explain(clip, frames, np.ones_like(weights))[1] for frames, weights in _pieces(clip, fitted)]
    return FitReport(np.concatenate(weighted), np.concatenate(plain))


def explain(clip: Clip, frames: ArrayLike, inverse_weights: Floats, mu: float = 1e-9) -> tuple[Floats, Floats]:
    """Return the rates (K, m) at some frames that inverse weights (K, m) of moving DoF explain, and the rest (K,)."""
    rows = np.asarray(frames, dtype=np.int64)
    rates = np.ascontiguousarray(clip.rates[rows][:, clip.parts.fitted])
    return explained_rates(clip.jacobians(rows), rates, inverse_weights, mu)


def explained_rates(
    jacobians: Floats, rates: Floats, inverse_weights: ArrayLike, mu: float = 1e-9
) -> tuple[Floats, Floats]:
    """Return V J^T (J V J^T)^-1 J rates for Jacobians (K, R, n), rates and v (K, n), and the relative rest (K,)."""
    from .fit_kernels import explain_rows, fit_scratch

    count, rows, n = jacobians.shape
    v = np.ascontiguousarray(np.broadcast_to(np.asarray(inverse_weights, dtype=np.float64), (count, n)))
    residual, work = np.empty(count), fit_scratch(count, rows, n, 0)
    explain_rows(count, np.ascontiguousarray(jacobians), np.ascontiguousarray(rates), v, float(mu), residual, work)
    return work.explained, residual


def exact_weights(clip: Clip, frame: int) -> float:
    """Return the spread kappa of the best-conditioned weighting that explains a frame exactly, infinite without any.

    Weights w > 0 with w_j rate_j = (J^T l)_j exist just where J^T l has the signs of the rates for some l: a linear
    programme (`specs/edit.md`, section 2). Mostly there is none, or one that is of no use (kappa above 1e4).
    """
    from scipy.optimize import linprog

    rates = clip.rates[frame, clip.parts.fitted]
    jac = clip.jacobians(np.array([frame]))[0]
    moving = np.abs(rates) > 1e-9
    signed = (jac[:, moving] * np.sign(rates[moving])).T / np.abs(rates[moving])[:, None]  # (m, R): s (J^T l) / |td|
    rows = len(signed)
    # 1 <= signed l <= kappa; unknowns (l, kappa)
    above = np.hstack([-signed, np.zeros((rows, 1))])
    below = np.hstack([signed, -np.ones((rows, 1))])
    goal = np.append(np.zeros(jac.shape[0]), 1.0)
    limits = np.append(-np.ones(rows), np.zeros(rows))
    bounds = [(None, None)] * jac.shape[0] + [(1.0, None)]
    found = linprog(goal, np.vstack([above, below]), limits, bounds=bounds, method="highs")
    return float(found.fun) if found.status == 0 else float("inf")


def cached_weights(
    path: str | os.PathLike[str] | None, clip: Clip, kind: str, similar: Sequence[Clip], progress: Progress | None
) -> Floats:
    """Return weights (F, n) from a file where it belongs to this motion, else fit them and store them in it."""
    settings = " ".join([kind, *(other.digest for other in similar)])
    if path is not None and Path(path).exists():
        found = load_weights(path, clip, settings)
        if found is not None:
            return found
    logs = fit_weights(clip, kind, similar=similar, progress=progress)
    if path is not None:
        save_weights(path, clip, logs, settings)
    return logs


def save_weights(path: str | os.PathLike[str], clip: Clip, logs: Floats, settings: str) -> None:
    """Store weights in a file, with the hash of the motion they belong to."""
    free = np.ascontiguousarray(logs[:, clip.parts.free], dtype=np.float32)
    key = np.array(f"{clip.digest} {settings}")
    write_archive(path, {"format": np.array("posable weights 1"), "key": key, "logs": free})


def load_weights(path: str | os.PathLike[str], clip: Clip, settings: str) -> Floats | None:
    """Return weights from a file, or None where it belongs to another motion or other settings; raises if broken."""
    found = read_archive(path, {"format": ("U", 0), "key": ("U", 0), "logs": ("<f4", 2)}, MAX_FILE)
    if set(found) != {"format", "key", "logs"} or str(found["format"]) != "posable weights 1":
        raise FormatError(path, "is not a file of weights written by this package")
    if str(found["key"]) != f"{clip.digest} {settings}":
        return None
    if found["logs"].shape != (len(clip), int(clip.parts.free.sum())) or np.abs(found["logs"]).max(initial=0.0) > 50.0:
        raise FormatError(path, "its weights do not fit the motion they name", "member 'logs'")
    logs = np.full((len(clip), len(clip.parts.dofs)), LOCKED_LOG)
    logs[:, clip.parts.free] = found["logs"]
    return logs


def _windows(clip: Clip, centres: Ints, kind: str) -> Ints:
    """Return the frames (W, S) of each window, -1 for none."""
    if kind == "frame":
        return centres[:, None]
    apart = max(1, round(SAMPLES_APART * clip.fps))
    reach = max(1, round(HALF_WINDOW * clip.fps / apart))
    frames = centres[:, None] + apart * np.arange(-reach, reach + 1)
    return np.where((frames >= 0) & (frames < len(clip)), frames, -1)


def _clip_fit(clip: Clip, reg: float, similar: Sequence[Clip]) -> Floats:
    """Return one weighting (1, m) for the whole clip, from frames all over it and over similar ones."""
    count = min(len(clip), CLIP_SAMPLES)
    frames = np.unique(np.linspace(0, len(clip) - 1, count).astype(np.int64))
    near = [(other, np.unique(_nearest(clip, other, frames))) for other in similar]
    pool = _pool(clip, frames, near)
    # The sum of so many residuals would drown the regularisation of a window's seven.
    scaled = reg * np.sqrt(len(pool[1]) / 7.0)
    return _run(pool, np.arange(len(pool[1]))[None], np.zeros(len(clip.parts.fitted)), scaled, 0.0)


def _fit_windows(
    clip: Clip,
    centres: Ints,
    samples: Ints,
    start: Floats,
    reg: float,
    prior: float,
    similar: Sequence[Clip],
    progress: Progress | None,
) -> Floats:
    """(W, m): the weights of every window, block by block."""
    near = [_nearest(clip, other, centres) for other in similar]
    found = []
    for first in range(0, len(centres), IN_A_ROW * BLOCK):
        block = slice(first, first + IN_A_ROW * BLOCK)
        frames = np.unique(samples[block][samples[block] >= 0])
        rows = np.where(samples[block] >= 0, np.searchsorted(frames, np.maximum(samples[block], 0)), -1)
        used, begin = [], len(frames)
        for other, closest in zip(similar, near, strict=True):
            theirs = np.unique(closest[block])
            rows = np.hstack([rows, begin + np.searchsorted(theirs, closest[block])[:, None]])
            used.append((other, theirs))
            begin += len(theirs)
        found.append(_run(_pool(clip, frames, used), rows, start[0], reg, prior))
        if progress is not None:
            progress(min(1.0, (first + IN_A_ROW * BLOCK) / len(centres)))
    return np.concatenate(found)


def _pool(clip: Clip, frames: Ints, others: Sequence[tuple[Clip, Ints]]) -> tuple[Floats, Floats]:
    """Return Jacobians (P, R, m) and rates (P, m) of frames of this clip and of others, for this clip's moving DoF."""
    from .clip import stacked_jacobians

    columns = clip.parts.fitted
    jacobians, rates = [clip.jacobians(frames)], [clip.rates[frames][:, columns]]
    for other, theirs in others:
        dofs = other.parts.dofs[columns]
        jacobians.append(stacked_jacobians(other.body, other.smooth[theirs], other.parts.joints, dofs))
        rates.append(other.rates[theirs][:, columns])
    return np.concatenate(jacobians), np.concatenate(rates)


def _run(pool: tuple[Floats, Floats], samples: Ints, start: Floats, reg: float, prior: float) -> Floats:
    """Fit windows whose samples are rows of the pool; return their logarithms (W, m)."""
    from .fit_kernels import STRENGTH, Fit, fit_rows, fit_scratch

    jacobians, rates = (np.ascontiguousarray(array) for array in pool)
    windows, (_, rows, n) = len(samples), jacobians.shape
    starts = np.arange(0, windows, IN_A_ROW)
    spans = np.stack([starts, np.minimum(starts + IN_A_ROW, windows)], axis=1)
    x, count = np.empty((windows, n)), len(spans)
    strength = np.array([(reg, prior)], STRENGTH)
    fit = Fit(jacobians, rates, np.ascontiguousarray(samples, dtype=np.int64), strength)
    fit_rows(count, spans, fit, np.ascontiguousarray(start.reshape(-1)), x, fit_scratch(count, rows, n, count))
    return x


def _nearest(clip: Clip, other: Clip, frames: Ints) -> Ints:
    """Return the frames (K,) of another clip whose pose and motion are nearest to each of this clip's frames."""
    from scipy.spatial import cKDTree

    return np.asarray(cKDTree(_features(other)).query(_features(clip)[frames])[1], dtype=np.int64)


def _features(clip: Clip) -> Floats:
    """Return features (F, K): positions of the parts relative to the hips [m], and 0.1 s times their velocities."""
    from ..math import conjugate, rotate

    frames = clip.body.skeleton.forward(clip.smooth)
    hips = clip.body.roles["hips"]
    back = conjugate(frames.orientations[:, hips])[:, None]
    at = rotate(back, frames.positions[:, clip.parts.joints] - frames.positions[:, hips, None])
    speed = rotate(back, clip.velocities(clip.parts.joints.tolist())[..., :3])
    return np.concatenate([at.reshape(len(clip), -1), 0.1 * speed.reshape(len(clip), -1)], axis=1)


def _pieces(clip: Clip, weights: Floats) -> list[tuple[Ints, Floats]]:
    at = np.arange(len(clip))
    return [(at[k : k + 256], weights[k : k + 256]) for k in range(0, len(clip), 256)]
