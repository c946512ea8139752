"""Prints the tables of docs/ranges.md, and draws its pictures: the built-in ranges against people they have not seen.

    python tools/measure_ranges.py [--data ../shared/data] [--pictures docs/_static]

Unseen people: the CMU clips of subjects that are not in the fitting data, both sides, every frame, repaired. Turned:
the same poses where the limb is bent, with the swivel turned by half a turn. Anything: positions evenly spread in
direction and distance up to full reach, any swivel. Jumps: the answer's step, as an angle seen from the base joint,
while the target goes around it on 40 random great circles by half a degree a step.
"""

from __future__ import annotations

import argparse
import math
import os
from pathlib import Path

import numpy as np

from posable.body import Humanoid
from posable.formats import load
from posable.limb import LimbRange

ROOT = Path(__file__).resolve().parents[1]
UNSEEN = ("01", "02", "05", "13", "16", "17", "49", "61", "90", "135")
KINDS = {"table": None, "harmonics 4": 4, "harmonics 8": 8}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = os.environ.get("POSABLE_DATA", ROOT.parent / "shared" / "data")
    parser.add_argument("--data", type=Path, default=Path(default))
    parser.add_argument("--pictures", type=Path, help="a folder to draw into")
    options = parser.parse_args()
    clips = sorted(path for path in (options.data / "cmu").glob("*.bvh") if path.name.split("_")[0] in UNSEEN)
    motions = [load(path, repair="cmu", first_frame=1) for path in clips]
    bodies = [Humanoid(motion.skeleton) for motion in motions]
    for kind in ("arm", "leg"):
        table = LimbRange.builtin(f"right_{kind}")
        readings = [
            (limb, limb.read(motion.pose))
            for body, motion in zip(bodies, motions, strict=True)
            for limb in (body.limb(f"{side}_{kind}", limits=None) for side in ("right", "left"))
        ]
        for name, degree in KINDS.items():
            found = table if degree is None else table.compact(degree)
            print(kind, name, *(f"{key} {100 * value:.2f} %" for key, value in judged(found, readings).items()))
        for smooth in (False, True):
            steps = jumps(table, smooth)
            over = int((steps > 3.0).sum())
            print(f"{kind} smooth={smooth}: largest {steps.max():.1f} degrees, {over} of {len(steps)} above 3")
        if options.pictures:
            from posable.render.range_picture import save_range_picture

            save_range_picture(table if kind == "arm" else table.mirrored(), options.pictures / f"range_{kind}.png")


def judged(found: LimbRange, readings: list) -> dict[str, float]:
    outside = {key: [] for key in ("rejected", "direction", "distance", "swivel", "turned")}
    twins = {found.name: found, found.mirrored().name: found.mirrored()}
    for limb, reading in readings:
        own = twins[limb.name].for_limb(limb)
        margins = own.margins(reading.position, reading.swivel)
        outside["rejected"].append(~own.contains(reading.position, reading.swivel))
        outside["direction"].append(margins.direction < -1e-6)
        outside["distance"].append(margins.distance < -1e-9)
        outside["swivel"].append(margins.swivel < -1e-9)
        bent = own.is_bent(reading.position)
        outside["turned"].append(~own.contains(reading.position[bent], reading.swivel[bent] + math.pi))
    told = {key: float(np.concatenate(rows).mean()) for key, rows in outside.items()}
    rng = np.random.default_rng(0)
    n = rng.normal(size=(200_000, 3))
    n *= (rng.uniform(0.0, found.upper + found.lower, len(n)) / np.linalg.norm(n, axis=1))[:, None]
    return told | {"anything accepted": float(found.contains(n, rng.uniform(-math.pi, math.pi, len(n))).mean())}


def jumps(found: LimbRange, smooth: bool, circles: int = 40, points: int = 720) -> np.ndarray:
    """Steps of the corrected direction [degrees]."""
    rng = np.random.default_rng(0)
    turn = 2.0 * math.pi * np.arange(points) / points
    steps = []
    for _ in range(circles):
        a, b = np.linalg.qr(rng.normal(size=(3, 2)))[0].T
        path = (np.cos(turn)[:, None] * a + np.sin(turn)[:, None] * b) * 0.7 * (found.upper + found.lower)
        moved = found.correct(path, 0.5, smooth=smooth).position
        moved /= np.linalg.norm(moved, axis=-1, keepdims=True)
        steps.append(2.0 * np.arcsin(np.minimum(np.linalg.norm(np.diff(moved, axis=0), axis=-1) / 2.0, 1.0)))
    return np.degrees(np.concatenate(steps))


if __name__ == "__main__":
    main()
