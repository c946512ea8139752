"""The edits of a motion, in order, and the motion after each of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..compute import PosableError
from ..skeleton import Motion

if TYPE_CHECKING:
    from .edits import Edit


@dataclass(frozen=True, eq=False)
class Kept:
    """The edits of an editor at some moment, from `MotionEditor.kept`."""

    edits: tuple[tuple[Edit, dict[str, Any]], ...]
    """Each edit and what it consisted of."""
    motions: tuple[Motion, ...]
    """The original, and the motion after each edit."""


class History:
    """Edits of one motion, each on top of those before it; one that changes makes the later ones anew."""

    def __init__(self, original: Motion) -> None:
        self.edits: list[Edit] = []
        self._motions: list[Motion] = [original]

    @property
    def original(self) -> Motion:
        """The motion without edits."""
        return self._motions[0]

    @property
    def motion(self) -> Motion:
        """The motion with all edits."""
        return self._motions[-1]

    @property
    def kept(self) -> Kept:
        """All as it is now."""
        return Kept(tuple((edit, dict(vars(edit))) for edit in self.edits), tuple(self._motions))

    def restore(self, kept: Kept) -> None:
        """Have all as it was, to the last bit; nothing is worked out."""
        if not kept.motions or kept.motions[0] is not self.original:
            raise PosableError("these edits are of another motion; restore what was taken of this editor")
        for edit, was in kept.edits:
            vars(edit).clear()
            vars(edit).update(was)
        self.edits, self._motions = [edit for edit, _ in kept.edits], list(kept.motions)

    def clear(self) -> None:
        """Remove all edits."""
        self.edits.clear()
        del self._motions[1:]

    def add(self, made: Edit) -> None:
        """An edit on top."""
        pose = made.apply(self.motion.pose)  # raises before anything is kept
        self.edits.append(made)
        self._motions.append(self.motion.replace(pose=pose))

    def again(self, made: Edit) -> None:
        """Work out an edit and those after it anew."""
        self._motions = self._from(self.edits.index(made), self.edits)

    def drop(self, made: Edit) -> None:
        """Take an edit away and work out those after it anew."""
        first = self.edits.index(made)
        rest = [edit for edit in self.edits if edit is not made]
        self._motions = self._from(first, rest)
        self.edits = rest

    def _from(self, first: int, edits: list[Edit]) -> list[Motion]:
        """The motions after each of some edits, the ones before the first as they are."""
        motions = self._motions[: first + 1]
        for edit in edits[first:]:
            motions.append(motions[-1].replace(pose=edit.apply(motions[-1].pose)))
        return motions
