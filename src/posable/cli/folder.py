"""A folder of files instead of one: on all cores, through `posable.jobs`; killed, it goes on where it was."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..compute import FormatError, PosableError
from .ending import Ending, Summary, UsageError, listed
from .options import Folder, check_engine
from .output import (
    at_terminal,
    check_folder,
    check_output,
    counted,
    on_one_line,
    print_shared_notes,
    run_counted,
    without_python,
)

if TYPE_CHECKING:
    from ..jobs import Failure, Report
    from ..jobs.folder import FolderFiles

OURS = re.compile(r"^(Posable|Format|Shape|UnknownName|MissingExtra)Error: ")
MAX_SHOWN = 40  # files in the table; more are summed up


def check_paths(source: Path, output: Path, *others: Path | None) -> bool:
    """Refuse what can be known to be wrong before any file is read; return whether the source is a folder."""
    if not source.exists():
        from ..formats import check_input, suffixes

        if source.suffix.lower() in suffixes():  # the error names the files that are there instead
            check_input(source)
        raise FormatError(source, "no such file or folder")
    if source.resolve() == output.resolve():
        raise UsageError(f"OUTPUT is INPUT, {str(source)!r}: it would be overwritten; give another name")
    if not source.is_dir():
        check_output(output, source, *others)
        return False
    if output.is_file():
        raise UsageError(f"OUTPUT {str(output)!r} is a file; {str(source)!r} is a folder and needs one")
    if output.resolve().is_relative_to(source.resolve()):
        raise UsageError(f"OUTPUT {str(output)!r} lies in {str(source)!r}: a second call would read what was written")
    return True


def files_of(source: Path, output: Path, folder: Folder, suffixes: Sequence[str], **shared: Path | None) -> FolderFiles:
    """Return the files of a folder that end in one of the suffixes, and where what is made of them goes."""
    from ..formats import suffixes as known
    from ..jobs.folder import FolderFiles

    check_engine(folder.engine, folder.workers)
    suffix = "." + (folder.format or "bvh").lower().removeprefix(".")
    if suffix not in known(written=True):
        raise UsageError(
            f"--format {folder.format}: expected one of {', '.join(one[1:] for one in known(written=True))}"
        )
    check_folder(output)
    absolute = {name: None if path is None else path.absolute() for name, path in shared.items()}
    files = FolderFiles(source.absolute(), output.absolute(), suffix, tuple(suffixes), absolute)
    if not len(files):
        raise PosableError(f"no files in {str(source)!r} that end in {', '.join(suffixes)}")
    return files


def do_folder(
    what: str,
    done: str,
    task: Callable[..., Any],
    files: FolderFiles,
    settings: dict[str, Any],
    folder: Folder,
    ending: Ending,
    columns: Sequence[str],
    unmet: Callable[[Mapping[str, Any]], str],
    output: Path,
    tables: Callable[[Sequence[Mapping[str, Any]]], Mapping[str, Sequence[Mapping[str, Any]]]] = lambda rows: {},
) -> None:
    """Do a task for every file of a folder, and end with what became of them.

    Args:
        what: what is done meanwhile, for the bar: "retargeting".
        done: what has been done, for the sentence: "put on the body".
        task: of `posable.jobs.run`; its facts have "file", "output", "sha256", "frames" and "notes".
        files: of the folder.
        settings: of the task.
        folder: who works.
        ending: how the command ends.
        columns: facts of a file in the table.
        unmet: says of the facts of a file what was not met; "" where all was.
        output: the folder that is written, as it was typed.
        tables: makes further tables of the facts of all files.
    """
    from ..jobs.folder import STORE, is_whole

    machines = {"store": files.target / STORE, "check": is_whole, "engine": folder.engine, "workers": folder.workers}
    job = run_counted(what, task, files, settings=settings, **machines)
    rows = [facts for facts in job.results if facts is not None]
    print_shared_notes({facts["file"]: facts["notes"] for facts in rows})
    failures = [{"file": _below(files.source, str(one.item["file"])), "error": _reason(one)} for one in job.failures]
    table = [{"file": _below(files.target, row["output"])} | {name: row[name] for name in columns} for row in rows]
    missed = [f"{_below(files.target, row['output'])} ({text})" for row in rows if (text := unmet(row))]
    facts = {
        "input": str(files.source),
        "output": str(files.target),
        "files": len(job.results),
        "done": job.computed - len(job.failures),
        "already_there": job.skipped,
        "failed": len(job.failures),
        "not_met": len(missed),
        "frames": sum(row["frames"] for row in rows),
        "seconds": round(job.seconds, 3),
        "files_a_second": round(job.rate, 3),
        "workers": job.workers,
    }
    summary = Summary(_sentence(job, done, missed, output), not missed and job.ok)
    printed = {"done": table if len(table) <= MAX_SHOWN else [], **tables(rows), "failed": failures[:MAX_SHOWN]}
    ending.conclude(
        summary, facts, printed=printed, listed_as_json={"rows": rows, "failures": failures}, failed=not job.ok
    )


def _sentence(job: Report, done: str, missed: Sequence[str], target: Path) -> str:
    computed = job.computed - len(job.failures)
    parts = [f"{counted(computed, 'file')} {done}"] if computed or not job.skipped else []
    if job.skipped:
        parts.append(f"{job.skipped} already there")
    if job.failures:
        parts.append(f"{len(job.failures)} failed")
    text = f"{target}: {', '.join(parts)}"
    return f"{text}; not met in {counted(len(missed), 'file')}: {listed(missed, 2)}" if missed else text


def _reason(failure: Failure) -> str:
    """Return why an item failed, without the kind of error where it is one of ours, and without the file's name."""
    text = OURS.sub("", failure.error).removeprefix(str(failure.item["file"])).lstrip(":, ")
    return at_terminal(on_one_line(without_python(text)))


def _below(folder: Path, file: str) -> str:
    return str(Path(file).relative_to(folder)) if Path(file).is_relative_to(folder) else file
