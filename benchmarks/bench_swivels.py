"""Preferred swivels: how far they are from captured ones, and what they cost a solve.

Captured: the bent arms and legs, both sides, every frame, of the CMU clips whose subjects are not among those that the
built-in tables were learned from. "In front": targets no more than 60 degrees to either side and 45 up or down, where
the sensorimotor model was made for.
"""

from __future__ import annotations

import math

import numpy as np

import posable as ps
from posable.limb.range.model import to_right

from .harness import Contender, Table, compare, data_dir, table

UNSEEN = ("01", "02", "05", "13", "16", "17", "49", "61", "90", "135")  # not in cmu_poses


def run() -> list[Table]:
    data = data_dir()
    tables = [_cost()]
    if data is None:
        return tables
    motions = [
        ps.load(path, repair="cmu", first_frame=1)
        for path in sorted((data / "cmu").glob("*.bvh"))
        if path.name.split("_")[0] in UNSEEN
    ]
    for kind in ("arm", "leg"):
        errors, front = _errors(motions, kind)
        title = f"How far from the captured {'elbow' if kind == 'arm' else 'knee'}, {len(front)} frames"
        tables.append(_told(title, errors))
        if kind == "arm":
            tables.append(
                _told(f"The same in front, {int(front.sum())} frames", {n: e[front] for n, e in errors.items()})
            )
    return tables


def _errors(motions: list[ps.Motion], kind: str) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """(degrees off, by what was preferred; whether the target is in front), of every bent limb."""
    learned, model = ps.SwivelTable.builtin(f"right_{kind}"), ps.Sensorimotor()
    parts: dict[str, list[np.ndarray]] = {}
    front = []
    for motion in motions:
        body = ps.Humanoid(motion.skeleton)
        for side in ("right", "left"):
            limb = body.limb(f"{side}_{kind}", limits=None)
            reading = limb.read(motion.pose)
            bent = ps.LimbRange.builtin(limb.name, limb).is_bent(reading.position)
            position, swivel = reading.position[bent], reading.swivel[bent]
            told = {"constant": np.full(len(position), limb.search.preferred), "table": learned.swivels(limb, position)}
            if kind == "arm":
                told["sensorimotor"] = model.swivels(limb, position)
            for name, preferred in told.items():
                away = np.degrees(np.abs(np.angle(np.exp(1j * (preferred - swivel)))))
                parts.setdefault(name, []).append(away)
            x, y, z = (position * to_right(limb.name)).T
            front.append((np.abs(np.arctan2(z, x)) < math.radians(60)) & (np.abs(y) < np.hypot(x, z)))
    return {name: np.concatenate(rows) for name, rows in parts.items()}, np.concatenate(front)


def _told(title: str, errors: dict[str, np.ndarray]) -> Table:
    rows = {
        name: (away.tolist(), f"mean {away.mean():.1f}, nine in ten within {np.quantile(away, 0.9):.1f}")
        for name, away in errors.items()
    }
    return table(title, "degrees", rows, baseline="constant")


def _cost() -> Table:
    arm, place = ps.figure().limb("right_arm"), np.array([0.35, -0.2, 0.2])
    learned, model = ps.SwivelTable.builtin("right_arm"), ps.Sensorimotor()
    contenders = [
        Contender("constant", lambda: arm.solve(place)),
        Contender("a function", lambda: arm.solve(place, preferred=lambda p: 0.5 - p[..., 1])),
        Contender("table", lambda: arm.solve(place, preferred=learned)),
        Contender("sensorimotor", lambda: arm.solve(place, preferred=model)),
    ]
    return compare("One solve with the search, from Python", contenders)
