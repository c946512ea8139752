"""C3D files that claim what they have not, or have a person for hours."""

from __future__ import annotations

import numpy as np

from posable.formats.c3d.marker_sets import NEEDED

from ..formats.test_c3d import plain
from .cases import case, written


def standing(frames):
    """A person's markers in so many frames, all of them somewhere [mm]."""
    rng = np.random.default_rng(1)
    names = [*NEEDED, "LPSI", "RPSI"]
    return names, np.repeat(rng.uniform(0.0, 1800.0, size=(1, len(names), 3)), frames, axis=0)


@case("load")
def c3d_of_many_points(folder):
    return written(folder / "a.c3d", plain(np.ones((1, 20_000, 3)), labels=["M"] * 20))


@case("load")
def c3d_of_many_frames_of_one_point(folder):
    data = plain(np.ones((1, 1, 3)), integer=True, frames=65_535)
    return written(folder / "a.c3d", data + bytes(8 * 70_000))


@case("load")
def c3d_of_a_person_who_is_nobody(folder):
    names, places = standing(200)
    return written(folder / "a.c3d", plain(places, labels=names))


@case("load")
def c3d_whose_parameters_never_end(folder):
    data = bytearray(plain(np.ones((2, 2, 3))))
    data[514] = 255
    return written(folder / "a.c3d", bytes(data) + b"\x01\x01" * 70_000)
