"""What an edit is called, where it lies in time, and what becomes of it when it is moved there or stretched.

An edit that is moved to other frames does there what it did: it takes its part as far from where the motion has it, and
turns it as much.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import math as pm
from ..edit import Edit, MotionEditor, StretchEdit, WarpEdit
from ..edit.parts import joint_of


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
    if edit.settings.get("orientation") is not None:
        joint = joint_of(editor.body, edit.settings["part"])
        old, new = (skeleton.forward(before[f]).orientations[joint] for f in (frame_of(edit), frame))
        turn = pm.multiply(np.asarray(edit.settings["orientation"], dtype=np.float64), pm.conjugate(old))
        settings["orientation"] = pm.multiply(turn, new)
    return settings


def told(index: int, edit: Edit) -> str:
    """How it went: its status, how far the worst place stayed off, contacts."""
    off = 1000 * float(np.max(edit.residual, initial=0.0))
    text = f"Edit {index + 1}: **{'REACHED' if edit.ok else _worst(edit)}**, {off:.1f} mm off, "
    turn = float(getattr(edit, "turn_residual", 0.0))
    if edit.settings.get("orientation") is not None:
        text += f"{np.degrees(turn):.1f}° off, "
    return f"{text}{len(edit.rows)} frames, contacts moved {1000 * edit.slid:.1f} mm"


def _worst(edit: Edit) -> str:
    from ..compute import Status

    return Status(int(np.max(np.asarray(edit.status)))).name
