"""A person's volumes for any body with roles, so that a captured clip looks like a person and not like sticks.

The shape is built in the neutral pose, in the world, from the positions of the joints, and is then given to the joints
that carry it. Lengths along the body come from the body's own joints. Girths follow its size: they are those of a
person of 1.75 m after the medians of the ANSUR survey (Gordon et al. 2014: breadths and depths of head, neck, chest,
waist and hips; circumferences of upper arm, forearm, wrist, thigh, calf and ankle), a little leaner, and the foot's
breadth of Drillis and Contini (Winter 2009, Fig. 4.1). Left and right are mirror images wherever the joints are.

Where spine joints, clavicles or toes are missing, the nearest joint below carries their part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ...collision import Volumes
from ...collision.fitting import fit_volumes
from ...compute.types import Floats
from ...math import axis_angle, conjugate, multiply, rotate
from ..hand.frames import finger_chains, finger_tip
from ..measures import SKULL_TIP, Sole, expected_stature, sole_of
from ..roles import parent_role

if TYPE_CHECKING:
    from ...collision import Volumes
    from ...compute.types import Floats, Ints
    from ...skeleton.character import SkinnedMesh
    from ..humanoid import Humanoid

STATURE, CROWN = 1.75, 0.128625
"""Stature [m] for which the girths below are written, and the height of its crown above the base of the skull."""

MAIN, ACCENT, DARK = 0, 1, 2
"""Tones: most of the body; its joints; waist, neck and right limbs, a shade darker to tell left from right."""

_CARRIERS = {
    "toes": "foot",
    "shoulder": "upper_chest",
    "upper_chest": "chest",
    "chest": "spine",
    "spine": "hips",
    "neck": "upper_chest",
    "fingers": "hand",
    "fingertips": "fingers",
    "thumb": "hand",
}
"""Who carries a part whose own joint is missing."""

_SIDED = {"foot", "hand", "fingers"}

_HAND_JOINTS = {
    f"{side}_{part}": f"{side[0]}_{name}"
    for side in ("left", "right")
    for part, name in (("fingers", "index1"), ("fingertips", "index2"), ("thumb", "thumb1"))
}
"""Mitten joints of the built-in figure; other rigs' fingers stay with the hand."""


NEEDED = 0.8
"""The fraction of a body's parts that must have a volume; a skin that covers less (a helmet, gloves) is not the
body's."""


def body_volumes(body: Humanoid) -> Volumes:
    """Volumes of a body, carried by its joints: torso, head, limbs with their taper, hands with a thumb, feet.

    A body with a skin has one volume a part, fitted to it.
    """
    skin = skin_volumes(body)
    if skin is not None:
        return skin
    frames = body.neutral_frames
    joints = body.roles | body.fingers
    for role, name in _HAND_JOINTS.items():
        if name in body.skeleton.names:
            joints[role] = body.skeleton.index(name)
    positions = {role: frames.positions[joint] for role, joint in joints.items()}
    tips = {chain[-1]: finger_tip(frames, body.fingers[chain[-1]]) for chain in finger_chains(body.fingers)}
    size = expected_stature(body) / STATURE
    clay = Clay(positions, size, {side: sole_of(body, side) for side in ("left", "right")}, tips=tips)
    if SKULL_TIP in body.skeleton.end_names:  # the built-in figure knows how high its head is
        tip = frames.ends[body.skeleton.end_names.index(SKULL_TIP)]
        clay.head = float(tip[1] - positions["head"][1]) / (size * CROWN)
    sculpt(clay)
    return clay.volumes(joints, frames.positions, frames.orientations)


@dataclass
class Clay:
    """A body in the making: where its joints are in the neutral pose, and the parts put on them so far.

    Attributes:
        positions: role to position (3,) in the world in the neutral pose [m].
        size: the body's stature over `STATURE`; girths are multiplied by it.
        soles: the undersides of the feet, by side.
        head: the head's size relative to that of a person of this stature.
        tips: where fingers end, by the role of their last joint; None where the rig does not say it.
        parts: name, carrier, kind, start, end, radii, orientation and tone of each, as `Volumes` takes them.
    """

    positions: dict[str, Floats]
    size: float
    soles: dict[str, Sole]
    head: float = 1.0
    tips: dict[str, Floats | None] = field(default_factory=dict)
    parts: list[tuple[str, str, str, Floats, Floats, Floats, Floats, int]] = field(default_factory=list)

    def cone(self, name: str, role: str, start: Floats, end: Floats, r0: float, r1: float, tone: int = MAIN) -> None:
        """Add a rounded cone between two positions in the world, radii in metres on a person of `STATURE`."""
        self._add(name, role, "capsule", start, end, np.array([r0, r1, 0.0]), np.array([1.0, 0.0, 0.0, 0.0]), tone)

    def egg(
        self,
        name: str,
        role: str,
        centre: Floats,
        half: tuple[float, float, float],
        tone: int = MAIN,
        pitch: float = 0.0,
    ) -> None:
        """Add an ellipsoid, half-axes along the world's in metres on a person of `STATURE`, pitched about X [rad]."""
        spin = axis_angle((1.0, 0.0, 0.0), pitch)
        self._add(name, role, "ellipsoid", centre, centre, np.array(half), spin, tone)

    def at(self, role: str, x: float = 0.0, y: float = 0.0, z: float = 0.0) -> Floats:
        """Return a position beside a joint, displaced by metres on a person of `STATURE`."""
        return self.positions[self.carrier(role)] + self.size * np.array([x, y, z])

    def carrier(self, role: str) -> str:
        """The role that carries a part: its own, or the nearest below that the body has."""
        while role not in self.positions:
            side, part = role.split("_", 1) if role.startswith(("left_", "right_")) else ("", role)
            below = _CARRIERS[part]
            role = f"{side}_{below}" if below in _SIDED else below
        return role

    def _add(
        self, name: str, role: str, kind: str, a: Floats, b: Floats, radii: Floats, spin: Floats, tone: int
    ) -> None:
        shade = DARK if role.startswith("right_") and tone == MAIN else tone
        self.parts.append((name, self.carrier(role), kind, a, b, radii * self.size, spin, shade))

    def volumes(self, joints: dict[str, int], positions: Floats, orientations: Floats) -> Volumes:
        """The parts in the frames of their joints, given where all joints are in the neutral pose."""
        names, carriers, kinds, starts, ends, radii, spins, tones = zip(*self.parts, strict=True)
        index = np.array([joints[role] for role in carriers])
        back = conjugate(orientations[index])
        return Volumes(
            index,
            kinds,
            rotate(back, np.array(starts) - positions[index]),
            rotate(back, np.array(ends) - positions[index]),
            np.array(radii),
            rotations=multiply(back, np.array(spins)),
            names=names,
            tones=np.array(tones),
        )


def sculpt(clay: Clay) -> None:
    """Put a person's parts on the joints."""
    _trunk(clay)
    _head(clay)
    for side, sign in (("left", 1.0), ("right", -1.0)):
        _arm(clay, side, sign)
        _hand(clay, side, sign)
        _leg(clay, side)
        _foot(clay, side, sign)


def _trunk(clay: Clay) -> None:
    p, s = clay.positions, clay.size
    hips = (p["left_upper_leg"] + p["right_upper_leg"]) / 2
    shoulders = (p["left_upper_arm"] + p["right_upper_arm"]) / 2
    neck = p["neck"] if "neck" in p else shoulders + s * np.array([0.0, 0.08, 0.0])
    half = float(np.linalg.norm(p["left_upper_arm"] - p["right_upper_arm"])) / (2 * s)
    wide = float(np.linalg.norm(p["left_upper_leg"] - p["right_upper_leg"])) / (2 * s)
    up = shoulders - hips  # the parts of the trunk sit at fractions of it, however long it is
    tall = float(np.linalg.norm(up)) / s

    def level(fraction: float, x: float = 0.0, z: float = 0.0) -> Floats:
        return np.asarray(hips + up * fraction + s * np.array([x, 0.0, z]))

    clay.egg("pelvis", "hips", level(0.11, z=-0.004), (wide + 0.064, 0.24 * tall, 0.096))
    clay.egg("belly", "spine", level(0.42, z=0.004), (0.122, 0.33 * tall, 0.086), DARK)
    clay.egg("ribs", "chest", level(0.68), (0.140, 0.31 * tall, 0.103))
    for side, sign in (("left", 1.0), ("right", -1.0)):
        clay.egg(f"{side}_buttock", "hips", level(-0.01, sign * 0.74 * wide, -0.034), (0.076, 0.094, 0.070))
        flank = level(0.50, sign * 0.078, -0.006)
        clay.cone(f"{side}_flank", "chest", flank, level(0.86, sign * 0.66 * half, -0.012), 0.052, 0.058)
        armpit = level(0.90, sign * 0.62 * half, -0.004)
        clay.cone(f"{side}_thorax", "upper_chest", level(0.88, sign * 0.03), armpit, 0.094, 0.070)
        inner, outer = level(0.79, sign * 0.034, 0.036), level(0.83, sign * 0.48 * half, 0.032)
        clay.cone(f"{side}_breast", "upper_chest", inner, outer, 0.064, 0.058)
        outer = p[f"{side}_upper_arm"] + s * np.array([-sign * 0.030, 0.006, -0.004])
        inner = neck + s * np.array([sign * 0.026, -0.022, -0.014])
        clay.cone(f"{side}_collar", "upper_chest", inner, outer, 0.050, 0.054)


def _head(clay: Clay) -> None:
    p = clay.positions
    shoulders = (p["left_upper_arm"] + p["right_upper_arm"]) / 2
    base = p.get("neck", shoulders) - clay.size * np.array([0.0, 0.02, 0.004])
    h = clay.head
    clay.cone("neck", "neck", base, clay.at("head", 0, 0.015 * h, 0.006 * h), 0.058, 0.051, DARK)

    def egg(name: str, x: float, y: float, z: float, half: tuple[float, float, float], pitch: float = 0.0) -> None:
        clay.egg(
            name, "head", clay.at("head", x * h, y * h, z * h), (half[0] * h, half[1] * h, half[2] * h), pitch=pitch
        )

    egg("skull", 0.0, CROWN - 0.0945, 0.004, (0.075, 0.0945, 0.095))
    egg("jaw", 0.0, -0.022, 0.040, (0.057, 0.078, 0.060), pitch=-0.35)
    bridge, tip = clay.at("head", 0, 0.030 * h, 0.094 * h), clay.at("head", 0, -0.004 * h, 0.103 * h)
    clay.cone("nose", "head", bridge, tip, 0.006 * h, 0.011 * h)
    for side, sign in (("left", 1.0), ("right", -1.0)):
        egg(f"{side}_ear", sign * 0.074, 0.012, -0.004, (0.009, 0.028, 0.017))


def _arm(clay: Clay, side: str, sign: float) -> None:
    shoulder, elbow, wrist = (clay.positions[f"{side}_{part}"] for part in ("upper_arm", "lower_arm", "hand"))
    mid = shoulder + (elbow - shoulder) * 0.42
    clay.egg(
        f"{side}_deltoid",
        f"{side}_upper_arm",
        clay.at(f"{side}_upper_arm", sign * 0.004, -0.014),
        (0.054, 0.074, 0.058),
    )
    clay.cone(f"{side}_upper_arm", f"{side}_upper_arm", shoulder, mid, 0.046, 0.048)
    clay.cone(f"{side}_biceps", f"{side}_upper_arm", mid, elbow, 0.048, 0.037)
    clay.egg(f"{side}_elbow", f"{side}_lower_arm", elbow, (0.039, 0.040, 0.041), ACCENT)
    belly = elbow + (wrist - elbow) * 0.28
    clay.cone(f"{side}_forearm", f"{side}_lower_arm", elbow + (wrist - elbow) * 0.06, belly, 0.036, 0.042)
    clay.cone(f"{side}_lower_arm", f"{side}_lower_arm", belly, wrist, 0.042, 0.026)


def _hand(clay: Clay, side: str, sign: float) -> None:
    """Palm, four fingers and a thumb; the palm faces the body, the thumb is in front."""
    hand = f"{side}_hand"
    if chains := [chain for chain in finger_chains(clay.positions) if chain[0].startswith(side)]:
        _fingers(clay, side, sign, chains)
        return
    long = 0.189  # of a person of STATURE; rigs rarely say how long their hands are
    clay.egg(f"{side}_wrist", hand, clay.at(hand, 0, -0.006, 0), (0.024, 0.028, 0.030), ACCENT)
    clay.egg(f"{side}_palm", hand, clay.at(hand, 0, -0.052, 0.004), (0.017, 0.056, 0.041))
    for k, (name, ahead, reach) in enumerate(
        (("index", 0.030, 0.93), ("middle", 0.011, 1.0), ("ring", -0.008, 0.95), ("little", -0.026, 0.82))
    ):
        knuckle = clay.at(hand, 0.0, -0.50 * long + 0.002 * k, ahead)
        bend = clay.at(hand, -sign * 0.004, -0.50 * long - 0.25 * long * reach, ahead * 0.97)
        tip = clay.at(hand, -sign * 0.016, -0.50 * long - 0.46 * long * reach, ahead * 0.94)
        clay.cone(f"{side}_{name}", f"{side}_fingers", knuckle, bend, 0.0105, 0.0095)
        clay.cone(f"{side}_{name}_tip", f"{side}_fingertips", bend, tip, 0.0095, 0.0080)
    root, tip = clay.at(hand, -sign * 0.004, -0.034, 0.026), clay.at(hand, -sign * 0.012, -0.088, 0.060)
    clay.cone(f"{side}_thumb", f"{side}_thumb", root, tip, 0.0165, 0.0105)


def _fingers(clay: Clay, side: str, sign: float, chains: list[list[str]]) -> None:
    """A palm that reaches to the knuckles, and a cone for each bone of a finger."""
    hand, wrist = f"{side}_hand", clay.positions[f"{side}_hand"]
    clay.egg(f"{side}_wrist", hand, clay.at(hand, 0, -0.006, 0), (0.024, 0.028, 0.030), ACCENT)
    knuckles = [clay.positions[chain[0]] for chain in chains if "thumb" not in chain[0]]
    clay.egg(f"{side}_palm", hand, 0.45 * wrist + 0.55 * np.mean(knuckles, axis=0), (0.0155, 0.047, 0.036))
    for chain in chains:
        finger = chain[0].rpartition("_")[0]
        thin = {"thumb": 1.15, "little": 0.86, "ring": 0.95, "index": 0.98}.get(finger.partition("_")[2], 1.0)
        root = clay.positions[chain[0]]
        if not finger.endswith("thumb"):
            heel = 0.72 * wrist + 0.28 * root
            clay.cone(f"{finger}_palm", hand, heel, root, 0.0135, 0.0112 * thin)
        elif chain[0].endswith("metacarpal"):
            clay.cone(f"{side}_thenar", hand, 0.4 * wrist + 0.6 * root, root, 0.0150, 0.0165)
        points, tip = [clay.positions[role] for role in chain], clay.tips[chain[-1]]
        if tip is None:  # a last bone is three quarters as long as the one before
            tip = points[-1] + 0.75 * (points[-1] - (points[-2] if len(chain) > 1 else wrist))
        points.append(tip)
        girths = np.linspace(0.0100, 0.0074, len(points)) * thin
        if finger.endswith("thumb"):
            girths = np.linspace(0.0160, 0.0082, len(points)) * np.where(np.arange(len(points)) > 0, 0.98, 1.0)
        for k, role in enumerate(chain):
            end = points[k + 1]
            if k == len(chain) - 1:  # the flesh of the tip ends there
                bone = end - points[k]
                end = end - bone * min(0.8, clay.size * girths[k + 1] / max(float(np.linalg.norm(bone)), 1e-9))
            clay.cone(role, role, points[k], end, float(girths[k]), float(girths[k + 1]))


def _leg(clay: Clay, side: str) -> None:
    hip, knee, ankle = (clay.positions[f"{side}_{part}"] for part in ("upper_leg", "lower_leg", "foot"))
    s = clay.size
    thick = hip + (knee - hip) * 0.22 + s * np.array([0.0, 0.0, 0.004])
    clay.cone(f"{side}_hip", f"{side}_upper_leg", hip, thick, 0.074, 0.078)
    clay.cone(f"{side}_upper_leg", f"{side}_upper_leg", thick, knee, 0.078, 0.048)
    clay.egg(f"{side}_knee", f"{side}_lower_leg", knee + s * np.array([0.0, 0.0, 0.006]), (0.047, 0.052, 0.050), ACCENT)
    calf = knee + (ankle - knee) * 0.30 + s * np.array([0.0, 0.0, -0.014])
    clay.cone(f"{side}_shin", f"{side}_lower_leg", knee + (ankle - knee) * 0.08, calf, 0.045, 0.051)
    clay.cone(f"{side}_lower_leg", f"{side}_lower_leg", calf, ankle + s * np.array([0.0, 0.01, -0.004]), 0.051, 0.032)


def _foot(clay: Clay, side: str, sign: float) -> None:
    """Heel, instep, ball and toes, written for a sole 0.266 m long and 0.06825 m below the ankle."""
    foot, toes, sole, s = f"{side}_foot", f"{side}_toes", clay.soles[side], clay.size
    deep, long = sole.depth / (0.06825 * s), (sole.heel + sole.tip) / (0.266 * s)
    ball = sole.ball / s

    def at(x: float, y: float, z: float) -> Floats:
        return clay.at(foot, sign * x, y - 0.06825 * deep, z)  # y above the sole

    behind = 0.032 - 0.0665 * long
    clay.egg(f"{side}_ankle", foot, clay.at(foot, 0, 0.002, -0.002), (0.034, 0.034, 0.037), ACCENT)
    clay.cone(f"{side}_heel", foot, at(0, 0.032, behind), clay.at(foot, 0, -0.006, 0), 0.032, 0.032)
    clay.cone(f"{side}_instep", foot, clay.at(foot, 0, 0, 0.008), at(0, 0.028, 0.80 * ball), 0.031, 0.026)
    for name, x, back, tip in (
        ("inner", -0.02, 0.0, 0.0),
        ("middle", 0.0, 0.001, 0.006),
        ("outer", 0.021, 0.007, 0.021),
    ):
        front = at(x, 0.021, ball - back)
        clay.cone(f"{side}_{name}_foot", foot, at(0.35 * x, 0.028, behind + 0.004), front, 0.028, 0.021)
        end = at(0.95 * x, 0.015, sole.tip / s - 0.015 - tip)
        clay.cone(f"{side}_{name}_toes", toes, front, end, 0.021, 0.015)


def skin_volumes(body: Humanoid) -> Volumes | None:
    """One volume for each part with a skin, or None where the skeleton has no skin or one that covers too little.

    Joints without a role (fingers, twist joints, hair) give what they carry to the nearest part above them. Things that
    a character wears or holds (`_skins`) are not its body.
    """
    character = body.skeleton.character
    if character is None or not character.meshes:
        return None
    part_of = _parts(body)
    meshes = _skins(character.meshes, part_of)
    points = np.concatenate([mesh.vertices for mesh in meshes])
    owners = np.concatenate([part_of[_main_joints(mesh)] for mesh in meshes])
    first = meshes[0]
    positions, orientations = first.bind_positions, first.bind_orientations
    for mesh in meshes[1:]:
        if not np.allclose(mesh.bind_positions, positions, atol=1e-4):
            return None  # bound in different poses: there is no one pose to fit in
    names = {joint: role for role, joint in body.roles.items()}
    made = fit_volumes(points, owners, positions, orientations, _tips(body, positions), names)
    return made if len(made) >= NEEDED * len(body.roles) else None


def _main_joints(mesh: SkinnedMesh) -> Ints:
    """(V,) the joint that carries most of each vertex."""
    return np.asarray(mesh.joints[np.arange(len(mesh.joints)), mesh.weights.argmax(axis=1)])


def _skins(meshes: Sequence[SkinnedMesh], part_of: Ints) -> list[SkinnedMesh]:
    """Return the meshes that are the body's own, without what it wears or holds: a cape, a shield, a sword.

    Such a thing hangs on one joint as a whole, and the part that it hangs on has a skin of its own, which bends with
    the joints next to it. As a part of the hand a sword would make every posture of the arm a collision.
    """
    joints = [np.unique(_main_joints(mesh)) for mesh in meshes]
    bending = [set(part_of[own].tolist()) for own in joints if len(own) > 1]
    covered = set().union(*bending)
    own = [
        mesh for mesh, on in zip(meshes, joints, strict=True) if len(on) > 1 or not {*part_of[on].tolist()} <= covered
    ]
    return own or [*meshes]


def _parts(body: Humanoid) -> Ints:
    """(J,) the nearest joint with a role at or above each joint; the hips for those above them."""
    parts = np.full(len(body.skeleton), body.index("hips"))
    roles = set(body.roles.values())
    for joint, parent in enumerate(body.skeleton.parents):
        parts[joint] = joint if joint in roles else (parts[parent] if parent >= 0 else body.index("hips"))
    return parts


def _tips(body: Humanoid, positions: Floats) -> dict[int, Floats]:
    """Where the bone of each limb part ends: at the next part of the limb."""
    tips = {}
    for role, joint in body.roles.items():
        if any(part in role for part in ("lower_arm", "hand", "lower_leg", "foot")):
            above = parent_role(role, body.roles)
            if above is not None:
                tips[body.index(above)] = positions[joint]
    return tips
