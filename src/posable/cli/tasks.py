"""Tasks of the commands that take a file or a folder of them: one file read, changed and written.

A task takes and returns plain values, so that `posable.jobs.run` can hand it to any process and store its result. The
command does a single file with the same task.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..body import Humanoid, figure
from ..compute import FormatError, PosableError, Status
from ..compute.files import sha256_of
from ..compute.types import Floats
from ..formats import check_input, load, save
from ..reconstruct.pipeline import roles_on

if TYPE_CHECKING:
    from ..skeleton import Motion

MIN_DISPLACEMENT = 0.01
"""[m]: a hand that gives way to the body by more is worth a word."""


def read_motion(path: Path, reading: Mapping[str, Any]) -> Motion:
    """Load a file with those of the options that its format takes: another file of the same command takes the rest."""
    accepted = check_input(path).load_options | {"fps", "first_frame"}
    return load(path, **{name: value for name, value in reading.items() if value is not None and name in accepted})


def body_of(motion: Motion, path: Path, roles: Mapping[str, str] | None = None) -> Humanoid:
    """Return the body of a motion, with joints that were named for some parts, where its skeleton has them.

    Where it is nobody, the error names the file and what can be done at a terminal.
    """
    try:
        return Humanoid(motion.skeleton, roles_on(motion.skeleton, roles))
    except PosableError as error:
        known = f"`posable info {path.name} --joints` lists its joints, --roles PART=JOINT names them"
        raise FormatError(path, f"{known}; {error}") from None


def written(motion: Motion, output: Path, **options: Any) -> dict[str, Any]:
    """Write a motion with options of `posable.save`; return facts about the file."""
    output.parent.mkdir(parents=True, exist_ok=True)
    save(motion, output, **options)
    return {
        "output": str(output),
        "bytes": output.stat().st_size,
        "sha256": sha256_of(output),
        "frames": len(motion),
        "fps": float(motion.fps),
        "seconds": round(float(motion.duration), 3),
    }


def convert_file(
    job: Mapping[str, Any],
    reading: Mapping[str, Any] | None = None,
    resample: float | None = None,
    saving: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Write a motion in another format; return facts about it.

    Args:
        job: "file", "output", and "character": the file of a character that the motion is written on, or None.
        reading: options of `posable.load`.
        resample: frames a second to write, by interpolation.
        saving: options of `posable.save` for a robot's motion.
    """
    file, character = Path(job["file"]), job.get("character")
    motion = read_motion(file, reading or {})
    if resample is not None:
        motion = motion.resampled(resample)
    try:
        facts = written(motion, Path(job["output"]), character=character, **(saving or {}))
    except PosableError as error:
        if "the joints must be the same" not in str(error):
            raise
        other = f"`posable retarget {file.name} {Path(job['output']).name} --body {Path(str(character)).name}`"
        raise PosableError(f"{error}; {other} puts a motion on another skeleton") from None
    return {"file": str(file), **facts, "joints": len(motion.skeleton), "notes": list(motion.notes)}


def retarget_file(
    job: Mapping[str, Any],
    reading: Mapping[str, Any] | None = None,
    roles: Mapping[str, str] | None = None,
    height: float | None = None,
    limits: str | None = "body",
    contacts: bool = True,
    keep_out: bool = True,
) -> dict[str, Any]:
    """Put a motion on another body and write it; return facts about it.

    Args:
        job: "file", "output", and "body": the file of the body, or None for the built-in figure.
        reading: options of `posable.load` for the motion.
        roles: joints that were named for parts, on the skeletons that have them.
        height: of the built-in figure [m].
        limits: as of `posable.retarget`.
        contacts: whether hands that rest on the body stay there.
        keep_out: whether forearms and hands are kept out of the new body.
    """
    from ..edit import retarget
    from ..edit.dragging import REACHED_WITHIN
    from ..edit.retargeting import SLID, SUNK

    file, body = Path(job["file"]), job.get("body")
    motion = read_motion(file, reading or {})
    source = body_of(motion, file, roles)
    target = figure() if height is None else figure(height)
    if body is not None:
        target = body_of(load(body), Path(body), roles)
    found = retarget(motion, source, target, contacts=contacts, limits=limits, keep_out=keep_out)
    parts = [
        {
            "part": part,
            "median_error_mm": round(1000.0 * float(np.median(errors)), 4) if len(errors) else 0.0,
            "max_error_mm": round(1000.0 * float(errors.max(initial=0.0)), 4),
        }
        for part, errors in zip(found.parts, found.part_errors.T, strict=True)
    ]
    return {
        "file": str(file),
        **written(found.motion, Path(job["output"])),
        "leg_ratio": round(found.ratio, 4),
        "frames_not_reached": int((found.status != Status.REACHED).sum()),
        "frames_limited": int(found.limited.sum()),
        **_wrong("parts_off", found.position_error, REACHED_WITHIN),
        **_wrong("soles_under_floor", found.sunk, SUNK),
        **_wrong("feet_slide", found.slid, SLID),
        **_wrong("arms_in_body", np.where(found.status == Status.COLLISION, found.depth, 0.0), 0.0),
        **_wrong("hands_displaced", found.hand_displacement, MIN_DISPLACEMENT),
        "parts_dropped": list(found.dropped),
        "parts_added": list(found.added),
        "parts": parts,
        "notes": list(motion.notes),
    }


def _wrong(name: str, metres: Floats, allowed: float) -> dict[str, Any]:
    """Return two facts: the largest of lengths (F,) [m], in millimetres, and in how many frames it is too large."""
    return {
        f"{name}_mm": round(1000.0 * max(float(metres.max(initial=0.0)), 0.0), 3),
        f"frames_{name}": int((metres > allowed).sum()),
    }


def edit_file(
    job: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]] = (),
    reading: Mapping[str, Any] | None = None,
    roles: Mapping[str, str] | None = None,
    limits: str | None = "body",
    weights: str = "window",
    contacts: bool = True,
) -> dict[str, Any]:
    """Make edits of a motion and write it; return facts about it.

    Args:
        job: "file", "output", and "edits": a file with a list of edits that come before `rows`, or None; "cache": a
            file for the fitted weights, "save_edits": a file for the list of all edits.
        rows: edits as `posable.edit.edit_list` has them.
        reading: options of `posable.load`.
        roles: joints that were named for parts.
        limits: of `MotionEditor`.
        weights: of `MotionEditor`.
        contacts: whether contacts of feet and hands are kept.
    """
    from ..edit import MotionEditor
    from ..edit.edit_list import load_edits, make_edits, save_edits
    from .edit_facts import edit_facts
    from .edit_rows import check_row

    file, listed = Path(job["file"]), job.get("edits")
    before = [] if listed is None else load_edits(listed)
    motion = read_motion(file, reading or {})
    body = body_of(motion, file, roles)
    every = [*before, *(dict(row) for row in rows)]
    for k, row in enumerate(every):
        check_row(body, motion, row, f"edit {k + 1} of the list: " if listed is not None else "")
    options: dict[str, Any] = {"weights": weights, "limits": limits, "contacts": None if contacts else ()}
    editor = MotionEditor(motion, body, **options, cache=job.get("cache"), progress=job.get("progress"))
    _ = editor.logs
    made = make_edits(editor, every)
    facts = written(editor.motion, Path(job["output"]))
    if job.get("save_edits") is not None:
        save_edits(made, job["save_edits"])
    return {
        "file": str(file),
        **facts,
        "weights_leave_unexplained": round(float(np.median(editor.report.residual)), 3),
        "pseudo_inverse_leaves": round(float(np.median(editor.report.identity)), 3),
        "contacts": len(editor.contacts),
        "edits": edit_facts(editor, made),
        "notes": list(motion.notes),
    }
