"""`posable autopose`: parts of a body put somewhere, and the rest of it does what people do; one pose."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from ..compute import Status
from . import options
from .distance import check_target
from .ending import Ending, Summary, UsageError, length, listed, usage
from .options import BodyReading
from .output import busy, check_output, check_picture_path, counted
from .reach import beginning

if TYPE_CHECKING:
    from ..body import Humanoid
    from ..edit import AutoPoseSolution
    from ..limb import Target
    from ..skeleton import Pose

WHY = {Status.LIMITS: "a joint is at its limit", Status.UNREACHABLE: "people cannot have all parts there"}


def autopose(
    output: options.Output,
    reading: BodyReading,
    ending: Ending,
    to: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PART=X,Y,Z", help="Where a part goes, in metres; or PART=X,Y,Z,QW,QX,QY,QZ. Once or more."
        ),
    ] = None,
    by: Annotated[
        list[str] | None, typer.Option(metavar="PART=X,Y,Z", help="By how much a part moves from where it was.")
    ] = None,
    body: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Who is posed; the built-in figure, or who starts, when not given."),
    ] = None,
    start: Annotated[Path | None, typer.Option(metavar="FILE", help="A motion to begin in; else standing.")] = None,
    frame: Annotated[int, typer.Option(metavar="FRAME", help="Which frame of it; -1 is the last.")] = 0,
    plant_feet: Annotated[bool, typer.Option(help="Whether feet that stand stay, while people would not step.")] = True,
    picture: Annotated[Path | None, typer.Option(metavar="PNG", help="Also draw the pose.")] = None,
) -> None:
    """Pose a body by some of its parts: they are where they are put, the rest does what people do."""
    from ..edit import AutoPose
    from ..render.picture import save_picture, strip
    from ..skeleton import Motion, Pose
    from .tasks import written

    check_output(output, body, start)
    if picture is not None:
        check_picture_path(picture)
    if start is None and frame:
        raise UsageError(f"--frame {frame} is a frame of --start FILE; give that too")
    if body is None and start is None:
        reading.check_unused("--body FILE", "--start FILE")
    if not to and not by:
        raise UsageError("nothing to pose: give --to PART=X,Y,Z or --by PART=X,Y,Z")
    given = None if body is None else reading.motion(body, start)
    begun = None if start is None else reading.motion(start, body)
    reading.check_roles(given, begun)
    person, pose = beginning(reading, given, body, begun, start, frame)
    with usage():
        targets = _targets(person, pose, to or [], by or [])
        solver = AutoPose(person, plant_feet=plant_feet)
    answer = solver.solve(targets, pose)
    rows = Pose(answer.pose.translation[None], answer.pose.rotations[None])
    motion = Motion(person.skeleton, rows, 60.0 if begun is None else begun.fps)
    with busy(f"writing {output.name}"):
        facts = written(motion, output)
    if picture is not None:
        with busy("drawing"):
            save_picture(strip(person, motion), picture)
        facts["picture"] = str(picture)
    facts |= {"status": Status(int(answer.status)).name.lower(), "planted": list(answer.planted)}
    summary = summed_up(answer)
    table = [_row(answer, part) for part in answer.errors]
    ending.conclude(Summary(f"{output}: {summary.text}", summary.met), facts, parts=table)


def summed_up(answer: AutoPoseSolution) -> Summary:
    """Sum up a pose: whether all parts are where they were put, and which feet stayed."""
    feet = [part.replace("_", " ") for part in answer.planted]
    stand = f"; the {listed(feet)} stayed" if feet else ""
    if answer.ok:
        return Summary(f"{counted(len(answer.errors), 'part')} put, all met{stand}")
    worst = max(answer.errors, key=lambda part: answer.errors[part])
    missed = f"the {worst.replace('_', ' ')} is {length(answer.errors[worst])} off"
    if answer.errors[worst] <= 1e-3:
        missed = "an orientation is off"
    return Summary(f"{missed}: {WHY.get(Status(int(answer.status)), 'it is not a number')}{stand}", False)


def _targets(person: Humanoid, pose: Pose, to: list[str], by: list[str]) -> dict[str, Target]:
    """Return part to its target, of `--to` and `--by`."""
    from ..formats.targets import parse_target
    from ..limb import Target

    targets: dict[str, Target] = {}
    positions = person.skeleton.forward(pose).positions
    for text, moved in [*((text, False) for text in to), *((text, True) for text in by)]:
        part, sign, numbers = text.partition("=")
        option = "--by" if moved else "--to"
        if not sign:
            raise UsageError(f"{option} {text}: expected PART=X,Y,Z, such as head=0,1.4,0.2")
        if part in targets:
            raise UsageError(f"{option} {text}: {part} has a target already")
        found, here = parse_target(numbers), positions[person.index(part)]
        if moved and found.orientation is not None:
            raise UsageError(f"{option} {text}: expected PART=X,Y,Z; an orientation goes with --to")
        position = np.array(found.position) + (here if moved else 0.0)
        check_target(f"{option} {text}", position.tolist(), part, here, person.height)
        targets[part] = Target(position, None if found.orientation is None else np.array(found.orientation))
    return targets


def _row(answer: AutoPoseSolution, part: str) -> dict[str, Any]:
    """Return a row of the table: how far a part is from where it was put."""
    row: dict[str, Any] = {"part": part, "away_mm": round(1000.0 * answer.errors[part], 6)}
    if answer.orientation_errors:
        off = answer.orientation_errors.get(part)
        row["off_degrees"] = None if off is None else round(float(np.degrees(off)), 6)
    return row
