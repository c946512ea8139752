"""The floor: a grid without end that takes the bodies' shadows, and patches where they touch it.

A patch lies below whatever of a body's surface, as it is drawn, is within `NEAR` of the ground: it is as large as that
part of the surface, and the darker the closer it is. So a foot that stands is told from one that hovers, which a shadow
beside it does not show.
"""

from __future__ import annotations

import numpy as np
import viser
from numpy.typing import NDArray

from ...compute.types import Floats, Ints
from .theme import Palette, linear

TILE = 2.0
"""After so many metres the ground repeats."""
NEAR = 0.035
"""Height of a surface above the ground below which it leaves a patch, on a body of 1.75 m [m]."""
PATCHES = 24
"""Patches at most: two a foot of six bodies."""
LAYERS = (0.7, 0.9, 1.1, 1.3, 1.5)
"""A patch is discs of these sizes over each other, so that its edge is soft."""
LIFT = 0.001  # [m] above the ground, between two discs
DARKEST = 0.16
"""Opacity of a disc where the surface is on the ground."""


class Floor:
    """The ground of a scene, and the patches on it."""

    def __init__(self, scene: viser.SceneApi, palette: Palette) -> None:
        self.tile = TILE
        self._patch_count = 0
        self.grid = scene.add_grid(
            "/floor",
            width=30 * TILE,
            height=30 * TILE,
            plane="xz",
            cell_size=TILE / 4,
            cell_thickness=1.0,
            section_size=TILE,
            section_thickness=1.0,
            fade_distance=8 * TILE,
            fade_strength=1.5,
            shadow_opacity=0.34,
            plane_opacity=0.9,
        )
        count = PATCHES * len(LAYERS)
        self._patches = scene.add_batched_meshes_simple(
            "/patches",
            *_disc(),
            batched_wxyzs=np.tile([1.0, 0.0, 0.0, 0.0], (count, 1)),
            batched_positions=np.zeros((count, 3)),
            batched_scales=np.full((count, 3), 1e-4),
            batched_opacities=np.zeros(count),
            batched_colors=(0, 0, 0),
            lod="off",
            cast_shadow=False,
            receive_shadow=False,
        )
        self.paint(palette)

    def paint(self, palette: Palette) -> None:
        """Take the colours of a theme."""
        self.grid.cell_color, self.grid.section_color = palette.grid, palette.grid_strong
        self.grid.plane_color = palette.floor
        self._patches.batched_colors = linear(palette.patch)

    def move(self, offset: Floats) -> None:
        """Glide below what is followed; `offset` (3,) is from the stage to where it is drawn [m]."""
        self.grid.position = np.fmod(offset, self.tile)  # the ground repeats, so it never ends

    def fit(self, far: float) -> None:
        """Fit the squares of the ground to a view from `far` metres: half a metre for people, more for giants."""
        factor = float(10.0 ** np.round(np.log10(max(far, 1e-3) / 5.5)))
        if factor != self.tile / TILE:
            self.tile = TILE * factor
            self.grid.cell_size, self.grid.section_size = TILE / 4 * factor, self.tile
            self.grid.width = self.grid.height = 30 * self.tile
            self.grid.fade_distance = max(8 * self.tile, 3 * far)

    def show_patches(self, patches: Floats) -> None:
        """Show patches (P, 5): x, z, half-widths along x and z [m], and how close the surface is, from 0 to 1."""
        patches = patches[np.argsort(-patches[:, 4])][:PATCHES]
        count = len(patches)
        if count == 0 and self._patch_count == 0:
            return
        self._patch_count = count
        positions = np.zeros((len(LAYERS), PATCHES, 3), np.float32)
        scales = np.full((len(LAYERS), PATCHES, 3), 1e-4, np.float32)
        opacities = np.zeros((len(LAYERS), PATCHES), np.float32)
        layers = np.array(LAYERS)
        positions[:, :count, 0], positions[:, :count, 2] = patches[:, 0], patches[:, 1]
        positions[:, :, 1] = (LIFT * np.arange(1, len(LAYERS) + 1))[::-1, None]
        scales[:, :count, 0] = layers[:, None] * patches[:, 2]
        scales[:, :count, 2] = layers[:, None] * patches[:, 3]
        opacities[:, :count] = DARKEST * patches[:, 4]
        self._patches.batched_positions = positions.reshape(-1, 3)
        self._patches.batched_scales = scales.reshape(-1, 3)
        self._patches.batched_opacities = opacities.ravel()


def patches_below(vertices: NDArray[np.float32], owners: Ints, near: float = NEAR) -> Floats:
    """Return (P, 5) for `Floor.show_patches`: a patch for each joint that has vertices near the ground.

    Args:
        vertices: (V, 3) of a body's surface where it is drawn [m].
        owners: (V,) the joint that carries each most.
        near: height below which a vertex counts [m].
    """
    low = np.flatnonzero(vertices[:, 1] < near)
    if not len(low):
        return np.zeros((0, 5))
    points, owner = vertices[low], owners[low]
    joints, which = np.unique(owner, return_inverse=True)
    least = np.full((len(joints), 3), np.inf)
    most = np.full((len(joints), 3), -np.inf)
    np.minimum.at(least, which, points)
    np.maximum.at(most, which, points)
    middle, half = (least + most) / 2, np.maximum((most - least) / 2, 0.3 * near)
    close = np.clip(1.0 - least[:, 1] / near, 0.0, 1.0)
    return np.column_stack([middle[:, 0], middle[:, 2], half[:, 0], half[:, 2], close])


def _disc(corners: int = 28) -> tuple[Floats, Ints]:
    """Return the vertices and faces of a disc of radius 1 in the plane of the ground, seen from above."""
    angle = np.linspace(0.0, 2 * np.pi, corners, endpoint=False)
    rim = np.stack([np.cos(angle), np.zeros(corners), np.sin(angle)], axis=1)
    k = np.arange(corners)
    faces = np.stack([np.zeros(corners, int), 1 + (k + 1) % corners, 1 + k], axis=1)
    return np.concatenate([np.zeros((1, 3)), rim]), faces
