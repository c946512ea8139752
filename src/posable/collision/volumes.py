"""The volumes of a body: rounded cones and ellipsoids that move with its joints.

A rounded cone ("capsule" when both radii agree) is the convex hull of two balls; an ellipsoid has three half-axes and
an orientation of its own. Both are convex, have a cheap support function and distance, and are enough for a body that
looks like a person: limbs with their taper, a rib cage, a pelvis, a skull. Everything is given in the frame of the
joint that carries the volume, in metres, so a pose moves volumes without touching them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..compute import PosableError, ShapeError
from ..compute.types import Floats, Ints, floats

CAPSULE, ELLIPSOID = 0, 1
KINDS = ("capsule", "ellipsoid")

PACKED = np.dtype(
    [
        ("joint", np.int64),
        ("kind", np.int64),
        ("start", np.float64, 3),
        ("end", np.float64, 3),
        ("radii", np.float64, 3),
        ("rotation", np.float64, 4),
        ("bound", np.float64),
    ],
    align=True,
)
"""One row a volume, the layout that kernels read; `bound` is the radius of a ball about the middle that contains it."""


@dataclass(frozen=True)
class VolumeMesh:
    """Volumes as triangles, each vertex rigid with one joint.

    Attributes:
        vertices: (N, 3) in the frame of the vertex's joint [m].
        normals: (N, 3) unit, outwards, same frame.
        faces: (T, 3), counter-clockwise seen from outside.
        joints: (N,) joint of each vertex.
        volumes: (N,) volume of each vertex.
    """

    vertices: Floats
    normals: Floats
    faces: Ints
    joints: Ints
    volumes: Ints


class Volumes:
    """Rounded cones and ellipsoids carried by joints.

    Args:
        joints: (V,) index of the joint that carries each volume.
        kinds: (V,) "capsule" or "ellipsoid".
        start: (V, 3) centre of a capsule's first ball, or the ellipsoid's centre, in the joint's frame [m].
        end: (V, 3) centre of a capsule's second ball; an ellipsoid's equals its start.
        radii: (V, 3) a capsule's radius at start and at end (the third is ignored and stored as 0), or an
            ellipsoid's half-axes [m]; positive.
        rotations: (V, 4) an ellipsoid's axes in the joint's frame, wxyz; identity where not given.
        names: (V,) of the volumes, for messages; unique.
        tones: (V,) small numbers that choose a colour: 0 most of a body, 1 its accents, 2 its darker shade.
    """

    def __init__(
        self,
        joints: ArrayLike,
        kinds: ArrayLike,
        start: ArrayLike,
        end: ArrayLike,
        radii: ArrayLike,
        *,
        rotations: ArrayLike | None = None,
        names: tuple[str, ...] | None = None,
        tones: ArrayLike | None = None,
    ) -> None:
        joint = np.atleast_1d(np.asarray(joints))
        count = len(joint)
        if joint.ndim != 1 or (count and not np.issubdtype(joint.dtype, np.integer)):
            raise ShapeError(f"joints must be a list of joint indices, got {joint.dtype} of shape {joint.shape}")
        packed = np.zeros(count, PACKED)
        packed["joint"] = joint
        packed["kind"] = _kinds(kinds, count)
        packed["start"] = _rows("start", start, count, 3)
        packed["end"] = _rows("end", end, count, 3)
        packed["radii"] = _rows("radii", radii, count, 3)
        packed["radii"][packed["kind"] == CAPSULE, 2] = 0.0
        spin = np.tile([1.0, 0.0, 0.0, 0.0], (count, 1)) if rotations is None else rotations
        packed["rotation"] = _rows("rotations", spin, count, 4)
        self.names: tuple[str, ...] = tuple(names) if names is not None else tuple(f"volume{k}" for k in range(count))
        self.tones = _rows("tones", np.zeros(count) if tones is None else tones, count, 0).astype(np.uint8)
        _validate(packed, self.names)
        packed["rotation"] /= np.linalg.norm(packed["rotation"], axis=-1, keepdims=True)
        packed["bound"] = 0.5 * np.linalg.norm(packed["end"] - packed["start"], axis=-1) + packed["radii"].max(axis=-1)
        packed.flags.writeable = False
        self.tones.flags.writeable = False
        self.packed: NDArray[Any] = packed

    def __len__(self) -> int:
        return len(self.packed)

    @property
    def joints(self) -> Ints:
        """(V,) the joint that carries each volume."""
        return np.asarray(self.packed["joint"])

    @property
    def kinds(self) -> tuple[str, ...]:
        """(V,) "capsule" or "ellipsoid"."""
        return tuple(KINDS[k] for k in self.packed["kind"])

    @property
    def start(self) -> Floats:
        """(V, 3) first centre, in the joint's frame [m]."""
        return np.asarray(self.packed["start"])

    @property
    def end(self) -> Floats:
        """(V, 3) second centre, in the joint's frame [m]."""
        return np.asarray(self.packed["end"])

    @property
    def radii(self) -> Floats:
        """(V, 3) two radii of a capsule, three half-axes of an ellipsoid [m]."""
        return np.asarray(self.packed["radii"])

    @property
    def rotations(self) -> Floats:
        """(V, 4) an ellipsoid's axes in the joint's frame, wxyz."""
        return np.asarray(self.packed["rotation"])

    def scaled(self, factor: float) -> Volumes:
        """Return the same volumes on a body that is factor times as large."""
        if not (np.isfinite(factor) and factor > 0.0):
            raise PosableError(f"a body is scaled by a positive factor, got {factor}")
        return Volumes(
            self.joints,
            np.array(self.kinds),
            self.start * factor,
            self.end * factor,
            self.radii * factor,
            rotations=self.rotations,
            names=self.names,
            tones=self.tones,
        )

    def mesh(self, k: int, detail: int = 20) -> tuple[Floats, Ints]:
        """Return vertices (N, 3) in the joint's frame [m] and faces (T, 3) of volume k, `detail` corners around."""
        vertices, _, faces = self._triangles(k, detail)
        return vertices, faces

    def tessellated(self, detail: int = 20) -> VolumeMesh:
        """Return all volumes as triangles, `detail` corners around each."""
        parts = [self._triangles(k, detail) for k in range(len(self))]
        counts = [len(v) for v, _, _ in parts]
        starts = np.cumsum([0, *counts])
        which = np.repeat(np.arange(len(self)), counts)
        return VolumeMesh(
            vertices=np.concatenate([np.zeros((0, 3)), *(v for v, _, _ in parts)]),
            normals=np.concatenate([np.zeros((0, 3)), *(n for _, n, _ in parts)]),
            faces=np.concatenate([np.zeros((0, 3), np.int64), *(f + s for (_, _, f), s in zip(parts, starts))]),
            joints=self.joints[which],
            volumes=which,
        )

    def _triangles(self, k: int, detail: int) -> tuple[Floats, Floats, Ints]:
        if detail < 3:
            raise PosableError(f"a round volume needs at least 3 corners around it, got detail={detail}")
        row = self.packed[k]
        if row["kind"] == ELLIPSOID:
            return _ellipsoid(row["start"], row["radii"], row["rotation"], detail)
        return _rounded_cone(row["start"], row["end"], float(row["radii"][0]), float(row["radii"][1]), detail)


def _kinds(kinds: ArrayLike, count: int) -> Ints:
    given = np.broadcast_to(np.asarray(kinds, dtype=str), (count,))
    unknown = sorted(set(given.tolist()) - set(KINDS))
    if unknown:
        raise PosableError(f"unknown kind of volume {unknown[0]!r}; a volume is one of {', '.join(KINDS)}")
    return np.array([KINDS.index(kind) for kind in given], dtype=np.int64)


def _rows(name: str, values: ArrayLike, count: int, width: int) -> Floats:
    array = floats(values, name)
    shape = (count, width) if width else (count,)
    if array.shape != shape:
        raise ShapeError(f"{name} must have shape {shape}, got {array.shape}")
    return array


def _validate(packed: NDArray[Any], names: tuple[str, ...]) -> None:
    if len(names) != len(packed) or len(set(names)) != len(names):
        raise PosableError(f"{len(packed)} volumes need as many different names, got {names}")
    for field in ("start", "end", "radii", "rotation"):
        bad = np.nonzero(~np.isfinite(packed[field]).all(axis=-1))[0]
        if len(bad):
            raise PosableError(f"volume {names[bad[0]]!r} has {field} {packed[field][bad[0]].tolist()}: not finite")
    needed = np.where(packed["kind"][:, None] == CAPSULE, [True, True, False], True)
    bad = np.nonzero((needed & (packed["radii"] <= 0.0)).any(axis=-1))[0]
    if len(bad):
        raise PosableError(f"volume {names[bad[0]]!r} has radii {packed['radii'][bad[0]].tolist()}: must be positive")
    bad = np.nonzero(packed["joint"] < 0)[0]
    if len(bad):
        raise PosableError(f"volume {names[bad[0]]!r} is carried by joint {packed['joint'][bad[0]]}: must be 0 or more")
    moved = (packed["kind"] == ELLIPSOID) & (packed["start"] != packed["end"]).any(axis=-1)
    if moved.any():
        name = names[int(np.argmax(moved))]
        raise PosableError(f"ellipsoid {name!r} has an end other than its start: it has one centre")
    short = np.linalg.norm(packed["rotation"], axis=-1) < 1e-9
    if short.any():
        raise PosableError(f"volume {names[int(np.argmax(short))]!r} has a zero rotation: a unit quaternion is needed")


def _ellipsoid(centre: Floats, radii: Floats, rotation: Floats, detail: int) -> tuple[Floats, Floats, Ints]:
    rings = np.linspace(0.0, np.pi, detail // 2 + 1)[1:-1] if detail >= 4 else np.array([np.pi / 2])
    unit, faces = _lathe(np.cos(rings), np.sin(rings), detail)
    poles = np.array([[0.0, 1.0, 0.0], [0.0, -1.0, 0.0]])
    sphere = np.concatenate([poles[:1], unit, poles[1:]])
    from ..math import to_matrix

    axes = to_matrix(rotation)
    normals = (sphere / radii) @ axes.T
    normals /= np.linalg.norm(normals, axis=-1, keepdims=True)
    return centre + (sphere * radii) @ axes.T, normals, faces


def _rounded_cone(start: Floats, end: Floats, r0: float, r1: float, detail: int) -> tuple[Floats, Floats, Ints]:
    """Return the hull of two balls: caps that meet the cone at its normals (one ball if it contains the other)."""
    along = end - start
    length = float(np.linalg.norm(along))
    if length <= abs(r0 - r1) + 1e-9:
        centre, radius = (start, r0) if r0 >= r1 else (end, r1)
        return _ellipsoid(centre, np.full(3, radius), np.array([1.0, 0.0, 0.0, 0.0]), detail)
    axis = along / length
    meet = np.arccos((r0 - r1) / length)  # polar angle, from the axis, of the normals along the cone's side
    caps = max(2, detail // 4)
    tip = np.linspace(0.0, meet, caps + 1)[1:]
    tail = np.linspace(meet, np.pi, caps + 1)[:-1]
    angles = np.concatenate([tip, tail])
    unit, faces = _lathe(np.cos(angles), np.sin(angles), detail)
    normals = np.concatenate([[[0.0, 1.0, 0.0]], unit, [[0.0, -1.0, 0.0]]])
    of_tip = np.repeat([True, False], [1 + caps * detail, 1 + caps * detail])
    across = np.cross(axis, np.eye(3)[int(np.argmin(np.abs(axis)))])
    across /= np.linalg.norm(across)
    normals = normals @ np.stack([across, axis, np.cross(across, axis)])
    centres = np.where(of_tip[:, None], end, start)
    return centres + normals * np.where(of_tip, r1, r0)[:, None], normals, faces


def _lathe(heights: Floats, widths: Floats, detail: int) -> tuple[Floats, Ints]:
    """Return rings about +Y from the top down (R * detail, 3), and the faces of rings between two poles."""
    azimuth = 2.0 * np.pi * np.arange(detail) / detail
    rings = np.stack(
        [
            np.outer(widths, np.sin(azimuth)),
            np.outer(heights, np.ones(detail)),
            np.outer(widths, np.cos(azimuth)),
        ],
        axis=-1,
    ).reshape(-1, 3)
    here, after = np.arange(detail), (np.arange(detail) + 1) % detail
    last = 1 + len(rings)
    faces = [np.stack([np.zeros(detail, np.int64), 1 + here, 1 + after], axis=-1)]
    for ring in range(len(heights) - 1):
        above, below = 1 + ring * detail, 1 + (ring + 1) * detail
        faces.append(np.stack([above + here, below + here, below + after], axis=-1))
        faces.append(np.stack([above + here, below + after, above + after], axis=-1))
    bottom = 1 + (len(heights) - 1) * detail
    faces.append(np.stack([bottom + here, np.full(detail, last), bottom + after], axis=-1))
    return rings, np.concatenate(faces)
