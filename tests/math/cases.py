"""Rotations and vectors to test with, the awkward ones first, and their truth in many digits."""

import mpmath
import numpy as np

mpmath.mp.dps = 60

TINY = [0.0, 5e-324, 1e-310, 1e-300, 1e-200, 1e-160, 1e-100, 1e-20, 1e-16, 1e-12, 1e-9, 1e-8, 1e-6, 1e-5]
TINY += [0.99e-4, 1e-4, 1.01e-4, 1e-3, 1e-2, 0.1]
ANGLES = [*TINY, 1.0, 2.0, *(np.pi - t for t in (1e-3, 1e-5, 1e-8, 1e-12, 4e-16)), np.pi]
AXES = [(1, 0, 0), (0, 1, 0), (0, 0, 1), (0, -1, 0), (0.6, 0, -0.8), (1 / 3, 2 / 3, -2 / 3), (-0.36, 0.48, 0.8)]


def random_rotations(count: int, seed: int = 0) -> np.ndarray:
    q = np.random.default_rng(seed).normal(size=(count, 4))
    return q / np.linalg.norm(q, axis=-1, keepdims=True)


def random_directions(count: int, seed: int = 0) -> np.ndarray:
    v = np.random.default_rng(seed).normal(size=(count, 3))
    return v / np.linalg.norm(v, axis=-1, keepdims=True)


def mp(values):
    """The same numbers with 60 digits, as a list."""
    return [mpmath.mpf(float(v)) for v in values]


def mp_unit(values):
    exact = mp(values)
    length = mpmath.sqrt(sum(v * v for v in exact))
    return [v / length for v in exact]


def mp_product(p, q):
    (a, b, c, d), (e, f, g, h) = p, q
    return [
        a * e - b * f - c * g - d * h,
        a * f + b * e + c * h - d * g,
        a * g - b * h + c * e + d * f,
        a * h + b * g - c * f + d * e,
    ]


def mp_rotated(q, v):
    conjugate = [q[0], -q[1], -q[2], -q[3]]
    return mp_product(mp_product(q, [mpmath.mpf(0), *v]), conjugate)[1:]


def mp_exp(v):
    exact = mp(v)
    angle = mpmath.sqrt(sum(x * x for x in exact))
    scale = mpmath.sin(angle / 2) / angle if angle else mpmath.mpf("0.5")
    return [mpmath.cos(angle / 2), *(x * scale for x in exact)]


def mp_log(q):
    w, *v = mp(q)
    if w < 0:
        w, v = -w, [-x for x in v]
    sine = mpmath.sqrt(sum(x * x for x in v))
    scale = 2 * mpmath.atan2(sine, w) / sine if sine else mpmath.mpf(0)
    return [x * scale for x in v]


def error(found, exact) -> float:
    """The largest difference from the exact values."""
    return max(float(abs(mpmath.mpf(float(a)) - b)) for a, b in zip(found, exact, strict=True))


def relative_error(found, exact) -> float:
    """The length of the difference over the exact length; 0 if both are 0. Denormals count their own last bit."""
    length = mpmath.sqrt(sum(b * b for b in exact))
    apart = mpmath.sqrt(sum((mpmath.mpf(float(a)) - b) ** 2 for a, b in zip(found, exact, strict=True)))
    if length == 0:
        return float(apart)
    return float(max(apart - mpmath.mpf(2e-323), 0) / length)
