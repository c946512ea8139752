"""The commands and groups of the command line as typer's classes: their checks, and help as people read it."""

from __future__ import annotations

import shutil
import textwrap
from functools import partial
from pathlib import Path
from typing import Any

from typer.core import TyperCommand, TyperGroup

from .ending import UsageError

WRITTEN = ("--json", "--save-edits", "--cache", "--picture")
"""Options that name files to write; that OUTPUT is no INPUT is checked by `check_output`."""


NARROW = 76  # columns: in fewer, boxes with columns of help would cut names of options short


class Plain:
    """Help without boxes where the terminal is narrow: a name a line, and its text below it."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help of a command or group, as wide as the terminal."""
        width = shutil.get_terminal_size().columns
        if width >= NARROW:
            super().format_help(ctx, formatter)  # type: ignore[misc]
            return
        formatter.write(_narrow_help(self, ctx, width))


class Command(Plain, TyperCommand):
    """A command that refuses two files of one name where one of them is written, before it does anything."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.help = _unwrapped(self.help)

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the arguments and options, without a type where none is typed."""
        return [_for_people(param) for param in super().get_params(ctx)]

    def invoke(self, ctx: Any) -> Any:
        """Check the paths among the arguments, and run the command."""
        names: dict[str, list[Path]] = {}
        for param in self.get_params(ctx):
            value = ctx.params.get(param.name)
            paths = value if isinstance(value, list | tuple) else [value]
            shown = param.opts[0] if param.param_type_name == "option" else param.metavar or str(param.name).upper()
            names[shown] = [path for path in paths if isinstance(path, Path) and str(path) != "-"]
        for one in [name for name in WRITTEN if name in names]:
            for other in (name for name in names if name != one):
                for path in names[one]:
                    if any(path.absolute() == read.absolute() for read in names[other]):
                        raise UsageError(f"{one} and {other} are the same file, {str(path)!r}; give another name")
        return super().invoke(ctx)


class Group(Plain, TyperGroup):
    """A group of commands."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.help = _unwrapped(self.help)

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the arguments and options, without a type where none is typed."""
        return [_for_people(param) for param in super().get_params(ctx)]


def example(*lines: str) -> str:
    """Return the text below the help of a command or group: commands to type, a line each."""
    return "\n".join(f"Example: {line}" for line in lines)


def _narrow_help(command: Any, ctx: Any, width: int) -> str:
    """Return the help of a command or group for few columns."""
    wrap = partial(textwrap.fill, width=width, break_long_words=False, break_on_hyphens=False)
    usage = f"Usage: {ctx.command_path} {' '.join(command.collect_usage_pieces(ctx))}"
    parts = [wrap(usage, subsequent_indent="  "), *(wrap(part) for part in (command.help or "").split("\n\n"))]
    records = [record for param in command.get_params(ctx) if (record := param.get_help_record(ctx))]
    sections = {"Arguments and options": records}
    if isinstance(command, Group):
        named = [(name, command.get_command(ctx, name)) for name in command.list_commands(ctx)]
        summaries = [(name, (found.help or "").split("\n\n")[0]) for name, found in named if found is not None]
        sections = {"Options": records, "Commands": summaries}
    for title, rows in sections.items():
        lines = [
            wrap(name, subsequent_indent="  ") + "\n" + wrap(text, initial_indent="    ", subsequent_indent="    ")
            for name, text in rows
        ]
        parts.append("\n".join([f"{title}:", *lines]))
    parts.append("\n".join(wrap(line, subsequent_indent="  ") for line in (command.epilog or "").splitlines()))
    return "\n\n".join(parts) + "\n"


def _unwrapped(text: str | None) -> str | None:
    """Return help whose paragraphs are a line each, so that it wraps with the terminal."""
    return text and "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))


def _for_people(param: Any) -> Any:
    """Return an option or argument whose help shows no type, unless it has a word for what is typed.

    A flag takes nothing, and an argument has its name.
    """
    if param.param_type_name == "argument":
        param._usage_display_name = lambda: _in_usage(param)  # without braces around what is required
    if param.param_type_name == "argument" or not param.metavar:
        param.display_type_rich = lambda ctx: ""
        if param.param_type_name == "option":
            param.metavar = ""
    return param


def _in_usage(param: Any) -> str:
    """Return an argument as the line of usage shows it: FILE, FILE..., [FILE]..."""
    name = param.metavar or str(param.name).upper()
    return (name if param.required else f"[{name}]") + ("..." if param.nargs != 1 else "")
