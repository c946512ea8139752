"""The few array and tuple types that signatures speak of."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]
Records: TypeAlias = NDArray[Any]  # a structured array: one row a joint, a limit, a volume

Vec3: TypeAlias = tuple[float, float, float]  # (x, y, z)
Quat: TypeAlias = tuple[float, float, float, float]  # (w, x, y, z), unit

__all__ = ["ArrayLike", "Bools", "Floats", "Ints", "Quat", "Records", "Vec3"]
