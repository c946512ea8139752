"""Order of the numbers that the network of a prior reads and says, and their mirrors.

`tools/fit_prior.py` fits it, `prior_kernels` evaluates it.
"""

from __future__ import annotations

from collections.abc import Sequence

POINTS = 13
"""`packed.SLOTS`: hips, head, hands, feet, elbows, knees, chest, shoulders; left before right."""
LAGS = (0.1, 0.2, 0.5)  # [s]: of the points' paths
ORIENTATION_LAG = 1  # which of them the orientations' path has
PROPORTIONS = 18
KNOWN = 0  # first numbers of its parts: whether each point is known
POSITIONS = KNOWN + POINTS  # from the origin, in heights
PATHS = POSITIONS + 3 * POINTS  # where they were at each lag, from where they are now
ORIENTED = PATHS + 3 * POINTS * len(LAGS)  # whether each orientation is known
LEFTS = ORIENTED + POINTS  # X of each part
UPS = LEFTS + 3 * POINTS  # Y
LEFT_PATHS = UPS + 3 * POINTS
UP_PATHS = LEFT_PATHS + 3 * POINTS
UP = UP_PATHS + 3 * POINTS  # the world's
HEIGHTS = UP + 3  # of hips and head above the floor
CHORD = HEIGHTS + 2  # ten times how much longer it is than in the neutral pose
BODY = CHORD + 1  # proportions
FEATURES = BODY + PROPORTIONS
AXES, MIDS, BENDS, ENDS = 0, 6, 18, 36
"""First numbers of what it says, in the frame: the pelvis' X and Y; from the hips to elbows and knees; rotations of the
spine's joints, and of hands and feet against straight limbs."""
TO_HEAD, END_POSITIONS, ERRORS = 48, 51, 63
"""From hips to head; from the hips to hands and feet; logarithms of the mean errors that it expects: of all, of arms
and legs (left before right)."""
ANSWERS = ERRORS + 5
POLAR, AXIAL, EVEN = (-1.0, 1.0, 1.0), (1.0, -1.0, -1.0), (1.0,)
"""Signs of vectors, of rotations and of numbers in a mirror across x = 0."""
SIDES = (0, 1, 3, 2, 5, 4, 7, 6, 9, 8, 10, 12, 11)  # the point that each becomes in it

Group = tuple[Sequence[int], tuple[float, ...]]


def feature_groups() -> list[Group]:
    """Return (order of the mirrored vectors, signs of their components) for the features, in their order."""
    positions: list[Group] = [(SIDES, POLAR)] * (1 + len(LAGS))
    orientations: list[Group] = [(SIDES, AXIAL), (SIDES, POLAR)] * 2
    rest: list[Group] = [((0,), POLAR), (range(BODY - HEIGHTS + PROPORTIONS), EVEN)]
    return [(SIDES, EVEN), *positions, (SIDES, EVEN), *orientations, *rest]


def answer_groups() -> list[Group]:
    """Return the same for what it says."""
    limbs = (1, 0, 3, 2)
    trunk: list[Group] = [((0,), AXIAL), ((0,), POLAR), (limbs, POLAR), (range(6), AXIAL), (limbs, AXIAL)]
    return [*trunk, ((0,), POLAR), (limbs, POLAR), ((0,), EVEN), (limbs, EVEN)]
