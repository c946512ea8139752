"""Reads files in a child process and says what each took: CPU seconds, peak memory, and how it ended.

A file that would fill the memory or never end must not take the tests with it, so the child has a limit on its memory
and is ended where it does not answer. Linux resets a process's peak memory on request, so one child serves any number
of files; elsewhere the peak is that of all files so far.
"""

from __future__ import annotations

import contextlib
import gc
import io
import json
import math
import os
import resource
import select
import subprocess
import sys
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
UNIT = 10_000_000  # bytes of file for which the rule grants a share of time and memory
SECONDS, MEMORY = 2.0, 500_000_000  # for each unit, and at least one
PATIENCE = 5.0  # a busy machine is slower than the rule's; what is quadratic is slower by far more
LIMIT = 6_000_000_000  # bytes of address space of the child
STALE = 250_000_000  # bytes that a child may hold after a file; it would be taken for what the next one needs
SILENCE = 180.0  # [s] after which the child is ended


@dataclass(frozen=True)
class Outcome:
    """How reading a file ended."""

    ended: str
    """"read", "refused", or what went wrong: the name of another error, "killed"."""
    message: str
    seconds: float
    """CPU time."""
    peak: int
    """Bytes of memory of the whole process."""
    size: int
    """Bytes of the file and of those next to it."""

    @property
    def shares(self) -> float:
        """How often the rule grants its time and memory to a file of this size."""
        return max(1.0, self.size / UNIT)

    def broken(self, patience: float = PATIENCE) -> str:
        """What of the rule was broken; nothing where it was kept."""
        if self.ended not in ("read", "refused"):
            return f"{self.ended}: {self.message[:300]}"
        if self.ended == "refused" and (len(self.message) > 1000 or "\n" in self.message.strip()):
            return f"not one sentence: {self.message[:300]!r} ({len(self.message)} characters)"
        if self.seconds > SECONDS * patience * self.shares:
            return f"{self.seconds:.1f} s"
        if self.peak > MEMORY * self.shares:
            return f"{self.peak / 1e6:.0f} MB"
        return ""


class Child:
    """A process that reads one file after the other."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """End the process; the next file starts another one."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            for pipe in (self.process.stdin, self.process.stdout):
                if pipe is not None:
                    with contextlib.suppress(BrokenPipeError):
                        pipe.close()
        self.process = None

    def read(self, reader: str, path: Path) -> Outcome:
        """Read a file with one of `READERS`, or with a command: "posable info"."""
        if self.process is None or self.process.poll() is not None:
            self.end()
            self.process = _started()
        pipe_in, pipe_out = self.process.stdin, self.process.stdout
        assert pipe_in is not None and pipe_out is not None
        size = sum(file.stat().st_size for file in path.parent.iterdir() if file.is_file() and not file.is_symlink())
        pipe_in.write(json.dumps([reader, str(path)]).encode() + b"\n")
        pipe_in.flush()
        ready, _, _ = select.select([pipe_out], [], [], SILENCE)
        line = pipe_out.readline() if ready else b""
        if not line:
            self.end()
            return Outcome("killed", "ended without an answer" if ready else "did not end", SILENCE, 0, size)
        answer = json.loads(line)
        if answer.pop("rest") > STALE:
            self.end()
        return Outcome(**answer, size=size)


def _started() -> subprocess.Popen[bytes]:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    return subprocess.Popen(
        [sys.executable, "-m", "tests.hostile.measure"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
        cwd=ROOT,
    )


def _readers():
    import posable as ps
    from posable.edit.edit_list import load_edits
    from posable.formats import read_robot
    from posable.formats.robot.meshes import read_triangles
    from posable.formats.targets import read_targets
    from posable.jobs.store import read_result
    from posable.limb.swivel import SwivelTable
    from posable.reconstruct.prior import Prior

    return {
        "load": ps.load,
        "repair": lambda path: ps.load(path, repair="cmu"),
        "save": lambda path: ps.save(ps.load(path), path.with_name("saved.glb")),
        "robot": read_robot,
        "mesh": read_triangles,
        "motion": lambda path: ps.load(path, robot=next(path.parent.glob("robot.*"))),
        "points": lambda path: ps.load_points(path, fps=None),
        "targets": read_targets,
        "range": ps.LimbRange.load,
        "swivels": SwivelTable.load,
        "prior": Prior.load,
        "behaviour": ps.Behaviour.load,
        "scene": ps.Scene.load,
        "calibration": ps.reconstruct.Calibration.load,
        "edits": load_edits,
        "result": read_result,
    }


def _command(words: list[str], path: Path) -> None:
    from posable.cli.app import app

    with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
        app([str(path) if word == "FILE" else word for word in words], standalone_mode=False)


def _measured(readers, reader: str, path: Path) -> dict[str, object]:
    from posable.compute import PosableError

    _reset_peak()
    ended, message = "read", ""
    begun = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)  # a reader that overflows on the way has not understood it
            if reader in readers:
                found = readers[reader](path)
            else:
                found = _command(reader.split()[1:], path)
        if hasattr(found, "pose") and not (found.pose.is_finite() and 0.0 < found.fps < math.inf):
            ended, message = "not finite", "a motion that is not finite"
    except PosableError as error:
        ended, message = "refused", str(error)
        if "cannot work with" in message:  # what `explain_mistakes` says of an error that nobody foresaw
            ended = "not foreseen"
    except Exception as error:
        ended, message = type(error).__name__, str(error)[:2000]
    except SystemExit as error:
        ended, message = "SystemExit", str(error.code)
    seconds, peak = time.process_time() - begun, _memory("VmHWM")
    if _memory("VmRSS") > STALE:
        gc.collect()  # a tenth of a second, so not for each file
    return {"ended": ended, "message": message, "seconds": seconds, "peak": peak, "rest": _memory("VmRSS")}


def _reset_peak() -> None:
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _memory(name: str) -> int:
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith(name):
                return 1024 * int(line.split()[1])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _serve() -> None:
    answers, sys.stdout = sys.stdout, sys.stderr
    readers = _readers()
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))
    for line in sys.stdin:
        reader, path = json.loads(line)
        print(json.dumps(_measured(readers, reader, Path(path))), file=answers, flush=True)


if __name__ == "__main__":
    _serve()
