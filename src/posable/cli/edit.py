"""`posable edit` and `posable retarget`: a motion edited by dragging, and a motion on another body."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..compute import PosableError, Status, UnknownNameError
from ..compute.files import check_writable
from .output import JsonOption, busy, check_output, progress, show_facts, show_table, write_json
from .reading import FileArgument, FirstOption, FpsOption, RepairOption, ScaleOption, read

if TYPE_CHECKING:
    from ..edit import Edit, MotionEditor
    from ..edit.retargeting import RetargetSolution
    from ..skeleton import Motion

OutputArgument = Annotated[
    Path, typer.Argument(metavar="OUTPUT", help="The file to write; its suffix says the format.")
]

LIMITS = ("clip", "body", "none")


def edit(
    file: FileArgument,
    output: OutputArgument,
    frame: Annotated[int | None, typer.Option(help="The frame at which the part is dragged.")] = None,
    part: Annotated[str, typer.Option(help="Any part: left_hand, head, hips, ..., or a joint's name.")] = "left_hand",
    by: Annotated[str | None, typer.Option(metavar="X,Y,Z", help="Displacement, in metres in the world.")] = None,
    to: Annotated[str | None, typer.Option(metavar="X,Y,Z", help="Target, in metres in the world.")] = None,
    spread: Annotated[float, typer.Option(help="Seconds over which the change fades, before and after.")] = 0.5,
    frames: Annotated[
        str | None,
        typer.Option(metavar="FIRST,LAST", help="The frames that may change, in place of --spread."),
    ] = None,
    ease: Annotated[str, typer.Option(help="How it fades: cosine, smooth or linear.")] = "cosine",
    pin: Annotated[list[str] | None, typer.Option(help="A part that stays where it is; may be repeated.")] = None,
    mode: Annotated[str, typer.Option(help="frozen, or phase: the drag moves through the clip.")] = "frozen",
    edits: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A list of edits in JSON, made before the one of the options.")
    ] = None,
    limits: Annotated[str, typer.Option(help="clip: the range of the clip itself; body: a person's; none.")] = "clip",
    weights: Annotated[str, typer.Option(help="window, frame (the paper's), clip or identity.")] = "window",
    contacts: Annotated[bool, typer.Option(help="Whether contacts of feet and hands are kept.")] = True,
    cache: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Stores the fitted weights for the next time.")
    ] = None,
    save_edits: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write all edits as a list for --edits.")
    ] = None,
    scale: ScaleOption = None,
    fps: FpsOption = None,
    first_frame: FirstOption = 0,
    repair: RepairOption = None,
    json: JsonOption = None,
) -> None:
    """Drag a part of the body at a frame; the body follows as it moves in the clip, and the change fades around."""
    from ..edit.edit_list import load_edits, make_edits
    from ..edit.edit_list import save_edits as write_edits
    from ..formats import save

    check_output(output, file)
    if save_edits is not None:
        check_writable(save_edits)
    rows = [] if edits is None else load_edits(edits)
    if frame is not None:
        row = {"frame": frame, "part": part, "spread": spread, "ease": ease, "pins": pin or [], "mode": mode}
        rows.append({**row, **_position(by, to), **_range(frames), "contacts": contacts})
    if not rows:
        raise PosableError("nothing to edit: give --frame with --by or --to, or --edits FILE")
    motion = read(file, scale=scale, fps=fps, first_frame=first_frame, repair=repair)
    editor = _editor(motion, limits, weights, contacts, cache)
    with busy("editing"):
        made = make_edits(editor, rows)
    with busy(f"writing {output.name}"):
        save(editor.motion, output)
        if save_edits is not None:
            write_edits(made, save_edits)
    table = [_edit_row(one, editor.clip.fps) for one in made]
    facts = {**_written(output, editor.motion), **_fitted(editor)}
    if not write_json(json, {**facts, "edits": table}):
        show_facts(output.name, facts)
        show_table("edits", table)


def retarget(
    file: FileArgument,
    output: OutputArgument,
    body: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The body that shall perform it; the built-in figure when not given."),
    ] = None,
    height: Annotated[float, typer.Option(help="Of the built-in figure, in metres.")] = 1.75,
    limits: Annotated[
        str, typer.Option(help="body: those of the new body; clip: the range of the motion; none.")
    ] = "body",
    contacts: Annotated[bool, typer.Option(help="Whether hands that rest on the body stay there.")] = True,
    scale: ScaleOption = None,
    fps: FpsOption = None,
    first_frame: FirstOption = 0,
    repair: RepairOption = None,
    json: JsonOption = None,
) -> None:
    """Put a motion on another body: other proportions or another rig; feet and hands where they belong."""
    from ..body import Humanoid, figure
    from ..edit import retarget as onto
    from ..formats import save

    check_output(output, file, body)
    bounds = _limits(limits)
    motion = read(file, scale=scale, fps=fps, first_frame=first_frame, repair=repair)
    target = figure(height=height) if body is None else Humanoid(read(body).skeleton)
    with busy("retargeting"):
        solution = onto(motion, Humanoid(motion.skeleton), target, contacts=contacts, limits=bounds)
    with busy(f"writing {output.name}"):
        save(solution.motion, output)
    table = _part_rows(solution)
    facts = {
        **_written(output, solution.motion),
        "leg_ratio": round(solution.ratio, 4),
        "frames_not_reached": int((solution.status != Status.REACHED).sum()),
        "frames_limited": int(solution.limited.sum()),
        "feet_slide_mm": round(1000.0 * float(solution.slid.max(initial=0.0)), 3),
        "parts_dropped": list(solution.dropped),
        "parts_added": list(solution.added),
    }
    if not write_json(json, {**facts, "parts": table}):
        show_facts(output.name, facts)
        show_table("parts", table)


def _range(frames: str | None) -> dict[str, list[int]]:
    if frames is None:
        return {}
    words = frames.split(",")
    if len(words) != 2 or not all(word.strip().isdecimal() for word in words):
        raise PosableError(f"--frames {frames}: expected the first and the last frame, such as 50,110")
    return {"frames": [int(word) for word in words]}


def _position(by: str | None, to: str | None) -> dict[str, list[float]]:
    if (by is None) == (to is None):
        raise PosableError("give --by X,Y,Z or --to X,Y,Z with --frame, and not both")
    name, text = ("displacement", by) if to is None else ("target", to)
    try:
        numbers = [float(word) for word in str(text).split(",")]
    except ValueError:
        numbers = []
    if len(numbers) != 3 or not all(abs(number) < 1e6 for number in numbers):
        raise PosableError(f"{'--by' if to is None else '--to'} {text}: expected x,y,z in metres")
    return {name: numbers}


def _limits(limits: str) -> str | None:
    """Return the argument `limits` of an editor for `--limits`."""
    if limits not in LIMITS:
        raise UnknownNameError("--limits", limits, LIMITS)
    return None if limits == "none" else limits


def _editor(motion: Motion, limits: str, weights: str, contacts: bool, cache: Path | None) -> MotionEditor:
    from ..edit import MotionEditor

    bounds = _limits(limits)
    with progress("fitting weights to the clip") as show_progress:
        editor = MotionEditor(
            motion,
            weights=weights,
            limits=bounds,
            contacts=None if contacts else (),
            cache=cache,
            progress=show_progress,
        )
        _ = editor.logs
    return editor


def _written(output: Path, motion: Motion) -> dict[str, Any]:
    return {
        "output": str(output),
        "bytes": output.stat().st_size,
        "frames": len(motion),
        "fps": motion.fps,
        "seconds": round(motion.duration, 3),
    }


def _fitted(editor: MotionEditor) -> dict[str, Any]:
    import numpy as np

    return {
        "weights_leave_unexplained": round(float(np.median(editor.report.residual)), 3),
        "pseudo_inverse_leaves": round(float(np.median(editor.report.identity)), 3),
        "contacts": len(editor.contacts),
    }


def _edit_row(one: Edit, fps: float) -> dict[str, Any]:
    import numpy as np

    settings = one.settings
    statuses = {Status(int(status)).name.lower() for status in np.atleast_1d(one.status)}
    changed = f"{one.rows.min()} to {one.rows.max()}" if len(one.rows) else "none"
    return {
        "edit": type(one).__name__.removesuffix("Edit").lower(),
        "frame": settings.get("frame", "several"),
        "part": str(settings.get("part", "several")),
        "status": ", ".join(sorted(statuses)),
        "position_error_mm": round(1000.0 * float(np.max(one.position_error)), 4),
        "contacts_moved_mm": round(1000.0 * one.slid, 4),
        "frames_limited": len(one.limited),
        "frames_changed": changed,
        "seconds_changed": round(len(one.rows) / fps, 3),
    }


def _part_rows(solution: RetargetSolution) -> list[dict[str, Any]]:
    import numpy as np

    return [
        {
            "part": part,
            "median_error_mm": round(1000.0 * float(np.median(solution.part_errors[:, k])), 4),
            "max_error_mm": round(1000.0 * float(solution.part_errors[:, k].max()), 4),
        }
        for k, part in enumerate(solution.parts)
    ]
