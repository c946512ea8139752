"""How often the elbow jumps while the hand moves smoothly: 60 straight paths in steps of a millimetre, inside limits.

The measure of specification limb-and-reach, section 8, whose own prototype had other limits and other paths: its
numbers stand beside ours for their order of magnitude. A step counts where both its ends have a posture inside the
limits; with coherence (`Limb.track`) steps are told apart by whether they were flagged as jumps.
"""

from __future__ import annotations

import math

import numpy as np

from posable.limb import Limb, Search
from posable.limb.model import SEARCHES
from posable.limits import Limits

from .harness import Table, table

PATHS, STEP = 60, 0.001  # [m]
UPPER, LOWER = 0.31, 0.26  # [m]
CASES = {
    # name: reference, bisections, degrees a step if it is coherent, what the specification measured (> 5, > 20 mm)
    "paper's reference, no bisection": ("paper", 0, 0.0, "29.1", ""),
    "paper's reference": ("paper", 6, 0.0, "2.9", "0.25"),
    "no bisection": ("transport", 0, 0.0, "26.4", "8.6"),
    "as it is": ("transport", 6, 0.0, "2.2", "0.13"),
    "with coherence, 3 degrees a step (default)": ("transport", 6, 3.0, "", ""),
    "with coherence, 1 degree a step": ("transport", 6, 1.0, "0.95", "0.09"),
}


def run() -> list[Table]:
    paths = straight_paths()
    count = sum(map(len, paths))
    measured = {name: steps_of(paths, *case[:3]) for name, case in CASES.items()}
    tables = []
    for column, least in ((3, 0.005), (4, 0.020)):
        rows = {}
        for name, (moved, flagged) in measured.items():
            told = CASES[name][column]
            notes = [f"specification {told}"] if told else []
            if CASES[name][2]:
                unflagged = int((moved[~flagged] > least).sum())
                notes.append(f"{1000 * unflagged / len(moved):.2g} per 1000 not flagged as jumps")
            rows[name] = ([1000 * float((moved > least).mean())], "; ".join(notes))
        note = f"{PATHS} paths, {count:,} places. The largest step: " + ", ".join(
            f"{name} {1000 * moved.max():.0f} mm" for name, (moved, _) in measured.items()
        )
        title = f"Elbow steps of more than {1000 * least:.0f} mm while the hand moves by 1 mm"
        tables.append(table(title, "per 1000 steps", rows, baseline="as it is", note=note + "."))
    return tables


def straight_paths(seed: int = 0) -> list[np.ndarray]:
    """Straight lines between random places that an arm inside its limits can reach."""
    rng = np.random.default_rng(seed)
    arm = Limb("right_arm", UPPER, LOWER, limits=Limits.human())
    ends = rng.normal(size=(2000, 3))
    ends *= rng.uniform(0.15, UPPER + LOWER, (len(ends), 1)) / np.linalg.norm(ends, axis=-1, keepdims=True)
    ends = ends[arm.solve(ends).ok][: 2 * PATHS].reshape(PATHS, 2, 3)
    lengths = np.linalg.norm(ends[:, 1] - ends[:, 0], axis=-1)
    return [
        a + (b - a) * np.linspace(0.0, 1.0, max(2, 1 + round(size / STEP)))[:, None]
        for (a, b), size in zip(ends, lengths, strict=True)
    ]


def steps_of(paths: list[np.ndarray], reference: str, bisections: int, degrees: float) -> tuple[np.ndarray, np.ndarray]:
    """(how far the elbow moved [m], whether that was flagged) of the steps between two postures inside the limits."""
    usual = SEARCHES["arm"]
    search = Search(usual.preferred, usual.low, usual.high, refine=bisections)
    arm = Limb("right_arm", UPPER, LOWER, limits=Limits.human(), search=search, reference=reference)
    moved, flagged = [], []
    for path in paths:
        told = arm.stream(60, speed=60 * math.radians(degrees)).track(path) if degrees else arm.solve(path)
        elbow = arm.forward(told.values).mid
        fine = told.status == 0
        steps = np.linalg.norm(np.diff(elbow, axis=0), axis=-1)
        both = fine[1:] & fine[:-1]
        moved.append(steps[both])
        flagged.append((told.jumped[1:] if degrees else np.zeros(len(steps), bool))[both])
    return np.concatenate(moved), np.concatenate(flagged)
