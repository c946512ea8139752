"""The options with which every command reads a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .output import busy

if TYPE_CHECKING:
    from ..skeleton import Motion

FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="A motion or a character: BVH, AMC, glTF, VRM, ...")]
ScaleOption = Annotated[float | None, typer.Option(help="Metres per file unit, for formats that have no unit.")]
FpsOption = Annotated[float | None, typer.Option(help="Frames a second, where the file's own rate is wrong.")]
FirstOption = Annotated[int, typer.Option(help="Drop the frames before this one.")]
RepairOption = Annotated[str | None, typer.Option(help='"cmu": put back what the CMU conversion lost.')]
AnimationOption = Annotated[str | None, typer.Option(help="Which animation of a glTF file, by name or number.")]


def notes_of(motion: Motion) -> list[str]:
    """Return the assumptions and changes of a reader, with options as they are written at a terminal."""
    notes = (note.replace("repair='cmu'", "--repair cmu") for note in motion.notes)
    return [note.replace("fps= overrides", "--fps overrides") for note in notes]


def read(
    path: Path,
    scale: float | None = None,
    fps: float | None = None,
    first_frame: int = 0,
    repair: str | None = None,
    animation: str | None = None,
) -> Motion:
    """Load a file with the options of the command line."""
    from ..formats import load

    which = int(animation) if animation is not None and animation.isdigit() else animation
    with busy(f"reading {path.name}"):
        return load(path, scale=scale, fps=fps, first_frame=first_frame, repair=repair, animation=which)
