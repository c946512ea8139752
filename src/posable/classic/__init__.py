"""Classic inverse kinematics of the last sixty years to compare with, on any skeleton and from six points."""

from __future__ import annotations

from ..compute.arguments import explain_mistakes
from .iterative import (
    CCD,
    DLS,
    DLSSVD,
    FABRIK,
    PIK,
    SDLS,
    Effector,
    IKMotionSolution,
    IKSolution,
    IterativeIK,
    JacobianTranspose,
    Pseudoinverse,
    Stop,
)
from .limbs import KMA, TGBSIK, PIKFromSIK, PrioritisedMotionSolution, PrioritisedSolution
from .six_points import (
    SixPointCCD,
    SixPointDLS,
    SixPointDLSSVD,
    SixPointFABRIK,
    SixPointIK,
    SixPointPIK,
    SixPointPseudoinverse,
    SixPointSDLS,
    SixPointTranspose,
)

__all__ = [
    "CCD",
    "DLS",
    "DLSSVD",
    "FABRIK",
    "KMA",
    "METHODS",
    "PIK",
    "SDLS",
    "TGBSIK",
    "Effector",
    "IKMotionSolution",
    "IKSolution",
    "IterativeIK",
    "JacobianTranspose",
    "PIKFromSIK",
    "PrioritisedMotionSolution",
    "PrioritisedSolution",
    "Pseudoinverse",
    "SixPointCCD",
    "SixPointDLS",
    "SixPointDLSSVD",
    "SixPointFABRIK",
    "SixPointIK",
    "SixPointPIK",
    "SixPointPseudoinverse",
    "SixPointSDLS",
    "SixPointTranspose",
    "Stop",
]

METHODS: dict[str, type[SixPointIK] | type[TGBSIK]] = {
    "kma": KMA,
    "ccd": SixPointCCD,
    "jacobian_transpose": SixPointTranspose,
    "pseudoinverse": SixPointPseudoinverse,
    "dls": SixPointDLS,
    "dls_svd": SixPointDLSSVD,
    "sdls": SixPointSDLS,
    "pik": SixPointPIK,
    "tgbsik": TGBSIK,
    "fabrik": SixPointFABRIK,
    "pik_from_sik": PIKFromSIK,
}
"""Six-point methods by name: `METHODS["ccd"](body)` has the `solve` and `track` of `SequentialIK`."""

explain_mistakes(__name__)
