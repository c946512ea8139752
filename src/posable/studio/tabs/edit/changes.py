"""An edit's name, its frames and its result; and its settings when it is moved in time or made longer.

An edit that is moved to other frames does there what it did: it displaces its part from the motion by as much, and
rotates it by as much.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .... import math as pm
from ....edit import Edit, MotionEditor, StretchEdit, WarpEdit
from ....edit.clip import joint_of
from ....skeleton import Motion
from ...widgets.status_text import distance_text, status_text

NARROWEST, WIDEST = 0.05, 3.0
"""Half-widths of an edit [s]."""


def words(part: object) -> str:
    """Return a part's name for people."""
    return str(part).replace("_", " ")


def frame_of(edit: Edit) -> int:
    """Return the frame of an edit, or the first of a warp's."""
    return min(frames_of(edit))


def frames_of(edit: Edit) -> tuple[int, ...]:
    """Return the frames that have targets."""
    if isinstance(edit, WarpEdit):
        return tuple(int(frame) for frame, _, _ in edit.settings["constraints"])
    return (int(edit.settings["frame"]),)


def range_of(edit: Edit, motion: Motion) -> tuple[int, int]:
    """Return first and last frame of an edit: those that it changes, or would where it changes nothing."""
    if len(edit.rows):
        return int(edit.rows[0]), int(edit.rows[-1])
    if edit.settings.get("frames") is not None:
        first, last = edit.settings["frames"]
        return int(first), int(last)
    at, around = frames_of(edit), max(int(np.ceil(edit.settings["spread"] * motion.fps)) - 1, 0)
    return max(min(at) - around, 0), min(max(at) + around, len(motion) - 1)


def name_of(edit: Edit) -> str:
    """Describe an edit in few words."""
    if isinstance(edit, WarpEdit):
        return f"warp {', '.join(sorted({words(part) for _, part, _ in edit.settings['constraints']}))}"
    if isinstance(edit, StretchEdit):
        return "stretch " + ", ".join(f"{words(part)} ×{factor:g}" for part, factor in edit.settings["bones"].items())
    return ("rotate " if edit.settings["orientation"] is not None else "") + words(edit.settings["part"])


def result_of(edit: Edit) -> str:
    """Describe the result of an edit: status, largest error, frames that it changed, motion of contacts."""
    text = status_text(int(np.max(np.asarray(edit.status))))
    if not isinstance(edit, StretchEdit):
        text += f", {distance_text(float(np.max(edit.position_error, initial=0.0)))} off"
    if edit.settings.get("orientation") is not None:
        text += f", {np.degrees(float(edit.orientation_error)):.1f}° off"
    if not len(edit.rows):
        return f"{text}  \nno frame changed"
    return f"{text}  \nframes {edit.rows[0]} to {edit.rows[-1]}, contacts moved {distance_text(float(edit.slid))}"


def change(
    editor: MotionEditor, edit: Edit, frame: int, spread: float, ease: str | None, frames: tuple[int, int] | None
) -> None:
    """Change an edit as `EditTab.change` does; edits after it are computed again. On an error it stays as it was."""
    settings: dict[str, Any] = {**_moved(editor, edit, frame), "spread": spread}
    if "frames" in edit.settings:
        settings["frames"] = frames
    if ease is not None:
        settings["ease"] = ease
    edit.change(**settings)


def _moved(editor: MotionEditor, edit: Edit, frame: int) -> dict[str, Any]:
    """Return the settings of an edit moved to a frame; a warp's first target goes there, the others stay behind it."""
    before = editor.snapshot.motions[editor.edits.index(edit)]  # the motion without it and those after it
    body, at_all = editor.body, frames_of(edit)
    step = int(np.clip(frame - min(at_all), -min(at_all), len(before) - 1 - max(at_all)))
    if not step:
        return {}

    def moved(part: str, at: int, target: Any) -> Any:
        """A position (3,) [m] as far from the part at the new frame as from the part at the old one."""
        old, new = (body.skeleton.forward(before[f]).positions[joint_of(body, part)] for f in (at, at + step))
        return np.asarray(target, dtype=np.float64) - old + new

    if isinstance(edit, WarpEdit):
        constraints = edit.settings["constraints"]
        return {"constraints": tuple((at + step, part, moved(part, at, target)) for at, part, target in constraints)}
    at, part = frame_of(edit), edit.settings.get("part")
    settings: dict[str, Any] = {"frame": at + step}
    if isinstance(edit, StretchEdit) or part is None:
        return settings
    if edit.settings["target"] is not None:
        settings["target"] = moved(part, at, edit.settings["target"])
    if (orientation := edit.settings["orientation"]) is not None:
        joint = joint_of(body, part)
        old, new = (body.skeleton.forward(before[f]).orientations[joint] for f in (at, at + step))
        rotation = pm.multiply(np.asarray(orientation, dtype=np.float64), pm.conjugate(old))
        settings["orientation"] = pm.multiply(rotation, new)
    return settings
