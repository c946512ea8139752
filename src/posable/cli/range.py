"""`posable range`: learn the range of a limb, show it, test motions with it, correct them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from ..compute import UnknownNameError
from ..compute.files import check_writable
from . import options
from .command import Command, Group, example
from .ending import Ending, Summary, UsageError
from .options import Reading, choice, expanded, motion_files
from .output import busy, check_output, check_picture_path, counted, progress

if TYPE_CHECKING:
    from ..body import Humanoid
    from ..body.limb.body_limb import LimbReading
    from ..limb import LimbRange
    from ..skeleton import Motion, Pose

app = typer.Typer(
    cls=Group,
    help="The range of an arm or a leg, learned from motions.",
    epilog=example("posable range show right_arm --picture arm.png", "posable range check right_arm boxing.bvh"),
    no_args_is_help=True,
)

WIDEST = 90.0  # [degrees]: a margin as wide leaves nothing of any range
RangeArgument = Annotated[
    str, typer.Argument(metavar="RANGE", help="A file, or a limb for the built-in one: right_arm, left_leg, ...")
]
LimbOption = Annotated[str, typer.Option(help="right_arm, left_arm, right_leg or left_leg.")]


def fit_range(
    files: options.Files,
    output: Annotated[Path, typer.Argument(metavar="OUTPUT", help="The file to write, .npz.")],
    reading: Reading,
    ending: Ending,
    limb: LimbOption = "right_arm",
    samples: Annotated[int, typer.Option(help="Directions of the table.")] = 1000,
    radius: Annotated[float, typer.Option(help="How far an example counts, in degrees.")] = 10.0,
    min_count: Annotated[int, typer.Option(help="Examples a direction needs.")] = 5,
    trim: Annotated[float, typer.Option(help="Fraction of examples left out at each end.")] = 0.005,
    fill_holes: Annotated[bool, typer.Option(help="Let holes belong to the range.")] = True,
    harmonics: Annotated[int | None, typer.Option(metavar="DEGREE", help="The compact form, of this degree.")] = None,
    max_poses: Annotated[int | None, typer.Option(help="Draw at most this many poses of each file at random.")] = None,
    seed: Annotated[int, typer.Option(help="Of that draw.")] = 0,
) -> None:
    """Learn a range from motions; it is for a limb of the first body."""
    from ..limb import LIMBS, LimbRange
    from ..limb.range.fit import MAX_DEGREE
    from ..limb.range.sphere import MAX_SAMPLES, MIN_SAMPLES

    if output.suffix.lower() != ".npz":
        raise UsageError(f"cannot write {str(output)!r}: a range is written as .npz")
    check_writable(output)
    choice("--limb", limb, LIMBS)
    for option, value, low, high in (
        ("--samples", samples, MIN_SAMPLES, MAX_SAMPLES),
        ("--radius", radius, 0.1, WIDEST),
        ("--min-count", min_count, 1, math.inf),
        ("--trim", trim, 0.0, 0.499),
        ("--harmonics", harmonics, 1, MAX_DEGREE),
        ("--max-poses", max_poses, 1, math.inf),
        ("--seed", seed, 0, math.inf),
    ):
        if value is not None and not low <= value <= high:
            expected = f"{low:g} or more" if high == math.inf else f"{low:g} to {high:g}"
            raise UsageError(f"{option} {value:g}: expected {expected}")
    paths = motion_files(files)
    if output.absolute() in [path.absolute() for path in paths]:
        raise UsageError(f"OUTPUT is INPUT, {str(output)!r}: it would be overwritten; give another name")
    motions = [reading.motion(path, *paths) for path in paths]
    reading.check_roles(*motions)
    with progress(f"learning the {limb.replace('_', ' ')}") as fraction:
        found = LimbRange.fit(
            reading.body(motions[0], paths[0]),
            limb,
            motions,
            samples=samples,
            radius=math.radians(radius),
            min_count=min_count,
            trim=trim,
            fill_holes=fill_holes,
            kind="table" if harmonics is None else "harmonics",
            degree=harmonics or 4,
            max_poses=max_poses,
            seed=seed,
            progress=fraction,
        )
    found.save(output)
    facts = {"output": str(output), "bytes": output.stat().st_size, **_facts(found)}
    ending.conclude(Summary(f"{output}: {_learned(found)}"), facts)


def show_range(
    range_: RangeArgument,
    ending: Ending,
    picture: Annotated[Path | None, typer.Option(metavar="PNG", help="Draw it around a figure, and as a map.")] = None,
) -> None:
    """Show what a range was learned from, and draw it."""
    found = _range(range_)
    facts = {"range": range_, **_facts(found)}
    if picture is not None:
        from ..render.range_picture import save_range_picture

        check_picture_path(picture)
        with busy("drawing"):
            save_range_picture(found, picture)
        facts["picture"] = str(picture)
    ending.conclude(Summary(f"{range_}: {_learned(found)}"), facts)


def check_motions(
    range_: RangeArgument,
    files: options.Files,
    reading: Reading,
    ending: Ending,
) -> None:
    """Count the frames of motions that lie outside a range, and why."""
    found = _range(range_)
    paths = motion_files(files)
    rows = [_checked(found, reading, reading.motion(path, *paths), path) for path in paths]
    outside, frames = (sum(row[name] for row in rows) for name in ("outside", "frames"))
    limb = found.name.replace("_", " ")
    text = (
        f"in {outside} of {counted(frames, 'frame')} the {limb} is outside its range"
        if outside
        else (f"the {limb} is inside its range in all {counted(frames, 'frame')}")
    )
    ending.conclude(Summary(text, not outside), {"range": range_}, always={"files": rows})


def correct_motion(
    range_: RangeArgument,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A motion.")],
    output: options.Output,
    reading: Reading,
    ending: Ending,
    margin: Annotated[float, typer.Option(help="How far inside to stay, in degrees.")] = 0.0,
    smooth: Annotated[bool, typer.Option("--smooth", help="Never jump, also where the far side changes.")] = False,
    limits: Annotated[bool, typer.Option("--limits", help="Keep the limb's joints inside their limits too.")] = False,
) -> None:
    """Bring a limb of a motion into a range and write the motion; hand or foot keep their orientation.

    A range knows where a hand goes and how its elbow lies, not what each joint may do: only with --limits no joint
    of the limb leaves its limits. Where the limits lead out of the range, the closest posture inside both is taken,
    off the hand's position; where there is none, limits come first, and left_outside says how often.
    """
    from .tasks import written

    check_output(output, file)
    if not 0.0 <= margin < WIDEST:
        raise UsageError(f"--margin {margin:g}: expected degrees, from 0 to below {WIDEST:g}")
    found = _range(range_)
    motion = reading.motion(file)
    reading.check_roles(motion)
    pose, counts = _corrected(found, reading.body(motion, file), motion, math.radians(margin), smooth, limits)
    with busy(f"writing {output.name}"):
        facts = {"file": str(file), **written(motion.replace(pose=pose), output), **counts}
    left, outside, changed = counts["left_outside"], counts["were_outside"], counts["frames_changed"]
    frames = counted(len(motion), "frame")
    text = (
        f"{outside - left} of {frames} brought inside the range"
        if outside > left
        else f"all {frames} were inside the range"
    )
    if changed > outside:
        why = " and ".join(["a margin"] * (margin > 0.0) + ["joint limits"] * limits) or "smoothness"
        text += f"; {changed} changed, also for {why}"
    ending.conclude(Summary(f"{output}: {text}" + (f"; {left} still lie outside" if left else ""), not left), facts)


def _corrected(
    found: LimbRange, body: Humanoid, motion: Motion, margin: float, smooth: bool, limits: bool
) -> tuple[Pose, dict[str, int]]:
    """Return (the poses with the limb inside the range, how many frames changed and why)."""
    limb = body.limb(found.name, limits="body" if limits else None)
    own, reading = found.for_limb(limb), limb.read(motion.pose)
    answer = own.correct(reading.position, reading.swivel, margin=margin, smooth=smooth)
    if limits:  # the elbow may leave the swivel that the range gives it, so that the hand can stay
        solved = limb.solve(answer.position, reading.orientation, preferred=answer.swivel, limb_range=own)
        limited = ~solved.ok | (np.abs(solved.swivel - answer.swivel) > 1e-9)
    else:
        solved = limb.solve(answer.position, reading.orientation, swivel=answer.swivel)
        limited = np.zeros(len(motion), np.bool_)
    rows = np.flatnonzero(answer.changed | limited)
    rotations = motion.pose.rotations.copy()
    rotations[rows] = limb.pose(motion.pose[rows], solved.values[rows]).rotations
    pose = motion.pose.replace(rotations=rotations)
    counts = {"were_outside": _outside(own, reading), "frames_changed": len(rows)}
    counts |= {f"{name}_changed": int(changed.sum()) for name, changed in answer.causes.items()}
    if limits:
        counts["limits_changed"] = int(limited.sum())
    counts["left_outside"] = _outside(own, limb.read(pose))
    return pose, counts


def _outside(own: LimbRange, reading: LimbReading) -> int:
    """Return how many poses are outside a range; one that was moved onto the edge is inside, to rounding."""
    margins = own.margins(reading.position, reading.swivel)
    return int(((margins.direction < -1e-6) | (margins.distance < -1e-6) | (margins.swivel < -1e-6)).sum())


def _range(name: str) -> LimbRange:
    from ..limb import LIMBS, LimbRange

    if name in LIMBS:
        return LimbRange.builtin(name)
    if not Path(name).suffix and not Path(name).exists():
        raise UsageError(str(UnknownNameError("range", name, LIMBS)))
    return LimbRange.load(name)


def _learned(found: LimbRange) -> str:
    report = found.report
    return (
        f"the range of a {found.name.replace('_', ' ')}, learned from {report.examples} poses of "
        f"{counted(len(report.sources), 'source')}"
    )


for command, name, line in (
    (fit_range, "fit", "posable range fit clips/ arm.npz --limb right_arm --repair cmu --first-frame 1"),
    (show_range, "show", "posable range show right_arm --picture arm.png"),
    (check_motions, "check", "posable range check right_arm boxing.bvh --repair cmu --first-frame 1"),
    (correct_motion, "correct", "posable range correct right_arm boxing.bvh inside.bvh --smooth --repair cmu"),
):
    app.command(name, cls=Command, epilog=example(line))(expanded(command))


def _facts(found: LimbRange) -> dict[str, Any]:
    learned, settings = found.report, found.settings
    return {
        "limb": found.name,
        "kind": "table" if found.coefficients is None else "harmonics",
        "examples": learned.examples,
        "bent": learned.bent,
        "dropped": learned.dropped,
        "directions": f"{learned.reached} of {learned.samples}, {learned.filled} filled",
        "sphere_percent": round(100.0 * learned.area, 1),
        "radius_degrees": round(math.degrees(settings["radius"]), 2),
        "min_count": settings["min_count"],
        "trim": settings["trim"],
        "sources": dict(learned.sources),
        "origin": learned.origin,
    }


def _checked(found: LimbRange, reading: Reading, motion: Motion, path: Path) -> dict[str, Any]:
    limb = reading.body(motion, path).limb(found.name, limits=None)
    own, read = found.for_limb(limb), limb.read(motion.pose)
    outside = ~own.contains(read.position, read.swivel)
    margins = own.margins(read.position, read.swivel)
    frames = max(len(motion), 1)
    return {
        "file": path.name,
        "frames": len(motion),
        "outside": int(outside.sum()),
        "percent": round(100.0 * float(outside.sum()) / frames, 2),
        "direction": int((margins.direction < -1e-6).sum()),
        "distance": int((margins.distance < -1e-9).sum()),
        "swivel": int((margins.swivel < -1e-9).sum()),
    }
