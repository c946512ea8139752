"""A handle in the scene that a user drags: made when it is first shown, then only moved, shown and hidden."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import viser

from ... import math as pm
from ...compute.types import Floats
from .controls import show

if TYPE_CHECKING:
    from ..core.session import Session

IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])
NEAR = 1e-6
"""Positions [m] and angles [rad] this close are the same: browsers know positions to 1e-7."""


class DragHandle:
    """A gizmo that follows a position of the program's and reports what a user makes of it.

    Args:
        session: whose scene.
        name: of the gizmo.
        dragged: called during a drag with the position (3,) on the stage [m] and the orientation (4,) of the handle.
        dropped: called when the user lets the handle go.
        options: of viser's `add_transform_controls`.
    """

    def __init__(
        self,
        session: Session,
        name: str,
        dragged: Callable[[Floats, Floats], None],
        dropped: Callable[[], None] = lambda: None,
        **options: Any,
    ) -> None:
        self._session, self._name, self._dragged, self._dropped = session, name, dragged, dropped
        self._options = {"disable_sliders": True, "depth_test": False, **options}

    @property
    def gizmo(self) -> viser.TransformControlsHandle | None:
        """The handle in the scene; None while there is none."""
        return self._session.gizmos.get(self._name)

    def show(self, position: Floats, orientation: Floats = IDENTITY, *, follow: bool = True, **options: Any) -> None:
        """Show the handle; only what differs is sent.

        Args:
            position: (3,) on the stage [m].
            orientation: (4,) in the world.
            follow: False leaves a handle where it is that is in the scene already, as during a drag.
            options: of viser's handle, such as `scale` and `visible`.
        """
        gizmo = self.gizmo
        if gizmo is None:
            options = {**self._options, **options, "wxyz": orientation}
            gizmo = self._session.add_gizmo(self._name, position, **options)
            gizmo.on_update(self._session.guarded(self.receive))
            return
        if follow and not np.allclose(gizmo.position, position, rtol=0.0, atol=NEAR):
            gizmo.position = position
        if follow and pm.angle(np.array(gizmo.wxyz), orientation) > NEAR:
            gizmo.wxyz = orientation
        for option, value in options.items():
            show(gizmo, option, value)

    def hide(self) -> None:
        """Make the handle invisible; it stays in the scene."""
        if (gizmo := self.gizmo) is not None:
            show(gizmo, "visible", False)

    def remove(self) -> None:
        """Take the handle off the scene."""
        self._session.remove_gizmo(self._name)

    def receive(self, event: Any) -> None:
        """Report a message of a page: where the handle is, and whether the drag has ended."""
        position, orientation = (
            np.array(value, dtype=np.float64) for value in (event.target.position, event.target.wxyz)
        )
        self._dragged(position, orientation)
        if event.phase == "end":
            self._dropped()
