"""`posable info`, `convert`, `view`, `studio` and `data`: look at files, write them in another format, fetch them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from ..compute import PosableError
from ..compute.types import Floats
from . import options
from .command import Command, Group, example
from .ending import Ending, Summary, UsageError, listed
from .folder import check_paths, do_folder, files_of
from .options import AnyMotionReading, AnyReading, BodyReading, FileReading, Folder, choice, expanded
from .output import (
    at_terminal,
    busy,
    check_picture_path,
    counted,
    print_line,
    print_notes,
    show_facts,
    show_table,
    write_json,
)
from .robot_facts import motor_columns, part_facts, robot_facts

if TYPE_CHECKING:
    from ..skeleton import Motion

HostOption = Annotated[str, typer.Option(metavar="ADDRESS", help="To listen on; the default is this machine alone.")]
AllowedHostOption = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="Another name of the page, as of a proxy before it; may be repeated."),
]
PortOption = Annotated[int, typer.Option(help="Port to listen on; the next free one if it is taken.")]
BrowserOption = Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")]

studio_has_run = False  # its threads may be in the middle of something long: the program does not wait for them
FASTEST = 100000  # frames a second, of --resample
BLOCK = 4096  # frames that are posed at once

data = typer.Typer(
    cls=Group,
    help="Real motion to work with: the CMU clips by name.",
    epilog=example("posable data list", "posable data fetch 17_10 --to ."),
    no_args_is_help=True,
)


def info(
    file: options.File,
    reading: AnyReading,
    ending: Ending,
    joints: Annotated[bool, typer.Option("--joints", help="Also list every joint.")] = False,
) -> None:
    """Tell what a file holds: joints, frames, rate, size, who is who, meshes."""
    motion = reading.motion(file, show_notes=False)  # its facts have the notes
    reading.check_roles(motion)
    facts, rows = {"file": str(file), **_facts(motion, reading)}, _joint_rows(motion)
    known = isinstance(facts["body"], dict)
    robot = motion.skeleton.robot is not None
    who = ("a humanoid robot" if robot else "a person") if known else "not recognised as a person"
    size = f"{counted(len(motion), 'frame')} at {motion.fps:g} a second, {counted(len(motion.skeleton), 'joint')}"
    text = f"{file.name}: {who}, {size}"
    if not write_json(ending.json, {"summary": text, "met": True, **facts, "joints_listed": rows}):
        print_line(text)
        show_facts("", facts)
        if joints:
            show_table("joints", rows)


def convert(
    file: options.FileOrFolder,
    output: options.OutputOrFolder,
    reading: AnyMotionReading,
    folder: Folder,
    ending: Ending,
    resample: Annotated[
        float | None, typer.Option(metavar="RATE", help="Frames a second to write, by interpolation.")
    ] = None,
    character: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="A glTF or VRM character with the same joints to write it on; an AMASS file's body."
        ),
    ] = None,
    layout: Annotated[
        str | None,
        typer.Option(help="Of an .npz: posable (default), amass; of a robot's mjlab, beyondmimic, gmr or qpos."),
    ] = None,
    joint_order: Annotated[
        str | None, typer.Option(help="Of a robot's .csv: mujoco (default, the file's) or isaac (breadth first).")
    ] = None,
    header: Annotated[bool, typer.Option("--header", help="Begin a robot's .csv with a line of names.")] = False,
) -> None:
    """Write a motion, or a folder of them, in another format.

    A folder is done on all cores; a second call after an interruption does what is missing.
    """
    from ..evaluate.tasks import MOTIONS
    from .robots import robot_options
    from .tasks import convert_file

    many = check_paths(file, output, character)
    if resample is not None and not 0.0 < resample <= FASTEST:
        raise UsageError(f"--resample {resample:g}: expected frames a second, above 0 and at most {FASTEST:g}")
    reading.check_values()
    suffix = f".{(folder.format or 'bvh').lower().removeprefix('.')}" if many else output.suffix.lower()
    saving = robot_options(suffix, layout, joint_order, header)
    if many:
        found = (*MOTIONS, ".csv", ".npy") if reading.robot is not None else MOTIONS
        files = files_of(file, output, folder, found, character=character)
        settings = {"reading": reading.loading, "resample": resample, "saving": saving}
        do_folder(
            *("converting", "converted", convert_file, files, settings, folder, ending),
            columns=("frames", "fps", "joints"),
            unmet=lambda facts: "",
            output=output,
        )
        return
    folder.check()
    reading.check(file)
    if character is not None and output.suffix.lower() in {".glb", ".gltf", ".vrm", ".vrma"}:
        FileReading().motion(character)
    with busy(f"converting {file.name}"):
        facts = convert_file(
            {"file": file, "output": output, "character": character}, reading.loading, resample, saving
        )
    print_notes(file, facts["notes"])
    facts["notes"] = [at_terminal(note) for note in facts["notes"]]
    text = f"{counted(facts['frames'], 'frame')} at {facts['fps']:g} a second, {counted(facts['joints'], 'joint')}"
    ending.conclude(Summary(f"{output}: {text}"), facts)


def view(
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="One motion, or several to see together.")],
    reading: AnyReading,
    picture: Annotated[
        Path | None, typer.Option(metavar="PNG", help="Draw a strip of frames to a file instead of opening the studio.")
    ] = None,
    frames: Annotated[int, typer.Option(min=1, help="Figures in the picture.")] = 10,
    angle: Annotated[
        str, typer.Option(metavar="VIEW", help="Where the picture is taken from: front, side, three_quarter, ...")
    ] = "three_quarter",
    scene: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Obstacles, in JSON, to draw with the body in a picture.")
    ] = None,
    host: HostOption = "127.0.0.1",
    port: PortOption = 8080,
    allowed_host: AllowedHostOption = None,
    browser: BrowserOption = True,
) -> None:
    """Show motions in the studio, or as a picture."""
    if picture is None:
        if scene is not None:
            raise UsageError("--scene is for a picture; give --picture FILE.png too")
        _run_studio(files, reading, host=host, port=port, allowed_hosts=allowed_host or (), open_browser=browser)
        return
    if len(files) > 1:
        raise UsageError("--picture shows one file; give one FILE")
    from ..collision import Scene
    from ..render.picture import VIEWS, save_picture, strip

    choice("--angle", angle, tuple(VIEWS))
    check_picture_path(picture)
    around = None if scene is None else Scene.load(scene)
    motion = reading.motion(files[0])
    reading.check_roles(motion)
    subject = reading.body(motion, files[0]) if reading.roles is not None else motion
    with busy("drawing"):
        save_picture(strip(subject, motion, frames=frames, view=angle, scene=around), picture)
    print_line(f"{picture}: {counted(min(frames, len(motion)), 'frame')} of {files[0].name}")


def studio(
    files: Annotated[list[Path] | None, typer.Argument(metavar="FILE", help="Files to open at once.")] = None,
    *,
    reading: BodyReading,
    host: HostOption = "127.0.0.1",
    port: PortOption = 8080,
    allowed_host: AllowedHostOption = None,
    browser: BrowserOption = True,
) -> None:
    """Open the studio: a figure, a timeline, and a tab for each job."""
    from ..formats import check_input

    for file in files or ():
        check_input(file)
    if not files:  # roles count for files that are opened later too
        replace(reading, roles=None).check_unused("FILE")
    _run_studio(files or [], reading, host=host, port=port, allowed_hosts=allowed_host or (), open_browser=browser)


def _run_studio(files: list[Path], reading: FileReading, **options: Any) -> None:
    """Run the studio on files until Ctrl-C, with the roles given for their joints and those of files opened later."""
    global studio_has_run
    from ..studio import launch

    _check_port(options["port"])
    motions = [reading.motion(file, *files) for file in files]
    if motions:
        reading.check_roles(*motions)
    for file, motion in zip(files, motions, strict=True):
        if reading.given_roles:
            reading.body(motion, file)
    studio_has_run = True
    launch(motions, roles=reading.given_roles, **options)


def _check_port(port: int) -> None:
    if not 0 <= port < 65536:
        raise UsageError(f"--port {port}: expected 1 to 65535, or 0 for a free one")


def list_data(ending: Ending) -> None:
    """List the clips and the robots that can be fetched."""
    from ..formats.datasets import list_clips, list_robots

    rows, robots = list_clips(), list_robots()
    text = (
        f"{counted(len(rows), 'clip')} of the CMU database and {counted(len(robots), 'robot')} of MuJoCo Menagerie; "
        "`posable data fetch NAME --to .` gets one"
    )
    ending.conclude(Summary(text), {}, always={"clips": rows, "robots": robots})


def fetch_data(
    names: Annotated[list[str], typer.Argument(metavar="NAME", help="Names as `posable data list` shows them.")],
    ending: Ending,
    to: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Where to put them; the cache when not given.")
    ] = None,
) -> None:
    """Fetch clips and robots, from the mirror in $POSABLE_DATA or public repositories, and check their hashes."""
    from ..formats.datasets import fetch, list_clips, list_robots

    known = [*(row["clip"] for row in list_clips()), *(row["robot"] for row in list_robots())]
    for name in names:
        choice("clip or robot", name, tuple(known))
    with busy("fetching"):
        paths = fetch(names, to)
    text = f"{counted(len(paths), 'file')} fetched: {listed([str(path) for path in paths], len(paths))}"
    ending.conclude(Summary(text), {"paths": [str(path) for path in paths]})


for command, name, line in (
    (list_data, "list", "posable data list"),
    (fetch_data, "fetch", "posable data fetch 17_10 90_05 --to clips"),
):
    data.command(name, cls=Command, epilog=example(line))(expanded(command))


def _facts(motion: Motion, reading: AnyReading) -> dict[str, Any]:
    """Return the first facts about a motion, lengths in metres."""
    from ..formats import character_animations, character_facts

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
        low, high = _space(motion)
        facts["space_m"] = " x ".join(f"{size:.2f}" for size in high - low) + " (x, y, z)"
        facts["lowest_joint_m"] = float(low[1])
    facts |= _body_facts(motion, reading)
    if skeleton.robot is not None:
        facts |= robot_facts(skeleton.robot)
    elif skeleton.character is not None:
        meshes = skeleton.character.meshes
        facts |= {f"file_{name}": value for name, value in character_facts(skeleton.character).items()}
        facts["animations"] = character_animations(skeleton.character)
        facts["meshes"] = [f"{mesh.name}: {len(mesh.vertices)} vertices, {len(mesh.faces)} faces" for mesh in meshes]
    facts["notes"] = _notes(motion)
    return facts


def _space(motion: Motion) -> tuple[Floats, Floats]:
    """Return the lowest and the highest coordinates (3,) [m] of all joints; a block of frames at once is posed."""
    low, high = np.full(3, np.inf), np.full(3, -np.inf)
    for first in range(0, len(motion), BLOCK):
        positions = motion.skeleton.forward(motion.pose[first : first + BLOCK]).positions
        low, high = np.minimum(low, positions.min(axis=(0, 1))), np.maximum(high, positions.max(axis=(0, 1)))
    return low, high


def _body_facts(motion: Motion, reading: AnyReading) -> dict[str, Any]:
    """Return the joint of each role, where the skeleton is a person's."""
    from ..body import Humanoid
    from .output import without_python

    try:
        body = Humanoid(motion.skeleton, reading.given_roles or None)
    except PosableError as error:
        return {"body": f"not recognised as a person: {without_python(str(error))}\n--roles PART=JOINT,... names them"}
    names = motion.skeleton.names
    if body.robot_parts is not None:
        return part_facts(body)
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
        | motor_columns(skeleton, j)
        for j, (name, parent) in enumerate(zip(skeleton.names, skeleton.parents, strict=True))
    ]


def _notes(motion: Motion) -> list[str]:
    """Return the assumptions and changes of a reader, with options as they are written at a terminal."""
    return [at_terminal(note) for note in motion.notes]
