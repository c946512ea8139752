"""How large the body of a file without bones is, and where its floor is: both from feet that stand.

The joint of the toes of a standing foot stays where it is: what the root moves, the foot moves back in the root's
frame, and that is proportional to the size of the body. Least squares over all that stand, a mean taken out for each
time a foot stands, gives the size; the height of those joints the floor.
"""

from __future__ import annotations

import numpy as np

from ...compute.lazy import later_room
from ...compute.types import Bools, Floats
from ...skeleton import Pose, Skeleton

WINDOWS, WINDOW = 6, 800  # frames that are looked at
SIZES = (0.75, 1.25)  # of the figure's 1.75 m
LEAST_TRAVEL = 0.03  # [m], root mean square, by which standing feet move in the root's frame: less tells no size
LEAST_FRAMES = 30
SHORTEST = 0.1  # [s] that a foot stands: before, the velocity is not known yet
ANKLES, TOES = ("left_ankle", "right_ankle"), ("left_foot", "right_foot")


def size_and_floor(
    skeleton: Skeleton, translation: Floats, rotations: Floats, fps: float, *, fixed: bool
) -> tuple[float, float, list[str]]:
    """Return the size of the body relative to `skeleton`, the height of the floor [m], and notes.

    Args:
        skeleton: SMPL's joints.
        translation: (F, 3) [m] of the pelvis, y up.
        rotations: (F, J, 4).
        fps: frames a second.
        fixed: whether the size is known.
    """
    if not len(rotations):
        return 1.0, 0.0, []
    low = float(min(skeleton.forward(skeleton.rest).positions[:, 1]))  # of the joints of the toes, above the sole
    ankles, toes = ([skeleton.index(name) for name in names] for names in (ANKLES, TOES))
    seen: list[tuple[Floats, Floats, Floats]] = []
    starts = np.unique(np.linspace(0, max(0, len(rotations) - WINDOW), WINDOWS).astype(np.int64) // WINDOW * WINDOW)
    for start in starts.tolist():
        part = slice(start, start + WINDOW)
        frames = skeleton.forward(Pose(np.zeros(3), rotations[part]))
        seen.append((translation[part], frames.positions[:, ankles], frames.positions[:, toes]))
    leg = float(sum(np.linalg.norm(skeleton.offsets[skeleton.index(name)]) for name in ("left_knee", "left_ankle")))
    size, known = 1.0, fixed
    for _ in range(0 if fixed else 3):  # who stands depends a little on the size
        found = _size(seen, [_standing(*one[:2], size, fps, leg) for one in seen])
        if found is None:
            break
        size, known = found, True
    heights = [
        (root[:, None, 1] + size * feet[..., 1])[stands]
        for (root, legs, feet), stands in ((one, _standing(*one[:2], size, fps, leg)) for one in seen)
    ]
    level = np.concatenate(heights)
    notes = []
    if len(level):
        floor = float(np.median(level)) - size * low
        notes.append(f"the floor is where feet stand: the file had it at {floor:.3f} m")
    else:
        floor = float(min((root[:, None, 1] + size * feet[..., 1]).min() for root, _, feet in seen)) - size * low
        notes.append("no foot stands: the floor is under the lowest one")
    if not fixed:
        stature = 1.75 * size
        how = "the size that keeps standing feet from sliding" if known else "feet do not tell the size"
        notes.append(
            f"bones are those of a figure of {stature:.2f} m: {how}; body_model= takes those of your SMPL model"
        )
    return size, floor, notes


def _standing(root: Floats, legs: Floats, size: float, fps: float, leg: float) -> Bools:
    """Return (F, 2) which feet stand, for `SHORTEST` at least."""
    contacts = later_room("body.contacts")
    stands: Bools = contacts.foot_contacts(root[:, None] + size * legs, fps, size * leg)
    for side in range(2):
        for begin, end in _runs(stands[:, side]):
            if end - begin < SHORTEST * fps:
                stands[begin:end, side] = False
    return stands


def _runs(stands: Bools) -> list[list[int]]:
    """Return the first frame of each time in which a foot (F,) stands, and the frame after the last."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], stands.astype(np.int8), [0]])))
    found: list[list[int]] = edges.reshape(-1, 2).tolist()
    return found


def _size(seen: list[tuple[Floats, Floats, Floats]], standing: list[Bools]) -> float | None:
    """Return the size by least squares; None where feet hardly move in the root's frame, or the answer is nobody's."""
    squares, products, frames = 0.0, 0.0, 0
    for (root, _, feet), stands in zip(seen, standing, strict=True):
        for side in range(2):
            for begin, end in _runs(stands[:, side]):
                trim = (end - begin) // 5  # a foot settles and lifts
                part = slice(begin + trim, end - trim)
                if end - begin - 2 * trim < 3:
                    continue
                moved = root[part] - root[part].mean(axis=0)
                swung = feet[part, side] - feet[part, side].mean(axis=0)
                squares += float((swung * swung).sum())
                products -= float((swung * moved).sum())
                frames += end - begin - 2 * trim
    if frames < LEAST_FRAMES or squares < LEAST_TRAVEL**2 * frames:
        return None
    size = products / squares
    return size if SIZES[0] <= size <= SIZES[1] else None
