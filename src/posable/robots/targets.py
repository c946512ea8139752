"""The targets of a robot in each frame of a person's motion: orientations of parts, positions of hips, hands, feet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..body import Humanoid
from ..compute.types import Bools, Floats
from ..math import conjugate, from_matrix, multiply, rotate
from ..skeleton import Frames
from .feet import STEP_UP, Foot, Steps, heading, resting, yawed
from .model import HORIZONTAL, PITCH, ROLL, TARGET, VERTICAL
from .packing import ROWS, Body

SIDES = ("left", "right")
# Weights: of positions horizontally and vertically [1 / limb length], of orientations about the part's X, Y and Z.
WEIGHTS = {
    "hips": (3.0, 4.0, 12.0, 12.0, 12.0),
    "chest": (0.0, 0.0, 10.0, 10.0, 10.0),
    "head": (0.0, 0.0, 0.5, 0.5, 0.5),
    "upper_arm": (0.0, 0.0, 1.0, 0.07, 1.0),
    "lower_arm": (0.0, 0.0, 1.0, 0.0, 1.0),
    "hand": (1.0, 1.0, 0.5, 0.3, 0.5),
    "upper_leg": (0.0, 0.0, 5.0, 0.3, 5.0),
    "lower_leg": (0.0, 0.0, 5.0, 0.3, 5.0),
    "foot": (15.0, 15.0, 0.5, 0.5, 0.5),
}
SEEKS = (15.0, 1000.0, 300.0, 1.0, 300.0)
"""A standing foot whose place is still looked for: flat and on the floor, near the person's."""
STANDS = (3000.0, 3000.0, 1000.0, 1000.0, 1000.0)
"""A standing foot whose place is known."""
SWINGS = (50.0, 100.0, 3.0, 3.0, 3.0)
"""A foot that moves between two places, once they are known."""
EDGE = 3.0
"""How strongly a foot is level that may stand on an edge [1/rad]."""
RAMP = 0.15
"""[s]: over which a foot becomes as strong as a standing one."""
FOLLOWED = 0.15
"""[s]: standard deviation with which the hips follow feet that stand elsewhere than the person's."""


@dataclass(frozen=True, eq=False)
class Person:
    """A person's motion as a robot sees it."""

    orientations: dict[str, Floats]
    """By role: (F, 4) canonical orientations in the world."""
    positions: dict[str, Floats]
    """By role: (F, 3) [m]."""
    ratio: float
    """Length of the robot's legs over that of the person's."""


def read_person(frames: Frames, source: Humanoid, ratio: float) -> Person:
    """Return the parts of a person that a robot may have."""
    roles = [role for role in ROWS if role in source.roles]
    roles += [role for role in ("left_toes", "right_toes") if role in source.roles]
    orientations = {role: source.canonical_orientation(frames, source.roles[role]) for role in roles if role != "chest"}
    positions = {role: frames.positions[:, source.roles[role]] for role in roles}
    standing = {role: source.neutral_frames.positions[source.roles[role]] for role in roles}
    orientations["chest"] = multiply(trunk_of(positions), conjugate(trunk_of(standing)))
    return Person(orientations, positions, ratio)


def trunk_of(positions: Mapping[str, Floats]) -> Floats:
    """Return the orientation (..., 4) of a rigid trunk: +Y from hips to shoulders, +X to the left.

    A person's spine bends on the way, and shoulders move on their own.
    """
    up = unit(
        positions["left_upper_arm"]
        + positions["right_upper_arm"]
        - positions["left_upper_leg"]
        - positions["right_upper_leg"]
    )
    left = positions["left_upper_arm"] - positions["right_upper_arm"]
    left = unit(left - (left * up).sum(axis=-1, keepdims=True) * up)
    return from_matrix(np.stack([left, up, np.cross(left, up)], axis=-1))


def lengths(body: Body) -> tuple[float, float]:
    """Return the lengths of the robot's legs and arms, between the centres of their joints [m]."""
    made = [
        float(np.mean([sum(body.lengths[f"{side}_{limb}"]) for side in SIDES if f"{side}_{limb}" in body.lengths]))
        for limb in ("leg", "arm")
    ]
    return made[0], made[1]


@dataclass(frozen=True, eq=False)
class Ground:
    """The ground that a person stands on, as a clip or a stream shows it."""

    rests: Mapping[str, Bools]
    """By side: (F,) where toes rest."""
    firm: Mapping[str, Bools]
    """By side: (F,) where they do so without doubt."""
    floor: Floats
    """(F,) [m] the height of the floor."""
    own: Mapping[str, float]
    """By side: how high toes are over the floor that rest on it [m]."""


def toes_of(person: Person) -> dict[str, Floats]:
    """Return the positions (F, 3) of the toes by side; of the ankles where a rig has no toes."""
    return {side: person.positions.get(f"{side}_toes", person.positions[f"{side}_foot"]) for side in SIDES}


def read_ground(person: Person, fps: float) -> Ground:
    """Return what the person of a whole clip stands on."""
    toes = toes_of(person)
    rests, firm, floor = resting(toes, fps)
    own = {side: float(np.median((toes[side][:, 1] - floor)[on])) if on.any() else 0.0 for side, on in rests.items()}
    return Ground(rests, firm, floor, own)


def read_feet(person: Person, source: Humanoid, body: Body, ground: Ground) -> tuple[dict[str, Foot], Floats]:
    """Return the person's feet, scaled to the robot, and the direction (F, 2) of its left."""
    ratio = person.ratio
    ahead = heading(person.orientations["hips"])
    lateral = np.stack([ahead[:, 1], -ahead[:, 0]], axis=-1)
    feet = {}
    neutral = source.neutral_frames.positions
    floor, on_toes = ground.floor, toes_of(person)
    steps_up = floor - floor.min(initial=0.0 if not len(floor) else floor[0])
    level = np.where(steps_up > STEP_UP, ratio * steps_up, 0.0)
    hips = neutral[source.roles["left_upper_leg"]] - neutral[source.roles["right_upper_leg"]]
    wider = 0.5 * (body.hip_width - ratio * float(np.linalg.norm(hips)))
    for side, sign in zip(SIDES, (1.0, -1.0), strict=True):
        toes, ankle = on_toes[side], person.positions[f"{side}_foot"]
        rotated = person.orientations[f"{side}_foot"]
        offset = (
            neutral[source.roles.get(f"{side}_toes", source.roles[f"{side}_foot"])]
            - neutral[source.roles[f"{side}_foot"]]
        )
        foot = body.parts[f"{side}_foot"]
        sole = rotate(foot.neutral, body.soles[side] - foot.centre) - body.ankles[side]
        base = (
            floor - level / ratio + ground.own[side]
        )  # the height of resting toes that the robot's own floor stands for
        height = -float(sole[:, 1].min())
        raw = ratio * ankle
        raw[:, 1] += height - ratio * (base - offset[1])
        raw[:, [0, 2]] += sign * wider * lateral
        face = heading(rotated)
        right = np.stack([face[:, 1], -face[:, 0]], axis=-1)
        flat = ratio * (toes[:, [0, 2]] - offset[2] * face - offset[0] * right) + sign * wider * lateral
        heights = height + ratio * (toes[:, 1] - base)
        width = _shin(body, side)
        feet[side] = Foot(raw, rotated, flat, ground.rests[side], ground.firm[side], level, sole, width, heights)
    return feet, lateral


def _shin(body: Body, side: str) -> float:
    """Return the radius of the robot's shin [m], as far as something on it touches."""
    joint = body.parts[f"{side}_lower_leg"].joint
    found = [
        float(shape.size[0]) for shape in body.robot.collisions if shape.joint == joint and shape.kind == "capsule"
    ]
    return max(found, default=0.0)


def body_targets(person: Person, feet: dict[str, Foot], body: Body, hands: float) -> Floats:
    """Return the targets (F, K, TARGET) of all parts, with feet where the person's are and free to give way."""
    count = len(next(iter(person.positions.values())))
    leg, arm = lengths(body)
    out = np.zeros((count, len(ROWS), TARGET))
    out[..., 3] = 1.0
    for k, role in enumerate(ROWS):
        if role not in body.parts or role not in person.orientations:
            continue
        name = role.removeprefix("left_").removeprefix("right_")
        length = arm if name == "hand" else leg
        out[:, k, 3:7] = person.orientations[role]
        out[:, k, HORIZONTAL:] = WEIGHTS[name]
        out[:, k, HORIZONTAL : VERTICAL + 1] /= length
        if not body.parts[role].orientable:
            out[:, k, PITCH] = out[:, k, ROLL] = 0.0
    row = {role: k for k, role in enumerate(ROWS)}
    middle = 0.5 * (person.positions["left_upper_leg"] + person.positions["right_upper_leg"])
    lifted = [feet[side].raw[:, 1] - person.ratio * person.positions[f"{side}_foot"][:, 1] for side in SIDES]
    out[:, row["hips"], :3] = person.ratio * middle
    out[:, row["hips"], 1] += np.mean(lifted, axis=0)  # as high above flat feet as the person is
    for side in SIDES:
        out[:, row[f"{side}_foot"], :3] = feet[side].raw - rotate(feet[side].orientations, body.ankles[side])
        if f"{side}_hand" not in body.parts:
            continue
        upper, lower = body.lengths[f"{side}_arm"]
        shoulder, elbow, wrist = (person.positions[f"{side}_{part}"] for part in ("upper_arm", "lower_arm", "hand"))
        k = row[f"{side}_hand"]
        out[:, k, :3] = upper * unit(elbow - shoulder) + lower * unit(wrist - elbow)
        out[:, k, HORIZONTAL : VERTICAL + 1] *= hands
    return out


def seeking(targets: Floats, feet: dict[str, Foot], body: Body, leg: float) -> Floats:
    """Return targets in which resting feet are flat on the floor, near where the person's are."""
    out = targets.copy()
    for side, foot in feet.items():
        k, on = ROWS.index(f"{side}_foot"), foot.resting
        out[on, k, 0], out[on, k, 2] = foot.flat[on, 0], foot.flat[on, 1]
        out[on, k, 1] = foot.level[on] - foot.sole[:, 1].min()
        face = heading(foot.orientations[on])
        out[on, k, 3:7] = yawed(np.arctan2(face[:, 0], face[:, 1]))
        out[on, k, :3] -= rotate(out[on, k, 3:7], body.ankles[side])
        out[on, k, HORIZONTAL:] = np.array(SEEKS) / [leg, leg, 1.0, 1.0, 1.0]
        if side in body.loose:
            out[on, k, ROLL] = EDGE
    return out


def stepping(targets: Floats, steps: dict[str, Steps], body: Body, leg: float, fps: float) -> Floats:
    """Return targets in which feet go through their places, and the hips go with them."""
    out = targets.copy()
    out[:, 0, :3] += _smooth(np.mean([steps[side].moved for side in SIDES], axis=0), FOLLOWED * fps)
    for side, step in steps.items():
        k = ROWS.index(f"{side}_foot")
        out[:, k, :3] = step.positions - rotate(step.orientations, body.ankles[side])
        out[:, k, 3:7] = step.orientations
        nearness = _near_stances(step.standing, RAMP * fps)[:, None]
        weights = np.exp((1.0 - nearness) * np.log(SWINGS) + nearness * np.log(STANDS))
        out[:, k, HORIZONTAL:] = weights / [leg, leg, 1.0, 1.0, 1.0]
        if side in body.loose:
            out[:, k, ROLL] = EDGE
    return out


def _near_stances(standing: Bools, width: float) -> Floats:
    """Return 1 (F,) where a foot stands, falling to 0 within `width` frames before and after.

    Weights that jump would make the pelvis give way all at once where a foot comes down.
    """
    from scipy.ndimage import distance_transform_edt

    if not standing.any():
        return np.zeros(len(standing))
    return np.asarray(np.maximum(1.0 - distance_transform_edt(~standing) / max(width, 1.0), 0.0))


def _smooth(signal: Floats, deviation: float) -> Floats:
    """Return a signal (F, N) after a Gaussian filter, `deviation` in frames."""
    from scipy.ndimage import gaussian_filter1d

    return np.asarray(gaussian_filter1d(signal, deviation, axis=0, mode="nearest", truncate=3.0))


def unit(v: Floats) -> Floats:
    """Return vectors (..., 3) at length 1."""
    return np.asarray(v / np.maximum(np.linalg.norm(v, axis=-1, keepdims=True), 1e-12))
