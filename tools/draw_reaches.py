"""The example behaviours side by side, for the documentation: the same ten targets, a row a mood.

python tools/draw_reaches.py docs/_static/reach-styles.png
"""

import sys

import numpy as np

import posable as ps
from posable.reach.examples import EXAMPLES
from posable.render import save_picture, strip

TARGETS = [  # [m] where the right wrist goes; the figure stands at the origin, faces +Z, its right is -X
    (-0.80, 1.35, 0.10),  # aside
    (-0.55, 1.30, -0.40),  # behind
    (-0.25, 1.95, 0.30),  # a high shelf
    (-0.15, 1.20, 0.30),  # near: little of the body is needed
    (-0.30, 0.68, 0.00),  # beside the knee
    (-0.15, 1.45, 0.75),  # ahead
    (0.35, 1.35, 0.60),  # across
    (-0.20, 0.90, 0.75),  # a low table
    (0.25, 0.60, 0.50),  # low, across
    (-0.15, 0.45, 0.50),  # in front of the knees
]


def draw(height: int = 300) -> np.ndarray:
    """The sheet, (3 * height, W, 3) uint8."""
    body, rows = ps.figure(), []
    for name in EXAMPLES:
        answer = ps.Reacher(body, right=ps.Behaviour.example(name)).solve(right=ps.Target(TARGETS))
        print(
            f"{name}: {int(np.sum(answer.ok))} of {len(TARGETS)} reached, weights {np.round(answer.weight, 2).tolist()}"
        )
        rows.append(strip(body, answer.pose, list(range(len(TARGETS))), view=(-0.8, 0.12), spacing=1.1, height=height))
    width = max(row.shape[1] for row in rows)
    return np.concatenate(
        [np.pad(row, ((0, 0), (0, width - row.shape[1]), (0, 0)), constant_values=255) for row in rows]
    )


if __name__ == "__main__":
    image = draw()
    save_picture(image, sys.argv[1])
    print(f"{sys.argv[1]}: {image.shape[1]} x {image.shape[0]}")
