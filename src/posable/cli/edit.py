"""`posable edit` and `posable retarget`: a motion edited by dragging, and a motion on another body."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from ..compute.files import check_writable
from . import options
from .edit_facts import summed_up
from .ending import Ending, Summary, UsageError, length, usage
from .folder import check_paths, do_folder, files_of
from .options import BodyReading, Folder, Reading, choice, numbers, two_integers
from .output import at_terminal, busy, counted, print_notes, progress

LIMITS = ("body", "clip", "none")
WEIGHTS = ("window", "frame", "clip", "identity")
MISSED = {
    "parts_off": "a hand or foot is off its position",
    "soles_under_floor": "a foot is under its floor",
    "feet_slide": "a standing foot slides",
    "arms_in_body": "an arm is in the body",
    "hands_displaced": "a hand gives way to the body",
}
"""What can be wrong with a retargeted motion, by the names of its facts."""
TOO_SMALL, TOO_LARGE = 0.4, 2.5  # ratios of leg lengths outside of which the unit of a file is doubted


def edit(
    file: options.FileOrFolder,
    output: options.OutputOrFolder,
    reading: Reading,
    folder: Folder,
    ending: Ending,
    frame: Annotated[int | None, typer.Option(metavar="FRAME", help="The frame at which the part is dragged.")] = None,
    part: Annotated[
        str, typer.Option(metavar="PART", help="Any part: left_hand, head, hips, ..., or a joint's name.")
    ] = "left_hand",
    by: Annotated[str | None, typer.Option(metavar="X,Y,Z", help="Displacement, in metres in the world.")] = None,
    to: Annotated[str | None, typer.Option(metavar="X,Y,Z", help="Target, in metres in the world.")] = None,
    spread: Annotated[
        float, typer.Option(metavar="SECONDS", help="How long the change fades, before and after.")
    ] = 0.5,
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
            metavar="NUMBER,NUMBER",
            help="How softly the other parts keep to their positions and orientations in the clip; smaller is closer. "
            "0.03,0.1 when not given, in mode frozen 0.3,0.5.",
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
) -> None:
    """Drag a part of the body at a frame; the body follows as it moves in the clip, and the change fades around.

    A folder is done on all cores, every motion with the same edits; a second call after an interruption does what is
    missing.
    """
    from ..edit.dragging import MODES
    from ..edit.edit_list import load_edits
    from ..edit.edits import EASES
    from ..edit.scopes import SCOPES
    from ..evaluate.tasks import MOTIONS
    from .tasks import edit_file

    many = check_paths(file, output, edits)
    for name, path in (("--save-edits", save_edits), ("--cache", cache)):
        if path is not None and many:
            raise UsageError(f"{name} is for one file, and {str(file)!r} is a folder")
        if path is not None:
            check_writable(path)
    reading.check_values()
    rows = []
    choice("ease", ease, tuple(EASES))
    choice("mode", mode, tuple(MODES))
    choice("scope", scope, tuple(SCOPES))
    if frame is not None:
        row = {"frame": frame, "part": part, "spread": spread, "ease": ease, "mode": mode, "scope": scope}
        row["pins"] = [_pin(one) for one in pin or ()]
        if softness is not None:
            row["softness"] = numbers("--softness", softness, 2, "two numbers such as 0.03,0.1", below=1e6)
        row |= _position(by, to)
        if frames is not None:
            row["frames"] = [*two_integers("--frames", frames, "the first and the last frame, such as 50,110")]
        rows.append({**row, "contacts": contacts})
    if not rows and edits is None:
        raise UsageError("nothing to edit: give --frame with --by or --to, or --edits FILE")
    if not rows and (by is not None or to is not None):
        raise UsageError(f"{'--by' if to is None else '--to'} needs --frame: at which frame the part is dragged")
    if edits is not None:
        load_edits(edits)  # what is wrong with it comes before any work
    settings: dict[str, Any] = {
        "rows": rows,
        "reading": reading.loading,
        "roles": reading.given_roles,
        "limits": _limits(limits),
        "weights": choice("--weights", weights, WEIGHTS),
        "contacts": contacts,
    }
    if many:
        files = files_of(file, output, folder, MOTIONS, edits=edits)
        do_folder(
            *("editing", "edited", edit_file, files, settings, folder, ending),
            columns=("frames", "fps"),
            unmet=lambda facts: "" if (found := summed_up(facts["edits"])).met else found.text,
            output=output,
        )
        return
    folder.check()
    reading.check(file)
    with progress("fitting weights to the clip") as fraction:
        job = {"file": file, "output": output, "edits": edits, "cache": cache, "save_edits": save_edits}
        facts = edit_file({**job, "progress": fraction}, **settings)
    print_notes(file, facts["notes"])
    made = facts.pop("edits")
    summary = summed_up(made)
    ending.conclude(Summary(f"{output}: {summary.text}", summary.met), _shown(facts), edits=made)


def retarget(
    file: options.FileOrFolder,
    output: options.OutputOrFolder,
    reading: Reading,
    folder: Folder,
    ending: Ending,
    body: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The body that shall perform it; the built-in figure when not given."),
    ] = None,
    height: Annotated[
        float | None, typer.Option(metavar="METRES", help="Of the built-in figure; 1.75 when not given.")
    ] = None,
    limits: Annotated[
        str, typer.Option(help="body: those of the new body; clip: the range of the motion; none.")
    ] = "body",
    contacts: Annotated[bool, typer.Option(help="Whether hands that rest on the body stay there.")] = True,
    keep_out: Annotated[
        bool, typer.Option(help="Whether forearms and hands are kept out of the new body, by elbows and by giving way.")
    ] = True,
    robot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A humanoid robot that shall perform it, .xml or .urdf.")
    ] = None,
    layout: Annotated[
        str | None, typer.Option(help="Of a robot's .npz: mjlab (default), beyondmimic, gmr, qpos or posable.")
    ] = None,
    joint_order: Annotated[
        str | None, typer.Option(help="Of a robot's .csv: mujoco (default, the file's) or isaac (breadth first).")
    ] = None,
    header: Annotated[bool, typer.Option("--header", help="Begin a robot's .csv with a line of names.")] = False,
    resample: Annotated[
        float | None,
        typer.Option(metavar="RATE", help="Frames a second on a robot; 50 for mjlab and beyondmimic, else the clip's."),
    ] = None,
    lookahead: Annotated[
        int | None,
        typer.Option(min=0, max=2, help="Frames ahead that a robot may see, 0 to 2, as live; all when not given."),
    ] = None,
    report: Annotated[bool, typer.Option("--report", help="Also print the measures of a robot's motion.")] = False,
) -> None:
    """Put a motion, or a folder of them, on another body: other proportions, another rig or a robot; feet and hands
    where they belong.

    A folder is done on all cores; a second call after an interruption does what is missing.
    """
    from ..body import figure
    from ..evaluate.tasks import MOTIONS
    from .robots import is_robot
    from .tasks import retarget_file

    if robot is None and body is not None and is_robot(body):
        robot, body = body, None
    if robot is not None:
        if body is not None or height is not None:
            raise UsageError(f"give --robot or --{'height' if body is None else 'body'}, not both")
        for name, value, default in (
            ("limits", limits, "body"),
            ("contacts", contacts, True),
            ("keep-out", keep_out, True),
        ):
            if value != default:
                raise UsageError(
                    f"--{name} is for people; a robot's limits hold, its feet stand and it keeps out of itself"
                )
        saving = (layout, joint_order, header, resample)
        _onto_robot(file, output, robot, reading, folder, ending, saving, lookahead, report)
        return
    given = {"layout": layout, "joint-order": joint_order, "header": header or None, "resample": resample}
    for name, chosen in (given | {"lookahead": lookahead, "report": report or None}).items():
        if chosen is not None:
            raise UsageError(f"--{name} is for robots; give --robot FILE too")
    many = check_paths(file, output, body)
    reading.check_values()
    if body is not None and height is not None:
        raise UsageError("give --body or --height, not both")
    settings: dict[str, Any] = {
        "reading": reading.loading,
        "roles": reading.given_roles,
        "height": height,
        "limits": _limits(limits),
        "contacts": contacts,
        "keep_out": keep_out,
    }
    if height is not None:
        with usage():
            figure(height=height)
    if body is not None:  # what is wrong with it, and what is to be said of it, comes once and before any work
        plain = BodyReading(roles=reading.roles)
        plain.body(plain.motion(body), body)
    if many:
        files = files_of(file, output, folder, MOTIONS, body=body)
        do_folder(
            *("retargeting", "put on the body", retarget_file, files, settings, folder, ending),
            columns=("frames", "fps", "frames_not_reached"),
            unmet=lambda facts: "" if (found := _retargeted(facts)).met else found.text,
            output=output,
        )
        return
    folder.check()
    reading.check(file)
    with busy("retargeting"):
        facts = retarget_file({"file": file, "output": output, "body": body}, **settings)
    print_notes(file, facts["notes"])
    parts = facts.pop("parts")
    summary = _retargeted(facts)
    ending.conclude(Summary(f"{output}: {summary.text}", summary.met), _shown(facts), parts=parts)


def _onto_robot(
    file: Path,
    output: Path,
    robot: Path,
    reading: Reading,
    folder: Folder,
    ending: Ending,
    saving: tuple[str | None, str | None, bool, float | None],
    lookahead: int | None,
    report: bool,
) -> None:
    """Put a motion, or a folder of them, on a robot."""
    from ..evaluate import retarget_table
    from ..evaluate.tasks import MOTIONS
    from .robots import COLUMNS, check_options, rate_of, robot_body, robot_file, summed_up

    many = check_paths(file, output, robot)
    reading.check_values()
    suffix = f".{(folder.format or 'csv').lower().removeprefix('.')}" if many else output.suffix.lower()
    options = check_options(suffix, *saving)
    settings: dict[str, Any] = {
        "reading": reading.loading,
        "roles": reading.given_roles,
        "saving": options,
        "resample": rate_of(options, saving[-1]),
        "lookahead": lookahead,
    }
    robot_body(robot)  # what is wrong with it comes once and before any work
    if many:
        files = files_of(file, output, replace(folder, format=suffix), MOTIONS, robot=robot)
        do_folder(
            *("retargeting", "put on the robot", robot_file, files, settings, folder, ending),
            columns=COLUMNS,
            unmet=lambda facts: "" if (found := summed_up(facts)).met else found.text,
            output=output,
            tables=lambda rows: (
                {"measures": retarget_table([{**row, "clip": Path(row["file"]).stem} for row in rows])}
                if report
                else {}
            ),
        )
        return
    folder.check()
    reading.check(file)
    with busy("retargeting"):
        facts = robot_file({"file": file, "output": output, "robot": robot}, **settings)
    print_notes(file, facts["notes"])
    summary = summed_up(facts)
    rows = retarget_table([facts]) if report else []
    ending.conclude(Summary(f"{output}: {summary.text}", summary.met), _shown(facts), printed={"measures": rows})


def _shown(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return facts with notes as they are written at a terminal."""
    return {**facts, "notes": [at_terminal(note) for note in facts["notes"]]}


def _retargeted(facts: Mapping[str, Any]) -> Summary:
    """Sum up a retargeting: whether hands and feet are where they belong, what was dropped, and doubts about the unit
    of the file.
    """
    from ..body.roles import named_parts

    frames = counted(facts["frames"], "frame")
    missed = [
        f"{what} in {counted(facts[f'frames_{name}'], 'frame')}, by up to {length(facts[f'{name}_mm'] / 1000.0)}"
        for name, what in MISSED.items()
        if facts[f"frames_{name}"]
    ]
    text = f"{frames}, hands and feet where they belong" if not missed else f"{frames}, but {'; '.join(missed)}"
    if facts["parts_dropped"]:
        text += f"; not on this body: {', '.join(named_parts(facts['parts_dropped']))}"
    ratio = facts["leg_ratio"]
    doubtful = not TOO_SMALL < ratio < TOO_LARGE
    notes = [at_terminal(note) for note in facts["notes"] if "repair=" in note or "scale=" in note]
    if doubtful:
        size = f"{1.0 / ratio:.3g} times as large as" if ratio < 1.0 else f"{ratio:.3g} times smaller than"
        text += f"; {Path(facts['file']).name} is {size} the body, so its unit is likely another"
    if notes:
        text += f": {notes[0]}" if doubtful else f"; {Path(facts['file']).name}: {notes[0]}"
    return Summary(text, not facts["frames_not_reached"] and not doubtful)


def _pin(text: str) -> str | list[Any]:
    """Return a pin of `--pin`: a part, or a part with its first and last frame."""
    part, found, frames = text.rpartition(":")
    if not found:
        return text
    first, _, last = frames.partition("-")
    try:
        return [part, int(first), int(last)]
    except ValueError:
        raise UsageError(f"--pin {text}: give a part, or a part with frames, such as head:40-60") from None


def _position(by: str | None, to: str | None) -> dict[str, list[float]]:
    if by is not None and to is None:
        return {"displacement": numbers("--by", by, 3, "x,y,z in metres", below=1e6)}
    if to is not None and by is None:
        return {"target": numbers("--to", to, 3, "x,y,z in metres", below=1e6)}
    raise UsageError("give --by X,Y,Z or --to X,Y,Z with --frame, and not both")


def _limits(limits: str) -> str | None:
    """Return the argument `limits` of an editor for `--limits`."""
    return None if choice("--limits", limits, LIMITS) == "none" else limits
