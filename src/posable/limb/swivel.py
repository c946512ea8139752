"""Preferred swivels as functions of the target, for `solve(preferred=...)`: where an elbow or a knee would be.

Besides an angle, one for each target, or a function of the positions, `preferred` may be one of these. They are given
the limb: any proportions, either side.

A table is one smooth field over directions and distances. A swivel is a unit vector; at V directions and K distances
the table has one each, and between them a position's swivel is the weighted sum of those around it. They are the field
with the smallest sum of distances to the examples (so half of them lie to either side: a median, which a few bad frames
do not move) plus `smooth` times the squared differences between neighbours. Where there are no examples the field
continues what is around as evenly as it can.

A file of a table is an archive (`compute.archive`), some 5 kB. Version 1 has the members `header` (JSON text as bytes),
`angles` (V, K) float32 [rad] and `distances` (K,) float64.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any, Literal, Protocol

import msgspec
import numpy as np

from ..compute import FormatError, PosableError, ShapeError, UnknownNameError, batch, kernel, prange
from ..compute.archive import read_archive, write_archive
from ..compute.extent import vec_in_extent
from ..compute.types import ArrayLike, Floats, Ints, Records, Vec3
from ..math.vector import dot, norm
from ..skeleton import Motion
from .kernels import reach_of, swivel_at
from .model import LIMBS
from .range.fit import Examples, Progress, batch_of, given_rows, read_motions
from .range.locate import RANGE, direction_of, locate, locate_rows
from .range.model import grid_of, mesh_rows, set_limb, to_right
from .range.sphere import MAX_SAMPLES, SphereMesh, sphere_mesh

if TYPE_CHECKING:
    from .limb import Limb

DIRECTIONS = 200
DISTANCES = (0.2, 0.4, 0.6, 0.8, 1.0)  # over the limb's length
SMOOTH = 10.0
TYPICAL_REACH = 70.0  # [cm] from shoulder to the pen's tip of the people measured: 30 for the upper arm, 40 beyond it
DEGREE = math.pi / 180.0
IN_FRONT = 0.3  # forward part of the target's direction from which on the model counts fully; from 0 on it fades in
OWN_WEIGHT = 0.1  # of the limb's own preferred swivel; the model's weight is the sine of its angle
ROUNDS = 8  # of iterative reweighting, by which least squares become a median
NEAREST = 0.05  # an example this near to the field counts no more for being nearer
VERSION = 1
MAX_BYTES = 100_000_000
MEMBERS = {"header": ("|u1", 1), "angles": ("<f4", 2), "distances": ("<f8", 1)}


class Header(msgspec.Struct, forbid_unknown_fields=True):
    """The header of a file."""

    format: Literal["posable-swivels"]
    version: Literal[1]
    limb: Literal["right_arm", "left_arm", "right_leg", "left_leg"]
    origin: dict[str, str]


class Preference(Protocol):
    """A value of `preferred` besides numbers and functions."""

    def swivels(self, limb: Limb, position: ArrayLike) -> Floats:
        """Return the preferred swivels (...) [rad] of a limb at positions (..., 3) [m] of its end, in its frame."""
        ...


class Sensorimotor:
    """The sensorimotor model of Soechting and Flanders (1989): how people raise and rotate the upper arm to point.

    People pointed at targets in the dark; they found the upper arm's elevation and yaw to be, in degrees,

        elevation = -4.0 + 1.10 R + 0.90 psi        yaw = 13.2 + 0.86 chi + 0.11 psi

    with the target's distance R [cm], azimuth chi (outwards) and elevation psi, seen from the shoulder. Kallmann 2008
    names it as a way to find the initial swivel. For arms only; a left arm is the mirror image.

    Checked: the coefficients stand like this in Simox, a robotics library (its `Soechting.h`, which takes them
    from Kondo's report "Inverse kinematics of a human arm"). The 1989 paper itself was not at hand. Simox also
    fixes what the angles are measured from. Against captured arms, in motion and not pointing, the model is nearer than
    a constant 30 degrees for some people and further off for others: docs/limbs.md has the numbers.

    Decided here: the measured people pointed with a pen, so R is counted in arm lengths, of which theirs is
    taken to be 70 cm. Only the upper arm's two angles count: the elbow goes to the side where they put it, and the
    hand stays on its target. They pointed at targets in front of them: beside and behind, and where the upper arm
    lies along the line to the target, the swivel goes over into the limb's own preferred one (`OWN_WEIGHT`,
    `IN_FRONT`).
    """

    def swivels(self, limb: Limb, position: ArrayLike) -> Floats:
        """Return the swivels (...) [rad] of an arm at positions (..., 3) [m], in its frame."""
        if not limb.name.endswith("arm"):
            raise PosableError(f"the sensorimotor model is of arms; this is a {limb.name}")
        positions, _, shape = batch_of(position, 0.0)
        out = np.empty(len(positions))
        sensorimotor_swivels(len(positions), limb.packed, positions, out)
        return out.reshape(shape)


class SwivelTable:
    """Swivels over directions and distances, learned from motions or made from a few examples.

    Made by `fit`, `from_examples`, `load` or `builtin`; immutable. The swivel changes continuously with the position.

    Args:
        name: the limb it was made for; it serves the one on the other side too, which is its mirror image.
        angles: (V, K) [rad] at V directions (`directions`, 50 or more) and K distances.
        distances: (K,) over the limb's length, growing.
        origin: notes on its source.
    """

    def __init__(
        self,
        name: str,
        angles: ArrayLike,
        distances: ArrayLike = DISTANCES,
        *,
        origin: Mapping[str, str] | None = None,
    ) -> None:
        if name not in LIMBS:
            raise UnknownNameError("limb", name, LIMBS)
        self.name, self.origin = name, dict(origin or {})
        self.distances: Floats = _checked_distances(distances)
        self.angles: Floats = np.array(angles, dtype=np.float64)
        if self.angles.ndim != 2 or self.angles.shape[1] != len(self.distances):
            raise ShapeError(f"angles have shape {self.angles.shape}; expected (V, {len(self.distances)})")
        if not np.isfinite(self.angles).all():
            raise PosableError("some angles of a table of swivels are not finite")
        self._mesh = _mesh_arrays(len(self.angles))
        self._cells = np.ascontiguousarray(np.stack([np.cos(self.angles), np.sin(self.angles)], axis=-1))
        for array in (self.angles, self.distances, self._cells):
            array.setflags(write=False)

    def __repr__(self) -> str:
        return f"SwivelTable({self.name!r}, {len(self.angles)} directions, {len(self.distances)} distances)"

    @property
    def directions(self) -> Floats:
        """(V, 3): the directions of the angles, in the frame of the limb it was made for."""
        return sphere_mesh(len(self.angles)).points * to_right(self.name)

    @classmethod
    def fit(
        cls,
        body: Any,
        limb: str,
        motions: Motion | Iterable[Motion],
        *,
        directions: int = DIRECTIONS,
        distances: ArrayLike = DISTANCES,
        smooth: float = SMOOTH,
        max_poses: int | None = None,
        seed: int = 0,
        progress: Progress | None = None,
    ) -> SwivelTable:
        """Learn from motions the median swivel of people for each direction and distance.

        Args:
            body: a `Humanoid`.
            limb: "right_arm", "left_arm", "right_leg" or "left_leg".
            motions: of this body, or of any others whose parts can be found.
            directions: of the table.
            distances: of the table, over the limb's length.
            smooth: weight of smoothness: a difference between neighbours counts as much as this many examples.
            max_poses: draw at most this many poses of each motion at random.
            seed: of that draw.
            progress: called now and then with the fraction done, 0 to 1.
        """
        if limb not in LIMBS:
            raise UnknownNameError("limb", limb, LIMBS)
        report = (lambda _: None) if progress is None else progress
        rows, _ = read_motions(body, limb, motions, max_poses, seed, lambda done: report(0.5 * done))
        return cls._learned(limb, rows, directions, distances, smooth, lambda done: report(0.5 + 0.5 * done))

    @classmethod
    def from_examples(
        cls,
        name: str,
        position: ArrayLike,
        swivel: ArrayLike,
        upper: ArrayLike,
        lower: ArrayLike,
        *,
        directions: int = DIRECTIONS,
        distances: ArrayLike = DISTANCES,
        smooth: float = SMOOTH,
        origin: Mapping[str, str] | None = None,
    ) -> SwivelTable:
        """Return the smooth table of some examples: a few designed ones, or many that were read.

        Args:
            name: which limb.
            position: (N, 3) [m] of its end, in its frame.
            swivel: (N,) [rad].
            upper: length of the upper bone [m], or (N,) of each pose.
            lower: length of the lower bone, likewise.
            directions: as for `fit`.
            distances: as for `fit`.
            smooth: as for `fit`; well below 1 for a few examples that must be met.
            origin: notes on their source.
        """
        made = cls._learned(name, given_rows(name, position, swivel, upper, lower), directions, distances, smooth)
        made.origin = dict(origin or {})
        return made

    @classmethod
    def _learned(
        cls,
        name: str,
        rows: Floats,
        directions: int,
        distances: ArrayLike,
        smooth: float,
        progress: Progress | None = None,
    ) -> SwivelTable:
        if not (math.isfinite(smooth) and smooth > 0.0):
            raise PosableError(f"smooth is {smooth}; expected more than 0")
        layers = _checked_distances(distances)
        examples = Examples.of(rows[:, :3] * to_right(name), rows[:, 3], rows[:, 4], rows[:, 5])
        if not examples.bent.any():
            raise PosableError(f"nothing to learn swivels of the {name} from: {len(rows)} poses, none of them bent")
        return cls(name, learn_swivels(examples, directions, layers, smooth, progress), layers)

    @classmethod
    def builtin(cls, name: str) -> SwivelTable:
        """Return the table that comes with Posable, learned from 78 people by `tools/fit_swivels.py`."""
        if name not in LIMBS:
            raise UnknownNameError("limb", name, LIMBS)
        kind = name.split("_")[1]
        with resources.as_file(resources.files("posable") / "assets" / "swivels" / f"{kind}.npz") as path:
            found = cls.load(path)
        return cls(name, found.angles, found.distances, origin=found.origin)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the table to a file, angles to 1e-7."""
        header = Header("posable-swivels", VERSION, self.name, self.origin)  # type: ignore[arg-type]  # one of LIMBS
        text = np.frombuffer(msgspec.json.encode(header), np.uint8)
        write_archive(path, {"header": text, "angles": self.angles.astype("<f4"), "distances": self.distances})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> SwivelTable:
        """Read a table that `save` wrote."""
        arrays = read_archive(path, MEMBERS, MAX_BYTES)
        for name in MEMBERS:
            if name not in arrays:
                raise FormatError(path, f"member {name!r} is missing")
        angles = arrays["angles"].astype(np.float64)
        try:
            header = msgspec.json.decode(arrays["header"].tobytes(), type=Header, strict=True)
        except (msgspec.DecodeError, msgspec.ValidationError, RecursionError) as error:
            raise FormatError(path, f"is no table of swivels of this Posable: {error}", "member 'header'") from error
        if len(angles) > MAX_SAMPLES:
            raise FormatError(path, f"has {len(angles)} directions; up to {MAX_SAMPLES} are read", "member 'angles'")
        try:
            return cls(header.limb, angles, arrays["distances"], origin=header.origin)
        except PosableError as error:  # arrays that do not fit together
            raise FormatError(path, str(error)) from error

    def swivels(self, limb: Limb, position: ArrayLike) -> Floats:
        """Return the swivels (...) [rad] of a limb at positions (..., 3) [m] of its end, in its frame."""
        if limb.name.split("_")[1] != self.name.split("_")[1]:
            raise PosableError(f"this is a table of swivels of the {self.name}; the limb is a {limb.name}")
        if limb.reference != "transport":
            raise PosableError(
                f"swivels of a table are counted from the 'transport' reference, those of the limb from "
                f"{limb.reference!r}"
            )
        positions, _, shape = batch_of(position, 0.0)
        head = _header(len(self.angles), limb.name, limb.upper, limb.lower)
        out = np.empty(len(positions))
        table_swivels(len(positions), head, *self._mesh[1:], self._cells, self.distances, positions, out)
        return out.reshape(shape)


def _checked_distances(distances: ArrayLike) -> Floats:
    layers = np.array(distances, dtype=np.float64)
    if layers.ndim != 1 or not len(layers) or not np.isfinite(layers).all() or (np.diff(layers) <= 0.0).any():
        raise PosableError(f"distances are {layers.tolist()}; expected one or more growing numbers")
    return layers


@lru_cache(maxsize=8)
def _mesh_arrays(directions: int) -> tuple[Records, Records, Records, Ints]:
    """Return (header, points, faces, index) with which kernels find the triangle of a direction."""
    head = np.zeros(1, RANGE)
    points, faces = mesh_rows(sphere_mesh(directions))
    return head, points, faces, grid_of(points, faces, head)


@lru_cache(maxsize=64)
def _header(directions: int, limb: str, upper: float, lower: float) -> Records:
    """Return the header for a limb, cached because making it takes longer than a query of the table."""
    head = _mesh_arrays(directions)[0].copy()
    set_limb(head, limb, upper, lower)
    return head


@kernel
def upper_arm(limb: Any, target: Vec3) -> Vec3:
    """Return the direction of the upper arm by the sensorimotor model, in the limb's frame; the target [m] is not 0."""
    # The limb's x points forward on a right arm and back on a left one; its pole is in front of both.
    front = math.copysign(1.0, limb["px"])
    x, y, z = front * target[0], target[1], target[2]
    distance = min(norm(target) / (limb["upper"] + limb["lower"]), 1.0) * TYPICAL_REACH
    azimuth = math.atan2(z, x) / DEGREE
    elevation = math.atan2(y, math.hypot(x, z)) / DEGREE
    raised = (-4.0 + 1.10 * distance + 0.90 * elevation) * DEGREE  # from hanging down
    yaw = (13.2 + 0.86 * azimuth + 0.11 * elevation) * DEGREE  # from straight ahead, outwards
    return (front * math.sin(raised) * math.cos(yaw), -math.cos(raised), math.sin(raised) * math.sin(yaw))


@kernel
def sensorimotor_swivel(limb: Any, target: Vec3) -> float:
    """Return the swivel [rad] of the sensorimotor model, drawn to the limb's own preferred one where it says little.

    It says little where the upper arm points along the line to the target, and it was measured in front of the body
    only: beside and behind, where an azimuth winds around the vertical, it fades out. So the swivel is continuous.
    """
    if not (vec_in_extent(target) and norm(target) > 0.0):
        return float(limb["preferred"])
    _, n, u, v, _, _, _ = reach_of(limb, target)
    elbow = upper_arm(limb, target)
    weight = min(max(math.copysign(1.0, limb["px"]) * n[0] / IN_FRONT, 0.0), 1.0)
    own = limb["sign"] * limb["preferred"] + limb["offset"]
    rest = OWN_WEIGHT + 1.0 - weight
    x = weight * dot(elbow, u) + rest * math.cos(own)
    return swivel_at(limb, math.atan2(weight * dot(elbow, v) + rest * math.sin(own), x))


@kernel
def table_swivel(
    head: Records, points: Records, faces: Records, index: Ints, cells: Floats, layers: Floats, position: Vec3
) -> float:
    """Return the swivel [rad] of a table at a position [m]: linear between a triangle's corners and two distances.

    `cells` (V, K, 2) has the swivels at V directions and K distances as cosine and sine, `layers` (K,) the distances.
    """
    distance = norm(position)
    if not vec_in_extent(position):
        return 0.0
    face, w = locate(head, points, faces, index, direction_of(head, position, distance))
    reach = distance / (head[0]["upper"] + head[0]["lower"])
    last = layers.shape[0] - 1
    k = 0
    while k < last - 1 and reach > layers[k + 1]:
        k += 1
    t = 0.0
    if last > 0:
        t = min(max((reach - layers[k]) / (layers[k + 1] - layers[k]), 0.0), 1.0)
    x, y = 0.0, 0.0
    for corner, weight in ((faces[face]["a"], w[0]), (faces[face]["b"], w[1]), (faces[face]["c"], w[2])):
        below, above = weight * (1.0 - t), weight * t
        x += below * cells[corner, k, 0] + above * cells[corner, min(k + 1, last), 0]
        y += below * cells[corner, k, 1] + above * cells[corner, min(k + 1, last), 1]
    return math.atan2(y, x)


@batch(rows=4096)
def sensorimotor_swivels(n: int, limb: Records, positions: Floats, out: Floats) -> None:
    """Fill `out` (N,) with `sensorimotor_swivel` of positions (N, 3)."""
    for i in prange(n):
        out[i] = sensorimotor_swivel(limb[i % limb.shape[0]], (positions[i, 0], positions[i, 1], positions[i, 2]))


@batch(rows=4096)
def table_swivels(
    n: int,
    head: Records,
    points: Records,
    faces: Records,
    index: Ints,
    cells: Floats,
    layers: Floats,
    positions: Floats,
    out: Floats,
) -> None:
    """Fill `out` (N,) with `table_swivel` of positions (N, 3)."""
    for i in prange(n):
        position = (positions[i, 0], positions[i, 1], positions[i, 2])
        out[i] = table_swivel(head, points, faces, index, cells, layers, position)


def learn_swivels(
    examples: Examples, directions: int, layers: Floats, smooth: float, progress: Progress | None = None
) -> Floats:
    """Return (V, K) swivels [rad] at V directions and the distances `layers` (K,) over the limb's length.

    The median field, by iteratively reweighted least squares.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.linalg import spsolve

    mesh = sphere_mesh(directions)
    columns, shape_weights = _cells(examples, mesh, layers)
    count, cells = len(columns), directions * len(layers)
    rows = np.repeat(np.arange(count), columns.shape[1])
    spread = coo_array((shape_weights.ravel(), (rows, columns.ravel())), shape=(count, cells)).tocsr()
    swivel = examples.swivel[examples.bent]
    target = np.stack([np.cos(swivel), np.sin(swivel)], axis=-1)
    even = smooth * _unevenness(mesh, len(layers))
    weight = np.ones(count)
    field = np.zeros((cells, 2))
    for k in range(ROUNDS):
        weighted = spread.multiply(weight[:, None]).tocsr()
        field = spsolve((weighted.T @ spread + even).tocsc(), weighted.T @ target)
        weight = 1.0 / np.maximum(np.linalg.norm(spread @ field - target, axis=-1), NEAREST)
        if progress is not None:
            progress((k + 1) / ROUNDS)
    return np.arctan2(field[:, 1], field[:, 0]).reshape(directions, len(layers))


def _cells(examples: Examples, mesh: SphereMesh, layers: Floats) -> tuple[Ints, Floats]:
    """Return (N, 6) cells around each bent example, and their weights, which sum up to 1."""
    n, reach = examples.direction[examples.bent], examples.distance[examples.bent]
    face = np.empty(len(n), np.int64)
    locate_rows(len(n), *mesh_rows(mesh), np.ascontiguousarray(n), face)
    corners = mesh.triangles[face]
    a, b, c = (mesh.points[corners[:, k]] for k in range(3))
    corner = np.stack([np.einsum("ij,ij->i", n, np.cross(*pair)) for pair in ((b, c), (c, a), (a, b))], axis=-1)
    corner /= corner.sum(axis=-1, keepdims=True)
    last = len(layers) - 1
    below = np.clip(np.searchsorted(layers, reach, side="right") - 1, 0, max(last - 1, 0))
    above = np.minimum(below + 1, last)
    gap = np.where(above > below, layers[above] - layers[below], 1.0)
    t = np.clip((reach - layers[below]) / gap, 0.0, 1.0)[:, None]
    cells = np.concatenate([corners * len(layers) + below[:, None], corners * len(layers) + above[:, None]], axis=-1)
    return cells, np.concatenate([corner * (1.0 - t), corner * t], axis=-1)


def _unevenness(mesh: SphereMesh, layers: int) -> Any:
    """Return the matrix whose quadratic form is the sum of squared differences between neighbouring cells."""
    from scipy.sparse import coo_array, diags_array

    sides = np.concatenate([mesh.triangles[:, [k, (k + 1) % 3]] for k in range(3)])
    sides = sides[sides[:, 0] < sides[:, 1]]
    around = (sides[:, None, :] * layers + np.arange(layers)[None, :, None]).reshape(-1, 2)
    first = (np.arange(len(mesh.points))[:, None] * layers + np.arange(layers - 1)).ravel()
    pairs = np.concatenate([around, np.stack([first, first + 1], axis=-1)])
    pairs = np.concatenate([pairs, pairs[:, ::-1]])
    count = len(mesh.points) * layers
    graph = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(count, count)).tocsr()
    return diags_array(np.asarray(graph.sum(axis=1)).ravel()) - graph
