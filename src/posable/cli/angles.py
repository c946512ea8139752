"""`posable angles` and `posable plot`: joint angles of a motion, as a table and over time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..compute import PosableError
from ..compute.files import check_writable
from . import options
from .ending import Ending, Summary, UsageError, usage
from .options import Reading
from .output import busy, check_apart, counted

if TYPE_CHECKING:
    from ..evaluate.angles import JointAngles

PartOption = Annotated[
    list[str] | None,
    typer.Option(
        "--part", metavar="PART", help="left_elbow, right_knee, head, ..., with --euler also a joint; once or more."
    ),
]
EulerOption = Annotated[
    str | None, typer.Option(metavar="ORDER", help="Euler angles of each joint instead, in this order: ZYX, XYZ, ...")
]
PICTURES = (".png", ".svg", ".pdf")
MOST_LINES = 12  # in a plot: more tell nothing


def angles(
    file: options.File,
    output: Annotated[Path, typer.Argument(metavar="OUTPUT", help="The table to write, .csv, a line a frame.")],
    reading: Reading,
    ending: Ending,
    part: PartOption = None,
    euler: EulerOption = None,
) -> None:
    """Write the joint angles of a motion as a table, in degrees: a person's, or the Euler angles of any skeleton.

    A person's angles are flexion, abduction and twist of each part, 0 when standing; the flexion of an elbow or a knee
    is the angle between its bones, 0 when straight. Without --part all of them are written.
    """
    check_apart(output, file)
    if output.suffix.lower() != ".csv":
        raise UsageError(f"cannot write {str(output)!r}: angles are written as .csv")
    check_writable(output)
    table = _table(file, reading, part, euler)
    table.save(output)
    summary = f"{output}: {_said(table)}"
    ending.conclude(Summary(summary), _facts(file, output, table), angles=_rows(table))


def plot(
    file: options.File,
    output: Annotated[Path, typer.Argument(metavar="OUTPUT", help="The picture to write: .png, .svg or .pdf.")],
    reading: Reading,
    ending: Ending,
    part: PartOption = None,
    euler: EulerOption = None,
) -> None:
    """Draw joint angles of a motion over time; without --part those of elbows and knees."""
    from ..evaluate.plots import plot_angles

    check_apart(output, file)
    if output.suffix.lower() not in PICTURES:
        raise UsageError(f"cannot write {str(output)!r}: plots are written as {', '.join(PICTURES)}")
    check_writable(output)
    usual = ["left_lower_arm", "right_lower_arm", "left_lower_leg", "right_lower_leg"]
    if part is None and euler is not None:
        raise UsageError(f"--euler {euler} needs --part too: which joints are drawn")
    table = _table(file, reading, part or usual, euler)
    if part is None:
        from ..evaluate.angles import JointAngles

        bent = [name for name in table.names if name.endswith(".flexion")]
        table = JointAngles(tuple(bent), table.values[:, [table.names.index(name) for name in bent]], table.fps)
    if not len(table):
        raise PosableError(f"{file}: has no frames; there is nothing to draw")
    if len(table.names) > MOST_LINES:
        raise UsageError(f"{len(table.names)} angles in one plot; at most {MOST_LINES} can be told apart: fewer --part")
    with busy("drawing"):
        plot_angles(table, output, title=file.name)
    ending.conclude(Summary(f"{output}: {_said(table)}"), _facts(file, output, table), angles=_rows(table))


def _table(file: Path, reading: Reading, parts: list[str] | None, euler: str | None) -> JointAngles:
    from ..evaluate.angles import joint_angles

    motion = reading.motion(file)
    reading.check_roles(motion)
    needed = euler is None or reading.roles is not None
    body = reading.body(motion, file) if needed else None
    with usage():
        return joint_angles(motion, parts, euler=euler, body=body)


def _said(table: JointAngles) -> str:
    text = f"{counted(len(table.names), 'angle')} over {counted(len(table), 'frame')}"
    if len(table.names) == 1 and len(table):
        low, high = table.degrees.min(), table.degrees.max()
        text += f", {table.names[0]} from {low:.4g} to {high:.4g} degrees"
    return text


def _facts(file: Path, output: Path, table: JointAngles) -> dict[str, Any]:
    return {"file": str(file), "output": str(output), "frames": len(table), "fps": table.fps, "unit": "degrees"}


def _rows(table: JointAngles) -> list[dict[str, Any]]:
    """Return a row for each angle: its smallest, its mean and its largest value [degrees]."""
    if not len(table):
        return []
    return [
        {
            "angle": name,
            "min": round(float(column.min()), 3),
            "mean": round(float(column.mean()), 3),
            "max": round(float(column.max()), 3),
        }
        for name, column in zip(table.names, table.degrees.T, strict=True)
    ]
