"""The behaviours of both arms: one pair, which the tab Behaviours designs and the tab Pose reaches with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ...reach import Behaviour

if TYPE_CHECKING:
    from ...body import Humanoid
    from .session import Session

SIDES = ("right", "left")


class Behaviours:
    """Two behaviours, never changed in place: an edit makes new ones, so that the old ones can come back."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.by_side: Mapping[str, Behaviour] = {}

    def fit(self, body: Humanoid) -> bool:
        """Return whether there are behaviours, and a body has all parts that they drive."""
        parts = {part for behaviour in self.by_side.values() for part in behaviour.parts}
        return bool(self.by_side) and all(part in body.roles for part in parts)

    def ensure(self, body: Humanoid) -> bool:
        """Begin with the example "normal" where the behaviours do not fit a body; False where it has no arms to use."""
        arms = all(f"{side}_{part}" in body.roles for side in SIDES for part in ("upper_arm", "lower_arm", "hand"))
        if arms and not self.fit(body):
            self.put({side: Behaviour.default(body, f"{side}_arm") for side in SIDES})
        return arms

    def put(self, by_side: Mapping[str, Behaviour]) -> None:
        """Use these behaviours."""
        with self._session.lock:
            self.by_side = by_side
            self._session.changed("behaviours")

    def start_from(self, example: str) -> None:
        """Use an example for both arms. Can be undone."""
        with self._session.lock:
            before = self.by_side
            after = {side: Behaviour.example(example, f"{side}_arm", self._session.body) for side in SIDES}
            self._session.run(f"Start from {example}", lambda: self.put(after), lambda: self.put(before))
