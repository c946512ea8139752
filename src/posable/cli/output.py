"""Output that the commands share: tables for people, the same facts as JSON, progress for what takes long."""

from __future__ import annotations

import json
import math
import os
import re
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..compute import PosableError, atomic_write
from ..compute.files import check_writable

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.status import Status

    from ..jobs import Progress, Report

WIDE = 20_000  # columns, where no person looks: what reads a pipe wants one line a row, however long its paths are


class UsageError(PosableError):
    """The command line is wrong, whatever the files hold: exit code 2 (`ending`)."""


class _Output(Console):
    def on_broken_pipe(self) -> None:  # `posable info ... | head`: the reader has seen enough; rich would exit with 1
        raise BrokenPipeError


def _out() -> Console:
    """Return a console on standard output, as wide as `COLUMNS` or the terminal say when it is called."""
    watched = "COLUMNS" in os.environ or (sys.stdout is not None and sys.stdout.isatty())
    return _Output(highlight=False, width=None if watched else WIDE)


def _err() -> Console:
    """Return a console on standard error as it is when this is called; it moves only where a person looks.

    `FORCE_COLOR`, as continuous integration sets it, makes rich take any file for a terminal; a spinner would fill it.
    """
    watched = sys.stderr is not None and sys.stderr.isatty()
    return Console(stderr=True, highlight=False, force_interactive=None if watched else False)


_printed: set[str] = set()
_OPTION = re.compile(r"\b(scale|fps|first_frame|repair|animation|up|units|character)=('[^']*'|[\w.+-]*[\w+-])?")


def note(text: str) -> None:
    """Print a note on standard error, once in a run of the command."""
    if text not in _printed:
        _printed.add(text)
        print(f"note: {at_terminal(text)}", file=sys.stderr)


def forget_notes() -> None:
    """Begin a new run, in which a note is printed again."""
    _printed.clear()


def print_notes(path: Path | str, notes: Iterable[str]) -> None:
    """Print the notes of a file that was read."""
    for one in notes:
        note(f"{Path(path).name}: {one}")


def print_shared_notes(notes: Mapping[str, Iterable[str]]) -> None:
    """Print the notes of many files, each once with the number of the files that it is of."""
    files: dict[str, list[str]] = {}
    for path, listed in notes.items():
        for one in listed:
            files.setdefault(one, []).append(Path(path).name)
    for one, names in files.items():
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        note(f"{names[0]}{more}: {one}")


def at_terminal(text: str) -> str:
    """Return a sentence with options as they are written at a terminal: `--first-frame 1` for `first_frame=1`."""

    def option(found: re.Match[str]) -> str:
        value = (found[2] or "").strip("'")
        return f"--{found[1].replace('_', '-')}" + (f" {value}" if value else "")

    return _OPTION.sub(option, text)


def check_output(output: Path, *inputs: Path | None) -> None:
    """Refuse what could not be written, or would overwrite what is read, before any work is done for it."""
    from ..formats import check_output as check
    from ..formats import suffixes

    check_apart(output, *inputs)
    if output.suffix.lower() not in suffixes(written=True):
        try:
            check(output)
        except PosableError as error:
            raise UsageError(str(error)) from None
    check(output)


def check_apart(output: Path, *inputs: Path | None) -> None:
    """Refuse an output that is one of the files that are read."""
    for source in inputs:
        if source is not None and source.exists() and output.exists() and source.samefile(output):
            raise UsageError(f"OUTPUT is INPUT, {str(source)!r}: it would be overwritten; give another name")


def check_picture_path(path: Path) -> None:
    """Refuse a picture that could not be written, before any work is done for it."""
    if path.suffix.lower() != ".png":
        raise UsageError(f"cannot write {str(path)!r}: pictures are written as .png")
    check_writable(path)


def without_python(message: str) -> str:
    """Return an error without the advice that only Python can follow."""
    return message.split("\nSay it: Humanoid")[0].split("; give Humanoid a pose")[0]


def on_one_line(message: str) -> str:
    """Return an error of several lines as one: the lines of a list are set off by semicolons."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    text = lines[0] if lines else ""
    for before, line in pairwise(lines):
        text += f" {line}" if before.endswith((":", ";", ",", ".")) else f"; {line}"
    return text


def check_folder(folder: Path) -> None:
    """Refuse a folder that could not be made or written to, before any work is done for it; it is not made here."""
    if folder.exists() and not folder.is_dir():
        raise PosableError(f"{str(folder)!r} is a file; give a folder")
    above = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not above.is_dir() or not os.access(above, os.W_OK):
        raise PosableError(f"cannot make the folder {str(folder)!r}: {str(above)!r} may not be written to")


def show_failures(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print what failed, where something did."""
    if rows:
        print_line("failed")
        show_table("", rows)


def show_table(title: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Print rows under their column names; numbers to the right."""
    table = Table(title=title or None, title_justify="left", header_style="bold", box=None, pad_edge=False)
    if not rows:
        _out().print(f"{title}: none")
        return
    for name, value in rows[0].items():
        right = isinstance(value, int | float) and not isinstance(value, bool)
        table.add_column(name.replace("_", " "), justify="right" if right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(_shown(value)) for value in row.values()))
    _out().print(table)


def show_facts(title: str, facts: Mapping[str, Any]) -> None:
    """Print a title and a column of facts, leaving out what is empty."""
    table = Table(show_header=False, box=None, pad_edge=False, title=title or None, title_justify="left")
    table.title_style = "bold"
    table.add_column(style="dim")
    table.add_column(overflow="fold")
    for name, value in facts.items():
        if value not in (None, "", [], {}, ()):
            table.add_row(name.replace("_", " "), Text(_shown(value)))
    _out().print(table)


def write_json(path: Path | None, facts: Any) -> bool:
    """Write facts as JSON; return whether they went to the terminal, which then shows nothing else."""
    if path is None:
        return False
    text = json.dumps(_finite(facts), indent=2, default=_plain, allow_nan=False) + "\n"
    if str(path) == "-":
        typer.echo(text, nl=False)
        return True
    with atomic_write(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return False


@contextmanager
def busy(what: str) -> Iterator[None]:
    """Show a spinner with `what` once the block has run for a second."""
    with _after_a_second(_err().status(f"{what} ...")):
        yield


@contextmanager
def progress(what: str) -> Iterator[Callable[[float], None]]:
    """Give a function that takes the fraction done, 0 to 1; it shows a bar once the block has run for a second."""
    from rich.progress import Progress as Bar

    bar = Bar(console=_err(), transient=True)
    task = bar.add_task(what, total=1.0)
    with _after_a_second(bar):
        yield lambda done: bar.update(task, completed=done)


@contextmanager
def counting(what: str) -> Iterator[Callable[[Progress], None]]:
    """Give a function that takes how far a job is; it shows a bar with its rate once the block has run for a second."""
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bar = Bar(*columns, TextColumn("{task.fields[rate]}"), console=_err(), transient=True)
    task = bar.add_task(what, total=None, rate="")

    def show(now: Progress) -> None:
        rate = f"{now.rate:.1f} a second" + (f", {now.failed} failed" if now.failed else "")
        bar.update(task, completed=now.done, total=now.total, rate=rate)

    with _after_a_second(bar):
        yield show


def run_counted(what: str, task: Callable[..., Any], items: Iterable[Any], **options: Any) -> Report:
    """Run a job as `posable.jobs.run` does, and show how far it is: see `counting`. Ctrl-C says what is kept."""
    from ..jobs import run

    latest: list[Progress] = []

    def follow(now: Progress) -> None:
        latest[:] = [now]
        shown(now)

    try:
        with counting(what) as shown:
            return run(task, items, progress=follow, **options)
    except KeyboardInterrupt:
        done = latest[0].done - latest[0].failed if latest else 0
        total = f" of {latest[0].total}" if latest and latest[0].total is not None else ""
        said = f"{done}{total} done and kept; the same command goes on from there"
        if options.get("store") is None:
            said = f"{done}{total} done and lost; --store FOLDER would have kept them"
        print(f"posable: stopped; {said if done else 'nothing was done yet'}", file=sys.stderr)
        raise


@contextmanager
def _after_a_second(display: Status | Bar) -> Iterator[None]:
    """Start a spinner or a bar once the block has run for a second."""
    watched = display.console.is_interactive  # elsewhere nobody looks, and a bar would leave an empty line
    timer = threading.Timer(1.0, display.start)
    timer.daemon = True
    if watched:
        timer.start()
    try:
        yield
    finally:
        timer.cancel()
        if watched:
            display.stop()


def print_line(text: str) -> None:
    """Print a line for the person."""
    _out().print(text, markup=False, soft_wrap=True)


def counted(count: int, what: str) -> str:
    """Return a number with its noun: "1 frame", "2 frames"."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1000 else f"{value:.1f}"
    if isinstance(value, list | tuple):
        return "\n".join(_shown(item) for item in value)
    if isinstance(value, Mapping):
        return "\n".join(f"{key}: {_shown(item)}" for key, item in value.items())
    return str(value)


def _finite(value: Any) -> Any:
    """Return facts with null for numbers that are not finite: JSON has no other word for them."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return _finite(value.tolist()) if hasattr(value, "tolist") else value


def _plain(value: Any) -> Any:
    """Convert NumPy numbers and arrays to what JSON knows."""
    return value.tolist() if hasattr(value, "tolist") else str(value)
