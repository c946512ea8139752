"""The skin of a body that has volumes: one surface around all of them, without a seam, that bends with the joints.

The surface is where F(x) = sum_i exp(-d_i(x) / k_i) is 1: d_i is the distance of a point from volume i, negative
inside, and k_i how far that volume flows into its neighbours (a blend of signed distances as in Blinn, "A
generalization of algebraic surface drawing", 1982). It is found once for a body, on a grid, as the dual of its cells
("surface nets", Gibson 1998), and its vertices are then moved onto it by Newton's method. Where volumes are small, as
fingers are, the grid is finer; both parts overlap there, and lie on the same surface.

The body holds its arms and legs apart for it, so that only what belongs together flows together. A vertex follows the
joint whose volumes are closest, and its parent and children as far as theirs are about as close.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ... import math as pm
from ...collision import Volumes
from ...compute.types import Bools, Floats, Ints
from ...skeleton import Frames, Pose, Skeleton

if TYPE_CHECKING:
    from ...body import Humanoid

FLOW, FLOW_LEAST, FLOW_MOST = 0.14, 0.0012, 0.008
"""How far a volume flows into others: a fraction of its radius, and between these [m]."""
CELL, FINE_CELL, FINGER_CELL = 0.018, 0.0075, 0.0042
"""Edges of the grid's cells on a body of 1.75 m [m], for large volumes, for small ones, and for fingers."""
SPREAD = {"index": -0.30, "middle": -0.08, "ring": 0.16, "little": 0.42}
"""How far fingers are spread while the surface is made [rad], so that they do not flow together."""
SMALL = 0.032
"""Radius below which a volume is small, on a body of 1.75 m [m]."""
BEND = 0.32
"""How far the bend of a joint reaches into the parts around it, as a fraction of their radius."""
SMOOTHINGS = 4
"""How often a vertex takes the mean weights of its neighbours."""
REACH = 6.0
"""A volume counts up to so many times its flow, where its part of the sum is 0.0025."""
APART = {"upper_arm": (0.9, -1.0), "upper_leg": (0.2, -1.0)}
"""Where arms and legs point while the surface is made: sideways and up."""
CORNERS = np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)])
EDGES = np.array([(a, b) for a in range(8) for b in range(a + 1, 8) if np.abs(CORNERS[a] - CORNERS[b]).sum() == 1])


@dataclass(frozen=True)
class Skin:
    """A surface that follows joints.

    Attributes:
        vertices: (V, K, 3) in the frame of each of K joints [m].
        joints: (V, K).
        weights: (V, K), each row sums to 1.
        faces: (T, 3), counter-clockwise seen from outside.
        tones: (T,) of the volume that is closest: see `Volumes`.
    """

    vertices: Floats
    joints: Ints
    weights: Floats
    faces: Ints
    tones: Ints


_made: dict[tuple[bytes, ...], Skin] = {}
STORED = 8
"""Skins that are stored for the next body with the same volumes."""


def skin_of(volumes: Volumes, skeleton: Skeleton, body: Humanoid | None = None, depth: float = 0.0) -> Skin:
    """Return the skin of volumes, `depth` [m] below their surface; made once for bodies that are alike.

    `body` says which joints are arms and legs.
    """
    shapes = (volumes.packed.tobytes(), volumes.tones.tobytes(), skeleton.offsets.tobytes())
    key = (*shapes, repr((body is not None, depth)).encode())
    if key not in _made:
        while len(_made) >= STORED:
            _made.pop(next(iter(_made)))
        _made[key] = _make(volumes, skeleton, body, depth)
    return _made[key]


def _make(volumes: Volumes, skeleton: Skeleton, body: Humanoid | None, depth: float) -> Skin:
    frames = skeleton.forward(_spread(body) if body is not None else skeleton.rest)
    field = _Field(volumes, frames, depth)
    scale = float(field.high[:, 1].max() - field.low[:, 1].min()) / 1.75
    small = volumes.radii[:, :2].max(axis=1) < SMALL * scale
    fingers = np.isin(volumes.joints, [] if body is None else [*body.fingers.values()])
    regions = [(CELL, ~small)]
    for region in _regions(field, small):
        regions.append((FINGER_CELL if (region & fingers).any() else FINE_CELL, region))
    parts = [_surface(field, cell * scale, region, CELL * scale) for cell, region in regions if region.any()]
    vertices = np.concatenate([part[0] for part in parts])
    first = np.cumsum([0, *(len(part[0]) for part in parts)])
    faces = np.concatenate([part[1] + start for part, start in zip(parts, first)])
    for tone in np.unique(volumes.tones)[1:]:  # so that two colours meet along a line and not along triangles
        vertices, faces = _cut(vertices, faces, _margin(field.distances(vertices), volumes.tones == tone))
    distances = field.distances(vertices)
    joints, weights = _weights(distances, faces, volumes, skeleton)
    local = pm.rotate(pm.conjugate(frames.orientations[joints]), vertices[:, None] - frames.positions[joints])
    middles = field.distances(vertices[faces].mean(axis=1))
    return Skin(local, joints, weights, faces, volumes.tones[middles.argmin(axis=1)].astype(np.int64))


class _Field:
    """The volumes of a body in a pose, and the sum F over them."""

    def __init__(self, volumes: Volumes, frames: Frames, depth: float = 0.0) -> None:
        rotation, position = frames.orientations[volumes.joints], frames.positions[volumes.joints]
        self.start = position + pm.rotate(rotation, volumes.start)
        self.end = position + pm.rotate(rotation, volumes.end)
        self.round = np.array(volumes.kinds) == "capsule"
        # However thin a ghost is, no finger is turned inside out.
        thinnest = np.where(self.round, volumes.radii[:, :2].min(axis=1), volumes.radii.min(axis=1))
        self.radii = volumes.radii - np.minimum(depth, 0.4 * thinnest)[:, None]
        self.axes = pm.conjugate(pm.multiply(rotation, volumes.rotations))
        self.flow = np.clip(FLOW * thinnest, FLOW_LEAST, FLOW_MOST)
        margin = (volumes.radii.max(axis=1) + REACH * self.flow)[:, None]
        self.low = np.minimum(self.start, self.end) - margin
        self.high = np.maximum(self.start, self.end) + margin

    def distance(self, k: int, points: Floats) -> tuple[Floats, Floats]:
        """Return (N,) distances [m] of points (N, 3) from volume k, negative inside, and their gradients (N, 3)."""
        if self.round[k]:
            axis, (a, b) = self.end[k] - self.start[k], self.radii[k, :2]
            length = float(np.linalg.norm(axis))
            from_start = points - self.start[k]
            if length < 1e-9:
                fraction = np.zeros(len(points))
            else:
                along = from_start @ axis / length
                aside = np.linalg.norm(from_start - along[:, None] * axis / length, axis=1)
                slope = (a - b) / length  # the sine of the cone's half angle
                shift = aside * slope / np.sqrt(max(1.0 - slope**2, 1e-6))
                fraction = np.clip((along + shift) / length, 0.0, 1.0)
            away = from_start - fraction[:, None] * axis
            gap = np.linalg.norm(away, axis=1)
            return gap - (a + (b - a) * fraction), away / np.maximum(gap, 1e-9)[:, None]
        local = pm.rotate(self.axes[k], points - self.start[k])
        inner, outer = np.linalg.norm(local / self.radii[k], axis=1), local / self.radii[k] ** 2
        steep = np.maximum(np.linalg.norm(outer, axis=1), 1e-9)
        gradient = pm.rotate(pm.conjugate(self.axes[k]), outer / steep[:, None])
        return inner * (inner - 1.0) / steep, gradient

    def distances(self, points: Floats) -> Floats:
        """Return (N, V) the distance of each point from each volume [m]; 1 where it is far away."""
        found = np.ones((len(points), len(self.flow)))
        for k, near in self._near(points):
            found[near, k] = self.distance(k, points[near])[0]
        return found

    def project(self, points: Floats, steps: int = 3) -> Floats:
        """Move points (N, 3) near the surface onto it."""
        close = self._near(points)
        for _ in range(steps):
            total, slope = np.full(len(points), 1e-12), np.zeros(points.shape)
            for k, near in close:
                distance, gradient = self.distance(k, points[near])
                term = np.exp(-np.clip(distance / self.flow[k], -30.0, 30.0))
                total[near] += term
                slope[near] += (term / self.flow[k])[:, None] * gradient
            slope /= total[:, None]  # of -log F, which grows outwards
            step = np.log(total)[:, None] * slope / np.maximum((slope**2).sum(axis=1), 1e-9)[:, None]
            length = np.linalg.norm(step, axis=1, keepdims=True)
            points = points + step * np.minimum(1.0, 0.006 / np.maximum(length, 1e-12))
        return points

    def _near(self, points: Floats) -> list[tuple[int, Ints]]:
        """Return the volumes that count for points (N, 3), each with the points for which it does."""
        low, high = points.min(axis=0), points.max(axis=0)
        found = []
        for k in np.flatnonzero(((self.low < high) & (self.high > low)).all(axis=1)):
            inside = np.ones(len(points), dtype=bool)
            for axis in range(3):
                inside &= (points[:, axis] > self.low[k, axis]) & (points[:, axis] < self.high[k, axis])
            found.append((int(k), np.flatnonzero(inside)))
        return found


def _regions(field: _Field, chosen: Bools) -> list[Bools]:
    """Return the chosen volumes (V,) in groups that lie apart: a hand, a foot, a face."""
    from scipy.sparse.csgraph import connected_components

    which = np.flatnonzero(chosen)
    low, high = field.low[which], field.high[which]
    meet = ((low[:, None] < high[None]) & (low[None] < high[:, None])).all(axis=-1)
    count, label = connected_components(meet, directed=False)
    return [np.isin(np.arange(len(chosen)), which[label == k]) for k in range(count)]


def _surface(field: _Field, cell: float, requested: Bools, margin: float) -> tuple[Floats, Ints]:
    """Return vertices (V, 3) [m] and faces (T, 3) of the surface where a requested volume is closest, and a margin."""
    origin = field.low[requested].min(axis=0) - 2 * cell
    shape = np.ceil((field.high[requested].max(axis=0) - origin) / cell).astype(int) + 2
    total = np.zeros(shape)
    closest = np.full((2, *shape), np.inf)  # of all volumes that are not requested, and of those that are
    for k in range(len(field.flow)):
        first = np.clip(np.floor((field.low[k] - margin - origin) / cell).astype(int), 0, shape)
        last = np.clip(np.ceil((field.high[k] + margin - origin) / cell).astype(int), 0, shape)
        if (last <= first).any():
            continue
        axes = [np.arange(a, b) * cell + o for a, b, o in zip(first, last, origin)]
        points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
        distance = field.distance(k, points.reshape(-1, 3))[0].reshape(points.shape[:3])
        box = tuple(slice(a, b) for a, b in zip(first, last))
        total[box] += np.exp(-np.clip(distance / field.flow[k], -30.0, 30.0))
        which = int(requested[k])
        np.minimum(closest[which][box], distance, out=closest[which][box])
    vertices, faces = _surface_net(total - 1.0)
    corner = np.clip(np.rint(vertices).astype(int), 0, np.array(shape) - 1)
    ours = closest[1][tuple(corner.T)] < closest[0][tuple(corner.T)] + margin
    faces = faces[ours[faces].all(axis=1)]
    used = np.unique(faces)
    return field.project(origin + vertices[used] * cell), np.searchsorted(used, faces)


def _surface_net(values: Floats) -> tuple[Floats, Ints]:
    """Return vertices (V, 3), in cells, and faces (T, 3) around the positive values on a grid."""
    inside = values > 0.0
    corners = [tuple(slice(o, n - 1 + o) for o, n in zip(corner, values.shape)) for corner in CORNERS]
    count = np.sum([inside[corner] for corner in corners], axis=0)
    cells = np.stack(np.nonzero((count > 0) & (count < 8)), axis=1)
    number = np.full(np.array(values.shape) - 1, -1)
    number[tuple(cells.T)] = np.arange(len(cells))
    at = cells[:, None] + CORNERS
    value = values[at[..., 0], at[..., 1], at[..., 2]]  # (V, 8)
    a, b = value[:, EDGES[:, 0]], value[:, EDGES[:, 1]]
    crossed = (a > 0.0) != (b > 0.0)
    fraction = np.where(crossed, a / np.where(crossed, a - b, 1.0), 0.0)
    crossings = CORNERS[EDGES[:, 0]] + fraction[..., None] * (CORNERS[EDGES[:, 1]] - CORNERS[EDGES[:, 0]])
    vertices = cells + (crossings * crossed[..., None]).sum(axis=1) / crossed.sum(axis=1)[:, None]
    quads = []
    for axis in range(3):  # an edge of the grid that is crossed is ringed by four cells
        u, v = (axis + 1) % 3, (axis + 2) % 3
        here, there = (np.take(inside, np.arange(o, values.shape[axis] - 1 + o), axis=axis) for o in (0, 1))
        found = np.stack(np.nonzero(here != there), axis=1)
        found = found[(found[:, u] > 0) & (found[:, v] > 0)]
        found = found[(found[:, u] < number.shape[u]) & (found[:, v] < number.shape[v])]
        ring = []
        for du, dv in ((1, 1), (0, 1), (0, 0), (1, 0)):
            cell = found.copy()
            cell[:, u] -= du
            cell[:, v] -= dv
            ring.append(number[tuple(cell.T)])
        quad = np.stack(ring, axis=1)
        outwards = here[tuple(found.T)]
        quads.append(np.where(outwards[:, None], quad[:, ::-1], quad))
    quad = np.concatenate(quads)
    return vertices, np.concatenate([quad[:, [0, 2, 1]], quad[:, [0, 3, 2]]])


def _margin(distances: Floats, chosen: Bools) -> Floats:
    """Return (N,) by how much the chosen volumes are farther than the others [m], given distances (N, V)."""
    margin: Floats = distances[:, chosen].min(axis=1) - distances[:, ~chosen].min(axis=1)
    return margin


def _cut(vertices: Floats, faces: Ints, values: Floats) -> tuple[Floats, Ints]:
    """Return a surface whose triangles are cut along the line where values (V,) of its vertices are zero."""
    side = values > 0.0
    mixed = side[faces].any(axis=1) & ~side[faces].all(axis=1)
    uncut, cut = faces[~mixed], faces[mixed]
    # The corner that is alone on its side comes first.
    alone = np.where(side[cut].sum(axis=1) == 1, side[cut].argmax(axis=1), (~side[cut]).argmax(axis=1))
    a, b, c = (np.take_along_axis(cut, (alone + k)[:, None] % 3, axis=1)[:, 0] for k in range(3))
    edges = np.sort(np.concatenate([np.stack([a, b], axis=1), np.stack([a, c], axis=1)]), axis=1)
    unique, number = np.unique(edges, axis=0, return_inverse=True)
    low, high = values[unique[:, 0]], values[unique[:, 1]]
    fraction = np.clip(low / np.where(low == high, 1.0, low - high), 0.02, 0.98)[:, None]
    new = vertices[unique[:, 0]] * (1.0 - fraction) + vertices[unique[:, 1]] * fraction
    ab, ac = (number.reshape(-1) + len(vertices)).reshape(2, -1)
    parts = [np.stack(corners, axis=1) for corners in ((a, ab, ac), (ab, b, c), (ab, c, ac))]
    return np.concatenate([vertices, new]), np.concatenate([uncut, *parts])


def _weights(
    distances: Floats, faces: Ints, volumes: Volumes, skeleton: Skeleton, most: int = 3
) -> tuple[Ints, Floats]:
    """Return joints (V, K) and weights (V, K) of vertices, given their distances (V, N) from volumes [m]."""
    from scipy.sparse import csr_array, diags_array

    count, owners = len(skeleton), volumes.joints
    closest, bend = np.full((len(distances), count), np.inf), np.ones(count)
    for joint in np.unique(owners):
        closest[:, joint] = distances[:, owners == joint].min(axis=1)
        bend[joint] = BEND * np.median(volumes.radii[owners == joint, :2].max(axis=1))
    main = closest.argmin(axis=1)
    related = np.eye(count, dtype=bool)
    child = np.flatnonzero(skeleton.parents >= 0)
    related[child, skeleton.parents[child]] = related[skeleton.parents[child], child] = True
    beyond = closest - closest.min(axis=1, keepdims=True)
    weight = np.where(related[main], np.exp(-(np.minimum(beyond / bend[main][:, None], 50.0) ** 2)), 0.0)
    weight /= weight.sum(axis=1, keepdims=True)
    corners = np.concatenate([faces[:, [k, (k + 1) % 3]] for k in range(3)])
    corners = np.concatenate([corners, corners[:, ::-1], np.tile(np.arange(len(weight))[:, None], 2)])
    neighbours = csr_array((np.ones(len(corners)), tuple(corners.T)), shape=(len(weight), len(weight)))
    neighbours = diags_array(1.0 / neighbours.sum(axis=1)) @ neighbours
    for _ in range(SMOOTHINGS):  # the distances that decide have creases where two volumes are as close
        weight = neighbours @ weight
    joints = np.argsort(-weight, axis=1)[:, :most]
    chosen = np.take_along_axis(weight, joints, axis=1)
    chosen[chosen < 0.02] = 0.0
    return joints, chosen / chosen.sum(axis=1, keepdims=True)


def _spread(body: Humanoid) -> Pose:
    """Return the neutral pose with arms, legs and fingers held apart."""
    pose, skeleton = body.neutral_pose, body.skeleton
    apart = {
        role: pm.axis_angle((1.0, 0.0, 0.0), angle)
        for finger, angle in SPREAD.items()
        for role in body.fingers
        if role.endswith(f"_{finger}_proximal") and angle
    }
    if apart:
        pose = body.pose(body.canonical(pose).rotated(**apart), base=pose)
    for part, (sideways, up) in APART.items():
        end = "hand" if part == "upper_arm" else "foot"
        for side, sign in (("left", 1.0), ("right", -1.0)):
            if f"{side}_{part}" not in body.roles or f"{side}_{end}" not in body.roles:
                continue
            joint, tip = body.roles[f"{side}_{part}"], body.roles[f"{side}_{end}"]
            frames = skeleton.forward(pose)
            goal = np.array([sign * sideways, up, 0.0])
            rotation = pm.between(frames.positions[tip] - frames.positions[joint], goal)
            parent = frames.orientations[skeleton.parents[joint]]
            rotations = pose.rotations.copy()
            rotations[joint] = pm.multiply(pm.conjugate(parent), pm.multiply(rotation, frames.orientations[joint]))
            pose = pose.replace(rotations=rotations)
    return pose
