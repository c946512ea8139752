"""`posable edit` and `posable retarget`: a motion edited by dragging, and a motion on another body."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from ..compute import PosableError, Status, UnknownNameError
from ..compute.files import check_writable
from . import options
from .distance import check_displacement, check_target
from .options import body_of, numbers, read, two_integers
from .output import busy, check_output, progress, report, save_motion

if TYPE_CHECKING:
    from ..body import Humanoid
    from ..edit import Edit, MotionEditor
    from ..skeleton import Motion

LIMITS = ("body", "clip", "none")


def edit(
    file: options.File,
    output: options.Output,
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
    pin: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PART[:FIRST-LAST]",
            help="A part that stays where it is while the motion changes, or in some frames; may be repeated.",
        ),
    ] = None,
    scope: Annotated[
        str,
        typer.Option(
            help="How much of the body answers: auto, the limb and as much as it needs; limb, the arm or leg alone; "
            "half, the upper or lower body; whole."
        ),
    ] = "auto",
    mode: Annotated[
        str,
        typer.Option(
            help="phase: dragged along its own motion a part takes the body along through the clip; frozen: the "
            "paper's, other parts come along as they move at this frame."
        ),
    ] = "phase",
    softness: Annotated[
        str | None,
        typer.Option(
            metavar="POSITION,ORIENTATION",
            help="How softly the other parts keep to the clip; smaller is closer. 0.03,0.1, in mode frozen 0.3,0.5.",
        ),
    ] = None,
    edits: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A list of edits in JSON, made before the one of the options.")
    ] = None,
    limits: Annotated[str, typer.Option(help="body: a person's; clip: the range of the clip itself; none.")] = "body",
    weights: Annotated[str, typer.Option(help="window, frame (the paper's), clip or identity.")] = "window",
    contacts: Annotated[bool, typer.Option(help="Whether contacts of feet and hands are kept.")] = True,
    cache: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Stores the fitted weights for the next time.")
    ] = None,
    save_edits: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write all edits as a list for --edits.")
    ] = None,
    scale: options.Scale = None,
    fps: options.Fps = None,
    first_frame: options.FirstFrame = 0,
    repair: options.Repair = None,
    up: options.Up = None,
    json: options.Json = None,
) -> None:
    """Drag a part of the body at a frame; the body follows as it moves in the clip, and the change fades around."""
    from ..edit.edit_list import load_edits, make_edits
    from ..edit.edit_list import save_edits as write_edits

    check_output(output, file)
    for written in filter(None, (save_edits, cache)):
        check_writable(written)
    rows = [] if edits is None else load_edits(edits)
    if frame is not None:
        row = {"frame": frame, "part": part, "spread": spread, "ease": ease, "mode": mode, "scope": scope}
        row["pins"] = [_pin(one) for one in pin or ()]
        if softness is not None:
            row["softness"] = numbers("--softness", softness, 2, "two numbers such as 0.03,0.1", below=1e6)
        row |= _position(by, to)
        if frames is not None:
            row["frames"] = [*two_integers("--frames", frames, "the first and the last frame, such as 50,110")]
        rows.append({**row, "contacts": contacts})
    if not rows:
        raise PosableError("nothing to edit: give --frame with --by or --to, or --edits FILE")
    motion = read(file, scale=scale, fps=fps, first_frame=first_frame, repair=repair, up=up)
    body = body_of(motion, file)
    for k, row in enumerate(rows):
        _check_row(body, motion, row, f"edit {k + 1} of the list: " if edits is not None else "")
    editor = _editor(motion, body, limits, weights, contacts, cache)
    with busy("editing"):
        made = make_edits(editor, rows)
    facts = {
        **save_motion(editor.motion, output),
        "weights_leave_unexplained": round(float(np.median(editor.report.residual)), 3),
        "pseudo_inverse_leaves": round(float(np.median(editor.report.identity)), 3),
        "contacts": len(editor.contacts),
    }
    if save_edits is not None:
        write_edits(made, save_edits)
    report(json, output.name, facts, edits=[_edit_row(one, editor.clip.fps) for one in made])


def retarget(
    file: options.File,
    output: options.Output,
    body: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The body that shall perform it; the built-in figure when not given."),
    ] = None,
    height: Annotated[
        float | None, typer.Option(help="Of the built-in figure, in metres; 1.75 when not given.")
    ] = None,
    limits: Annotated[
        str, typer.Option(help="body: those of the new body; clip: the range of the motion; none.")
    ] = "body",
    contacts: Annotated[bool, typer.Option(help="Whether hands that rest on the body stay there.")] = True,
    keep_out: Annotated[
        bool, typer.Option(help="Whether forearms and hands are kept out of the new body, by elbows and by giving way.")
    ] = True,
    scale: options.Scale = None,
    fps: options.Fps = None,
    first_frame: options.FirstFrame = 0,
    repair: options.Repair = None,
    up: options.Up = None,
    json: options.Json = None,
) -> None:
    """Put a motion on another body: other proportions or another rig; feet and hands where they belong."""
    from ..body import figure
    from ..edit import retarget as onto

    check_output(output, file, body)
    if body is not None and height is not None:
        raise PosableError("give --body or --height, not both")
    bounds = _limits(limits)
    motion = read(file, scale=scale, fps=fps, first_frame=first_frame, repair=repair, up=up)
    source = body_of(motion, file)
    target = figure(**({} if height is None else {"height": height})) if body is None else body_of(read(body), body)
    with busy("retargeting"):
        solution = onto(motion, source, target, contacts=contacts, limits=bounds, keep_out=keep_out)
    facts = {
        **save_motion(solution.motion, output),
        "leg_ratio": round(solution.ratio, 4),
        "frames_not_reached": int((solution.status != Status.REACHED).sum()),
        "frames_limited": int(solution.limited.sum()),
        "feet_slide_mm": round(1000.0 * float(solution.slid.max(initial=0.0)), 3),
        "soles_under_floor_mm": round(1000.0 * max(float(solution.sunk.max(initial=0.0)), 0.0), 3),
        "hands_displaced_mm": round(1000.0 * float(solution.hand_displacement.max(initial=0.0)), 3),
        "arms_in_body_mm": round(1000.0 * float(solution.depth.max(initial=0.0)), 3),
        "frames_with_arms_in_body": int((solution.depth > 0.0).sum()),
        "parts_dropped": list(solution.dropped),
        "parts_added": list(solution.added),
    }
    parts = [
        {
            "part": part,
            "median_error_mm": round(1000.0 * float(np.median(errors)), 4),
            "max_error_mm": round(1000.0 * float(errors.max()), 4),
        }
        for part, errors in zip(solution.parts, solution.part_errors.T, strict=True)
    ]
    report(json, output.name, facts, parts=parts)


def _pin(text: str) -> str | list[Any]:
    """Return a pin of `--pin`: a part, or a part with its first and last frame."""
    part, found, frames = text.rpartition(":")
    if not found:
        return text
    first, _, last = frames.partition("-")
    try:
        return [part, int(first), int(last)]
    except ValueError:
        raise PosableError(f"--pin {text}: give a part, or a part with frames, such as head:40-60") from None


def _position(by: str | None, to: str | None) -> dict[str, list[float]]:
    if by is not None and to is None:
        return {"displacement": numbers("--by", by, 3, "x,y,z in metres", below=1e6)}
    if to is not None and by is None:
        return {"target": numbers("--to", to, 3, "x,y,z in metres", below=1e6)}
    raise PosableError("give --by X,Y,Z or --to X,Y,Z with --frame, and not both")


def _check_row(body: Humanoid, motion: Motion, row: dict[str, Any], where: str) -> None:
    """Refuse frames and parts that do not exist, other settings that cannot be, and targets far outside the size of the
    figure: before the weights are fitted, which takes long.
    """
    from ..edit.clip import frame_of, joint_of
    from ..edit.dragging import MODES
    from ..edit.edits import bell
    from ..edit.repair import read_pins
    from ..edit.scopes import SCOPES

    if not len(motion):
        raise PosableError("the motion has no frames; there is nothing to edit")
    row = {name: value for name, value in row.items() if value is not None}
    try:
        for name, known in (("mode", MODES), ("scope", SCOPES)):
            if name in row and row[name] not in known:
                raise UnknownNameError(name, row[name], known)
        read_pins(body, row.get("pins", ()), len(motion))
        for part in row.get("stretch", {}):
            joint_of(body, part)
        for one in row.get("warp", [row]):
            frame = frame_of(one["frame"], len(motion))
            joint = None if "stretch" in row else joint_of(body, one["part"])
            if "warp" not in row:
                fades = (row.get("spread", 0.5), row.get("ease", "cosine"), row.get("frames"))
                bell(len(motion), motion.fps, frame, *fades)
            if one.get("displacement") is not None:
                check_displacement(f"a displacement of {_text(one['displacement'])}", one["displacement"], body.height)
            if one.get("target") is not None and joint is not None:
                position = body.skeleton.forward(motion[frame]).positions[joint]
                check_target(f"the target {_text(one['target'])}", one["target"], one["part"], position, body.height)
    except PosableError as error:
        raise PosableError(f"{where}{error}") from None


def _text(values: list[float]) -> str:
    return ",".join(f"{value:g}" for value in values)


def _limits(limits: str) -> str | None:
    """Return the argument `limits` of an editor for `--limits`."""
    if limits not in LIMITS:
        raise UnknownNameError("--limits", limits, LIMITS)
    return None if limits == "none" else limits


def _editor(
    motion: Motion, body: Humanoid, limits: str, weights: str, contacts: bool, cache: Path | None
) -> MotionEditor:
    from ..edit import MotionEditor

    bounds = _limits(limits)
    with progress("fitting weights to the clip") as show_progress:
        editor = MotionEditor(
            motion,
            body,
            weights=weights,
            limits=bounds,
            contacts=None if contacts else (),
            cache=cache,
            progress=show_progress,
        )
        _ = editor.logs
    return editor


def _edit_row(one: Edit, fps: float) -> dict[str, Any]:
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
