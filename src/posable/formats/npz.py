"""Our own format: a NumPy archive of plain arrays, without pickles, that gives back the same bits.

It keeps the skeleton with kinds, axes and end sites, every pose with joint translations, rate, name and notes; what
it does not keep is a character's mesh (glTF does). `numpy.load` reads it too. Members are stored, not compressed:
motion hardly shrinks, and what a file can unpack to is then bounded by its own size.

Version 1 holds, under these names: `format` ("posable-motion"), `version`, `names` (J,), `parents` (J,),
`offsets` (J, 3), `rest_rotations` (J, 4), `kinds` (J,), `axes` (J, 2, 3), `end_parents` (E,), `end_offsets` (E, 3),
`end_names` (E,), `translation` (F, 3), `rotations` (F, J, 4), `fps`, `name`, `notes` (N,), and `moved` (F, J, 3)
only where the motion moves joints. Metres, `wxyz`, Y up. A reader of version 1 refuses later versions.
"""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..compute import FormatError, PosableError, atomic_write
from ..skeleton import Motion, Pose, Skeleton
from ..skeleton.dofs import kind_codes, pack

FORMAT = "posable-motion"
VERSION = 1
MAX_BYTES = 1 << 34
_MAX_HEADER = 10_000  # bytes of a member's own description

# What the standard library raises for archives that are damaged or use features nobody needs here.
_BROKEN = (zipfile.BadZipFile, zipfile.LargeZipFile, struct.error, ValueError, OSError, EOFError, RuntimeError)
_UNIT = 1e-6  # how far a rotation's length may be from 1

# What a member may be: the kind of its numbers ("U" text, "f" and "i" of 8 bytes) and its number of axes.
_MEMBERS = {
    "format": ("U", 0), "version": ("i", 0), "fps": ("f", 0), "name": ("U", 0), "notes": ("U", 1),
    "names": ("U", 1), "parents": ("i", 1), "offsets": ("f", 2), "rest_rotations": ("f", 2),
    "kinds": ("U", 1), "axes": ("f", 3),
    "end_parents": ("i", 1), "end_offsets": ("f", 2), "end_names": ("U", 1),
    "translation": ("f", 2), "rotations": ("f", 3), "moved": ("f", 3),
}  # fmt: skip


def write(motion: Motion, path: Path, options: Mapping[str, Any]) -> None:
    """Write a motion with everything but its mesh."""
    skeleton, pose = motion.skeleton, motion.pose
    if not pose.is_finite():
        raise PosableError(f"cannot write {str(path)!r}: the motion has numbers that are not finite")
    if (np.abs(np.linalg.norm(pose.rotations, axis=-1) - 1) > _UNIT).any():
        raise PosableError(f"cannot write {str(path)!r}: the motion has rotations that are no unit quaternions")
    arrays: dict[str, Any] = {
        "format": FORMAT,
        "version": np.int64(VERSION),
        "fps": np.float64(motion.fps),
        "name": motion.name,
        "notes": np.array(motion.notes, dtype=np.str_),
        "names": np.array(skeleton.names, dtype=np.str_),
        "kinds": np.array(skeleton.kinds, dtype=np.str_),
        "end_names": np.array(skeleton.end_names, dtype=np.str_),
        "translation": pose.translation,
        "rotations": pose.rotations,
    }
    for field in ("parents", "offsets", "rest_rotations", "axes", "end_parents", "end_offsets"):
        arrays[field] = getattr(skeleton, field)
    if pose.offsets is not None:
        arrays["moved"] = pose.offsets
    for field, value in arrays.items():
        if _MEMBERS[field][0] == "U" and "\0" in "".join(np.asarray(value).ravel().tolist()):
            raise PosableError(f"cannot write {str(path)!r}: {field} has a character of code zero in it")
    with atomic_write(path) as temporary:
        np.savez(temporary, allow_pickle=False, **arrays)


def read(path: Path, options: Mapping[str, Any]) -> Motion:
    """Read a motion of our own format, version 1."""
    try:
        arrays = _arrays(path)
        if str(arrays.get("format", "")) != FORMAT:
            raise FormatError(path, f"is no motion of Posable: its member 'format' is not {FORMAT!r}")
        if (version := int(arrays.get("version", np.int64(0)))) != VERSION:
            raise FormatError(path, f"has version {version}; this Posable reads version {VERSION}")
        for field in _MEMBERS:
            if field not in arrays and field != "moved":
                raise FormatError(path, f"member {field!r} is missing")
        return _motion(arrays)
    except FormatError:
        raise
    except PosableError as error:  # arrays that do not fit together
        raise FormatError(path, str(error)) from error
    except _BROKEN as error:
        raise FormatError(path, f"is no archive of NumPy arrays as we write them: {error}") from error


def _arrays(path: Path) -> dict[str, NDArray[Any]]:
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise FormatError(path, f"has {size} bytes; files up to {MAX_BYTES} are read")
    arrays: dict[str, NDArray[Any]] = {}
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            field = info.filename.removesuffix(".npy")
            place = f"member {field[:40]!r}"
            if field not in _MEMBERS or field in arrays or info.flag_bits & 1:
                raise FormatError(path, "is not one of ours, or there twice, or encrypted", place)
            if (
                info.compress_type != zipfile.ZIP_STORED
                or info.file_size != info.compress_size
                or info.file_size > size
            ):
                raise FormatError(path, "is compressed or larger than the file; members are stored as they are", place)
            arrays[field] = _array(path, place, archive.read(info), *_MEMBERS[field])
    return arrays


def _array(path: Path, place: str, data: bytes, kind: str, axes: int) -> NDArray[Any]:
    """An array out of a member's bytes, which must be exactly as many as its header says."""
    file = io.BytesIO(data)
    try:
        if np.lib.format.read_magic(file) != (1, 0):
            raise ValueError("unknown version of an array")
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(file, max_header_size=_MAX_HEADER)
    except Exception as error:  # NumPy evaluates the header as Python literals: many things can go wrong there
        raise FormatError(path, f"its description cannot be read: {error}", place) from error
    fits = dtype.kind == kind and (kind == "U" or dtype == np.dtype(f"<{kind}8"))
    if not fits or len(shape) != axes or fortran:
        raise FormatError(
            path, f"has numbers of kind {dtype} and shape {shape}; expected {axes} axes of '{kind}'", place
        )
    body = memoryview(data)[file.tell() :]
    count = 1
    for length in shape:
        count *= length
    if min(shape, default=0) < 0 or count * dtype.itemsize != len(body):
        raise FormatError(path, f"has {len(body)} bytes for an array of shape {shape} and kind {dtype}", place)
    if dtype.itemsize == 0:  # NumPy never writes text of no width, and nothing would bound its number
        raise FormatError(path, "has text of no width", place)
    array: NDArray[Any] = np.frombuffer(body, dtype).reshape(shape).copy()
    if kind == "f" and not np.isfinite(array).all():
        raise FormatError(path, "has numbers that are not finite", place)
    if kind == "U":
        "".join(array.ravel().tolist()).encode()  # raises a ValueError for what is no character
    return array


def _motion(arrays: dict[str, NDArray[Any]]) -> Motion:
    skeleton = Skeleton(
        arrays["names"].tolist(),
        arrays["parents"],
        arrays["offsets"],
        rest_rotations=arrays["rest_rotations"],
        kinds=arrays["kinds"].tolist(),
        axes=arrays["axes"],
        end_parents=arrays["end_parents"],
        end_offsets=arrays["end_offsets"],
        end_names=arrays["end_names"].tolist(),
    )
    _keep_bits(skeleton, arrays)
    pose = Pose(arrays["translation"], arrays["rotations"], arrays.get("moved"))
    if (bad := np.argwhere(np.abs(np.linalg.norm(pose.rotations, axis=-1) - 1) > _UNIT)).size:
        frame, joint = bad[0].tolist()
        raise PosableError(f"the rotation of joint {skeleton.names[joint]!r} in frame {frame} is no unit quaternion")
    return Motion(skeleton, pose, float(arrays["fps"]), str(arrays["name"]), tuple(arrays["notes"].tolist()))


def _keep_bits(skeleton: Skeleton, arrays: dict[str, NDArray[Any]]) -> None:
    """Undo the last bit of the constructor's normalisation: what was unit when written is kept as it was."""
    for field in ("rest_rotations", "axes"):
        if np.allclose(getattr(skeleton, field), arrays[field], rtol=0, atol=1e-14):
            setattr(skeleton, field, arrays[field])
    codes = kind_codes(skeleton.kinds)
    skeleton.packed = pack(skeleton.parents, codes, skeleton.offsets, skeleton.rest_rotations, skeleton.axes)
