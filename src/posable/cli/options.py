"""Arguments and options that several commands share, and how their values are read.

A command takes groups of options as one argument, a dataclass whose fields are the options; `expanded` makes a function
with the single options of it, for typer.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin, get_type_hints

import typer

from ..compute import FormatError, PosableError, UnknownNameError
from .ending import UsageError, usage
from .output import busy, print_notes

if TYPE_CHECKING:
    from ..body import Humanoid
    from ..skeleton import Motion

File = Annotated[Path, typer.Argument(metavar="FILE", help="A motion or a character: BVH, AMC, glTF, VRM, ...")]
FileOrFolder = Annotated[
    Path, typer.Argument(metavar="FILE", help="A motion: BVH, AMC, glTF, VRM, ...; or a folder of them.")
]
Files = Annotated[list[Path], typer.Argument(metavar="FILE", help="Motions, or folders of them.")]
Output = Annotated[Path, typer.Argument(metavar="OUTPUT", help="The file to write; its suffix says the format.")]
OutputOrFolder = Annotated[
    Path, typer.Argument(metavar="OUTPUT", help="The file to write; its suffix says the format. Or a folder.")
]
Scale = Annotated[
    float | None, typer.Option(metavar="METRES", help="Metres per file unit, for formats that have no unit.")
]
Fps = Annotated[float | None, typer.Option(metavar="RATE", help="Frames a second, where the file's own rate is wrong.")]
FirstFrame = Annotated[int, typer.Option(metavar="FRAME", help="Drop the frames before this one.")]
Repair = Annotated[str | None, typer.Option(help='"cmu": put back what the CMU conversion lost.')]
Animation = Annotated[
    str | None, typer.Option(help="Which animation of a glTF file, or take of FBX, by name or number.")
]
Roles = Annotated[
    str | None,
    typer.Option(
        metavar="PART=JOINT,...",
        help="Which joint is which part, where names do not tell; or a JSON file of these.",
    ),
]
Up = Annotated[
    str | None, typer.Option(metavar="AXIS", help="The axis that is up: y or z; BVH has y by default, AMASS z.")
]
BodyModel = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Of an AMASS file, your own SMPL model (.npz), which gives the bones."),
]
RobotOfFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="The robot whose joints a .csv, .npy or .npz for training is about, .xml or .urdf."
    ),
]
Store = Annotated[
    Path | None, typer.Option(metavar="FOLDER", help="Keep what is done here, for a second call to go on.")
]
Engine = Annotated[
    str | None,
    typer.Option(metavar="ENGINE", help="Who works: local (all cores), or a cluster, dask://... or ray://..."),
]
Workers = Annotated[int | None, typer.Option(metavar="NUMBER", help="How many processes; all cores when not given.")]


WORDS: dict[Any, str] = {float: "NUMBER", int: "NUMBER", str: "NAME", Path: "FILE"}
"""What is typed for an option, by its type; options with a better word have one of their own."""


def expanded(function: Callable[..., None]) -> Callable[..., None]:
    """Return the function with the fields of its dataclass arguments in their place, as typer reads them."""
    hints = get_type_hints(function, include_extras=True)
    groups: dict[str, type] = {}
    parameters: list[inspect.Parameter] = []
    shared: list[inspect.Parameter] = []  # after the options of the command itself
    for name, parameter in inspect.signature(function).parameters.items():
        kind = hints[name]
        if not dataclasses.is_dataclass(kind):
            parameters.append(parameter.replace(annotation=_typed(kind), kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        assert isinstance(kind, type)
        groups[name] = kind
        fields = get_type_hints(kind, include_extras=True)
        for field in dataclasses.fields(kind):
            option = inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default)
            shared.append(option.replace(annotation=_typed(fields[field.name])))
    parameters += shared

    @functools.wraps(function)
    def call(**given: Any) -> None:
        made = {}
        for name, kind in groups.items():
            made[name] = kind(**{field.name: given.pop(field.name) for field in dataclasses.fields(kind)})
        function(**given, **made)

    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {one.name: one.annotation for one in parameters}
    return call


def _typed(hint: Any) -> Any:
    """Return the annotation of an option with the word that people type for its value, where it has none."""
    if get_origin(hint) is not Annotated:
        return hint
    kind, info = get_args(hint)
    inner = [one for one in (get_args(kind) or (kind,)) if one is not type(None)]
    if not isinstance(info, typer.models.OptionInfo) or info.metavar is not None or inner[0] not in WORDS:
        return hint
    info = copy.copy(info)
    info.metavar = WORDS[inner[0]]
    return Annotated[kind, info]


@dataclass(frozen=True)
class FileReading:
    """How a command reads files whose frames it does not choose, and whose parts it need not know."""

    scale: Scale = None
    repair: Repair = None
    animation: Animation = None
    up: Up = None

    def motion(self, path: Path, *others: Path | None, show_notes: bool = True) -> Motion:
        """Load a file; its notes go to standard error unless `show_notes` is False.

        An option counts for the files whose format takes it. `others` are the further files of the command: an option
        that none of them takes is a mistake.
        """
        from .tasks import read_motion

        self.check(path, *others)
        with busy(f"reading {path.name}"):
            motion = read_motion(path, self.loading)
        if show_notes:
            print_notes(path, motion.notes)
        return motion

    def body(self, motion: Motion, path: Path) -> Humanoid:
        """Return the body of a motion, with the roles that were given; an error names the file."""
        from .tasks import body_of

        return body_of(motion, path, self.given_roles)

    @property
    def loading(self) -> dict[str, Any]:
        """The options of `posable.load` that were given, without those at their default."""
        given = dataclasses.asdict(self)
        given.pop("roles", None)
        for file in ("robot", "body_model"):
            if given.get(file) is not None:
                given[file] = str(given[file].absolute())
        if given["animation"] is not None and given["animation"].isdigit():
            given["animation"] = int(given["animation"])
        return {name: value for name, value in given.items() if value is not None}

    @property
    def given_roles(self) -> dict[str, str]:
        """Part to joint, of `--roles`."""
        return parse_roles(getattr(self, "roles", None))

    def check_values(self) -> None:
        """Refuse a value that an option cannot have, whatever the files hold."""
        from ..formats import MAX

        for name, most in (("scale", MAX["scale"]), ("fps", MAX["fps"])):
            value = self.loading.get(name)
            if value is not None and not 0.0 < value < most:
                raise UsageError(f"--{name} {value:g}: expected a number above 0 and below {most:g}")
        if self.up is not None:
            choice("up axis", self.up, ("y", "z"))
        if self.repair is not None:
            choice("repair", self.repair, ("cmu",))
        _ = self.given_roles

    def check_unused(self, *instead: str) -> None:
        """Refuse options where no file is read; `instead` are the options that would name one."""
        given = {**self.loading, **({"roles": ""} if self.given_roles else {})}
        for name in given:
            if given[name] != getattr(type(self)(), name):
                raise UsageError(
                    f"--{name.replace('_', '-')} is about a file that is read; give {' or '.join(instead)} too"
                )

    def check(self, *paths: Path | None) -> None:
        """Refuse a value that an option cannot have, and an option that none of the files takes."""
        from ..formats import check_input

        self.check_values()
        kinds = [check_input(path) for path in paths if path is not None]
        for name, value in self.loading.items():
            if name in {"fps", "first_frame"} or any(name in kind.load_options for kind in kinds):
                continue
            own = {field.name for field in dataclasses.fields(self)}
            accepted = sorted(own.intersection(*[set().union(*(kind.load_options for kind in kinds))]))
            known = f"they take {', '.join(f'--{one}' for one in accepted)}" if accepted else "they take none"
            names = " and ".join(dict.fromkeys(kind.name for kind in kinds))
            raise UsageError(f"--{name} {value} is not for {names} files; {known}")

    def check_roles(self, *motions: Motion | None) -> None:
        """Refuse joints of `--roles` that none of the skeletons has."""
        names = [name for motion in motions if motion is not None for name in motion.skeleton.names]
        for role, joint in self.given_roles.items():
            if joint not in names:
                raise UsageError(f"--roles {role}={joint}: {UnknownNameError('joint', joint, names)}")


@dataclass(frozen=True)
class BodyReading(FileReading):
    """How a command reads a body, or a pose to begin in."""

    roles: Roles = None


@dataclass(frozen=True)
class MotionReading(FileReading):
    """How a command reads a motion of anything."""

    fps: Fps = None
    first_frame: FirstFrame = 0


@dataclass(frozen=True)
class Reading(MotionReading, BodyReading):
    """How a command reads a motion of a person."""


@dataclass(frozen=True)
class AnyMotionReading(MotionReading):
    """How a command reads a motion of anything, that of a robot in a file for training included."""

    robot: RobotOfFile = None
    body_model: BodyModel = None


@dataclass(frozen=True)
class AnyReading(Reading):
    """How a command reads a motion whose parts it may know, also that of a robot in a file for training."""

    robot: RobotOfFile = None
    body_model: BodyModel = None


@dataclass(frozen=True)
class Folder:
    """How a folder is done: the format, and who works."""

    format: Annotated[
        str | None,
        typer.Option(
            metavar="SUFFIX", help="The format that a folder is written in; bvh when not given, csv on a robot."
        ),
    ] = None
    engine: Engine = None
    workers: Workers = None

    def check(self) -> None:
        """Refuse an engine or a number of workers that cannot be, for a single file too."""
        check_engine(self.engine, self.workers)


def parse_roles(text: str | None) -> dict[str, str]:
    """Return part to joint of `--roles`: pairs, or a JSON file with an object of them."""
    from ..body import ROLES
    from ..body.roles.matching import parse_roles as read_pairs

    if text is None:
        return {}
    if Path(text).suffix.lower() == ".json":
        found = _roles_file(Path(text))
    else:
        try:
            return read_pairs(text)
        except PosableError as error:
            raise UsageError(f"--roles {text}: {error}, or a .json file") from None
    for role in found:
        if role not in ROLES:
            raise UsageError(f"--roles {text}: {UnknownNameError('part', role, ROLES)}")
    return found


MAX_ROLES = 1_000_000  # bytes of a file of roles


def _roles_file(path: Path) -> dict[str, str]:
    from ..compute.documents import read_json

    expected = 'an object of parts and joints, such as {"left_hand": "Hand.L"}'
    return read_json(path, dict[str, str], MAX_ROLES, expected)


def check_engine(engine: str | None, workers: int | None) -> None:
    """Refuse an engine or a number of workers that cannot be, before anything is read or made."""
    from ..jobs import check_engine as check

    with usage():
        check(engine, workers)


def motion_files(paths: list[Path]) -> list[Path]:
    """Return the files, and the motions in folders."""
    from ..evaluate.tasks import MOTIONS
    from ..formats import check_input

    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            found += sorted(file for file in path.iterdir() if file.suffix.lower() in MOTIONS and file.is_file())
        else:
            if not path.suffix and not path.exists():
                raise FormatError(path, "no such file or folder")
            check_input(path)
            found.append(path)
    if not found:
        raise PosableError(
            f"no motions in {', '.join(map(str, paths))}; expected files that end in {', '.join(MOTIONS)}"
        )
    return found


def choice(option: str, value: str, known: Mapping[str, Any] | tuple[str, ...]) -> str:
    """Return the value of an option; refuse one that is not known."""
    if value not in known:
        raise UsageError(str(UnknownNameError(option, value, known)))
    return value


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
        raise UsageError(f"{option} {text}: expected {expected}")
    return found


def two_integers(option: str, text: str, expected: str, least: int = 0) -> tuple[int, int]:
    """Return two integers, at least `least`, that are written with a comma between; see `numbers`."""
    words = text.split(",")
    if len(words) != 2 or not all(word.strip().isdecimal() and int(word) >= least for word in words):
        raise UsageError(f"{option} {text}: expected {expected}")
    return int(words[0]), int(words[1])


def part_names(text: str) -> list[str]:
    """Return the names of parts that are written with commas between."""
    return [word.strip() for word in text.split(",")]


def three_weights(text: str) -> list[float]:
    """Return the weights of `--weights`."""
    return numbers("--weights", text, 3, "three numbers, as in 1,1,0")
