"""The built-in figure: a person with H-Anim's structure, human proportions and eleven measures to change.

Names are those of H-Anim (ISO/IEC 19774, first edition), a subset of its joints in its hierarchy: pelvis, three joints
of the back (vl5, vt10, vt5), neck (vc7) and head (skullbase), clavicles, limbs, toes, and mitten fingers with a thumb,
or, where they are requested, five fingers of three joints each.
The rest pose is H-Anim's neutral one: standing, arms hanging, palms in, facing +Z, the soles on y = 0.

The eleven measures are those of Unzueta et al. 2008, section 9 (`specs/reconstruct.md`, section 2). Their defaults are
fractions of the stature: segment lengths and heights of Drillis and Contini as printed by Winter 2009, Fig. 4.1 (ankle
.039, knee .285, hip .530, shoulder .818, upper arm .186, forearm .146, hand .108, foot .152); heights of the back's
joints, of the base of the skull and the distance between the hips after the default figure of H-Anim. Winter's
shoulder breadth (.259) is measured outside; the joints of the shoulders lie .21 apart. The bones of fingers, with the
flesh of their tips, are those of Buryanov and Kotiuk 2010, "Proportions of hand segments", of a hand of 189 mm.
"""

from __future__ import annotations

import math

import numpy as np

from ..compute import PosableError, UnknownNameError, number
from ..compute.types import Floats
from ..skeleton import Skeleton
from .humanoid import Humanoid
from .roles import FINGER_CHAINS

MEASURES: dict[str, float] = {
    "foot": 0.152,
    "calf": 0.246,
    "thigh": 0.245,
    "pelvis": 0.050,
    "pelvis_width": 0.105,
    "torso": 0.2845,
    "torso_width": 0.210,
    "neck": 0.062,
    "upper_arm": 0.186,
    "forearm": 0.146,
    "hand": 0.108,
}
"""The eleven measures, as fractions of the stature: lengths between joints, widths between left and right joints.

`pelvis` goes from the line of the hips up to the root, `torso` from there to the base of the neck (vc7), `neck` to
the base of the skull; `hand` from the wrist to the fingertips, `foot` from heel to toe tip.
"""

_ANKLE_HEIGHT, _HEAD = 0.039, 0.0735  # fractions of the stature that no measure names: they take up what is left
_TALLEST = 10.0  # [m]: a larger number is one of centimetres
_UPRIGHT = ("calf", "thigh", "pelvis", "torso", "neck")

_ROLES = {
    "hips": "HumanoidRoot",
    "spine": "vl5",
    "chest": "vt10",
    "upper_chest": "vt5",
    "neck": "vc7",
    "head": "skullbase",
}
_SIDE_ROLES = {
    "shoulder": "sternoclavicular",
    "upper_arm": "shoulder",
    "lower_arm": "elbow",
    "hand": "wrist",
    "upper_leg": "hip",
    "lower_leg": "knee",
    "foot": "ankle",
    "toes": "metatarsal",
}


_FINGERS: dict[str, tuple[float, float, tuple[float, float, float]]] = {
    "index": (0.505, 0.105, (0.2105, 0.1184, 0.1040)),
    "middle": (0.5116, 0.0, (0.2361, 0.1393, 0.1130)),
    "ring": (0.475, -0.105, (0.2189, 0.1357, 0.1124)),
    "pinky": (0.425, -0.205, (0.1732, 0.0958, 0.1042)),
}
"""In lengths of the hand: how far the knuckle lies below the wrist and before the middle one, and the bones."""
_THUMB = ((0.04, 0.16, 0.115), (0.2446, 0.1670, 0.1447))
"""The same of the thumb: where its first joint lies, towards the palm, below and before the wrist; its bones."""
_FINGER_NAMES = {"thumb": "thumb", "index": "index", "middle": "middle", "ring": "ring", "little": "pinky"}


def figure(height: float = 1.75, *, fingers: bool = False, **measures: float) -> Humanoid:
    """The built-in figure.

    Args:
        height: stature, sole to top of the head [m]; default 1.75.
        fingers: whether its hands have five fingers; default False, which is mittens.
        **measures: any of the eleven `MEASURES` [m]. Those not given keep human proportions: lengths across and along
            the arms follow the stature, and the upright ones share what the given ones leave of it, so that the
            figure has the requested height.

    Returns:
        A Humanoid whose rest pose is the neutral pose; canonical rotations are its local rotations.
    """
    lengths = body_lengths(height, measures)
    roles = dict(_ROLES)
    for side, letter in (("left", "l"), ("right", "r")):
        roles |= {f"{side}_{role}": f"{letter}_{joint}" for role, joint in _SIDE_ROLES.items()}
        for finger, name in _FINGER_NAMES.items() if fingers else ():
            chain = FINGER_CHAINS[f"{side}_{finger}"]
            roles |= {role: f"{letter}_{name}{k}" for k, role in enumerate(chain, 1)}
    return Humanoid(figure_skeleton(lengths, fingers), roles=roles)


def body_lengths(height: float, measures: dict[str, float]) -> dict[str, float]:
    """All lengths of a figure [m]: the eleven measures, `ankle` (height of the joint) and `head` (above its joint)."""
    if not 0.0 < number(height) <= _TALLEST:
        raise PosableError(f"height is {height}; expected metres above 0 and up to {_TALLEST:g}: 175 cm are 1.75")
    for name, value in measures.items():
        if name not in MEASURES:
            raise UnknownNameError("body measure", name, MEASURES)
        if not 0.0 < number(value) < math.inf:
            raise PosableError(f"{name} is {value}; expected metres above 0")
    fractions = MEASURES | {"ankle": _ANKLE_HEIGHT, "head": _HEAD}
    lengths = {name: fraction * height for name, fraction in fractions.items()} | measures
    free = [name for name in (*_UPRIGHT, "ankle", "head") if name not in measures]
    given = sum(measures.get(name, 0.0) for name in _UPRIGHT)
    stretch = (height - given) / sum(lengths[name] for name in free)
    if not 0.5 <= stretch <= 2.0:
        fitting = given / (sum(fractions[name] for name in _UPRIGHT if name in measures) or 1.0)
        raise PosableError(
            f"measures of {given:.3f} m in all leave {height - given:.3f} m of a height of {height} m for "
            f"{', '.join(free)}; a height of about {fitting:.2f} m would suit them"
        )
    return lengths | {name: lengths[name] * stretch for name in free}


def figure_skeleton(lengths: dict[str, float], fingers: bool = False) -> Skeleton:
    """The skeleton of a figure with these lengths (as `body_lengths` gives them), with mittens or with fingers."""
    plan = _Plan()
    m = lengths
    hips = m["ankle"] + m["calf"] + m["thigh"]
    plan.joint("HumanoidRoot", None, (0.0, hips + m["pelvis"], 0.0), "free")
    # H-Anim hangs the legs on the sacroiliac joint, which in a living body hardly moves.
    plan.joint("sacroiliac", "HumanoidRoot", (0.0, 0.0, 0.0), "fixed")
    for letter, side in (("l", 1.0), ("r", -1.0)):
        _leg(plan, m, letter, side)
    below = "HumanoidRoot"
    for name, low, high in (("vl5", 0.0, 0.084), ("vt10", 0.084, 0.41), ("vt5", 0.41, 0.713), ("vc7", 0.713, 1.0)):
        plan.joint(name, below, (0.0, m["torso"] * (high - low), 0.0))
        below = name
    plan.joint("skullbase", "vc7", (0.0, m["neck"], 0.0))
    plan.end("skull_tip", "skullbase", (0.0, m["head"], 0.0))
    for letter, side in (("l", 1.0), ("r", -1.0)):
        _arm(plan, m, letter, side)
        (_fingers if fingers else _mitten)(plan, m["hand"], letter, side)
    return plan.skeleton()


def _leg(plan: _Plan, m: dict[str, float], letter: str, side: float) -> None:
    ball = 0.45 * m["ankle"]  # height of the joint of the toes
    plan.joint(f"{letter}_hip", "sacroiliac", (side * m["pelvis_width"] / 2, -m["pelvis"], 0.0))
    plan.joint(f"{letter}_knee", f"{letter}_hip", (0.0, -m["thigh"], 0.0), "hinge", (1.0, 0.0, 0.0))
    plan.joint(f"{letter}_ankle", f"{letter}_knee", (0.0, -m["calf"], 0.0))
    plan.joint(
        f"{letter}_metatarsal", f"{letter}_ankle", (0.0, ball - m["ankle"], 0.47 * m["foot"]), "hinge", (1.0, 0.0, 0.0)
    )
    plan.end(f"{letter}_heel", f"{letter}_ankle", (0.0, -m["ankle"], -0.25 * m["foot"]))
    plan.end(f"{letter}_toe_tip", f"{letter}_metatarsal", (0.0, -ball, 0.28 * m["foot"]))


def _arm(plan: _Plan, m: dict[str, float], letter: str, side: float) -> None:
    inner = 0.15 * m["torso_width"] / 2
    # The clavicle starts at .836 of the torso, which puts the shoulders at .818 of the default stature.
    plan.joint(f"{letter}_sternoclavicular", "vt5", (side * inner, m["torso"] * (0.836 - 0.713), 0.0))
    plan.joint(f"{letter}_shoulder", f"{letter}_sternoclavicular", (side * (m["torso_width"] / 2 - inner), 0.0, 0.0))
    plan.joint(
        f"{letter}_elbow",
        f"{letter}_shoulder",
        (0.0, -m["upper_arm"], 0.0),
        "hinge_twist",
        (-1.0, 0.0, 0.0),
        (0.0, -1.0, 0.0),
    )
    plan.joint(f"{letter}_wrist", f"{letter}_elbow", (0.0, -m["forearm"], 0.0))


def _mitten(plan: _Plan, hand: float, letter: str, side: float) -> None:
    curl = (0.0, 0.0, -side)  # positive angles close the hand: palms face the body
    plan.joint(f"{letter}_index1", f"{letter}_wrist", (0.0, -0.50 * hand, 0.0), "hinge", curl)
    plan.joint(f"{letter}_index2", f"{letter}_index1", (0.0, -0.25 * hand, 0.0), "hinge", curl)
    plan.end(f"{letter}_fingertips", f"{letter}_index2", (0.0, -0.25 * hand, 0.0))
    plan.joint(f"{letter}_thumb1", f"{letter}_wrist", (0.0, -0.16 * hand, 0.15 * hand))
    plan.end(f"{letter}_thumb_tip", f"{letter}_thumb1", (0.0, -0.30 * hand, 0.17 * hand))


def _fingers(plan: _Plan, hand: float, letter: str, side: float) -> None:
    """Fingers as in the neutral pose (`body.hand.frames`): straight, the thumb half way between them and forward."""
    (palm, below, before), bones = _THUMB
    slant = math.sqrt(0.5)
    at = (-side * palm * hand, -below * hand, before * hand)
    steps = [(0.0, -slant * bone * hand, slant * bone * hand) for bone in bones]
    _finger(plan, f"{letter}_thumb", f"{letter}_wrist", at, steps, (1.0, 0.0, 0.0))
    for name, (down, ahead, bones) in _FINGERS.items():
        steps = [(0.0, -bone * hand, 0.0) for bone in bones]
        at = (0.0, -down * hand, ahead * hand)
        _finger(plan, f"{letter}_{name}", f"{letter}_wrist", at, steps, (0.0, 0.0, -side))


def _finger(
    plan: _Plan,
    name: str,
    above: str,
    at: tuple[float, float, float],
    steps: list[tuple[float, float, float]],
    curl: tuple[float, float, float],
) -> None:
    """Add a finger: a ball at its root, two hinges that positive angles close, and a tip."""
    plan.joint(f"{name}1", above, at)
    plan.joint(f"{name}2", f"{name}1", steps[0], "hinge", curl)
    plan.joint(f"{name}3", f"{name}2", steps[1], "hinge", curl)
    plan.end(f"{name}_tip", f"{name}3", steps[2])


class _Plan:
    """Joints and end sites by name, in the order in which they are added."""

    def __init__(self) -> None:
        self.joints: list[tuple[str, str | None, tuple[float, float, float], str, Floats]] = []
        self.ends: list[tuple[str, str, tuple[float, float, float]]] = []

    def joint(
        self,
        name: str,
        parent: str | None,
        offset: tuple[float, float, float],
        kind: str = "ball",
        axis: tuple[float, float, float] = (1.0, 0.0, 0.0),
        twist: tuple[float, float, float] = (0.0, 1.0, 0.0),
    ) -> None:
        self.joints.append((name, parent, offset, kind, np.array([axis, twist])))

    def end(self, name: str, parent: str, offset: tuple[float, float, float]) -> None:
        self.ends.append((name, parent, offset))

    def skeleton(self) -> Skeleton:
        names = [name for name, *_ in self.joints]
        return Skeleton(
            names,
            [-1 if parent is None else names.index(parent) for _, parent, *_ in self.joints],
            [offset for _, _, offset, *_ in self.joints],
            kinds=[kind for _, _, _, kind, _ in self.joints],
            axes=[axes for *_, axes in self.joints],
            end_parents=[names.index(parent) for _, parent, _ in self.ends],
            end_offsets=[offset for *_, offset in self.ends],
            end_names=[name for name, *_ in self.ends],
        )
