"""Facts about a robot, for `posable info`."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ..body import Humanoid
    from ..skeleton import Robot, Skeleton

SOLE_SOURCES = {
    "collision": "what touches",
    "visual": "what is seen",
    "frames": "the frames of the foot",
    "estimate": "the leg's length",
}


def robot_facts(robot: Robot) -> dict[str, Any]:
    """Return what the file of a robot says besides its kinematics."""
    limited = int((np.isfinite(robot.lower) & np.isfinite(robot.upper)).sum())
    kinds = Counter(shape.kind for shape in robot.shapes)
    touching = Counter(shape.kind for shape in robot.collisions)
    return {
        "robot": robot.name,
        "links": sum(1 for link in robot.links if link),
        "motors": len(robot.motors),
        "limited": f"{limited} degrees of freedom",
        "efforts_known": f"{int(np.isfinite(robot.effort).sum())} degrees of freedom",
        "speeds_known": f"{int(np.isfinite(robot.velocity).sum())} degrees of freedom",
        "seen": _counted(kinds),
        "touching": _counted(touching),
        "stands": "in the file's keyframe" if robot.rest is not None else "",
    }


def motor_columns(skeleton: Skeleton, joint: int) -> dict[str, Any]:
    """Return the columns that a joint of a robot has besides those of all."""
    robot = skeleton.robot
    if robot is None:
        return {}
    dofs = skeleton.dofs.of(joint)
    one = dofs.stop - dofs.start == 1
    d = dofs.start
    return {
        "link": robot.links[joint],
        "limits": f"{robot.lower[d]:.4g} .. {robot.upper[d]:.4g}" if one else "",
        "effort": f"{robot.effort[d]:.4g}" if one and np.isfinite(robot.effort[d]) else "",
        "speed": f"{robot.velocity[d]:.4g}" if one and np.isfinite(robot.velocity[d]) else "",
    }


def part_facts(body: Humanoid) -> dict[str, Any]:
    """Return the joints of each part of a robot, and what a person has and it has not."""
    names, parts = body.skeleton.names, body.robot_parts
    assert parts is not None
    facts: dict[str, Any] = {"height_m": float(body.height), "leg_m": float(body.leg_length)}
    facts["body"] = {role: ", ".join(names[k] for k in body.segments.get(role, (j,))) for role, j in body.roles.items()}
    facts["soles"] = {
        role: f"{sole.length:.3f} x {sole.width:.3f} m, from {SOLE_SOURCES[sole.source]}"
        for role, sole in parts.soles.items()
    }
    if len(parts.others):
        facts["other_joints"] = ", ".join(names[body.skeleton.dofs.joint[d]] for d in parts.others)
    facts["lacking"] = list(parts.lacking)
    facts["estimated"] = list(parts.notes)
    return facts


def _counted(kinds: Counter[str]) -> str:
    """Return shapes in words: "2 boxes, 1 mesh"."""
    plural = {"box": "boxes", "mesh": "meshes"}
    return (
        ", ".join(f"{n} {kind if n == 1 else plural.get(kind, f'{kind}s')}" for kind, n in kinds.items()) or "nothing"
    )
