"""ASF/AMC (Acclaim): a skeleton file and a motion file that go together; read only.

`load("01_03.amc")` finds its skeleton next to it: the `.asf` of the same name, else the one named by what stands
before the first underscore (`01.asf`, as in the CMU database), else the only one in the folder; `asf=` says it.
`load("01.asf")` is the skeleton at rest, one frame.

A bone of an ASF file becomes a joint at the bone's beginning, with its name; its frame is the world's at rest, so a
local rotation is C R C^-1 with C the bone's `axis` and R the rotations of its `dof`. Bones without children get an end
site. A bone with one rotating `dof` is a hinge, one without is fixed. Lengths are in inches divided by the header's
`length` (0.45: one unit is 0.0564 m), which is CMU's rule; `scale=` [m a file unit] overrides it. AMC has no frame
rate: 120 is assumed and noted, `fps=` overrides it, and `repair="cmu"` knows the subjects captured at 60.
"""

from __future__ import annotations

import math
import os
from pathlib import Path

import numpy as np

from ..compute import FormatError, UnknownNameError
from ..compute.types import Floats
from ..math import conjugate, multiply, rotate
from ..skeleton import Motion, Pose, Skeleton
from . import cmu
from .asf_skeleton import AsfBone, AsfSkeleton, read_asf, text_lines
from .euler import quaternions_from_euler

INCH = 0.0254
FPS = 120.0
MAX_BYTES = 1 << 30  # of an AMC file


def read(
    path: Path,
    *,
    scale: float | None = None,
    fps: float | None = None,
    repair: str | None = None,
    asf: str | os.PathLike[str] | None = None,
) -> Motion:
    """Read an AMC file with its ASF skeleton, or an ASF file alone; the options are those of `posable.load`."""
    if repair not in (None, "cmu"):
        raise UnknownNameError("repair", repair, ("cmu",))
    alone = path.suffix.lower() == ".asf"
    asf_path = path if alone else _skeleton_file(path, asf)
    bones = read_asf(asf_path)
    unit = scale or INCH / bones.length
    with np.errstate(over="ignore"):  # an overflow is found and reported below
        skeleton = _skeleton(asf_path, bones, unit)
        pose = Pose(skeleton.offsets[:1], skeleton.rest_rotations[None]) if alone else _pose(path, bones, unit)
    if not np.isfinite(pose.translation).all():
        raise FormatError(path, f"positions are not finite once multiplied by the scale {unit:g}")
    notes = [] if alone else [f"skeleton from {asf_path.name}"]
    if scale is None:
        notes.append(f"one file unit is {unit:.6f} m (1/{bones.length:g} inch)")
    rate, note = cmu.true_fps(path) if repair else (FPS, "AMC has no frame rate; 120 was assumed, fps= overrides it")
    if fps is None and not alone:
        notes.append(note)
    return Motion(skeleton, pose, fps or rate, path.stem, tuple(notes))


def _skeleton_file(path: Path, given: str | os.PathLike[str] | None) -> Path:
    if given is not None:
        if not (chosen := Path(given)).is_file():
            raise FormatError(chosen, "no such skeleton file")
        return chosen
    names = [path.stem, path.stem.split("_")[0]]
    for name in names:
        for suffix in (".asf", ".ASF"):
            if (candidate := path.with_name(name + suffix)).is_file():
                return candidate
    all_of_them = sorted(p for p in path.parent.iterdir() if p.suffix.lower() == ".asf")
    if len(all_of_them) == 1:
        return all_of_them[0]
    tried = " and ".join(f"{name}.asf" for name in dict.fromkeys(names))
    raise FormatError(path, f"its skeleton is not next to it (looked for {tried}); give asf=")


def _skeleton(path: Path, asf: AsfSkeleton, scale: float) -> Skeleton:
    bones = asf.bones
    parents = asf.parents
    tips = np.array([bone.direction for bone in bones]) * np.array([[bone.length] for bone in bones]) * scale
    offsets = np.where(parents[:, None] > 0, tips[parents], 0.0)  # a joint sits at its parent bone's tip
    offsets[0] = np.array(bones[0].position) * scale
    if not (np.isfinite(offsets).all() and np.isfinite(tips).all()):
        raise FormatError(path, f"bone lengths are not finite once multiplied by the scale {scale:g}")
    leaves = [j for j in range(1, len(bones)) if j not in set(parents.tolist())]
    axes = np.zeros((len(bones), 3))
    axes[:, 0] = 1.0
    for j, bone in enumerate(bones):
        if j and len(bone.dofs) == 1:
            axes[j] = rotate(_frame(bone), np.eye(3)["xyz".index(bone.dofs[0][1])])
    kinds = ["free", *(_kind(bone) for bone in bones[1:])]
    return Skeleton(
        [bone.name for bone in bones],
        parents,
        offsets,
        kinds=kinds,
        axes=axes,
        end_parents=leaves,
        end_offsets=tips[leaves].reshape(-1, 3),
    )


def _kind(bone: AsfBone) -> str:
    return {0: "fixed", 1: "hinge"}.get(len(bone.dofs), "ball")


def _frame(bone: AsfBone) -> Floats:
    """Return the bone's axes in the world (4,): rotations about fixed axes in the order written (the last first)."""
    axes = ["xyz".index(letter) for letter in reversed(bone.axis_order)]
    return quaternions_from_euler(axes, np.array(bone.axis[::-1]))


def _pose(path: Path, asf: AsfSkeleton, scale: float) -> Pose:
    channels = _channels(path, asf)
    frames = len(channels[0])
    rotations = np.zeros((frames, len(asf.bones), 4))
    translation = np.zeros((frames, 3))
    for j, (bone, values) in enumerate(zip(asf.bones, channels, strict=True)):
        angles = [(k, "xyz".index(name[1])) for k, name in enumerate(bone.dofs) if name[0] == "r"]
        # Channels act about fixed axes in the order written: the matrix of the first stands rightmost.
        rotation = quaternions_from_euler(
            [axis for _, axis in reversed(angles)], values[:, [k for k, _ in reversed(angles)]]
        )
        frame = _frame(bone)
        rotations[:, j] = multiply(multiply(frame, rotation), conjugate(frame))
        for k, name in enumerate(bone.dofs):
            if name[0] == "t":
                translation[:, "xyz".index(name[1])] = values[:, k]
    return Pose((translation + np.array(asf.bones[0].position)) * scale, rotations)


def _channels(path: Path, asf: AsfSkeleton) -> list[Floats]:
    """Return for each bone the values (F, channels) of an AMC file: angles [rad], the root's shifts in file units.

    Frames must be numbered one after the other; every bone with channels must be in every frame.
    """
    channels = {bone.name: len(bone.dofs) for bone in asf.bones}
    values: dict[str, list[float]] = {name: [] for name in channels}
    radians = math.pi / 180
    frames = first = number = 0
    here: set[str] = set()
    for number, text in text_lines(path, MAX_BYTES):
        name, *rest = text.split()
        if name.startswith(":"):
            radians = 1.0 if name.upper() == ":RADIANS" else radians
        elif not rest and name.isascii() and name.isdigit() and len(name) < 12:
            if frames:
                _check_frame(path, channels, here, number)
            first = first if frames else int(name)
            if int(name) != first + frames:
                raise FormatError(path, f"expected frame {first + frames}, found {name}", f"line {number}")
            frames += 1
            here = set()
        else:
            _check_bone(path, name, rest, channels, here, frames, number)
            here.add(name)
            try:
                values[name].extend(map(float, rest))
            except ValueError:
                raise FormatError(path, f"expected numbers after {name!r}, found {rest}", f"line {number}") from None
    if frames:
        _check_frame(path, channels, here, number)
    return [_table(path, bone.name, bone.dofs, values[bone.name], frames, radians) for bone in asf.bones]


def _check_bone(
    path: Path, name: str, rest: list[str], channels: dict[str, int], here: set[str], frames: int, number: int
) -> None:
    location = f"line {number}"
    if not frames:
        raise FormatError(path, f"expected a frame's number, found {name[:40]!r}", location)
    if name not in channels:
        raise FormatError(path, f"bone {name[:40]!r} is not in the skeleton", location)
    if name in here:
        raise FormatError(path, f"bone {name!r} stands twice in one frame", location)
    if len(rest) != channels[name]:
        raise FormatError(
            path, f"bone {name!r} has {channels[name]} channels in the skeleton, {len(rest)} here", location
        )


def _check_frame(path: Path, channels: dict[str, int], here: set[str], number: int) -> None:
    if len(here) < len(channels):
        for name, count in channels.items():
            if count and name not in here:
                raise FormatError(path, f"bone {name!r} is missing from the frame that ends here", f"line {number}")


def _table(path: Path, name: str, dofs: tuple[str, ...], values: list[float], frames: int, radians: float) -> Floats:
    table = np.array(values, dtype=np.float64).reshape(frames, len(dofs))
    if len(bad := np.argwhere(~np.isfinite(table))):
        raise FormatError(path, f"bone {name!r} has a number that is not finite", f"frame {int(bad[0, 0]) + 1}")
    table[:, [k for k, dof in enumerate(dofs) if dof[0] == "r"]] *= radians
    return table
