"""Files in and out: one module a format, chosen by suffix and imported when its suffix is first used.

`load(path)` gives a `Motion` in metres, `save(motion, path)` writes one; what `save` writes, `load` reads back in
metres without a scale, but for a page that plays the motion (.html), which is for people. A format's module has
`read(path, ...) -> Motion`, `write(motion, path, ...)` or both; they take as keywords the options that the caller gave
and the format declares in `FORMATS`. `fps` and `first_frame` mean the same for every format and are applied here.
"""

from __future__ import annotations

import importlib
import math
import operator
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..compute import FormatError, PosableError, checked_keywords, expect
from ..compute.arguments import explain_mistakes
from ..compute.errors import ExtentError
from ..compute.files import check_writable

if TYPE_CHECKING:
    from ..skeleton import Character, Motion, Skeleton
    from .c3d import Markers

__all__ = [
    *("FORMATS", "Format", "animations", "character_animations", "character_facts", "character_motion"),
    *("check_input", "check_output", "load", "read_markers", "read_robot", "save", "suffixes"),
]


@dataclass(frozen=True)
class Format:
    """A file format: its module in this package, its suffixes, and the options its reader and writer take."""

    name: str
    module: str
    suffixes: tuple[str, ...]
    load_options: frozenset[str] = frozenset()
    save_options: frozenset[str] = frozenset()
    reads: bool = True
    writes: bool = True


FORMATS: tuple[Format, ...] = (
    Format("BVH", "bvh", (".bvh",), frozenset({"scale", "repair", "up"}), frozenset({"scale", "order"})),
    Format("ASF/AMC", "asf", (".amc", ".asf"), frozenset({"scale", "repair", "asf"}), writes=False),
    Format(
        "NumPy archive",
        "npz",
        (".npz",),
        frozenset({"robot", "up", "body_model"}),
        frozenset({"layout", "character"}),
    ),
    Format(
        "glTF",
        "gltf",
        (".glb", ".gltf", ".vrm", ".vrma"),
        frozenset({"scale", "animation"}),
        frozenset({"character", "keep_animations"}),
    ),
    Format("FBX", "fbx", (".fbx",), frozenset({"scale", "animation"}), writes=False),
    Format("C3D", "c3d", (".c3d",), frozenset({"up"}), writes=False),
    Format("MakeHuman rig", "makehuman", (".mhskel",), writes=False),
    Format("URDF", "robot", (".urdf",), frozenset({"up"}), writes=False),
    Format("MJCF", "robot", (".xml",), frozenset({"up"}), writes=False),
    Format(
        "Robot CSV",
        "trajectory.csv_file",
        (".csv",),
        frozenset({"robot", "joint_order"}),
        frozenset({"joint_order", "header"}),
    ),
    Format("MuJoCo qpos", "trajectory.qpos_file", (".npy",), frozenset({"robot"})),
    Format("USD text", "usd", (".usda",), frozenset({"scale", "animation"})),
    Format("USD", "usd", (".usdc", ".usd", ".usdz"), frozenset({"scale", "animation"}), writes=False),
    Format("HTML", "html", (".html",), reads=False),
)


MAX = {"scale": 1e6, "fps": 1e6}
"""Numbers from which on a value is a mistake: metres in a file's unit, frames a second."""


@checked_keywords
def load(
    path: str | os.PathLike[str],
    *,
    scale: float | None = None,
    fps: float | None = None,
    first_frame: int = 0,
    repair: str | None = None,
    asf: str | os.PathLike[str] | None = None,
    animation: str | int | None = None,
    up: str | None = None,
    robot: str | os.PathLike[str] | Skeleton | None = None,
    joint_order: str | None = None,
    body_model: str | os.PathLike[str] | None = None,
) -> Motion:
    """Read a motion, every frame of it, in metres; the format is chosen by the suffix.

    What was assumed or changed is in `motion.notes`, and what is hardly right: a giant of over 3 m with the likely
    scale, a figure that stands along z, a clip that wants a repair. An option that the format does not take is an
    error.

    Args:
        path: the file.
        scale: length of one file unit [m], for BVH, ASF/AMC, FBX, glTF and USD. By default a unit that the file itself
            states is used (CMU's rule for ASF), and otherwise a metre.
        fps: frames a second; by default the file's own rate. Every format takes it.
        first_frame: number of frames to drop from the beginning, 0 by default, less than the file has. Every format
            takes it.
        repair: "cmu" puts back what the CMU conversion to BVH lost, and the rate that AMC files lack
            (`posable.formats.cmu`). For BVH and ASF/AMC; nothing is repaired by default.
        asf: the skeleton's file of an AMC motion. By default it is looked for next to the motion.
        animation: which animation of a glTF, VRM or USD file, or take of an FBX file, by name or number from 0; by
            default the first, of an FBX file the first that moves the body.
        up: of a BVH file the axis that is up in it, "y" (the default) or "z", which is turned to Y up. A URDF robot,
            whose file has Z up, is turned to Y up and Z forward by "y" (the default); "z" keeps its own axes. A file of
            AMASS has "z" up (the default); "y" is for those that other programs made. Of a C3D
            file it is what its markers say by default.
        robot: whose motion a CSV, an `.npy` or an archive for training holds: the robot's file, or its skeleton; None,
            the default, for all other files.
        joint_order: of a CSV file, "mujoco" or "isaac" (`posable.formats.trajectory`); by default what the file beside
            it says, and without one "mujoco".
        body_model: of a file of AMASS, your own SMPL, SMPL-H or SMPL-X model (`.npz`), whose joint regressor gives
            the bones; by default those of the built-in figure.
    """
    source = Path(path)
    kind = check_input(source)
    given: dict[str, Any] = {"scale": scale, "repair": repair, "asf": asf, "animation": animation, "up": up}
    given |= {"robot": robot, "joint_order": joint_order, "body_model": body_model}
    chosen = _checked_options(kind, given, kind.load_options, "loading")
    if scale is not None:
        chosen["scale"] = _positive("scale", scale)
    rate = None if fps is None else _positive("fps", fps)
    if rate is not None:
        chosen["fps"] = rate
    try:
        with np.errstate(all="ignore"):  # what overflows is found below, or where a reader looks for it
            motion: Motion = _module(kind).read(source, **chosen)
    except OSError as error:
        raise FormatError(source, f"cannot be read: {error.strerror or error}") from error
    except ExtentError as error:
        raise FormatError(source, str(error)) from error
    if not motion.pose.is_finite():
        raise FormatError(source, "its positions and rotations go beyond all numbers")
    motion = _from_frame(motion, first_frame)
    return motion if rate is None or rate == motion.fps else motion.replace(fps=rate)


@checked_keywords
def save(
    motion: Motion,
    path: str | os.PathLike[str],
    *,
    scale: float | None = None,
    order: str | None = None,
    character: str | os.PathLike[str] | None = None,
    keep_animations: bool | None = None,
    layout: str | None = None,
    joint_order: str | None = None,
    header: bool | None = None,
) -> None:
    """Write a motion; the format is chosen by the suffix. The file appears whole or not at all.

    A page (.html) plays the motion in any browser, without a network; `posable.render.Player` has more to choose there.
    An option that the format does not take is an error.

    Args:
        motion: what to write.
        path: the file.
        scale: length of one unit of a BVH file [m], 1 by default; 0.01 writes centimetres.
        order: order of the Euler angles of a BVH file, "ZYX" by default: Rz Ry Rx.
        character: a glTF or VRM file with the same joints, to write the motion into; by default the one that the
            skeleton was loaded from, else a new file. Of layout "amass" a file whose body the new one has (`betas`).
        keep_animations: whether the other animations of that glTF or VRM file stay in it; they do by default.
        layout: of an `.npz` file: "posable", the default, which keeps everything; "amass" of a person; for a robot's
            motion also "mjlab", "beyondmimic", "gmr" or "qpos" (`posable.formats.trajectory`).
        joint_order: of a robot's CSV file: "mujoco", the default, or "isaac".
        header: whether a robot's CSV file begins with a line of names; it does not by default, as its readers expect.
    """
    from ..skeleton import Motion as Saved

    expect(Saved, motion, "what is saved", ": Motion(skeleton, pose, fps)")
    target = Path(path)
    kind = _written_format_of(target)
    given = {"scale": scale, "order": order, "character": character, "keep_animations": keep_animations}
    given |= {"layout": layout, "joint_order": joint_order, "header": header}
    chosen = _checked_options(kind, given, kind.save_options, "saving")
    try:
        _module(kind).write(motion, target, **chosen)
    except OSError as error:
        raise PosableError(f"cannot write {str(target)!r}: {error.strerror or error}") from error


@checked_keywords
def read_robot(path: str | os.PathLike[str], *, up: str = "y", free_root: bool | None = None) -> Skeleton:
    """Read the skeleton of a robot from a URDF or MJCF file; what else the file says is in its `robot`.

    `load` gives the same as a motion of one frame.

    Args:
        path: the file.
        up: "y" rotates the robot into our axes (y up, z forward); "z" keeps its own.
        free_root: True lets the root link move freely; by default it does where the file says so (MJCF).
    """
    from .robot import read_robot as read

    return read(Path(path), up=up, free_root=free_root)


@checked_keywords
def read_markers(path: str | os.PathLike[str], *, up: str | None = None) -> Markers:
    """Read the labelled markers of a C3D file as they are, gaps as NaN; `load` makes a person of them.

    Args:
        path: the file.
        up: its axis that is up, "y" or "z"; by default what its markers and its own words say.
    """
    from .c3d import read_markers as read

    check_input(path)
    return read(Path(path), up=up)


def animations(path: str | os.PathLike[str]) -> list[str]:
    """The names of a file's animations or takes, in order: what `load(path, animation=...)` takes.

    None where the format has one motion in a file.
    """
    source = Path(path)
    module = _module(check_input(source))
    return list(module.animations(source)) if hasattr(module, "animations") else []


class AnimatedFile(Protocol):
    """The file that a character was read from, where it may hold several animations."""

    def about(self) -> Mapping[str, Any]:
        """Return what the file says of itself: its version, unit and axes."""

    def animations(self) -> list[str]:
        """The names of the animations."""

    def motion(self, animation: str | int) -> Motion:
        """Another animation, on a skeleton of its own."""


def character_animations(character: Character | None) -> list[str]:
    """The names of all animations in the file that a character was read from; none where the file is not known."""
    source: AnimatedFile | None = None if character is None else character.source
    return source.animations() if source is not None and hasattr(source, "animations") else []


def character_facts(character: Character | None) -> Mapping[str, Any]:
    """Return what the file that a character was read from says of itself; nothing where the file is not known."""
    source: AnimatedFile | None = None if character is None else character.source
    return source.about() if source is not None and hasattr(source, "about") else {}


def character_motion(character: Character, animation: str | int) -> Motion:
    """Return another animation of the file that a character was read from, on a skeleton of its own."""
    source: AnimatedFile | None = character.source
    if source is None or not hasattr(source, "animations"):
        raise PosableError("the character's file is not known, or holds no animations; load the file of its animation")
    return source.motion(animation)


def check_input(path: str | os.PathLike[str]) -> Format:
    """The format of a file that is there; raises where there is nothing that `load` would read."""
    source = Path(path)
    if source.is_dir():
        raise FormatError(source, "is a folder; give a file in it")
    kind = _format_of(source)
    if not kind.reads:
        raise FormatError(source, f"{kind.name} is written only; known: {', '.join(suffixes())}")
    if not source.exists():
        near = sorted(p.name for p in source.parent.glob(f"*{source.suffix}"))[:5] if source.parent.is_dir() else []
        hint = f"; the folder has {', '.join(near)}" if near else ""
        raise FormatError(source, f"no such file{hint}")
    if not source.is_file():
        raise FormatError(source, "is not a regular file")
    if source.stat().st_size == 0:
        raise FormatError(source, "is empty")
    return kind


def check_output(path: str | os.PathLike[str]) -> None:
    """Raise where `save` would refuse a path, whatever the motion: a long job asks before it starts."""
    _written_format_of(Path(path))
    check_writable(path)


def suffixes(*, written: bool = False) -> tuple[str, ...]:
    """The suffixes that `load` reads, with their dot; `written=True`: those that `save` writes."""
    known = [kind for kind in FORMATS if (kind.writes if written else kind.reads)]
    return tuple(suffix for kind in known for suffix in kind.suffixes)


def _format_of(path: Path, *, written: bool = False) -> Format:
    suffix = path.suffix.lower()
    for kind in FORMATS:
        if suffix in kind.suffixes:
            return kind
    found = f"unknown suffix {path.suffix!r}" if path.suffix else "no suffix"
    raise FormatError(path, f"{found}; known: {', '.join(suffixes(written=written))}")


def _written_format_of(path: Path) -> Format:
    kind = _format_of(path, written=True)
    if not kind.writes:
        known = ", ".join(suffixes(written=True))
        raise PosableError(f"cannot write {str(path)!r}: {kind.name} is read only; write one of {known}")
    return kind


def _module(kind: Format) -> ModuleType:
    return importlib.import_module(f"posable.formats.{kind.module}")


def _checked_options(kind: Format, given: Mapping[str, Any], accepted: frozenset[str], doing: str) -> dict[str, Any]:
    chosen = {name: value for name, value in given.items() if value is not None}
    for name in chosen:
        if name not in accepted:
            known = ", ".join(sorted(accepted)) or "none of its own"
            shown = os.fspath(chosen[name]) if isinstance(chosen[name], os.PathLike) else chosen[name]
            raise PosableError(f"option {name}={shown!r} is not for {doing} {kind.name} files; they take: {known}")
    return chosen


def _from_frame(motion: Motion, first_frame: Any) -> Motion:
    try:
        first = operator.index(first_frame)
    except TypeError:
        first = -1
    if not (0 <= first < len(motion) or first == 0):
        raise PosableError(
            f"first_frame={first_frame!r}: the file has {len(motion)} frames; "
            f"give a whole number from 0 to {max(len(motion) - 1, 0)}"
        )
    if not first:
        return motion
    # What a note says of frame 0 is no longer true of the motion.
    return motion[first:].replace(notes=tuple(note for note in motion.notes if not note.startswith("frame 0 is ")))


def _positive(name: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not 0.0 < number < MAX[name]:
        raise PosableError(f"{name}={value!r}: give a number above 0 and below {MAX[name]:g}")
    return number


explain_mistakes(__name__)
