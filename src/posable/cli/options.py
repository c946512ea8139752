"""Arguments and options that several commands share, and how their values are read."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..compute import FormatError, PosableError
from ..compute.files import check_writable
from .output import busy, print_notes

if TYPE_CHECKING:
    from ..body import Humanoid
    from ..skeleton import Motion

File = Annotated[Path, typer.Argument(metavar="FILE", help="A motion or a character: BVH, AMC, glTF, VRM, ...")]
Files = Annotated[list[Path], typer.Argument(metavar="FILE", help="Motions, or folders of them.")]
Output = Annotated[Path, typer.Argument(metavar="OUTPUT", help="The file to write; its suffix says the format.")]
Scale = Annotated[float | None, typer.Option(help="Metres per file unit, for formats that have no unit.")]
Fps = Annotated[float | None, typer.Option(help="Frames a second, where the file's own rate is wrong.")]
FirstFrame = Annotated[int, typer.Option(help="Drop the frames before this one.")]
Repair = Annotated[str | None, typer.Option(help='"cmu": put back what the CMU conversion lost.')]
Animation = Annotated[str | None, typer.Option(help="Which animation of a glTF file, by name or number.")]
Up = Annotated[str | None, typer.Option(help="The axis that is up in a BVH file: y or z; y when not given.")]
Store = Annotated[
    Path | None, typer.Option(metavar="FOLDER", help="Keep what is done here, for a second call to go on.")
]
Engine = Annotated[str | None, typer.Option(help="Who works: local (all cores), dask://HOST:PORT or ray://HOST:PORT.")]
Workers = Annotated[int | None, typer.Option(help="How many processes; all cores when not given.")]


def _writable(path: Path | None) -> Path | None:
    """Refuse a file that could not be written, before any work is done."""
    if path is not None and str(path) != "-":
        check_writable(path)
    return path


Json = Annotated[
    Path | None,
    typer.Option(
        "--json", metavar="FILE", help="Write the same facts as JSON; - for the terminal.", callback=_writable
    ),
]


def read(
    path: Path,
    scale: float | None = None,
    fps: float | None = None,
    first_frame: int = 0,
    repair: str | None = None,
    animation: str | None = None,
    up: str | None = None,
    show_notes: bool = True,
) -> Motion:
    """Load a file with the options of the command line; its notes go to standard error unless `show_notes` is False."""
    from ..formats import load

    which = animation_of(animation)
    with busy(f"reading {path.name}"):
        motion = load(path, scale=scale, fps=fps, first_frame=first_frame, repair=repair, animation=which, up=up)
    if show_notes:
        print_notes(path, motion.notes)
    return motion


def body_of(motion: Motion, path: Path) -> Humanoid:
    """Return the body of a motion; where it is nobody, the error names the file and what can be done at a terminal."""
    from ..body import Humanoid

    try:
        return Humanoid(motion.skeleton)
    except PosableError as error:
        raise FormatError(path, f"`posable info {path.name} --joints` lists its joints; {error}") from None


def animation_of(text: str | None) -> str | int | None:
    """Return the name or number of an animation as `load` takes it."""
    return int(text) if text is not None and text.isdigit() else text


def check_engine(engine: str | None, workers: int | None) -> None:
    """Refuse an engine or a number of workers that cannot be, before anything is read or made."""
    from ..jobs import check_engine as check

    check(engine, workers)


def motion_files(paths: list[Path]) -> list[Path]:
    """Return the files, and the motions in folders."""
    from ..evaluate.tasks import MOTIONS
    from ..formats import check_input

    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            found += sorted(file for file in path.iterdir() if file.suffix.lower() in MOTIONS)
        else:
            check_input(path)
            found.append(path)
    if not found:
        raise PosableError(
            f"no motions in {', '.join(map(str, paths))}; expected files that end in {', '.join(MOTIONS)}"
        )
    return found


def numbers(option: str, text: str, count: int, expected: str, below: float = math.inf) -> list[float]:
    """Return numbers that are written with commas between, each of a magnitude `below` a bound.

    Args:
        option: names the option in an error: "--to".
        text: its value.
        count: of the numbers.
        expected: tells in an error what the numbers are.
        below: the bound; numbers that are not finite are always refused.
    """
    try:
        found = [float(word) for word in text.split(",")]
    except ValueError:
        found = []
    if len(found) != count or not all(abs(number) < below for number in found):
        raise PosableError(f"{option} {text}: expected {expected}")
    return found


def two_integers(option: str, text: str, expected: str, least: int = 0) -> tuple[int, int]:
    """Return two integers, at least `least`, that are written with a comma between; see `numbers`."""
    words = text.split(",")
    if len(words) != 2 or not all(word.strip().isdecimal() and int(word) >= least for word in words):
        raise PosableError(f"{option} {text}: expected {expected}")
    return int(words[0]), int(words[1])


def three_weights(text: str) -> list[float]:
    """Return the weights of `--weights`."""
    return numbers("--weights", text, 3, "three numbers, as in 1,1,0")
