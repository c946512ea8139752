"""URDF robots as skeletons: revolute and continuous joints are hinges, prismatic ones slides.

`yourdfpy` was tried and not taken: it takes 0.7 to 2.5 s to import, expands the entities of a document type (so a small
file can fill memory), and its errors name no place. Kinematics need a dozen attributes, read here with the standard
library's expat: any document type is refused and sizes are bounded. Meshes are looked for beside the file.

A joint of ours is a URDF joint with the frame of its child link, in any order of the file; the root is the root link.
URDF has z up and x forward: the root turns that into our y up and z forward, unless `up="z"` keeps it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping

import numpy as np

from ... import math as pm
from ...compute import FormatError
from ...compute.extent import EXTENT
from ...compute.types import Floats
from ...skeleton import Mimic, Robot, Shape, Skeleton
from ...skeleton.robot import UP
from .coupling import leaders_first
from .meshes import MeshFolder, Transformed
from .pairs import separate_pairs
from .xml import Element

KINDS = {"revolute": "hinge", "continuous": "hinge", "prismatic": "slide", "fixed": "fixed"}
SHAPES = {"box": ("size",), "cylinder": ("radius", "length"), "sphere": ("radius",), "mesh": ("filename",)}
MAX_JOINTS = 10_000
MAX_SHAPES = 10_000  # that are seen; more are left out


def read_urdf(robot: Element, *, up: str) -> Skeleton:
    """Return the skeleton of a robot from the outermost element of its file, with its record."""
    links = _links(robot)
    joints = [joint for joint in robot.all("joint") if "type" in joint.attributes]
    if len(joints) > MAX_JOINTS:
        robot.fail(f"the robot has {len(joints)} joints; at most {MAX_JOINTS} are read")
    root, order = _sorted(robot, links, joints)
    notes: list[str] = []
    kinds = ["fixed", *map(_kind, order)]
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
    limits = _limits(skeleton, order)
    mimics = _mimics(skeleton, order)
    if mimics:
        names = ", ".join(skeleton.names[skeleton.dofs.joint[mimic.dof]] for mimic in mimics[:3])
        follow = "1 joint follows another" if len(mimics) == 1 else f"{len(mimics)} joints follow others"
        notes.append(f"{follow} ({names}{', ...' if len(mimics) > 3 else ''})")
    followers = {mimic.dof for mimic in mimics}
    meshes = MeshFolder(robot.path)
    record = Robot(
        robot.attributes.get("name", ""),
        tuple(index),
        *limits,
        mimics,
        _shapes(robot, index, "visual", meshes),
        collisions := _shapes(robot, index, "collision", None),
        separate_pairs(skeleton, tuple(index), collisions),
        motors=tuple(d for d in range(len(skeleton.dofs)) if d not in followers),
        up=up,
        notes=(*notes, *meshes.notes),
    )
    return skeleton.replace(robot=record)


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


def _limits(skeleton: Skeleton, joints: list[Element]) -> tuple[Floats, Floats, Floats, Floats]:
    """(lower, upper, velocity, effort), (D,) each."""
    upper, velocity, effort = (np.full(len(skeleton.dofs), np.inf) for _ in range(3))
    lower = -upper
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
        effort[d] = limit.number("effort", np.inf)
    return lower, upper, velocity, effort


def _mimics(skeleton: Skeleton, joints: list[Element]) -> tuple[Mimic, ...]:
    """The joints that follow others; a circle of them is refused."""
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
    ordered = leaders_first({dof: mimic for dof, (mimic, _) in waiting.items()})
    if len(ordered) < len(waiting):
        known = {mimic.dof for mimic in ordered}
        next(follow for dof, (_, follow) in waiting.items() if dof not in known).fail(
            "joints follow each other in a circle"
        )
    return ordered


def _shapes(robot: Element, index: Mapping[str, int], tag: str, meshes: MeshFolder | None) -> tuple[Shape, ...]:
    """Return the shapes of a tag, without meshes where no folder is given for them.

    A broken one is left out and keeps no robot from moving.
    """
    colours = {material.attributes.get("name", ""): _colour(material) for material in robot.all("material")}
    shapes = []
    for link in robot.all("link"):
        for visual in link.all(tag):
            try:
                shape = _shape(visual, index[link.text("name")], colours, meshes)
            except FormatError:
                continue
            if shape is not None:
                shapes.append(shape)
            if len(shapes) == MAX_SHAPES:
                return tuple(shapes)
    return tuple(shapes)


def _shape(
    visual: Element,
    joint: int,
    colours: Mapping[str, tuple[int, int, int] | None],
    meshes: MeshFolder | None,
) -> Shape | None:
    geometry, origin, material = (visual.first(tag) for tag in ("geometry", "origin", "material"))
    kind = next((kind for kind in SHAPES if geometry is not None and geometry.first(kind) is not None), None)
    if geometry is None or kind is None or (found := geometry.first(kind)) is None:
        return None
    mesh = None
    if kind == "mesh":
        size = found.numbers("scale", (1.0, 1.0, 1.0))
        x, y, z = size.tolist()
        mesh = None if meshes is None else meshes.mesh(found.text("filename"), Transformed((x, y, z)))
        if mesh is None:
            return None
    elif kind == "box":
        size = found.numbers("size", (0.0, 0.0, 0.0))
    else:
        size = np.array([found.number(name, 0.0) for name in SHAPES[kind]])
    position = _vector(origin, "xyz")
    if not (kind == "mesh" or (size > 0.0).all()) or not (np.abs([*size, *position]) <= EXTENT).all():
        return None
    colour = None if material is None else _colour(material) or colours.get(material.attributes.get("name", ""))
    name = visual.attributes.get("name", "")
    return Shape(joint, kind, size, position, _rotations([_vector(origin, "rpy")])[0], colour, name, mesh)


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
