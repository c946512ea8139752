"""A small software renderer: triangles in, pixels out, NumPy only.

It exists so that documents, tests and the command line can show a body on a machine without a screen or a graphics
library. Triangles are resolved by a z-buffer of 64-bit keys (depth in the upper half, triangle number in the lower
one, the smallest key wins), and each pixel is shaded once, from the triangle that won it. The floor is not a mesh but
is met by every ray that missed the triangles; it carries a metre grid and a soft shadow.

World: metres, Y up. Screen: x to the right, y downwards, in pixels, depth growing away from the eye.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..compute.types import Floats, Ints

Pixels = np.ndarray[tuple[int, ...], np.dtype[np.uint8]]

KEY_LIGHT = np.array([-0.42, 0.80, 0.50])  # towards the light: x to the right of the eye, y up, z towards the eye
FILL_LIGHT = np.array([0.75, 0.25, 0.35])
SKY, FLOOR = np.array([1.0, 1.0, 1.0]), np.array([0.945, 0.95, 0.958])
GRID_LINE = np.array([0.80, 0.815, 0.835])
SHADOW = np.array([0.36, 0.40, 0.47])
FRAGMENTS_AT_ONCE = 4_000_000  # bounds the memory of one rasterising step to some hundreds of megabytes


@dataclass(frozen=True)
class Mesh:
    """Triangles to draw: vertices (V, 3) [m], faces (T, 3), unit normals (V, 3), colours (V, 3) in 0..1 sRGB."""

    vertices: Floats
    faces: Ints
    normals: Floats
    colours: Floats

    def __repr__(self) -> str:
        return f"Mesh({len(self.vertices)} vertices, {len(self.faces)} triangles)"

    @staticmethod
    def join(meshes: list[Mesh]) -> Mesh:
        """All meshes as one."""
        starts = np.cumsum([0, *(len(m.vertices) for m in meshes)])
        return Mesh(
            np.concatenate([m.vertices for m in meshes]),
            np.concatenate([m.faces + s for m, s in zip(meshes, starts)]),
            np.concatenate([m.normals for m in meshes]),
            np.concatenate([m.colours for m in meshes]),
        )


@dataclass(frozen=True)
class Camera:
    """A view of the world.

    Args:
        target: the world point (3,) [m] at the middle of the picture.
        azimuth: where the eye stands, seen from the target: 0 is +Z (a resting figure's front), pi/2 is +X [rad].
        elevation: how far above the horizon it stands [rad].
        extent: height of the picture at the target [m].
        distance: from eye to target [m]; infinite for a parallel projection.
    """

    target: Floats
    azimuth: float
    elevation: float
    extent: float
    distance: float = np.inf

    @property
    def axes(self) -> tuple[Floats, Floats, Floats]:
        """Unit vectors of the world: the screen's right, its up, and the direction of view."""
        ca, sa, ce, se = np.cos(self.azimuth), np.sin(self.azimuth), np.cos(self.elevation), np.sin(self.elevation)
        return np.array([ca, 0.0, -sa]), np.array([-sa * se, ce, -ca * se]), np.array([-sa * ce, -se, -ca * ce])

    def light(self, direction: Floats) -> Floats:
        """Return a light that moves with the camera, as a unit vector of the world towards it."""
        right, _, _ = self.axes
        rotated = direction[0] * right + direction[2] * np.array([-right[2], 0.0, right[0]])
        rotated[1] = direction[1]
        return np.asarray(rotated / np.linalg.norm(rotated))

    def project(self, points: Floats, width: int, height: int) -> tuple[Floats, Floats]:
        """Return screen positions (..., 2) [pixels] and depths (...,) [m, 0 at the target] of world points (..., 3)."""
        right, up, forward = self.axes
        relative = np.asarray(points) - self.target
        depth = relative @ forward
        shrink = 1.0 / np.maximum(1.0 + depth / self.distance, 1e-3)
        scale = height / self.extent * shrink
        xy = np.stack([width / 2 + (relative @ right) * scale, height / 2 - (relative @ up) * scale], axis=-1)
        return xy, depth

    def floor(self, width: int, height: int, level: float) -> tuple[Floats, Floats]:
        """Where the rays of all pixels meet the plane y = level: (H, W, 2) world x and z, and depth (H, W).

        Rays that never meet it have infinite depth.
        """
        right, up, forward = self.axes
        pixel = self.extent / height
        x = (np.arange(width) + 0.5 - width / 2) * pixel
        y = (height / 2 - np.arange(height) - 0.5) * pixel
        near = x[None, :, None] * right + y[:, None, None] * up  # on the plane through the target
        ray = forward + near / self.distance
        with np.errstate(divide="ignore", invalid="ignore"):
            depth = (level - self.target[1] - near[..., 1]) / ray[..., 1]
        depth = np.where(np.isfinite(depth) & (depth > -self.distance), depth, np.inf)
        reach = np.where(np.isfinite(depth), depth, 0.0)[..., None]
        points = self.target + near + reach * ray
        return points[..., [0, 2]], depth


def draw(mesh: Mesh, camera: Camera, width: int, height: int, *, level: float = 0.0, samples: int = 3) -> Pixels:
    """Draw a mesh on a floor at y = level: a picture (height, width, 3), with samples x samples rays a pixel."""
    w, h = width * samples, height * samples
    xy, depth = camera.project(mesh.vertices, w, h)
    winner = nearest_triangles(xy, depth, mesh.faces, w, h)
    # The floor's lines and shadow are smooth by themselves: one ray a pixel is enough for them.
    floor = _floor_picture(mesh, camera, width, height, level)
    image = np.repeat(np.repeat(floor, samples, axis=0), samples, axis=1)
    rows, columns = np.nonzero(winner >= 0)
    corners = mesh.faces[winner[rows, columns]]
    affine = _weights(xy[corners])
    weights = affine[..., 0] + affine[..., 1] * (columns + 0.5)[:, None] + affine[..., 2] * (rows + 0.5)[:, None]
    normals = np.einsum("pk,pkc->pc", weights, mesh.normals[corners])
    normals /= np.maximum(np.linalg.norm(normals, axis=-1, keepdims=True), 1e-12)
    forward = camera.axes[2]
    normals *= np.where(normals @ forward > 0.0, -1.0, 1.0)[:, None]  # open meshes show their backs
    colours = np.einsum("pk,pkc->pc", weights, mesh.colours[corners])
    hollow = _hollows(winner, np.einsum("pk,pk->p", weights, depth[corners]), h / camera.extent)
    image[rows, columns] = _shade(colours, normals, camera, hollow)
    image = image.reshape(height, samples, width, samples, 3).mean(axis=(1, 3))
    return np.asarray(np.clip(image, 0.0, 1.0) * 255.0 + 0.5).astype(np.uint8)


def nearest_triangles(xy: Floats, depth: Floats, faces: Ints, width: int, height: int) -> Ints:
    """Return the triangle that each pixel shows: (height, width), -1 where none.

    Args:
        xy: screen positions (V, 2) [pixels]; a pixel is covered when its centre is inside the triangle.
        depth: (V,), the smallest one wins.
        faces: (T, 3).
        width: of the screen [pixels].
        height: of the screen [pixels].
    """
    corners = xy[faces]
    slopes = _weights(corners)
    first = np.clip(np.ceil(corners[..., 1].min(axis=1) - 0.5), 0, height).astype(np.int64)
    last = np.clip(np.floor(corners[..., 1].max(axis=1) - 0.5) + 1, 0, height).astype(np.int64)
    lines = np.maximum(last - first, 0)
    keys = np.full(width * height, np.iinfo(np.int64).max)
    span = max(float(np.ptp(depth)), 1e-9) if len(depth) else 1.0
    ladder = ((depth - depth.min()) * (2**30 / span))[faces] if len(depth) else np.zeros((0, 3))
    ends = np.cumsum(lines * np.ceil(np.ptp(corners[..., 0], axis=1) + 1.0))
    start = 0
    while start < len(faces):
        done = ends[start - 1] if start else 0.0
        stop = max(start + 1, int(np.searchsorted(ends, done + FRAGMENTS_AT_ONCE, side="right")))
        part = slice(start, stop)
        _splat(keys, start, slopes[part], ladder[part], first[part], lines[part], width)
        start = stop
    none = keys == np.iinfo(np.int64).max
    return np.where(none, -1, keys & 0xFFFFFFFF).reshape(height, width)


def _splat(keys: Ints, offset: int, slopes: Floats, ladder: Floats, first: Ints, lines: Ints, width: int) -> None:
    """Write the pixels inside triangles to the buffer of keys, which keeps the nearest: the z-buffer.

    Each triangle is cut into its lines of pixels, and on each line the three weights, affine in x, bound the span
    that is inside: no pixel outside a triangle is ever made.
    """
    which = np.repeat(np.arange(len(lines)), lines)
    row = np.arange(len(which)) - np.repeat(np.cumsum(lines) - lines, lines) + first[which]
    at_zero = slopes[which, :, 0] + slopes[which, :, 2] * (row + 0.5)[:, None]  # weights at x = 0 on this line
    along = slopes[which, :, 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        crossing = -at_zero / along
    left = np.where(along > 0.0, crossing, -np.inf).max(axis=1)
    right = np.where(along < 0.0, crossing, np.inf).min(axis=1)
    never = ((along == 0.0) & (at_zero < 0.0)).any(axis=1)
    begin = np.ceil(np.clip(left - 0.5, 0.0, width)).astype(np.int64)
    end = np.floor(np.clip(right - 0.5, -1.0, width - 1.0)).astype(np.int64) + 1
    count = np.where(never, 0, np.maximum(end - begin, 0))
    line = np.repeat(np.arange(len(which)), count)
    column = np.arange(len(line)) - np.repeat(np.cumsum(count) - count, count) + begin[line]
    depth = np.einsum("pk,pk->p", at_zero, ladder[which])
    rise = np.einsum("pk,pk->p", along, ladder[which])
    step = np.maximum(depth[line] + rise[line] * (column + 0.5), 0.0).astype(np.int64)
    np.minimum.at(keys, row[line] * width + column, (step << 32) | (which[line] + offset))


def _weights(corners: Floats) -> Floats:
    """Barycentric weights of triangles (T, 3, 2) as affine functions (T, 3, 3): constant, slope in x, slope in y.

    A triangle without area gets constants of -1, so that no point is inside it.
    """
    a, e, f = corners[:, 0], corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    area = e[:, 0] * f[:, 1] - e[:, 1] * f[:, 0]
    flat = np.abs(area) < 1e-12
    over = np.where(flat, 0.0, 1.0 / np.where(flat, 1.0, area))
    slope_v = np.stack([f[:, 1] * over, -f[:, 0] * over], axis=-1)
    slope_w = np.stack([-e[:, 1] * over, e[:, 0] * over], axis=-1)
    weights = np.empty((len(corners), 3, 3))
    for k, slope in ((1, slope_v), (2, slope_w)):
        weights[:, k, 0] = -(a * slope).sum(axis=-1)
        weights[:, k, 1:] = slope
    weights[:, 0] = [1.0, 0.0, 0.0] - weights[:, 1] - weights[:, 2]
    weights[flat] = [-1.0, 0.0, 0.0]
    return weights


def _shade(colours: Floats, normals: Floats, camera: Camera, hollow: Floats) -> Floats:
    """Light a surface: sky and floor from above and below, a key and a fill light, a gentle rim (P, 3)."""
    key, fill, forward = camera.light(KEY_LIGHT), camera.light(FILL_LIGHT), camera.axes[2]
    # Half-Lambert softens the terminator, which suits a clay figure better than a hard one.
    lit = (0.5 + 0.5 * normals @ key) ** 1.6
    ambient = 0.42 + 0.16 * normals[:, 1]
    side = np.maximum(normals @ fill, 0.0)
    facing = np.clip(-(normals @ forward), 0.0, 1.0)
    rim = 0.20 * (1.0 - facing) ** 3
    half = key - forward
    shine = np.maximum(normals @ (half / np.linalg.norm(half)), 0.0) ** 28 * 0.10
    light = (ambient + 0.72 * lit + 0.10 * side) * hollow
    return np.asarray(colours * light[:, None] + (rim * hollow + shine)[:, None])


def _hollows(winner: Ints, depth: Floats, pixels_per_metre: float) -> Floats:
    """Return how open each drawn pixel is, 0..1: darker where what surrounds it on the screen is nearer to the eye.

    An unsharp mask of the depth buffer (Luft, Colditz and Deussen 2006), which sets limbs off against the body.
    """
    from scipy.ndimage import gaussian_filter

    drawn = winner >= 0
    field = np.zeros(winner.shape)
    field[drawn] = depth
    spread = min(0.030 * pixels_per_metre, 0.25 * max(winner.shape))  # of a body of millimetres: not for minutes
    cover = gaussian_filter(drawn.astype(np.float64), spread, truncate=2.5)
    around = gaussian_filter(field, spread, truncate=2.5)[drawn] / np.maximum(cover[drawn], 1e-6)
    return np.asarray(1.0 - 0.55 * np.clip((depth - around) / 0.10, 0.0, 1.0))


def _floor_picture(mesh: Mesh, camera: Camera, width: int, height: int, level: float) -> Floats:
    """The empty scene: a white room whose floor has a half-metre grid and the body's shadow (H, W, 3)."""
    points, depth = camera.floor(width, height, level)
    meets = np.isfinite(depth)
    fade = np.where(meets, np.exp(-((np.where(meets, depth, 0.0) / 2.6) ** 2)), 0.0)
    pixel = camera.extent / height
    stretch = 1.0 / max(abs(camera.axes[2][1]), 0.05)  # floor metres per screen metre, along the view
    lines = np.zeros(depth.shape)
    for axis in range(2):
        across = abs(camera.axes[0][(0, 2)[axis]]) + stretch * abs(camera.axes[2][(0, 2)[axis]])
        thickness = pixel * across
        gap = np.abs((points[..., axis] / 0.5 + 0.5) % 1.0 - 0.5) * 0.5
        lines = np.maximum(lines, np.clip(1.0 - gap / thickness, 0.0, 1.0) * min(1.0, 0.06 / thickness))
    image = SKY + (FLOOR - SKY) * fade[..., None]
    image += (GRID_LINE - image) * (0.75 * lines * fade)[..., None]
    shade = _shadow(mesh, points, level, camera.light(KEY_LIGHT))
    shade *= meets
    return np.asarray(image + (SHADOW - image) * (0.62 * shade)[..., None])


SHADOW_CELL = 0.008
"""Side of a cell of the shadow [m]."""
SHADOW_CELLS = 2048
"""Cells along a shadow at most: a giant, as in a file of centimetres that is read as metres, gets larger ones."""


def _shadow(mesh: Mesh, points: Floats, level: float, key: Floats) -> Floats:
    """Return the darkness 0..1 of floor points (H, W, 2): the mesh thrown along the key light, blurred with height."""
    from scipy.ndimage import gaussian_filter, map_coordinates

    rise = np.maximum(mesh.vertices[:, 1] - level, 0.0)
    thrown = mesh.vertices[:, [0, 2]] - rise[:, None] * (key[[0, 2]] / key[1])
    corner = thrown.min(axis=0) - 0.4
    cell = max(SHADOW_CELL, float((thrown.max(axis=0) + 0.4 - corner).max()) / SHADOW_CELLS)
    size = np.ceil((thrown.max(axis=0) + 0.4 - corner) / cell).astype(int)
    where = (thrown - corner) / cell
    height = rise[mesh.faces].mean(axis=1)
    light = np.ones((int(size[1]), int(size[0])))
    for lowest, highest, blur, weight in ((0.0, 0.15, 0.014, 1.0), (0.15, 0.8, 0.03, 0.85), (0.8, 9.0, 0.06, 0.7)):
        chosen = mesh.faces[(height >= lowest) & (height < highest)]
        if len(chosen):
            hit = nearest_triangles(where, np.zeros(len(where)), chosen, int(size[0]), int(size[1])) >= 0
            light *= 1.0 - weight * gaussian_filter(hit.astype(np.float64), blur / cell)
    pixels = (points.reshape(-1, 2) - corner) / cell - 0.5
    dark = map_coordinates(1.0 - light, pixels.T[::-1], order=1, mode="constant", cval=0.0)
    return np.asarray(dark.reshape(points.shape[:2]))
