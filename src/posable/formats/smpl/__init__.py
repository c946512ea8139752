"""AMASS and other files of SMPL's joints: NumPy archives of axis angles. No body model is shipped, and none is needed.

Members (Mahmood et al. 2019, "AMASS", and its releases of 2021 and later): `trans` (F, 3), `betas`, `gender`,
`mocap_framerate` or `mocap_frame_rate`, and the rotations of all joints either as `poses` (F, 66, 72, 156 or 165) or
as `root_orient` (F, 3), `pose_body` (F, 63) and where there are any `pose_hand` (F, 90), `pose_jaw` (F, 3), `pose_eye`
(F, 6). Each joint has an axis angle in its parent's frame, which is the world's in the T-pose. z is up in AMASS;
SMPL files of other programs often have y up.

Decided where the files are silent: they have no bones, only the `betas` of a model behind a registered download. So
the bones are those of the built-in figure, as large as keeps standing feet from sliding (`standing`), or those that
the joint regressor of the user's own model file gives; and the floor is where feet stand. Vertices are not read.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...compute import FormatError, PosableError
from ...compute.archive import member_names, write_archive
from ...compute.lazy import later_room
from ...compute.types import Floats
from ...math import conjugate, exp, log, multiply, rotate
from ...skeleton import Motion, Pose, Skeleton
from ..people import person_of
from .joints import BODY, HANDS, NAMES, model_offsets, smpl_skeleton
from .members import read_members
from .standing import size_and_floor

LAYOUT = "amass"
TELLS = {"poses", "pose_body", "root_orient"}
"""Members of which a file of SMPL's has at least one."""
UP = {"y": np.array([1.0, 0.0, 0.0, 0.0]), "z": np.array([np.sqrt(0.5), -np.sqrt(0.5), 0.0, 0.0])}
"""The rotation (4,) that makes an axis of the file our y."""
ORIGIN = np.array([0.0, -0.23, 0.03])
"""(3,) [m] where the pelvis of SMPL's mean body is from the origin of the model, which is what `trans` moves."""
RATE = 30.0  # frames a second of a file that says none
MOST_ANGLE = 1e4  # [rad]
BLOCK = 1024  # frames at once
BETAS = 16
_PARTS = {"root_orient": 1, "pose_body": 21, "pose_jaw": 1, "pose_eye": 2, "pose_hand": 30}
_ROWS = {66: BODY, 72: (*BODY, "left_hand", "right_hand"), 156: (*BODY, *HANDS), 165: NAMES}
"""How many numbers a row of `poses` has, and of which joints."""
_OTHERS = ("trans", "mocap_framerate", "mocap_frame_rate")
"""What else is read; `betas` only for a model of the user's, and never a gender, which some files have as a pickle."""


def read(
    path: Path, *, up: str | None = None, fps: float | None = None, body_model: str | os.PathLike[str] | None = None
) -> Motion:
    """Read a file of AMASS; the options are those of `posable.load`."""
    if up is not None and up not in UP:
        raise PosableError(f"up={up!r}: expected 'y' or 'z'")
    rotations_in = ("poses",) if "poses" in member_names(path) else tuple(_PARTS)
    arrays = read_members(path, (*rotations_in, *_OTHERS, *(() if body_model is None else ("betas",))))
    names, angles = _angles(path, arrays)
    trans = _numbers(path, arrays, "trans", (None, 3))
    if len(trans) != len(angles):
        raise FormatError(path, f"has {len(trans)} frames and the rotations {len(angles)}", "member 'trans'")
    rate, notes = _rate(path, arrays, fps)
    rotation = UP[up or "z"]
    rotations = _rotations(path, angles, rotation)
    moved = rotate(rotation, trans)
    if body_model is not None:
        betas = _numbers(path, arrays, "betas", (None,)) if "betas" in arrays else np.zeros(0)
        offsets = model_offsets(Path(body_model), betas, len(BODY))
        skeleton = smpl_skeleton(names, offsets=offsets)
        moved += rotate(rotation, offsets[0])
    else:
        skeleton = smpl_skeleton(names)
        moved += rotate(rotation, ORIGIN)
    size, floor, said = size_and_floor(skeleton, moved, rotations, rate, fixed=body_model is not None)
    if size != 1.0:
        skeleton = skeleton.scaled(size)
    moved[:, 1] -= floor
    notes += said
    upright = rotate(rotations[:: max(1, len(rotations) // 100), 0], [0.0, 1.0, 0.0])
    if len(upright) and np.median(upright[:, 1]) < 0.3 and abs(np.median(upright[:, 2])) > 0.8:
        other = "y" if rotation[0] < 1.0 else "z"
        notes.append(f"the figure lies in most frames; up={other!r} reads the file otherwise")
    return Motion(skeleton, Pose(moved, rotations), rate, path.stem, tuple(notes))


def write(motion: Motion, path: Path, *, character: str | os.PathLike[str] | None = None) -> None:
    """Write the motion of a person with the members of all of AMASS's releases, z up.

    Args:
        motion: of a skeleton that was read from such a file, whose rotations are written as they are; of any other
            person its canonical posture, on SMPL's joints.
        path: the file.
        character: a file of AMASS whose `betas` and `gender` the new one has; otherwise the mean body's.
    """
    if not motion.pose.is_finite():
        raise PosableError(f"cannot write {str(path)!r}: the motion has numbers that are not finite")
    shape = {} if character is None else read_members(Path(character), ("betas", "gender"))
    skeleton, poses_of = _as_smpl(motion)
    names, count, back = skeleton.names, len(motion), conjugate(UP["z"])
    whole = NAMES if "jaw" in names else (*BODY, *HANDS)
    known = [(whole.index(name), names.index(name)) for name in whole if name in names]
    angles, trans = np.zeros((count, len(whole), 3)), np.empty((count, 3))
    for first in range(0, count, BLOCK):
        rows = slice(first, first + BLOCK)
        pose = poses_of(motion.pose[rows])
        rotations = pose.rotations.copy()
        rotations[:, 0] = multiply(back, rotations[:, 0])
        angles[rows, [k for k, _ in known]] = log(rotations[:, [j for _, j in known]])
        trans[rows] = rotate(back, pose.translation) - ORIGIN
    poses = angles.reshape(count, 3 * len(whole))
    rate = np.float64(motion.fps)
    arrays: dict[str, Any] = {
        "poses": poses,
        "root_orient": poses[:, :3],
        "pose_body": poses[:, 3:66],
        "pose_hand": poses[:, -90:],
        "trans": trans,
        "betas": np.zeros(BETAS),
        "num_betas": np.int64(BETAS),
        "gender": np.array("neutral"),
        "surface_model_type": np.array("smplx" if whole is NAMES else "smplh"),
        "mocap_framerate": rate,
        "mocap_frame_rate": rate,
        "mocap_time_length": np.float64(motion.duration),
    }
    if "betas" in shape:
        arrays["betas"] = _numbers(Path(str(character)), shape, "betas", (None,))
        arrays["num_betas"] = np.int64(len(arrays["betas"]))
    if "gender" in shape:
        arrays["gender"] = np.array(_text(shape["gender"]))
    write_archive(path, arrays)


def _as_smpl(motion: Motion) -> tuple[Skeleton, Callable[[Pose], Pose]]:
    """Return SMPL's joints for a person, and what gives their poses: its own where it has them, else its canonical
    posture.
    """
    skeleton = motion.skeleton
    if set(BODY) <= set(skeleton.names) <= {*NAMES, "left_hand", "right_hand"} and _aligned(skeleton):
        return skeleton, lambda pose: pose
    body = person_of(skeleton, "a file of AMASS")
    target = later_room("body").Humanoid(smpl_skeleton((*BODY, *HANDS)))
    # As long in the leg as the person is, so that the hips are where they were [m].
    target = later_room("body").Humanoid(target.skeleton.scaled(body.leg_length / target.leg_length))
    return target.skeleton, lambda pose: target.pose(body.canonical(pose))


def _aligned(skeleton: Skeleton) -> bool:
    """Return whether all frames are the world's at rest, as SMPL's are."""
    return bool(np.allclose(np.abs(skeleton.rest_rotations[:, 0]), 1.0, atol=1e-9))


def _angles(path: Path, arrays: dict[str, NDArray[Any]]) -> tuple[tuple[str, ...], Floats]:
    """Return the names of the joints and their axis angles (F, J, 3) [rad]."""
    if "poses" in arrays:
        if arrays["poses"].ndim == 3:  # a row a joint, as some programs write them
            arrays["poses"] = _numbers(path, arrays, "poses", (None, None, 3)).reshape(len(arrays["poses"]), -1)
        poses = _numbers(path, arrays, "poses", (None, None))
        if poses.shape[1] not in _ROWS:
            known = ", ".join(map(str, _ROWS))
            raise FormatError(path, f"has {poses.shape[1]} numbers a frame; expected {known}", "member 'poses'")
        names = _ROWS[poses.shape[1]]
        return names, poses.reshape(len(poses), len(names), 3)
    parts, names = [], tuple[str, ...]()
    has_face = "pose_jaw" in arrays or "pose_eye" in arrays
    for name, joints in _PARTS.items():
        face = name in ("pose_jaw", "pose_eye")
        if name in arrays:
            parts.append(_numbers(path, arrays, name, (None, 3 * joints)))
        elif not face and name != "pose_hand":
            raise FormatError(path, "is missing", f"member {name!r}")
        elif (face and has_face) or (not face and has_face):
            parts.append(np.zeros((len(parts[0]), 3 * joints)))
        if len(parts[-1]) != len(parts[0]):
            raise FormatError(path, f"has {len(parts[-1])} frames, root_orient {len(parts[0])}", f"member {name!r}")
    whole = np.concatenate(parts, axis=1)
    names = _ROWS[whole.shape[1]]
    return names, whole.reshape(len(whole), len(names), 3)


def _rotations(path: Path, angles: Floats, rotation: Floats) -> Floats:
    """Return rotations (F, J, 4), the root's in our world; in blocks, since an hour of them is large."""
    made = np.empty((*angles.shape[:2], 4))
    for first in range(0, len(angles), BLOCK):
        part = np.asarray(angles[first : first + BLOCK], dtype=np.float64)
        if not (np.abs(part) < MOST_ANGLE).all():  # never true of NaN
            bad = np.argwhere(~(np.abs(part) < MOST_ANGLE))[0]
            raise FormatError(path, f"the rotation of joint {bad[1]} in frame {first + bad[0]} is no axis angle")
        made[first : first + BLOCK] = exp(part)
    made[:, 0] = multiply(rotation, made[:, 0])
    return made


def _rate(path: Path, arrays: dict[str, NDArray[Any]], fps: float | None) -> tuple[float, list[str]]:
    if fps is not None:
        return fps, []
    for name in ("mocap_framerate", "mocap_frame_rate"):
        if name in arrays:
            rate = arrays[name]
            if rate.dtype.kind not in "fiu" or rate.size != 1 or not 0.0 < float(rate.reshape(-1)[0]) < 1e6:
                raise FormatError(path, "is no number of frames a second", f"member {name!r}")
            return float(rate.reshape(-1)[0]), []
    return RATE, [f"the file says no rate; taken as {RATE:g} frames a second"]


def _numbers(path: Path, arrays: dict[str, NDArray[Any]], name: str, shape: tuple[int | None, ...]) -> Any:
    """Return a member with numbers of a shape; None in it is any length. Those of large ones stay as they are."""
    location = f"member {name!r}"
    if name not in arrays:
        raise FormatError(path, "is missing", location)
    array = arrays[name]
    fits = len(array.shape) == len(shape) and all(w is None or w == n for w, n in zip(shape, array.shape, strict=True))
    # Numbers of one or two bytes would become many times the memory that the file warrants.
    if array.dtype.kind != "f" or array.dtype.itemsize < 4 or not fits:
        expected = " x ".join("any" if n is None else str(n) for n in shape)
        raise FormatError(
            path, f"has shape {array.shape} of {array.dtype}; expected {expected} floats of 4 or 8 bytes", location
        )
    if name in ("trans", "betas"):
        array = array.astype(np.float64)
        if not (np.abs(array) < 1e6).all():
            raise FormatError(path, "has numbers that are not finite, or of thousands of kilometres", location)
    return array


def _text(array: NDArray[Any]) -> str:
    value = array.reshape(-1)[0] if array.size else ""
    return (value.decode("ascii", "replace") if isinstance(value, bytes) else str(value))[:40]
