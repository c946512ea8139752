"""Numbers for a page: a header in JSON and the arrays that it names, compressed together, as base64.

Base64 has no character that ends an element, so whatever a file calls its joints, it cannot become part of the page:
names lie in the header, inside, and the page shows them as text.
"""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...compute.types import Floats
from ...skeleton import Motion

ROTATION = 32767
"""A part of a quaternion, -1 to 1, is stored as a whole number of this many: 0.002 degrees."""
TYPES = {np.dtype(name): name for name in ("f4", "i2", "u2", "u4", "i1", "u1")}


class Packer:
    """Collects arrays; `text(header)` is what a page carries."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._length = 0

    def array(self, values: NDArray[Any], *, by_row: bool = False) -> dict[str, Any]:
        """Store an array; return what stands for it in the header.

        Args:
            values: of one of `TYPES`.
            by_row: store the differences from row to row of the first axis, which compress better; for whole numbers.
        """
        columns = int(np.prod(values.shape[1:])) if by_row and len(values) else 0
        stored = values.copy()
        if columns:
            stored[1:] = values[1:] - values[:-1]  # wraps around, as the reader's sum does
        kind = TYPES[stored.dtype]
        data = np.ascontiguousarray(stored, dtype=stored.dtype.newbyteorder("<")).tobytes()
        start = self._length
        self._parts += [data, b"\0" * (-len(data) % 4)]
        self._length += len(data) + (-len(data) % 4)
        return {"array": [kind, start, stored.size, columns]}

    def text(self, header: dict[str, Any]) -> str:
        """Return header and arrays, compressed, as base64."""
        said = json.dumps(header, allow_nan=False, separators=(",", ":")).encode()
        whole = len(said).to_bytes(4, "little") + said + b"".join(self._parts)
        return base64.b64encode(zlib.compress(whole, 9)).decode("ascii")


def packed_motion(packer: Packer, motion: Motion) -> dict[str, Any]:
    """Store a motion's poses and how its joints hang together; an empty one is its skeleton at rest.

    A frame with a number that is not finite is stored with its root at NaN: the page does not draw the body there.
    """
    skeleton = motion.skeleton
    pose = motion.pose
    translation, rotations, offsets = pose.translation, pose.rotations, pose.offsets
    if not len(motion):
        translation, rotations, offsets = skeleton.rest.translation[None], skeleton.rest_rotations[None], None
    parts = [translation, rotations.reshape(len(rotations), -1)]
    if offsets is not None:
        parts.append(offsets[:, 1:].reshape(len(offsets), -1))
    known = np.asarray(np.isfinite(np.concatenate(parts, axis=1)).all(axis=1, keepdims=True))
    root = np.where(known, translation, np.nan).astype(np.float32)
    local = np.where(known[..., None], rotations, 0.0)
    whole = np.rint(ROTATION * _continuous(local)).astype(np.int16)
    stored = {
        "joints": list(skeleton.names),
        "parents": skeleton.parents.tolist(),
        "offsets": packer.array(skeleton.offsets.astype(np.float32)),
        "fps": float(motion.fps),
        "frames": len(motion),
        "translation": packer.array(root),
        "rotations": packer.array(whole, by_row=True),
    }
    if offsets is not None:
        stored["moving"] = packer.array(np.where(np.isfinite(offsets), offsets, 0.0).astype(np.float32))
    return stored


def _continuous(rotations: Floats) -> Floats:
    """Return unit quaternions (F, J, 4) of the same rotations, each in the half space of the one before it."""
    unit = rotations / np.maximum(np.linalg.norm(rotations, axis=-1, keepdims=True), 1e-12)
    dots = np.einsum("fjc,fjc->fj", unit[1:], unit[:-1])
    signs = np.cumprod(np.where(dots < 0.0, -1.0, 1.0), axis=0)
    unit[1:] *= signs[..., None]
    return np.asarray(unit)
