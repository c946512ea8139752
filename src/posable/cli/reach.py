"""`posable reach`: a body, a behaviour and targets, to a motion."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from ..compute import PosableError, Status, UnknownNameError
from . import options
from .distance import check_target
from .ending import Ending, Summary, UsageError, length, listed, usage
from .options import BodyReading, choice
from .output import busy, check_output, check_picture_path, counted, progress

if TYPE_CHECKING:
    from ..body import HandShape, Humanoid
    from ..compute.types import Floats
    from ..reach import Behaviour, ReachMotionSolution, ReachStep
    from ..reach.motion import Duration
    from ..skeleton import Motion, Pose

CLOSE = 1e-3  # [m] or [rad]: less off a line or a target is nothing to speak of


def reach(
    output: options.Output,
    reading: BodyReading,
    ending: Ending,
    to: Annotated[
        list[str] | None,
        typer.Option(metavar="X,Y,Z", help="Where the hand goes, in metres, once or more; or X,Y,Z,QW,QX,QY,QZ."),
    ] = None,
    other_to: Annotated[
        list[str] | None,
        typer.Option(
            metavar="X,Y,Z", help="Where the other hand goes at the same time; as often as --to, in the same order."
        ),
    ] = None,
    targets: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Targets in CSV or JSON: x, y, z[, qw, qx, qy, qz][, hand][, hold][, together]."
        ),
    ] = None,
    body: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Who reaches; the built-in figure, or who starts, when not given."),
    ] = None,
    behaviour: Annotated[str, typer.Option(help="A behaviour's file, or normal, tired or energetic.")] = "normal",
    hand: Annotated[str, typer.Option(metavar="SIDE", help="right or left, where a target does not say.")] = "right",
    hold: Annotated[
        float, typer.Option(metavar="SECONDS", help="How long at each target, where it does not say.")
    ] = 0.0,
    start: Annotated[Path | None, typer.Option(metavar="FILE", help="A motion to begin in; else standing.")] = None,
    frame: Annotated[int, typer.Option(metavar="FRAME", help="Which frame of it; -1 is the last.")] = 0,
    fps: Annotated[float, typer.Option(metavar="RATE", help="Frames a second to write.")] = 60.0,
    speed: Annotated[float, typer.Option(metavar="SPEED", help="Mean speed of the hand, in metres a second.")] = 0.6,
    duration: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="How long to each target, instead of a speed.")
    ] = None,
    width: Annotated[
        float | None,
        typer.Option(metavar="METRES", help="Size of what is reached for: Fitts' law says how long it takes."),
    ] = None,
    scene: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Obstacles, in JSON: see the page on collision.")
    ] = None,
    allowed_contacts: Annotated[
        list[str] | None,
        typer.Option("--allowed-contact", metavar="NAME", help="An obstacle of the scene that the hands may touch."),
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(metavar="PNG", help="Also draw a strip of frames, with the scene.")
    ] = None,
    gaze: Annotated[
        float, typer.Option(metavar="FRACTION", help="How far the head turns to the target, 0 to 1.")
    ] = 0.0,
    extend: Annotated[
        bool, typer.Option(help="Take more of the behaviour than its weight requests where the arm is too short.")
    ] = True,
    feet: Annotated[
        str, typer.Option(help="stay; step, where a target is out of reach (or rise on the toes); or free.")
    ] = "stay",
    hand_shape: Annotated[
        str | None,
        typer.Option(
            metavar="SHAPE", help="What hands do on the way: open, fist, point, ..., cylinder:0.02, ball:0.04."
        ),
    ] = None,
    weight: Annotated[
        float | None,
        typer.Option(
            metavar="FRACTION", help="How much of the behaviour, 0 to 1; by the distance of each target when not given."
        ),
    ] = None,
) -> None:
    """Reach with the whole body and write the motion: the hand goes straight, the body with it, the feet stay."""
    from ..collision import Scene
    from ..reach import Reacher
    from ..reach.stepping import FEET
    from ..render.picture import save_picture, strip
    from .tasks import written

    check_output(output, body, start)
    choice("--feet", feet, FEET)
    if allowed_contacts and scene is None:
        raise UsageError(f"--allowed-contact {allowed_contacts[0]} names an obstacle of a scene; give --scene FILE too")
    took = _duration(speed, duration, width)
    if picture is not None:
        check_picture_path(picture)
    if start is None and frame:
        raise UsageError(f"--frame {frame} is a frame of --start FILE; give that too")
    if body is None and start is None:
        reading.check_unused("--body FILE", "--start FILE")
    steps = _steps(to, other_to, targets, hand, hold)
    given = None if body is None else reading.motion(body, start)
    begun = None if start is None else reading.motion(start, body)
    reading.check_roles(given, begun)
    person, pose = beginning(reading, given, body, begun, start, frame, fingers=hand_shape is not None)
    around = None if scene is None else Scene.load(scene)
    _check_distances(person, pose, steps)
    hands = sorted({side for step in steps for side in _hands(step)})
    used = {side: _behaviour(behaviour, f"{side}_arm", person) for side in hands}
    shapes = {} if hand_shape is None else {side: _hand_shape(hand_shape, person, side) for side in hands}
    with usage():
        reacher = Reacher(
            *(person, used.get("right"), used.get("left"), around),
            allowed_contacts=allowed_contacts or (),
            gaze=gaze,
            extend=extend,
            feet=FEET[feet],
        )
    with progress("reaching") as fraction, usage():
        reached = reacher.animate(steps=steps, start=pose, fps=fps, duration=took, weight=weight, progress=fraction)
    motion = reached.motion
    for side, shape in shapes.items():
        motion = motion.replace(pose=person.pose_hand(motion.pose, side, shape, _shaped_by(reached)))
    with busy(f"writing {output.name}"):
        facts = written(motion, output)
    if picture is not None:
        with busy("drawing"):
            save_picture(strip(person, motion, scene=around), picture)
        facts["picture"] = str(picture)
    first = reached.first_failure
    facts |= {
        "frames_off_the_path": int((reached.status != Status.REACHED).sum()),
        "first_of_them_at_seconds": None if first is None else round(first / reached.motion.fps, 3),
        "furthest_off_the_path_mm": round(1000.0 * float(reached.position_error.max()), 3),
        "frames_with_contact": int((reached.status == Status.COLLISION).sum()),
        "elbow_jumps": int(reached.jumped.sum()),
    }
    summary = summed_up(reached)
    rows = _rows(reached, steps, person)
    ending.conclude(Summary(f"{output}: {summary.text}", summary.met), facts, targets=rows)


def _hand_shape(text: str, person: Humanoid, side: str) -> HandShape:
    """Return the shape that `--hand-shape` means: a name, or a kind of grip and a radius [m]."""
    from ..body import HandShape

    kind, found, radius = text.partition(":")
    with usage():
        if not found:
            person.pose_hand(person.neutral_pose, side, text)
            return HandShape.named(text)
        try:
            metres = float(radius)
        except ValueError:
            raise UsageError(f"--hand-shape {text}: the radius is {radius!r}; expected metres: {kind}:0.02") from None
        return HandShape.grip(person, metres, kind, side)


def _shaped_by(reached: ReachMotionSolution) -> Floats:
    """Return (F,) how far hands have their shape: smoothly from 0 in the first frame to 1 at the first arrival."""
    frames = np.arange(len(reached.motion))
    done = np.clip(frames / max(int(reached.arrivals[0]) if len(reached.arrivals) else 1, 1), 0.0, 1.0)
    return np.asarray(done * done * (3.0 - 2.0 * done))


def summed_up(reached: ReachMotionSolution) -> Summary:
    """Sum up a reach: whether the hands arrive, and whether anything touches on the way.

    On its way a hand is on no target yet: that it leaves the straight line there is said, and is no failure.
    """
    status, frames = reached.status, len(reached.motion)
    missed = [k for k, arrival in enumerate(reached.arrivals) if status[arrival] != Status.REACHED]
    touching = np.flatnonzero(status == Status.COLLISION)
    if missed:
        arrival = int(reached.arrivals[missed[0]])
        since = int(np.flatnonzero(np.append(True, status[: arrival + 1] == Status.REACHED))[-1])
        which = f"target {missed[0] + 1} of {len(reached.arrivals)}: " if len(reached.arrivals) > 1 else ""
        short, angle = float(reached.position_error[arrival]), float(reached.orientation_error[arrival])
        how = f"stopped {length(short)} short" if short > CLOSE else f"{math.degrees(angle):.2g} degrees off"
        if short <= CLOSE and angle <= CLOSE:
            how = "arrived, but not freely"
        more = f" (and {counted(len(missed) - 1, 'more target')})" if len(missed) > 1 else ""
        return Summary(f"{which}{how}: {_why(reached, arrival)} from frame {since} on{more}", False)
    what = "reached" if len(reached.arrivals) == 1 else f"all {len(reached.arrivals)} targets reached"
    if len(touching):
        pairs = {pair for frame in touching if (pair := reached.contact[frame]) is not None}
        names = listed(sorted(f"{_word(one)} at {_word(other)}" for one, other in pairs), 2) or "something is touched"
        return Summary(f"{what}, but on the way from frame {touching[0]} on it touches: {names}", False)
    off = float(reached.position_error.max())
    rest = "all met" if off <= CLOSE else f"on the way up to {length(off)} off the straight line"
    return Summary(f"{what}; {counted(frames, 'frame')}, {rest}")


def _why(reached: ReachMotionSolution, frame: int) -> str:
    status, pair = Status(int(reached.status[frame])), reached.contact[frame]
    if status == Status.COLLISION:
        return "something is in the way" if pair is None else f"{_word(pair[0])} touches {_word(pair[1])}"
    return {Status.UNREACHABLE: "out of reach", Status.LIMITS: "a joint is at its limit"}.get(
        status, status.name.lower()
    )


def _word(part: str) -> str:
    return part.replace("_", " ")


def _steps(
    to: list[str] | None, other_to: list[str] | None, targets: Path | None, hand: str, hold: float
) -> list[ReachStep]:
    """Return the steps of `--to`, `--other-to` and `--targets`."""
    from ..formats.targets import parse_target
    from ..reach import ReachStep, load_targets

    if other_to and len(other_to) != len(to or ()):
        raise UsageError(f"{len(other_to)} times --other-to and {len(to or ())} times --to; expected as many")
    with usage():
        choice("--hand", hand, ("right", "left"))
        other = "left" if hand == "right" else "right"
        steps = [ReachStep.of(parse_target(text, hand, hold)) for text in to or ()]
        for k, text in enumerate(other_to or ()):
            added = ReachStep.of(parse_target(text, other, hold))
            steps[k] = ReachStep(steps[k].right or added.right, steps[k].left or added.left, hold)
    steps += [] if targets is None else load_targets(targets, hand=hand, hold=hold)
    if not steps:
        raise UsageError("nothing to reach: give --to X,Y,Z or --targets FILE")
    return steps


def _check_distances(person: Humanoid, pose: Pose, steps: list[ReachStep]) -> None:
    """Refuse targets far outside the size of the figure."""
    positions = person.skeleton.forward(pose).positions
    for step in steps:
        for side in _hands(step):
            target, part = _position(step, side), f"{side}_hand"
            check_target(f"the target {_text(target)}", target, part, positions[person.index(part)], person.height)


def beginning(
    reading: BodyReading,
    given: Motion | None,
    body: Path | None,
    begun: Motion | None,
    start: Path | None,
    frame: int,
    *,
    fingers: bool = False,
) -> tuple[Humanoid, Pose]:
    """Return (who reaches, the pose to begin in); a start of another body is retargeted."""
    from ..body import figure

    whom = figure(fingers=fingers) if given is None or body is None else reading.body(given, body)
    if begun is None or start is None:
        return whom, whom.neutral_pose
    if not -len(begun) <= frame < len(begun):
        raise PosableError(f"frame {frame} of --start does not exist; it has {counted(len(begun), 'frame')}")
    starter = reading.body(begun, start)
    return (starter, begun[frame]) if given is None else (whom, whom.pose(starter.canonical(begun[frame])))


def _behaviour(name: str, limb: str, person: Humanoid) -> Behaviour:
    from ..reach import Behaviour
    from ..reach.examples import EXAMPLES

    if name in EXAMPLES:
        return Behaviour.example(name, limb, person)
    if not Path(name).suffix and not Path(name).exists():
        raise UsageError(str(UnknownNameError("behaviour", name, EXAMPLES)))
    found = Behaviour.load(name)
    return found if found.limb == limb else found.mirrored()


def _duration(speed: float, duration: float | None, width: float | None) -> Duration:
    from ..reach import Fitts, Pace

    if duration is not None and width is not None:
        raise UsageError("give --duration or --width, not both")
    for name, value in (("speed", speed), ("width", width)):
        if value is not None and not 0.0 < value < 1e3:
            raise UsageError(f"--{name} is {value}; expected above 0")
    if duration is not None:
        return duration
    return Pace(speed) if width is None else Fitts(width)


def _hands(step: ReachStep) -> list[str]:
    """Return the hands that have a target in a step."""
    return [side for side in ("right", "left") if getattr(step, side) is not None]


def _position(step: ReachStep, side: str) -> list[float]:
    """Return the coordinates (3,) [m] of the target of a hand in a step."""
    from ..limb import as_target

    return [float(value) for value in np.asarray(as_target(getattr(step, side)).position)]


def _text(position: list[float]) -> str:
    return ",".join(f"{value:g}" for value in position)


def _contact_text(contact: tuple[str, str] | None) -> str:
    return "" if contact is None else f"{contact[0]} at {contact[1]}"


def _rows(reached: ReachMotionSolution, steps: list[ReachStep], person: Humanoid) -> list[dict[str, Any]]:
    margins = person.balance(reached.motion.pose[reached.arrivals]).margin
    return [
        {
            "hand": " and ".join(_hands(step)),
            "target": " and ".join(_text(_position(step, side)).replace(",", " ") for side in _hands(step)),
            "arrives_s": round(int(arrival) / reached.motion.fps, 3),
            "status": Status(int(reached.status[arrival])).name.lower(),
            "away_mm": round(1000.0 * float(reached.position_error[arrival]), 6),
            "weight": round(float(reached.weight[arrival]), 3),
            "contact": _contact_text(reached.contact[int(arrival)]),
            "balance_mm": round(1000.0 * float(margin), 1),
        }
        for step, arrival, margin in zip(steps, reached.arrivals, margins, strict=True)
    ]
