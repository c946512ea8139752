"""`posable range`: learn the range of a limb, show it, test motions with it, correct them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from ..compute import PosableError, UnknownNameError
from ..compute.files import check_writable
from . import options
from .options import body_of, motion_files, read
from .output import Command, busy, check_output, progress, report, save_motion, show_table, write_json

if TYPE_CHECKING:
    from ..limb import LimbRange
    from ..skeleton import Motion, Pose

app = typer.Typer(help="The range of an arm or a leg, learned from motions.", no_args_is_help=True)

WIDEST = 90.0  # [degrees]: a margin as wide leaves nothing of any range
RangeArgument = Annotated[
    str, typer.Argument(metavar="RANGE", help="A file, or a limb for the built-in one: right_arm, left_leg, ...")
]
LimbOption = Annotated[str, typer.Option(help="right_arm, left_arm, right_leg or left_leg.")]


@app.command(
    "fit", cls=Command, epilog="Example: posable range fit clips/ arm.npz --limb right_arm --repair cmu --first-frame 1"
)
def fit_range(
    files: options.Files,
    output: Annotated[Path, typer.Argument(metavar="OUTPUT", help="The file to write, .npz.")],
    limb: LimbOption = "right_arm",
    samples: Annotated[int, typer.Option(help="Directions of the table.")] = 1000,
    radius: Annotated[float, typer.Option(help="How far an example counts, in degrees.")] = 10.0,
    min_count: Annotated[int, typer.Option(help="Examples a direction needs.")] = 5,
    trim: Annotated[float, typer.Option(help="Fraction of examples left out at each end.")] = 0.005,
    fill_holes: Annotated[bool, typer.Option(help="Let holes belong to the range.")] = True,
    harmonics: Annotated[int | None, typer.Option(metavar="DEGREE", help="The compact form, of this degree.")] = None,
    max_poses: Annotated[int | None, typer.Option(help="Draw at most this many poses of each file at random.")] = None,
    seed: Annotated[int, typer.Option(help="Of that draw.")] = 0,
    scale: options.Scale = None,
    fps: options.Fps = None,
    first_frame: options.FirstFrame = 0,
    repair: options.Repair = None,
    up: options.Up = None,
    json: options.Json = None,
) -> None:
    """Learn a range from motions; it is for a limb of the first body."""
    from ..limb import LimbRange

    if output.suffix.lower() != ".npz":
        raise PosableError(f"cannot write {str(output)!r}: a range is written as .npz")
    check_writable(output)
    if harmonics == 0:
        raise PosableError("--harmonics 0: harmonics have a degree of 1 to 12")
    if seed < 0:
        raise PosableError(f"--seed {seed}: expected 0 or more")
    paths = motion_files(files)
    if output.absolute() in [path.absolute() for path in paths]:
        raise PosableError(f"OUTPUT is INPUT, {str(output)!r}: it would be overwritten; give another name")
    motions = [read(path, scale, fps, first_frame, repair, up=up) for path in paths]
    with progress(f"learning the {limb.replace('_', ' ')}") as fraction:
        found = LimbRange.fit(
            body_of(motions[0], paths[0]),
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
    report(json, output.name, {"output": str(output), "bytes": output.stat().st_size, **_facts(found)})


@app.command("show", cls=Command, epilog="Example: posable range show right_arm --picture arm.png")
def show_range(
    range_: RangeArgument,
    picture: Annotated[Path | None, typer.Option(metavar="PNG", help="Draw it around a figure, and as a map.")] = None,
    json: options.Json = None,
) -> None:
    """Show what a range was learned from, and draw it."""
    found = _range(range_)
    facts = {"range": range_, **_facts(found)}
    if picture is not None:
        from ..render.picture import check_picture
        from ..render.range_picture import save_range_picture

        check_picture(picture)
        with busy("drawing"):
            save_range_picture(found, picture)
        facts["picture"] = str(picture)
    report(json, range_, facts)


@app.command(
    "check", cls=Command, epilog="Example: posable range check right_arm boxing.bvh --repair cmu --first-frame 1"
)
def check_motions(
    range_: RangeArgument,
    files: options.Files,
    scale: options.Scale = None,
    fps: options.Fps = None,
    first_frame: options.FirstFrame = 0,
    repair: options.Repair = None,
    up: options.Up = None,
    json: options.Json = None,
) -> None:
    """Count the frames of motions that lie outside a range, and why."""
    found = _range(range_)
    rows = [_checked(found, read(path, scale, fps, first_frame, repair, up=up), path) for path in motion_files(files)]
    if not write_json(json, {"range": range_, "files": rows}):
        show_table(f"frames outside the {found.name.replace('_', ' ')}'s range", rows)


@app.command(
    "correct",
    cls=Command,
    epilog="Example: posable range correct right_arm boxing.bvh inside.bvh --smooth --repair cmu",
)
def correct_motion(
    range_: RangeArgument,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A motion.")],
    output: options.Output,
    margin: Annotated[float, typer.Option(help="How far inside to stay, in degrees.")] = 0.0,
    smooth: Annotated[bool, typer.Option("--smooth", help="Never jump, also where the far side changes.")] = False,
    limits: Annotated[bool, typer.Option("--limits", help="Keep the limb's joints inside their limits too.")] = False,
    scale: options.Scale = None,
    fps: options.Fps = None,
    first_frame: options.FirstFrame = 0,
    repair: options.Repair = None,
    up: options.Up = None,
    json: options.Json = None,
) -> None:
    """Bring a limb of a motion into a range and write the motion; hand or foot keep their orientation.

    A range knows where a hand goes and how its elbow lies, not what each joint may do: only with --limits no joint
    of the limb leaves its limits. Where the limits lead out of the range, the closest posture inside both is taken,
    off the hand's position; where there is none, limits come first, and left_outside says how often.
    """
    check_output(output, file)
    if not 0.0 <= margin < WIDEST:
        raise PosableError(f"--margin {margin:g}: expected degrees, from 0 to below {WIDEST:g}")
    found = _range(range_)
    motion = read(file, scale, fps, first_frame, repair, up=up)
    pose, counts = _corrected(found, motion, file, math.radians(margin), smooth, limits)
    save_motion(motion.replace(pose=pose), output)
    report(json, output.name, {"file": str(file), "output": str(output), "frames": len(motion), **counts})


def _corrected(
    found: LimbRange, motion: Motion, path: Path, margin: float, smooth: bool, limits: bool
) -> tuple[Pose, dict[str, int]]:
    """Return (the poses with the limb inside the range, how many frames changed and why)."""
    limb = body_of(motion, path).limb(found.name, limits="body" if limits else None)
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
    counts = {"frames_changed": len(rows)}
    counts |= {f"{name}_changed": int(changed.sum()) for name, changed in answer.causes.items()}
    if limits:
        counts["limits_changed"] = int(limited.sum())
    after = limb.read(pose)
    # A pose that was moved onto the edge is inside, to rounding.
    margins = own.margins(after.position, after.swivel)
    outside = (margins.direction < -1e-6) | (margins.distance < -1e-6) | (margins.swivel < -1e-6)
    counts["left_outside"] = int(outside.sum())
    return pose, counts


def _range(name: str) -> LimbRange:
    from ..limb import LIMBS, LimbRange

    if name in LIMBS:
        return LimbRange.builtin(name)
    if not Path(name).suffix and not Path(name).exists():
        raise UnknownNameError("range", name, LIMBS)
    return LimbRange.load(name)


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


def _checked(found: LimbRange, motion: Motion, path: Path) -> dict[str, Any]:
    limb = body_of(motion, path).limb(found.name, limits=None)
    own, reading = found.for_limb(limb), limb.read(motion.pose)
    outside = ~own.contains(reading.position, reading.swivel)
    margins = own.margins(reading.position, reading.swivel)
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
