"""Facts about edits, measured on the motion that is written, and the sentence that sums them up.

Edits are made in order, each on the motion with those before it. So a later edit may move a part off the target of an
earlier one: where parts are is measured after the last edit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..compute import Status
from ..compute.types import Floats
from .ending import Summary, length, listed
from .output import counted

if TYPE_CHECKING:
    from ..edit import Edit, MotionEditor

CLOSE_MM, CLOSE_DEGREES = 1.0, 0.3  # closer to its target than this a part is on it
MUTED, MOVED, REPLACED = "muted", "moved by a later edit", "replaced by a later edit"
SHORT = {
    "unreachable": "out of reach",
    "limits": "joint limits or contacts are in the way",
    "collision": "something is in the way",
    "singular": "no posture is near",
    "invalid": "the target is not finite",
    MOVED: "a later edit moved it",
}
"""Why a part is not on its target."""


def edit_facts(editor: MotionEditor, made: Sequence[Edit]) -> list[dict[str, Any]]:
    """Return a row of facts for each edit, in their order; distances are those in the motion after the last edit."""
    return [_facts(editor, made, k) for k in range(len(made))]


def summed_up(rows: Sequence[Mapping[str, Any]]) -> Summary:
    """Sum up edits: whether every part is on its target, and which frames changed."""
    missed = [text for row in rows if (text := _missed(row))]
    if missed:
        return Summary(f"edited, but {listed(missed, 2)}", False)
    if len(rows) > 1:
        muted = sum(row["status"] == MUTED for row in rows)
        return Summary(f"all {len(rows)} edits are met" + (f"; {muted} of them muted" if muted else ""))
    row = rows[0]
    if row["status"] == MUTED:
        return Summary("the edit is muted, so nothing changed")
    done = {
        "drag": f"the {_word(row['part'])} is on target",
        "warp": "every part is on its target",
        "key": f"frame {row['frame']} has its new pose",
        "stretch": f"bones have their new lengths at frame {row['frame']}",
    }[row["edit"]]
    changed = "nothing changed" if row["frames_changed"] == "none" else f"frames {row['frames_changed']} changed"
    return Summary(f"{done}; {changed}")


def _facts(editor: MotionEditor, made: Sequence[Edit], k: int) -> dict[str, Any]:
    one = made[k]
    settings, fps = one.settings, editor.clip.fps
    away, frame, part = _furthest(editor, made, k)
    changed = f"{one.rows.min()} to {one.rows.max()}" if len(one.rows) else "none"
    return {
        "edit": type(one).__name__.removesuffix("Edit").lower(),
        "frame": settings.get("frame", frame),
        "part": str(settings.get("part") or part),
        "status": _status(editor, made, k, away),
        "position_error_mm": round(1000.0 * away, 4),
        "orientation_error_degrees": round(float(np.degrees(np.max(one.orientation_error))), 4),
        "contacts_moved_mm": round(1000.0 * one.slid, 4),
        "jolt": round(one.jolt, 3),
        "frames_limited": len(one.limited),
        "frames_changed": changed,
        "seconds_changed": round(len(one.rows) / fps, 3),
    }


def _status(editor: MotionEditor, made: Sequence[Edit], k: int, away: float) -> str:
    one = made[k]
    if one.muted:
        return MUTED
    targets = {target[:2] for target in _targets(editor, one)}
    if targets and targets <= {target[:2] for other in made[k + 1 :] for target in _targets(editor, other)}:
        return REPLACED
    statuses = sorted({Status(int(status)).name.lower() for status in np.atleast_1d(one.status)})
    return MOVED if statuses == ["reached"] and 1000.0 * away > CLOSE_MM else ", ".join(statuses)


def _furthest(editor: MotionEditor, made: Sequence[Edit], k: int) -> tuple[float, Any, str]:
    """Return (distance [m], frame, part) of the target of edit `k` that is furthest from its part after all edits."""
    one = made[k]
    targets = _targets(editor, one)
    if one.muted or not targets:
        return float(np.max(one.position_error)), "several", ", ".join(map(str, one.settings.get("bones", ())))
    later = {target[:2] for other in made[k + 1 :] for target in _targets(editor, other)}
    positions = editor.body.skeleton.forward(editor.motion.pose).positions
    found = [
        (float(np.linalg.norm(positions[frame, joint] - target)), frame, part)
        for frame, joint, target, part in targets
        if (frame, joint) not in later
    ]
    return max(found, key=lambda row: row[0]) if found else (0.0, targets[0][0], targets[0][3])


def _targets(editor: MotionEditor, one: Edit) -> list[tuple[int, int, Floats, str]]:
    """Return (frame, joint, position (3,) [m], part) of what an edit puts somewhere; none of a muted one, or of a key
    or stretch, which have poses and lengths in place of positions.
    """
    from ..edit.clip import joint_of, part_of

    given, body = one.settings, editor.body
    if one.muted or not ("constraints" in given or "displacement" in given):
        return []
    before = editor.snapshot.motions[editor.edits.index(one)]
    targets = given.get("constraints") or [(given["frame"], given["part"], given["target"])]
    found = []
    for frame, part, target in targets:
        joint = joint_of(body, part)
        if target is None:
            target = body.skeleton.forward(before[frame]).positions[joint] + np.asarray(given["displacement"])
        found.append((int(frame), joint, np.asarray(target), part if isinstance(part, str) else part_of(body, joint)))
    return found


def _missed(row: Mapping[str, Any]) -> str:
    """Say what an edit did not meet; "" where it met everything."""
    if row["status"] in ("reached", MUTED, REPLACED):
        return ""
    at = f"at frame {row['frame']}"
    if row["position_error_mm"] > CLOSE_MM:
        far = length(row["position_error_mm"] / 1000.0)
        if row["edit"] in ("key", "stretch"):
            return f"the pose {at} is up to {far} from what was asked for (contacts or joint limits hold it)"
        why = "; ".join(SHORT.get(word, word) for word in row["status"].split(", "))
        return f"the {_word(row['part'])} is {far} from its target {at} ({why})"
    if row["orientation_error_degrees"] > CLOSE_DEGREES:
        return f"the {_word(row['part'])} is turned {row['orientation_error_degrees']:.2g} degrees off {at}"
    if row["contacts_moved_mm"] > CLOSE_MM:
        return f"a foot, hand or pin that should stay moves by {length(row['contacts_moved_mm'] / 1000.0)} (edit {at})"
    if row["jolt"] > 1.0:
        return f"the motion jerks {at}: give it more time, --spread"
    return f"{counted(row['frames_limited'], 'frame')} around {row['frame']} stopped at joint limits"


def _word(part: str) -> str:
    return part.replace("_", " ")
