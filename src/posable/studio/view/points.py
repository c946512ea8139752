"""Points and line segments in the scene."""

from __future__ import annotations

import numpy as np
import viser

from ...compute.types import ArrayLike, Floats
from ..widgets.controls import show


class PointCloud:
    """Flat round points in the scene, hidden until there are some."""

    def __init__(self, server: viser.ViserServer, name: str) -> None:
        self._server = server
        self.node = server.scene.add_point_cloud(
            name,
            np.zeros((1, 3), dtype=np.float32),
            np.zeros((1, 3), dtype=np.uint8),
            point_shape="circle",
            precision="float32",
            point_shading="flat",
            visible=False,
        )

    def draw(self, points: Floats, colours: ArrayLike, size: float) -> None:
        """Show points (N, 3) [m] in colours (N, 3) from 0 to 255, of a diameter [m]."""
        if len(points):
            with self._server.atomic():
                self.node.points = points.astype(np.float32)
                self.node.colors = np.asarray(colours).astype(np.uint8).reshape(-1, 3)
                if not np.isclose(self.node.point_size, size):
                    self.node.point_size = size
        show(self.node, "visible", len(points) > 0)

    def hide(self) -> None:
        """Show nothing."""
        show(self.node, "visible", False)

    def remove(self) -> None:
        """Take the points off the scene."""
        self.node.remove()


def add_segments(scene: viser.SceneApi, name: str, count: int, thickness: float) -> viser.LineSegmentsHandle:
    """Add line segments of a thickness [pixels] to the scene, always `count` of them; hidden until they are shown."""
    ends, colours = np.zeros((count, 2, 3), dtype=np.float32), np.zeros((count, 2, 3), dtype=np.uint8)
    return scene.add_line_segments(name, ends, colours, thickness=thickness, thickness_units="screen", visible=False)
