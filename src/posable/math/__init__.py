"""Vectors and rotations: tuple kernels in the modules, array faces over them here.

Inside a kernel, use the tuple functions of `math.vector` and `math.quaternion`.
Everywhere else, use the functions of this page: they take arrays with any leading axes.
"""

from .arrays import (
    angle,
    axis_angle,
    between,
    conjugate,
    exp,
    from_euler,
    from_matrix,
    log,
    multiply,
    normalize,
    rotate,
    slerp,
    swing_twist,
    to_matrix,
    twist_swing,
)

__all__ = [
    "angle",
    "axis_angle",
    "between",
    "conjugate",
    "exp",
    "from_euler",
    "from_matrix",
    "log",
    "multiply",
    "normalize",
    "rotate",
    "slerp",
    "swing_twist",
    "to_matrix",
    "twist_swing",
]
