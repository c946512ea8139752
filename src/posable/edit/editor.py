"""`MotionEditor`: a motion edited by dragging parts of the body (Komura et al. 2004).

```python
editor = ps.MotionEditor(motion, body)
answer = editor.drag(frame=60, part="left_hand", displacement=(0, .2, .1))      # one pose, nothing kept
edit = editor.edit(frame=60, part="left_hand", target=(...), spread=0.5)        # kept, fades over half a second
editor.motion                                                                    # with all edits
```

What the clip says about how its person moves (weights, relative velocities, contacts, ranges) is worked out once, when
first needed. Edits are applied in order, each to the motion with those before it; changing or removing one works out
the ones after it anew.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..body import Humanoid
from ..compute import Status
from ..compute.arrays import floats
from ..compute.types import ArrayLike, Floats
from ..limb import LimbRange
from ..limits import Limits
from ..skeleton import Motion, Pose
from .answers import DragAnswer
from .bounds import Bound, make_bounds
from .clip import Clip, read_clip
from .contacts import Contact
from .drag_request import frame_of, read_drag
from .dragging import Dragged, Dragger, Settings
from .edits import DragEdit, Edit, StretchEdit, WarpEdit
from .history import History, Kept
from .parts import EFFECTORS
from .range_projection import inside_ranges
from .weights import FitReport, Progress, exact_weights, fit_report
from .weights_file import cached_weights

if TYPE_CHECKING:
    from .retargeting import Retargeted


class MotionEditor:
    """Edits a motion the way its person moves.

    Args:
        motion: what is edited; it stays as it is.
        body: whose motion it is; found by the joints' names when not given.
        weights: "window" (default), "frame" (the paper's), "clip" or "identity"; see `fit_weights`.
        parts: the parts whose motion the weights explain: hands, feet and head.
        limits: "clip" (default): what the clip itself does, 0.2 rad more; "body": the body's limits; `Limits`, a
            `LimbRange`, None, or several of them.
        similar: other motions of bodies with the same joints; the weights then explain them too.
        contacts: as found by `find_contacts` when not given; give an empty one to keep none.
        cache: a file to keep the weights in; read instead of fitted where it belongs to this motion.
        progress: called while weights are fitted with the share done, 0 to 1.
    """

    def __init__(
        self,
        motion: Motion,
        body: Humanoid | None = None,
        *,
        weights: str = "window",
        parts: Sequence[str] = EFFECTORS,
        limits: Bound | Iterable[Bound] = "clip",
        similar: Iterable[Motion] = (),
        contacts: Sequence[Contact] | None = None,
        cache: str | os.PathLike[str] | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.original = motion
        self.body = Humanoid(motion.skeleton) if body is None else body
        self.clip: Clip = read_clip(motion, self.body, parts)
        self._kind, self._similar, self._cache, self._progress = weights, tuple(similar), cache, progress
        self._limits, self._contacts = limits, contacts
        self._dragged: weakref.WeakKeyDictionary[Pose, Dragged] = weakref.WeakKeyDictionary()
        self._history = History(motion)
        make_bounds(self.clip, limits)  # says at once what is wrong with them

    def __repr__(self) -> str:
        return f"MotionEditor({len(self.clip)} frames, {len(self.clip.parts.dofs)} DoF, {len(self.edits)} edits)"

    # What the clip says

    @cached_property
    def logs(self) -> Floats:
        """(F, n): logarithms of the inverse weights of each frame; fitted when first needed."""
        others = [read_clip(other, Humanoid(other.skeleton), self.clip.parts.effectors) for other in self._similar]
        return cached_weights(self._cache, self.clip, self._kind, others, self._progress)

    @property
    def weights(self) -> Floats:
        """(F, n): the weights W of the edited DoF `dof_names`, mean 1; infinite where a DoF is locked."""
        with np.errstate(over="ignore"):
            w = np.exp(-self.logs)
        free = self.clip.parts.free
        return np.asarray(w / w[:, free].mean(axis=1, keepdims=True))

    @property
    def dof_names(self) -> tuple[str, ...]:
        """(n,): what the columns of `weights` are."""
        return self.clip.parts.names()

    @cached_property
    def report(self) -> FitReport:
        """How well the weights explain the motion, frame by frame."""
        return fit_report(self.clip, self.logs)

    def exact_weights(self, frame: int) -> float:
        """The spread of weights that explain a frame exactly, infinite where there are none; see `exact_weights`."""
        return exact_weights(self.clip, frame_of(frame, len(self.clip)))

    @cached_property
    def dragger(self) -> Dragger:
        """Weights, bounds and contacts together, as drags use them."""
        made = Dragger(self.clip, self.logs, make_bounds(self.clip, self._limits))
        if self._contacts is not None:
            made.contacts = tuple(self._contacts)
        return made

    @property
    def limits(self) -> Bound | Iterable[Bound]:
        """What joints may do, as for the constructor. Others hold for whatever is worked out from then on."""
        return self._limits

    @limits.setter
    def limits(self, limits: Bound | Iterable[Bound]) -> None:
        known = limits if limits is None or isinstance(limits, str | Limits | LimbRange) else tuple(limits)
        bounds = make_bounds(self.clip, known)
        if "dragger" in vars(self):
            contacts = self.dragger.contacts
            self.dragger = self.dragger.bounded(bounds)
            self.dragger.contacts = contacts
        self._limits = known
        self._dragged.clear()  # a drag under other limits does not go on

    @property
    def contacts(self) -> tuple[Contact, ...]:
        """What touches when: feet the ground, hands the body or each other."""
        return self.dragger.contacts

    # Dragging

    def drag(
        self,
        *,
        frame: ArrayLike,
        part: str | int,
        displacement: ArrayLike | None = None,
        target: ArrayLike | None = None,
        orientation: ArrayLike | None = None,
        pose: Pose | None = None,
        pins: Iterable[str | int] = (),
        contacts: bool = True,
        mode: str = "frozen",
        step: float = 0.01,
        softness: tuple[float, float] | None = None,
        cap: float | None = None,
    ) -> DragAnswer:
        """A part of one frame's pose dragged somewhere; nothing is kept. Frames and displacements broadcast.

        Args:
            frame: which frame, or an array of them (...).
            part: any part: a role, or a joint's name or index.
            displacement: (..., 3) [m] in the world.
            target: (..., 3) [m] in the world, instead of a displacement.
            orientation: (..., 4) that the part shall have in the end, in the world.
            pose: a pose to go on from, instead of the frame's. One that this editor has dragged by the same part is
                    understood as that drag going on: dragged back, it returns to exactly the pose it began in.
            pins: parts that stay where they are, with their orientation.
            contacts: whether feet that are on the ground in this frame are pinned too.
            mode: "frozen": weights and velocities of the frame (the paper's); "phase": of the phase the drag leads to.
            step: the longest step of the part [m].
            softness: of the others' places and turns; smaller follows the clip more closely.
            cap: how much further than the dragged part another may go.
        """
        settings = Settings(mode, float(step), softness, cap)
        held = tuple(pins)
        asked = read_drag(self.body, self.motion, frame, part, displacement, target, orientation, pose)
        way, start, phases = asked.way, asked.start, asked.frames.astype(np.float64)
        known = None if pose is None else self._dragged.get(pose)
        if known is not None and known.continues(asked.frames, asked.joint, asked.turn, mode):
            if mode == "phase":
                phases = known.phases
            else:
                way, start = known.joined(way, self.body), known.start
        answer = self.dragger.drag(start, phases, part, way, asked.turn, held, 0.0 if contacts else None, settings)
        aim = self.body.skeleton.forward(start).positions[:, asked.joint] + way
        told = inside_ranges(self.dragger, start, answer, part, aim)
        answer = asked.shaped(told)
        self._dragged[answer.pose] = Dragged(
            asked.frames,
            asked.joint,
            mode,
            way,
            asked.turn,
            start,
            told.frame,
            told.status == Status.REACHED,
            told.pose,
        )
        return answer

    # Editing

    @property
    def motion(self) -> Motion:
        """The motion with all edits."""
        return self._history.motion

    @property
    def edits(self) -> tuple[Edit, ...]:
        """What was edited, in order."""
        return tuple(self._history.edits)

    def edit(
        self,
        *,
        frame: int,
        part: str | int,
        target: ArrayLike | None = None,
        spread: float = 0.5,
        displacement: ArrayLike | None = None,
        orientation: ArrayLike | None = None,
        ease: str = "cosine",
        frames: tuple[int, int] | None = None,
        pins: Iterable[str | int] = (),
        contacts: bool = True,
        mode: str = "frozen",
    ) -> DragEdit:
        """Drag a part at one frame and let the change fade over the frames around; kept until removed.

        Args:
            frame: where the part shall be at its target.
            part: any part: a role, or a joint's name or index.
            target: (3,) [m] in the world.
            spread: half-width of the change [s].
            displacement: (3,) [m], instead of a target.
            orientation: (4,) that the part shall have there.
            ease: how it fades: "cosine", "smooth" or "linear".
            frames: first and last frame that may change, instead of a spread.
            pins: parts that stay where they are at that frame.
            contacts: whether contacts are kept, over all frames that change.
            mode: as for `drag`.
        """
        made = DragEdit(
            self, frame=frame_of(frame, len(self.clip)), part=part, target=target, spread=spread,
            displacement=displacement, orientation=orientation, ease=ease, frames=frames, pins=tuple(pins),
            contacts=contacts, mode=mode,
        )  # fmt: skip
        self._history.add(made)
        return made

    def warp(
        self, constraints: Iterable[tuple[int, str | int, ArrayLike]], *, spread: float = 0.5, contacts: bool = True
    ) -> WarpEdit:
        """Several parts at several frames must be at given places; the changes are joined smoothly in time.

        Args:
            constraints: (frame, part, target (3,) [m] in the world), any number of them.
            spread: how long the change takes to fade before, after, and between constraints that are far apart [s].
            contacts: whether contacts are kept.
        """
        asked = tuple((frame_of(f, len(self.clip)), part, floats(t, "target", 3)) for f, part, t in constraints)
        made = WarpEdit(self, constraints=asked, spread=spread, contacts=contacts)
        self._history.add(made)
        return made

    def stretch(
        self, bones: dict[str | int, float], *, frame: int, spread: float = 0.5, ease: str = "cosine",
        frames: tuple[int, int] | None = None, contacts: bool = True,
    ) -> StretchEdit:  # fmt: skip
        """Bones that change their length during the motion, fading as edits do; contacts are kept.

        Args:
            bones: part to factor: the bone that ends in this part's joint is so many times as long at `frame`.
            frame: where they have it.
            spread: half-width of the change [s].
            ease: how it fades.
            frames: first and last frame that may change, instead of a spread.
            contacts: whether contacts are kept.
        """
        made = StretchEdit(
            self, bones=dict(bones), frame=frame_of(frame, len(self.clip)), spread=spread, ease=ease, frames=frames,
            contacts=contacts,
        )  # fmt: skip
        self._history.add(made)
        return made

    def retarget(self, body: Humanoid, **options: Any) -> Retargeted:
        """The edited motion on another body; see `retarget`."""
        from .retargeting import retarget

        return retarget(self.motion, self.body, body, **options)

    @property
    def kept(self) -> Kept:
        """All edits as they are now, to go back to with `restore`."""
        return self._history.kept

    def restore(self, kept: Kept) -> None:
        """Have the edits as they were when `kept` was taken of this editor, to the last bit; nothing is worked out."""
        self._history.restore(kept)

    def clear(self) -> None:
        """Remove all edits."""
        self._history.clear()
