"""Whether kernels are being compiled, and how far that is: for programs that show it.

`posable.compute.build` runs in a process of its own and leaves its progress in the cache; Numba compiles here.
"""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import suppress
from pathlib import Path

from .errors import PosableError
from .files import atomic_write, cache_dir
from .sources import library_sources

STALE = 300.0  # [s] after which progress that nobody renewed is of a build that was killed: no batch takes so long

__all__ = ["build_ended", "build_progress", "jit_began", "jit_is_quiet", "jit_seconds", "quiet_jit", "report_build"]

_jit_began: float | None = None
_quiet = False


def report_build(fraction: float) -> None:
    """Leave for other processes how much of a build is done, 0 to 1; called by the build."""
    facts = {"process": os.getpid(), "fraction": fraction, "time": time.time()}
    with suppress(OSError, PosableError), atomic_write(_path()) as path:
        path.write_text(json.dumps(facts))


def build_ended() -> None:
    """Take the progress of a build away."""
    with suppress(OSError):
        _path().unlink(missing_ok=True)


def build_progress() -> float | None:
    """Return how much of the library of these sources a running build has done, 0 to 1; None without a build."""
    try:
        facts = json.loads(_path().read_text())
        fraction, process = float(facts["fraction"]), int(facts["process"])
        age = time.time() - float(facts["time"])
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return fraction if 0.0 <= age < STALE and _runs(process) else None


def jit_began(seconds: float | None) -> None:
    """Remember since when Numba compiles (`time.monotonic`); None when it has ended. Called by the JIT."""
    global _jit_began
    _jit_began = seconds


def jit_seconds() -> float:
    """Return for how long Numba has been compiling in this process [s]; 0 while it does not."""
    began = _jit_began
    return 0.0 if began is None else time.monotonic() - began


def quiet_jit() -> None:
    """Let Numba compile in silence in this process: another one shows how far that is."""
    global _quiet
    _quiet = True


def jit_is_quiet() -> bool:
    """Return whether nothing is to be said of what Numba compiles."""
    return _quiet


def _path() -> Path:
    return cache_dir() / f"build-{library_sources()[:16]}.json"


def _runs(process: int) -> bool:
    """Return whether a process of this machine runs."""
    if sys.platform == "win32":  # where this signal would end it; `STALE` has to do
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it is another user's
        return True
    return True
