"""How a command ends: one sentence that sums up, the facts where they are asked for, and the exit code.

| code | means |
|---|---|
| 0 | done |
| 1 | the job failed; one line on stderr says why |
| 2 | the command line was wrong |
| 3 | only with `--strict`: done and written, but a target was not met |
| 130 | stopped with Ctrl-C, by SIGTERM, or as its terminal was closed |
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Annotated, Any, TypeAlias

import typer

from ..compute import FormatError, MissingExtraError, PosableError
from ..compute.files import check_writable
from .output import UsageError, print_line, show_facts, show_table, write_json

Rows: TypeAlias = Sequence[Mapping[str, Any]]

__all__ = ["Ending", "Summary", "UsageError", "length", "listed", "usage"]

FAILED, WRONG_USAGE, NOT_MET, INTERRUPTED = 1, 2, 3, 130


def end_in_order() -> None:
    """Let SIGTERM and SIGHUP end this process as Ctrl-C does: what was half written is finished or removed.

    A second one ends it at once. Processes that this one starts are left as they are.
    """
    if threading.current_thread() is not threading.main_thread():  # nobody else may say what signals do
        return
    own = os.getpid()

    def end(number: int, _: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)
        if os.getpid() != own:
            os.kill(os.getpid(), number)
        raise KeyboardInterrupt

    for name in ("SIGTERM", "SIGHUP"):  # the second is not on every system
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) == signal.SIG_DFL:  # under nohup it is ignored
            signal.signal(number, end)


@contextmanager
def usage() -> Iterator[None]:
    """Make errors of the block those of the command line: it checks values of options, and reads no file."""
    try:
        yield
    except (FormatError, MissingExtraError, UsageError):
        raise
    except PosableError as error:
        raise UsageError(str(error)) from error


@dataclass(frozen=True)
class Summary:
    """One sentence on what a command did."""

    text: str
    met: bool = True
    """Whether everything that was asked for is so; with `--strict` the exit code says it."""


def _writable(path: Path | None) -> Path | None:
    """Refuse a file that could not be written, before any work is done."""
    if path is not None and str(path) != "-":
        check_writable(path)
    return path


@dataclass(frozen=True)
class Ending:
    """The options that say what a command prints, and how it ends."""

    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Also print every number behind the sentence that sums up.")
    ] = False
    strict: Annotated[
        bool, typer.Option("--strict", help="End with exit code 3 where a target was not met; files are written.")
    ] = False
    json: Annotated[
        Path | None,
        typer.Option(
            "--json",
            metavar="FILE",
            help="Write the sentence and every number as JSON; - for the terminal.",
            callback=_writable,
        ),
    ] = None

    def conclude(
        self,
        summary: Summary,
        facts: Mapping[str, Any],
        *,
        always: Mapping[str, Rows] | None = None,
        printed: Mapping[str, Rows] | None = None,
        listed_as_json: Mapping[str, Rows] | None = None,
        failed: bool = False,
        **tables: Rows,
    ) -> None:
        """Print the sentence, with `--verbose` facts and tables; write JSON; end with the exit code.

        Args:
            summary: the sentence.
            facts: by their names, in snake_case with units.
            always: tables that are printed in any case: they are what the command is for.
            printed: the same, where JSON has other ones in their place: `listed_as_json`.
            listed_as_json: tables that only JSON has.
            failed: whether a part of the job failed: exit code 1.
            tables: by their names.
        """
        said = {"summary": summary.text, "met": summary.met, **facts}
        if not write_json(self.json, {**said, **(always or {}), **(listed_as_json or {}), **tables}):
            for name, rows in {**(always or {}), **(printed or {})}.items():
                if rows:
                    show_table(name, rows)
                    print_line("")
            print_line(summary.text)
            if self.verbose:
                show_facts("", facts)
                for name, rows in tables.items():
                    show_table(name, rows)
        if failed:
            raise typer.Exit(FAILED)
        if self.strict and not summary.met:
            raise typer.Exit(NOT_MET)


def length(metres: float) -> str:
    """Return a length as a person says it: "0.3 mm", "12 cm", "1.5 m"."""
    if metres < 0.01:
        return f"{1000.0 * metres:.2g} mm"
    return f"{100.0 * metres:.2g} cm" if metres < 0.995 else f"{metres:.3g} m"


def listed(words: Sequence[str], most: int = 3) -> str:
    """Return a list as a person says it: "a", "a and b", "a, b and 4 more"."""
    shown = list(words[:most]) + ([f"{len(words) - most} more"] if len(words) > most else [])
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}" if shown else ""
