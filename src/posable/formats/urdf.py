"""URDF robots as skeletons: revolute and continuous joints are hinges, prismatic ones slides.

`yourdfpy` was tried and not taken: it takes 0.7 to 2.5 s to import, expands the entities of a document type (so a small
file can fill memory), and its errors name no place. Kinematics need a dozen attributes, read here with the standard
library's expat: any document type is refused, sizes are bounded, and no other file is touched (of what is seen of a
robot, boxes, cylinders and spheres are read; meshes are passed over).

A joint of ours is a URDF joint with the frame of its child link, in any order of the file; the root is the root link.
URDF has z up and x forward: the root turns that into our y up and z forward, unless `up="z"` keeps it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn
from xml.parsers import expat

import numpy as np

from .. import math as pm
from ..compute import FormatError, UnknownNameError
from ..compute.files import read_bytes
from ..compute.types import ArrayLike, Floats, Ints
from ..skeleton import Motion, Pose, Skeleton

KINDS = {"revolute": "hinge", "continuous": "hinge", "prismatic": "slide", "fixed": "fixed"}
UP = {"y": (0.5, -0.5, -0.5, -0.5), "z": (1.0, 0.0, 0.0, 0.0)}  # x, y, z become z, x, y
SHAPES = {"box": ("size",), "cylinder": ("radius", "length"), "sphere": ("radius",)}
FPS = 30.0
MAX_BYTES = 64 * 2**20
MAX_ELEMENTS = 200_000
MAX_JOINTS = 10_000
MAX_SHAPES = 10_000  # that are seen; more are left out
MAX_DEPTH = 64


@dataclass(frozen=True)
class Mimic:
    """A joint that follows another: value = multiplier * leader's value + offset [rad or m]."""

    dof: int
    leader: int
    multiplier: float
    offset: float


@dataclass(frozen=True, eq=False)
class Shape:
    """A box, a cylinder or a sphere that is seen of a link."""

    joint: int
    """Of the skeleton: the shape moves with it."""
    kind: str
    """"box", "cylinder" or "sphere"."""
    size: Floats
    """Edges (3,) of a box, radius and length along z (2,) of a cylinder, radius (1,) of a sphere [m]."""
    position: Floats
    """(3,) its centre in the joint's frame [m]."""
    orientation: Floats
    """(4,) in the joint's frame."""
    colour: tuple[int, int, int] | None
    """0 to 255, where the file says one."""


@dataclass(frozen=True, eq=False)
class UrdfModel:
    """A robot: its skeleton, and for each of the skeleton's DoF what the file says of its motor."""

    name: str
    skeleton: Skeleton
    links: tuple[str, ...]
    """(J,) the link that moves with each joint."""
    lower: Floats
    """(D,) [rad or m], -inf where there is no limit."""
    upper: Floats
    """(D,) [rad or m], inf where there is no limit."""
    velocity: Floats
    """(D,) [rad/s or m/s], inf where the file says nothing."""
    mimics: tuple[Mimic, ...]
    """The joints that follow others, leaders before followers."""
    notes: tuple[str, ...] = ()
    shapes: tuple[Shape, ...] = ()
    """What is seen of it, where that is no mesh."""

    def __repr__(self) -> str:
        return (
            f"UrdfModel({self.name[:40]!r}, {len(self.links)} links, {len(self.lower)} DoF, {len(self.mimics)} mimics)"
        )

    @property
    def independent(self) -> Ints:
        """The DoF that follow no other."""
        followers = {mimic.dof for mimic in self.mimics}
        return np.array([d for d in range(len(self.lower)) if d not in followers], dtype=np.int64)

    def coupled(self, values: ArrayLike) -> Floats:
        """Values of all DoF (..., D) with those of mimicking joints set from their leaders."""
        full = np.array(values, dtype=np.float64)
        for mimic in self.mimics:
            full[..., mimic.dof] = mimic.multiplier * full[..., mimic.leader] + mimic.offset
        return full


def read(path: Path, *, fps: float = FPS, up: str = "y") -> Motion:
    """Read a robot as a motion of one frame, all joints at zero (mimicking ones where that puts them)."""
    model = read_urdf(path, up=up)
    zero = model.skeleton.from_values(model.coupled(np.zeros((1, len(model.lower)))))
    pose = Pose(zero.translation, zero.rotations, zero.offsets)
    return Motion(model.skeleton, pose, fps, model.name, model.notes)


def read_urdf(path: str | Path, *, up: str = "y", free_root: bool = False) -> UrdfModel:
    """Read a robot's kinematics.

    Args:
        path: the `.urdf` file.
        up: "y" rotates the robot into our axes (y up, z forward); "z" keeps its own.
        free_root: whether the root link may move, or stands fixed in the world.
    """
    if up not in UP:
        raise UnknownNameError("up axis", up, UP)
    robot = read_xml(Path(path))
    if robot.tag != "robot":
        robot.fail(f"the outermost element is <{robot.tag}>; a URDF file has <robot>")
    links = _links(robot)
    joints = [joint for joint in robot.all("joint") if "type" in joint.attributes]
    if len(joints) > MAX_JOINTS:
        robot.fail(f"the robot has {len(joints)} joints; at most {MAX_JOINTS} are read")
    root, order = _sorted(robot, links, joints)
    notes: list[str] = []
    kinds = ["free" if free_root else "fixed", *map(_kind, order)]
    if other := [joint for joint in order if joint.text("type") not in KINDS]:
        what = ", ".join(f"{joint.text('name')[:60]!r} ({joint.text('type')})" for joint in other[:3])
        more = f" and {len(other) - 3} more" if len(other) > 3 else ""
        notes.append(f"joints of kinds that none of ours can be are fixed: {what}{more}")
    index = {link: j for j, link in enumerate([root, *(_end(joint, "child") for joint in order)])}
    origins = [joint.first("origin") for joint in order]
    offsets = [np.zeros(3), *(_vector(origin, "xyz") for origin in origins)]
    rests = np.concatenate([[UP[up]], _rotations([_vector(origin, "rpy") for origin in origins])])
    axes = np.array([np.array([1.0, 0.0, 0.0]), *(_axis(joint) for joint in order)])
    parents = [-1, *(index[_end(joint, "parent")] for joint in order)]
    skeleton = Skeleton(_names(root, order), parents, np.array(offsets), rest_rotations=rests, kinds=kinds, axes=axes)
    lower, upper, velocity = _limits(skeleton, order)
    mimics = _mimics(skeleton, order)
    if mimics:
        names = ", ".join(skeleton.names[skeleton.dofs.joint[mimic.dof]] for mimic in mimics[:3])
        follow = "1 joint follows another" if len(mimics) == 1 else f"{len(mimics)} joints follow others"
        notes.append(f"{follow} ({names}{', ...' if len(mimics) > 3 else ''})")
    name = robot.attributes.get("name", "")
    shapes = _shapes(robot, index)
    return UrdfModel(name, skeleton, tuple(index), lower, upper, velocity, mimics, tuple(notes), shapes)


def _links(robot: Element) -> list[str]:
    names = [link.text("name") for link in robot.all("link")]
    if not names:
        robot.fail("the robot has no links")
    if len(set(names)) < len(names):
        robot.fail(f"two links are called {Counter(names).most_common(1)[0][0]!r}")
    return names


def _sorted(robot: Element, links: list[str], joints: list[Element]) -> tuple[str, list[Element]]:
    """The root link and the joints, each after the one it hangs on; the file may list them in any order."""
    known = set(links)
    below: dict[str, list[Element]] = {link: [] for link in links}
    carried: dict[str, Element] = {}
    for joint in joints:
        for end in ("parent", "child"):
            if _end(joint, end) not in known:
                joint.fail(f"its {end} link {_end(joint, end)!r} does not exist")
        child = _end(joint, "child")
        if child in carried:
            joint.fail(f"the link {child!r} hangs on two joints")
        carried[child] = joint
        below[_end(joint, "parent")].append(joint)
    roots = [link for link in links if link not in carried]
    if len(roots) != 1:
        found = ", ".join(map(repr, roots[:5])) or "none: the joints run in a circle"
        robot.fail(f"a robot has one root link; found {found}")
    order: list[Element] = []
    waiting = list(reversed(below[roots[0]]))
    while waiting:
        joint = waiting.pop()
        order.append(joint)
        waiting.extend(reversed(below[_end(joint, "child")]))
    if len(order) < len(joints):
        met = set(order)
        lost = next(joint for joint in joints if joint not in met)
        lost.fail("it hangs on itself: the joints run in a circle")
    return roots[0], order


def _names(root: str, joints: list[Element]) -> list[str]:
    names: dict[str, Element] = {}
    for joint in joints:
        if joint.text("name") in names:
            joint.fail(f"two joints are called {joint.text('name')!r}")
        names[joint.text("name")] = joint
    while root in names:
        root += "_link"
    return [root, *names]


def _kind(joint: Element) -> str:
    kind = joint.text("type")
    if kind in ("floating", "planar"):
        return "fixed"
    if kind not in KINDS:
        joint.fail(f"its type is {kind!r}; expected {', '.join(KINDS)}, floating or planar")
    return KINDS[kind]


def _end(joint: Element, which: str) -> str:
    found = joint.first(which)
    if found is None:
        joint.fail(f"it has no <{which}>")
    return found.text("link")


def _vector(element: Element | None, key: str, default: tuple[float, ...] = (0.0, 0.0, 0.0)) -> Floats:
    return np.array(default) if element is None else element.numbers(key, default)


def _rotations(angles: list[Floats]) -> Floats:
    """(N, 4) the rotations of origins by roll, pitch and yaw [rad] about fixed x, y and z."""
    return np.asarray(pm.from_euler("ZYX", np.array(angles).reshape(-1, 3)[:, ::-1])).reshape(-1, 4)


def _axis(joint: Element) -> Floats:
    axis = _vector(joint.first("axis"), "xyz", (1.0, 0.0, 0.0))
    length = math.hypot(*axis.tolist())
    if not 1e-9 <= length < math.inf:
        if KINDS.get(joint.text("type")) in ("hinge", "slide"):
            joint.fail("its axis has no direction")
        return np.array([1.0, 0.0, 0.0])
    return np.asarray(axis / length)


def _limits(skeleton: Skeleton, joints: list[Element]) -> tuple[Floats, Floats, Floats]:
    """(lower, upper, velocity), (D,) each."""
    count = len(skeleton.dofs)
    lower, upper, velocity = np.full(count, -np.inf), np.full(count, np.inf), np.full(count, np.inf)
    for d, j in enumerate(skeleton.dofs.joint.tolist()):
        limit = joints[j - 1].first("limit") if j else None
        if limit is None:
            continue
        if joints[j - 1].text("type") != "continuous":
            lower[d] = limit.number("lower", 0.0)
            upper[d] = limit.number("upper", 0.0)
            if lower[d] > upper[d]:
                limit.fail(f"the lower limit {lower[d]:g} is above the upper one {upper[d]:g}")
        velocity[d] = limit.number("velocity", np.inf)
    return lower, upper, velocity


def _mimics(skeleton: Skeleton, joints: list[Element]) -> tuple[Mimic, ...]:
    dof_of = {skeleton.names[j]: d for d, j in enumerate(skeleton.dofs.joint.tolist()) if j}
    waiting: dict[int, tuple[Mimic, Element]] = {}
    for joint in joints:
        follow = joint.first("mimic")
        if follow is None or joint.text("name") not in dof_of:
            continue
        leader = follow.text("joint")
        if leader not in dof_of:
            follow.fail(f"it follows {leader!r}, which is no moving joint")
        dof = dof_of[joint.text("name")]
        factors = follow.number("multiplier", 1.0), follow.number("offset", 0.0)
        waiting[dof] = Mimic(dof, dof_of[leader], *factors), follow
    followers: dict[int, list[int]] = {}
    for dof, (mimic, _) in waiting.items():
        followers.setdefault(mimic.leader, []).append(dof)
    ready = [dof for dof, (mimic, _) in waiting.items() if mimic.leader not in waiting]
    for dof in ready:  # which grows: who follows a joint comes after it
        ready += followers.get(dof, [])
    if len(ready) < len(waiting):
        known = set(ready)
        next(follow for dof, (_, follow) in waiting.items() if dof not in known).fail(
            "joints follow each other in a circle"
        )
    return tuple(waiting[dof][0] for dof in ready)


def _shapes(robot: Element, index: Mapping[str, int]) -> tuple[Shape, ...]:
    """The visuals that are boxes, cylinders and spheres; a broken one is left out and keeps no robot from moving."""
    colours = {material.attributes.get("name", ""): _colour(material) for material in robot.all("material")}
    shapes = []
    for link in robot.all("link"):
        for visual in link.all("visual"):
            try:
                shape = _shape(visual, index[link.text("name")], colours)
            except FormatError:
                continue
            if shape is not None:
                shapes.append(shape)
            if len(shapes) == MAX_SHAPES:
                return tuple(shapes)
    return tuple(shapes)


def _shape(visual: Element, joint: int, colours: Mapping[str, tuple[int, int, int] | None]) -> Shape | None:
    geometry, origin, material = (visual.first(tag) for tag in ("geometry", "origin", "material"))
    kind = next((kind for kind in SHAPES if geometry is not None and geometry.first(kind) is not None), None)
    if geometry is None or kind is None or (found := geometry.first(kind)) is None:
        return None
    if kind == "box":
        size = found.numbers("size", (0.0, 0.0, 0.0))
    else:
        size = np.array([found.number(name, 0.0) for name in SHAPES[kind]])
    if not (size > 0.0).all():
        return None
    colour = None if material is None else _colour(material) or colours.get(material.attributes.get("name", ""))
    return Shape(joint, kind, size, _vector(origin, "xyz"), _rotations([_vector(origin, "rpy")])[0], colour)


def _colour(material: Element) -> tuple[int, int, int] | None:
    element = material.first("color")
    try:
        rgba = None if element is None or "rgba" not in element.attributes else element.numbers("rgba", (0.0,) * 4)
    except FormatError:
        rgba = None
    if rgba is None:
        return None
    red, green, blue = (round(255 * min(max(float(c), 0.0), 1.0)) for c in rgba[:3])
    return red, green, blue


@dataclass(eq=False)
class Element:
    """An XML element: its tag, attributes, children and line in the file. Text between tags is not stored."""

    path: Path
    line: int
    tag: str
    attributes: dict[str, str]
    children: list[Element] = field(default_factory=list)

    def fail(self, message: str) -> NoReturn:
        """Raise the error for this element."""
        name = self.attributes.get("name")
        called = f"<{self.tag}>" if name is None else f"<{self.tag} name={name[:60]!r}>"
        raise FormatError(self.path, message, f"line {self.line}, {called}")

    def all(self, tag: str) -> list[Element]:
        """The children with a tag."""
        return [child for child in self.children if child.tag == tag]

    def first(self, tag: str) -> Element | None:
        """The first child with a tag."""
        return next((child for child in self.children if child.tag == tag), None)

    def text(self, key: str) -> str:
        """An attribute that must be there."""
        if not self.attributes.get(key):
            self.fail(f"it has no {key!r}")
        return self.attributes[key]

    def number(self, key: str, default: float) -> float:
        """An attribute that is a finite number."""
        return default if key not in self.attributes else self._finite(key, self.attributes[key])

    def numbers(self, key: str, default: tuple[float, ...]) -> Floats:
        """An attribute that is as many finite numbers as the default has."""
        if key not in self.attributes:
            return np.array(default)
        words = self.attributes[key].split()
        if len(words) != len(default):
            self.fail(f"{key} is {self.attributes[key][:60]!r}; expected {len(default)} numbers")
        return np.array([self._finite(key, word) for word in words])

    def _finite(self, key: str, word: str) -> float:
        try:
            value = float(word)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            self.fail(f"{key} is {self.attributes[key][:60]!r}; expected finite numbers")
        return value


def read_xml(path: Path) -> Element:
    """Return the outermost element of a file; document types and entities are refused, sizes are bounded."""
    data = read_bytes(path, MAX_BYTES)
    parser = expat.ParserCreate()
    top = Element(path, 0, "", {})
    stack = [top]
    count = 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal count
        count += 1
        if count > MAX_ELEMENTS or len(stack) > MAX_DEPTH:
            problem = f"more than {MAX_ELEMENTS} elements" if count > MAX_ELEMENTS else "elements nested too deeply"
            raise FormatError(path, problem, f"line {parser.CurrentLineNumber}")
        element = Element(path, parser.CurrentLineNumber, tag, attributes)
        stack[-1].children.append(element)
        stack.append(element)

    def end(tag: str) -> None:
        stack.pop()

    def refuse(*_: Any) -> NoReturn:
        raise FormatError(path, "has a document type; such files are not read", f"line {parser.CurrentLineNumber}")

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        location = f"line {error.lineno} column {error.offset}"
        raise FormatError(path, f"broken XML: {expat.ErrorString(error.code)}", location) from None
    except (LookupError, ValueError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(path, f"broken XML: {str(error)[:100]}") from None  # an encoding nobody knows
    return top.children[0]
