"""`posable express`: a chain, a posture and a path of targets to joint angles."""

from __future__ import annotations

import csv
import io
import math
from array import array
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from .. import math as pm
from ..compute import FormatError, atomic_write
from ..compute.files import check_writable, read_text
from ..compute.types import Floats
from .ending import Ending, Summary, UsageError, usage
from .options import choice, numbers
from .output import check_apart, check_output, counted, note, write_json

if TYPE_CHECKING:
    from ..express import Chain, ErikMotionSolution

COLUMNS = {
    ("qw", "qx", "qy", "qz"): "orientations",
    ("dx", "dy", "dz"): "directions",
    ("x", "y", "z"): "look_at",
}
"""Kinds of targets by the names of their columns in the first line of a file."""
MOST_ROWS = 1_000_000
MOST_BYTES = 1 << 28
FAR = 40.0  # lengths of the chain
FASTEST = 1e6  # frames a second
LIMITS = "-1.5708,1.5708"


def express(
    chain: Annotated[str, typer.Argument(metavar="CHAIN", help="A to G of the paper, axes as YXXZY, or a URDF file.")],
    targets: Annotated[
        Path,
        typer.Argument(
            metavar="TARGETS",
            help="CSV, a line a frame: qw,qx,qy,qz (orientation), dx,dy,dz (direction) or x,y,z (look at).",
        ),
    ],
    output: Annotated[
        Path, typer.Argument(metavar="OUTPUT", help="Angles as .csv or .json, or a motion: .bvh, .glb, .npz.")
    ],
    ending: Ending,
    posture: Annotated[
        str | None, typer.Option(metavar="A,B,...|FILE", help="Radians, one a joint; or a CSV, a line a frame.")
    ] = None,
    base: Annotated[str | None, typer.Option(help="Link of a robot that stands still.")] = None,
    tip: Annotated[str | None, typer.Option(help="Link of a robot that points.")] = None,
    pointing: Annotated[
        str | None,
        typer.Option(metavar="X,Y,Z", help="The axis of a robot's tip that points, in its link's frame; else a guess."),
    ] = None,
    limits: Annotated[
        str | None, typer.Option(metavar="LOW,HIGH", help="Radians, for axes; -1.5708,1.5708 when not given.")
    ] = None,
    method: Annotated[str, typer.Option(help="best, erik, simple or ccd.")] = "best",
    fps: Annotated[float, typer.Option(metavar="RATE", help="Frames a second.")] = 60.0,
    speed_limits: Annotated[
        bool, typer.Option(help="Keep to the speeds that a robot's file allows its motors; --smooth does in any case.")
    ] = True,
    smooth: Annotated[
        str | None,
        typer.Option(
            metavar="V,A,J", help="Limits of the result: speed in rad/s, acceleration in rad/s², jerk in rad/s³."
        ),
    ] = None,
) -> None:
    """Hold a posture while aiming: joint angles for a path of targets, each frame continuing from the one before."""
    from ..express import ERIK, MotionFilter
    from ..express.model import METHODS

    read_too = [Path(name) for name in (chain, posture or "") if Path(name).suffix]
    check_apart(output, targets, *read_too)
    if output.suffix.lower() in {".csv", ".json"}:
        check_writable(output)
    else:
        check_output(output)
    if not 0.0 < fps < FASTEST:
        raise UsageError(f"--fps {fps:g}: expected frames a second, above 0 and below {FASTEST:g}")
    choice("--method", method, METHODS)
    made = _chain(chain, base, tip, limits, pointing)
    rates = None if smooth is None else numbers("--smooth", smooth, 3, "speed, acceleration and jerk, as in 3,20,200")
    kind, goals = _read_targets(targets)
    if kind == "look_at":
        _check_distance(made, goals, targets)
    postures = made.zero if posture is None else _posture(posture, made, len(goals))
    aims: dict[str, Any] = {kind: goals}
    solver = ERIK(made, method)
    found = solver.track(postures, fps=fps, **aims)
    angles, aim = found.angles, np.asarray(found.orientation_error)
    if rates is not None:
        velocity, acceleration, jerk = rates
        # A joint without ends has no range to keep to.
        ends = made.limits if np.isfinite(made.limits).all() else None
        with usage():
            smoothing = MotionFilter(np.minimum(velocity, made.speeds), acceleration, jerk, fps, position_limits=ends)
        angles = smoothing.run(angles)
    elif speed_limits:
        angles = made.within_speeds(angles, fps)
    slowed = not np.array_equal(angles, found.angles)
    if slowed:
        aim = _aim_errors(made, solver.symmetric, kind, goals, angles)
    seen = aim[np.isfinite(aim)]
    before = "before_smoothing_" if slowed else ""  # posture and aim together, which only solutions have
    written_facts = _write(output, made, angles, found, aim, fps)
    facts: dict[str, Any] = {
        **written_facts,
        "chain": chain,
        "joints": list(made.names),
        "frames": len(angles),
        "frames_without_target": len(aim) - len(seen),
        "reached": float(np.mean(aim <= solver.tolerance)),
        "worst_aim_degrees": float(np.degrees(seen.max())) if len(seen) else None,
        f"{before}error": float(np.mean(found.error[np.isfinite(aim)])) if len(seen) else None,
        f"{before}worst_error": float(np.max(found.error[np.isfinite(aim)])) if len(seen) else None,
        "jumps": int(found.jumped.sum()),
    }
    facts["slowed_to_speed_limits"] = slowed and rates is None
    if made.note:
        facts["points"] = made.note
    slowing = "the limits of --smooth" if rates is not None else "the robot's speed limits"
    summary = _summed_up(aim, solver.tolerance, slowing if slowed else "")
    ending.conclude(Summary(f"{output}: {summary.text}", summary.met), facts)


def _summed_up(aim: Floats, tolerance: float, slowed: str) -> Summary:
    """Sum up errors of aim (F,) [rad], infinite where a frame has no target; `slowed` says what slows the chain."""
    seen = aim[np.isfinite(aim)]
    lost = f"; {counted(len(aim) - len(seen), 'frame')} without a target" if len(seen) < len(aim) else ""
    if not len(seen):
        return Summary("no frame has a target", False)
    close, good = f"within {math.degrees(tolerance):g} degree", int((seen <= tolerance).sum())
    if good == len(seen):
        every = f"all {len(seen)} frames" if len(seen) > 1 else "its frame"
        return Summary(f"aims {close} in {every}{lost}")
    worst = math.degrees(float(seen.max()))
    why = f"; {slowed} hold it back" if slowed else ""
    text = f"aims {close} in {good} of {counted(len(seen), 'frame')}, up to {worst:.2g} degrees off{why}{lost}"
    return Summary(text, False)


def _aim_errors(chain: Chain, symmetric: bool, kind: str, goals: Floats, angles: Floats) -> Floats:
    """Return angles (F,) [rad] between the tip and its targets with these joint angles; infinite without a target."""
    frames = chain.forward(angles)
    with np.errstate(all="ignore"):  # what is no target gives no angle
        if kind == "orientations":
            over = pm.axis_angle(chain.pointing, math.pi)
            ends = [frames.orientations[:, -1]]
            ends += [np.asarray(pm.multiply(ends[0], over))] if symmetric else []
            away = np.min([np.asarray(pm.angle(end, goals / _length(goals))) for end in ends], axis=0)
        else:
            sight = goals - frames.positions[:, -1] if kind == "look_at" else goals
            across = np.linalg.norm(np.cross(frames.pointing, sight), axis=-1)
            away = np.arctan2(across, (frames.pointing * sight).sum(axis=-1))
    return np.where(np.isfinite(goals).all(axis=-1) & (_length(goals)[:, 0] > 0.0), away, np.inf)


def _length(vectors: Floats) -> Floats:
    return np.asarray(np.linalg.norm(vectors, axis=-1, keepdims=True))


def _check_distance(chain: Chain, points: Floats, path: Path) -> None:
    """Note points so far away that they are hardly in metres: one may look at anything, but seldom at 40 lengths."""
    long = float(np.linalg.norm(chain.skeleton.offsets[1:], axis=-1).sum())
    with np.errstate(over="ignore"):
        away = np.linalg.norm(points, axis=-1)
    away = away[np.isfinite(away)]
    if len(away) and long > 0.0 and float(away.min()) > FAR * long:
        note(
            f"{path.name}: the nearest point is {away.min():.3g} m away and the chain {long:.3g} m long; "
            "positions are in metres"
        )


def _chain(name: str, base: str | None, tip: str | None, limits: str | None, pointing: str | None) -> Chain:
    """Return a chain by letter, by axes, or from a file; an option that it does not take is an error."""
    from ..express import SKELETONS, Chain

    robot = name.lower().endswith((".urdf", ".xml"))
    for option, value in (("--base", base), ("--tip", tip), ("--pointing", pointing)):
        if value is not None and not robot:
            raise UsageError(f"{option} {value} is for a robot's file (.urdf, .xml); the chain is {name!r}")
    if limits is not None and (robot or name in SKELETONS):
        raise UsageError(f"--limits {limits} is for axes as YXXZY; the chain {name!r} has limits of its own")
    if name in SKELETONS:
        return SKELETONS[name]
    if robot:
        along = None if pointing is None else numbers("--pointing", pointing, 3, "the axis x,y,z", below=1e9)
        if along is not None and not any(along):
            raise UsageError(f"--pointing {pointing}: expected a direction, which is not 0,0,0")
        return Chain.from_robot(Path(name), base, tip, pointing=along)
    if name and set(name.upper()) <= set("XYZ"):
        ends = numbers("--limits", limits or LIMITS, 2, "the lowest and the highest angle")
        with usage():
            return Chain.from_axes(name, limits=ends)
    raise UsageError(
        f"the chain is {name!r}; expected a letter of A to G, axes as YXXZY, or a robot's file (.urdf, .xml)"
    )


def _read_targets(path: Path) -> tuple[str, Floats]:
    """Return the kind of the targets in a CSV file, and the targets (F, 3) or (F, 4)."""
    names, rows = _read_csv(path)
    for columns, kind in COLUMNS.items():
        if set(columns) <= set(names):
            return kind, rows[:, [names.index(column) for column in columns]]
    expected = " or ".join(",".join(columns) for columns in COLUMNS)
    raise FormatError(path, f"its columns are {','.join(names)}; expected {expected}", "line 1")


def _posture(text: str, chain: Chain, frames: int) -> Floats:
    if Path(text).suffix.lower() != ".csv":
        return np.array(numbers("--posture", text, len(chain), f"{len(chain)} angles, one a joint, or a .csv file"))
    names, rows = _read_csv(Path(text))
    missing = [name for name in chain.names if name not in names]
    if missing:
        raise FormatError(text, f"it has no column for {', '.join(missing[:5])}", "line 1")
    if len(rows) not in (1, frames):
        raise FormatError(text, f"{len(rows)} postures for {frames} targets; expected one, or as many")
    return rows[:, [names.index(name) for name in chain.names]]


def _read_csv(path: Path) -> tuple[list[str], Floats]:
    try:
        lines = csv.reader(io.StringIO(read_text(path, MOST_BYTES), newline=""))
        names = [name.strip() for name in next(lines, [])]
        values, rows = array("d"), 0
        for number, line in enumerate(lines, start=2):
            if not line:
                continue
            if len(line) != len(names):
                raise FormatError(path, f"{len(line)} values under {len(names)} columns", f"line {number}")
            if rows >= MOST_ROWS:
                raise FormatError(path, f"more than {MOST_ROWS} lines", f"line {number}")
            values.extend(_number(path, value, number) for value in line)
            rows += 1
    except csv.Error as error:
        raise FormatError(path, f"not a CSV file: {error}") from error
    if not names or not rows:
        raise FormatError(path, "it has no lines of numbers under a line of names")
    return names, np.array(values).reshape(rows, len(names))


def _number(path: Path, text: str, line: int) -> float:
    try:
        return float(text) if text.strip() else math.nan  # an empty field is a frame without a target
    except ValueError:
        raise FormatError(path, f"{text[:60]!r} is not a number", f"line {line}") from None


def _write(
    path: Path, chain: Chain, angles: Floats, found: ErikMotionSolution, aim: Floats, fps: float
) -> dict[str, Any]:
    suffix = path.suffix.lower()
    if suffix == ".csv":
        with atomic_write(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["time", *chain.names])
            writer.writerows([repr(f / fps), *map(repr, row)] for f, row in enumerate(angles.tolist()))
    elif suffix == ".json":
        facts = {"fps": fps, "joints": list(chain.names), "angles": angles.tolist(), "error": found.error.tolist()}
        write_json(path, {**facts, "aim_degrees": np.degrees(aim).tolist()})
    else:
        from ..skeleton import Motion
        from .tasks import written

        return written(Motion(chain.skeleton, chain.pose(angles), fps), path)
    return {"output": str(path), "bytes": path.stat().st_size}
