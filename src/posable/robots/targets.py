"""What a frame of a person's motion asks of a robot: orientations of parts, and where hips, hands and feet go."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..body import Humanoid
from ..compute.types import Bools, Floats
from ..math import conjugate, multiply, rotate
from ..skeleton import Frames
from .feet import Foot, Steps, heading, plan, resting
from .model import TARGET
from .packing import ROWS, Body

SIDES = ("left", "right")
# weights: of positions [1 / limb length], across the part's axis, about it
HIPS, CHEST, HEAD = (4.0, 1.0, 1.0), (0.0, 1.0, 1.0), (0.0, 0.5, 0.5)
ARM = {"upper_arm": (0.0, 1.0, 0.07), "lower_arm": (0.0, 1.0, 0.0), "hand": (1.0, 0.15, 0.15)}
LEG = {"upper_leg": (0.0, 0.2, 0.1), "lower_leg": (0.0, 0.2, 0.0), "foot": (15.0, 0.5, 0.5)}
STANDS, TURNS_NOT = 1000.0, 300.0
"""Weights of a standing foot: of its position [1 / leg length], of its orientation [1/rad]."""


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
    chest = source.spine[source.chest] if "chest" not in source.roles or True else source.roles["chest"]
    orientations = {
        role: source.canonical_orientation(frames, source.roles[role]) for role in roles if role != "chest"
    }
    orientations["chest"] = source.canonical_orientation(frames, chest)
    positions = {role: frames.positions[:, source.roles[role]] for role in roles}
    return Person(orientations, positions, ratio)


def lengths(body: Body) -> tuple[float, float]:
    """Return the lengths of the robot's legs and arms, between the centres of their joints [m]."""
    made = []
    for names in (("upper_leg", "lower_leg", "foot"), ("upper_arm", "lower_arm", "hand")):
        total = []
        for side in SIDES:
            points = [body.zero.point(body.parts[f"{side}_{n}"].joint, body.parts[f"{side}_{n}"].centre) for n in names]
            total.append(sum(float(np.linalg.norm(b - a)) for a, b in zip(points, points[1:], strict=False)))
        made.append(float(np.mean(total)))
    return made[0], made[1]


def centre(body: Body, role: str) -> Floats:
    """Return where a part's centre is in the neutral pose [m]."""
    part = body.parts[role]
    return np.asarray(body.zero.point(part.joint, part.centre))


def read_feet(person: Person, source: Humanoid, body: Body, fps: float) -> tuple[dict[str, Foot], Floats]:
    """Return the person's feet, scaled to the robot, and the direction (F, 2) of its left."""
    leg, _ = lengths(body)
    ratio = person.ratio
    ahead = heading(person.orientations["hips"])
    lateral = np.stack([ahead[:, 1], -ahead[:, 0]], axis=-1)
    feet = {}
    neutral = source.neutral_frames.positions
    toes_of = {side: f"{side}_toes" if f"{side}_toes" in person.positions else f"{side}_foot" for side in SIDES}
    for side, sign in zip(SIDES, (1.0, -1.0), strict=True):
        toes, ankle = person.positions[toes_of[side]], person.positions[f"{side}_foot"]
        turned = person.orientations[f"{side}_foot"]
        offset = neutral[source.roles[toes_of[side]]] - neutral[source.roles[f"{side}_foot"]]
        sole = rotate(body.parts[f"{side}_foot"].neutral, body.soles[side] - body.parts[f"{side}_foot"].centre)
        rests = resting(toes, fps)
        floor = float(np.median(toes[rests, 1])) if rests.any() else float(toes[:, 1].min())
        own = abs(float(centre(body, f"{side}_upper_leg")[0] - centre(body, f"{side}_foot")[0]) * 0.0)
        half = 0.5 * abs(float((centre(body, "left_foot") - centre(body, "right_foot"))[0])) + own
        person_half = 0.5 * abs(
            float((neutral[source.roles["left_upper_leg"]] - neutral[source.roles["right_upper_leg"]])[0])
        )
        wider = sign * (half - ratio * person_half)
        raw = ratio * ankle
        raw[:, 1] += -ratio * (floor - offset[1]) - sole[:, 1].min()
        raw[:, [0, 2]] += wider * lateral
        face = heading(turned)
        right = np.stack([face[:, 1], -face[:, 0]], axis=-1)
        flat = ratio * (toes[:, [0, 2]] - offset[2] * face - offset[0] * right) + wider * lateral
        width = float(np.ptp(sole[:, 0]) / 2)
        feet[side] = Foot(raw, turned, flat, rests, sole, max(width, _shin(body, side)))
    return feet, lateral


def _shin(body: Body, side: str) -> float:
    """Return the radius of the robot's shin [m], as far as something on it touches."""
    joint = body.parts[f"{side}_lower_leg"].joint
    found = [float(shape.size[0]) for shape in body.robot.collisions if shape.joint == joint and shape.kind == "capsule"]
    return max(found, default=0.0)


def set_targets(
    person: Person, steps: dict[str, Steps], source: Humanoid, body: Body, hands: float = 1.0
) -> Floats:
    """Return the targets (F, K, TARGET) of all parts."""
    count = len(next(iter(person.positions.values())))
    leg, arm = lengths(body)
    out = np.zeros((count, len(ROWS), TARGET))
    out[..., 3] = 1.0
    row = {role: k for k, role in enumerate(ROWS)}

    def set_weights(role: str, weights: tuple[float, float, float], length: float) -> None:
        out[:, row[role], 7:] = weights
        out[:, row[role], 7] /= length

    def have(role: str) -> bool:
        return role in body.parts and role in person.orientations

    for role in ROWS:
        if have(role):
            out[:, row[role], 3:7] = person.orientations[role]
    set_weights("hips", HIPS, leg)
    if have("chest"):
        set_weights("chest", CHEST, 1.0)
    if have("head"):
        set_weights("head", HEAD, 1.0)
    middle = 0.5 * (person.positions["left_upper_leg"] + person.positions["right_upper_leg"])
    ankles = [person.positions[f"{side}_foot"] for side in SIDES]
    neutral = source.neutral_frames.positions
    own = np.mean([centre(body, f"{side}_foot")[1] for side in SIDES])
    between = np.mean([centre(body, f"{side}_upper_leg") for side in SIDES], axis=0)
    out[:, row["hips"], :3] = person.ratio * middle
    # as high above flat feet as the person is
    floor = np.mean([_floor(person, source, side) for side in SIDES])
    height = -np.mean([(rotate(body.parts[f"{s}_foot"].neutral, body.soles[s]))[:, 1].min() for s in SIDES])
    out[:, row["hips"], 1] += height - person.ratio * floor
    for side in SIDES:
        for name, weights in LEG.items():
            role = f"{side}_{name}"
            if have(role):
                set_weights(role, weights, leg)
        k = row[f"{side}_foot"]
        out[:, k, :3], out[:, k, 3:7] = steps[side].positions, steps[side].orientations
        stands = steps[side].standing
        out[stands, k, 7], out[stands, k, 8], out[stands, k, 9] = STANDS / leg, TURNS_NOT, TURNS_NOT
        if not have(f"{side}_upper_arm"):
            continue
        for name, weights in ARM.items():
            role = f"{side}_{name}"
            if have(role):
                set_weights(role, weights, arm)
        if have(f"{side}_hand"):
            shoulder, elbow, wrist = (person.positions[f"{side}_{n}"] for n in ("upper_arm", "lower_arm", "hand"))
            own_arm = [centre(body, f"{side}_{n}") for n in ("upper_arm", "lower_arm", "hand")]
            upper, lower = np.linalg.norm(own_arm[1] - own_arm[0]), np.linalg.norm(own_arm[2] - own_arm[1])
            out[:, row[f"{side}_hand"], :3] = upper * _unit(elbow - shoulder) + lower * _unit(wrist - elbow)
            out[:, row[f"{side}_hand"], 7] *= hands
    return out


def _floor(person: Person, source: Humanoid, side: str) -> float:
    """Return how high the person's ankle is over flat feet on the floor [m]."""
    toes = person.positions.get(f"{side}_toes", person.positions[f"{side}_foot"])
    neutral = source.neutral_frames.positions
    offset = neutral[source.roles.get(f"{side}_toes", source.roles[f"{side}_foot"])] - neutral[source.roles[f"{side}_foot"]]
    rests = resting(toes, 120.0)
    floor = float(np.median(toes[rests, 1])) if rests.any() else float(toes[:, 1].min())
    return floor - float(offset[1])


def _unit(v: Floats) -> Floats:
    return np.asarray(v / np.maximum(np.linalg.norm(v, axis=-1, keepdims=True), 1e-12))
