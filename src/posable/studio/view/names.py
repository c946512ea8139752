"""Names over what stands on the stage, so that one knows who is who."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ...compute.types import Floats
from ..widgets.controls import show

if TYPE_CHECKING:
    import viser

    from ..core.session import Session


class NameTags:
    """Labels in the scene, `group` among the names; none until they are drawn.

    They are where they are seen and not below `/world`, which moves: see `stage`.
    """

    def __init__(self, session: Session, group: str) -> None:
        self._session, self._group = session, group
        self._labels: list[viser.LabelHandle] = []

    def draw(self, positions: Mapping[str, Floats]) -> None:
        """Show names over positions (3,) of the scene [m]."""
        while len(self._labels) < len(positions):
            name = f"/names/{self._group}{len(self._labels)}"
            self._labels.append(self._session.scene.add_label(name, "", anchor="bottom-center", visible=False))
        for k, label in enumerate(self._labels):
            show(label, "visible", k < len(positions))
        for label, (text, position) in zip(self._labels, positions.items()):
            show(label, "text", text)
            if not np.allclose(label.position, position, atol=1e-4):
                label.position = position

    def hide(self) -> None:
        """Show no names."""
        for label in self._labels:
            show(label, "visible", False)

    def remove(self) -> None:
        """Take the names off the scene."""
        for label in self._labels:
            label.remove()
        self._labels = []
