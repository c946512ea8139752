"""`posable info`, `convert`, `view`, `studio` and `data`: look at files, write them in another format, fetch them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..compute import PosableError
from . import options
from .options import read
from .output import (
    Command,
    at_terminal,
    busy,
    check_output,
    counted,
    print_line,
    save_motion,
    show_facts,
    show_table,
    write_json,
)

if TYPE_CHECKING:
    from ..skeleton import Motion

HostOption = Annotated[str, typer.Option(help="Address to listen on; the default is this machine alone.")]
PortOption = Annotated[int, typer.Option(help="Port to listen on; the next free one if it is taken.")]
BrowserOption = Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")]

data = typer.Typer(help="Real motion to work with: the CMU clips by name.", no_args_is_help=True)


def info(
    file: options.File,
    joints: Annotated[bool, typer.Option("--joints", help="Also list every joint.")] = False,
    scale: options.Scale = None,
    fps: options.Fps = None,
    first_frame: options.FirstFrame = 0,
    repair: options.Repair = None,
    animation: options.Animation = None,
    up: options.Up = None,
    json: options.Json = None,
) -> None:
    """Tell what a file holds: joints, frames, rate, size, who is who, meshes."""
    motion = read(file, scale, fps, first_frame, repair, animation, up, show_notes=False)  # its facts have the notes
    facts, rows = {"file": str(file), **_facts(motion)}, _joint_rows(motion)
    if not write_json(json, {**facts, "joints_listed": rows}):
        show_facts(file.name, facts)
        if joints:
            show_table("joints", rows)


def convert(
    file: options.File,
    output: options.Output,
    scale: options.Scale = None,
    fps: options.Fps = None,
    first_frame: options.FirstFrame = 0,
    repair: options.Repair = None,
    animation: options.Animation = None,
    up: options.Up = None,
    resample: Annotated[float | None, typer.Option(help="Frames a second to write, by interpolation.")] = None,
    character: Annotated[Path | None, typer.Option(help="A glTF or VRM character to write the motion on.")] = None,
    json: options.Json = None,
) -> None:
    """Write a motion in another format."""
    check_output(output, file, character)
    motion = read(file, scale, fps, first_frame, repair, animation, up)
    if character is not None and output.suffix.lower() in {".glb", ".gltf", ".vrm"}:
        read(character)
    if resample is not None:
        motion = motion.resampled(resample)
    save_motion(motion, output, character=character)
    facts = {
        "file": str(file),
        "output": str(output),
        "frames": len(motion),
        "fps": motion.fps,
        "joints": len(motion.skeleton),
        "bytes": output.stat().st_size,
        "notes": _notes(motion),
    }
    if write_json(json, facts):
        return
    print_line(f"{output}: {counted(len(motion), 'frame')} at {motion.fps:g} a second, {len(motion.skeleton)} joints")


def view(
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="One motion, or several to see together.")],
    picture: Annotated[
        Path | None, typer.Option(metavar="PNG", help="Draw a strip of frames to a file instead of opening the studio.")
    ] = None,
    frames: Annotated[int, typer.Option(min=1, help="Figures in the picture.")] = 10,
    angle: Annotated[str, typer.Option(help="Where the picture is taken from.")] = "three_quarter",
    scale: options.Scale = None,
    fps: options.Fps = None,
    first_frame: options.FirstFrame = 0,
    repair: options.Repair = None,
    animation: options.Animation = None,
    up: options.Up = None,
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
    motions = [read(file, scale, fps, first_frame, repair, animation, up) for file in files]
    if picture is None:
        from ..studio import launch

        launch(motions, host=host, port=port, open_browser=browser)
        return
    from ..render.picture import save_picture, strip

    with busy("drawing"):
        save_picture(strip(motions[0], frames=frames, view=angle), picture)
    print_line(f"{picture}: {counted(min(frames, len(motions[0])), 'frame')} of {files[0].name}")


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
    launch([read(file) for file in files or ()], host=host, port=port, open_browser=browser)


@data.command("list", cls=Command, epilog="Example: posable data list")
def list_data(json: options.Json = None) -> None:
    """List the clips that can be fetched."""
    from ..formats.datasets import list_clips

    rows = list_clips()
    if not write_json(json, rows):
        show_table("CMU clips", rows)


@data.command("fetch", cls=Command, epilog="Example: posable data fetch 17_10 90_05 --to clips")
def fetch_data(
    names: Annotated[list[str], typer.Argument(metavar="CLIP", help="Names as `posable data list` shows them.")],
    to: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Where to put them; the cache when not given.")
    ] = None,
    json: options.Json = None,
) -> None:
    """Fetch clips, from the mirror in $POSABLE_DATA or from their public repository, and check their hashes."""
    from ..formats.datasets import fetch

    with busy("fetching"):
        paths = fetch(names, to)
    if not write_json(json, {"paths": [str(path) for path in paths]}):
        for path in paths:
            print_line(str(path))


def _facts(motion: Motion) -> dict[str, Any]:
    """Return the first facts about a motion, lengths in metres."""
    skeleton = motion.skeleton
    facts: dict[str, Any] = {
        "frames": len(motion),
        "fps": motion.fps,
        "seconds": round(motion.duration, 3),
        "joints": len(skeleton),
        "end_sites": len(skeleton.end_parents),
        "degrees_of_freedom": len(skeleton.dofs),
        "joints_that_move": "" if motion.pose.offsets is None else "some joints change their place (offsets)",
    }
    if len(motion):
        frames = skeleton.forward(motion.pose)
        low, high = frames.positions.min(axis=(0, 1)), frames.positions.max(axis=(0, 1))
        facts["space_m"] = " x ".join(f"{size:.2f}" for size in high - low) + " (x, y, z)"
        facts["lowest_joint_m"] = float(low[1])
    facts |= _body_facts(motion)
    if skeleton.character is not None:
        meshes = skeleton.character.meshes
        facts["meshes"] = [f"{mesh.name}: {len(mesh.vertices)} vertices, {len(mesh.faces)} faces" for mesh in meshes]
    facts["notes"] = _notes(motion)
    return facts


def _body_facts(motion: Motion) -> dict[str, Any]:
    """Return the joint of each role, where the skeleton is a person's."""
    from ..body import Humanoid

    try:
        body = Humanoid(motion.skeleton)
    except PosableError as error:
        return {"body": f"not a person as far as names tell: {error}"}
    names = motion.skeleton.names
    return {"ankle_to_head_m": float(body.joint_height), "body": {role: names[j] for role, j in body.roles.items()}}


def _joint_rows(motion: Motion) -> list[dict[str, Any]]:
    """Return a row for each joint: its parent, kind and offset at rest."""
    skeleton = motion.skeleton
    return [
        {
            "index": j,
            "joint": name,
            "parent": skeleton.names[parent] if parent >= 0 else "",
            "kind": skeleton.kinds[j],
            "offset_m": " ".join(f"{value:.3f}" for value in skeleton.offsets[j]),
        }
        for j, (name, parent) in enumerate(zip(skeleton.names, skeleton.parents, strict=True))
    ]


def _notes(motion: Motion) -> list[str]:
    """Return the assumptions and changes of a reader, with options as they are written at a terminal."""
    return [at_terminal(note) for note in motion.notes]
