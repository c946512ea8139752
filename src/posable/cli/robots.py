"""`posable retarget` onto robots, and `posable evaluate retarget`: what is checked, made and said.

The task takes and returns plain values, so that `posable.jobs.run` can hand it to any process.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..compute import FormatError, PosableError
from .ending import Summary, UsageError, length, listed
from .options import choice
from .output import at_terminal, counted

if TYPE_CHECKING:
    from ..body import Humanoid
    from ..evaluate import RetargetMeasures
    from ..skeleton import Motion

ROBOTS = (".xml", ".urdf")
WRITTEN = (".csv", ".npz", ".npy", ".glb", ".gltf", ".usda", ".html")
LAYOUTS = ("mjlab", "beyondmimic", "gmr", "qpos", "posable")
CONTROL_RATE = 50.0
"""Frames a second that mjlab and BeyondMimic play: one each control step, whatever a file says."""
SLIDES, SINKS = 0.001, 0.002  # [m]: what still counts as a foot that stands
COLUMNS = ("frames", "fps", "worst_slide_mm", "self_penetration_percent", "frames_outside_limits")


def is_robot(path: Path) -> bool:
    """Return whether a file is a robot's, by its suffix."""
    return path.suffix.lower() in ROBOTS


def robot_body(path: Path) -> Humanoid:
    """Return the body of a robot's file; an error names the file and says what it lacks."""
    from ..body import Humanoid
    from ..formats import check_input, read_robot

    if path.is_file() and not is_robot(path):
        raise UsageError(f"--robot {path}: expected a robot's file, {' or '.join(ROBOTS)}")
    check_input(path)
    skeleton = read_robot(path, free_root=True)
    try:
        return Humanoid(skeleton)
    except FormatError:
        raise
    except PosableError as error:
        raise FormatError(path, str(error)) from None


def check_options(
    output: str, layout: str | None, joint_order: str | None, header: bool, resample: float | None
) -> dict[str, Any]:
    """Return the options of `posable.save` for a robot's motion; refuse those that files `output` do not take."""
    if output not in WRITTEN:
        raise UsageError(f"a robot's motion is not written as {output or 'a file without a suffix'}: "
                         f"give one of {', '.join(WRITTEN)}")  # fmt: skip
    if resample is not None and not 0.0 < resample <= 1000.0:
        raise UsageError(f"--resample {resample:g}: expected frames a second, above 0 and at most 1000")
    found = robot_options(output, layout, joint_order, header)
    if output == ".npz" and layout is None:
        return {"layout": LAYOUTS[0]}
    return found


def robot_options(output: str, layout: str | None, joint_order: str | None, header: bool) -> dict[str, Any]:
    """Return those options of `posable.save` that were given; refuse those that files `output` do not take."""
    if layout is not None and output != ".npz":
        raise UsageError(f"--layout {layout} is for .npz files, and the output is {output}")
    if (joint_order is not None or header) and output != ".csv":
        raise UsageError(f"{'--header' if header else '--joint-order'} is for .csv files, and the output is {output}")
    if joint_order is not None:
        choice("--joint-order", joint_order, ("mujoco", "isaac"))
    if layout is not None:
        choice("--layout", layout, (*LAYOUTS, "amass"))
    given = {"layout": layout, "joint_order": joint_order, "header": header or None}
    return {name: value for name, value in given.items() if value is not None}


def rate_of(saving: Mapping[str, Any], resample: float | None) -> float | None:
    """Return the frames a second that are written; None for those of the clip."""
    if resample is None and saving.get("layout") in ("mjlab", "beyondmimic"):
        return CONTROL_RATE
    return resample


def robot_file(
    job: Mapping[str, Any],
    reading: Mapping[str, Any] | None = None,
    roles: Mapping[str, str] | None = None,
    saving: Mapping[str, Any] | None = None,
    resample: float | None = None,
    lookahead: int | None = None,
) -> dict[str, Any]:
    """Put a motion on a robot and write it; return facts, among them the measures of `posable.evaluate.robots`.

    Args:
        job: "file", "output" and "robot": the file of the robot.
        reading: options of `posable.load`.
        roles: joints that were named for parts of the person.
        saving: options of `posable.save`.
        resample: frames a second to write; None for those of the clip. The person's motion is resampled, so that feet
            stand as exactly at the new rate.
        lookahead: how many frames ahead a stream sees that answers frame by frame; None: all of them.
    """
    from .tasks import read_motion, written

    file, output, target = Path(job["file"]), Path(job["output"]), robot_body(Path(job["robot"]))
    motion = read_motion(file, reading or {})
    source = person_of(motion, file, roles)
    if not len(motion):
        raise FormatError(file, "has no frames")
    if resample is not None and resample != motion.fps:
        motion = motion.resampled(resample)
    made, measured = retargeted(motion, source, target, lookahead)
    robot = target.skeleton.robot
    assert robot is not None
    return {
        "file": str(file),
        "robot": robot.name or Path(job["robot"]).stem,
        "lacking": list(target.robot_parts.lacking) if target.robot_parts is not None else [],
        **measured.facts(),
        **written(made, output, **(saving or {})),
        "notes": [*motion.notes],
    }


def person_of(motion: Motion, path: Path, roles: Mapping[str, str] | None) -> Humanoid:
    """Return the person of a motion; a robot's file is none."""
    from .tasks import body_of

    body = body_of(motion, path, roles)
    if body.robot_parts is not None:
        raise FormatError(path, "is a robot; expected the motion of a person, which a robot can be given by --robot")
    return body


def evaluate_file(
    path: Path,
    robot: str,
    result: str | None = None,
    resample: float | None = None,
    reading: Mapping[str, Any] | None = None,
    roles: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Measure a clip on a robot; return the measures as plain numbers.

    Args:
        path: of the clip.
        robot: the file of the robot.
        result: a file of the robot's motion that somebody made of it; None: ours.
        resample: frames a second; None for those of the clip.
        reading: options of `posable.load`.
        roles: joints that were named for parts of the person.
    """
    from ..evaluate import evaluate_retarget
    from ..formats import load
    from .tasks import read_motion

    target = robot_body(Path(robot))
    motion = read_motion(path, reading or {})
    source = person_of(motion, path, roles)
    if resample is not None and resample != motion.fps:
        motion = motion.resampled(resample)
    if result is None:
        measured = retargeted(motion, source, target)[1]
    else:
        measured = evaluate_retarget(motion, source, load(result, robot=target.skeleton), target)
    record = target.skeleton.robot
    assert record is not None
    facts = {"clip": path.stem, "robot": record.name or Path(robot).stem, **measured.facts()}
    return {**facts, "notes": list(motion.notes)}


def retargeted(
    motion: Motion, source: Humanoid, target: Humanoid, lookahead: int | None = None
) -> tuple[Motion, RetargetMeasures]:
    """Return a person's motion on a robot, and how good it is."""
    from ..evaluate import evaluate_retarget
    from ..robots import retarget

    start = time.process_time()
    options: dict[str, Any] = {} if lookahead is None else {"lookahead": lookahead}
    made = retarget(motion, source, target, **options).motion
    seconds = time.process_time() - start
    return made, evaluate_retarget(motion, source, made, target, seconds=seconds)


def summed_up(facts: Mapping[str, Any]) -> Summary:
    """Sum up a motion on a robot: whether feet stand, nothing touches, and motors can do it."""
    frames = f"{counted(facts['frames'], 'frame')} on {at_terminal(facts['robot'])}"
    good, bad = [], []
    slide, sunk = facts["worst_slide_mm"] / 1000.0, facts["penetration_in_contact_mm"] / 1000.0
    if slide <= SLIDES and sunk <= SINKS:
        good.append("feet stand" if facts["contacts"] else "feet never stand")
    if slide > SLIDES:
        bad.append(f"a standing foot slides by up to {length(slide)}")
    if sunk > SINKS:
        bad.append(f"a foot that stands is up to {length(sunk)} under the floor")
    deep = facts["self_penetration_percent"]
    if deep:
        count = counted(round(0.01 * deep * facts["frames"]), "frame")
        between = f" ({' and '.join(map(at_terminal, facts['deepest_links']))})" if facts["deepest_links"] else ""
        bad.append(f"it goes through itself in {count}, by up to {length(facts['deepest_mm'] / 1000.0)}{between}")
    else:
        good.append("nothing touches")
    if facts["frames_outside_limits"]:
        bad.append(f"joints are outside their limits in {counted(facts['frames_outside_limits'], 'frame')}")
    if facts["frames_too_fast"]:
        bad.append(f"motors are too slow in {counted(facts['frames_too_fast'], 'frame')}")
    if facts["jumps"]:
        bad.append(counted(facts["jumps"], "jump"))
    if not facts["frames_outside_limits"] and not facts["frames_too_fast"]:
        good.append("within all limits")
    text = f"{frames}, {', '.join(good)}" if not bad else f"{frames}, but {listed(bad, len(bad))}"
    return Summary(text, not bad)
