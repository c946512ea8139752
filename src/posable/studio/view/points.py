"""Round points in the scene: markers, keys and maps."""

from __future__ import annotations

import numpy as np
import viser

from ...compute.types import ArrayLike, Floats


class PointCloud:
    """Flat round points, hidden until there are some.

    Args:
        server: whose scene.
        name: of the node.
    """

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
        self._show(len(points) > 0)

    def hide(self) -> None:
        """Show nothing."""
        self._show(False)

    def remove(self) -> None:
        """Take the points off the scene."""
        self.node.remove()

    def _show(self, visible: bool) -> None:
        if self.node.visible != visible:
            self.node.visible = visible
