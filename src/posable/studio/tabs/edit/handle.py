"""The handle with which a part is pulled and turned: made once, then only moved, shown and hidden."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import viser

from .... import math as pm
from ....compute.types import Floats
from ...core.session import Session
from ...widgets.controls import show

NAME = "edit"
STRAIGHT = np.array([1.0, 0.0, 0.0, 0.0])


class EditHandle:
    """A gizmo in the scene: arrows along the world's axes, and rings where the part is turned, too.

    Args:
        session: whose scene.
        moved: called while it is dragged with its place on the stage (3,) [m] and its turn since it was taken hold of
            (4,), None while it has no rings.
        dropped: called when it is let go.
    """

    def __init__(
        self, session: Session, moved: Callable[[Floats, Floats | None], None], dropped: Callable[[], None]
    ) -> None:
        self._session, self._moved, self._dropped = session, moved, dropped
        self._gizmo: viser.TransformControlsHandle | None = None

    def show(self, place: Floats, size: float, visible: bool, turning: bool) -> None:
        """Have it at a place on the stage (3,) [m], with arrows of a size [m], and rings or not."""
        gizmo = self._gizmo
        if gizmo is None:
            gizmo = self._gizmo = self._session.add_gizmo(
                NAME, place, scale=size, disable_rotations=not turning, disable_sliders=True, depth_test=False
            )
            gizmo.on_update(self._session.guarded(self._dragged))
        if not np.allclose(gizmo.position, place, rtol=0.0, atol=1e-6):
            gizmo.position = place
        if pm.angle(np.array(gizmo.wxyz), STRAIGHT) > 1e-6:
            gizmo.wxyz = STRAIGHT
        show(gizmo, "scale", size)
        show(gizmo, "disable_rotations", not turning)
        show(gizmo, "visible", visible)

    def hide(self) -> None:
        """Show nothing."""
        if self._gizmo is not None:
            show(self._gizmo, "visible", False)

    def remove(self) -> None:
        """Take it off the scene."""
        self._session.remove_gizmo(NAME)
        self._gizmo = None

    def _dragged(self, event: Any) -> None:
        target = event.target
        turn = None if target.disable_rotations else np.array(target.wxyz, dtype=np.float64)
        self._moved(np.array(target.position, dtype=np.float64), turn)
        if event.phase == "end":
            self._dropped()
