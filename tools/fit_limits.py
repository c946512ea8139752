"""Makes src/posable/assets/human_limits.json: default human joint limits from textbook ranges and captured motion.

    python tools/fit_limits.py [--data ../shared/data] [--seed 0]

Textbook ranges are Kapandji's ("The Physiology of the Joints", which Unzueta 2008 cites), the cones of shoulder and hip
those of the specification reconstruct, section 4.6. A captured range is what three of four CMU subjects stay inside:
the quartile, over subjects, of each subject's own 0.5 and 99.5 percentiles, left and mirrored right pooled. (Over all
poses at once, the percentiles are those of the one subject whose ankles were tracked worst.) Four fifths of the
subjects, drawn with the seed, are fitted; the others are held out to say how much of unseen motion lies inside.

- Ellipses and twists span both ranges, textbook and captured; an ellipse of captured motion then grows evenly until
  three of four subjects have 99 % of their poses inside.
- Trunk and neck also hold every run of their joints by the rule that hands their range to a spine (`Limits.for_spine`).
- A cone's knot is raised where more than 5 % of the poses in its sector of 45 degrees lie beyond it.
- Hinges, clavicles, toes and the twist of forearm and wrist are textbook only: the CMU hinges have one axis, its
  clavicles do not move, toes are not in the data, and its wrists flip.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
from pathlib import Path

import numpy as np

import posable.math as pm
from posable.compute import atomic_write
from posable.limits import Cone, Ellipse
from posable.limits.human import AXES

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "src/posable/assets/human_limits.json"
PERCENTILES = (0.5, 99.5)
HELD_OUT = 0.2
KEPT = 0.99
BOOK = "Kapandji"
CMU = "CMU 0.5 and 99.5 percentiles"

HINGES = {  # low, high, slack, twist
    "lower_arm": (
        0,
        160,
        10,
        (-90, 85),
        f"{BOOK}: passive flexion 160, supination 90, pronation 85; slack: carrying angle",
    ),
    "lower_leg": (
        -10,
        160,
        10,
        (-40, 30),
        f"{BOOK}: passive flexion 160, hyperextension 10, axial rotation 40 out, 30 in",
    ),
    "toes": (-70, 40, 15, (-15, 15), f"{BOOK}: extension 50 active to 90 passive, flexion 40"),
}
CONES = {  # theta: psi, twist
    "upper_arm": ({-180: 50, -135: 35, -90: 45, -45: 120, 0: 175, 45: 178, 90: 178, 135: 110, 180: 50}, (-100, 100)),
    "upper_leg": ({-180: 25, -135: 25, -90: 30, -45: 90, 0: 130, 45: 120, 90: 60, 135: 45, 180: 25}, (-60, 60)),
}
ELLIPSES = {  # ranges about the first and second swing axis, twist, whether captured ranges count for (swing, twist)
    "trunk": (
        (-60, 105),
        (-40, 40),
        (-40, 40),
        (True, True),
        f"{BOOK}: flexion 105, extension 60, sideways 40, rotation 40",
    ),
    "neck": (
        (-75, 55),
        (-45, 45),
        (-80, 80),
        (True, True),
        f"{BOOK}: flexion 55, extension 75, sideways 45, rotation 80",
    ),
    "shoulder": (
        (-30, 25),
        (-10, 45),
        (-30, 30),
        (False, False),
        f"{BOOK}: elevation 45, depression 10, forwards 30, backwards 25",
    ),
    "hand": (
        (-85, 85),
        (-85, 85),
        (-90, 85),
        (True, False),
        f"{BOOK}: flexion and extension 85, in any direction because rigs carry pronation here",
    ),
    "foot": (
        (-30, 50),
        (-20, 20),
        (-52, 30),
        (True, True),
        f"{BOOK}: dorsiflexion 30, plantar flexion 50, inversion 52, eversion 30",
    ),
}
JOINTS = {  # the joints of the data a part is made of
    "trunk": ("vl5", "spine", "spine1"),
    "neck": ("neck", "neck1", "head"),
    "upper_arm": ("{}_shoulder",),
    "lower_arm": ("{}_elbow",),
    "hand": ("{}_wrist",),
    "upper_leg": ("{}_hip",),
    "lower_leg": ("{}_knee",),
    "foot": ("{}_ankle",),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = os.environ.get("POSABLE_DATA", ROOT.parent / "shared" / "data")
    parser.add_argument("--data", type=Path, default=Path(default))
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    path = options.data / "cmu_poses" / "poses.npz"
    with np.load(path) as archive:
        poses = {name: archive[name] for name in ("rotations", "joints", "clip", "clip_start")}
    seen, held = split_subjects(poses, options.seed)
    subject = subjects_of(poses)[seen]
    joints = {}
    for part, (low, high, slack, twist, source) in HINGES.items():
        swing = {"kind": "hinge", "low": low, "high": high, "slack": slack}
        joints[part] = {"swing": swing, "twist": twist, "source": source}
    for part in CONES:
        joints[part] = fit_cone(part, samples(poses, JOINTS[part], seen), subject)
    for part, spec in ELLIPSES.items():
        joints[part] = fit_ellipse(part, runs(poses, part, seen) if any(spec[3]) else [], subject)
    content = {
        "format": "posable-limits/1",
        "script": "tools/fit_limits.py",
        "seed": options.seed,
        "data": {
            "file": "cmu_poses/poses.npz",
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
            "poses": int(seen.sum()),
            "subjects": len(set(subject)),
        },
        "joints": {part: joints[part] for part in sorted(joints)},
        "inside": {},
    }
    write(content)  # the coverage is measured with the limits as the package reads them
    content["inside"] = coverage(poses, held)
    write(content)
    for part, share in content["inside"].items():
        print(f"{part:12s} {100 * share:6.2f} % of the poses of held-out subjects inside")


def write(content: dict[str, object]) -> None:
    with atomic_write(TARGET) as temporary:
        temporary.write_text(json.dumps(content, indent=1) + "\n")


def subjects_of(poses: dict[str, np.ndarray]) -> np.ndarray:
    """The subject of each pose (N,)."""
    return np.repeat([clip.split("_")[0] for clip in poses["clip"]], np.diff(poses["clip_start"]))


def split_subjects(poses: dict[str, np.ndarray], seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Masks (N,) of the poses to fit on and of those held out, split by subject."""
    subject = subjects_of(poses)
    names = np.unique(subject)
    out = np.random.default_rng([seed, 0]).permutation(names)[: round(HELD_OUT * len(names))]
    held = np.isin(subject, out)
    return ~held, held


def samples(poses: dict[str, np.ndarray], joints: tuple[str, ...], rows: np.ndarray) -> np.ndarray:
    """Canonical rotations (n, 4) over some joints, as the left ones': both sides, or the middle and its mirror."""
    mirror = np.array([1.0, 1.0, -1.0, -1.0])
    names = list(poses["joints"])
    both = []
    for side, sign in (("l", 1.0), ("r", mirror)):
        q = np.array([1.0, 0.0, 0.0, 0.0])
        for name in joints:
            local = poses["rotations"][rows, names.index(name.format(side))].astype(np.float64)
            q = pm.multiply(q, pm.normalize(local))
        both.append(q * sign)
    return np.concatenate(both)


def swings(part: str, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(swing components (n, 2), twist (n,)) in degrees, about the part's axes."""
    direction, axis = np.array(AXES[part])
    swing, twist = pm.swing_twist(q, direction)
    vector = pm.log(swing)
    return np.degrees(np.stack([vector @ axis, vector @ np.cross(direction, axis)], -1)), np.degrees(twist)


def runs(poses: dict[str, np.ndarray], part: str, rows: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Swings and twists, as `swings` has them, of every run of a part's joints, each over the root of the run's share.

    So a limit that holds them all also holds each run by the rule of `Limits.for_spine`.
    """
    joints = JOINTS[part]
    found = []
    for first in range(len(joints)):
        for last in range(first + 1, len(joints) + 1):
            swing, twist = swings(part, samples(poses, joints[first:last], rows))
            root = np.sqrt((last - first) / len(joints))
            found.append((swing / root, twist / root))
    return found


def fit_cone(part: str, q: np.ndarray, subject: np.ndarray) -> dict[str, object]:
    knots, twist = CONES[part]
    direction, axis = np.array(AXES[part])
    bone = pm.rotate(q, direction)
    x, y = bone @ axis, bone @ np.cross(direction, axis)
    theta, psi = np.degrees(np.arctan2(x, y)), np.degrees(np.arctan2(np.hypot(x, y), bone @ direction))
    fitted = {}
    for knot, book in knots.items():
        near = np.abs((theta - knot + 180.0) % 360.0 - 180.0) < 22.5
        fitted[knot] = max(float(book), round(float(np.percentile(psi[near], 95.0)), 1))
    Cone.from_degrees(fitted)  # validates
    raised = [f"{knot} from {book} to {fitted[knot]}" for knot, book in knots.items() if fitted[knot] > book]
    source = f"{BOOK}, knots of reconstruct 4.6" + (f"; raised by CMU: {', '.join(raised)}" if raised else "")
    spans = spanned(twist, [swings(part, q)[1]], subject)
    source += widened("twist", twist, spans)
    return {
        "swing": {"kind": "cone", "theta": list(fitted), "psi": list(fitted.values())},
        "twist": spans,
        "source": source,
    }


def fit_ellipse(part: str, captured: list[tuple[np.ndarray, np.ndarray]], subject: np.ndarray) -> dict[str, object]:
    first, second, twist, (use_swing, use_twist), source = ELLIPSES[part]
    ranges = {"first swing": first, "second swing": second, "twist": twist}
    if captured:
        for name, values, used in (
            ("first swing", [swing[:, 0] for swing, _ in captured], use_swing),
            ("second swing", [swing[:, 1] for swing, _ in captured], use_swing),
            ("twist", [twist for _, twist in captured], use_twist),
        ):
            if used:
                book, ranges[name] = ranges[name], spanned(ranges[name], values, subject)
                source += widened(name, book, ranges[name])
        if use_swing:
            both = np.array([ranges["first swing"], ranges["second swing"]])
            factor = max(growth(both, swing, subject) for swing, _ in captured)
            for name in ("first swing", "second swing"):
                middle, half = np.mean(ranges[name]), 0.5 * np.ptp(ranges[name])
                ranges[name] = np.round([middle - factor * half, middle + factor * half], 1)
            source += f"; grown by {factor:.2f}" if factor > 1.0 else ""
    first, second, twist = (list(map(float, r)) for r in ranges.values())
    Ellipse.from_ranges(tuple(np.radians(first)), tuple(np.radians(second)))  # validates
    return {"swing": {"kind": "ellipse", "first": first, "second": second}, "twist": twist, "source": source}


def growth(ranges: np.ndarray, swing: np.ndarray, subject: np.ndarray) -> float:
    """The factor by which an ellipse must grow so that three of four subjects have `KEPT` of their poses inside."""
    middle, half = ranges.mean(axis=1), 0.5 * np.ptp(ranges, axis=1)
    size = np.sqrt((((swing - middle) / half) ** 2).sum(axis=1))
    both = np.concatenate([subject, subject])
    own = [np.percentile(size[both == name], 100.0 * KEPT) for name in np.unique(subject)]
    return max(1.0, float(np.percentile(own, 75.0)))


def widened(name: str, book: tuple[float, float], spans: list[float]) -> str:
    """The note on a range that captured motion made wider."""
    return f"; {name} to {spans} by {CMU}" if spans != [float(b) for b in book] else ""


def spanned(book: tuple[float, float], captured: list[np.ndarray], subject: np.ndarray) -> list[float]:
    """The range over the textbook's and the captured ones, to a tenth of a degree; captured (2 n,) are both sides'."""
    both = np.concatenate([subject, subject])
    low, high = map(float, book)
    for values in captured:
        own = np.array([np.percentile(values[both == name], PERCENTILES) for name in np.unique(subject)])
        low = min(low, round(float(np.percentile(own[:, 0], 25.0)), 1))
        high = max(high, round(float(np.percentile(own[:, 1], 75.0)), 1))
    return [low, high]


def coverage(poses: dict[str, np.ndarray], rows: np.ndarray) -> dict[str, float]:
    """The share of the poses inside, by part: the trunk and neck as wholes, the others as left joints."""
    from posable.limits import Limits
    from posable.limits.human import _whole, limits_file

    limits_file.cache_clear()
    _whole.cache_clear()
    limits = Limits({part: _whole(part) for part in JOINTS})
    inside = {part: float(limits.contains(part, samples(poses, JOINTS[part], rows)).mean()) for part in JOINTS}
    return {part: round(share, 5) for part, share in inside.items()}


if __name__ == "__main__":
    main()
