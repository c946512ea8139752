"""Whose body points become in `posable reconstruct`, and how points of one size fit a body of another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..body import MARKERS, Humanoid, figure
from ..compute import PosableError
from ..compute.types import Floats
from ..formats import load
from .points import Points

if TYPE_CHECKING:
    from ..reconstruct import Calibration

STATURE = 1.75  # of the figure whose proportions fill in what points do not say [m]
TALL = 95.0  # percentile of how far points are apart that counts as the body's own length
LOWER = ("hips", "left_foot", "right_foot", "left_lower_leg", "right_lower_leg")


def body_for(
    points: Points,
    own: Humanoid | None,
    character: Any,
    height: float | None,
    fit: bool,
    calibration: Calibration | None = None,
) -> tuple[Humanoid, tuple[float, float]]:
    """(who is reconstructed, by how much the points above the hips and those of the legs grow to fit them)."""
    if character is not None:
        path = Path(character)
        body = _character(str(path), path.absolute(), path.stat().st_mtime_ns if path.exists() else 0)
    elif height is not None:
        body = figure(height)
    elif own is not None:
        return own, (1.0, 1.0)
    elif calibration is not None:
        return calibration.scaled(figure(STATURE)), (1.0, 1.0)
    else:
        return figure(STATURE * sum(_sizes(points)) / sum(_own_sizes(figure(STATURE)))), (1.0, 1.0)
    if not fit:
        return body, (1.0, 1.0)
    theirs, ours = _sizes(points) if own is None else _own_sizes(own), _own_sizes(body)
    return body, (ours[0] / theirs[0], ours[1] / theirs[1])


def calibration_of(path: Any) -> Calibration | None:
    """A calibration from its file, where there is one."""
    from ..reconstruct import Calibration

    return None if path is None else Calibration.load(path)


def calibrated(points: Points, calibration: Calibration) -> Points:
    """Points of joints from those of trackers; what the calibration does not know stays."""
    lacking = [role for role in calibration.markers if role not in points.names]
    if lacking:
        raise PosableError(f"there is no {', '.join(lacking)}, which the calibration is for")
    turns = {role: turn for role, turn in points.turns.items() if role in calibration.markers}
    moved, turned = calibration.apply(points.of(calibration.markers), turns)
    places = points.places.copy()
    places[:, [points.names.index(role) for role in calibration.markers]] = moved
    return replace(points, places=places, turns=points.turns | turned)


def fitted(points: Points, upper: float, legs: float) -> Points:
    """Points of one body as another has them: hips and legs grow with the legs, the rest above the hips with the trunk.

    So feet on the floor stay there. Without hips everything grows with the legs.
    """
    if (upper, legs) == (1.0, 1.0):
        return points
    grown = legs * points.places
    if "hips" in points.names:
        above = [k for k, name in enumerate(points.names) if name not in LOWER]
        hips = points.of(["hips"])
        grown[:, above] = legs * hips + upper * (points.places[:, above] - hips)
    return replace(points, places=grown)


@lru_cache(maxsize=1)
def _character(path: str, absolute: Path, changed: int) -> Humanoid:
    """A character, read once for all the files of a worker; under the same name in another folder it is another."""
    return Humanoid(load(path).skeleton)


def _own_sizes(body: Humanoid) -> tuple[float, float]:
    """(hips to head, hips to ankles) [m] of a body that stands."""
    hips, head, _, _, left, right = body.markers(body.neutral_pose)
    legs = 0.5 * (np.linalg.norm(left - hips) + np.linalg.norm(right - hips))
    return float(np.linalg.norm(head - hips)), float(legs)


def _sizes(points: Points) -> tuple[float, float]:
    """The same of whom points belong to: as far as they ever are apart, and a person's proportions for the rest."""
    usual = figure(STATURE)
    trunk, legs = _own_sizes(usual)
    shares = []
    seen = _distances(points, [("hips", "head")])
    shares.append(None if seen is None else seen / trunk)
    seen = _distances(points, [("hips", "left_foot"), ("hips", "right_foot")])
    shares.append(None if seen is None else seen / legs)
    known = [share for share in shares if share is not None]
    if not known and "head" in points.names:  # how high the head is over the floor
        standing = usual.markers(usual.neutral_pose)[MARKERS.index("head"), 1]
        known = [_tallest(points.of(["head"])[:, 0, 1]) / float(standing)]
    if not known or not min(known) > 0.0:
        raise PosableError("the points do not say how large the body is; give --height, or --body with --no-fit")
    upper, lower = (known[0] if share is None else share for share in shares)
    return upper * trunk, lower * legs


def _distances(points: Points, pairs: Sequence[tuple[str, str]]) -> float | None:
    """How far the points of pairs are apart, stretched, in the mean of the pairs that are there; None without any."""
    found = []
    for pair in pairs:
        if set(pair) <= set(points.names):
            one, other = np.moveaxis(points.of(pair), 1, 0)
            found.append(_tallest(np.linalg.norm(one - other, axis=-1)))
    seen = [length for length in found if np.isfinite(length)]
    return sum(seen) / len(seen) if seen else None


def _tallest(lengths: Floats) -> float:
    known = lengths[np.isfinite(lengths)]
    return float(np.percentile(known, TALL)) if len(known) else float("nan")
