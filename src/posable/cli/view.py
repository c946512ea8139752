"""`posable view` and `posable studio`: look at files in the browser, or as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .output import busy, counted, print_line
from .reading import AnimationOption, FirstOption, FpsOption, RepairOption, ScaleOption, read

HostOption = Annotated[str, typer.Option(help="Address to listen on; the default is this machine alone.")]
PortOption = Annotated[int, typer.Option(help="Port to listen on; the next free one if it is taken.")]
BrowserOption = Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")]


def view(
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="One motion, or several to see together.")],
    picture: Annotated[
        Path | None, typer.Option(metavar="PNG", help="Draw a strip of frames to a file instead of opening the studio.")
    ] = None,
    frames: Annotated[int, typer.Option(min=1, help="Figures in the picture.")] = 10,
    angle: Annotated[str, typer.Option(help="Where the picture is taken from.")] = "three_quarter",
    scale: ScaleOption = None,
    fps: FpsOption = None,
    first_frame: FirstOption = 0,
    repair: RepairOption = None,
    animation: AnimationOption = None,
    host: HostOption = "127.0.0.1",
    port: PortOption = 8080,
    browser: BrowserOption = True,
) -> None:
    """Show motions in the studio, or as a picture."""
    if picture is not None:
        if len(files) > 1:
            raise typer.BadParameter("a picture shows one file", param_hint="FILE")
        from ..render.picture import check_picture

        check_picture(picture)
    motions = [read(file, scale, fps, first_frame, repair, animation) for file in files]
    if picture is None:
        from ..studio import launch

        launch(motions, host=host, port=port, open_browser=browser)
        return
    from ..render.picture import save_picture, strip

    with busy("drawing"):
        save_picture(strip(motions[0], frames=frames, view=angle), picture)
    print_line(f"{picture}: {counted(frames, 'frame')} of {files[0].name}")


def studio(
    files: Annotated[list[Path] | None, typer.Argument(metavar="FILE", help="Files to open at once.")] = None,
    host: HostOption = "127.0.0.1",
    port: PortOption = 8080,
    browser: BrowserOption = True,
) -> None:
    """Open the studio: a figure, a timeline, and a tab for each job."""
    from ..formats import check_input
    from ..studio import launch

    for file in files or ():
        check_input(file)
    launch(list(files or []), host=host, port=port, open_browser=browser)
