"""`posable reconstruct`: moving points, or a motion's six, to a motion of a whole body; a file or a folder of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..compute import FormatError, PosableError
from . import options
from .options import animation_of, check_engine, read, three_weights
from .output import (
    busy,
    check_folder,
    check_output,
    print_line,
    print_notes,
    print_shared_notes,
    report,
    run_counted,
    show_facts,
    show_failures,
    show_table,
    write_json,
)

if TYPE_CHECKING:
    from ..jobs import Report

MAX_SHOWN = 40  # files in the table; more are summed up


def reconstruct(
    source: Annotated[
        Path, typer.Argument(metavar="INPUT", help="A motion, a CSV of points, or a folder of these, with its folders.")
    ],
    output: Annotated[Path, typer.Argument(metavar="OUTPUT", help="The file to write, or a folder.")],
    body: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The body; else the motion's own, or the figure for a CSV of points."),
    ] = None,
    height: Annotated[
        float | None, typer.Option(help="Stature of the built-in figure in metres; else as the points say.")
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
    to: Annotated[str, typer.Option(metavar="SUFFIX", help="The format that a folder is written in.")] = "bvh",
    units: Annotated[str, typer.Option(help="Of a CSV: m, cm, mm, in or ft.")] = "m",
    up: Annotated[str, typer.Option(help="The axis that is up in a CSV or a BVH file: y or z.")] = "y",
    scale: options.Scale = None,
    fps: options.Fps = None,
    first_frame: options.FirstFrame = 0,
    repair: options.Repair = None,
    animation: options.Animation = None,
    engine: options.Engine = None,
    workers: options.Workers = None,
    json: options.Json = None,
) -> None:
    """Reconstruct a whole body from six points, or more or fewer: pelvis, head, wrists and ankles.

    A CSV has a line of names (hips_x, hips_y, hips_z, head_x, ..., left_hand_x, ..., right_foot_z, and time in
    seconds or --fps) and a line a frame; an empty cell is a lost point. A folder is done on all cores; a second call
    after an interruption does what is missing, and files that fail are reported while the rest is done.
    """
    from ..evaluate.tasks import reconstruct_file

    if body is not None and height is not None:
        raise typer.BadParameter("give --body or --height, not both")
    reading = {"units": units, "up": up, "scale": scale, "fps": fps, "first_frame": first_frame, "repair": repair}
    reading["animation"] = animation_of(animation)
    settings: dict[str, Any] = {
        "method": method,
        "weights": three_weights(weights),
        "height": height,
        "fit": fit,
        "floor": floor,
        "markers": _parts(markers),
        "orientations": _parts(orientations) or [],
        "tracking": {"smoothing": smoothing, "lock_feet": True} if lock_feet else {"smoothing": smoothing},
        "reading": {name: value for name, value in reading.items() if value is not None},
    }
    _check(source, output, scene, settings)
    check_engine(engine, workers)
    files = {"body": body, "scene": scene, "calibration": calibration}
    if body is not None:
        read(body)  # what is wrong with it, and what is to be said of it, comes once and before any work
    if source.is_dir():
        _folder(source.absolute(), output.absolute(), to, files, settings, engine, workers, json)
        return
    with busy(f"reconstructing {source.name}"):
        facts = reconstruct_file({"file": source, "output": str(output), **files}, **settings)
    print_notes(source, facts["notes"])
    report(json, output.name, facts)


def _check(source: Path, output: Path, scene: Path | None, settings: dict[str, Any]) -> None:
    """Refuse what can be known to be wrong before any file is read."""
    if not source.exists():
        raise FormatError(source, "no such file or folder")
    if source.resolve() == output.resolve():
        raise PosableError(f"OUTPUT is INPUT, {str(source)!r}: it would be overwritten; give another name")
    if source.is_file():
        check_output(output)
    if settings["method"] is not None:
        given = {name: settings[name] for name in ("floor", "markers", "orientations")} | settings["tracking"]
        for name, value in [*given.items(), ("scene", scene)]:
            if value or (name == "floor" and value is not None):
                raise PosableError(f"--{name.replace('_', '-')} is not for --method {settings['method']}")


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


def _folder(
    source: Path,
    target: Path,
    to: str,
    shared: dict[str, Path | None],
    settings: dict[str, Any],
    engine: str | None,
    workers: int | None,
    json: Path | None,
) -> None:
    from ..evaluate.tasks import MOTIONS, STORE, ReconstructFolder, is_whole, reconstruct_file
    from ..formats import suffixes
    from ..reconstruct.pipeline import CSV

    suffix = "." + to.lower().removeprefix(".")
    written = suffixes(written=True)
    if suffix not in written:
        raise PosableError(f"--to {to}: expected one of {', '.join(known[1:] for known in written)}")
    if target.is_file():
        raise PosableError(f"OUTPUT {str(target)!r} is a file; {str(source)!r} is a folder and needs one")
    check_folder(target)
    absolute = {name: path and path.absolute() for name, path in shared.items()}
    files = ReconstructFolder(source, target, suffix, **absolute)
    if not len(files):
        raise PosableError(f"no files in {str(source)!r} that end in {', '.join((CSV, *MOTIONS))}")
    with busy("getting ready"):
        _try_out(shared["scene"], settings)
    machines = {"store": target / STORE, "check": is_whole, "engine": engine, "workers": workers}
    job = run_counted("reconstructing", reconstruct_file, files, settings=settings, **machines)
    _show(job, source, target, json)
    if not job.ok:
        raise typer.Exit(1)


def _show(job: Report, source: Path, target: Path, json: Path | None) -> None:
    frames = reached = lost = 0
    rows: list[dict[str, Any]] = []
    for facts in (facts for facts in job.results if facts is not None):
        frames, reached = frames + facts["frames"], reached + facts["frames_reached"]
        lost += facts["points_lost"]
        if json is not None or len(rows) <= MAX_SHOWN:
            rows.append(facts)
    facts = {
        "input": str(source),
        "output": str(target),
        "files": len(job.results),
        "reconstructed": job.computed - len(job.failures),
        "already_there": job.skipped,
        "failed": len(job.failures),
        "frames": frames,
        "frames_reached": reached,
        "points_lost": lost,
        "seconds": round(job.seconds, 3),
        "files_a_second": round(job.rate, 3),
        "workers": job.workers,
    }
    failures = [{"file": str(one.item["file"]), "error": one.error} for one in job.failures]
    print_shared_notes({facts["file"]: facts["notes"] for facts in job.results if facts is not None})
    if write_json(json, {**facts, "rows": rows, "failures": failures}):
        return
    if len(rows) <= MAX_SHOWN:
        columns = ("frames", "fps", "frames_reached", "mean_error_mm", "worst_error_mm")
        table = [{"file": _below(target, row["output"])} | {name: row[name] for name in columns} for row in rows]
        show_table("", table)
        print_line("")
    show_facts(str(target), facts)
    show_failures([{**one, "file": _below(source, one["file"])} for one in failures[:MAX_SHOWN]])


def _below(folder: Path, file: str) -> str:
    return str(Path(file).relative_to(folder)) if Path(file).is_relative_to(folder) else file


def _parts(text: str | None) -> list[str] | None:
    return None if text is None else [word.strip() for word in text.split(",")]
