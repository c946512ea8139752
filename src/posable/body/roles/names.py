"""Reading a joint's name: its side, its word, its number, and whether it only serves the animator's controls.

Every rig spells its names its own way (`mixamorig:LeftForeArm`, `lowerarm_l`, `Bip01 L Forearm`, `J_Bip_L_LowerArm`,
`Skeleton_arm_joint_L__3_`), out of few words. `read_name` takes a name apart; `WORDS` has the meanings of a word and
how sure they are. Words are ambiguous ("shoulder" is the clavicle in Mixamo and the upper arm in H-Anim), so a name is
only evidence: `matching.find_roles` weighs it with how the joints hang together.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

LEFT, RIGHT, MIDDLE = "left", "right", ""

_MEANINGS = {
    ("shoulder", 1.0): "clavicle collar collarbone sternoclavicular",
    ("shoulder", 0.8): "shoulder",
    ("shoulder", 0.6): "acromioclavicular scapula thorax",  # SMPL with "L_Thorax"
    ("shoulder", 0.5): "shldr uppershoulder",
    ("upper_arm", 1.0): "upperarm uparm uarm humerus glenohumeral shldrbend",
    ("upper_arm", 0.95): "arm",
    ("upper_arm", 0.8): "bicep shldr",
    ("upper_arm", 0.7): "shoulder",
    ("lower_arm", 1.0): "forearm forearmbend lowerarm lowarm elbow radius humeroulnar",
    ("lower_arm", 0.9): "farm",
    ("lower_arm", 0.6): "larm",
    ("lower_arm", 0.35): "arm",
    ("hand", 1.0): "wrist radiocarpal",
    ("hand", 0.9): "hand",
    ("hand", 0.3): "palm arm",
    ("shoulder", 0.05): "arm",
    ("upper_leg", 1.0): "thigh thighbend upleg upperleg uleg femur",
    ("upper_leg", 0.9): "hip",
    ("lower_leg", 1.0): "shin calf lowerleg lowleg knee tibia tibiofemoral",
    ("lower_leg", 0.8): "leg",
    ("upper_leg", 0.6): "leg",
    ("foot", 1.0): "ankle talocrural",
    ("foot", 0.95): "foot",
    ("foot", 0.3): "leg",
    ("toes", 1.0): "ball toe toes toebase",
    ("toes", 0.9): "metatarsal",
    ("toes", 0.5): "foot",  # SMPL's "foot" comes after its "ankle"
    ("toes", 0.2): "leg",
    ("head", 1.0): "head skull skullbase",
    ("neck", 1.0): "neck lowerneck",
    ("neck", 0.9): "upperneck",
    ("hips", 1.0): "hips pelvis humanoidroot",
    ("hips", 0.3): "root",
    ("trunk", 1.0): "torso spine back lowerback upperback chest upperchest abdomen waist vertebra",
}
"""The words for a part of the body, and how surely they mean it, 1 being the part's own name."""

WORDS: dict[str, dict[str, float]] = {}
"""The parts of the body that a word may mean, and how surely."""
for (_part, _sure), _words in _MEANINGS.items():
    for _word in _words.split():
        WORDS.setdefault(_word, {})[_part] = _sure

_FINGER_WORDS = ("thumb pollex", "index pointer", "middle mid", "ring", "little pinky")
FINGER_RANKS = {word: rank for rank, words in enumerate(_FINGER_WORDS) for word in words.split()}
"""The words for a finger, and its rank from 0 for the thumb to 4 for the little finger."""

_SIDES = {"l": LEFT, "left": LEFT, "lft": LEFT, "r": RIGHT, "right": RIGHT, "rgt": RIGHT}
# Tokens that say nothing about which part it is.
# fmt: off
_FILL = frozenset({
    "joint", "joints", "jnt", "jt", "bone", "bn", "bip", "biped", "valvebiped", "mixamorig", "hanim", "skeleton",
    "skel", "armature", "rig", "def", "deform", "cc", "j", "b", "c", "m", "f", "avg", "center", "centre",
})
# fmt: on
# Tokens of joints that are no part of the body: targets and poles of the animator's controls, twist segments,
# places to hang a weapon on, hair and clothes.
# fmt: off
_HELPERS = frozenset({
    "ik", "fk", "pole", "ctrl", "control", "controller", "target", "twist", "roll", "helper", "slot", "socket",
    "attach", "prop", "weapon", "mch", "org", "tweak", "vis", "nub", "end", "tip", "aim", "driver", "null",
    "locator", "sec", "adj", "hair", "skirt", "cloth", "cape", "breast", "bust", "eye", "jaw", "tongue", "tail",
    "phys", "dummy", "effector",
})
# fmt: on
_TOKEN = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


@dataclass(frozen=True)
class JointName:
    """A joint's name, taken apart."""

    side: str
    """ "left", "right" or "" for the middle of the body."""
    word: str
    """The rest of the name in lower case, without sides, numbers and fillers: "forearm", "upleg", "spine"."""
    numbers: tuple[int, ...]
    """The numbers in it, in order."""
    helper: bool
    """Whether it belongs to the animator's controls, clothes or hair rather than to the body."""
    meanings: dict[str, float]
    """Part of the body ("upper_arm", "head", "trunk"...) to how surely the word means it."""

    finger: int | None = None
    """0 for the thumb to 4 for the little finger, where a word says it."""


def name_words(name: str) -> list[str]:
    """Return the words and numbers of a name in lower case: "left", "hip", "pitch", "joint"."""
    return [token.lower() for token in _TOKEN.findall(name)]


def read_name(name: str) -> JointName:
    """Take a joint's name apart."""
    bare = re.split(r"[:|]", name)[-1] or name  # "mixamorig:LeftArm", "Armature|Hips"
    bare = re.sub(r"(?i)^(valvebiped\.)?bip\d+[ _.]", "", bare)  # its number is the character's, not the joint's
    if re.fullmatch(r"(?i)v?[ltc]\d+", bare):  # vertebrae: H-Anim's vl5, vt12, vc7; L5, T8
        return JointName(MIDDLE, "vertebra", (int(bare.lstrip("vltcVLTC")),), False, WORDS["vertebra"])
    tokens = [token.lower() for token in _TOKEN.findall(bare)]
    sides = [_SIDES[token] for token in tokens if token in _SIDES]
    numbers = tuple(int(token) for token in tokens if token.isdigit())
    words = [token for token in tokens if not token.isdigit() and token not in _SIDES and token not in _FILL]
    side = sides[0] if sides else MIDDLE
    if not sides and words:
        side, words = _glued_side(words)
    helper = any(token in _HELPERS for token in words)
    word, meanings = _meaning(words)
    finger = next((FINGER_RANKS[token] for token in words if token in FINGER_RANKS), None)
    return JointName(side, word, numbers, helper, meanings, finger)


def _glued_side(words: list[str]) -> tuple[str, list[str]]:
    """Sides written without a break: "lfemur", "rightarm", "armleft", and "LUArm" (tokens "lu", "arm")."""
    joined = "".join(words)
    for mark, side in (("left", LEFT), ("right", RIGHT), ("l", LEFT), ("r", RIGHT)):
        start, end = joined.removeprefix(mark), joined.removesuffix(mark)
        if start != joined and (start in WORDS or start.removesuffix("joint") in WORDS or start in FINGER_RANKS):
            return side, [start.removesuffix("joint")]
        if len(mark) > 1 and end != joined and end in WORDS:
            return side, [end]
    return MIDDLE, words


def _meaning(words: list[str]) -> tuple[str, dict[str, float]]:
    """The longest run of words at the end that means something; words before it cost a little certainty."""
    for skipped in range(len(words)):
        word = "".join(words[skipped:])
        if word in WORDS:
            certainty = 0.9 if skipped else 1.0
            return word, {part: certainty * sure for part, sure in WORDS[word].items()}
    return "".join(words), {}
