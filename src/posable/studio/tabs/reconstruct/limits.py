"""Limits and volumes of a reconstructed body: a drawing of a limb's limits, and where the body penetrates itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....body.collision.obstacles import SelfCollision
from ....limb.model import ROLES
from ....skeleton import Frames, Pose
from ...core.session import Session
from ...widgets.controls import show
from ...widgets.joint_limit_plot import SwingPlot
from .messages import touching_facts

if TYPE_CHECKING:
    from ....body import Humanoid

NONE = "(none)"


class ReconstructLimits:
    """A folder of the panel."""

    def __init__(self, session: Session) -> None:
        gui = session.gui
        with gui.add_folder("Limits and volumes", expand_by_default=False):
            limbs = (NONE, *(limb.replace("_", " ") for limb in ROLES))
            self._limb = gui.add_dropdown("Limits of", limbs, hint="The limits of its joints, and where these are")
            self._volumes = gui.add_checkbox(
                "Volumes", False, hint="Draw the reconstructed body's volumes; tell what touches"
            )
            for control in (self._limb, self._volumes):
                control.on_update(session.guarded(lambda _: session.changed("pose")))
            self._swing = SwingPlot(session)
            self._touching = gui.add_markdown("", visible=False)

    @property
    def volumes(self) -> bool:
        """Whether the body shall be drawn as its volumes."""
        return bool(self._volumes.value)

    def draw(self, body: Humanoid, pose: Pose, frames: Frames) -> None:
        """Show what is asked for of a pose, whose joints are at `frames`."""
        limb = str(self._limb.value).replace(" ", "_")
        if limb in ROLES and all(role in body.roles for role in ROLES[limb]):
            self._swing.draw(body, limb, pose)
        else:
            self._swing.hide()
        show(self._touching, "visible", self.volumes)
        if self.volumes:
            show(self._touching, "content", touching_facts(SelfCollision.of(body).touching(frames)))

    def hide(self) -> None:
        """Show nothing."""
        self._swing.hide()
        show(self._touching, "visible", False)
