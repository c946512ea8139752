"""Questions to a limb range: what they cost, and that the number of samples does not matter to them."""

from __future__ import annotations

import math

import numpy as np

import posable as ps
from posable.limb.range.kernels import contains_rows, correct_rows
from posable.limb.range.sphere import cell_size

from .harness import Contender, Table, compare

SAMPLES = (250, 1000, 4000, 16000)
QUESTIONS = 5000


def run() -> list[Table]:
    rng = np.random.default_rng(0)
    position, swivel = rng.normal(size=(QUESTIONS, 3)) * 0.3, rng.uniform(-3.0, 3.0, QUESTIONS)
    ranges = {samples: _half_sphere(samples) for samples in SAMPLES}
    tables = []
    for title, job in (("Is a pose inside?", _contains), ("The nearest pose inside", _correct)):
        contenders = [
            Contender(f"{samples} samples", job(found, position, swivel), QUESTIONS)
            for samples, found in ranges.items()
        ]
        tables.append(compare(f"{title} Compiled, one core", contenders, unit="ns"))
    arm = ps.LimbRange.builtin("right_arm")
    place = np.array([0.3, -0.2, 0.1])
    single = [
        Contender("contains", lambda: arm.contains(place, 0.5)),
        Contender("correct", lambda: arm.correct(place, 0.5)),
        Contender("correct, smooth", lambda: arm.correct(-place, 0.5, smooth=True)),
    ]
    return [*tables, compare("One call from Python, built-in range of the right arm", single)]


def _half_sphere(samples: int) -> ps.LimbRange:
    rng = np.random.default_rng(1)
    n = rng.normal(size=(60_000, 3))
    n /= np.linalg.norm(n, axis=1, keepdims=True)
    n[:, 2] = np.abs(n[:, 2])
    n *= rng.uniform(0.3, 0.55, (len(n), 1))
    radius = max(math.radians(10.0), 1.51 * cell_size(samples))
    return ps.LimbRange.from_examples(
        "right_arm", n, rng.uniform(0.0, 1.0, len(n)), 0.3, 0.26, samples=samples, radius=radius
    )


def _contains(found: ps.LimbRange, position, swivel):
    out = np.empty(len(position), np.bool_)
    return lambda: contains_rows.serial(len(position), found.packed, position, swivel, True, out)


def _correct(found: ps.LimbRange, position, swivel):
    moved, turned, bits = np.empty_like(position), np.empty_like(swivel), np.empty(len(position), np.int64)
    return lambda: correct_rows.serial(len(position), found.packed, position, swivel, 0.0, False, moved, turned, bits)
