"""What an edit is called, where it lies in time, and what becomes of it when it is moved there or stretched.

An edit that is moved to other frames does there what it did: it takes its part as far from where the motion has it, and
turns it as much.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from .... import math as pm
from ....edit import Edit, MotionEditor, StretchEdit, WarpEdit
from ....edit.parts import joint_of
from ....skeleton import Motion

Changing: TypeAlias = Callable[[int, int, float, str | None, tuple[int, int] | None], None]
"""Called with what an edit shall be: its index, frame, half-width [s], ease, and first and last frame.

No ease leaves it as it is; no first and last frame has the half-width count.
"""


def words(part: object) -> str:
    """A part's name for people."""
    return str(part).replace("_", " ")


def frame_of(edit: Edit) -> int:
    """Where an edit is: its frame, or the first of a warp's."""
    return min(frames_of(edit))


def frames_of(edit: Edit) -> tuple[int, ...]:
    """The frames at which something was asked."""
    if isinstance(edit, WarpEdit):
        return tuple(int(frame) for frame, _, _ in edit.settings["constraints"])
    return (int(edit.settings["frame"]),)


def range_of(edit: Edit, motion: Motion) -> tuple[int, int]:
    """First and last frame of an edit: those that it changes, or would where it changes nothing."""
    if len(edit.rows):
        return int(edit.rows[0]), int(edit.rows[-1])
    if edit.settings.get("frames") is not None:
        first, last = edit.settings["frames"]
        return int(first), int(last)
    at, around = frames_of(edit), max(int(np.ceil(edit.settings["spread"] * motion.fps)) - 1, 0)
    return max(min(at) - around, 0), min(max(at) + around, len(motion) - 1)


def name_of(edit: Edit) -> str:
    """What it does, in few words."""
    if isinstance(edit, WarpEdit):
        parts = sorted({words(part) for _, part, _ in edit.settings["constraints"]})
        return f"warp {', '.join(parts)}"
    if isinstance(edit, StretchEdit):
        return "stretch " + ", ".join(f"{words(part)} ×{factor:g}" for part, factor in edit.settings["bones"].items())
    return ("turn " if edit.settings["orientation"] is not None else "") + words(edit.settings["part"])


def moved(editor: MotionEditor, edit: Edit, frame: int) -> dict[str, Any]:
    """Settings of an edit moved to a frame; a warp's first place goes there, the others stay as far behind it."""
    before = editor.kept.motions[editor.edits.index(edit)]  # the motion without it and those after it
    skeleton, at_all = editor.body.skeleton, frames_of(edit)
    way = int(np.clip(frame - min(at_all), -min(at_all), len(before) - 1 - max(at_all)))
    if not way:
        return {}
    if isinstance(edit, WarpEdit):
        places = []
        for at, part, target in edit.settings["constraints"]:
            joint = joint_of(editor.body, part)
            old, new = (skeleton.forward(before[f]).positions[joint] for f in (at, at + way))
            places.append((at + way, part, np.asarray(target) - old + new))
        return {"constraints": tuple(places)}
    frame = min(at_all) + way
    settings: dict[str, Any] = {"frame": frame}
    if isinstance(edit, StretchEdit):
        return settings
    joint = joint_of(editor.body, edit.settings["part"])
    old, new = (skeleton.forward(before[f]) for f in (frame_of(edit), frame))
    if edit.settings["target"] is not None:
        target = np.asarray(edit.settings["target"], dtype=np.float64)
        settings["target"] = target - old.positions[joint] + new.positions[joint]
    if edit.settings["orientation"] is not None:
        orientation = np.asarray(edit.settings["orientation"], dtype=np.float64)
        turn = pm.multiply(orientation, pm.conjugate(old.orientations[joint]))
        settings["orientation"] = pm.multiply(turn, new.orientations[joint])
    return settings


def change(
    editor: MotionEditor, edit: Edit, frame: int, spread: float, ease: str | None, frames: tuple[int, int] | None
) -> None:
    """Have an edit as `Changing` says; the edits after it are worked out anew. On an error it stays as it was."""
    settings: dict[str, Any] = {**moved(editor, edit, frame), "spread": spread}
    if "frames" in edit.settings:
        settings["frames"] = frames
    if ease is not None:
        settings["ease"] = ease
    edit.change(**settings)
