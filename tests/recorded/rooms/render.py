"""Pictures."""

import numpy as np

import posable as ps
from posable.render import portrait, strip

from ..calls import call
from ..inputs import body, sample


@call(within=2.0)
def pictures():
    """Colours are whole numbers; on another machine an edge may fall on the next pixel."""
    picture = portrait(body(), sample("dance")[10], view=(0.5, 0.2), size=(60, 80), samples=1)
    row = strip(sample("walk"), frames=3, view="side", height=60, samples=1)
    return {
        "shapes": np.array([picture.shape, row.shape]),
        "portrait": picture.tobytes(),
        "strip": row.tobytes(),
        "mean": picture.astype(float).mean(axis=(0, 1)),
        "frames": strip(ps.samples.throw(body(), fps=10.0), frames=[0, 5], columns=1, height=40, travel=True).tobytes(),
    }
