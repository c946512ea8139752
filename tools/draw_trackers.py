"""The same moment of a captured clip from three, four, six and eleven trackers, beside the capture.

    python -m tools.draw_trackers docs/_static/reconstruct-trackers.png

A row a clip, of people whom the prior never saw: the capture, then what `SequentialIK` makes of the positions and
orientations of more and more trackers, having followed the whole clip up to there. Over each body is how far its
joints are from the captured ones [cm] at this moment. Clips and frames were chosen for their poses, before any of them
was reconstructed. `--clip 13_29 --frame 120` draws another moment.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import posable as ps
from benchmarks.harness import data_dir
from posable import math as pm
from posable.evaluate.measures import smpl_joints
from posable.reconstruct.sik import ORIENTED
from posable.render.picture import portrait

MOMENTS = (("13_29", 120), ("16_18", 200), ("61_07", 300))
THREE = ("head", "left_hand", "right_hand")
TRACKERS = {
    "three: head, hands": THREE,
    "four: and hips": ("hips", *THREE),
    "six: and feet": ps.MARKERS,
    "eleven: and elbows, knees, chest": (
        *(*ps.MARKERS, "left_lower_arm", "right_lower_arm"),
        *("left_lower_leg", "right_lower_leg", "upper_chest"),
    ),
}


def main() -> None:
    """Draw the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--clip")
    parser.add_argument("--frame", type=int, default=0)
    given = parser.parse_args()
    folder = data_dir()
    if folder is None:
        raise SystemExit("there is no data; set POSABLE_DATA")
    from matplotlib.figure import Figure

    moments = MOMENTS if given.clip is None else ((given.clip, given.frame),)
    sheet = Figure(figsize=(12.0, 3.5 * len(moments)), dpi=90, layout="constrained")
    axes = np.atleast_2d(sheet.subplots(len(moments), 1 + len(TRACKERS)))
    for row, (clip, frame) in zip(axes, moments, strict=True):
        motion = ps.load(folder / "cmu" / f"{clip}.bvh", repair="cmu", first_frame=1)[: frame + 1]
        body = ps.Humanoid(motion.skeleton)
        frames, joints = motion.skeleton.forward(motion.pose), smpl_joints(body).joints
        pelvis = body.canonical_orientation(frames, body.index("hips"))[-1]
        ahead = pm.rotate(pelvis, [0.0, 0.0, 1.0])
        view = (float(np.arctan2(ahead[0], ahead[2])) + 0.6, 0.12)
        drawn = {f"captured ({clip}, frame {frame})": (motion[frame], "")}
        for label, markers in TRACKERS.items():
            known = {r: body.canonical_orientation(frames, body.index(r)) for r in markers if r in ORIENTED}
            points = frames.positions[:, [body.index(role) for role in markers]]
            solver = ps.SequentialIK(body, markers=markers)
            pose = solver.track(points, fps=motion.fps, orientations=known).motion[frame]
            away = motion.skeleton.forward(pose).positions[joints] - frames.positions[-1, joints]
            drawn[label] = (pose, f"{100.0 * np.linalg.norm(away, axis=-1).mean():.1f} cm")
        for axis, (label, (pose, note)) in zip(row, drawn.items(), strict=True):
            axis.imshow(portrait(body, pose, view=view, size=(330, 450), samples=2))
            axis.set_title(f"{label}\n{note}", fontsize=9)
            axis.axis("off")
    given.path.parent.mkdir(parents=True, exist_ok=True)
    sheet.savefig(given.path)
    print(given.path)


if __name__ == "__main__":
    main()
