"""Calibrations in files: JSON that a person can read."""

from __future__ import annotations

from os import PathLike
from typing import Annotated

import msgspec
import numpy as np

from ..compute import FormatError, PosableError
from ..compute.documents import read_document, write_document
from .calibration import Calibration

FORMAT = "posable-calibration/1"
LARGEST = 1_000_000  # [bytes]


class TrackerEntry(msgspec.Struct, forbid_unknown_fields=True):
    """A tracker: its part, where it sits there [m], and how it is turned there."""

    part: str
    offset: tuple[float, float, float]
    rotation: tuple[float, float, float, float]


class CalibrationFile(msgspec.Struct, forbid_unknown_fields=True):
    """As `Calibration`."""

    format: str
    trackers: Annotated[list[TrackerEntry], msgspec.Meta(min_length=1, max_length=64)]
    scales: dict[str, float]


def write(path: str | PathLike[str], calibration: Calibration) -> None:
    """See `Calibration.save`."""
    trackers = [
        {"part": role, "offset": offset.tolist(), "rotation": rotation.tolist()}
        for role, offset, rotation in zip(calibration.markers, calibration.offsets, calibration.rotations, strict=True)
    ]
    scales = {name: float(scale) for name, scale in calibration.scales.items()}
    document = {"format": FORMAT, "trackers": trackers, "scales": scales}
    write_document(path, document, CalibrationFile)


def read(path: str | PathLike[str]) -> Calibration:
    """See `Calibration.load`."""
    found = read_document(path, CalibrationFile, FORMAT, LARGEST)
    rotations = np.array([tracker.rotation for tracker in found.trackers])
    size = np.linalg.norm(rotations, axis=-1, keepdims=True)
    if (np.abs(size - 1.0) > 1e-3).any():
        raise FormatError(path, "has a rotation that is not a unit quaternion", "trackers")
    try:
        return Calibration(
            tuple(tracker.part for tracker in found.trackers),
            np.array([tracker.offset for tracker in found.trackers]),
            rotations,
            dict(found.scales),
        )
    except PosableError as error:
        raise FormatError(path, str(error)) from error
