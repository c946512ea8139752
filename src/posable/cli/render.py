"""`posable render`: motions as a video, a GIF, a folder of pictures, or one picture of moments."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from . import options
from .ending import Ending, Summary, UsageError, usage
from .options import AnyReading, choice
from .output import check_apart, counted, progress

OutputFilm = Annotated[
    Path, typer.Argument(metavar="OUTPUT", help="A file .mp4, .gif or .png (moments in one), or a new folder.")
]


def render(
    file: options.File,
    output: OutputFilm,
    reading: AnyReading,
    ending: Ending,
    second: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Another motion, which plays at the right of the first.")
    ] = None,
    camera: Annotated[
        str, typer.Option(metavar="NAME", help="follow (default), orbit, fixed, or framed: the whole motion in sight.")
    ] = "follow",
    angle: Annotated[
        str, typer.Option(metavar="VIEW", help="Where the eye stands: front, side, three_quarter, ...")
    ] = "three_quarter",
    revolutions: Annotated[
        float, typer.Option(metavar="NUMBER", help="Of --camera orbit, from first to last frame.")
    ] = 1.0,
    size: Annotated[
        str | None, typer.Option(metavar="WIDTHxHEIGHT", help="In pixels; 1280x720, of moments 320x320 each.")
    ] = None,
    rate: Annotated[
        float | None, typer.Option(metavar="RATE", help="Frames a second of the film; 30, of a GIF 25.")
    ] = None,
    moments: Annotated[int, typer.Option(metavar="NUMBER", help="How many of them a .png shows.")] = 12,
    scene: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Obstacles, in JSON, to draw with the body.")
    ] = None,
    workers: options.Workers = None,
) -> None:
    """Make a video or pictures of a motion, or of two side by side, on all cores."""
    from ..collision import Scene
    from ..render.film import CAMERAS, check_film, film
    from ..render.picture import VIEWS

    choice("--camera", camera, tuple(CAMERAS))
    choice("--angle", angle, tuple(VIEWS))
    options.check_engine(None, workers)
    width, height = _size(size, output)
    with usage():
        suffix = check_film(output, camera, (width, height))
    check_apart(output, file, second)
    around = None if scene is None else Scene.load(scene)
    motions, bodies = [], []
    for path in (file, second):
        if path is not None:
            motion = reading.motion(path, *(one for one in (file, second) if one is not path))
            motions.append(motion)
            bodies.append(reading.body(motion, path) if reading.roles is not None else None)
    reading.check_roles(*motions)
    with progress(f"drawing {output.name}") as show:
        count = film(
            motions,
            output,
            camera=camera,
            view=angle,
            revolutions=revolutions,
            size=(width, height),
            fps=rate,
            frames=moments,
            bodies=bodies,
            scene=around,
            workers=workers,
            progress=lambda done, total: show(done / total),
        )
    what = "moment" if suffix == ".png" else "frame"
    text = f"{output}: {counted(count, what)} of {' and '.join(path.name for path in (file, second) if path)}"
    facts = {"output": str(output), "frames": count, "width": width, "height": height, "camera": camera}
    ending.conclude(Summary(text), facts)


def _size(text: str | None, output: Path) -> tuple[int, int]:
    if text is None:
        return (320, 320) if output.suffix.lower() == ".png" else (1280, 720)
    found = re.fullmatch(r"(\d{1,5})[xX](\d{1,5})", text)
    if found is None:
        raise UsageError(f"--size {text}: expected WIDTHxHEIGHT in pixels, as in 1280x720")
    return int(found[1]), int(found[2])
