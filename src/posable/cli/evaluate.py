"""`posable evaluate`: how good methods are, by the papers' own measures."""

from __future__ import annotations

import math
import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..compute import UnknownNameError
from . import options
from .command import Command, Group, example
from .ending import Ending, Summary, UsageError, usage
from .options import Reading, check_engine, expanded, motion_files, part_names, three_weights, two_integers
from .output import (
    check_folder,
    counted,
    print_line,
    print_shared_notes,
    run_counted,
    show_table,
)

if TYPE_CHECKING:
    from ..evaluate import Evaluation

MEASURES = {
    "position": (1.0, "position error, of the height"),
    "orientation": (1.0, "orientation error [rad]"),
    "jitter": (1.0, "jitter: acceleration that the original does not have [m/s²]"),
    "mpjpe": (0.01, "MPJPE: mean distance of SMPL's joints [cm]"),
    "mpjre": (math.pi / 180.0, "MPJRE: mean angle between rotations of SMPL's joints [°]"),
    "jerk": (100.0, "jerk, which others call jitter [100 m/s³]"),
    "end_points": (0.001, "end points: mean distance of tracked joints from their points [mm]"),
    "end_points_worst": (0.001, "end points: the largest distance [mm]"),
    "milliseconds": (1.0, "median time a frame [ms]"),
}
"""What is shown of each measure: how many of its own units one is, and a title."""

app = typer.Typer(
    cls=Group,
    help="How good methods are, by the papers' own measures.",
    epilog=example("posable evaluate reconstruct boxing.bvh --method all", "posable evaluate express --samples 800"),
    no_args_is_help=True,
)


def evaluate_reconstruct(
    clips: Annotated[list[Path], typer.Argument(metavar="CLIP", help="Motions of people, or folders of them.")],
    reading: Reading,
    ending: Ending,
    method: Annotated[
        list[str] | None,
        typer.Option(help="sik, another by name, all, or package.module:Class of your own; once or more."),
    ] = None,
    trackers: Annotated[
        str | None, typer.Option(metavar="A,B,...", help="What is tracked, as in head,left_hand,right_hand; the six.")
    ] = None,
    orientations: Annotated[
        str | None, typer.Option(metavar="A,B,...", help="Whose orientations are tracked, too; all: of all trackers.")
    ] = None,
    weights: Annotated[
        str, typer.Option(metavar="A,B,C", help="One setting for all clips; paper: what the paper set for each.")
    ] = "paper",
    joints: Annotated[bool, typer.Option("--joints", help="Also show the errors of every joint.")] = False,
    plots: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Draw errors over time, and frames of every method.")
    ] = None,
    store: options.Store = None,
    engine: options.Engine = None,
    workers: options.Workers = None,
) -> None:
    """Reconstruct clips from six of their own points and measure each method's errors (Unzueta et al., Table 1).

    Position errors are in parts of the height, orientation errors in radians, both averaged over 22 joints, then root
    mean square over the frames. MPJPE, MPJRE and jerk are means over SMPL's 22 joints. With other points than the six
    positions the methods are sik and sik_prior when none is given. Times are medians, as the paper's are, of one core,
    without what is compiled; they are honest when nothing else runs: use --workers 1 for them.
    """
    from ..evaluate import Evaluation
    from ..evaluate.tasks import evaluate_file

    check_engine(engine, workers)
    for folder in filter(None, (plots, store)):
        check_folder(folder)
    paths = [path.absolute() for path in motion_files(clips)]
    points = _points(trackers, orientations)
    settings: dict[str, Any] = {"methods": _methods(method, points), "points": points}
    settings["weights"] = weights if weights == "paper" else three_weights(weights)
    settings |= {"reading": reading.loading, "roles": reading.given_roles}
    reading.check(*[path for path in paths if path.is_file() and path.stat().st_size] or paths)
    if plots is not None:
        settings["plots"] = str(plots.absolute())
    machines: dict[str, Any] = {"store": store, "engine": engine, "workers": workers}
    report = run_counted("reconstructing", evaluate_file, paths, settings=settings, **machines)
    found = Evaluation(tuple(facts for facts in report.results if facts is not None))
    failures = [{"clip": str(one.item), "error": one.error} for one in report.failures]
    facts = {"average": found.rows() if found.clips else [], "clips": list(found.clips)}
    print_shared_notes({clip["clip"]: clip["notes"] for clip in found.clips})
    if ending.json is None or str(ending.json) != "-":
        _show(found, joints)
    text = f"{counted(len(found.clips), 'clip')} measured" + (f", {len(failures)} failed" if failures else "")
    if found.clips and len(found.methods) > 1:
        best = min(found.methods, key=lambda name: found.average(name))
        text += f"; {best} is nearest, {100.0 * found.average(best):.2g} % of the height off"
    if plots is not None and found.clips:
        text += f"; plots in {plots}"
    only = Ending(json=ending.json, strict=ending.strict)  # the tables above are all there is
    only.conclude(Summary(text, not failures), facts, always={"failures": failures}, failed=bool(failures))


def evaluate_express(
    ending: Ending,
    skeleton: Annotated[list[str] | None, typer.Option(help="A to G; once or more, all when not given.")] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(help="best, erik, simple, ccd, dls100, dls200, dls400 or all; once or more."),
    ] = None,
    samples: Annotated[int, typer.Option(min=1, help="Pairs of a posture and an orientation, of each.")] = 8000,
    sweep: Annotated[
        str | None, typer.Option(metavar="VALUES,ANGLES", help="All pairs at this resolution instead of samples.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the samples.")] = 0,
    order: Annotated[str, typer.Option(help="How a target's angles are composed: YXY or YXZ.")] = "YXY",
    plots: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Draw histograms and normal curves, a file a skeleton.")
    ] = None,
    store: options.Store = None,
    engine: options.Engine = None,
    workers: options.Workers = None,
) -> None:
    """Hold postures while aiming, by several methods, and measure their errors (Ribeiro and Paiva, Tables 8 and 9).

    Errors are the paper's: orientation, posture times 0.2, and their sum. Times are of one core, and honest when
    nothing else runs: use --workers 1 for them. The same seed gives the same numbers whatever the number of workers.
    """
    from ..evaluate.express import METHODS, ORDERS, VALUES, evaluate_block, express_items, express_rows, row_facts

    check_engine(engine, workers)
    for folder in filter(None, (plots, store)):
        check_folder(folder)
    if order not in ORDERS:
        raise UsageError(str(UnknownNameError("--order", order, ORDERS)))
    methods = [name for one in method or ["best", "erik"] for name in (METHODS if one == "all" else (one,))]
    expected = "two whole numbers above 0, as 15,19"
    pair = None if sweep is None else two_integers("--sweep", sweep, expected, least=1)
    with usage():
        items = express_items(skeleton or list(VALUES), list(dict.fromkeys(methods)), samples, sweep=pair)
    machines: dict[str, Any] = {"store": store, "engine": engine, "workers": workers}
    report = run_counted("solving", evaluate_block, items, settings={"seed": seed, "order": order}, **machines)
    rows = express_rows([one for one in report.results if one is not None])
    if plots is not None:
        from ..evaluate.plots import plot_histograms

        plots.mkdir(parents=True, exist_ok=True)
        for name in dict.fromkeys(row.skeleton for row in rows):
            plot_histograms([row for row in rows if row.skeleton == name], plots / f"{name}.png")
    failures = [{"block": str(one.item), "error": one.error} for one in report.failures]
    text = f"{counted(len(rows), 'pair')} of a skeleton and a method measured"
    text += f", {len(failures)} blocks failed" if failures else ""
    text += f"; plots in {plots}" if plots is not None else ""
    if ending.json is None or str(ending.json) != "-":
        show_table("", [row_facts(row) for row in rows])
        print_line("")
    only = Ending(json=ending.json, strict=ending.strict)
    only.conclude(
        Summary(text, not failures),
        {"rows": [asdict(row) for row in rows]},
        always={"failures": failures},
        failed=bool(failures),
    )


def evaluate_retarget(
    clips: Annotated[list[Path], typer.Argument(metavar="CLIP", help="Motions of people, or folders of them.")],
    reading: Reading,
    ending: Ending,
    robot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The humanoid robot that performs them, .xml or .urdf.")
    ] = None,
    result: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A robot's motion that somebody made of the one CLIP: .csv, .npz or .npy. Ours otherwise.",
        ),
    ] = None,
    resample: Annotated[
        float | None, typer.Option(metavar="RATE", help="Frames a second of the clips, by interpolation.")
    ] = None,
    store: options.Store = None,
    engine: options.Engine = None,
    workers: options.Workers = None,
) -> None:
    """Put motions on a robot and measure how alike they are, how feet stand, what touches, and what motors are asked.

    Posture and scaled are errors of key points in the pelvis' frame: against the person's posture on the robot's bones,
    and against the person scaled. Slide, sunk and above are of a sole while the person's foot is on the floor. Times
    are of one core, and honest when nothing else runs: use --workers 1 for them.
    """
    from ..evaluate import retarget_table
    from .robots import evaluate_file, robot_body, summed_up

    check_engine(engine, workers)
    if store is not None:
        check_folder(store)
    if robot is None:
        raise UsageError("which robot performs them? give --robot FILE, such as g1.xml")
    if resample is not None and not 0.0 < resample <= 1000.0:
        raise UsageError(f"--resample {resample:g}: expected frames a second, above 0 and at most 1000")
    paths = [path.absolute() for path in motion_files(clips)]
    if result is not None and len(paths) > 1:
        raise UsageError(f"--result {result} is of one clip, and there are {len(paths)}")
    robot_body(robot)
    reading.check(*paths)
    settings: dict[str, Any] = {"robot": str(robot.absolute()), "resample": resample}
    settings |= {"result": None if result is None else str(result.absolute())}
    settings |= {"reading": reading.loading, "roles": reading.given_roles}
    machines: dict[str, Any] = {"store": store, "engine": engine, "workers": workers}
    report = run_counted("retargeting", evaluate_file, paths, settings=settings, **machines)
    rows = [facts for facts in report.results if facts is not None]
    failures = [{"clip": str(one.item), "error": one.error} for one in report.failures]
    print_shared_notes({facts["clip"]: facts["notes"] for facts in rows})
    missed = [facts["clip"] for facts in rows if not summed_up(facts).met]
    text = f"{counted(len(rows), 'clip')} measured on {rows[0]['robot']}" if rows else "no clip measured"
    text += f", {len(failures)} failed" if failures else ""
    if rows:
        text += f"; all is as it should be in {len(rows) - len(missed)} of them"
    ending.conclude(
        Summary(text, not missed and not failures),
        {},
        printed={"": retarget_table(rows), "failed": failures},
        listed_as_json={"clips": rows, "failures": failures},
        failed=bool(failures),
    )


for command, name, line in (
    (
        evaluate_reconstruct,
        "reconstruct",
        "posable evaluate reconstruct 17_10.bvh 90_05.bvh 01_03.bvh --method all --plots plots/",
    ),
    (
        evaluate_express,
        "express",
        "posable evaluate express --skeleton C --method best --method erik --samples 8000",
    ),
    (
        evaluate_retarget,
        "retarget",
        "posable evaluate retarget walk.bvh --robot g1.xml",
    ),
):
    app.command(name, cls=Command, epilog=example(line))(expanded(command))


def _points(trackers: str | None, orientations: str | None) -> dict[str, Sequence[str]]:
    """Return `markers` and `orientations` of the options; what cannot be tracked is reported before any work."""
    from ..body import MARKERS, figure
    from ..reconstruct.sik import ORIENTED, SequentialIK

    markers = MARKERS if trackers is None else tuple(part_names(trackers))
    oriented = () if orientations is None else tuple(part_names(orientations))
    if oriented == ("all",):
        oriented = tuple(role for role in markers if role in ORIENTED)
    with usage():
        SequentialIK(figure(), prior=None, markers=markers)
    for role in oriented:
        if role not in ORIENTED:
            raise UsageError(str(UnknownNameError("part in --orientations", role, ORIENTED)))
    return {"markers": markers, "orientations": oriented}


def _methods(requested: Sequence[str] | None, points: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the methods by name, each once; unknown ones are reported before any work."""
    from ..body import MARKERS
    from ..evaluate.reconstruct import SEQUENTIAL, find_method, method_names

    # A class of one's own is mostly in the current folder; the script `posable` does not look there by itself.
    if str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))
    six = tuple(points["markers"]) == MARKERS and not points["orientations"]
    every = method_names() if six else tuple(SEQUENTIAL)
    usual = ("sik",) if six else ("sik", "sik_prior")
    names = [name for one in requested or usual for name in (every if one == "all" else (one,))]
    with usage():
        for name in names:
            find_method(name, **points)
    return list(dict.fromkeys(names))


def _show(found: Evaluation, joints: bool) -> None:
    if not found.clips:
        return
    for measure, (unit, title) in MEASURES.items():
        print_line(title)
        show_table("", _by_clip(found, measure, unit))
        print_line("")
    if joints:
        for measure, of in (("position", ", of the height"), ("orientation", " [rad]")):
            print_line(f"{measure} error by joint{of}")
            show_table("", _by_joint(found, f"{measure}_joints"))
            print_line("")


def _by_clip(found: Evaluation, measure: str, unit: float = 1.0) -> list[dict[str, Any]]:
    """Return a row for each clip, then their average and the paper's, with a column for each method.

    Where the clip itself has the measure, it has a column, too.
    """
    shown = [(clip["clip"], clip["frames"], clip, clip["methods"]) for clip in found.clips]
    if len(shown) > 1:
        mean = {"jerk": statistics.mean(clip["jerk"] for clip in found.clips)}
        means = {method: {measure: found.average(method, measure)} for method in found.methods}
        shown.append(("average", sum(clip["frames"] for clip in found.clips), mean, means))
    rows: list[dict[str, Any]] = []
    for name, frames, clip, methods in shown:
        row: dict[str, Any] = {"clip": name, "frames": frames}
        if measure == "jerk":
            row["the clip's own"] = _short(clip["jerk"] / unit)
        rows.append(row | {method: _short(methods[method][measure] / unit) for method in found.methods})
    paper = {method: found.paper(method, measure) for method in found.methods}
    if any(value is not None for value in paper.values()):
        published = {method: "" if value is None else _short(value) for method, value in paper.items()}
        rows.append({"clip": "the paper's average", "frames": ""} | published)
    return rows


def _by_joint(found: Evaluation, measure: str) -> list[dict[str, Any]]:
    """Return a row for each joint, with its mean over the clips that have it."""
    values: dict[str, dict[str, list[float]]] = {}
    for clip in found.clips:
        for k, joint in enumerate(clip["joints"]):
            for method in found.methods:
                values.setdefault(joint, {}).setdefault(method, []).append(clip["methods"][method][measure][k])
    return [
        {"joint": joint} | {method: _short(sum(listed) / len(listed)) for method, listed in by_method.items()}
        for joint, by_method in values.items()
    ]


def _short(value: float) -> str:
    return f"{value:.4f}" if abs(value) < 10.0 else f"{value:.1f}"
