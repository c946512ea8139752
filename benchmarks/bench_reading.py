"""Reading and writing motion files beside the packages people use.

The clip has 4511 frames of 31 joints (3.4 MB of text). What the contenders hand over differs: Posable gives unit
quaternions; pybvh gives Euler angles; upc-pymotion angles, and quaternions after `get_data`; bvhio gives a Python
object for each joint and frame. Before anything is timed, the numbers read are compared.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import bvhio
import numpy as np
import pybvh
from pymotion.io.bvh import BVH

import posable as ps

from .harness import Contender, Table, compare, data_dir

CLIP = "01_03"


def run() -> list[Table]:
    folder = data_dir()
    if folder is None:
        raise SystemExit("needs the clips of $POSABLE_DATA")
    path = folder / "cmu" / f"{CLIP}.bvh"
    motion = ps.load(path)
    _agree(path, motion)
    with tempfile.TemporaryDirectory() as scratch:
        ours = Path(scratch) / "ours.bvh"
        ps.save(motion, ours)
        ps.save(motion, Path(scratch) / "ours.npz")
        tables = [
            _reading(path, f"Reading {CLIP}.bvh, {len(motion)} frames of 31 joints"),
            _reading(ours, "Reading the same motion as Posable writes it, nine decimals (5.7 MB)"),
            _own(path, ours.with_suffix(".npz"), folder / "cmu" / "asfamc" / f"{CLIP}.amc"),
            _writing(path, motion, Path(scratch)),
        ]
    return tables


def _reading(path: Path, title: str) -> Table:
    name = str(path)
    return compare(
        title,
        [
            Contender("posable", lambda: ps.load(path), note="quaternions"),
            Contender("pybvh", lambda: pybvh.read_bvh_file(name), note="Euler angles"),
            Contender("upc-pymotion", lambda: BVH().load(name), note="Euler angles"),
            Contender("upc-pymotion, get_data", lambda: _pymotion(name), note="quaternions"),
            Contender("bvhio", lambda: bvhio.readAsBvh(name), note="objects"),
        ],
        unit="ms",
        seconds=4,
    )


def _own(bvh: Path, npz: Path, amc: Path) -> Table:
    return compare(
        "The same motion in other formats",
        [
            Contender("posable .bvh", lambda: ps.load(bvh)),
            Contender("posable .npz", lambda: ps.load(npz)),
            Contender("posable .amc with .asf", lambda: ps.load(amc)),
        ],
        unit="ms",
        seconds=2,
    )


def _writing(path: Path, motion: ps.Motion, folder: Path) -> Table:
    theirs, other = pybvh.read_bvh_file(str(path)), BVH()
    other.load(str(path))
    return compare(
        f"Writing {CLIP}.bvh",
        [
            Contender("posable", lambda: ps.save(motion, folder / "a.bvh"), note="from quaternions, nine decimals"),
            Contender(
                "pybvh", lambda: pybvh.write_bvh_file(theirs, folder / "b.bvh"), note="from angles, six decimals"
            ),
            Contender("upc-pymotion", lambda: other.save(str(folder / "c.bvh")), note="from angles, six decimals"),
        ],
        unit="ms",
        seconds=4,
    )


def _pymotion(name: str) -> object:
    bvh = BVH()
    bvh.load(name)
    return bvh.get_data()


def _agree(path: Path, motion: ps.Motion) -> None:
    rotations = _pymotion(str(path))[0]
    dot = np.abs((rotations * motion.pose.rotations).sum(axis=-1))
    assert np.allclose(dot, 1, atol=1e-6), "upc-pymotion reads other rotations"
    places = pybvh.read_bvh_file(str(path)).root_pos
    assert np.allclose(places, motion.pose.translation), "pybvh reads other places"
