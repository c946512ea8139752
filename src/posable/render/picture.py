"""Pictures of bodies in motion, drawn without a screen: `strip` and `save_picture`.

A body is drawn as what it is: the skinned meshes of its file where it has them, a person's volumes where its joints
have roles, and bones otherwise. Figures of a strip stand next to each other on one floor, each at a moment
of the motion, its path over the floor taken out (or left in, with `travel=True`).
"""

from __future__ import annotations

import os
import struct
import zlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias, Union

import numpy as np

from ..compute import PosableError, ShapeError, atomic_write
from ..compute.files import check_writable
from ..compute.types import Floats, Ints
from ..math import rotate
from ..skeleton import Frames, Motion, Pose, Skeleton
from ..skeleton.character import vertex_normals
from .bones import volumes_of
from .raster import Camera, Mesh, Pixels, draw
from .scene_mesh import scene_mesh

if TYPE_CHECKING:
    from ..body import Humanoid
    from ..collision import Scene, Volumes


VIEWS: dict[str, tuple[float, float]] = {
    "front": (0.0, 0.10),
    "back": (np.pi, 0.10),
    "side": (-np.pi / 2, 0.10),
    "left": (np.pi / 2, 0.10),
    "three_quarter": (-0.72, 0.20),
    "top": (0.0, 1.45),
}
"""Where the eye stands: azimuth (0 in front of a resting figure, pi/2 at its left) and elevation [rad]."""

BODY, ACCENT, DARK = (0.60, 0.69, 0.78), (0.95, 0.53, 0.35), (0.43, 0.54, 0.66)
PALETTE = (BODY, ACCENT, DARK)
"""sRGB colours of the tones of volumes: most of the body, its joints, and a darker shade for its right limbs."""

Subject: TypeAlias = Union[Motion, Skeleton, "Humanoid"]


def strip(
    subject: Subject,
    poses: Pose | Motion | None = None,
    frames: int | list[int] | Ints = 10,
    columns: int | None = None,
    *,
    view: str | tuple[float, float] = "three_quarter",
    height: int = 320,
    spacing: float | None = None,
    travel: bool = False,
    samples: int = 2,
    scene: Scene | None = None,
) -> Pixels:
    """Draw a row (or rows) of figures, a moment of the motion each.

    Args:
        subject: what to draw; a Motion brings its own poses.
        poses: a Motion or a Pose (one, or a batch of one leading axis); None draws the motion given as subject, or
            the rest pose.
        frames: how many figures, evenly spread over the motion, or the frame numbers themselves.
        columns: figures in a row; all in one row when None.
        view: a name in `VIEWS`, or azimuth and elevation [rad].
        height: of one row [pixels].
        spacing: between figures [m]; as close as they fit when None.
        travel: keep the path over the floor instead of taking it out (spacing is then added to it, 0 when None).
        samples: squared, the samples per pixel.
        scene: obstacles to draw, at every figure where it meets them; with `travel` once. Half spaces are not drawn.

    Returns:
        (rows * height, W, 3) uint8, sRGB.
    """
    skeleton, look, moments = _resolve(subject, poses, frames)
    camera_angles = view_angles(view)
    world = skeleton.forward(moments)
    positions = world.positions
    if not travel:
        positions = positions - positions[:, :1] * np.array([1.0, 0.0, 1.0])
    meshes = [look.mesh(positions[k], world.orientations[k]) for k in range(len(positions))]
    around = None if scene is None else scene_mesh(scene)
    if around is not None:
        moved = positions[:, 0] - world.positions[:, 0]  # a path that is taken out is taken out of what is around too
        shown = range(1 if travel else len(meshes))
        obstacles = [replace(around, vertices=around.vertices + moved[k]) for k in shown]
        meshes[: len(obstacles)] = [Mesh.join([one, other]) for one, other in zip(meshes, obstacles, strict=False)]
    per_row = len(meshes) if columns is None else max(1, min(columns, len(meshes)))
    right, up, _ = Camera(np.zeros(3), *camera_angles, 1.0).axes
    gap = spacing if spacing is not None else (0.0 if travel else _closest_fit(meshes, right))
    rows = [meshes[k : k + per_row] for k in range(0, len(meshes), per_row)]
    placed = [
        Mesh.join([replace(m, vertices=m.vertices + right * (gap * i)) for i, m in enumerate(row)]) for row in rows
    ]
    bounds = [screen_bounds(mesh, right, up) for mesh in placed]
    low, high = np.min([b[0] for b in bounds], axis=0), np.max([b[1] for b in bounds], axis=0)
    margin = 0.06 * (high[1] - low[1]) + 0.02
    extent = float(high[1] - low[1] + 2.0 * margin)
    width = max(1, round(height * float(high[0] - low[0] + 2.0 * margin) / extent))
    middle = (low + high) / 2.0
    camera = Camera(right * middle[0] + up * middle[1], *camera_angles, extent)
    level = _floor_level(placed)
    return np.concatenate([draw(mesh, camera, width, height, level=level, samples=samples) for mesh in placed])


def portrait(
    subject: Subject,
    pose: Pose | None = None,
    *,
    view: str | tuple[float, float] = "three_quarter",
    size: tuple[int, int] = (480, 640),
    samples: int = 3,
    scene: Scene | None = None,
) -> Pixels:
    """Draw one figure in mild perspective, with the obstacles of a scene where one is given.

    Returns (size[1], size[0], 3) uint8; size is width and height [pixels].
    """
    skeleton, look, moments = _resolve(subject, pose, [0])
    world = skeleton.forward(moments)
    mesh = look.mesh(world.positions[0], world.orientations[0])
    around = None if scene is None else scene_mesh(scene)
    mesh = mesh if around is None else Mesh.join([mesh, around])
    azimuth, elevation = view_angles(view)
    right, up, forward = Camera(np.zeros(3), azimuth, elevation, 1.0).axes
    low, high = screen_bounds(mesh, right, up)
    middle = (low + high) / 2.0
    deep = mesh.vertices @ forward
    target = right * middle[0] + up * middle[1] + forward * float(deep.min() + deep.max()) / 2.0
    width, height = size
    extent = 1.18 * float(max(high[1] - low[1], (high[0] - low[0]) * height / width, 1e-3))
    camera = Camera(target, azimuth, elevation, extent, distance=4.0 * extent)
    return draw(mesh, camera, width, height, level=_floor_level([mesh]), samples=samples)


def save_picture(image: Pixels, path: str | os.PathLike[str]) -> None:
    """Write (H, W, 3) uint8 as a PNG file; either all of it is written, or nothing."""
    array = np.asarray(image)
    if array.ndim != 3 or array.shape[2] != 3 or array.dtype != np.uint8 or array.size == 0:
        raise ShapeError(f"a picture is a (H, W, 3) array of uint8, got {array.dtype} of shape {array.shape}")
    check_picture(path)
    with atomic_write(path) as temporary:
        temporary.write_bytes(_png(array))


def check_picture(path: str | os.PathLike[str]) -> None:
    """Raise where `save_picture` would refuse a path: drawing takes seconds."""
    if not os.fspath(path).lower().endswith(".png"):
        raise PosableError(f"pictures are written as .png, got {os.fspath(path)!r}")
    check_writable(path)


def _resolve(
    subject: Subject, poses: Pose | Motion | None, frames: int | list[int] | Ints
) -> tuple[Skeleton, RigidLook | SkinnedLook, Pose]:
    """The skeleton, its look, and the chosen moments as a batch of poses with one leading axis."""
    if poses is None and isinstance(subject, Motion):
        poses = subject
    if isinstance(subject, Pose):
        raise PosableError(
            "a pose alone has no body; expected portrait(body, pose): a Humanoid, Skeleton or Motion first"
        )
    skeleton = subject if isinstance(subject, Skeleton) else getattr(subject, "skeleton", None)
    if not isinstance(skeleton, Skeleton):
        raise PosableError(f"the figure is a {type(subject).__name__}; expected a Humanoid, Skeleton or Motion")
    body = None if isinstance(subject, Motion | Skeleton) else subject
    pose = skeleton.rest if poses is None else poses.pose if isinstance(poses, Motion) else poses
    if len(pose.shape) > 1:
        raise ShapeError(f"a strip shows poses along one axis, got a batch of shape {pose.shape}")
    if not pose.shape:
        pose = Pose.stack([pose])
    count = pose.shape[0]
    if count == 0:
        raise PosableError("there is nothing to draw: the motion has no frames")
    if isinstance(frames, (int, np.integer)):
        if frames < 1:
            raise PosableError(f"a strip shows at least 1 figure, got frames={frames}")
        chosen = np.unique(np.round(np.linspace(0, count - 1, min(int(frames), count))).astype(np.int64))
    else:
        chosen = np.asarray(frames, dtype=np.int64)
        if chosen.ndim != 1 or not len(chosen) or chosen.min() < -count or chosen.max() >= count:
            raise PosableError(f"frames must be numbers of the {count} frames at hand, got {frames}")
    return skeleton, look_of(skeleton, body), pose[chosen]


def view_angles(view: str | tuple[float, float]) -> tuple[float, float]:
    """Return azimuth and elevation [rad] of a view, by name or as they are."""
    if isinstance(view, str):
        if view not in VIEWS:
            raise PosableError(f"unknown view {view!r}; use one of {', '.join(VIEWS)}, or (azimuth, elevation) in rad")
        return VIEWS[view]
    azimuth, elevation = (float(angle) for angle in view)
    if not (np.isfinite(azimuth) and abs(elevation) <= np.pi / 2):
        raise PosableError(f"a view is (azimuth, elevation) in rad, elevation within +-pi/2, got {view}")
    return azimuth, elevation


def _closest_fit(meshes: list[Mesh], right: Floats) -> float:
    """Return the smallest spacing along `right` [m] at which no neighbours overlap on the screen, plus a small gap."""
    low = np.array([(m.vertices @ right).min() for m in meshes])
    high = np.array([(m.vertices @ right).max() for m in meshes])
    fit = float(np.max(high[:-1] - low[1:])) if len(meshes) > 1 else 0.0
    return max(fit, 0.0) + 0.06 * float(np.max(high - low))


def screen_bounds(mesh: Mesh, right: Floats, up: Floats) -> tuple[Floats, Floats]:
    """Return the lower and the upper corner (2,) [m] of a mesh along the screen's right and up."""
    flat = np.stack([mesh.vertices @ right, mesh.vertices @ up], axis=-1)
    return flat.min(axis=0), flat.max(axis=0)


def _floor_level(meshes: list[Mesh]) -> float:
    """The floor is y = 0, unless everything is far from it: then it lies under the lowest point."""
    lowest = min(float(m.vertices[:, 1].min()) for m in meshes)
    tallest = max(float(np.ptp(m.vertices[:, 1])) for m in meshes)
    return 0.0 if abs(lowest) < 0.25 * tallest else lowest


def _png(image: Pixels) -> bytes:
    """PNG of 8-bit RGB, each line with the filter (none, left or up) whose remainders are smallest."""
    height, width, _ = image.shape
    lines = image.reshape(height, width * 3).astype(np.int16)
    left = np.pad(lines, ((0, 0), (3, 0)))[:, :-3]
    above = np.pad(lines, ((1, 0), (0, 0)))[:-1]
    choices = np.stack([lines, lines - left, lines - above]).astype(np.uint8)
    cost = np.abs(choices.astype(np.int8).astype(np.int32)).sum(axis=2)
    best = np.argmin(cost, axis=0)
    filtered = np.empty((height, 1 + 3 * width), np.uint8)
    filtered[:, 0] = best
    filtered[:, 1:] = choices[best, np.arange(height)]

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    data = zlib.compress(filtered.tobytes(), 9)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def look_of(skeleton: Skeleton, body: Humanoid | None = None) -> RigidLook | SkinnedLook:
    """Return the look of a skeleton: its file's meshes, else a person when its joints have roles, else its bones."""
    if skeleton.character is not None and skeleton.character.meshes:
        return SkinnedLook(skeleton)
    if body is None or body.robot_parts is not None:
        return volume_look(volumes_of(skeleton))
    return volume_look(body.volumes)


@dataclass(frozen=True)
class RigidLook:
    """Triangles that each belong to one joint: vertices and normals in joint frames, a joint and a colour each."""

    vertices: Floats
    normals: Floats
    faces: Ints
    joints: Ints
    colours: Floats

    def mesh(self, positions: Floats, orientations: Floats) -> Mesh:
        """Return its triangles in the world, with its joints at positions (J, 3) [m] and orientations (J, 4)."""
        rotation = orientations[self.joints]
        vertices = positions[self.joints] + rotate(rotation, self.vertices)
        return Mesh(vertices, self.faces, rotate(rotation, self.normals), self.colours)


@dataclass(frozen=True)
class SkinnedLook:
    """The meshes of a character's file."""

    skeleton: Skeleton

    def mesh(self, positions: Floats, orientations: Floats) -> Mesh:
        """Return its triangles in the world, with its joints at positions (J, 3) [m] and orientations (J, 4)."""
        character = self.skeleton.character
        assert character is not None
        parts = []
        for skin in character.meshes:
            vertices = skin.posed(Frames(self.skeleton, positions, orientations))
            faces = skin.faces.astype(np.int64)
            colours = skin.colours[:, :3] / 255.0 if len(skin.colours) else np.tile(BODY, (len(vertices), 1))
            parts.append(Mesh(vertices, faces, vertex_normals(vertices, faces, merge=skin.smooth), colours))
        return Mesh.join(parts)


def volume_look(volumes: Volumes, detail: int = 24) -> RigidLook:
    """Return volumes, with `detail` corners around each, in the colours of their tones."""
    mesh = volumes.tessellated(detail)
    palette = np.array(PALETTE)[np.minimum(volumes.tones, len(PALETTE) - 1)]
    return RigidLook(mesh.vertices, mesh.normals, mesh.faces, mesh.joints, palette[mesh.volumes])
