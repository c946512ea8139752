"""Makes src/posable/assets/human_limits.json: default human joint limits from textbook ranges and captured motion.

    python tools/fit_limits.py [--data ../shared/data] [--seed 0]

Textbook ranges are Kapandji's ("The Physiology of the Joints", which Unzueta 2008 cites), the cones of shoulder and hip
those of the specification reconstruct, section 4.6. A captured range is what three of four CMU subjects stay inside:
the quartile, over subjects, of each subject's own 0.5 and 99.5 percentiles, left and mirrored right pooled. (Over all
poses at once, the percentiles are those of the one subject whose ankles were tracked worst.) Four fifths of the
subjects, drawn with the seed, are fitted; the others are held out to say how much of unseen motion lies inside.

- The trunk's ellipse and all twists but those of neck, clavicle, wrist and ankle span both ranges, textbook and
  captured; the ellipse then grows evenly until three of four subjects have 99 % of their poses inside, in every run of
  the trunk's joints by the rule that hands its range to a spine (`Limits.for_spine`).
- Neck, clavicle, wrist and ankle have published ranges only: ellipses through the angles measured on people, one
  direction at a time.
- A cone's knot is raised where more than 5 % of the poses in its sector of 45 degrees lie beyond it.
- Hinges, toes and the forearm's twist are textbook only: the CMU hinges have one axis, and toes are not in the data.
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
AAOS = "American Academy of Orthopaedic Surgeons 1965"
THUMBS = "Barakat et al. 2013, 100 people"
HINGES |= {
    "finger_intermediate": (
        -10,
        115,
        10,
        (-10, 10),
        f"flexion 100: {AAOS}; 110 to 120 in a fist: {BOOK}; slack: side play",
    ),
    "finger_distal": (-15, 90, 10, (-10, 10), f"flexion 90, extension 10: {AAOS}; slack: side play"),
    "thumb_proximal": (
        -15,
        70,
        15,
        (-15, 15),
        f"flexion 60 (43 to 70), extension 8 (0 to 15): {THUMBS}; slack: side play",
    ),
    "thumb_distal": (
        -30,
        90,
        10,
        (-10, 10),
        f"flexion 88 (80 to 90), extension 12 (0 to 45): {THUMBS}; slack: side play",
    ),
}
CONES = {  # theta: psi, twist
    "upper_arm": ({-180: 50, -135: 35, -90: 45, -45: 120, 0: 175, 45: 178, 90: 178, 135: 110, 180: 50}, (-100, 100)),
    "upper_leg": ({-180: 25, -135: 25, -90: 30, -45: 90, 0: 130, 45: 120, 90: 60, 135: 45, 180: 25}, (-60, 60)),
}
ELLIPSES = {  # ranges about the first and second swing axis, twist, source
    "trunk": ((-60, 105), (-40, 40), (-40, 40), f"{BOOK}: flexion 105, extension 60, sideways 40, rotation 40"),
}
"""Grown to captured motion, since captured trunks have fewer joints than real ones."""
CROSSINGS = {  # the angles at which the ellipse crosses its first and second axis, twist, source
    "neck": (
        (-75, 80),  # extension, flexion
        (-45, 45),
        (-80, 80),
        f"flexion 80: Swartz et al. 2005, 80 to 90; extension 75, rotation 80: {BOOK}; sideways 45: {AAOS}",
    ),
    "shoulder": (
        (-30, 30),  # forwards, backwards
        (-10, 45),  # depression, elevation
        (-50, 10),  # rolled back, rolled forward
        "elevation 45, depression 10, forwards and backwards 30: Neumann 2017; "
        "rolling back 50, forward 10: Levangie and Norkin 2011",
    ),
    "hand": (
        (-20, 35),  # radial, ulnar
        (-80, 70),  # flexion, extension
        (-90, 85),
        f"flexion 80, extension 70, radial deviation 20: {AAOS}; ulnar deviation 35: Boone and Azen 1979; "
        f"twist, in rigs that turn the hand instead of the forearm: supination 90, pronation 85: {BOOK}",
    ),
    "foot": (
        (-50, 55),  # dorsiflexion, plantar flexion
        (-35, 45),  # toes in, toes out
        (-52, 30),  # inversion, eversion
        "dorsiflexion 50, of a standing foot: Konor et al. 2012, 39 and two standard deviations of 5; plantar flexion "
        f"55: Boone and Azen 1979; inversion 52, eversion 30: {BOOK}; toes in 35, out 45: {BOOK}, 20 of the foot and "
        "15 and 25 of the shin's rotation, which rigs with a hinge for a knee have here",
    ),
    "finger_proximal": (
        (-45, 95),  # extension, flexion
        (-25, 25),  # towards the thumb, towards the little finger
        (-20, 20),
        f"flexion 90, extension 45, sideways 20: {AAOS}; flexion 90 of the index to 110 of the little finger, sideways "
        f"up to 30: {BOOK}; twist: side play",
    ),
    "thumb_metacarpal": (
        (-26, 55),  # from 45 degrees beside the palm: radial abduction, adduction across it
        (-71, 20),  # palmar abduction, retroposition
        (-25, 25),
        "radial abduction 63 (53 to 71), adduction 10 (5 to 20), anteposition 61 (50 to 71): Barakat et al. 2013, of "
        "100 people, from a neutral direction of 45; axial rotation 17 to 21: Cooney et al. 1981, Goubier et al. 2009",
    ),
}
"""Published ranges alone. Captured wrists, ankles and necks go further, and people do not: CMU's markers there are few
and noisy, and the ankle's and the neck's errors are those of the bones next to them."""
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
    for part in ELLIPSES:
        joints[part] = fit_ellipse(part, runs(poses, part, seen), subject)
    for part, (first, second, twist, source) in CROSSINGS.items():
        swing = {"kind": "ellipse through", "first": first, "second": second}
        joints[part] = {"swing": swing, "twist": twist, "source": source}
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
    first, second, twist, source = ELLIPSES[part]
    ranges = {"first swing": first, "second swing": second, "twist": twist}
    for name, values in (
        ("first swing", [swing[:, 0] for swing, _ in captured]),
        ("second swing", [swing[:, 1] for swing, _ in captured]),
        ("twist", [twist for _, twist in captured]),
    ):
        book, ranges[name] = ranges[name], spanned(ranges[name], values, subject)
        source += widened(name, book, ranges[name])
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
    # The poses' hands hang with their forearms, whose hinge lies 30 degrees off the palm (`body.neutral`).
    hand = Limits.human(["left_hand"], palms={"left_hand": -np.radians(30.0)})["left_hand"]
    limits = Limits({**{part: _whole(part) for part in JOINTS}, "hand": hand})
    inside = {part: float(limits.contains(part, samples(poses, JOINTS[part], rows)).mean()) for part in JOINTS}
    return {part: round(share, 5) for part, share in inside.items()}


if __name__ == "__main__":
    main()
