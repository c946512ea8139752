"""Pictures of limb ranges, as in Mukai's figures (b) and (c): what a hand or a foot can reach, and how it swivels.

Left, a figure with a net around its shoulder or hip: the farthest point its hand or foot goes to in each direction,
and the boundary of all directions. Right, the same sphere as a flat map (azimuthal, equal areas), with fans that open
towards where the elbow or knee may be.
"""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from ..body import figure
from ..compute import atomic_write, require
from ..compute.types import Floats, Ints
from ..limb import Limb, LimbRange
from ..limb.kernels import reference
from ..limb.model import ROLES, SIDES
from ..limb.range.sphere import sphere_mesh
from ..skeleton.character import vertex_normals
from .picture import look_of, screen_bounds
from .raster import Camera, Mesh, Pixels, draw

if TYPE_CHECKING:
    from ..body import Humanoid

RIM = (0.95, 0.53, 0.35)
NET, THICK = 0.0022, 0.007  # radii of the net's strings and of the rim [m]
FANS = 110  # the approximate number of fans on a map of the whole sphere
COLOURS = "twilight_shifted"  # a colour map that closes, as angles do


def net_picture(
    found: LimbRange,
    body: Humanoid | None = None,
    *,
    view: tuple[float, float] | None = None,
    size: tuple[int, int] = (640, 720),
) -> Pixels:
    """A figure with the net of a range around its joint, (size[1], size[0], 3) uint8.

    Args:
        found: the range; it is drawn in the body's own lengths.
        body: the body it is drawn on; the built-in figure when not given.
        view: azimuth and elevation of the eye [rad]; from the limb's side when not given.
        size: width and height [pixels].
    """
    body = figure() if body is None else body
    whole = found.for_limb(body.limb(found.name))
    frames = body.skeleton.forward(body.neutral_pose)
    look = look_of(body.skeleton, body)
    base = frames.positions[body.index(ROLES[found.name][0])]
    mesh = Mesh.join([look.mesh(frames.positions, frames.orientations), _net(whole, base)])
    side = -1.0 if found.name.startswith("right") else 1.0
    azimuth, elevation = (0.6 * side, 0.25) if view is None else view
    right, up, _ = Camera(np.zeros(3), azimuth, elevation, 1.0).axes
    low, high = screen_bounds(mesh, right, up)
    middle, (across, along) = (low + high) / 2.0, high - low
    width, height = size
    extent = 1.08 * float(max(along, across * height / width))
    camera = Camera(right * middle[0] + up * middle[1], azimuth, elevation, extent)
    return draw(mesh, camera, width, height, level=float(mesh.vertices[:, 1].min()))


def save_range_picture(found: LimbRange, path: str | os.PathLike[str], body: Humanoid | None = None) -> None:
    """Write a PNG with the net around a figure and the map of directions and swivels."""
    require("matplotlib", "plots")
    from matplotlib.figure import Figure

    page = Figure(figsize=(12.0, 6.2), dpi=90, layout="constrained")
    left, right = page.subplots(1, 2, width_ratios=[1.0, 1.05])
    left.imshow(net_picture(found, body))
    left.set_axis_off()
    _draw_map(right, found)
    report, name = found.report, found.name.replace("_", " ")
    page.suptitle(f"{name}: learned from {report.examples:,} poses, {100 * report.area:.0f} % of all directions")
    with atomic_write(path) as temporary:
        page.savefig(temporary, format="png")


def _in_world(name: str, vectors: Floats) -> Floats:
    """Vectors of a limb's frame in the world of a standing body."""
    return np.asarray(vectors @ np.array(SIDES[name].axes, dtype=np.float64))


def _hues(angles: Floats) -> Floats:
    """(N, 3) colours of swivels, the same for the same angle; grey levels where matplotlib is not at hand."""
    import importlib.util

    fraction = np.mod(angles / (2.0 * math.pi) + 0.5, 1.0)
    if importlib.util.find_spec("matplotlib") is None:
        return np.repeat(0.3 + 0.5 * fraction[:, None], 3, axis=1)
    from matplotlib import colormaps

    return np.asarray(colormaps[COLOURS](fraction))[:, :3]


def _net(found: LimbRange, base: Floats) -> Mesh:
    """Return strings between the farthest points in neighbouring directions, and the rim, in the world [m]."""
    triangles = sphere_mesh(len(found.table)).triangles[found.valid]
    pairs = np.concatenate([triangles[:, [k, (k + 1) % 3]] for k in range(3)])
    pairs = np.unique(np.sort(pairs, axis=1), axis=0)
    length = found.upper + found.lower
    points = base + _in_world(found.name, found.directions * (found.table.high * length)[:, None])
    parts = [_tubes(points, pairs, NET, _hues(found.table.mid))]
    for loop in found.boundary():
        far = found.spans(loop).high
        rim = base + _in_world(found.name, loop * far[:, None])
        around = np.stack([np.arange(len(rim)), np.roll(np.arange(len(rim)), -1)], axis=-1)
        parts.append(_tubes(rim, around, THICK, np.tile(RIM, (len(rim), 1))))
    return Mesh.join(parts)


def _tubes(points: Floats, pairs: Ints, radius: float, colours: Floats, sides: int = 5) -> Mesh:
    """Return thin prisms between pairs of points."""
    a, b = points[pairs[:, 0]], points[pairs[:, 1]]
    along = b - a
    along /= np.maximum(np.linalg.norm(along, axis=-1, keepdims=True), 1e-9)
    across = np.cross(along, np.eye(3)[np.argmin(np.abs(along), axis=1)])
    across /= np.linalg.norm(across, axis=-1, keepdims=True)
    other = np.cross(along, across)
    angle = 2.0 * math.pi * np.arange(sides) / sides
    ring = radius * (np.cos(angle)[None, :, None] * across[:, None] + np.sin(angle)[None, :, None] * other[:, None])
    vertices = np.concatenate([a[:, None] + ring, b[:, None] + ring], axis=1).reshape(-1, 3)
    k = np.arange(sides)
    after = (k + 1) % sides
    one = np.concatenate([np.stack([k, after, k + sides], -1), np.stack([after, after + sides, k + sides], -1)])
    faces = (one[None] + (2 * sides * np.arange(len(pairs)))[:, None, None]).reshape(-1, 3)
    tints = np.repeat(colours[pairs], sides, axis=1).reshape(-1, 3)
    return Mesh(vertices, faces, vertex_normals(vertices, faces, merge=True), tints)


def _draw_map(axes: Any, found: LimbRange) -> None:
    """The directions on a flat map around the middle of the range, the whole sphere inside a circle of radius 2."""
    from matplotlib.collections import LineCollection, PolyCollection
    from matplotlib.patches import Circle

    mesh, table = sphere_mesh(len(found.table)), found.table
    world = _in_world(found.name, found.directions)
    middle = (world[mesh.triangles[found.valid]].sum(axis=1) * found.mesh_areas[found.valid, None]).sum(axis=0)
    middle /= np.linalg.norm(middle)
    flat = _flattened(world, middle)
    shown = mesh.triangles[found.valid]
    vectors = np.exp(1j * table.mid[shown]).sum(axis=1)
    axes.add_collection(
        PolyCollection(list(flat[shown]), facecolors=_hues(np.angle(vectors)), alpha=0.45, linewidths=0)
    )
    loops = [_flattened(_in_world(found.name, np.vstack([loop, loop[:1]])), middle) for loop in found.boundary()]
    axes.add_collection(LineCollection(loops, colors=[RIM], linewidths=2.5))
    for wedge in _fans(found, world, middle):
        axes.fill(wedge[:, 0], wedge[:, 1], color="0.15", alpha=0.75, linewidth=0)
    axes.add_patch(Circle((0.0, 0.0), 2.0, fill=False, color="0.6"))
    names = {"front": (0, 0, 1), "up": (0, 1, 0), "down": (0, -1, 0), "left": (1, 0, 0), "right": (-1, 0, 0)}
    for name, direction in (names | {"back": (0, 0, -1)}).items():
        x, y = _flattened(np.array([direction], dtype=np.float64), middle)[0]
        axes.plot(x, y, "+", color="black", markersize=7)
        axes.annotate(name, (x, y), xytext=(4, 4), textcoords="offset points", fontsize=9)
    joint = "elbow" if found.name.endswith("arm") else "knee"
    axes.set(xlim=(-2.1, 2.1), ylim=(-2.1, 2.1), aspect="equal")
    axes.set_title(f"all directions, seen from inside; the fans open to where the {joint} may be", fontsize=10)
    axes.set_axis_off()


def _flattened(directions: Floats, middle: Floats) -> Floats:
    """(N, 2): Lambert's azimuthal equal-area map around `middle`, up upwards, as seen from inside the sphere."""
    forward = middle if abs(middle[1]) < 0.95 else np.array([0.0, 0.0, 1.0]) - middle[2] * middle
    up = np.array([0.0, 1.0, 0.0]) if abs(middle[1]) < 0.95 else forward
    up = up - (up @ middle) * middle
    up /= np.linalg.norm(up)
    right = np.cross(middle, up)
    grow = np.sqrt(2.0 / np.maximum(1.0 + directions @ middle, 1e-9))
    return np.asarray(np.stack([grow * (directions @ right), grow * (directions @ up)], axis=-1))


def _fans(found: LimbRange, world: Floats, middle: Floats) -> list[Floats]:
    """Outlines of fans at some of the directions, open towards where the mid joint may be."""
    row = Limb(found.name, found.upper, found.lower).packed[0]
    every = max(1, len(found.table) // FANS)
    fans = []
    for i in np.flatnonzero(found.table.reached)[::every]:
        n = found.directions[i]
        u = np.array(reference(row, tuple(n.tolist()))[0])
        half = float(found.table.half[i])
        angle = row["sign"] * (found.table.mid[i] + np.linspace(-half, half, 24)) + row["offset"]
        toward = np.cos(angle)[:, None] * u + np.sin(angle)[:, None] * np.cross(u, n)
        step = n + 1e-3 * toward
        moved = _flattened(_in_world(found.name, step / np.linalg.norm(step, axis=-1, keepdims=True)), middle)
        centre = _flattened(world[i : i + 1], middle)
        arms = moved - centre
        arms *= 0.16 / np.maximum(np.linalg.norm(arms, axis=-1, keepdims=True), 1e-12)
        fans.append(np.concatenate([centre, centre + arms]))
    return fans
