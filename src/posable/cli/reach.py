"""`posable reach`: a body, a behaviour and targets, to a motion."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .output import JsonOption, busy, check_output, progress, show_facts, show_table, write_json
from .reading import RepairOption, ScaleOption, read

if TYPE_CHECKING:
    from ..body import Humanoid
    from ..reach import Behaviour, Reacher, ReachMotion
    from ..reach.animate import Duration
    from ..skeleton import Motion, Pose
    from .targets import Goal


def reach(
    output: Annotated[Path, typer.Argument(metavar="OUTPUT", help="The file to write; its suffix says the format.")],
    to: Annotated[
        list[str] | None,
        typer.Option(metavar="X,Y,Z", help="Where the hand goes, in metres, once or more; or X,Y,Z,QW,QX,QY,QZ."),
    ] = None,
    targets: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Targets in CSV or JSON: x, y, z[, qw, qx, qy, qz][, hand][, hold]."),
    ] = None,
    body: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Who reaches; the built-in figure, or who starts, when not given."),
    ] = None,
    behaviour: Annotated[str, typer.Option(help="A behaviour's file, or normal, tired or energetic.")] = "normal",
    hand: Annotated[str, typer.Option(help="right or left, where a target does not say.")] = "right",
    hold: Annotated[float, typer.Option(help="Seconds at each target, where it does not say.")] = 0.0,
    start: Annotated[Path | None, typer.Option(metavar="FILE", help="A motion to begin in; else standing.")] = None,
    frame: Annotated[int, typer.Option(help="Which frame of it; -1 is the last.")] = 0,
    fps: Annotated[float, typer.Option(help="Frames a second to write.")] = 60.0,
    speed: Annotated[float, typer.Option(help="Mean speed of the hand, in metres a second.")] = 0.6,
    duration: Annotated[float | None, typer.Option(help="Seconds to each target, instead of a speed.")] = None,
    width: Annotated[
        float | None, typer.Option(help="Size of what is reached for, in metres: Fitts' law says how long it takes.")
    ] = None,
    scene: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Things to keep out of, in JSON: see the page on collision.")
    ] = None,
    allowed_contacts: Annotated[
        list[str] | None,
        typer.Option("--allowed-contact", metavar="NAME", help="An obstacle of the scene that the hands may touch."),
    ] = None,
    gaze: Annotated[float, typer.Option(help="How far the head turns to the target, 0 to 1.")] = 0.0,
    scale: ScaleOption = None,
    repair: RepairOption = None,
    json: JsonOption = None,
) -> None:
    """Reach with the whole body and write the motion: the hand goes straight, the body with it, the feet stay."""
    from ..collision import Scene
    from ..compute import PosableError
    from ..formats import save
    from .targets import read_goals, written_goal

    check_output(output, body, start)
    goals = [written_goal(text, hand, hold) for text in to or ()]
    goals += [] if targets is None else read_goals(targets, hand, hold)
    given = None if body is None else read(body, scale=scale, repair=repair)
    begun = None if start is None else read(start, scale=scale, repair=repair)
    person, pose = _beginning(given, begun, frame)
    if allowed_contacts and scene is None:
        raise PosableError(f"--allowed-contact {allowed_contacts[0]} names a thing of a scene; give --scene FILE too")
    around = None if scene is None else Scene.load(scene)
    options = {"scene": around, "allowed_contacts": allowed_contacts or (), "gaze": gaze}
    reacher = _reacher(person, behaviour, {goal.hand for goal in goals}, options)
    told = _reached(reacher, goals, pose, fps, _duration(speed, duration, width))
    with busy(f"writing {output.name}"):
        save(told.motion, output)
    rows = _rows(told, goals)
    facts = _facts(output, told)
    if not write_json(json, {**facts, "targets": rows}):
        show_facts(output.name, facts)
        show_table("targets", rows)


def _beginning(given: Motion | None, begun: Motion | None, frame: int) -> tuple[Humanoid, Pose]:
    """(who reaches, the pose to begin in); a start of another body is taken over as a posture."""
    from ..body import Humanoid, figure
    from ..compute import PosableError

    if begun is None:
        person = figure() if given is None else Humanoid(given.skeleton)
        return person, person.neutral_pose
    if not -len(begun) <= frame < len(begun):
        raise PosableError(f"frame {frame} of --start does not exist; it has {len(begun)}")
    starter = Humanoid(begun.skeleton)
    if given is None:
        return starter, begun[frame]
    person = Humanoid(given.skeleton)
    return person, person.pose(starter.canonical(begun[frame]))


def _reacher(person: Humanoid, behaviour: str, hands: set[str], options: dict[str, Any]) -> Reacher:
    from ..compute import PosableError
    from ..reach import Reacher

    if not hands:
        raise PosableError("nothing to reach: give --to X,Y,Z or --targets FILE")
    used = {hand: _behaviour(behaviour, f"{hand}_arm", person) for hand in sorted(hands)}
    return Reacher(person, used.get("right"), used.get("left"), **options)


def _behaviour(name: str, limb: str, person: Humanoid) -> Behaviour:
    from ..compute import UnknownNameError
    from ..reach import Behaviour
    from ..reach.examples import EXAMPLES

    if name in EXAMPLES:
        return Behaviour.example(name, limb, person)
    if not Path(name).suffix and not Path(name).exists():
        raise UnknownNameError("behaviour", name, EXAMPLES)
    found = Behaviour.load(name)
    return found if found.limb == limb else found.mirrored()


def _duration(speed: float, duration: float | None, width: float | None) -> Duration:
    from ..compute import PosableError
    from ..reach import Fitts, Pace

    if duration is not None and width is not None:
        raise PosableError("give --duration or --width, not both")
    for name, value in (("speed", speed), ("width", width)):
        if value is not None and not 0.0 < value < 1e3:
            raise PosableError(f"--{name} is {value}; expected above 0")
    if duration is not None:
        return duration
    return Pace(speed) if width is None else Fitts(width)


def _reached(reacher: Reacher, goals: list[Goal], pose: Pose, fps: float, duration: Duration) -> ReachMotion:
    from ..limb import Target
    from ..reach import ReachStep

    steps = []
    for goal in goals:
        target = Target(goal.position, goal.orientation)
        right, left = (target, None) if goal.hand == "right" else (None, target)
        steps.append(ReachStep(right, left, goal.hold))
    with progress("reaching") as share:
        return reacher.animate(steps=steps, start=pose, fps=fps, duration=duration, progress=share)


def _facts(output: Path, told: ReachMotion) -> dict[str, Any]:
    frames, failed = len(told.motion), int((~told.ok).sum())
    first = told.first_failure
    return {
        "output": str(output),
        "bytes": output.stat().st_size,
        "frames": frames,
        "fps": told.motion.fps,
        "seconds": round(told.motion.duration, 3),
        "frames_not_on_the_way": failed,
        "first_of_them_at_seconds": None if first is None else round(first / told.motion.fps, 3),
        "elbow_jumps": int(told.jumped.sum()),
    }


def _rows(told: ReachMotion, goals: list[Goal]) -> list[dict[str, Any]]:
    from ..compute import Status

    return [
        {
            "hand": goal.hand,
            "target": " ".join(f"{value:g}" for value in goal.position),
            "arrives_s": round(int(arrival) / told.motion.fps, 3),
            "status": Status(int(told.status[arrival])).name.lower(),
            "away_mm": round(1000.0 * float(told.residual[arrival]), 6),
            "weight": round(float(told.weight[arrival]), 3),
        }
        for goal, arrival in zip(goals, told.arrivals, strict=True)
    ]
