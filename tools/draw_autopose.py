"""Bodies that `AutoPose` poses from few dragged parts: `python -m tools.draw_autopose docs/_static/autopose.png`.

Every body stood in its neutral pose before. Over each are the parts that were dragged; nothing else. `--rig FILE`
draws another body.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import posable as ps
from posable.render.picture import portrait

HEAD, LEFT, RIGHT = "head", "left_hand", "right_hand"
DRAGS = {
    "crouch: head, hands": {HEAD: (0.0, -0.35, 0.08), LEFT: (0.0, -0.05, 0.15), RIGHT: (0.0, -0.05, 0.15)},
    "seat: head, hands": {HEAD: (0.0, -0.32, -0.25), LEFT: (-0.02, -0.08, 0.0), RIGHT: (0.02, -0.08, 0.0)},
    "lunge: head, hands": {HEAD: (0.0, -0.16, 0.35), LEFT: (0.0, 0.25, 0.6), RIGHT: (-0.1, 0.1, 0.0)},
    "floor: head, hands": {HEAD: (0.0, -0.5, 0.35), LEFT: (-0.08, -0.35, 0.42), RIGHT: (0.08, -0.35, 0.42)},
    "guard: head, hands": {HEAD: (0.0, -0.06, 0.06), LEFT: (-0.1, 0.42, 0.2), RIGHT: (0.08, 0.4, 0.15)},
    "left hand": {LEFT: (0.2, 0.25, 0.6)},
    "hips": {"hips": (0.0, -0.25, -0.1)},
    "right foot": {"right_foot": (-0.02, 0.3, 0.2)},
}
"""Displacements from the neutral pose [of the joint height]."""


def main() -> None:
    """Draw the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--rig", type=Path)
    given = parser.parse_args()
    from matplotlib.figure import Figure

    body = ps.figure() if given.rig is None else ps.Humanoid(ps.load(given.rig).skeleton)
    auto, was = ps.AutoPose(body), body.skeleton.forward(body.neutral_pose).positions
    sheet = Figure(figsize=(13.0, 2.7), dpi=90, layout="constrained")
    for axis, (label, drags) in zip(sheet.subplots(1, len(DRAGS)), DRAGS.items(), strict=True):
        targets = {role: was[body.index(role)] + body.joint_height * np.array(by) for role, by in drags.items()}
        answer = auto.solve(targets)
        axis.imshow(portrait(body, answer.pose, view=(0.7, 0.12), size=(240, 330), samples=2))
        axis.set_title(label + ("" if answer.ok else "\n" + str(answer)), fontsize=9)
        axis.axis("off")
    given.path.parent.mkdir(parents=True, exist_ok=True)
    sheet.savefig(given.path)
    print(given.path)


if __name__ == "__main__":
    main()
