"""How a BVH file that is not in metres tells us its unit, without telling anybody else.

BVH has no unit and no comments. A file we write in metres (the default, and what Blender assumes) needs no mark:
without one, and without `scale=`, a unit is a metre. A file written with `save(..., scale=0.01)`, as
MotionBuilder wants it, carries its scale behind the word HIERARCHY as blanks and tabs, which every reader skips:
three.js, for one, complains about anything visible there. An editor that trims lines removes the mark; the reader
then notes that it took the numbers for metres.
"""

from __future__ import annotations

import math

_SIGNATURE = "\t \t\t"
_BITS = 7  # of an ASCII character


def unit_mark(scale: float) -> str:
    """What to write behind HIERARCHY for a file unit of `scale` metres."""
    if scale == 1.0:
        return ""
    bits = "".join(f"{ord(character):0{_BITS}b}" for character in repr(scale))
    return _SIGNATURE + bits.replace("0", " ").replace("1", "\t")


def read_unit_mark(behind: bytes) -> float | None:
    """The scale in what stands behind HIERARCHY; None without a mark of ours."""
    mark = behind.decode("latin-1")
    if not mark.startswith(_SIGNATURE) or mark.strip(" \t"):
        return None
    bits = mark[len(_SIGNATURE) :].replace(" ", "0").replace("\t", "1")
    if not bits or len(bits) % _BITS or len(bits) > 40 * _BITS:
        return None
    text = "".join(chr(int(bits[k : k + _BITS], 2)) for k in range(0, len(bits), _BITS))
    try:
        scale = float(text)
    except ValueError:
        return None
    return scale if math.isfinite(scale) and scale > 0 else None
