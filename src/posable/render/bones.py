"""The volumes that a body without meshes is drawn with: a person's own, else its bones."""

from __future__ import annotations

import numpy as np

from ..collision import Volumes
from ..compute import PosableError
from ..compute.types import Floats
from ..skeleton import Skeleton


def volumes_of(skeleton: Skeleton) -> Volumes:
    """Return the volumes of a person where the joints have roles, else those of the bones."""
    from ..body import Humanoid

    try:
        return Humanoid(skeleton).volumes
    except PosableError:
        return bone_volumes(skeleton)


def bone_volumes(skeleton: Skeleton) -> Volumes:
    """Return the bones of a skeleton that is no person: a tapered capsule each, and a ball where a joint moves.

    Frames that only mark a point of a link (a robot's sensors and sole) are left out.
    """
    moves = np.array([kind != "fixed" for kind in skeleton.kinds])
    carries = moves.copy()
    for j in range(len(skeleton) - 1, 0, -1):
        carries[skeleton.parents[j]] |= carries[j]
    tips = {int(p): skeleton.end_offsets[k] for k, p in enumerate(skeleton.end_parents)}
    lengths = np.linalg.norm(skeleton.offsets[1:], axis=-1)
    longest = max(float(lengths.max(initial=0.0)), *(float(np.linalg.norm(tip)) for tip in tips.values()), 1e-3)
    shown = [(int(skeleton.parents[j]), skeleton.offsets[j]) for j in range(1, len(skeleton)) if carries[j]]
    # The last link of a robot has no moving joint at its end; its longest frame shows where it goes.
    for last in np.flatnonzero(moves & ~np.isin(np.arange(len(skeleton)), [p for p, _ in shown])).tolist():
        ends = [skeleton.offsets[k] for k in skeleton.children(last)] + [tip for p, tip in tips.items() if p == last]
        shown += [(last, max(ends, key=lambda end: float(np.linalg.norm(end))))] if ends else []
    rows: list[tuple[int, Floats, Floats, tuple[float, float], int]] = []
    for parent, end in shown:
        length = float(np.linalg.norm(end))
        if length > 0.02 * longest:
            wide = min(0.13 * np.sqrt(length * longest), 0.3 * length)
            rows.append((parent, np.zeros(3), np.asarray(end), (wide, 0.7 * wide), 0))
    # Balls stand out a little from the bones that meet there; a joint without a bone has a small one.
    balls = np.full(len(skeleton), 0.02 * longest)
    for parent, _, end, (wide, narrow), _ in rows:
        balls[parent] = max(balls[parent], 1.1 * wide)
        ended = (skeleton.parents == parent) & (np.abs(skeleton.offsets - end).max(axis=-1) < 1e-9)
        balls[ended] = np.maximum(balls[ended], 1.1 * narrow)
    rows += [(int(j), np.zeros(3), np.zeros(3), (balls[j], balls[j]), 1) for j in np.flatnonzero(moves)]
    rows = rows or [(0, np.zeros(3), np.zeros(3), (0.5 * longest, 0.5 * longest), 1)]
    return Volumes(
        [row[0] for row in rows],
        ["capsule"] * len(rows),
        [row[1] for row in rows],
        [row[2] for row in rows],
        [(*row[3], 0.0) for row in rows],
        tones=[row[4] for row in rows],
    )
