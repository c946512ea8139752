"""Makes src/posable/assets/ranges/{arm,leg}.npz: the built-in limb ranges, from captured motion.

    python tools/fit_ranges.py [--data ../shared/data] [--seed 0] [--trims 0.001 0.005]

Right limbs and mirrored left ones of all subjects in cmu_poses are pooled: one file serves both sides. The trim is the
default of a fit, the stricter one that the specification (limb-range, section 7) measured: with 0.001 a few badly
tracked frames leave room for a knee turned backwards. Before it fits everybody, the script fits four fifths of the
subjects, drawn with the seed, and says for each of `--trims` how much of the others' motion it rejects, as it is and
with the swivel turned by half a turn. The clips of `cmu` are not fitted; but the trim was settled after looking at what
several trims reject of them, so they are no blind test.
"""

from __future__ import annotations

import argparse
import hashlib
import os
from pathlib import Path

import numpy as np

import posable.math as pm
from posable.body import Humanoid
from posable.limb import LimbRange
from posable.limb.range.limb_range import TRIM
from posable.limb.range.model import to_right
from posable.skeleton import Pose, Skeleton

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "src/posable/assets/ranges"
HELD_OUT = 0.2

Rows = tuple[np.ndarray, np.ndarray]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = os.environ.get("POSABLE_DATA", ROOT.parent / "shared" / "data")
    parser.add_argument("--data", type=Path, default=Path(default))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--trims", type=float, nargs="*", default=[0.001, TRIM], help="to try on held-out subjects")
    options = parser.parse_args()
    path = options.data / "cmu_poses" / "poses.npz"
    origin = {
        "data": "cmu_poses/poses.npz",
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "script": "tools/fit_ranges.py",
        "seed": str(options.seed),
    }
    examples = read(path)
    TARGET.mkdir(exist_ok=True)
    for kind, (rows, subject) in examples.items():
        try_held_out(kind, rows, subject, options.seed, options.trims)
        found = learned(kind, rows, subject, TRIM, origin)
        found.save(TARGET / f"{kind}.npz")
        size = (TARGET / f"{kind}.npz").stat().st_size
        print(f"{kind}: trim {TRIM}, {found.report.reached} directions, {100 * found.report.area:.1f} %, {size} bytes")


def read(path: Path) -> dict[str, Rows]:
    """By "arm" and "leg": rows (N, 6) of position, swivel and bones as right limbs', and subjects (N,)."""
    with np.load(path) as archive:
        data = {name: archive[name] for name in ("rotations", "offsets", "clip", "clip_start", "joints", "parents")}
    found: dict[str, list[Rows]] = {"arm": [], "leg": []}
    _, same = np.unique(data["offsets"].reshape(len(data["offsets"]), -1), axis=0, return_inverse=True)
    for group in range(same.max() + 1):
        clips = np.flatnonzero(same == group)
        skeleton = Skeleton(list(data["joints"]), data["parents"], data["offsets"][clips[0]])
        body = Humanoid(skeleton)
        frames = [np.arange(data["clip_start"][clip], data["clip_start"][clip + 1]) for clip in clips]
        subject = np.concatenate(
            [np.full(len(f), data["clip"][clip].split("_")[0]) for f, clip in zip(frames, clips, strict=True)]
        )
        rotations = pm.normalize(data["rotations"][np.concatenate(frames)].astype(np.float64))
        pose = Pose(np.zeros((len(rotations), 3)), rotations)
        for kind, parts in found.items():
            for side in ("right", "left"):
                limb = body.limb(f"{side}_{kind}", limits=None)
                reading = limb.read(pose)
                bones = np.broadcast_to([limb.upper, limb.lower], (len(rotations), 2))
                place = reading.position * to_right(limb.name)
                parts.append((np.column_stack([place, reading.swivel, bones]), subject))
    return {
        kind: (np.concatenate([rows for rows, _ in parts]), np.concatenate([who for _, who in parts]))
        for kind, parts in found.items()
    }


def learned(kind: str, rows: np.ndarray, subject: np.ndarray, trim: float, origin: dict[str, str]) -> LimbRange:
    names = np.char.add("CMU ", subject)
    return LimbRange.from_examples(
        f"right_{kind}", rows[:, :3], rows[:, 3], rows[:, 4], rows[:, 5], trim=trim, source=names, origin=origin
    )


def try_held_out(kind: str, rows: np.ndarray, subject: np.ndarray, seed: int, trims: list[float]) -> None:
    names = np.unique(subject)
    out = np.random.default_rng([seed, 0]).permutation(names)[: round(HELD_OUT * len(names))]
    held = np.isin(subject, out)
    for trim in trims:
        found = learned(kind, rows[~held], subject[~held], trim, {})
        rejected, turned = judged(found, rows[held])
        print(f"{kind}: trim {trim}: held-out poses rejected {100 * rejected:.2f} %, turned ones {100 * turned:.2f} %")


def judged(found: LimbRange, rows: np.ndarray) -> tuple[float, float]:
    """(share of poses rejected, share of bent ones rejected with the swivel turned by half a turn)."""
    inside, turned, bent = (np.zeros(len(rows), np.bool_) for _ in range(3))
    for bones in np.unique(rows[:, 4:], axis=0):
        own = (rows[:, 4:] == bones).all(axis=1)
        limb = found.scaled(*bones)
        position, swivel = rows[own, :3], rows[own, 3]
        inside[own] = limb.contains(position, swivel)
        turned[own] = limb.contains(position, swivel + np.pi)
        bent[own] = limb.is_bent(position)
    return float(1.0 - inside.mean()), float(1.0 - turned[bent].mean())


if __name__ == "__main__":
    main()
