"""The iterative methods themselves: settings around the loop of `IterativeIK`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..compute import PosableError
from ..skeleton import Pose
from . import model
from .solver import IterativeIK


class CCD(IterativeIK):
    """Cyclic coordinate descent: each effector's chain by itself, joints rotated one at a time from the end."""

    method = model.CCD


class FABRIK(IterativeIK):
    """Forward and backward reaching (Aristidou and Lasenby 2011) on a tree of real joints; slides keep still."""

    method = model.FABRIK


class JacobianTranspose(IterativeIK):
    """Steps along J^T e (Balestrino et al. 1984; Wolovich and Elliott 1984), at most 30 degrees a step."""

    method = model.TRANSPOSE

    def __init__(self, *args: Any, max_step: float = math.radians(30.0), **options: Any) -> None:
        super().__init__(*args, **options)
        self._set(max_step=_above_zero("max_step", max_step))


class Pseudoinverse(IterativeIK):
    """Steps by the pseudo-inverse (Whitney 1969).

    Args:
        *args: as of `IterativeIK`.
        threshold: singular values below this part of the largest count as zero. Default and `max_step` are those of
            the program by Buss that Unzueta et al. used.
        max_step: [rad] the largest step of a DoF.
        **options: as of `IterativeIK`.
    """

    method = model.PSEUDOINVERSE

    def __init__(
        self, *args: Any, threshold: float = 0.01, max_step: float = math.radians(5.0), **options: Any
    ) -> None:
        super().__init__(*args, **options)
        self._set(threshold=_zero_or_more("threshold", threshold), max_step=_above_zero("max_step", max_step))


class DLS(IterativeIK):
    """Damped least squares (Wampler 1986; Nakamura and Hanafusa 1986).

    Args:
        *args: as of `IterativeIK`.
        damping: [m] a constant damping; None: the least that keeps steps below `longest` (Maciejewski 1990).
        longest: with Maciejewski's damping: [rad] the longest step of all DoF together.
        max_step: [rad] the largest step of a DoF.
        **options: as of `IterativeIK`.
    """

    method = model.DLS

    def __init__(
        self,
        *args: Any,
        damping: float | None = None,
        longest: float = 0.5,
        max_step: float = math.radians(45.0),
        **options: Any,
    ) -> None:
        super().__init__(*args, **options)
        value = _above_zero("longest", longest) if damping is None else _zero_or_more("damping", damping)
        self._set(damping=value, adaptive=damping is None, max_step=_above_zero("max_step", max_step))


class DLSSVD(DLS):
    """The same through the singular values (Maciejewski and Klein 1988), which gives the smallest one exactly."""

    method = model.DLS_SVD


class SDLS(IterativeIK):
    """Selectively damped least squares (Buss and Kim 2005): each singular direction is damped by itself."""

    method = model.SDLS

    def __init__(self, *args: Any, max_step: float = math.radians(45.0), **options: Any) -> None:
        super().__init__(*args, **options)
        self._set(max_step=_above_zero("max_step", max_step))


class PIK(IterativeIK):
    """Prioritised IK (Baerlocher and Boulic 2004): effectors' levels are met in order, as many as there are.

    Args:
        *args: as of `IterativeIK`.
        relaxed: the pose that the optimisation term draws towards in what all levels leave free; the start when None.
        attraction: the fraction of the difference that it draws in one iteration, 0 to 1.
        longest: [rad] the longest step of a level, which sets Maciejewski's damping.
        max_step: [rad] the largest step of a DoF.
        **options: as of `IterativeIK`.
    """

    method = model.PIK

    def __init__(
        self,
        *args: Any,
        relaxed: Pose | None = None,
        attraction: float = 0.0,
        longest: float = 0.5,
        max_step: float = math.radians(45.0),
        **options: Any,
    ) -> None:
        super().__init__(*args, **options)
        if not 0.0 <= attraction <= 1.0:
            raise PosableError(f"attraction is {attraction}; expected 0 to 1")
        self._set(attraction=attraction, damping=_above_zero("longest", longest))
        self._set(max_step=_above_zero("max_step", max_step))
        if relaxed is not None:
            self._problem = self._problem._replace(relaxed=np.ascontiguousarray(relaxed.rotations[None]))


def _above_zero(name: str, value: float) -> float:
    if not (math.isfinite(value) and value > 0.0):
        raise PosableError(f"{name} is {value}; expected above 0")
    return value


def _zero_or_more(name: str, value: float) -> float:
    if not (math.isfinite(value) and value >= 0.0):
        raise PosableError(f"{name} is {value}; expected 0 or more")
    return value
