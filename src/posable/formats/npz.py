"""Our own format: a NumPy archive of plain arrays, without pickles, that gives back the same bits.

It stores the skeleton with kinds, axes and end sites, every pose with joint translations, rate, name and notes; what
it does not store is a character's mesh (glTF does). `numpy.load` reads it too. Members are stored, not compressed:
motion hardly shrinks, and what a file can unpack to is then bounded by its own size.

Version 1 holds, under these names: `format` ("posable-motion"), `version`, `names` (J,), `parents` (J,),
`offsets` (J, 3), `rest_rotations` (J, 4), `kinds` (J,), `axes` (J, 2, 3), `end_parents` (E,), `end_offsets` (E, 3),
`end_names` (E,), `translation` (F, 3), `rotations` (F, J, 4), `fps`, `name`, `notes` (N,), and `moved` (F, J, 3)
only where the motion moves joints. Metres, `wxyz`, Y up. A reader of version 1 refuses later versions.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..compute import FormatError, PosableError
from ..compute.archive import member_names, read_any_archive, read_archive, write_archive
from ..skeleton import Motion, Pose, Skeleton
from ..skeleton.dofs import kind_codes, pack
from . import smpl
from .doubts import doubts

FORMAT = "posable-motion"
VERSION = 1
MAX_BYTES = 1 << 34
BLOCK = 4096  # frames whose rotations are looked at, at once
_UNIT = 1e-6  # how far a rotation's length may be from 1

# What a member may be: its numbers ("U": text) and its number of axes.
_MEMBERS = {
    "format": ("U", 0), "version": ("<i8", 0), "fps": ("<f8", 0), "name": ("U", 0), "notes": ("U", 1),
    "names": ("U", 1), "parents": ("<i8", 1), "offsets": ("<f8", 2), "rest_rotations": ("<f8", 2),
    "kinds": ("U", 1), "axes": ("<f8", 3),
    "end_parents": ("<i8", 1), "end_offsets": ("<f8", 2), "end_names": ("U", 1),
    "translation": ("<f8", 2), "rotations": ("<f8", 3), "moved": ("<f8", 3),
}  # fmt: skip


def write(motion: Motion, path: Path, *, layout: str = FORMAT, character: str | os.PathLike[str] | None = None) -> None:
    """Write a motion with everything but its mesh; in another layout, as AMASS or trainers of controllers have it."""
    if layout == smpl.LAYOUT:
        smpl.write(motion, path, character=character)
        return
    if character is not None:
        raise PosableError(f"character={str(character)!r} is for layout='amass': an archive has no meshes")
    if layout not in (FORMAT, "posable"):
        from .trajectory import archives

        archives.write(motion, path, layout)
        return
    skeleton, pose = motion.skeleton, motion.pose
    if not pose.is_finite():
        raise PosableError(f"cannot write {str(path)!r}: the motion has numbers that are not finite")
    if _no_rotation(pose) is not None:
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
    write_archive(path, arrays)


def read(
    path: Path,
    *,
    robot: str | os.PathLike[str] | Skeleton | None = None,
    fps: float | None = None,
    up: str | None = None,
    body_model: str | os.PathLike[str] | None = None,
) -> Motion:
    """Read a motion of our own format, version 1, one of AMASS, or a robot's in a layout of `trajectory.archives`.

    `load` itself replaces the rate of our own by `fps`.
    """
    from .trajectory import archives

    ours = {"format", "names"} & (members := member_names(path))
    if not ours and members & smpl.TELLS and robot is None:
        return smpl.read(path, up=up, fps=fps, body_model=body_model)
    for option, value in (("up", up), ("body_model", body_model)):
        if value is not None:
            raise PosableError(f"{str(path)!r} is no file of AMASS; of an archive, option {option}= is for those")
    if not ours and members & set(archives.MEMBERS):
        return archives.read(path, read_any_archive(path, MAX_BYTES), robot=robot, fps=fps)
    if members and not members & set(_MEMBERS):
        listed = ", ".join(sorted(members))[:200]
        raise FormatError(
            path,
            "is no motion of Posable, and none of AMASS, which has 'trans' and 'poses', or 'root_orient' and "
            f"'pose_body': its members are {listed}",
        )
    if robot is not None:
        raise PosableError(f"{str(path)!r} is no robot's motion for training; option robot= is for those")
    try:
        arrays = read_archive(path, _MEMBERS, MAX_BYTES)
        if str(arrays.get("format", "")) != FORMAT:
            raise FormatError(path, f"is no motion of Posable: its member 'format' is not {FORMAT!r}")
        if (version := int(arrays.get("version", np.int64(0)))) != VERSION:
            raise FormatError(path, f"has version {version}; this Posable reads version {VERSION}")
        for field in _MEMBERS:
            if field not in arrays and field != "moved":
                raise FormatError(path, f"member {field!r} is missing")
        motion = _motion(arrays)
        # A file made of another one has its notes already, with the scale that was meant for that one.
        fresh = [] if any("joints span" in note for note in motion.notes) else doubts(motion, None)
        return motion.replace(notes=(*motion.notes, *fresh))
    except FormatError:
        raise
    except PosableError as error:  # arrays that do not fit together
        raise FormatError(path, str(error)) from error


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
    if (bad := _no_rotation(pose)) is not None:
        frame, joint = bad
        raise PosableError(f"the rotation of joint {skeleton.names[joint]!r} in frame {frame} is no unit quaternion")
    return Motion(skeleton, pose, float(arrays["fps"]), str(arrays["name"]), tuple(arrays["notes"].tolist()))


def _no_rotation(pose: Pose) -> tuple[int, int] | None:
    """Return the first frame and joint whose rotation is no unit quaternion, a block of frames at once."""
    for first in range(0, len(pose), BLOCK):
        off = np.abs(np.linalg.norm(pose.rotations[first : first + BLOCK], axis=-1) - 1.0) > _UNIT
        if off.any():
            frame, joint = np.argwhere(off)[0].tolist()
            return first + frame, joint
    return None


def _keep_bits(skeleton: Skeleton, arrays: dict[str, NDArray[Any]]) -> None:
    """Undo the last bit of the constructor's normalisation: what was unit when written is kept as it was."""
    for field in ("rest_rotations", "axes"):
        if np.allclose(getattr(skeleton, field), arrays[field], rtol=0, atol=1e-14):
            setattr(skeleton, field, arrays[field])
    codes = kind_codes(skeleton.kinds)
    skeleton.packed = pack(skeleton.parents, codes, skeleton.offsets, skeleton.rest_rotations, skeleton.axes)
