"""`MotionEditor`: a motion edited by dragging parts of the body (Komura et al. 2004).

```python
editor = ps.MotionEditor(motion, body)
solution = editor.drag(frame=60, part="left_hand", displacement=(0, .2, .1))    # one pose, the motion is unchanged
edit = editor.edit(frame=60, part="left_hand", target=(...), spread=0.5)        # fades over half a second
editor.motion                                                                    # with all edits
```

How the person of the clip moves (weights, relative velocities, contacts, ranges) is computed once, when first needed.
Edits are applied in order, each to the motion with those before it; changing or removing one computes the ones after it
again.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ..body import Humanoid
from ..compute import PosableError
from ..compute.types import ArrayLike, Floats, floats
from ..limb import LimbRange
from ..limits import Limits
from ..skeleton import Motion, Pose
from .bounds import Bound, make_bounds
from .clip import EFFECTORS, Clip, frame_of, read_clip
from .contacts import Contact, find_contacts
from .dragging import Dragged, Dragger, DragRequest, DragSolution, PlainDragger, Settings, judged, read_drag
from .edits import Change, DragEdit, Edit, KeyEdit, Snapshot, StretchEdit, WarpEdit
from .model import PIN_TOLERANCE
from .weights import FitReport, Progress, cached_weights, exact_weights, fit_report

if TYPE_CHECKING:
    from .retargeting import RetargetSolution

AnyEdit = TypeVar("AnyEdit", bound=Edit)


class MotionEditor:
    """Edits a motion the way its person moves.

    Args:
        motion: the motion to edit; it stays as it is.
        body: the body that performs it; by default found by the joints' names.
        weights: "window" (default), "frame" (the paper's), "clip" or "identity"; see `fit_weights`.
        parts: the parts whose motion the weights explain; by default hands, feet and head.
        limits: "body" (default): the body's own; "clip": the range of the clip itself, 0.2 rad wider; `Limits`, a
            `LimbRange`, None, or several of them.
        similar: other motions of bodies with the same joints, which the weights then explain too; default none.
        contacts: by default those that `find_contacts` finds; an empty sequence keeps none.
        cache: a file that stores the weights, read instead of fitted where it belongs to this motion; default none.
        progress: called while weights are fitted with the fraction done, 0 to 1; default none.
    """

    def __init__(
        self,
        motion: Motion,
        body: Humanoid | None = None,
        *,
        weights: str = "window",
        parts: Sequence[str] = EFFECTORS,
        limits: Bound | Iterable[Bound] = "body",
        similar: Iterable[Motion] = (),
        contacts: Sequence[Contact] | None = None,
        cache: str | os.PathLike[str] | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.original = motion
        self.body = Humanoid(motion.skeleton) if body is None else body
        self.body.require_person("MotionEditor")
        self.clip: Clip = read_clip(motion, self.body, parts)
        self._kind, self._similar, self._cache, self._progress = weights, tuple(similar), cache, progress
        self._limits, self._contacts = limits, contacts
        self._dragged: weakref.WeakKeyDictionary[Pose, Dragged] = weakref.WeakKeyDictionary()
        self._edits: list[Edit] = []
        self._motions: list[Motion] = [motion]  # the original, and the motion after each edit
        make_bounds(self.clip, limits)  # raises at once where they are wrong

    def __repr__(self) -> str:
        return f"MotionEditor({len(self.clip)} frames, {len(self.clip.parts.dofs)} DoF, {len(self.edits)} edits)"

    # Analysis of the clip

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
        """(n,): names of the DoF in the columns of `weights`."""
        return self.clip.parts.names()

    @cached_property
    def mobility(self) -> Floats:
        """(F, J) from 0 to 1: how readily each joint rotates, scaled to the range of its frame; NaN: not edited.

        The logarithm of the geometric mean of the inverse weights of a joint's rotations. (Those of the root's
        translation are metres and not radians, and cannot be compared.)
        """
        parts, dofs = self.clip.parts, self.body.skeleton.dofs
        joints = dofs.joint[parts.dofs]
        rotations = parts.free & (np.array(dofs.kind)[parts.dofs] == "rotation")
        found = np.full((len(self.clip), len(self.body.skeleton)), np.nan)
        for joint in np.unique(joints[rotations]):
            found[:, joint] = self.logs[:, rotations & (joints == joint)].mean(axis=1)
        low, high = np.nanmin(found, axis=1, keepdims=True), np.nanmax(found, axis=1, keepdims=True)
        return np.asarray((found - low) / np.maximum(high - low, 1e-9))

    @cached_property
    def report(self) -> FitReport:
        """How well the weights explain the motion, frame by frame."""
        return fit_report(self.clip, self.logs)

    def exact_weights(self, frame: int) -> float:
        """Return the spread of weights that explain a frame exactly, infinite without any (`weights.exact_weights`)."""
        return exact_weights(self.clip, frame_of(frame, len(self.clip)))

    @cached_property
    def dragger(self) -> Dragger:
        """Weights, bounds and contacts together, as drags use them."""
        return self._made(Dragger, self.logs)

    @cached_property
    def plain_dragger(self) -> Dragger:
        """The dragger that knows nothing of how this person moves, as keys use it: nothing has to be fitted."""
        return self._made(PlainDragger, cached_weights(None, self.clip, "identity", [], None))

    def _made(self, kind: type[Dragger], logs: Floats) -> Dragger:
        made = kind(self.clip, logs, make_bounds(self.clip, self._limits))
        made.contacts = self.contacts
        return made

    @property
    def limits(self) -> Bound | Iterable[Bound]:
        """Limits of the joints, as for the constructor. New ones hold for whatever is computed from then on."""
        return self._limits

    @limits.setter
    def limits(self, limits: Bound | Iterable[Bound]) -> None:
        known = limits if limits is None or isinstance(limits, str | Limits | LimbRange) else tuple(limits)
        bounds = make_bounds(self.clip, known)
        for name in ("dragger", "plain_dragger"):
            if name in vars(self):
                vars(self)[name] = vars(self)[name].bounded(bounds)
        self._limits = known
        self._dragged.clear()  # a drag under other limits does not go on

    @cached_property
    def contacts(self) -> tuple[Contact, ...]:
        """Contacts of the motion: feet on the ground, hands on the body or on each other."""
        return find_contacts(self.clip) if self._contacts is None else tuple(self._contacts)

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
        mode: str = "phase",
        scope: str = "auto",
        step: float = 0.01,
        softness: tuple[float, float] | None = None,
        max_ratio: float | None = None,
        fitted: bool = True,
    ) -> DragSolution:
        """Drag a part of one frame's pose; the motion is unchanged. Frames and displacements broadcast.

        Args:
            frame: which frame, or an array of them (...).
            part: any part: a role, or a joint's name or index.
            displacement: (..., 3) [m] in the world; default None.
            target: (..., 3) [m] in the world, instead of a displacement; default None.
            orientation: (..., 4) target orientation of the part, wxyz in the world; default None, free.
            pose: a pose to start from; by default the frame's. One that this editor has dragged by the same part
                continues that drag: dragged back, it returns to exactly the pose it began in.
            pins: parts that stay where they are, with their orientation; default none.
            contacts: whether feet that are on the ground in this frame are pinned too; default True.
            mode: "phase" (default): a part dragged along its own motion takes the body along through the clip, one
                dragged across it moves by itself; "frozen" (the paper's): whatever the direction, the other parts come
                along as they move at this frame.
            scope: how much of the body answers: "auto" (default): the limb, and the rest as far as the limb does not
                suffice; "limb": the limb alone; "half": the upper or the lower body; "whole": all of it as readily
                as in the clip.
            step: the longest step of the part [m]; default 0.01.
            softness: of the other parts' positions and orientations; smaller follows the clip more closely. By default
                (0.03, 0.1), in mode "frozen" (0.3, 0.5).
            max_ratio: how many times as far as the dragged part another may go; by default 4, in mode "frozen" 1.5.
            fitted: whether the body answers as it moves in this motion, the default; False: all joints alike, the other
                parts stay where they are as far as they can, and no weights are fitted.
        """
        settings = Settings(mode, float(step), softness, max_ratio, scope)
        request = read_drag(self.body, self.motion, frame, part, displacement, target, orientation, pose)
        joined, phases = request, request.frames.astype(np.float64)
        known = None if pose is None else self._dragged.get(pose)
        if known is not None:
            joined, phases = known.continued(request, mode, self.body)
        solution = (self.dragger if fitted else self.plain_dragger).drag(
            *(joined.start, phases, part, joined.displacements, joined.rotations, tuple(pins)),
            *(0.0 if contacts else None, settings),
        )
        if joined is not request:
            solution = self._measured(solution, request)
        shaped = solution.reshaped(request.shape)
        self._dragged[shaped.pose] = Dragged(joined, mode, solution)
        return shaped

    def _measured(self, solution: DragSolution, request: DragRequest) -> DragSolution:
        """Measure a drag that was continued against the target of the last call: it ends a little off the joint one."""
        began, ended = (
            self.body.skeleton.forward(pose).positions[:, request.joint] for pose in (request.start, solution.pose)
        )
        away = np.linalg.norm(began + request.displacements - ended, axis=-1)
        away = np.where(np.isfinite(away), away, np.inf)
        status = judged(solution.status, away, solution.orientation_error, solution.slid - PIN_TOLERANCE)
        return replace(solution, status=status, position_error=away)

    # Editing

    @property
    def motion(self) -> Motion:
        """The motion with all edits."""
        return self._motions[-1]

    @property
    def edits(self) -> tuple[Edit, ...]:
        """The edits, in order."""
        return tuple(self._edits)

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
        pins: Iterable[str | int | tuple[str | int, int, int]] = (),
        contacts: bool = True,
        mode: str = "phase",
        scope: str = "auto",
        softness: tuple[float, float] | None = None,
    ) -> DragEdit:
        """Drag a part at one frame and let the change fade over the frames around.

        Args:
            frame: number of the frame, from 0, at which the part shall be at its target.
            part: any part: a role, or a joint's name or index.
            target: (3,) [m] in the world; default None.
            spread: half-width of the change [s]; default 0.5.
            displacement: (3,) [m], instead of a target; default None.
            orientation: (4,) target orientation of the part there, wxyz in the world; default None, free.
            ease: how it fades: "cosine" (default), "smooth" or "linear".
            frames: first and last frame that may change, instead of a spread; default None.
            pins: parts that stay where they are in all frames that change, or (part, first frame, last frame);
                default none. Where they and contacts cannot both be kept, pins are.
            contacts: whether contacts are kept, over all frames that change; default True.
            mode: as for `drag`; default "phase".
            scope: as for `drag`; default "auto".
            softness: as for `drag`; default None.
        """
        return self._added(DragEdit(
            self, frame=frame_of(frame, len(self.clip)), part=part, target=target, spread=spread,
            displacement=displacement, orientation=orientation, ease=ease, frames=frames, pins=tuple(pins),
            contacts=contacts, mode=mode, scope=scope, softness=softness,
        ))  # fmt: skip

    def key(
        self,
        *,
        frame: int,
        pose: Pose | None = None,
        rotations: Mapping[str, ArrayLike] | None = None,
        translation: ArrayLike = (0.0, 0.0, 0.0),
        part: str | int | None = None,
        scope: str = "auto",
        spread: float = 0.5,
        ease: str = "cosine",
        frames: tuple[int, int] | None = None,
        contacts: bool = True,
    ) -> KeyEdit:
        """Set a key: a pose at one frame, whose difference from the motion so far fades over the frames around.

        Args:
            frame: number of the frame, from 0.
            pose: of the whole body there; default None.
            rotations: rotation vectors (3,) [rad] by the names of joints or parts, added to their local rotations,
                instead of a pose; default None.
            translation: (3,) [m], added to the root's translation; with `rotations` only.
            part: a part whose path is led exactly, such as the hand that was placed; default None.
            scope: how much of the body may give way for contacts, as for `drag`; with a part only.
            spread: half-width of the change [s]; default 0.5.
            ease: how it fades: "cosine" (default), "smooth" or "linear".
            frames: first and last frame that may change, instead of a spread; default None.
            contacts: whether contacts are kept, over all frames that change; default True. Without them and without a
                part the pose is taken exactly, whatever the limits.
        """
        at = frame_of(frame, len(self.clip))
        if (pose is None) == (rotations is None):
            raise PosableError("a key needs a pose or rotations, and not both")
        if pose is not None:
            change = Change.between(self.motion[at], pose)
            moved = np.flatnonzero(change.rotations.any(axis=-1))
            names = self.body.skeleton.names
            rotations, translation = {names[j]: change.rotations[j] for j in moved}, change.translation
        return self._added(KeyEdit(
            self, frame=at, rotations=dict(rotations or {}), translation=floats(translation, "translation", 3),
            part=part, scope=scope, spread=spread, ease=ease, frames=frames, contacts=contacts,
        ))  # fmt: skip

    def warp(
        self,
        constraints: Iterable[tuple[int, str | int, ArrayLike]],
        *,
        spread: float = 0.5,
        contacts: bool = True,
        scope: str = "auto",
    ) -> WarpEdit:
        """Move several parts at several frames to given positions; the changes are joined smoothly in time.

        Args:
            constraints: (frame, part, target (3,) [m] in the world), any number of them.
            spread: how long the change takes to fade before, after, and between constraints that are far apart [s].
            contacts: whether contacts are kept.
            scope: as for `drag`; default "auto".
        """
        given = tuple((frame_of(f, len(self.clip)), part, floats(t, "target", 3)) for f, part, t in constraints)
        return self._added(WarpEdit(self, constraints=given, spread=spread, contacts=contacts, scope=scope))

    def stretch(
        self, bones: dict[str | int, float], *, frame: int, spread: float = 0.5, ease: str = "cosine",
        frames: tuple[int, int] | None = None, contacts: bool = True,
    ) -> StretchEdit:  # fmt: skip
        """Change the length of bones during the motion, fading as edits do; contacts are kept.

        Args:
            bones: part to factor, 0.1 to 10: the bone that ends in this part's joint is so many times as long.
            frame: the frame at which they have these lengths.
            spread: half-width of the change [s].
            ease: how it fades.
            frames: first and last frame that may change, instead of a spread.
            contacts: whether contacts are kept.
        """
        return self._added(StretchEdit(
            self, bones=dict(bones), frame=frame_of(frame, len(self.clip)), spread=spread, ease=ease, frames=frames,
            contacts=contacts,
        ))  # fmt: skip

    def retarget(self, body: Humanoid, **options: Any) -> RetargetSolution:
        """Put the edited motion on another body; see `retarget`."""
        from .retargeting import retarget

        return retarget(self.motion, self.body, body, **options)

    @property
    def snapshot(self) -> Snapshot:
        """All edits as they are now, for `restore`."""
        return Snapshot(tuple((edit, dict(vars(edit))) for edit in self._edits), tuple(self._motions))

    def restore(self, snapshot: Snapshot) -> None:
        """Restore the edits as they were in a snapshot of this editor, to the last bit; nothing is computed."""
        if not snapshot.motions or snapshot.motions[0] is not self.original:
            raise PosableError("these edits are of another motion; restore a snapshot of this editor")
        for edit, attributes in snapshot.edits:
            vars(edit).clear()
            vars(edit).update(attributes)
        self._edits, self._motions = [edit for edit, _ in snapshot.edits], list(snapshot.motions)

    def clear(self) -> None:
        """Remove all edits."""
        self._edits, self._motions = [], [self.original]

    def _added(self, made: AnyEdit) -> AnyEdit:
        """Add an edit on top."""
        self._recompute([*self._edits, made], len(self._edits))
        return made

    def _recompute(self, edits: list[Edit], first: int) -> None:
        """Make these the edits and compute them again from the first that differs; on an error nothing changes."""
        motions = self._motions[: first + 1]
        for edit in edits[first:]:
            before = motions[-1]
            motions.append(before if edit.muted else before.replace(pose=edit.apply(before.pose)))
        self._edits, self._motions = edits, motions
