"""Targets that are far outside the size of the figure: named with the unit that was likely meant.

Positions are in metres. Who types centimetres asks for a hand 130 m away, and would get minutes of motion in which the
body strains towards it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..compute import PosableError
from ..compute.types import ArrayLike, Floats
from ..formats.doubts import UNITS

FAR = 2.0  # heights of the figure from which on a target is doubted aloud
ABSURD = 10.0  # heights of the figure from which on it is refused


def check_target(named: str, target: Sequence[float], part: str, position: ArrayLike, height: float) -> None:
    """Refuse a target [m] that is absurdly far from a part of the body, and note one that is far.

    Args:
        named: how the target is named in the message: "--to -30,120,50".
        target: (3,) [m] in the world.
        part: the part that shall go there.
        position: (3,) [m] of the part before.
        height: of the figure [m].
    """
    with np.errstate(over="ignore"):
        _check_target(named, target, part, position, height)


def _check_target(named: str, target: Sequence[float], part: str, position: ArrayLike, height: float) -> None:
    here, there = np.asarray(position), np.asarray(target, dtype=np.float64)
    away = float(np.linalg.norm(there - here))
    likely = [name for name, unit in UNITS.items() if np.linalg.norm(unit * there - here) < 0.8 * height]
    _judge(f"{named} is {away:.3g} m from the {part.replace('_', ' ')}", there, away, height, likely)


def check_displacement(named: str, displacement: Sequence[float], height: float) -> None:
    """Refuse a displacement [m] that is absurdly long for a body of a height [m], and note one that is long."""
    long = float(np.linalg.norm(displacement))
    likely = [name for name, unit in UNITS.items() if 0.003 * height < unit * long < 0.6 * height]
    _judge(f"{named} is {long:.3g} m long", np.asarray(displacement), long, height, likely)


def _judge(said: str, values: Floats, distance: float, height: float, likely: list[str]) -> None:
    if distance <= FAR * height:
        return
    # What makes sense in centimetres often does in millimetres too, close to the floor; people type centimetres.
    units = [name for name in likely if name != "millimetres" or "centimetres" not in likely][:2]
    meant = [f"if these are {name}, write {_written(UNITS[name] * values)}" for name in units]
    text = "; ".join([f"{said} and the figure {height:.3g} m tall", "positions are in metres", *meant])
    if not distance <= ABSURD * height:
        raise PosableError(text)
    from .output import note  # not before: a worker of a folder's job has no terminal

    note(text)


def _written(position: ArrayLike) -> str:
    return ",".join(f"{value:.4g}" for value in np.asarray(position).tolist())
