"""Which links of a robot never touch: those that its file excludes, and neighbours, by MuJoCo's rule."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...skeleton import Shape, Skeleton

MAX_TOUCHING = 300
"""Links with shapes up to which pairs of neighbours are listed: robots have some twenty."""


def separate_pairs(
    skeleton: Skeleton, links: Sequence[str], shapes: Iterable[Shape], excluded: Iterable[tuple[str, str]] = ()
) -> tuple[tuple[str, str], ...]:
    """Return the pairs of links whose contact never counts.

    As in MuJoCo, links that no joint moves against each other count as one, and neighbours have one joint between them.
    MuJoCo lets a robot's base that is fixed to the world touch its neighbours; here it never does.

    Args:
        skeleton: of the robot.
        links: (J,) of its joints, empty where a joint carries none.
        shapes: that touch; links without any are in no pair.
        excluded: pairs that the file names.
    """
    parents = skeleton.parents.tolist()
    # The joint that moves each joint's link, and the joint that moves what that one hangs on.
    mover: list[int] = []
    above: list[int] = []
    for joint, parent in enumerate(parents):
        if parent >= 0 and skeleton.kinds[joint] == "fixed":
            mover.append(mover[parent])
            above.append(above[parent])
            continue
        mover.append(joint)
        bare = parent >= 0 and not links[parent] and skeleton.kinds[joint] != "fixed"
        above.append(above[parent] if bare else mover[parent] if parent >= 0 else -1)
    touching = sorted({shape.joint for shape in shapes})
    pairs = dict.fromkeys(excluded)
    if len(touching) <= MAX_TOUCHING:
        for k, a in enumerate(touching):
            for b in touching[k + 1 :]:
                near = mover[a] == mover[b] or above[a] == mover[b] or above[b] == mover[a]
                if near and (links[b], links[a]) not in pairs:
                    pairs[links[a], links[b]] = None
    return tuple(pairs)
