"""`posable reconstruct`: moving points, or a motion's six, to a motion of a whole body; a file or a folder of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from .ending import Ending, Summary, UsageError, length, usage
from .folder import check_paths, do_folder, files_of
from .options import BodyReading, Folder, Reading, check_engine, choice, part_names, three_weights
from .output import busy, counted, print_notes

CLOSE_MM = 1.0  # closer to its point than this a part has met it


@dataclass(frozen=True)
class PointReading(Reading):
    """How `posable reconstruct` reads a motion, or a CSV of points."""

    units: Annotated[str, typer.Option(metavar="UNIT", help="Of a CSV: m, cm, mm, in or ft.")] = "m"
    up: Annotated[
        str | None, typer.Option(metavar="AXIS", help="The axis that is up in a CSV or a BVH file: y (default) or z.")
    ] = None


def reconstruct(
    source: Annotated[
        Path, typer.Argument(metavar="INPUT", help="A motion, a CSV of points, or a folder of these, with its folders.")
    ],
    output: Annotated[Path, typer.Argument(metavar="OUTPUT", help="The file to write, or a folder.")],
    reading: PointReading,
    folder: Folder,
    ending: Ending,
    body: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The body; else the motion's own, or the figure for a CSV of points."),
    ] = None,
    height: Annotated[
        float | None, typer.Option(metavar="METRES", help="Stature of the built-in figure; else as the points say.")
    ] = None,
    fit: Annotated[bool, typer.Option(help="Scale the points to the size of --body or --height.")] = True,
    method: Annotated[
        str | None, typer.Option(help="Another method by name (sik: as published), or package.module:Class.")
    ] = None,
    weights: Annotated[
        str,
        typer.Option(metavar="A,B,C", help="Weights of wrists, ankles and the frame before in the heading."),
    ] = "1,1,0",
    smoothing: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Smooth out what is faster, without lag.")
    ] = None,
    lock_feet: Annotated[bool, typer.Option("--lock-feet", help="Lock feet where they stand.")] = False,
    floor: Annotated[
        float | None, typer.Option(metavar="HEIGHT", help="Keep hands and feet above a floor this high, in metres.")
    ] = None,
    scene: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Obstacles, in JSON, that arms and legs keep out of.")
    ] = None,
    calibration: Annotated[
        Path | None, typer.Option(metavar="FILE", help="How trackers sit on the person: what Calibration.save wrote.")
    ] = None,
    markers: Annotated[
        str | None, typer.Option(metavar="A,B,...", help="Which points of a motion count, as in head,left_hand,...")
    ] = None,
    orientations: Annotated[
        str | None, typer.Option(metavar="A,B,...", help="Parts of a motion whose orientations count too.")
    ] = None,
) -> None:
    """Reconstruct a whole body from six points, or more or fewer: pelvis, head, wrists and ankles.

    A CSV has a line of names (hips_x, hips_y, hips_z, head_x, ..., left_hand_x, ..., right_foot_z, and time in
    seconds or --fps) and a line a frame; an empty cell is a lost point. A folder is done on all cores; a second call
    after an interruption does what is missing, and files that fail are reported while the rest is done.
    """
    from ..evaluate.tasks import MOTIONS, reconstruct_file
    from ..formats.points_csv import UNITS
    from ..reconstruct.pipeline import CSV

    if body is not None and height is not None:
        raise UsageError("give --body or --height, not both")
    many = check_paths(source, output)
    reading.check_values()
    with usage():
        choice("--units", reading.units, tuple(UNITS))
    if not many:
        folder.check()
        _check_reading(source, reading)
    settings: dict[str, Any] = {
        "method": method,
        "weights": three_weights(weights),
        "height": height,
        "fit": fit,
        "floor": floor,
        "markers": None if markers is None else part_names(markers),
        "orientations": [] if orientations is None else part_names(orientations),
        "tracking": {"smoothing": smoothing, "lock_feet": True} if lock_feet else {"smoothing": smoothing},
        "reading": reading.loading,
        "roles": reading.given_roles,
    }
    _check_method(scene, settings)
    check_engine(folder.engine, folder.workers)
    if body is not None:  # what is wrong with it, and what is to be said of it, comes once and before any work
        plain = BodyReading(roles=reading.roles)
        plain.body(plain.motion(body), body)
    with busy("getting ready"), usage():
        _try_out(scene, settings)
    if many:
        shared = {"body": body, "scene": scene, "calibration": calibration}
        files = files_of(source, output, folder, (CSV, *MOTIONS), **shared)
        do_folder(
            *("reconstructing", "reconstructed", reconstruct_file, files, settings, folder, ending),
            columns=("frames", "fps", "frames_reached", "mean_error_mm", "worst_error_mm"),
            unmet=lambda facts: "" if (found := _summed_up(facts)).met else found.text,
            output=output,
        )
        return
    job = {"file": source, "output": str(output), "body": body, "scene": scene, "calibration": calibration}
    with busy(f"reconstructing {source.name}"):
        facts = reconstruct_file(job, **settings)
    print_notes(source, facts["notes"])
    summary = _summed_up(facts)
    ending.conclude(Summary(f"{output}: {summary.text}", summary.met), facts)


def _summed_up(facts: Mapping[str, Any]) -> Summary:
    """Sum up a reconstruction: in how many frames every point is met, and what was lost."""
    lost = f"; {counted(facts['points_lost'], 'lost point')} bridged" if facts["points_lost"] else ""
    text = f"{counted(facts['frames'], 'frame')} from {counted(len(facts['points']), 'point')}"
    if facts["worst_error_mm"] is None:
        return Summary(f"{text}, none of which was seen{lost}", False)
    if facts["worst_error_mm"] <= CLOSE_MM and not facts["frames_kept_out_of_obstacles"]:
        return Summary(f"{text}, all met{lost}")
    mean, worst = (length(facts[f"{name}_error_mm"] / 1000.0) for name in ("mean", "worst"))
    text += f", the worst point of a frame {mean} off on average, up to {worst}"
    if facts["frames_kept_out_of_obstacles"]:
        text += f"; kept out of obstacles in {counted(facts['frames_kept_out_of_obstacles'], 'frame')}"
    return Summary(f"{text}{lost}", False)


def _check_reading(source: Path, reading: PointReading) -> None:
    """Refuse options that a CSV of points, or a motion, does not take."""
    points = source.suffix.lower() == ".csv"
    wrong = ("scale", "repair", "animation") if points else ("units",)
    for name in wrong:
        if getattr(reading, name) not in (None, "m"):
            kind = "a CSV of points" if points else "a motion"
            raise UsageError(f"--{name} {getattr(reading, name)} is not for {kind}")


def _check_method(scene: Path | None, settings: dict[str, Any]) -> None:
    """Refuse options that a method does not take."""
    if settings["method"] is not None:
        given = {name: settings[name] for name in ("floor", "markers", "orientations")} | settings["tracking"]
        for name, value in [*given.items(), ("scene", scene)]:
            if value or (name == "floor" and value is not None):
                raise UsageError(f"--{name.replace('_', '-')} is not for --method {settings['method']}")


def _try_out(scene: Path | None, settings: dict[str, Any]) -> None:
    """Reconstruct one pose, so that a mistake in the options is reported once and kernels are compiled once."""
    import numpy as np

    from ..body import MARKERS, figure
    from ..evaluate.tasks import scene_of, tracked
    from ..formats.points_csv import Points

    person = figure(settings["height"] or 1.75)
    markers = tuple(settings["markers"] or MARKERS)
    still = person.skeleton.forward(person.neutral_pose).positions[None, [person.index(role) for role in markers]]
    rotations = {role: np.array([[1.0, 0.0, 0.0, 0.0]]) for role in settings["orientations"]}
    around = scene_of(scene, settings["floor"])
    tracked(
        Points(markers, still, 60.0, rotations),
        person,
        settings["weights"],
        settings["method"],
        around,
        settings["tracking"],
    )
