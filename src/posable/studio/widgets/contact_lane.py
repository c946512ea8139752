"""The lanes of contacts on the timeline: when each foot of the active body stands.

They are looked for once the compiled library is there: nobody asked for them, so nobody has to wait for Numba.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...compute import PosableError, library
from ...skeleton import Motion
from ..core.marks import Mark
from ..core.session import Session
from ..core.worker import Worker
from ..view.theme import Rgb

if TYPE_CHECKING:
    from ...body import Humanoid
    from ...edit import Contact

LANES = {"left": "Left foot", "right": "Right foot"}
ORDER = 10.0
COLOUR: Rgb = (104, 160, 118)
LONGEST = 60_000
"""Frames of a motion whose contacts are looked for: longer ones would keep a core busy for a minute."""


class ContactLane(Worker[tuple[Motion, "Humanoid"], tuple["Contact", ...]]):
    """Finds the contacts of the active motion in the background whenever another one is active."""

    def __init__(self, session: Session) -> None:
        super().__init__(session, "contacts")
        self._motion: Motion | None = None
        session.subscribe(lambda _: self.look(), "actors", "active", "selection", "history")
        self.look()

    def look(self) -> None:
        """Look for the contacts of the active motion, where it is another one."""
        session = self._session
        motion, body = session.motion, session.body
        if motion is self._motion or library.table() is None:
            return
        self._motion = motion
        for lane in LANES.values():
            session.marks.put(lane, ())
        if motion is not None and body is not None and 1 < len(motion) <= LONGEST:
            self.submit((motion, body))

    def compute(self, request: tuple[Motion, Humanoid]) -> tuple[Contact, ...]:
        """Find the contacts of feet."""
        from ...edit.clip import read_clip
        from ...edit.contacts import find_contacts

        return find_contacts(read_clip(*request), hands=False)

    def deliver(self, request: tuple[Motion, Humanoid], result: tuple[Contact, ...] | Exception) -> None:
        """Show the contacts, unless another motion is active by now; a motion in which none can be found has none."""
        with self._session.lock:
            if isinstance(result, Exception):
                if not isinstance(result, PosableError):
                    raise result
                return
            if request[0] is not self._motion:
                return
            for k, (side, lane) in enumerate(LANES.items()):
                feet = [contact for contact in result if contact.part.startswith(side)]
                self._session.marks.put(lane, _marks(feet, lane), order=ORDER + k)


def _marks(contacts: list[Contact], foot: str) -> list[Mark]:
    """Return a mark for each time a foot stands, whether on its heel, its ball or both."""
    runs: list[list[int]] = []
    for contact in sorted(contacts, key=lambda contact: contact.first):
        if runs and contact.first <= runs[-1][1] + 1:
            runs[-1][1] = max(runs[-1][1], contact.last)
        else:
            runs.append([contact.first, contact.last])
    return [Mark(first, last, f"{foot.lower()} on the ground", COLOUR) for first, last in runs]
