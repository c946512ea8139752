"""The built-in figure and its motions as pictures and as a table of measures, for the documentation.

python tools/draw_samples.py docs/_static          # figure.png and one strip a motion
python tools/draw_samples.py --table               # what docs/figure.md states about them
"""

import sys
from pathlib import Path

import numpy as np

import posable as ps
import posable.math as pm
from posable.body.measures import sole_of, sole_points
from posable.limits import Limits
from posable.render import portrait, save_picture, strip

STRIPS = {  # view, spacing [m], moments [s]
    "walk": ("side", None, np.linspace(0.0, 1.06, 11)),
    "run": ("side", None, np.linspace(0.0, 0.72, 10)),
    "boxing": ((0.75, 0.18), 1.0, [0.3, 0.75, 1.95, 2.15, 2.35, 2.7, 3.35, 3.78, 4.05, 4.7, 5.05]),
    "reach": ((-0.35, 0.14), 0.95, np.linspace(0.3, 9.0, 12)),
    "dance": ((-0.25, 0.14), 1.0, np.linspace(0.0, 8.25, 12)),
    "throw": ("left", 1.0, [0.35, 0.7, 0.95, 1.2, 1.35, 1.5, 1.6, 1.67, 1.75, 1.9, 2.2, 2.8]),
}


def draw(folder: Path) -> None:
    body = ps.figure()
    views = ("front", "three_quarter", "side", "back")
    people = [portrait(body, view=view, size=(230, 440)) for view in views]
    people += [portrait(ps.figure(1.2, thigh=0.26, calf=0.25), view="three_quarter", size=(230, 440))]
    save_picture(np.concatenate(people, axis=1), folder / "figure.png")
    for name, (view, spacing, moments) in STRIPS.items():
        motion = getattr(ps.samples, name)(body)
        frames = np.round(np.array(moments) * motion.fps).astype(int)
        picture = strip(body, motion, frames, view=view, spacing=spacing, height=190)
        save_picture(picture, folder / f"sample_{name}.png")
        print(folder / f"sample_{name}.png", picture.shape)


def measures(body: ps.Humanoid, motion: ps.Motion) -> list[float]:
    """Greatest slide [mm/s], lowest sole [mm], least knee and elbow angles [deg], frames inside the limits [%]."""
    frames = body.skeleton.forward(motion.pose)
    slide, lowest = 0.0, 0.0
    for side in ("left", "right"):
        foot, toes = body.index(f"{side}_foot"), body.index(f"{side}_toes")
        rear, tip = sole_points(body, side)
        local = ((foot, rear[0]), (toes, np.array([0.0, -sole_of(body, side).hinge, 0.0])), (toes, tip[0]))
        heel, ball, end = (frames.positions[:, j] + pm.rotate(frames.orientations[:, j], p) for j, p in local)
        lowest = min(lowest, *(float(p[:, 1].min()) for p in (heel, ball, end)))
        for point in (heel, ball):
            low = point[:, 1] < 2e-4
            speed = np.linalg.norm((point[2:] - point[:-2])[:, [0, 2]], axis=-1) * motion.fps / 2
            slide = max(slide, float(speed[low[:-2] & low[1:-1] & low[2:]].max(initial=0.0)))
    posture, limits = body.canonical(motion.pose), Limits.human()
    bend = {
        part: min(
            float(
                np.linalg.norm(
                    pm.log(pm.swing_twist(posture.rotation(f"{s}_{part}"), [0.0, -1.0, 0.0])[0]), axis=-1
                ).min()
            )
            for s in ("left", "right")
        )
        for part in ("lower_leg", "lower_arm")
    }
    inside = [limits.contains(role, posture.rotation(role)).mean() for role in posture.roles if role in limits.names]
    return [
        1e3 * slide,
        1e3 * lowest,
        *np.degrees([bend["lower_leg"], bend["lower_arm"]]),
        100 * float(np.mean(inside)),
    ]


def table() -> None:
    body = ps.figure()
    heads = (
        "motion",
        "seconds",
        "slide, mm/s",
        "below the floor, mm",
        "least knee, °",
        "least elbow, °",
        "inside limits, %",
    )
    print("|", " | ".join(heads), "|")
    print("|---" * len(heads), "|", sep="")
    for name in ps.samples.NAMES:
        motion = getattr(ps.samples, name)(body)
        slide, low, knee, elbow, inside = measures(body, motion)
        cells = (f"`{name}`", len(motion) / motion.fps, slide, abs(low), round(knee), round(elbow), inside)
        print("|", " | ".join(f"{cell:.1f}" if isinstance(cell, float) else str(cell) for cell in cells), "|")


if __name__ == "__main__":
    if sys.argv[1:] == ["--table"]:
        table()
    else:
        draw(Path(sys.argv[1]))
