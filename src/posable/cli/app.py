"""The commands, put together."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from .. import __version__
from ..compute import PosableError
from . import angles, autopose, bench, edit, evaluate, express, files, live, reach, reconstruct, render
from . import range as limb_range
from .command import Command, Group, example
from .ending import FAILED, INTERRUPTED, WRONG_USAGE, UsageError, end_in_order
from .options import expanded
from .output import at_terminal, forget_notes, on_one_line, without_python

BEGIN = """Posable poses articulated figures: give it a target and it gives back a body.

Begin here:

  posable studio                                   a figure in your browser: click a hand, drag it
  posable reach grasp.glb --to -0.3,1.2,0.5        the right hand goes there, the body with it
  posable view grasp.glb                           see it
  posable info FILE                                what a motion or character of yours holds
  posable retarget walk.bvh out.glb --body me.glb  a motion on your character
  posable reconstruct tracked.csv out.glb          a whole body from six tracked points

`posable --help` lists every command, `posable COMMAND --help` its options with an example."""

app = typer.Typer(
    name="posable",
    cls=Group,
    help="Poses articulated figures: give it a target and it gives back a body.",
    epilog=example(
        "posable studio",
        "posable reach grasp.glb --to -0.3,1.2,0.5",
        "posable view grasp.glb",
        "posable info grasp.glb",
    ),
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command, *lines in (
    (files.info, "posable info boxing.bvh --repair cmu"),
    (files.view, "posable view boxing.bvh", "posable view boxing.bvh --picture boxing.png"),
    (
        render.render,
        "posable render boxing.bvh boxing.mp4 --camera orbit",
        "posable render boxing.bvh both.gif --second knight_boxes.glb --size 640x360",
    ),
    (
        files.convert,
        "posable convert boxing.bvh boxing.glb --repair cmu",
        "posable convert clips/ converted/ --format glb",
    ),
    (
        reach.reach,
        "posable reach grasp.bvh --to -0.3,1.2,0.5 --to -0.1,0.6,0.4 --behaviour tired",
        "posable reach lift.glb --to -0.2,0.9,0.45 --other-to 0.2,0.9,0.45",
    ),
    (
        autopose.autopose,
        "posable autopose crouch.glb --by head=0,-0.5,0.1 --by left_hand=0,-0.1,0.25 --by right_hand=0,-0.1,0.25",
    ),
    (reconstruct.reconstruct, "posable reconstruct tracked.csv dance.glb --body knight.glb --units cm"),
    (
        express.express,
        "posable express C targets.csv angles.csv --posture 0,0.6,-0.9,0.3,0",
        "posable express panda.urdf points.csv angles.csv --pointing 0,0,1",
    ),
    (edit.edit, "posable edit pitch.bvh out.bvh --frame 60 --part left_hand --by 0,0.2,0.1"),
    (
        edit.retarget,
        "posable retarget boxing.bvh knight_boxes.glb --body knight.glb --repair cmu",
        "posable retarget clips/ on_the_knight/ --body knight.glb --format glb",
    ),
    (angles.angles, "posable angles walk.bvh elbows.csv --part left_lower_arm --part right_lower_arm"),
    (angles.plot, "posable plot walk.bvh knees.png --part left_lower_leg --part right_lower_leg"),
    (
        live.live,
        "posable live --body me.vrm",
        "posable live --in vmc --in vrchat --out vmc://192.168.0.7:39539 --out vrchat --body me.vrm",
        "posable live --in take.bvh --out vmc --record take.osc",
        "posable live --in vmc --robot g1.xml --out udp://127.0.0.1:5005 --rate 50",
    ),
    (bench.bench, "posable bench", "posable bench limb reach --record speed.json --plot speed.png"),
    (files.studio, "posable studio", "posable studio boxing.bvh knight.glb"),
):
    app.command(epilog=example(*map(str, lines)), cls=Command)(expanded(command))
app.add_typer(files.data, name="data")
app.add_typer(limb_range.app, name="range")
app.add_typer(evaluate.app, name="evaluate")


def _show_version(requested: bool) -> None:
    if requested:
        typer.echo(f"posable {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def options(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and stop.", is_eager=True, callback=_show_version)
    ] = False,
) -> None:
    """Options of the command itself."""
    if context.invoked_subcommand is None:
        typer.echo(BEGIN)


def run() -> None:
    """Run the command line and end with its exit code; a failure is one line on stderr, never a traceback."""
    forget_notes()
    end_in_order()
    try:
        app()
    except PosableError as error:
        _fail(str(error), WRONG_USAGE if isinstance(error, UsageError) else FAILED)
    except KeyboardInterrupt:
        raise SystemExit(INTERRUPTED) from None
    except BrokenPipeError:  # `posable info ... | head`: the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(0) from None
    except OSError as error:
        _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error), FAILED)


def _fail(message: str, code: int) -> None:
    """End with a failure, on one line whatever the message has, and without advice that only Python can follow."""
    print(f"posable: {at_terminal(on_one_line(without_python(message)))}", file=sys.stderr)
    raise SystemExit(code)
