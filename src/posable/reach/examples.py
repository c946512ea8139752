"""The behaviours that come with Posable: normal, tired, energetic.

Each is a table of postures that a person can read and change: a point of the swing plane of the right arm, and how far
the hips shift, pelvis, trunk and head rotate, and the free arm moves when the hand reaches as far as it can in that
direction. The knees follow from the hips, since the feet are fixed. The left arm's behaviours are mirror images.

Decided with numbers:

- The weight is what the arm needs (`need`), not the paper's function of the distance: a crouch to the floor is worth
  more than an arm, and for a cup on a table it would put the face into the hands. People begin to lean before the arm
  is straight, at about 0.85 of its reach (Mark et al. 1997); the tired later, the energetic sooner.
- Hips always sink a little, so that straight legs can follow any rotation of the pelvis.
- The free arm stays clear of the thigh, so that the body stands at any weight and the weight need not be lowered.
- Keys stand at the four ends of the ellipse: no thin triangle with two outer keys then reaches into it, and the driven
  joints rotate by less than 10 mrad for each millimetre of the target, by 1 in most directions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..body.canonical import other_side
from ..compute import UnknownNameError
from ..compute.types import Floats
from ..math import exp, log, multiply
from ..samples.curves import yaw_pitch_roll
from .behaviour import ARMS, Behaviour
from .posture import Posture, Weight

if TYPE_CHECKING:
    from ..body import Humanoid

Three = tuple[float, float, float]


@dataclass(frozen=True)
class Stance:
    """A key of the right arm's table. Rotations in degrees: bow forward, twist to the left, lean to the right."""

    at: tuple[float, float]
    """Swing [degrees]: (90, 0) is down, (-90, 0) up, (0, 0) to the right, (0, 90) ahead, beyond that across."""
    hips: Three
    """Displacement of the hips: to the left, up, ahead [hundredths of a leg length]."""
    pelvis: Three
    trunk: Three
    """Of the whole trunk, from pelvis to shoulders."""
    head: Three
    """Against the trunk."""
    free: Three
    """The left arm against the trunk: upper arm ahead and out, elbow bent."""
    shoulder: tuple[float, float] = (0.0, 0.0)
    """The clavicle of the reaching arm: ahead, up."""


NORMAL = {
    "up": Stance((-90, 35), (0, -2, 1), (0, 3, -2), (-3, 5, -12), (-16, -3, 4), (0, 20, 10), (4, 12)),
    "up ahead": Stance((-55, 62), (1, -2, -2), (8, 8, -2), (6, 24, -5), (-16, -8, 2), (2, 16, 14), (10, 10)),
    "up aside": Stance((-48, -5), (-5, -3, 0), (0, -3, 3), (0, -5, 10), (-8, -14, 0), (2, 12, 12), (-2, 10)),
    "up across": Stance((-45, 98), (-2, -3, 0), (4, 14, -2), (6, 38, -6), (-12, 14, 2), (-4, 16, 18), (12, 8)),
    "ahead": Stance((0, 85), (1, -6, -10), (26, 10, 0), (24, 28, 0), (-28, -16, 0), (-4, 14, 20), (14, 2)),
    "across": Stance((5, 115), (-2, -5, -3), (10, 18, -2), (14, 42, -4), (-6, 20, 0), (-8, 14, 22), (14, 2)),
    "aside": Stance((0, 5), (-6, -4, 0), (2, -2, 6), (2, -4, 26), (2, -26, -6), (2, 16, 14), (0, 6)),
    "behind": Stance((5, -45), (-5, -4, -3), (0, -14, 4), (-2, -32, 14), (0, -30, -4), (6, 12, 14), (-8, 2)),
    "low ahead": Stance((45, 75), (1, -22, -16), (34, 8, 2), (40, 22, 2), (-30, -10, 0), (10, 16, 20), (10, 0)),
    "down ahead": Stance((84, 32), (1, -46, -18), (46, 6, 4), (68, 10, 4), (-30, -4, 0), (36, 22, 24), (6, 0)),
    "down inward": Stance((100, 35), (0, -40, -16), (40, 10, 0), (58, 18, 0), (-24, 2, 0), (26, 22, 24), (8, 0)),
    "down": Stance((84, -6), (3, -14, -6), (14, -2, 4), (18, -4, 16), (6, -10, 0), (8, 14, 14)),
    "down aside": Stance((52, -2), (-2, -16, -4), (8, -6, 8), (10, -6, 26), (8, -22, -4), (4, 16, 14)),
    "down across": Stance((62, 86), (-1, -34, -14), (34, 16, -2), (48, 30, -4), (-16, 8, 0), (8, 20, 24), (10, 0)),
    "down behind": Stance((62, -22), (-2, -14, -2), (2, -12, 6), (4, -28, 20), (8, -26, -2), (6, 12, 14), (-4, 0)),
}
TIRED = {
    "up": Stance((-90, 35), (0, -2, 0), (2, 1, -1), (6, 2, -8), (4, 0, 2), (2, 16, 6), (2, 5)),
    "up ahead": Stance((-55, 62), (0, -2, -2), (10, 4, 0), (18, 14, -2), (4, -4, 0), (8, 13, 10), (8, 2)),
    "up aside": Stance((-48, -5), (-4, -2, -1), (3, -1, 3), (8, -2, 6), (8, -4, 2), (6, 9, 8), (2, 2)),
    "up across": Stance((-45, 98), (-2, -2, -1), (6, 10, 0), (18, 28, -2), (8, 6, 0), (10, 13, 10), (10, 2)),
    "ahead": Stance((0, 85), (0, -4, -12), (32, 4, 0), (38, 14, 0), (14, -6, 0), (54, 14, 10), (14, -4)),
    "across": Stance((5, 115), (-2, -4, -5), (16, 12, 0), (30, 32, 0), (14, 8, 2), (36, 13, 12), (14, -2)),
    "aside": Stance((0, 5), (-5, -4, -2), (6, -1, 5), (12, -2, 24), (18, -6, 6), (10, 10, 10), (4, -2)),
    "behind": Stance((5, -45), (-4, -4, -3), (4, -10, 3), (10, -22, 10), (16, -10, 2), (10, 10, 10), (-2, -2)),
    "low ahead": Stance((45, 75), (0, -9, -18), (44, 4, 1), (66, 12, 1), (20, -4, 0), (82, 16, 10), (12, -4)),
    "down ahead": Stance((84, 32), (0, -22, -22), (52, 4, 2), (84, 4, 2), (22, -2, 0), (86, 26, 10), (8, -4)),
    "down inward": Stance((100, 35), (0, -18, -20), (48, 8, 0), (78, 12, 0), (20, 0, 0), (80, 25, 10), (10, -4)),
    "down": Stance((84, -6), (3, -8, -8), (24, -2, 4), (42, -4, 14), (22, -4, 4), (50, 18, 8), (4, -4)),
    "down aside": Stance((52, -2), (-3, -8, -4), (12, -3, 7), (24, -4, 26), (22, -8, 4), (30, 12, 10), (4, -4)),
    "down across": Stance((62, 86), (-1, -16, -18), (42, 10, 0), (72, 18, 0), (20, 4, 0), (80, 18, 12), (12, -4)),
    "down behind": Stance((62, -22), (-2, -8, -3), (8, -10, 4), (20, -24, 16), (18, -10, 2), (22, 12, 10), (0, -4)),
}
ENERGETIC = {
    "up": Stance((-90, 35), (0, -2, 2), (-2, 3, -2), (-8, 6, -14), (-18, 0, 4), (-6, 28, 10), (4, 16)),
    "up ahead": Stance((-55, 62), (1, -3, 0), (10, 10, -2), (2, 28, -6), (-18, -10, 3), (-16, 26, 16), (12, 12)),
    "up aside": Stance((-48, -5), (-8, -4, 0), (-2, -3, 4), (-4, -6, 10), (-8, -16, 0), (0, 24, 12), (-4, 12)),
    "up across": Stance((-45, 98), (-4, -6, 1), (4, 20, -2), (0, 44, -8), (-14, 12, 2), (-18, 26, 20), (14, 10)),
    "ahead": Stance((0, 85), (2, -14, -10), (34, 16, 0), (12, 34, 0), (-26, -28, 0), (-26, 34, 26), (16, 4)),
    "across": Stance((5, 115), (-5, -12, -2), (12, 26, -2), (6, 50, -4), (-6, 12, 0), (-24, 30, 26), (16, 4)),
    "aside": Stance((0, 5), (-8, -10, 0), (0, -3, 8), (0, -4, 26), (0, -28, -8), (0, 34, 14), (0, 8)),
    "behind": Stance((5, -45), (-6, -10, -3), (-2, -20, 5), (-6, -38, 14), (-2, -30, -4), (10, 24, 16), (-10, 4)),
    "low ahead": Stance((45, 75), (2, -38, -14), (36, 14, 2), (22, 30, 2), (-32, -18, 0), (-20, 42, 28), (14, 2)),
    "down ahead": Stance((84, 32), (2, -58, -16), (40, 10, 4), (46, 16, 4), (-36, -8, 0), (-14, 44, 32), (8, 2)),
    "down inward": Stance((100, 35), (0, -54, -14), (36, 16, 0), (40, 26, 0), (-28, -2, 0), (-16, 46, 32), (10, 2)),
    "down": Stance((84, -6), (4, -20, -6), (14, -2, 5), (8, -4, 18), (2, -12, -2), (-2, 28, 16), (0, 2)),
    "down aside": Stance((52, -2), (-6, -28, -4), (6, -6, 8), (4, -8, 28), (6, -26, -6), (0, 36, 16), (-2, 2)),
    "down across": Stance((62, 86), (-3, -48, -12), (34, 22, -2), (32, 38, -4), (-18, 4, 0), (-20, 42, 30), (12, 2)),
    "down behind": Stance((62, -22), (-5, -24, -2), (0, -16, 6), (0, -34, 20), (6, -30, -4), (6, 28, 16), (-6, 2)),
}

STYLES = {"normal": (0.75, NORMAL), "tired": (0.8, TIRED), "energetic": (0.7, ENERGETIC)}
"""The distance [arm lengths] up to which the arm does it alone, and the table of each behaviour."""
TRUNK = {"spine": 0.36, "chest": 0.34, "upper_chest": 0.30}
NECK = {"neck": 0.45, "head": 0.55}
DRIVEN = ("hips", *TRUNK, *NECK, "left_shoulder", "left_upper_arm", "left_lower_arm", "right_shoulder")
"""The parts of the right arm's behaviours; trunk and neck have the fraction of their rotation that each joint takes."""
CORNERS = ("up aside", "down behind", "down across", "up across")
"""The keys whose postures the four outer keys have: those next to them."""
EXAMPLES = tuple(STYLES)
"""Their names."""


def example(name: str, limb: str = "right_arm", body: Humanoid | None = None) -> Behaviour:
    """Return one of the example behaviours, for either arm; with a body, of the parts it has, which bend as far."""
    if name not in STYLES:
        raise UnknownNameError("behaviour", name, STYLES)
    if limb not in ARMS:
        raise UnknownNameError("arm", limb, ARMS)
    k, stances = STYLES[name]
    parts = DRIVEN if body is None else tuple(part for part in DRIVEN if _sided(part, limb) in body.roles)
    made = Behaviour("right_arm", parts, weight=Weight("needed", k), name=name)
    postures = {key: posture_of(stance, parts) for key, stance in stances.items()}
    for key, stance in stances.items():
        made.add(np.radians(stance.at), postures[key], name=key)
    for corner, key in zip([key for key in made.keys if key.outer], CORNERS, strict=True):
        made.set(corner.id, postures[key])
    return made if limb == "right_arm" else made.mirrored()


def posture_of(stance: Stance, parts: Sequence[str] = DRIVEN) -> Posture:
    """Return the posture of these parts that a row of a table describes."""
    ahead, out, elbow = np.radians(stance.free)
    forward, up = np.radians(stance.shoulder)
    rotations = {
        "hips": _rotation(stance.pelvis),
        **_spread(_rotation(stance.trunk), TRUNK, parts),
        **_spread(_rotation(stance.head), NECK, parts),
        "left_shoulder": exp([0.0, -0.25 * ahead, 0.15 * out]),
        "left_upper_arm": multiply(exp([-ahead, 0.0, 0.0]), exp([0.0, 0.0, out])),
        "left_lower_arm": exp([-elbow, 0.0, 0.0]),
        "right_shoulder": exp([0.0, forward, -up]),
    }
    return Posture(parts, [rotations[part] for part in parts], np.array(stance.hips) / 100.0)


def _rotation(degrees: Three) -> Floats:
    bow, twist, lean = np.radians(degrees)
    return yaw_pitch_roll(twist, bow, lean)


def _spread(rotation: Floats, fractions: dict[str, float], parts: Sequence[str]) -> dict[str, Floats]:
    """Return a rotation spread over those of its joints that are among the parts."""
    present = {part: fraction for part, fraction in fractions.items() if part in parts}
    return {part: exp(fraction / sum(present.values()) * log(rotation)) for part, fraction in present.items()}


def _sided(part: str, limb: str) -> str:
    """Return a part of the right arm's behaviour, or its counterpart in the left one's."""
    return part if limb == "right_arm" else other_side(part)
