"""Draws docs/_static/limits.png: the swing limits of shoulder, hip and wrist over captured swings, and prints coverage.

    python tools/plot_limits.py [--data ../shared/data] [--output docs/_static/limits.png]

The pictures look along the resting bone from its joint: the middle is the neutral pose, the distance from it the
angle the bone has swung, the direction where to. The dots are poses of people whom the limits were not fitted on.
The table is over the CMU clips of subjects that are not in the fitting data at all.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from fit_limits import JOINTS, ROOT, samples, split_subjects

import posable.math as pm
from posable.body import Humanoid
from posable.formats import load
from posable.limits import Cone, Ellipse, JointLimit, Limits
from posable.limits.human import limits_file
from posable.limits.shapes import boundary_samples

UNSEEN = ("01", "02", "05", "13", "16", "17", "49", "61", "90", "135")  # of the clips, those not in poses.npz
PANELS = {  # part: title, largest angle shown, what lies up, right, down and left of the middle
    "upper_arm": ("left shoulder", 180, ("forwards", "outwards", "backwards", "across")),
    "upper_leg": ("left hip", 150, ("forwards", "outwards", "backwards", "across")),
    "hand": ("left wrist", 120, ("to the thumb", "to the back\nof the hand", "to the little finger", "to the palm")),
}
DOTS = 4000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = os.environ.get("POSABLE_DATA", ROOT.parent / "shared" / "data")
    parser.add_argument("--data", type=Path, default=Path(default))
    parser.add_argument("--output", type=Path, default=ROOT / "docs/_static/limits.png")
    options = parser.parse_args()
    draw(options.data / "cmu_poses" / "poses.npz", options.output)
    print_coverage(options.data / "cmu")


def draw(data: Path, output: Path) -> None:
    with np.load(data) as archive:
        poses = {name: archive[name] for name in ("rotations", "joints", "clip", "clip_start")}
    _, held = split_subjects(poses, limits_file()["seed"])
    limits = Limits.human(palms={"left_hand": -np.radians(30.0)})  # of these poses, see `body.neutral.palm_headings`
    figure, panels = plt.subplots(1, 3, figsize=(10.5, 3.6), subplot_kw={"projection": "polar"})
    for panel, (part, (title, widest, ways)) in zip(panels, PANELS.items(), strict=True):
        role = f"left_{part}"
        q = samples(poses, JOINTS[part], held)
        q = q[np.random.default_rng(0).permutation(len(q))[:DOTS]]
        if limits[role].turning:  # seen from the palm
            _, twist = pm.swing_twist(q, limits[role].direction)
            q = pm.multiply(pm.conjugate(pm.axis_angle(limits[role].direction, twist)), q)
        theta, psi = polar(limits[role], pm.rotate(q, limits[role].direction))
        free = JointLimit(limits[role].swing, None, limits[role].direction, limits[role].axis)
        inside = Limits({role: free}).contains(role, q)
        panel.scatter(theta[inside], psi[inside], s=1.5, color="#3b6ea5", alpha=0.5, linewidths=0)
        panel.scatter(theta[~inside], psi[~inside], s=4, color="#c4502e", linewidths=0)
        edge = rim(limits[role])
        panel.fill(edge[0], edge[1], facecolor="#3b6ea5", alpha=0.10)
        panel.plot(edge[0], edge[1], color="#1c2b3a", linewidth=1.6)
        panel.set_theta_zero_location("N")
        panel.set_theta_direction(-1)
        panel.set_ylim(0, widest)
        panel.set_yticks(range(30, widest, 30))
        panel.yaxis.set_major_formatter("{x:.0f}°")
        panel.set_rlabel_position(225)
        panel.set_xticks(np.radians([0, 90, 180, 270]), ways)
        panel.tick_params(axis="x", labelsize=8, pad=1)
        panel.tick_params(axis="y", labelsize=6, labelcolor="#888888")
        for label, align in zip(panel.get_xticklabels(), ("center", "left", "center", "right"), strict=True):
            label.set_horizontalalignment(align)
        panel.grid(color="#dddddd", linewidth=0.6)
        panel.set_title(title, fontsize=11, pad=6)
    figure.tight_layout()
    figure.savefig(output, dpi=90, bbox_inches="tight")
    print(f"wrote {output}")


def polar(limit: JointLimit, bone: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(direction [rad], angle [degrees]) of bones (n, 3) from the resting one."""
    a1 = bone @ np.array(limit.axis)
    a2 = bone @ np.cross(limit.direction, limit.axis)
    return np.arctan2(a1, a2), np.degrees(np.arctan2(np.hypot(a1, a2), bone @ np.array(limit.direction)))


def rim(limit: JointLimit) -> tuple[np.ndarray, np.ndarray]:
    """The boundary of a cone or an ellipse, as `polar` has it."""
    if isinstance(limit.swing, Cone):
        theta = np.linspace(-np.pi, np.pi, 721)
        return theta, np.degrees(limit.swing.limit(theta))
    assert isinstance(limit.swing, Ellipse)
    x, y, z = boundary_samples(limit.swing).T
    theta, psi = np.arctan2(x, y), np.degrees(np.arctan2(np.hypot(x, y), z))
    return np.append(theta, theta[0]), np.append(psi, psi[0])


def print_coverage(clips: Path) -> None:
    """A table, by role, of the frames of unseen subjects' clips that lie inside, and how far out the others are."""
    found: dict[str, list[np.ndarray]] = {}
    paths = [path for path in sorted(clips.glob("*.bvh")) if path.stem.split("_")[0] in UNSEEN]
    for path in paths:
        motion = load(path, repair="cmu", first_frame=1)
        body = Humanoid(motion.skeleton)
        posture = body.canonical(motion.pose)
        excess = body.limits.excess(posture.roles, posture.rotations)
        for role, values in zip(posture.roles, excess.T, strict=True):
            found.setdefault(role, []).append(values)
    frames = len(np.concatenate(found["hips"]))
    print(f"{len(paths)} clips, {frames} frames\n| role | inside | 99 % within |\n|---|---:|---:|")
    for role, parts in found.items():
        if not role.startswith("right_"):
            twin = found.get(role.replace("left_", "right_"), []) if role.startswith("left_") else []
            values = np.concatenate([*parts, *twin])
            out = np.degrees(np.percentile(values, 99.0))
            print(f"| {role.removeprefix('left_')} | {100 * np.mean(values <= 1e-9):.2f} % | {out:.1f}° |")


if __name__ == "__main__":
    main()
