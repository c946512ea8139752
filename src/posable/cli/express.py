"""`posable express`: a chain, a posture and a path of targets to joint angles."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from .. import math as pm
from ..compute import FormatError, PosableError, atomic_write
from ..compute.files import check_writable
from ..compute.types import Floats
from . import options
from .options import numbers
from .output import check_apart, check_output, note, save_motion, show_facts, write_json

if TYPE_CHECKING:
    from ..express import Chain, ErikMotionSolution

COLUMNS = {
    ("qw", "qx", "qy", "qz"): "orientations",
    ("dx", "dy", "dz"): "directions",
    ("x", "y", "z"): "look_at",
}
"""Kinds of targets by the names of their columns in the first line of a file."""
MOST_ROWS = 1_000_000
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
    posture: Annotated[
        str | None, typer.Option(metavar="A,B,...|FILE", help="Radians, one a joint; or a CSV, a line a frame.")
    ] = None,
    base: Annotated[str | None, typer.Option(help="Link of a robot that stands still.")] = None,
    tip: Annotated[str | None, typer.Option(help="Link of a robot that points.")] = None,
    limits: Annotated[
        str | None, typer.Option(metavar="LOW,HIGH", help="Radians, for axes; -1.5708,1.5708 when not given.")
    ] = None,
    method: Annotated[str, typer.Option(help="best, erik, simple or ccd.")] = "best",
    fps: Annotated[float, typer.Option(help="Frames a second.")] = 60.0,
    smooth: Annotated[
        str | None,
        typer.Option(
            metavar="V,A,J", help="Limits of the result: speed in rad/s, acceleration in rad/s², jerk in rad/s³."
        ),
    ] = None,
    json: options.Json = None,
) -> None:
    """Hold a posture while aiming: joint angles for a path of targets, each frame continuing from the one before."""
    from ..express import ERIK, MotionFilter

    read_too = [Path(name) for name in (chain, posture or "") if Path(name).suffix]
    check_apart(output, targets, *read_too)
    if output.suffix.lower() in {".csv", ".json"}:
        check_writable(output)
    else:
        check_output(output)
    if not 0.0 < fps < FASTEST:
        raise PosableError(f"--fps {fps:g}: expected frames a second, above 0 and below {FASTEST:g}")
    made = _chain(chain, base, tip, limits)
    kind, goals = _read_targets(targets)
    if kind == "look_at":
        _check_distance(made, goals, targets)
    postures = made.zero if posture is None else _posture(posture, made, len(goals))
    aims: dict[str, Any] = {kind: goals}
    solver = ERIK(made, method)
    found = solver.track(postures, fps=fps, **aims)
    angles, aim = found.angles, np.asarray(found.orientation_error)
    if smooth is not None:
        velocity, acceleration, jerk = numbers("--smooth", smooth, 3, "speed, acceleration and jerk, as in 3,20,200")
        # A joint without ends has no range to keep to.
        ends = made.limits if np.isfinite(made.limits).all() else None
        angles = MotionFilter(velocity, acceleration, jerk, fps=fps, position_limits=ends).run(angles)
        aim = _aim_errors(made, solver.symmetric, kind, goals, angles)
    seen = aim[np.isfinite(aim)]
    _write(output, made, angles, found, aim, fps)
    before = "" if smooth is None else "before_smoothing_"  # posture and aim together, which only solutions have
    facts: dict[str, Any] = {
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
    if made.note:
        facts["points"] = made.note
    if not write_json(json, facts):
        show_facts(str(output), facts)


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


def _chain(name: str, base: str | None, tip: str | None, limits: str | None) -> Chain:
    """Return a chain by letter, by axes, or from a file; an option that it does not take is an error."""
    from ..express import SKELETONS, Chain

    robot = name.lower().endswith(".urdf")
    for option, value in (("--base", base), ("--tip", tip)):
        if value is not None and not robot:
            raise PosableError(f"{option} {value} is for a robot's .urdf file; the chain is {name!r}")
    if limits is not None and (robot or name in SKELETONS):
        raise PosableError(f"--limits {limits} is for axes as YXXZY; the chain {name!r} has limits of its own")
    if name in SKELETONS:
        return SKELETONS[name]
    if robot:
        return Chain.from_urdf(Path(name), base, tip)
    if name and set(name.upper()) <= set("XYZ"):
        ends = numbers("--limits", limits or LIMITS, 2, "the lowest and the highest angle")
        return Chain.from_axes(name, limits=ends)
    raise PosableError(f"the chain is {name!r}; expected a letter of A to G, axes as YXXZY, or a .urdf file")


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
    with path.open(encoding="utf-8-sig", newline="") as file:
        try:
            lines = csv.reader(file)
            names = [name.strip() for name in next(lines, [])]
            rows: list[list[float]] = []
            for number, line in enumerate(lines, start=2):
                if not line:
                    continue
                if len(line) != len(names):
                    raise FormatError(path, f"{len(line)} values under {len(names)} columns", f"line {number}")
                if len(rows) >= MOST_ROWS:
                    raise FormatError(path, f"more than {MOST_ROWS} lines", f"line {number}")
                rows.append([_number(path, value, number) for value in line])
        except (csv.Error, UnicodeDecodeError) as error:
            raise FormatError(path, f"not a CSV file: {error}") from error
    if not names or not rows:
        raise FormatError(path, "it has no lines of numbers under a line of names")
    return names, np.array(rows)


def _number(path: Path, text: str, line: int) -> float:
    try:
        return float(text) if text.strip() else math.nan  # an empty field is a frame without a target
    except ValueError:
        raise FormatError(path, f"{text!r} is not a number", f"line {line}") from None


def _write(path: Path, chain: Chain, angles: Floats, found: ErikMotionSolution, aim: Floats, fps: float) -> None:
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

        save_motion(Motion(chain.skeleton, chain.pose(angles), fps), path)
