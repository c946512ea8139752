"""A robot as its solver sees it: parts with their joints and neutral orientations, packed into records of `model`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from ..body import Humanoid
from ..compute import PosableError
from ..compute.types import ArrayLike, Floats, Ints, Records, floats
from ..math import conjugate, rotate
from ..skeleton import Skeleton
from ..skeleton.dofs import HINGE, SLIDE
from ..skeleton.robot import Robot, Shape
from .model import BEND, BLOCK, CAPSULE, DRIVE, LINK, ROOT, SETTINGS, SOLE, TASK, VARIABLE, Model

TRUNK, LIMB_PARTS = ("hips", "chest"), ("upper", "lower", "end")
MAX_TOUCHING = 300  # links with shapes: pairs of them are looked at, and robots have some twenty
MOST_CAPSULES = 64  # that stand for one box: of a plate a nanometre thick there would be millions


@dataclass(frozen=True, eq=False)
class Part:
    """A part with a target: the joint that carries it, the N of W = C N, and its centre in the joint's frame [m]."""

    joint: int
    neutral: Floats
    centre: Floats
    orientable: bool = True
    """Whether a limb can turn it across its axis: a hand without a wrist cannot."""


@dataclass(frozen=True)
class Bend:
    """Of a knee or an elbow: the joint, and its values [rad] in a straight limb and in a bent one."""

    joint: int
    straight: float
    bent: float


@dataclass(frozen=True, eq=False)
class Body:
    """A robot as its solver knows it, besides its joints."""

    skeleton: Skeleton
    robot: Robot
    parts: Mapping[str, Part]
    """By role: "hips", "chest", "head", "left_upper_arm", ..."""
    limbs: Mapping[str, tuple[int, ...]]
    """"left_leg", ..., "head": the one-axis joints that only this limb hangs on, from the trunk outwards."""
    lengths: Mapping[str, tuple[float, float]]
    """By limb: of the upper and the lower bone [m]."""
    soles: Mapping[str, Floats]
    """By side: (P, 3) [m] the outline of the sole in the frame of the foot's joint."""
    loose: frozenset[str]
    """Sides whose leg has too few joints to orient a foot freely: it may stand on an edge."""
    ankles: Mapping[str, Floats]
    """By side: (3,) [m] the centre of the ankle from the point of the foot that has a place, in the canonical frame."""
    still: frozenset[int]
    """Joints that stay as they are: fingers, wheels."""
    hip_width: float
    """[m] between the centres of the hips."""
    bends: Mapping[str, Bend]
    """By limb: how its knee or elbow bends."""

    @property
    def still_dofs(self) -> set[int]:
        """The DoF of `still`."""
        return {d for d, j in enumerate(self.skeleton.dofs.joint) if int(j) in self.still}


def read_body(humanoid: Humanoid) -> Body:
    """Return a robot as its solver knows it."""
    found, robot, skeleton = humanoid.robot_parts, humanoid.robot, humanoid.skeleton
    assert found is not None and robot is not None
    zero = humanoid.neutral_frames

    def neutral(joint: int) -> Floats:
        return humanoid.neutral_orientation(joint)

    def inside(joint: int, point: Floats) -> Floats:
        return np.asarray(rotate(conjugate(zero.orientations[joint]), point - zero.positions[joint]))

    parts: dict[str, Part] = {}
    limbs: dict[str, tuple[int, ...]] = {}
    followers = {mimic.dof for mimic in (*found.shared, *found.coupled)}
    tied = followers | {int(d) for d in found.shared_dofs}
    joint_of = skeleton.dofs.joint
    hips = []
    loose: set[str] = set()
    ankles: dict[str, Floats] = {}
    for name, limb in found.limbs.items():
        side, _, which = name.partition("_")
        middle = zero.point(limb.upper, limb.centres[1])
        end = zero.point(limb.lower, limb.centres[2])
        third = f"{side}_{'foot' if which == 'leg' else 'hand'}"
        parts[f"{side}_upper_{which}"] = Part(limb.upper, neutral(limb.upper), limb.base_in_upper)
        parts[f"{side}_lower_{which}"] = Part(limb.lower, neutral(limb.lower), inside(limb.lower, middle))
        bends = which == "leg" or len(set(limb.end) - set(limb.roll)) > 1
        parts[third] = Part(limb.last, neutral(limb.last), inside(limb.last, end), bends)
        limbs[name] = tuple(int(joint_of[d]) for d in limb.dofs if int(d) not in tied)
        if which == "leg":
            ankle, orient = parts[third].centre, parts[third].neutral
            if len(limb.joints) - len(limb.toes) < FREE:
                loose.add(side)  # it turns about the middle line of its sole, which stays where it is
                middle_of_sole = found.soles[third].middle
                parts[third] = Part(limb.last, orient, middle_of_sole)
            ankles[side] = np.asarray(rotate(orient, ankle - parts[third].centre))
            hips.append(zero.point(limb.carrier, limb.centres[0]))
    between = np.mean(hips, axis=0)
    parts["hips"] = Part(found.hips, neutral(found.hips), inside(found.hips, between))
    parts["chest"] = Part(found.chest, neutral(found.chest), np.zeros(3))
    if found.head is not None and len(found.head_dofs):
        parts["head"] = Part(found.head, neutral(found.head), np.zeros(3))
        limbs["head"] = tuple(int(joint_of[d]) for d in found.head_dofs if int(d) not in tied)
    return Body(
        skeleton,
        robot,
        parts,
        limbs,
        {name: limb.lengths for name, limb in found.limbs.items()},
        {side: found.soles[f"{side}_foot"].outline for side in ("left", "right")},
        frozenset(loose),
        ankles,
        frozenset(int(joint_of[d]) for d in found.others),
        float(np.linalg.norm(hips[1] - hips[0])),
        {
            name: Bend(limb.mid[0], limb.straight, limb.straight + BENT * limb.flexion)
            for name, limb in found.limbs.items()
            if len(limb.mid) == 1
        },
    )


SPEED, ACCELERATION = 20.0, 600.0
"""[rad/s], [rad/s^2]: of joints whose file says nothing. The motors of the Unitree G1 turn at 20 (hip, knee), 32 and 37
rad/s at most, those of its like at 12 to 40; people's joints reach 20 rad/s when they throw or punch, seldom else."""
SLIDE_SPEED, SLIDE_ACCELERATION = 1.0, 20.0
"""[m/s], [m/s^2]: of joints that slide."""


def motor_limits(body: Body, speeds: ArrayLike | None, accelerations: ArrayLike | None) -> tuple[Floats, Floats]:
    """Return the largest speeds and accelerations (D,) of a robot's DoF."""
    dofs = body.skeleton.dofs
    slides = np.array([kind == "translation" for kind in dofs.kind])
    made = []
    for name, given, default, slide in (
        ("speeds", speeds, SPEED, SLIDE_SPEED),
        ("accelerations", accelerations, ACCELERATION, SLIDE_ACCELERATION),
    ):
        if given is None:
            value = np.where(slides, slide, default)
            if name == "speeds":
                value = np.where(np.isfinite(body.robot.velocity), body.robot.velocity, value)
        else:
            value = floats(given, name)
            if value.shape not in ((), (len(dofs),)) or not (value > 0.0).all():
                raise PosableError(
                    f"{name} are {np.array2string(value, threshold=6)}; expected a number above 0, or one for each of "
                    f"the {len(dofs)} DoF"
                )
            value = np.broadcast_to(value, (len(dofs),)).astype(np.float64)
            if name == "speeds":
                value = np.minimum(value, body.robot.velocity)
        made.append(value)
    return made[0], made[1]


Path = Callable[[int], tuple[int, int]]
"""Appends the movable joints from the root to one, and returns where they are."""
FREE = 6
"""Joints of a leg that put a foot anywhere, as it likes."""
BENT = 2.5
"""[rad]: how far a knee or an elbow bends whose file has no limits."""
CORNER = 1.0 / 6.0
"""Of a sole's width: how round the corners of heel and tip are taken to be."""
POSTURE = 0.02
"""How strongly motors are drawn to their middle position [1/rad]: what nothing else decides."""
ROWS = (
    *("hips", "chest", "head"),
    *(f"{side}_{part}" for side in ("left", "right") for part in ("upper_leg", "lower_leg", "foot")),
    *(f"{side}_{part}" for side in ("left", "right") for part in ("upper_arm", "lower_arm", "hand")),
)
"""The parts that have targets, in the order of the tasks. Hands' positions count from the upper arm's centre."""


def limb_of(role: str) -> str:
    """Return the limb that a part belongs to: "left_leg"; "" for the trunk."""
    side, _, rest = role.partition("_")
    if role == "head":
        return "head"
    if side not in ("left", "right"):
        return ""
    return f"{side}_{'leg' if rest in ('upper_leg', 'lower_leg', 'foot') else 'arm'}"


def pack(body: Body, speeds: Floats, accelerations: Floats, scale: float, iterations: int) -> tuple[Model, Ints]:
    """Return the records of a robot, and the DoF (V,) of the skeleton that each variable is.

    Args:
        body: the robot.
        speeds: (D,) of its DoF [rad/s, m/s].
        accelerations: (D,).
        scale: the length of its legs [m].
        iterations: for a frame that starts from afar.
    """
    skeleton, robot = body.skeleton, body.robot
    packed = skeleton.packed
    followers = {mimic.dof: mimic for mimic in robot.mimics}
    still = set(body.still) | {int(skeleton.dofs.joint[m.dof]) for m in robot.mimics if m.leader in body.still_dofs}
    movable = [j for j in range(1, len(skeleton)) if packed[j]["kind"] in (HINGE, SLIDE) and j not in still]
    leaders = [j for j in movable if int(packed[j]["dof"]) not in followers]
    order: list[int] = []
    blocks = np.zeros(len(body.limbs), BLOCK)
    names = list(body.limbs)
    for b, name in enumerate(names):
        own = [j for j in body.limbs[name] if j in leaders]
        blocks[b] = (len(order), len(order) + len(own))
        order += own
    trunk = len(order)
    order += [j for j in leaders if j not in order]
    dofs = np.array([packed[j]["dof"] for j in order], np.int64)
    variable_of = {int(d): v for v, d in enumerate(dofs)}
    drives = np.zeros(len(skeleton), DRIVE)
    drives["variable"], drives["ratio"] = -1, 1.0
    for d in body.still_dofs:
        drives["offset"][skeleton.dofs.joint[d]] = 0.0 if robot.rest is None else robot.rest[d]
    for j in movable:
        dof, ratio, offset = int(packed[j]["dof"]), 1.0, 0.0
        while dof in followers:
            mimic = followers[dof]
            dof, ratio, offset = mimic.leader, ratio * mimic.multiplier, offset + ratio * mimic.offset
        v = variable_of[dof]
        drives[j] = (v, v if v < trunk else v + 3, ratio, offset)
    variables = np.zeros(len(order), VARIABLE)
    variables["block"], variables["lower"], variables["upper"] = -1, -np.inf, np.inf
    variables["speed"], variables["acceleration"] = np.inf, np.inf
    for b, block in enumerate(blocks):
        variables["block"][block["first"] : block["last"]] = b
    for j in movable:
        drive, dof = drives[j], int(packed[j]["dof"])
        row = variables[drive["variable"]]
        ends = sorted((np.array([robot.lower[dof], robot.upper[dof]]) - drive["offset"]) / drive["ratio"])
        row["lower"], row["upper"] = max(row["lower"], ends[0]), min(row["upper"], ends[1])
        row["speed"] = min(row["speed"], speeds[dof] / abs(drive["ratio"]))
        row["acceleration"] = min(row["acceleration"], accelerations[dof] / abs(drive["ratio"]))
    for limit in body.bends.values():  # a knee whose file says nothing bends as a person's
        row = variables[drives[limit.joint]["variable"]]
        ends = sorted(
            (np.array([limit.straight, limit.bent]) - drives[limit.joint]["offset"]) / drives[limit.joint]["ratio"]
        )
        if not np.isfinite(row["lower"]) and not np.isfinite(row["upper"]):
            row["lower"], row["upper"] = ends
    variables["lower"] = np.where(np.isfinite(variables["lower"]), variables["lower"], -np.pi)
    variables["upper"] = np.where(np.isfinite(variables["upper"]), variables["upper"], np.pi)
    variables["rest"] = np.clip(0.0, variables["lower"], variables["upper"])
    variables["posture"] = POSTURE
    paths: list[int] = []

    def path_to(joint: int) -> tuple[int, int]:
        first = len(paths)
        paths.extend(j for j in skeleton.path(joint) if j in movable)
        return first, len(paths)

    def block_of(joint: int) -> int:
        for j in reversed(skeleton.path(joint)):
            for b, name in enumerate(names):
                if j in body.limbs[name]:
                    return b
        return -1

    tasks = np.zeros(len(ROWS), TASK)
    for row, role in zip(tasks, ROWS, strict=True):
        part = body.parts.get(role)
        row["anchor"], row["neutral"], row["block"] = -1, (1.0, 0.0, 0.0, 0.0), -1
        if part is None:
            continue
        row["joint"], row["neutral"], row["point"] = part.joint, part.neutral, part.centre
        row["block"] = block_of(part.joint)
        row["first"], row["last"] = path_to(part.joint)
        if row["block"] >= 0:
            block = blocks[row["block"]]
            own = [int(drives[j]["variable"]) for j in paths[row["first"] : row["last"]]]
            last = max(v for v in own if block["first"] <= v < block["last"])
            row["column"], row["column_end"] = block["first"], last + 1
        if role.endswith("hand"):
            base = body.parts[role.replace("hand", "upper_arm")]
            row["anchor"], row["anchor_point"] = base.joint, base.centre
            row["anchor_first"], row["anchor_last"] = path_to(base.joint)
    links, shapes, pairs = _collisions(body, path_to, block_of)
    settings = np.zeros(1, SETTINGS)
    settings["iterations"], settings["trunk"] = iterations, trunk
    settings["size"], settings["follow"] = len(order) + ROOT, 2
    settings["damping"], settings["longest"] = 1e-4, 0.6
    settings["margin"], settings["reach"] = 0.003 * scale / 0.6, 0.03 * scale / 0.6
    settings["touch"], settings["stands"] = 200.0 * 0.6 / scale, 600.0 / scale
    soles, corners = _soles(body, path_to, block_of)
    model = Model(
        np.ascontiguousarray(packed),
        drives,
        variables,
        blocks,
        tasks,
        np.array(paths, np.int64),
        links,
        shapes,
        pairs,
        soles,
        corners,
        _bends(body, drives),
        settings,
    )
    return model, dofs


def _soles(body: Body, path_to: Path, block_of: Callable[[int], int]) -> tuple[Records, Floats]:
    """Return the soles and their corners, those at the heel first."""
    out = np.zeros(len(body.soles), SOLE)
    corners: list[Floats] = []
    for row, (side, outline) in zip(out, body.soles.items(), strict=True):
        part = body.parts[f"{side}_foot"]
        ahead = rotate(part.neutral, outline)[:, 2]
        front = ahead > 0.5 * (ahead.min() + ahead.max())
        row["joint"], row["block"], row["task"] = part.joint, block_of(part.joint), ROWS.index(f"{side}_foot")
        row["first"], row["last"] = path_to(part.joint)
        row["point"] = len(corners)
        corners += list(outline[~front])
        row["front"] = len(corners)
        corners += list(outline[front])
        row["end"] = len(corners)
        row["loose"] = side in body.loose
    return out, np.array(corners).reshape(-1, 3)


def _bends(body: Body, drives: Records) -> Records:
    """Return the variables of knees and elbows."""
    out = np.zeros(len(body.bends), BEND)
    for row, bend in zip(out, body.bends.values(), strict=True):
        drive = drives[bend.joint]
        row["variable"], row["straight"] = drive["variable"], (bend.straight - drive["offset"]) / drive["ratio"]
    return out


def _collisions(body: Body, path_to: Path, block_of: Callable[[int], int]) -> tuple[Records, Records, Ints]:
    """Return the links that may touch, their shapes as capsules, and the pairs that count."""
    robot = body.robot
    found: dict[int, list[tuple[Floats, Floats, float]]] = {}
    for shape in robot.collisions:
        found.setdefault(shape.joint, []).extend(capsules(shape))
    if len(found) > MAX_TOUCHING:
        raise PosableError(
            f"the robot {robot.name[:60]!r} has {len(found)} touching links; expected up to {MAX_TOUCHING}"
        )
    solid = sorted(found.items())
    solid += [(body.parts[f"{side}_foot"].joint, thick_soles(body, side)) for side in body.soles]
    links = np.zeros(len(solid), LINK)
    shapes = np.zeros(sum(len(own) for _, own in solid), CAPSULE)
    at = 0
    for row, (joint, own) in zip(links, solid, strict=True):
        row["joint"], row["block"] = joint, block_of(joint)
        row["first"], row["last"] = path_to(joint)
        row["shape"], row["shape_end"] = at, at + len(own)
        for start, end, radius in own:
            shapes[at] = (start, end, radius)
            at += 1
        ends = np.array([e for start, end, _ in own for e in (start, end)])
        radii = np.array([radius for *_, radius in own for _ in range(2)])
        centre = 0.5 * ((ends - radii[:, None]).min(axis=0) + (ends + radii[:, None]).max(axis=0))
        row["centre"], row["radius"] = centre, float((np.linalg.norm(ends - centre, axis=-1) + radii).max())
    never = {frozenset(pair) for pair in robot.separate}
    joints = [int(j) for j in links["joint"][: len(found)]]
    pairs = [
        (a, b)
        for a in range(len(joints))
        for b in range(a + 1, len(joints))
        if frozenset((robot.links[joints[a]], robot.links[joints[b]])) not in never
    ]
    pairs += [(len(found), len(found) + 1)] if len(body.soles) == 2 else []
    return links, shapes, np.array(pairs, np.int64).reshape(-1, 2)


def thick_soles(body: Body, side: str) -> list[tuple[Floats, Floats, float]]:
    """Return capsules (start, end, radius) along a sole, as thick as the sole is wide, in the joint's frame [m].

    Plates are thin: two that are in each other are soonest apart when one is lifted off the other, which no standing
    foot can be. These keep soles beside each other. Two more lie across heel and tip, for their corners.
    """
    foot = body.parts[f"{side}_foot"]
    outline, back = rotate(foot.neutral, body.soles[side]), conjugate(foot.neutral)
    low, high = outline.min(axis=0), outline.max(axis=0)
    wide, long = float(high[0] - low[0]), float(high[2] - low[2])
    middle = np.array([0.5 * (low[0] + high[0]), low[1], 0.5 * (low[2] + high[2])])

    def capsule(x: float, z: float, at: float, radius: float) -> tuple[Floats, Floats, float]:
        centre, reach = middle + np.array([0.0, 0.0, at]), np.array([x, 0.0, z])
        return np.asarray(rotate(back, centre - reach)), np.asarray(rotate(back, centre + reach)), radius

    radius = 0.5 * wide
    made = [capsule(0.0, max(0.5 * long - radius, 0.0), 0.0, radius)]
    thin = CORNER * wide
    for sign in (1.0, -1.0):
        end = outline[sign * (outline[:, 2] - middle[2]) > 0.5 * long - thin]
        x = float(np.ptp(end[:, 0]))
        if x > wide * (1.0 - 2.0 * CORNER):  # a round end has no corners
            made.append(capsule(0.5 * wide - thin, 0.0, sign * (0.5 * long - thin), thin))
    return made


def capsules(shape: Shape) -> list[tuple[Floats, Floats, float]]:
    """Return capsules (start, end, radius) that stand for a shape, in the joint's frame [m]."""
    size, orientation, at = np.asarray(shape.size, np.float64), shape.orientation, shape.position

    def put(x: ArrayLike) -> Floats:
        return np.asarray(at + rotate(orientation, np.asarray(x, np.float64)))

    if shape.kind == "sphere":
        return [(put((0, 0, 0)), put((0, 0, 0)), float(size[0]))]
    if shape.kind == "capsule":
        half = 0.5 * size[1]
        return [(put((0, 0, -half)), put((0, 0, half)), float(size[0]))]
    if shape.kind == "cylinder":
        half = np.array([size[0], size[0], 0.5 * size[1]])
    elif shape.kind == "box":
        half = 0.5 * size
    elif shape.kind == "ellipsoid":
        half = size
    else:
        return []
    order = np.argsort(half)
    radius = float(half[order[0]])
    wide, long = half[order[1]] - radius, half[order[2]] - radius
    if shape.kind == "cylinder" and half[2] > half[0]:
        wide = 0.0
    if shape.kind == "ellipsoid":
        wide, radius = 0.0, float(half[order[1]])
        long = max(half[order[2]] - radius, 0.0)
    count = 1 if wide < 0.2 * radius else min(int(np.ceil(wide / radius)) + 1, MOST_CAPSULES)
    made = []
    for s in np.linspace(-wide, wide, count) if count > 1 else [0.0]:
        a, b = np.zeros(3), np.zeros(3)
        a[order[1]] = b[order[1]] = s
        a[order[2]], b[order[2]] = -long, long
        made.append((put(a), put(b), radius))
    return made
