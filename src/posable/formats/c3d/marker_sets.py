"""From markers on the skin to joints: the sets of Plug-in Gait and of CMU's 41 markers, which differ in few names.

Hip joints lie where Harrington et al. 2007 (Journal of Biomechanics 40, 595) found them in 32 people, from width and
depth of the pelvis. Knees, ankles and elbows lie inside of the markers on their outer sides, along their axes: an axis
is that of the bend where there is one, and otherwise follows pelvis or foot. Wrists are between their two markers.
Markers that are lost leave their joints lost (NaN); of four on head or pelvis, any three do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...compute.types import Floats

KNEE, ANKLE, ELBOW = 0.052, 0.042, 0.040
"""[m] from a marker on the outer side to the middle of the joint: half a joint and half a marker."""
ACROMION = 0.055  # [m] from the marker on the shoulder down to its joint
BAND = 0.085  # [m] from the middle of the head's markers down to its joint
TILT = np.radians(10.0)  # by which the pelvis' markers are lower in front than behind when people stand upright
ALIASES = {
    "LFWT": "LASI", "RFWT": "RASI", "LBWT": "LPSI", "RBWT": "RPSI", "LSHN": "LTIB", "RSHN": "RTIB", "RBAC": "RBAK",
    "LASIS": "LASI", "RASIS": "RASI", "LPSIS": "LPSI", "RPSIS": "RPSI",
}  # fmt: skip
HEAD, PELVIS = ("LFHD", "RFHD", "LBHD", "RBHD"), ("LASI", "RASI", "LPSI", "RPSI")
SIDE = ("SHO", "ELB", "WRA", "WRB", "KNE", "ANK", "HEE", "TOE")
NEEDED = (*HEAD, "LASI", "RASI", *(f"{side}{name}" for side in "LR" for name in SIDE))
"""Markers that a body is fitted to; at the back of the pelvis two, or SACR between them."""


@dataclass(frozen=True, eq=False)
class Joints:
    """Joints and orientations of parts, y up; NaN where their markers were not seen."""

    positions: dict[str, Floats]
    """Role to (F, 3) [m]; hip joints and shoulders are "left_upper_leg", "left_upper_arm" and so on."""
    axes: dict[str, Floats]
    """Role to (F, 3, 3): columns are the part's canonical x (left), y (up) and z (ahead) in the world."""


def standard_name(label: str) -> str:
    """Return the name of a marker without its subject ("Walker:LFHD"), as Plug-in Gait has it."""
    bare = label.replace("|", ":").split(":")[-1].strip().upper()
    return ALIASES.get(bare, bare)


def lacking(names: set[str]) -> list[str]:
    """Return the markers that a body needs and a file has not."""
    back = [] if "SACR" in names or {"LPSI", "RPSI"} <= names else ["LPSI", "RPSI"]
    return [name for name in NEEDED if name not in names] + back


@np.errstate(all="ignore")
def joints_of(markers: dict[str, Floats]) -> Joints:
    """Return joints from markers (F, 3) [m] by name, y up."""
    m = dict(markers)
    if "LPSI" not in m or "RPSI" not in m:
        m["LPSI"] = m["RPSI"] = m["SACR"]
    else:
        _complete(m, PELVIS)
    _complete(m, HEAD)
    where: dict[str, Floats] = {}
    axes: dict[str, Floats] = {}
    front, back = 0.5 * (m["LASI"] + m["RASI"]), 0.5 * (m["LPSI"] + m["RPSI"])
    left = _unit(m["LASI"] - m["RASI"])
    ahead = _unit(_across(front - back, left))
    up = np.cross(ahead, left)
    width, depth = _length(m["LASI"] - m["RASI"])[:, None], _length(front - back)[:, None]
    for side, sign in (("left", 1.0), ("right", -1.0)):
        hip = front - (0.24 * depth + 0.0099) * ahead - (0.30 * width + 0.0109) * up
        where[f"{side}_upper_leg"] = hip + sign * (0.33 * width + 0.0073) * left
    upright = np.cos(TILT) * up - np.sin(TILT) * ahead
    axes["hips"] = np.stack([left, upright, np.cross(left, upright)], axis=-1)
    where["hips"] = 0.5 * (where["left_upper_leg"] + where["right_upper_leg"])
    _add_head(m, where, axes)
    for side, mark, sign in (("left", "L", 1.0), ("right", "R", -1.0)):
        _add_leg(m, where, axes, side, mark, sign * left)
        _add_arm(m, where, axes, side, mark, sign)
    return Joints(where, axes)


def _add_head(m: dict[str, Floats], where: dict[str, Floats], axes: dict[str, Floats]) -> None:
    left = _unit(m["LFHD"] + m["LBHD"] - m["RFHD"] - m["RBHD"])
    ahead = _unit(_across(m["LFHD"] + m["RFHD"] - m["LBHD"] - m["RBHD"], left))
    up = np.cross(ahead, left)
    axes["head"] = np.stack([left, up, ahead], axis=-1)
    where["head"] = 0.25 * sum(m[name] for name in HEAD) - BAND * up


def _add_leg(
    m: dict[str, Floats], where: dict[str, Floats], axes: dict[str, Floats], side: str, mark: str, outwards: Floats
) -> None:
    """Add knee, ankle and the foot; `outwards` (F, 3) is the pelvis' axis to this side."""
    sign = 1.0 if side == "left" else -1.0
    hip, knee, ankle = where[f"{side}_upper_leg"], m[f"{mark}KNE"], m[f"{mark}ANK"]
    foot = _unit(m[f"{mark}TOE"] - m[f"{mark}HEE"])
    shank = _unit(np.where(np.isfinite(knee), knee, hip) - ankle)  # a foot needs no knee
    by_foot = sign * _unit(np.cross(shank, foot))  # up times ahead is left
    by_hip = _unit(_across(outwards, _unit(hip - knee)))
    knee_out = _unit(_across(np.where(np.isfinite(by_foot), by_foot, by_hip) + by_hip, _unit(hip - ankle)))
    where[f"{side}_lower_leg"] = knee - KNEE * knee_out
    where[f"{side}_foot"] = ankle - ANKLE * by_foot
    left = sign * _unit(_across(by_foot, foot))
    axes[f"{side}_foot"] = np.stack([left, np.cross(foot, left), foot], axis=-1)


def _add_arm(
    m: dict[str, Floats], where: dict[str, Floats], axes: dict[str, Floats], side: str, mark: str, sign: float
) -> None:
    wrist = 0.5 * (m[f"{mark}WRA"] + m[f"{mark}WRB"])
    trunk = axes["hips"][..., 1] if "C7" not in m else _unit(m["C7"] - where["hips"])
    trunk = np.where(np.isfinite(trunk), trunk, axes["hips"][..., 1])
    shoulder = m[f"{mark}SHO"] - ACROMION * trunk
    elbow = m[f"{mark}ELB"]
    bend = np.cross(_unit(elbow - shoulder), _unit(wrist - elbow))
    sine = _length(bend)[:, None]
    # A straight arm shows no axis: then the marker itself is the elbow, to within its distance.
    where[f"{side}_lower_arm"] = elbow + sign * ELBOW * bend / np.maximum(sine, 0.25)
    where[f"{side}_upper_arm"], where[f"{side}_hand"] = shoulder, wrist
    if f"{mark}FIN" in m:
        down = _unit(m[f"{mark}FIN"] - wrist)
        thumb = _unit(_across(m[f"{mark}WRA"] - m[f"{mark}WRB"], down))
        axes[f"{side}_hand"] = np.stack([np.cross(-down, thumb), -down, thumb], axis=-1)


def _complete(m: dict[str, Floats], four: tuple[str, ...]) -> None:
    """Put back one lost marker of four on a rigid part: opposite sides of its trapezoid are parallel at the middle."""
    left_front, right_front, left_back, right_back = (m[name] for name in four)
    guesses = (
        right_front + (left_back - right_back),
        left_front + (right_back - left_back),
        right_back + (left_front - right_front),
        left_back + (right_front - left_front),
    )
    for name, guess in zip(four, guesses, strict=True):
        m[name] = np.where(np.isfinite(m[name]), m[name], guess)


def _length(v: Floats) -> Floats:
    return np.asarray(np.sqrt((v * v).sum(axis=-1)))


def _unit(v: Floats) -> Floats:
    """Return unit vectors; NaN for those without a length."""
    length = _length(v)[..., None]
    return np.asarray(v / np.where(length > 1e-9, length, np.nan))


def _across(v: Floats, axis: Floats) -> Floats:
    """Return what vectors have across unit vectors."""
    return np.asarray(v - (v * axis).sum(axis=-1, keepdims=True) * axis)
