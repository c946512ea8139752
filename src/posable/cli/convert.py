"""`posable convert`: from one format to another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .output import JsonOption, busy, check_output, counted, print_line, write_json
from .reading import AnimationOption, FileArgument, FirstOption, FpsOption, RepairOption, ScaleOption, notes_of, read


def convert(
    file: FileArgument,
    output: Annotated[Path, typer.Argument(metavar="OUTPUT", help="The file to write; its suffix says the format.")],
    scale: ScaleOption = None,
    fps: FpsOption = None,
    first_frame: FirstOption = 0,
    repair: RepairOption = None,
    animation: AnimationOption = None,
    resample: Annotated[float | None, typer.Option(help="Frames a second to write, by interpolation.")] = None,
    character: Annotated[Path | None, typer.Option(help="A glTF or VRM character to write the motion on.")] = None,
    json: JsonOption = None,
) -> None:
    """Write a motion in another format."""
    from ..formats import save

    check_output(output, file, character)
    motion = read(file, scale, fps, first_frame, repair, animation)
    if resample is not None:
        motion = motion.resampled(resample)
    with busy(f"writing {output.name}"):
        save(motion, output, character=character)
    facts = {
        "file": str(file),
        "output": str(output),
        "frames": len(motion),
        "fps": motion.fps,
        "joints": len(motion.skeleton),
        "bytes": output.stat().st_size,
        "notes": notes_of(motion),
    }
    if write_json(json, facts):
        return
    for note in notes_of(motion):
        print_line(f"note: {note}")
    print_line(f"{output}: {counted(len(motion), 'frame')} at {motion.fps:g} a second, {len(motion.skeleton)} joints")
