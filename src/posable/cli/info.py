"""`posable info`: what is in a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from .output import JsonOption, show_facts, show_table, write_json
from .reading import AnimationOption, FileArgument, FirstOption, FpsOption, RepairOption, ScaleOption, notes_of, read

if TYPE_CHECKING:
    from ..skeleton import Motion


def info(
    file: FileArgument,
    joints: Annotated[bool, typer.Option("--joints", help="Also list every joint.")] = False,
    scale: ScaleOption = None,
    fps: FpsOption = None,
    first_frame: FirstOption = 0,
    repair: RepairOption = None,
    animation: AnimationOption = None,
    json: JsonOption = None,
) -> None:
    """Tell what a file holds: joints, frames, rate, size, who is who, meshes."""
    motion = read(file, scale, fps, first_frame, repair, animation)
    facts = {"file": str(file), **facts_of(motion)}
    rows = joint_rows(motion)
    if write_json(json, {**facts, "joints_listed": rows}):
        return
    show_facts(file.name, facts)
    if joints:
        show_table("joints", rows)


def facts_of(motion: Motion) -> dict[str, Any]:
    """Return the first facts about a motion, lengths in metres."""
    skeleton = motion.skeleton
    facts: dict[str, Any] = {
        "frames": len(motion),
        "fps": motion.fps,
        "seconds": round(motion.duration, 3),
        "joints": len(skeleton),
        "end_sites": len(skeleton.end_parents),
        "degrees_of_freedom": len(skeleton.dofs),
        "joints_that_move": "" if motion.pose.offsets is None else "some joints change their place (offsets)",
    }
    if len(motion):
        frames = skeleton.forward(motion.pose)
        low, high = frames.positions.min(axis=(0, 1)), frames.positions.max(axis=(0, 1))
        facts["space_m"] = " x ".join(f"{size:.2f}" for size in high - low) + " (x, y, z)"
        facts["lowest_joint_m"] = float(low[1])
    facts |= _body_facts(motion)
    if skeleton.character is not None:
        meshes = skeleton.character.meshes
        facts["meshes"] = [f"{mesh.name}: {len(mesh.vertices)} vertices, {len(mesh.faces)} faces" for mesh in meshes]
    facts["notes"] = notes_of(motion)
    return facts


def joint_rows(motion: Motion) -> list[dict[str, Any]]:
    """One row a joint: its parent, kind and place at rest."""
    skeleton = motion.skeleton
    return [
        {
            "index": j,
            "joint": name,
            "parent": skeleton.names[parent] if parent >= 0 else "",
            "kind": skeleton.kinds[j],
            "offset_m": " ".join(f"{value:.3f}" for value in skeleton.offsets[j]),
        }
        for j, (name, parent) in enumerate(zip(skeleton.names, skeleton.parents, strict=True))
    ]


def _body_facts(motion: Motion) -> dict[str, Any]:
    """Who is who, where the skeleton is a person's."""
    from ..body import Humanoid
    from ..compute import PosableError

    try:
        body = Humanoid(motion.skeleton)
    except PosableError as error:
        return {"body": f"not a person as far as names tell: {error}"}
    names = motion.skeleton.names
    return {"ankle_to_head_m": float(body.joint_height), "body": {role: names[j] for role, j in body.roles.items()}}
