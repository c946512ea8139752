"""Sliders for the joints of a chain: as many as it has, made once and given to whatever chain comes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import viser

from ....compute.types import Floats
from ....express import Chain
from ...core.session import Session
from ...widgets.controls import assign, show

WHOLE = 180.0
"""Degrees each way of a joint without ends."""
STEP = 0.1


class PostureSliders:
    """A folder with a slider a joint, degrees of what turns and millimetres of what slides.

    Args:
        session: whose panel.
        moved: called when a user has moved one.
    """

    def __init__(self, session: Session, moved: Callable[[], None]) -> None:
        self._session, self._moved = session, moved
        self._chain: Chain | None = None
        self._values = np.zeros(0)
        self._units = np.ones(0)
        self._sliders: list[Any] = []
        self._folder = session.gui.add_folder("Joints of the posture", visible=False)
        with self._folder:
            straight = session.gui.add_button("Straighten up", icon=viser.Icon.ARROW_UP)
            straight.on_click(session.guarded(lambda _: self._straighten()))

    @property
    def values(self) -> Floats:
        """(N,) the posture [rad or m]."""
        return self._values.copy()

    def suit(self, chain: Chain | None) -> None:
        """Have the sliders of a chain, at rest; None: none."""
        self._chain = chain
        show(self._folder, "visible", chain is not None)
        count = 0 if chain is None else len(chain)
        while len(self._sliders) < count:
            self._add()
        for slider in self._sliders[count:]:
            show(slider, "visible", False)
        if chain is None:
            return
        slides = np.zeros(count, dtype=bool)
        slides[[link.dof for link in chain.links if link.slides]] = True
        self._units = np.where(slides, 1000.0, math.degrees(1.0))
        self._values = chain.zero
        ends = np.clip(
            chain.limits * self._units[:, None],
            np.where(slides, -1e4, -WHOLE)[:, None],
            np.where(slides, 1e4, WHOLE)[:, None],
        )
        for k, slider in enumerate(self._sliders[:count]):
            low, high = math.floor(ends[k, 0] / STEP) * STEP, math.ceil(ends[k, 1] / STEP) * STEP
            with self._session.server.atomic():
                slider.label = f"{chain.names[k][:28]} [{'mm' if slides[k] else '°'}]"
                slider.min, slider.max = low, max(high, low + STEP)
                show(slider, "disabled", bool(chain.lower[k] == chain.upper[k]))
                show(slider, "visible", True)
        self.put(self._values)

    def put(self, values: Floats) -> None:
        """Have the sliders show a posture (N,)."""
        self._values = np.array(values, dtype=np.float64)
        for slider, value in zip(self._sliders, self._values * self._units):
            assign(slider, float(np.clip(round(value / STEP) * STEP, slider.min, slider.max)))

    def _add(self) -> None:
        k = len(self._sliders)
        with self._folder:
            slider = self._session.gui.add_slider(f"joint {k}", min=-90.0, max=90.0, step=STEP, initial_value=0.0)
        slider.on_update(self._session.guarded(lambda _: self._slid(k)))
        self._sliders.append(slider)

    def _slid(self, k: int) -> None:
        with self._session.lock:
            if self._chain is not None and k < len(self._values):
                value = float(self._sliders[k].value) / self._units[k]
                self._values[k] = np.clip(value, self._chain.lower[k], self._chain.upper[k])
                self._moved()

    def _straighten(self) -> None:
        with self._session.lock:
            if self._chain is not None:
                self.put(self._chain.zero)
                self._moved()
