"""Makes src/posable/assets/swivels/{arm,leg}.npz: the built-in tables of swivels, from captured motion.

    python tools/fit_swivels.py [--data ../shared/data] [--seed 0]

Right limbs and mirrored left ones of all subjects in cmu_poses are pooled, as for the built-in ranges. Before it fits
everybody, the script fits four fifths of the subjects, drawn with the seed, and says how far from the swivels of the
others its table, the sensorimotor model and the constant are. The clips of `cmu` that `benchmarks/bench_swivels.py`
judges by are not fitted.
"""

from __future__ import annotations

import argparse
import hashlib
import os
from pathlib import Path

import numpy as np
from fit_ranges import HELD_OUT, ROOT, read

from posable.limb import Limb, LimbRange, Sensorimotor, SwivelTable

TARGET = ROOT / "src/posable/assets/swivels"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = os.environ.get("POSABLE_DATA", ROOT.parent / "shared" / "data")
    parser.add_argument("--data", type=Path, default=Path(default))
    parser.add_argument("--seed", type=int, default=0, help="of the subjects held out to judge")
    options = parser.parse_args()
    path = options.data / "cmu_poses" / "poses.npz"
    origin = {
        "data": "cmu_poses/poses.npz",
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "script": "tools/fit_swivels.py",
    }
    TARGET.mkdir(exist_ok=True)
    for kind, (rows, subject) in read(path).items():
        try_held_out(kind, rows, subject, options.seed)
        known = origin | {"examples": str(len(rows)), "subjects": str(len(set(subject)))}
        made = learned(kind, rows, known)
        made.save(TARGET / f"{kind}.npz")
        print(f"{kind}: {made}, {(TARGET / f'{kind}.npz').stat().st_size} bytes")


def learned(kind: str, rows: np.ndarray, origin: dict[str, str]) -> SwivelTable:
    return SwivelTable.from_examples(f"right_{kind}", rows[:, :3], *rows[:, 3:].T, origin=origin)


def try_held_out(kind: str, rows: np.ndarray, subject: np.ndarray, seed: int) -> None:
    names = np.unique(subject)
    out = np.random.default_rng([seed, 0]).permutation(names)[: round(HELD_OUT * len(names))]
    held = np.isin(subject, out)
    made, others = learned(kind, rows[~held], {}), rows[held]
    ways = {"constant": constant, "table": made.swivels} | (
        {"sensorimotor": Sensorimotor().swivels} if kind == "arm" else {}
    )
    errors: dict[str, list[np.ndarray]] = {name: [] for name in ways}
    for bones in np.unique(others[:, 4:], axis=0):
        own = others[(others[:, 4:] == bones).all(axis=1)]
        limb = Limb(f"right_{kind}", *bones)
        own = own[LimbRange.builtin(limb.name, limb).is_bent(own[:, :3])]
        for name, way in ways.items():
            errors[name].append(np.abs(np.angle(np.exp(1j * (way(limb, own[:, :3]) - own[:, 3])))))
    for name, parts in errors.items():
        away = np.degrees(np.concatenate(parts))
        print(
            f"{kind}: {len(away)} poses of {len(out)} others, {name}: median {np.median(away):.1f} degrees, mean "
            f"{away.mean():.1f}, nine in ten within {np.quantile(away, 0.9):.1f}"
        )


def constant(limb: Limb, position: np.ndarray) -> np.ndarray:
    return np.full(len(position), limb.search.preferred)


if __name__ == "__main__":
    main()
