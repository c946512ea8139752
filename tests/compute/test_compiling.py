"""Whether a build or Numba is compiling, seen from another process."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from posable.compute import compiling


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("POSABLE_CACHE", str(tmp_path))
    return tmp_path


def test_without_a_build_there_is_no_progress():
    assert compiling.build_progress() is None


def test_another_process_sees_how_far_a_build_is():
    compiling.report_build(0.25)
    code = "from posable.compute import compiling; print(compiling.build_progress())"
    seen = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert float(seen) == 0.25
    compiling.build_ended()
    assert compiling.build_progress() is None
    compiling.build_ended()


def test_a_build_that_was_killed_is_not_shown():
    code = "from posable.compute import compiling; compiling.report_build(0.5)"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert compiling.build_progress() is None
    _change(process=os.getpid())
    assert compiling.build_progress() == 0.5, "the same, of a process that runs"
    _change(time=time.time() - compiling.STALE)
    assert compiling.build_progress() is None


def test_a_file_that_is_not_ours_is_no_progress():
    compiling.report_build(0.5)
    for text in ("", "[]", "{}", '{"fraction": "x"}', "\x00"):
        compiling._path().write_text(text)
        assert compiling.build_progress() is None


def test_a_cache_that_cannot_be_written_stops_no_build(cache: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("POSABLE_CACHE", str(cache / "missing"))
    compiling.report_build(0.5)
    compiling.build_ended()


def test_numba_that_compiles_is_timed():
    assert compiling.jit_seconds() == 0.0
    compiling.jit_began(time.monotonic() - 3.0)
    assert compiling.jit_seconds() >= 3.0
    compiling.jit_began(None)
    assert compiling.jit_seconds() == 0.0


def _change(**facts: object) -> None:
    path = compiling._path()
    path.write_text(json.dumps({**json.loads(path.read_text()), **facts}))
