"""Files of `LimbRange`: a NumPy archive of a few small arrays, quantised, without pickles, below 8 kB.

Version 1 has the members `header` (JSON text as bytes) and either, for a table, `kept` and `filled` (bits of the
sampled directions: reached, and reached without examples of their own) and `rows` (K, 4) bytes of the reached ones, or,
for harmonics, `coefficients` (6, C) float32. A row is the smallest and the largest distance in steps of 1/255 of the
limb's length, the middle swivel in steps of 2 pi / 256, and half their width in steps of pi / 255, rounded outwards, so
that rounding rejects nothing (specification limb-range, sections 2 and 8). Directions are not stored: they follow from
their number. Left limbs are stored as right ones.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from ...compute import FormatError
from ...compute.archive import read_archive, write_archive
from ...compute.types import Bools, Floats
from ..model import SEARCHES, pack_limb
from .fit import FIELDS, FULL_CIRCLE, MAX_DEGREE
from .limb_range import RangeReport
from .model import Table
from .sphere import MAX_SAMPLES, MIN_SAMPLES

FORMAT, VERSION = "posable-range", 1
MAX_BYTES = 1_000_000
SOURCE_BYTES = 2500  # how much of a file the list of sources may take; the smallest are counted together
_DISTANCE, _ANGLE, _HALF = 255.0, 256.0 / (2.0 * math.pi), 255.0 / math.pi
_MEMBERS = {
    "header": ("|u1", 1),
    "kept": ("|u1", 1),
    "filled": ("|u1", 1),
    "rows": ("|u1", 2),
    "coefficients": ("<f4", 2),
}

Positive = Annotated[float, msgspec.Meta(gt=0.0, lt=1e6)]
Count = Annotated[int, msgspec.Meta(ge=0, lt=1 << 53)]


class Header(msgspec.Struct, forbid_unknown_fields=True):
    """The header of a file."""

    format: Literal["posable-range"]
    version: int
    kind: Literal["table", "harmonics"]
    limb: Literal["right_arm", "left_arm", "right_leg", "left_leg"]
    reference: Literal["transport", "paper"]
    pole: list[float]
    zero: list[float]
    upper: Positive
    lower: Positive
    samples: Annotated[int, msgspec.Meta(ge=MIN_SAMPLES, le=MAX_SAMPLES)]
    radius: Positive
    min_count: Annotated[int, msgspec.Meta(ge=1)]
    trim: Annotated[float, msgspec.Meta(ge=0.0, lt=0.5)]
    fill_holes: bool
    examples: Count
    bent: Count
    dropped: Count
    sources: list[tuple[str, Count]]
    origin: dict[str, str]


def header_of(
    name: str, upper: float, lower: float, settings: Mapping[str, Any], report: RangeReport, compact: bool
) -> Header:
    """Return the header of a range's file."""
    pole, zero = reference_of(name)
    return Header(
        format="posable-range",
        version=VERSION,
        kind="harmonics" if compact else "table",
        limb=name,  # type: ignore[arg-type]  # one of LIMBS
        pole=pole,
        zero=zero,
        upper=upper,
        lower=lower,
        samples=report.samples,
        examples=report.examples,
        bent=report.bent,
        dropped=report.dropped,
        sources=list(report.sources),
        origin=dict(report.origin),
        **settings,
    )


def report_of(header: Header) -> RangeReport:
    """Return the report that a file's header holds."""
    sources = tuple((name, count) for name, count in header.sources)
    return RangeReport(header.examples, header.bent, header.dropped, sources, origin=header.origin)


def reference_of(name: str) -> tuple[list[float], list[float]]:
    """Return (pole, direction of swivel 0 at the pole) of a limb, as `kernels.reference` uses them."""
    row = pack_limb(name, 1.0, 1.0, (0.0, math.pi), False, False, SEARCHES["arm"])[0]
    return [float(row[f"p{axis}"]) for axis in "xyz"], [float(row[f"u{axis}"]) for axis in "xyz"]


def write(path: str | os.PathLike[str], header: Header, table: Table, coefficients: Floats | None) -> None:
    """Write a range; the file appears whole or not at all."""
    header.sources = _shortened(header.sources)
    arrays: dict[str, NDArray[Any]] = {"header": np.frombuffer(msgspec.json.encode(header), np.uint8)}
    if coefficients is None:
        arrays["kept"], arrays["filled"] = np.packbits(table.reached), np.packbits(table.filled)
        arrays["rows"] = quantise(table)
    else:
        arrays["coefficients"] = coefficients.astype("<f4")
    write_archive(path, arrays)


def read(path: str | os.PathLike[str]) -> tuple[Header, Table | None, Floats | None]:
    """Return (header, table or None, coefficients or None) of a file; refuses what is not as we write it."""
    arrays = read_archive(path, _MEMBERS, MAX_BYTES)
    header = _header(path, arrays)
    if header.kind == "harmonics":
        return header, None, _coefficients(path, arrays)
    return header, _table(path, arrays, header.samples), None


def quantise(table: Table) -> NDArray[np.uint8]:
    """Return (K, 4) bytes of the reached rows, rounded outwards."""
    low, high, mid, half = (values[table.reached] for values in (table.low, table.high, table.mid, table.half))
    step = np.round(mid * _ANGLE)
    off = np.abs(mid - step / _ANGLE)
    width = np.ceil((half + off) * _HALF - 1e-6)
    whole = (half > FULL_CIRCLE) | (width / _HALF > FULL_CIRCLE)
    columns = [
        np.floor(low * _DISTANCE + 1e-6),
        np.ceil(high * _DISTANCE - 1e-6),
        np.mod(step, 256.0),
        np.where(whole, 255.0, width),
    ]
    return np.asarray(np.clip(np.stack(columns, axis=-1), 0.0, 255.0), dtype=np.uint8)


def restore(reached: Bools, filled: Bools, rows: NDArray[np.uint8]) -> Table:
    """Return the table of quantised rows."""
    columns = rows.astype(np.float64).T / np.array([_DISTANCE, _DISTANCE, _ANGLE, _HALF])[:, None]
    columns[2] = np.where(columns[2] >= math.pi, columns[2] - 2.0 * math.pi, columns[2])
    fields = []
    for column in columns:
        values = np.zeros(len(reached))
        values[reached] = column
        fields.append(values)
    return Table(reached, filled, *fields)


def _shortened(sources: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Return the largest sources, as many as fit, and the others as one."""
    ordered = sorted(sources, key=lambda source: -source[1])
    room, fitting = SOURCE_BYTES, 0
    for name, count in ordered:
        room -= len(msgspec.json.encode((name, count))) + 1
        if room < 40:
            break
        fitting += 1
    rest = ordered[fitting:]
    return ordered[:fitting] + ([(f"{len(rest)} more", sum(count for _, count in rest))] if rest else [])


def _member(path: str | os.PathLike[str], arrays: dict[str, NDArray[Any]], name: str) -> NDArray[Any]:
    if name not in arrays:
        raise FormatError(path, f"member {name!r} is missing")
    return arrays[name]


def _header(path: str | os.PathLike[str], arrays: dict[str, NDArray[Any]]) -> Header:
    text = _member(path, arrays, "header").tobytes()
    try:
        found = msgspec.json.decode(text)
        if isinstance(found, dict) and found.get("format") == FORMAT and found.get("version") != VERSION:
            raise FormatError(path, f"has version {found.get('version')!r}; this Posable reads version {VERSION}")
        header = msgspec.convert(found, Header, strict=True)
    except (msgspec.DecodeError, msgspec.ValidationError, RecursionError) as error:
        raise FormatError(path, f"is no range of Posable: {error}", "member 'header'") from error
    vectors = [*header.pole, *header.zero]
    if len(header.pole) != 3 or len(header.zero) != 3 or not all(map(math.isfinite, vectors)):
        raise FormatError(path, "pole and zero must be three finite numbers each", "member 'header'")
    pole, zero = reference_of(header.limb)
    if not np.allclose(vectors, [*pole, *zero], rtol=0.0, atol=1e-6):
        raise FormatError(path, f"was learned with another swivel reference than this Posable's {header.limb}")
    return header


def _table(path: str | os.PathLike[str], arrays: dict[str, NDArray[Any]], samples: int) -> Table:
    bits = []
    for name in ("kept", "filled"):
        packed = _member(path, arrays, name)
        if len(packed) != -(-samples // 8):
            raise FormatError(path, f"has {len(packed)} bytes for {samples} samples", f"member {name!r}")
        bits.append(np.unpackbits(packed, count=samples).astype(np.bool_))
    reached, filled = bits
    rows = _member(path, arrays, "rows")
    if rows.shape != (int(reached.sum()), 4):
        raise FormatError(path, f"has shape {rows.shape}; {int(reached.sum())} samples are reached", "member 'rows'")
    if (filled & ~reached).any() or (rows[:, 0] > rows[:, 1]).any():
        raise FormatError(path, "has samples that are filled but not reached, or smallest distances above the largest")
    return restore(reached, filled, rows)


def _coefficients(path: str | os.PathLike[str], arrays: dict[str, NDArray[Any]]) -> Floats:
    found = _member(path, arrays, "coefficients").astype(np.float64)
    counts = {(degree + 1) ** 2 for degree in range(1, MAX_DEGREE + 1)}
    if found.shape[0] != FIELDS or found.shape[1] not in counts or not np.isfinite(found).all():
        raise FormatError(
            path, f"has shape {found.shape}; expected finite (6, (degree + 1)^2)", "member 'coefficients'"
        )
    return found
