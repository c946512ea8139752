"""MJCF robots (MuJoCo's XML) as skeletons: hinges, slides, balls, and a free root.

Kinematics, limits, motors, shapes and sites are read, as MuJoCo's documentation says; what moves by forces is not.

A joint of ours is a joint of the file, in its order (depth first). A body with several joints becomes as many of ours,
of which the last carries the body; one without is a fixed joint. Where the joints of a body are not at its origin, a
fixed joint follows that has its frame. Values are zero where the file's are its `ref`.

A file holds a scene. Its robot is the body in the world with most joints below it, where one of those with joints is
free; where none is, they are all read, fixed to the world.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from ...compute.extent import EXTENT
from ...compute.types import Floats
from ...skeleton import Mimic, Robot, Shape, Site, Skeleton
from ...skeleton.robot import UP
from .coupling import leaders_first
from .include import included
from .pairs import separate_pairs
from .settings import Settings
from .transforms import IDENTITY, ORIGIN, Quat, Transform, Vec3, rotated, times, transform_of, within
from .xml import Element

MAX_JOINTS = 10_000
MAX_SHAPES = 10_000  # and sites; more are left out
KINDS = {"hinge": "hinge", "slide": "slide", "ball": "ball"}
POSITIONS = {"free": 7, "ball": 4, "hinge": 1, "slide": 1}  # numbers of a joint in a keyframe
UNREAD = ("replicate", "attach", "composite", "flexcomp")
PRIMITIVES = {"sphere": 1, "capsule": 2, "ellipsoid": 3, "cylinder": 2, "box": 3}  # sizes
STANDING = ("home", "stand", "standing")
HIDDEN_GROUP = 3  # MuJoCo shows the groups 0 to 2; collision shapes are in 3 by custom
GREY = (0.5, 0.5, 0.5, 1.0)  # MuJoCo's colour where a file has none


@dataclass(eq=False)
class Body:
    """A body of the file: its transform in the one it hangs on, and what it carries, in its frame."""

    element: Element
    name: str
    parent: int
    transform: Transform
    joints: list[tuple[Element, Transform]] = field(default_factory=list)
    geoms: list[tuple[Element, Transform]] = field(default_factory=list)
    sites: list[tuple[Element, Transform]] = field(default_factory=list)
    carrier: int = -1
    """The joint of the skeleton that has its frame, or -1 where it is left out."""

    @property
    def free(self) -> bool:
        """Whether it moves freely in the world."""
        return any(joint.attributes.get("type") == "free" for joint, _ in self.joints)


def read_mjcf(top: Element, *, up: str) -> Skeleton:
    """Return the skeleton of a robot from the outermost element of its file, with its record."""
    top = included(top)
    settings = Settings(top)
    notes: list[str] = []
    bodies = _bodies(top, settings, notes)
    chosen = _robot(bodies, top, notes)
    joints = _Joints(bodies, chosen, UP[up])
    skeleton = Skeleton(
        joints.names, joints.parents, joints.offsets, rest_rotations=joints.rests, kinds=joints.kinds, axes=joints.axes
    )
    motors, effort = _motors(top, settings, joints, skeleton)
    lower, upper = _limits(joints, settings, skeleton, notes)
    mimics = _mimics(top, joints, skeleton, notes)
    if not motors:
        followers = {mimic.dof for mimic in mimics}
        one_axis = (d for j, d in joints.first_dof(skeleton).items() if skeleton.kinds[j] in ("hinge", "slide"))
        motors = tuple(d for d in one_axis if d not in followers)
        if motors:
            notes.append("the file names no motors: every joint of one axis that follows no other has one")
    shapes, collisions = _shapes(bodies, settings, notes)
    notes += settings.meshes.notes
    sites = tuple(
        Site(site.attributes.get("name", ""), body.carrier, np.array(transform[0]), np.array(transform[1]))
        for body in bodies
        if body.carrier >= 0
        for site, transform in body.sites
    )
    record = Robot(
        top.attributes.get("model", ""),
        tuple(joints.links),
        lower,
        upper,
        np.full(len(skeleton.dofs), np.inf),
        effort,
        mimics,
        shapes,
        collisions,
        separate_pairs(skeleton, joints.links, collisions, _excluded(top)),
        sites[:MAX_SHAPES],
        motors,
        _standing(top, bodies, joints, skeleton, UP[up], notes),
        _references(joints, settings, skeleton),
        up,
        tuple(notes),
    )
    return skeleton.replace(robot=record)


def _bodies(top: Element, settings: Settings, notes: list[str]) -> list[Body]:
    """Return all bodies of the file, depth first; the first one is the world."""
    bodies = [Body(top, "world", -1, (ORIGIN, IDENTITY))]
    unread: Counter[str] = Counter()
    # (what comes next, body it is in, frame it is in, class of its elements)
    stack: list[tuple[Iterator[Element], int, Transform, str]] = [
        (iter(world.children), 0, (ORIGIN, IDENTITY), "main") for world in reversed(top.all("worldbody"))
    ]
    while stack:
        children, at, frame, childclass = stack[-1]
        element = next(children, None)
        if element is None:
            stack.pop()
            continue
        if element.tag in ("body", "frame"):
            inside = element.attributes.get("childclass", childclass)
            settings.check_class(element, inside)
            transform = within(frame, transform_of(element, settings))
            if element.tag == "frame":
                stack.append((iter(element.children), at, transform, inside))
                continue
            if len(bodies) > MAX_JOINTS:
                element.fail(f"there are more than {MAX_JOINTS} bodies")
            bodies.append(Body(element, element.attributes.get("name", ""), at, transform))
            stack.append((iter(element.children), len(bodies) - 1, (ORIGIN, IDENTITY), inside))
        elif element.tag in ("joint", "freejoint", "geom", "site"):
            full = settings.with_defaults(element, childclass)
            if element.tag == "freejoint":
                full.attributes["type"] = "free"
            if element.tag in ("joint", "freejoint"):
                bodies[at].joints.append((full, frame))
            elif element.tag == "geom":
                bodies[at].geoms.append((full, frame))
            else:
                bodies[at].sites.append((full, _inside(full, within(frame, transform_of(full, settings)))))
        elif element.tag in UNREAD:
            unread[element.tag] += 1
    if unread:
        notes.append("not read: " + ", ".join(f"<{tag}> ({count})" for tag, count in unread.items()))
    _check(bodies)
    return bodies


def _check(bodies: list[Body]) -> None:
    seen: set[tuple[str, str]] = set()
    count = 0
    for body in bodies[1:]:
        for element in (body.element, *(joint for joint, _ in body.joints)):
            name = element.attributes.get("name")
            kind = "bodies" if element is body.element else "joints"
            if name and (kind, name) in seen:
                element.fail(f"two {kind} are called {name[:60]!r}")
            seen.add((kind, name or ""))
        count += len(body.joints)
        kinds = [joint.attributes.get("type", "hinge") for joint, _ in body.joints]
        for (joint, _), kind in zip(body.joints, kinds):
            if kind not in POSITIONS:
                joint.fail(f"its type is {kind[:60]!r}; expected {', '.join(POSITIONS)}")
            if kind == "free" and (body.parent != 0 or len(kinds) > 1):
                joint.fail("only a body in the world is free, and it has no other joint")
        if count > MAX_JOINTS:
            body.element.fail(f"there are more than {MAX_JOINTS} joints")


def _robot(bodies: list[Body], top: Element, notes: list[str]) -> list[int]:
    """Return the bodies of the robot, the root first: a body in the world, or the world."""
    root_of = list(range(len(bodies)))
    moving: Counter[int] = Counter()
    for k, body in enumerate(bodies[1:], 1):
        if body.parent:
            root_of[k] = root_of[body.parent]
        moving[root_of[k]] += 0 if body.free else len(body.joints)
    tops = [k for k, body in enumerate(bodies[1:], 1) if body.parent == 0]
    if not tops:
        found = f"; {notes[0]}" if notes else ""
        top.fail(f"there is no <body> in <worldbody>{found}")
    robots = [k for k in tops if moving[k]] or tops[:1]
    if any(bodies[k].free for k in robots):
        robots = [max(robots, key=lambda k: moving[k])]
    if other := [k for k in tops if k not in robots]:
        what = ", ".join(repr(bodies[k].name[:60] or f"body {k}") for k in other[:3])
        notes.append(f"left out, as it is not the robot: {what}{', ...' if len(other) > 3 else ''}")
    alone = len(robots) == 1 and (bodies[robots[0]].free or not bodies[robots[0]].joints)
    return [*([] if alone else [0]), *(k for k in range(1, len(bodies)) if root_of[k] in robots)]


class _Joints:
    """The rows of the skeleton, in the order of the file."""

    def __init__(self, bodies: list[Body], chosen: list[int], up: Quat) -> None:
        self.names: list[str] = []
        self.links: list[str] = []
        self.parents: list[int] = []
        self.kinds: list[str] = []
        self.offsets: list[Vec3] = []
        self.rests: list[Quat] = []
        self.axes: list[Vec3] = []
        self.elements: dict[int, Element] = {}
        """Of the joints that are joints in the file, by their index."""
        self.bodies = bodies
        taken = {joint.attributes.get("name", "") for k in chosen for joint, _ in bodies[k].joints}
        self._taken = taken - {""}
        self._tried: dict[str, int] = {}
        for k in chosen:
            self._add_body(k, k == chosen[0], up)

    def first_dof(self, skeleton: Skeleton) -> dict[int, int]:
        """Return the first DoF of each joint that has any."""
        found: dict[int, int] = {}
        for d, j in enumerate(skeleton.dofs.joint.tolist()):
            found.setdefault(j, d)
        return found

    def _add_body(self, k: int, root: bool, up: Quat) -> None:
        body = self.bodies[k]
        parent = -1 if root else self.bodies[body.parent].carrier
        position, rotation = body.transform
        if root:
            position, rotation = rotated(up, position), times(up, rotation)
        name = body.name or f"body{k}"
        if root or not body.joints:
            kind = "free" if body.free else "fixed"
            body.carrier = self._add(self._unused(name, "_link"), name, parent, kind, (position, rotation))
            if body.free:
                self.elements[body.carrier] = body.joints[0][0]
            return
        anchor: Vec3 = ORIGIN  # of the joint before, in the body
        for number, (joint, frame) in enumerate(body.joints):
            at, _ = within(frame, (joint.vector("pos"), IDENTITY))
            offset = (at[0] - anchor[0], at[1] - anchor[1], at[2] - anchor[2])
            if number == 0:
                offset = within(body.transform, (offset, IDENTITY))[0]
            axis = rotated(frame[1], _axis(joint))
            called = joint.attributes.get("name") or self._unused(f"{name}_joint", "")
            kind = KINDS[joint.attributes.get("type", "hinge")]
            transform = (offset, rotation if number == 0 else IDENTITY)
            parent = self._add(called, "", parent, kind, transform, axis)
            self.elements[parent] = joint
            anchor = at
        body.carrier = parent
        if anchor != ORIGIN:
            back = (-anchor[0], -anchor[1], -anchor[2])
            body.carrier = self._add(self._unused(name, "_link"), "", parent, "fixed", (back, IDENTITY))
        self.links[body.carrier] = name

    def _add(
        self, name: str, link: str, parent: int, kind: str, transform: Transform, axis: Vec3 = (0.0, 0.0, 1.0)
    ) -> int:
        self.names.append(name)
        self.links.append(link)
        self.parents.append(parent)
        self.kinds.append(kind)
        self.offsets.append(transform[0])
        self.rests.append(transform[1])
        self.axes.append(axis)
        return len(self.names) - 1

    def _unused(self, name: str, suffix: str) -> str:
        """Return a name that no other joint has: with a suffix, and a number where that is taken too."""
        if name in self._taken:
            name += suffix
        while name in self._taken:
            self._tried[name] = self._tried.get(name, 1) + 1
            if (numbered := f"{name}{self._tried[name]}") not in self._taken:
                name = numbered
        self._taken.add(name)
        return name


def _axis(joint: Element) -> Vec3:
    x, y, z = joint.vector("axis", (0.0, 0.0, 1.0))
    length = math.hypot(x, y, z)
    if not 1e-10 < length < math.inf:
        if joint.attributes.get("type", "hinge") in ("hinge", "slide"):
            joint.fail("its axis has no direction")
        return (0.0, 0.0, 1.0)
    return (x / length, y / length, z / length)


def _limits(joints: _Joints, settings: Settings, skeleton: Skeleton, notes: list[str]) -> tuple[Floats, Floats]:
    lower, upper = np.full(len(skeleton.dofs), -np.inf), np.full(len(skeleton.dofs), np.inf)
    first = joints.first_dof(skeleton)
    for j, joint in joints.elements.items():
        kind = skeleton.kinds[j]
        if kind == "free" or not settings.limited(joint, "limited", "range"):
            continue
        unit = 1.0 if kind == "slide" else settings.angle
        low, high = (float(value) * unit for value in joint.numbers("range", (0.0, 0.0)))
        if not low < high and not (low == high == 0.0):
            joint.fail(f"the range {joint.attributes['range'][:60]!r} does not go from a lower to an upper value")
        d = first[j]
        if kind == "ball":
            lower[d : d + 3], upper[d : d + 3] = -high, high
            notes.append(f"the limit of the ball joint {skeleton.names[j]!r} is a cone; it is read as a cube around it")
            continue
        reference = joint.number("ref", 0.0) * unit
        lower[d], upper[d] = low - reference, high - reference
    return lower, upper


def _references(joints: _Joints, settings: Settings, skeleton: Skeleton) -> Floats:
    values = np.zeros(len(skeleton.dofs))
    for j, d in joints.first_dof(skeleton).items():
        if skeleton.kinds[j] in ("hinge", "slide"):
            values[d] = joints.elements[j].number("ref", 0.0) * (settings.angle if skeleton.kinds[j] == "hinge" else 1)
    return values


def _motors(top: Element, settings: Settings, joints: _Joints, skeleton: Skeleton) -> tuple[tuple[int, ...], Floats]:
    """Return the DoF with a motor, in the order of the file, and (D,) the largest force or torque of each."""
    effort = np.full(len(skeleton.dofs), np.inf)
    first, by_name = joints.first_dof(skeleton), {name: j for j, name in enumerate(skeleton.names)}
    motors: dict[int, float] = {}
    for block in top.all("actuator"):
        for element in block.children:
            name = element.attributes.get("joint") or element.attributes.get("jointinparent")
            j = by_name.get(name or "", -1)
            if j not in joints.elements or skeleton.kinds[j] not in ("hinge", "slide"):
                continue
            full = settings.with_defaults(element, "main", "actuator")
            gear = abs(full.several("gear", 6, (1.0,))[0])
            force = math.inf
            if settings.limited(full, "forcelimited", "forcerange"):
                force = largest(full, "forcerange") * gear
            if element.tag == "motor" and settings.limited(full, "ctrllimited", "ctrlrange"):
                force = min(force, largest(full, "ctrlrange") * gear)
            motors[first[j]] = max(force, motors.get(first[j], 0.0))
    for d, force in motors.items():
        effort[d] = force
    for j, joint in joints.elements.items():
        if skeleton.kinds[j] in ("hinge", "slide") and settings.limited(
            joint, "actuatorfrclimited", "actuatorfrcrange"
        ):
            effort[first[j]] = min(float(effort[first[j]]), largest(joint, "actuatorfrcrange"))
    return tuple(motors), effort


def largest(element: Element, key: str) -> float:
    """Return the larger end of a range, either way."""
    return max(abs(value) for value in element.several(key, 2, (0.0, 0.0)))


def _mimics(top: Element, joints: _Joints, skeleton: Skeleton, notes: list[str]) -> tuple[Mimic, ...]:
    """Return the joints that equality constraints make follow others, leaders first."""
    first, by_name = joints.first_dof(skeleton), {name: j for j, name in enumerate(skeleton.names)}
    found: dict[int, Mimic] = {}
    unread = 0
    for block in top.all("equality"):
        for element in block.all("joint"):
            if element.attributes.get("active", "true") == "false":
                continue
            ends = [by_name.get(element.attributes.get(key, ""), -1) for key in ("joint1", "joint2")]
            factors = element.several("polycoef", 5, (0.0, 1.0, 0.0, 0.0, 0.0))
            ok = all(j in joints.elements and skeleton.kinds[j] in ("hinge", "slide") for j in ends)
            if not ok or any(factors[2:]) or first[ends[0]] in found:
                unread += 1
                continue
            dof, leader = (first[j] for j in ends)
            factor = factors[1] if len(factors) > 1 else 1.0
            if max(abs(factor), abs(factors[0])) > EXTENT:
                element.fail(f"polycoef is {element.attributes['polycoef'][:60]!r}; expected numbers up to {EXTENT:g}")
            found[dof] = Mimic(dof, leader, factor, factors[0])
    ordered = leaders_first(found)
    unread += len(found) - len(ordered)  # they follow each other in a circle
    if unread:
        notes.append(f"{unread} constraints between joints are not read: they are no multiple of another joint")
    if ordered:
        names = ", ".join(skeleton.names[skeleton.dofs.joint[mimic.dof]] for mimic in ordered[:3])
        follow = "1 joint follows another" if len(ordered) == 1 else f"{len(ordered)} joints follow others"
        notes.append(f"{follow} ({names}{', ...' if len(ordered) > 3 else ''})")
    return tuple(ordered)


def _excluded(top: Element) -> list[tuple[str, str]]:
    return [
        (pair.attributes.get("body1", ""), pair.attributes.get("body2", ""))
        for block in top.all("contact")
        for pair in block.all("exclude")
    ][:MAX_SHAPES]


def _standing(
    top: Element, bodies: list[Body], joints: _Joints, skeleton: Skeleton, up: Quat, notes: list[str]
) -> Floats | None:
    """Return (D,) the values of a keyframe in which the robot stands."""
    keys = {key.attributes.get("name", ""): key for block in top.all("keyframe") for key in block.all("key")}
    name = next((name for name in STANDING if name in keys), None) or next(
        (name for name in keys if any(word in name.lower() for word in STANDING)), None
    )
    if name is None or not keys[name].attributes.get("qpos"):
        return None
    words = keys[name].several("qpos", 10 * MAX_JOINTS, ())
    starts: dict[Element, int] = {}
    count = 0
    for body in bodies:
        for joint, _ in body.joints:
            starts[joint] = count
            count += POSITIONS[joint.attributes.get("type", "hinge")]
    if not all(abs(word) <= EXTENT for word in words):
        keys[name].fail(f"its qpos has numbers beyond {EXTENT:g}")
    if len(words) != count:
        notes.append(f"the keyframe {name!r} has {len(words)} numbers for {count}; it is left out")
        return None
    values = np.zeros(len(skeleton.dofs))
    for j, d in joints.first_dof(skeleton).items():
        if skeleton.kinds[j] in ("hinge", "slide"):
            values[d] = words[starts[joints.elements[j]]]
    pose = skeleton.from_values(values)
    for j, joint in joints.elements.items():
        at = starts[joint]
        if skeleton.kinds[j] == "free":
            pose.translation[:] = rotated(up, (words[at], words[at + 1], words[at + 2]))
            pose.rotations[j] = times(up, _unit(words[at + 3 : at + 7]))
        elif skeleton.kinds[j] == "ball":
            pose.rotations[j] = times(tuple(pose.rotations[j].tolist()), _unit(words[at : at + 4]))
    return skeleton.values(pose)


def _unit(q: tuple[float, ...]) -> Quat:
    """Return a unit quaternion; as MuJoCo has it, one without a direction is the identity."""
    length = math.hypot(*q)
    if not 1e-9 < length < math.inf:
        return IDENTITY
    return (q[0] / length, q[1] / length, q[2] / length, q[3] / length)


def _shapes(bodies: list[Body], settings: Settings, notes: list[str]) -> tuple[tuple[Shape, ...], tuple[Shape, ...]]:
    """Return what is seen, and what touches."""
    seen: list[Shape] = []
    touching: list[Shape] = []
    for body in bodies:
        if body.carrier < 0:
            continue
        for geom, frame in body.geoms:
            if len(seen) >= MAX_SHAPES or len(touching) >= MAX_SHAPES:
                notes.append(f"shapes beyond {MAX_SHAPES} are left out")
                return tuple(seen), tuple(touching)
            shape = _shape(geom, frame, body.carrier, settings)
            if shape is None:
                continue
            group = int(geom.number("group", 0.0))
            contact = any(geom.number(key, 1.0) != 0.0 for key in ("contype", "conaffinity"))
            if shape.kind != "mesh" and (contact or group == HIDDEN_GROUP):
                touching.append(shape)
            if group < HIDDEN_GROUP and geom.several("rgba", 4, GREY)[-1] > 0.0:
                seen.append(shape)
    return tuple(seen), tuple(touching)


def _shape(geom: Element, frame: Transform, joint: int, settings: Settings) -> Shape | None:
    kind = geom.attributes.get("type", "sphere")
    name = geom.attributes.get("name", "")
    if kind == "mesh":
        mesh = settings.mesh(geom)
        if mesh is None:
            return None
        position, rotation = _inside(geom, within(frame, transform_of(geom, settings)))
        return Shape(
            joint, kind, np.ones(3), np.array(position), np.array(rotation), _colour(geom, settings), name, mesh
        )
    if kind not in PRIMITIVES:
        return None
    if "mesh" in geom.attributes:
        reason = "shape fitted to a mesh is left out", "shapes fitted to meshes are left out"
        settings.meshes.lose(reason, geom.attributes["mesh"])
        return None
    sizes = [*geom.several("size", 3, ()), 0.0, 0.0, 0.0][: PRIMITIVES[kind]]
    position, rotation = transform_of(geom, settings)
    if "fromto" in geom.attributes and kind != "sphere":
        (position, rotation), half = _between(geom)
        sizes = [sizes[0], half] if PRIMITIVES[kind] == 2 else [sizes[0], sizes[0], half]
    if not all(0.0 < size <= EXTENT for size in sizes):
        said = " ".join(f"{size:g}" for size in sizes)
        geom.fail(f"the sizes of a {kind} are {said}; expected numbers above 0, up to {EXTENT:g}")
    size = np.array(sizes) * {"box": 2.0, "cylinder": (1.0, 2.0), "capsule": (1.0, 2.0)}.get(kind, 1.0)
    position, rotation = _inside(geom, within(frame, (position, rotation)))
    return Shape(joint, kind, size, np.array(position), np.array(rotation), _colour(geom, settings), name)


def _inside(element: Element, transform: Transform) -> Transform:
    """Return a transform; fail where its position is none."""
    if not all(abs(x) <= EXTENT for x in transform[0]):
        element.fail(f"its position is not within {EXTENT:g} m")
    return transform


def _between(geom: Element) -> tuple[Transform, float]:
    """Return the transform of a shape along z between two points, and half their distance.

    As MuJoCo has it, z points to the first.
    """
    a, b, c, x, y, z = geom.numbers("fromto", (0.0,) * 6).tolist()
    length = math.hypot(a - x, b - y, c - z)
    if not 1e-10 < length < math.inf:
        geom.fail("its two ends are one point")
    u, v, w = (a - x) / length, (b - y) / length, (c - z) / length
    q = (1.0 + w, -v, u) if w > -1.0 + 1e-12 else (0.0, 1.0, 0.0)
    norm = math.hypot(*q)
    middle = (0.5 * (a + x), 0.5 * (b + y), 0.5 * (c + z))
    return (middle, (q[0] / norm, q[1] / norm, q[2] / norm, 0.0)), 0.5 * length


def _colour(geom: Element, settings: Settings) -> tuple[int, int, int] | None:
    rgba: Mapping[str, str] | None = geom.attributes if "rgba" in geom.attributes else None
    own = geom.numbers("rgba", GREY) if rgba is not None else None
    if own is None or tuple(own.tolist()) == GREY:
        own = settings.material(geom.attributes.get("material", ""))
    if own is None:
        return None
    red, green, blue = (round(255 * min(max(float(c), 0.0), 1.0)) for c in own[:3])
    return red, green, blue
