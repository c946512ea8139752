"""ASF/AMC (Acclaim): a skeleton file and a motion file that go together; read only.

`load("01_03.amc")` finds its skeleton beside it: the `.asf` of the same name, else the one named by what stands
before the first underscore (`01.asf`, as in the CMU database), else the only one in the folder; `asf=` says it.
`load("01.asf")` is the skeleton at rest, one frame.

A bone of an ASF file becomes a joint at the bone's beginning, with its name; its frame is the world's at rest, so a
local rotation is C R C^-1 with C the bone's `axis` and R the turns of its `dof`. Bones without children get an end
site. A bone with one turning `dof` is a hinge, one without is fixed. Lengths are in inches divided by the header's
`length` (0.45: one unit is 0.0564 m), which is CMU's rule; `scale=` [m a file unit] overrides it. AMC has no frame
rate: 120 is assumed and noted, `fps=` overrides it, and `repair="cmu"` knows the subjects captured at 60.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..compute import FormatError, UnknownNameError
from ..compute.types import Floats
from ..math import conjugate, multiply, rotate
from ..skeleton import Motion, Pose, Skeleton
from . import cmu
from .amc import read_channels
from .asf_skeleton import AsfBone, AsfSkeleton, read_asf
from .euler import quaternions_from_euler

INCH = 0.0254
FPS = 120.0


def read(path: Path, options: Mapping[str, Any]) -> Motion:
    """Read an AMC file with its ASF skeleton, or an ASF file alone. Options: `scale`, `fps`, `asf`, `repair`."""
    repair = options.get("repair")
    if repair not in (None, "cmu"):
        raise UnknownNameError("repair", repair, ("cmu",))
    alone = path.suffix.lower() == ".asf"
    asf_path = path if alone else _skeleton_file(path, options.get("asf"))
    asf = read_asf(asf_path)
    scale = options.get("scale") or INCH / asf.length
    with np.errstate(over="ignore"):  # what overflows is found and told below
        skeleton = _skeleton(asf_path, asf, scale)
        pose = Pose(skeleton.offsets[:1], skeleton.rest_rotations[None]) if alone else _pose(path, asf, scale)
    if not np.isfinite(pose.translation).all():
        raise FormatError(path, f"places are not finite once multiplied by the scale {scale:g}")
    notes = [] if alone else [f"skeleton from {asf_path.name}"]
    if "scale" not in options:
        notes.append(f"one file unit is {scale:.6f} m (1/{asf.length:g} inch)")
    fps, note = cmu.true_fps(path) if repair else (FPS, "AMC has no frame rate; 120 was assumed, fps= overrides it")
    if "fps" not in options and not alone:
        notes.append(note)
    return Motion(skeleton, pose, options.get("fps") or fps, path.stem, tuple(notes))


def _skeleton_file(path: Path, told: Any) -> Path:
    if told is not None:
        if not (chosen := Path(told)).is_file():
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
    raise FormatError(path, f"its skeleton is not beside it (looked for {tried}); give asf=")


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
    """The bone's own axes in the world (4,): turns about fixed axes in the order written, so the last one first."""
    axes = ["xyz".index(letter) for letter in reversed(bone.axis_order)]
    return quaternions_from_euler(axes, np.array(bone.axis[::-1]))


def _pose(path: Path, asf: AsfSkeleton, scale: float) -> Pose:
    channels = read_channels(path, asf)
    frames = len(channels[0])
    rotations = np.zeros((frames, len(asf.bones), 4))
    translation = np.zeros((frames, 3))
    for j, (bone, values) in enumerate(zip(asf.bones, channels, strict=True)):
        turns = [(k, "xyz".index(name[1])) for k, name in enumerate(bone.dofs) if name[0] == "r"]
        # Channels act about fixed axes in the order written: the matrix of the first stands rightmost.
        turned = quaternions_from_euler(
            [axis for _, axis in reversed(turns)], values[:, [k for k, _ in reversed(turns)]]
        )
        frame = _frame(bone)
        rotations[:, j] = multiply(multiply(frame, turned), conjugate(frame))
        for k, name in enumerate(bone.dofs):
            if name[0] == "t":
                translation[:, "xyz".index(name[1])] = values[:, k]
    return Pose((translation + np.array(asf.bones[0].position)) * scale, rotations)
