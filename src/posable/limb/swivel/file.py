"""Files of `SwivelTable`: an archive of a header and the angles, some 5 kB (`compute.archive`).

Version 1 has the members `header` (JSON text as bytes), `angles` (V, K) float32 [rad] and `distances` (K,) float64.
"""

from __future__ import annotations

import os
from typing import Literal

import msgspec
import numpy as np

from ...compute import FormatError
from ...compute.archive import read_archive, write_archive
from ...compute.types import Floats
from ..range.sphere import MAX_SAMPLES

VERSION = 1
MAX_BYTES = 100_000_000
MEMBERS = {"header": ("|u1", 1), "angles": ("<f4", 2), "distances": ("<f8", 1)}


class Header(msgspec.Struct, forbid_unknown_fields=True):
    """The header of a file."""

    format: Literal["posable-swivels"]
    version: Literal[1]
    limb: Literal["right_arm", "left_arm", "right_leg", "left_leg"]
    origin: dict[str, str]


def write(path: str | os.PathLike[str], name: str, angles: Floats, distances: Floats, origin: dict[str, str]) -> None:
    """Write a table; the file appears whole or not at all."""
    header = Header("posable-swivels", VERSION, name, origin)  # type: ignore[arg-type]  # one of LIMBS
    text = np.frombuffer(msgspec.json.encode(header), np.uint8)
    write_archive(path, {"header": text, "angles": angles.astype("<f4"), "distances": distances})


def read(path: str | os.PathLike[str]) -> tuple[str, Floats, Floats, dict[str, str]]:
    """Return (limb, angles (V, K), distances (K,), origin) of a file; refuses what is not as we write it."""
    arrays = read_archive(path, MEMBERS, MAX_BYTES)
    for name in MEMBERS:
        if name not in arrays:
            raise FormatError(path, f"member {name!r} is missing")
    try:
        header = msgspec.json.decode(arrays["header"].tobytes(), type=Header, strict=True)
    except (msgspec.DecodeError, msgspec.ValidationError, RecursionError) as error:
        raise FormatError(path, f"is no table of swivels of this Posable: {error}", "member 'header'") from error
    if len(arrays["angles"]) > MAX_SAMPLES:
        raise FormatError(
            path, f"has {len(arrays['angles'])} directions; up to {MAX_SAMPLES} are read", "member 'angles'"
        )
    return header.limb, arrays["angles"].astype(np.float64), arrays["distances"], header.origin
