"""How well learned behaviours explain captured people they were not learned from: leave one clip out, the right arm.

python tools/measure_learned.py FOLDER_OF_CMU_CLIPS

Degrees between each part (hips, trunk, neck, head) and what is said of it, as a change from standing: the median over
frames of the mean over parts, and then the mean over clips; of a body that only stands, of the example "normal", and
of what the other clips teach. In brackets the same where the hand is further than 1.1 arm lengths from where its
shoulder stood, and the whole trunk there.
"""

import sys
from pathlib import Path

import numpy as np

import posable as ps
from posable.math import exp, multiply, slerp
from posable.reach import Behaviour
from posable.reach.observations import Reaches, read_reaches

CLIPS = ["02_06", "80_07", "62_07", "115_06", "13_10", "13_26", "13_29", "79_22", "28_03", "114_03", "42_01"]
PARTS = ("hips", "spine", "chest", "upper_chest", "neck", "head")
STANDING = np.array([1.0, 0.0, 0.0, 0.0])
BACK = np.array([1.0, -1.0, -1.0, -1.0])


def degrees(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Between rotations (..., 4)."""
    q = multiply(a * BACK, b)
    return np.degrees(2.0 * np.arctan2(np.linalg.norm(q[..., 1:], axis=-1), np.abs(q[..., 0])))


def said(made: Behaviour | None, reaches: Reaches) -> np.ndarray:
    """(N, R, 4) changes from standing that a behaviour asks for; None: stands."""
    if made is None:
        return np.broadcast_to(STANDING, (len(reaches.positions), len(PARTS), 4))
    at, u = made.locate(reaches.positions, 1.0)
    return slerp(STANDING, made.posture_at(at).rotations[:, [made.parts.index(part) for part in PARTS]], u[:, None])


def errors(made: Behaviour | None, reaches: Reaches) -> list[float]:
    """Of all frames, of the far ones, and of the whole trunk in those."""
    told, seen = said(made, reaches), exp(reaches.rotations)
    far = np.linalg.norm(reaches.positions, axis=-1) > 1.1
    trunks = (multiply(multiply(q[:, 1], q[:, 2]), q[:, 3]) for q in (told, seen))
    parts, trunk = degrees(told, seen).mean(axis=-1), degrees(*trunks)
    beyond = [float(np.median(parts[far])), float(np.median(trunk[far]))] if far.sum() > 30 else [np.nan, np.nan]
    return [float(np.median(parts)), *beyond]


def main(folder: Path) -> None:
    """Print the table."""
    body = ps.figure()
    motions = {clip: ps.load(folder / f"{clip}.bvh", repair="cmu", first_frame=1) for clip in CLIPS}
    reaches = {clip: read_reaches(body, "right_arm", motion, PARTS) for clip, motion in motions.items()}
    tested = [clip for clip in CLIPS if len(reaches[clip].weights) > 100]
    rows = {
        "standing": [errors(None, reaches[clip]) for clip in tested],
        "normal": [errors(Behaviour.example("normal", "right_arm", body), reaches[clip]) for clip in tested],
    }
    for interpolation in ("linear", "smooth", "around"):
        rows[f"learned, {interpolation}"] = [
            errors(
                Behaviour.fit(body, "right_arm", [motions[c] for c in CLIPS if c != clip], interpolation=interpolation),
                reaches[clip],
            )
            for clip in tested
        ]
    print(f"{sum(len(each.weights) for each in reaches.values())} of {sum(map(len, motions.values()))} frames")
    for name, row in rows.items():
        parts, far, trunk = np.nanmean(row, axis=0)
        print(f"{name}: {parts:.1f} degrees a part (far: {far:.1f}, trunk {trunk:.1f})")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
