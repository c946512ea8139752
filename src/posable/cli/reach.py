"""`posable reach`: a body, a behaviour and targets, to a motion."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from ..compute import PosableError, Status, UnknownNameError
from . import options
from .distance import check_target
from .options import body_of, read
from .output import check_output, progress, report, save_motion

if TYPE_CHECKING:
    from ..body import Humanoid
    from ..reach import Behaviour, ReachMotionSolution, ReachStep
    from ..reach.motion import Duration
    from ..skeleton import Motion, Pose


def reach(
    output: options.Output,
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
        Path | None, typer.Option(metavar="FILE", help="Obstacles, in JSON: see the page on collision.")
    ] = None,
    allowed_contacts: Annotated[
        list[str] | None,
        typer.Option("--allowed-contact", metavar="NAME", help="An obstacle of the scene that the hands may touch."),
    ] = None,
    gaze: Annotated[float, typer.Option(help="How far the head turns to the target, 0 to 1.")] = 0.0,
    extend: Annotated[
        bool, typer.Option(help="Take more of the behaviour than its weight requests where the arm is too short.")
    ] = True,
    feet: Annotated[
        str, typer.Option(help="stay; step, where a target is out of reach (or rise on the toes); or free.")
    ] = "stay",
    weight: Annotated[
        float | None,
        typer.Option(help="How much of the behaviour, 0 to 1; by the distance of each target when not given."),
    ] = None,
    scale: options.Scale = None,
    repair: options.Repair = None,
    json: options.Json = None,
) -> None:
    """Reach with the whole body and write the motion: the hand goes straight, the body with it, the feet stay."""
    from ..collision import Scene
    from ..formats.targets import parse_target
    from ..reach import Reacher, ReachStep, load_targets
    from ..reach.stepping import FEET

    check_output(output, body, start)
    if feet not in FEET:
        raise UnknownNameError("way of the feet", feet, FEET)
    steps = [ReachStep.of(parse_target(text, hand, hold)) for text in to or ()]
    steps += [] if targets is None else load_targets(targets, hand=hand, hold=hold)
    given = None if body is None else read(body, scale=scale, repair=repair)
    begun = None if start is None else read(start, scale=scale, repair=repair)
    person, pose = _beginning(given, body, begun, start, frame)
    if allowed_contacts and scene is None:
        raise PosableError(
            f"--allowed-contact {allowed_contacts[0]} names an obstacle of a scene; give --scene FILE too"
        )
    around = None if scene is None else Scene.load(scene)
    if not steps:
        raise PosableError("nothing to reach: give --to X,Y,Z or --targets FILE")
    _check_distances(person, pose, steps)
    used = {hand: _behaviour(behaviour, f"{hand}_arm", person) for hand in sorted({_hand(step) for step in steps})}
    contacts = allowed_contacts or ()
    reacher = Reacher(
        *(person, used.get("right"), used.get("left"), around),
        allowed_contacts=contacts,
        gaze=gaze,
        extend=extend,
        feet=FEET[feet],
    )
    took = _duration(speed, duration, width)
    with progress("reaching") as fraction:
        reached = reacher.animate(steps=steps, start=pose, fps=fps, duration=took, weight=weight, progress=fraction)
    first = reached.first_failure
    facts = {
        **save_motion(reached.motion, output),
        "frames_off_the_path": int((reached.status != Status.REACHED).sum()),
        "first_of_them_at_seconds": None if first is None else round(first / reached.motion.fps, 3),
        "elbow_jumps": int(reached.jumped.sum()),
    }
    report(json, output.name, facts, targets=_rows(reached, steps, person))


def _check_distances(person: Humanoid, pose: Pose, steps: list[ReachStep]) -> None:
    """Refuse targets far outside the size of the figure."""
    positions = person.skeleton.forward(pose).positions
    for step in steps:
        target, part = _position(step), f"{_hand(step)}_hand"
        check_target(f"the target {_text(target)}", target, part, positions[person.index(part)], person.height)


def _beginning(
    given: Motion | None, body: Path | None, begun: Motion | None, start: Path | None, frame: int
) -> tuple[Humanoid, Pose]:
    """Return (who reaches, the pose to begin in); a start of another body is retargeted."""
    from ..body import figure

    whom = figure() if given is None or body is None else body_of(given, body)
    if begun is None or start is None:
        return whom, whom.neutral_pose
    if not -len(begun) <= frame < len(begun):
        raise PosableError(f"frame {frame} of --start does not exist; it has {len(begun)}")
    starter = body_of(begun, start)
    return (starter, begun[frame]) if given is None else (whom, whom.pose(starter.canonical(begun[frame])))


def _behaviour(name: str, limb: str, person: Humanoid) -> Behaviour:
    from ..reach import Behaviour
    from ..reach.examples import EXAMPLES

    if name in EXAMPLES:
        return Behaviour.example(name, limb, person)
    if not Path(name).suffix and not Path(name).exists():
        raise UnknownNameError("behaviour", name, EXAMPLES)
    found = Behaviour.load(name)
    return found if found.limb == limb else found.mirrored()


def _duration(speed: float, duration: float | None, width: float | None) -> Duration:
    from ..reach import Fitts, Pace

    if duration is not None and width is not None:
        raise PosableError("give --duration or --width, not both")
    for name, value in (("speed", speed), ("width", width)):
        if value is not None and not 0.0 < value < 1e3:
            raise PosableError(f"--{name} is {value}; expected above 0")
    if duration is not None:
        return duration
    return Pace(speed) if width is None else Fitts(width)


def _hand(step: ReachStep) -> str:
    return "right" if step.left is None else "left"


def _position(step: ReachStep) -> list[float]:
    """Return the coordinates (3,) [m] of the target of a step."""
    from ..limb import as_target

    target = step.right if step.left is None else step.left
    assert target is not None
    return [float(value) for value in np.asarray(as_target(target).position)]


def _text(position: list[float]) -> str:
    return ",".join(f"{value:g}" for value in position)


def _contact_text(contact: tuple[str, str] | None) -> str:
    return "" if contact is None else f"{contact[0]} at {contact[1]}"


def _rows(reached: ReachMotionSolution, steps: list[ReachStep], person: Humanoid) -> list[dict[str, Any]]:
    margins = person.balance(reached.motion.pose[reached.arrivals]).margin
    return [
        {
            "hand": _hand(step),
            "target": _text(_position(step)).replace(",", " "),
            "arrives_s": round(int(arrival) / reached.motion.fps, 3),
            "status": Status(int(reached.status[arrival])).name.lower(),
            "away_mm": round(1000.0 * float(reached.position_error[arrival]), 6),
            "weight": round(float(reached.weight[arrival]), 3),
            "contact": _contact_text(reached.contact[int(arrival)]),
            "balance_mm": round(1000.0 * float(margin), 1),
        }
        for step, arrival, margin in zip(steps, reached.arrivals, margins, strict=True)
    ]
