"""The handle with which a part is pulled: made once, then only moved, shown and hidden."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import viser

from ..compute.types import Floats
from .session import Session

NAME = "edit"


class EditHandle:
    """A gizmo in the scene.

    Args:
        session: whose scene.
        moved: called with its place on the stage (3,) [m] while it is dragged.
        dropped: called when it is let go.
    """

    def __init__(self, session: Session, moved: Callable[[Floats], None], dropped: Callable[[], None]) -> None:
        self._session, self._moved, self._dropped = session, moved, dropped
        self._gizmo: viser.TransformControlsHandle | None = None

    def show(self, place: Floats, size: float, visible: bool) -> None:
        """Have it at a place on the stage (3,) [m], with arrows of a size [m]."""
        gizmo = self._gizmo
        if gizmo is None:
            gizmo = self._gizmo = self._session.add_gizmo(
                NAME, place, scale=size, disable_rotations=True, disable_sliders=True, depth_test=False
            )
            gizmo.on_update(self._session.guarded(self._dragged))
        if not np.allclose(gizmo.position, place, rtol=0.0, atol=1e-6):
            gizmo.position = place
        if gizmo.scale != size:
            gizmo.scale = size
        if gizmo.visible != visible:
            gizmo.visible = visible

    def hide(self) -> None:
        """Show nothing."""
        if self._gizmo is not None and self._gizmo.visible:
            self._gizmo.visible = False

    def remove(self) -> None:
        """Take it off the scene."""
        self._session.remove_gizmo(NAME)
        self._gizmo = None

    def _dragged(self, event: Any) -> None:
        self._moved(np.array(event.target.position, dtype=np.float64))
        if event.phase == "end":
            self._dropped()
