"""The known names nearest to a name that nobody knows: in meaning first, then in letters.

Names are taken apart at capitals, underscores and digits. `LeftWrist_x` is the left, a wrist and an x; it is near
`left_hand_x`, since a wrist is where a hand begins, and not near `chest_x`, which shares more letters with it. A name
of one side is never answered with one of the other.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice, pairwise

CLOSE = 0.65  # of the letters: the least likeness of two words that counts as a slip of the pen
TIE = 0.08  # names whose likeness differs by less are named together
MOST = 3  # names in an answer
LONGEST = 100  # characters of a name that are compared: two long texts take minutes
MOST_KNOWN = 5000  # names that one is compared with

_MEANINGS = {
    "hips": "hips hip pelvis root waist humanoidroot",
    "upper_leg": "thigh upleg upperleg uleg femur hip",
    "lower_leg": "knee shin calf lowerleg lowleg tibia",
    "foot": "foot feet ankle ankles",
    "toes": "toe toes toebase ball",
    "leg": "leg legs upperleg lowerleg thigh knee shin calf foot ankle",
    "shoulder": "shoulder clavicle collar collarbone clav scapula",
    "upper_arm": "upperarm uparm uarm humerus shoulder shldr",
    "lower_arm": "lowerarm lowarm elbow forearm farm radius",
    "hand": "hand hands wrist wrists palm",
    "arm": "arm arms upperarm lowerarm forearm elbow hand wrist",
    "neck": "neck",
    "head": "head skull face",
    "chest": "chest torso thorax ribcage upperchest upperback",
    "spine": "spine back lowerback torso abdomen belly waist",
}
"""Words for a part of the body. A word may be in several: a shoulder is the clavicle's joint or the upper arm's."""
_WORDS: dict[str, set[str]] = {}
for _part, _words in _MEANINGS.items():
    for _word in _words.split():
        _WORDS.setdefault(_word, set()).add(_part)
_SIDES = {"l": "left", "left": "left", "lft": "left", "r": "right", "right": "right", "rgt": "right"}
_AXES = {"x", "y", "z", "qw", "qx", "qy", "qz"}
_TOKEN = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


@dataclass(frozen=True)
class _Name:
    """A name, taken apart."""

    side: str
    """"left", "right" or ""."""
    parts: frozenset[str]
    """The parts of the body that its words may mean."""
    axis: str
    """A coordinate at its end, or ""."""
    letters: str
    """Its words in one, in small letters, without side and axis."""
    words: frozenset[str]
    """Its words in small letters, without side and axis."""


def nearest_names(name: str, known: Iterable[str]) -> list[str]:
    """Return up to three known names that may be meant, the likeliest first; none where nothing is near."""
    meant = _read(name[:LONGEST])
    compared = [other for other in islice(known, MOST_KNOWN) if len(other) <= LONGEST]
    scored = [(score, other) for other in compared if (score := _likeness(meant, _read(other))) > 0.0]
    scored.sort(key=lambda one: -one[0])  # stable: what is known first stays first
    return [other for score, other in scored if score > scored[0][0] - TIE][:MOST]


def _likeness(meant: _Name, other: _Name) -> float:
    """Return how near two names are, 0 where they are not: above 1 in meaning, below in letters."""
    if meant.side and other.side and meant.side != other.side:
        return 0.0
    letters = difflib.SequenceMatcher(None, meant.letters, other.letters).ratio()
    agreeing = 0.4 * (meant.side == other.side) + 0.2 * (meant.axis == other.axis)
    same = meant.parts & other.parts
    if same:
        return 1.0 + agreeing + len(same) / len(meant.parts | other.parts) + 0.05 * letters
    if meant.parts and other.parts:
        return 0.0  # two parts of the body, and not the same
    if meant.words & other.words:
        letters = max(letters, CLOSE)  # a whole word of it
    return 0.7 * letters + 0.5 * agreeing if letters >= CLOSE else 0.0


def _read(name: str) -> _Name:
    tokens = [token.lower() for token in _TOKEN.findall(name)]
    axis = tokens.pop() if len(tokens) > 1 and tokens[-1] in _AXES else ""
    side = ""
    if len(tokens) > 1:
        side = next((_SIDES[token] for token in tokens if token in _SIDES), "")
        tokens = [token for token in tokens if token not in _SIDES]
    if not side and tokens:  # glued to the word behind it: "lefthand", "rfoot"
        for start, called in sorted(_SIDES.items(), key=lambda one: -len(one[0])):
            rest = tokens[0].removeprefix(start)
            if rest != tokens[0] and (rest in _WORDS or (len(start) > 3 and rest)):
                side, tokens = called, [rest, *tokens[1:]]
                break
    words = [token for token in tokens if not token.isdigit()]
    pairs = [first + second for first, second in pairwise(words)]
    found = [pair for pair in pairs if pair in _WORDS] or [word for word in words if word in _WORDS]
    parts = frozenset(part for word in found for part in _WORDS[word])
    letters = "".join(tokens) if words else name.lower()  # the name of a clip: 09_01
    return _Name(side, parts, axis, letters, frozenset(words or tokens))
