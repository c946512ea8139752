"""The behaviours that come with Posable, made by formula: normal, tired, energetic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..compute import UnknownNameError
from ..math import exp
from .behaviour import Behaviour, Weight
from .posture import Posture, drivable_parts

if TYPE_CHECKING:
    from ..body import Humanoid

EXAMPLES = {"normal": 1.0, "tired": 1.6, "energetic": 0.8}


def example(name: str, limb: str = "right_arm", body: Humanoid | None = None) -> Behaviour:
    """One of the example behaviours, for either arm; with a body, only the parts it has."""
    if name not in EXAMPLES:
        raise UnknownNameError("behaviour", name, EXAMPLES)
    wanted = ("hips", "spine", "chest", "upper_chest", "neck", "head")
    parts = [part for part in drivable_parts("right_arm") if part in wanted and (body is None or part in body.roles)]
    made = Behaviour("right_arm", parts, weight=Weight("smooth"), name=name)
    lean = EXAMPLES[name]
    for key in made.keys:
        down, ahead = key.at
        turned = Posture.neutral(parts).turned(
            **{part: exp([0.12 * lean * max(down, 0.0), 0.08 * lean * ahead, 0.0]) for part in parts if part != "head"}
        )
        made.set(key.id, turned.shifted((0.0, -0.1 * lean * max(down, 0.0), 0.0)))
    return made if limb == "right_arm" else made.mirrored()
