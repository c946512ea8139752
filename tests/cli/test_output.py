"""How wide the commands print, and for whom: decided when they print, not when their code is imported."""

import io
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from posable.cli.output import busy, counting, progress, show_facts, show_table


@pytest.fixture
def far(tmp_path: Path) -> Path:
    """A folder whose path is longer than any terminal is wide: 3,000 characters and more."""
    folder = tmp_path
    while len(str(folder)) < 3000:
        folder = folder / ("a folder with a long name " * 7).strip()
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def broken(far: Path) -> Path:
    path = far / "broken.bvh"
    path.write_text("HIERARCHY [0]")
    return path


@pytest.mark.parametrize("columns", [40, 200, None, 100])
def test_a_table_is_as_wide_as_the_terminal_is_now(monkeypatch, capsys, columns):
    if columns is None:
        monkeypatch.delenv("COLUMNS", raising=False)
    else:
        monkeypatch.setenv("COLUMNS", str(columns))
    show_table("", [{"clip": "x" * 1000, "error": "y"}])
    lines = capsys.readouterr().out.splitlines()
    if columns is None:
        assert len(lines) == 2 and "x" * 1000 in lines[1]
    else:
        assert max(map(len, lines)) == columns


@pytest.mark.parametrize("at_import", ["80", None])
def test_the_width_at_import_does_not_count(at_import):
    code = (
        "import os, posable.cli.app\n"
        "from posable.cli.output import show_facts\n"
        "os.environ['COLUMNS'] = '300'; show_facts('', {'file': 'x' * 280})\n"
        "os.environ['COLUMNS'] = '60'; show_facts('', {'file': 'x' * 280})\n"
        "del os.environ['COLUMNS']; show_facts('', {'file': 'x' * 800})\n"
    )
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    if at_import:
        environment["COLUMNS"] = at_import
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    first, *folded, last = (line.strip() for line in done.stdout.splitlines() if line.strip())
    assert "x" * 280 in first and "x" * 800 in last and max(map(len, folded)) == 60


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_colours_follow_what_standard_output_is_now(monkeypatch):
    for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stdout", seen := Terminal())
    show_facts("walk", {"frames": 3})
    monkeypatch.setattr("sys.stdout", piped := io.StringIO())
    show_facts("walk", {"frames": 3})
    assert "\x1b[" in seen.getvalue() and "\x1b[" not in piped.getvalue()


@pytest.mark.parametrize("colours", [False, True])
def test_a_spinner_and_a_bar_are_for_terminals_only(monkeypatch, colours):
    if colours:
        monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stderr", piped := io.StringIO())
    with busy("reading"), progress("rebuilding"), counting("measuring"):
        time.sleep(1.5)  # they show after a second
    monkeypatch.setattr("sys.stderr", seen := Terminal())
    with busy("reading"):
        patience = time.monotonic() + 60.0
        while "reading" not in seen.getvalue() and time.monotonic() < patience:
            time.sleep(0.05)
    assert piped.getvalue() == "" and "reading" in seen.getvalue()


def test_a_very_long_path_stays_in_one_piece(posable, broken: Path):
    code, _, err = posable("info", broken)
    assert code == 1 and str(broken) in err and err.count("\n") == 1
    code, out, _ = posable("evaluate", "reconstruct", broken.parent, "--workers", 1)
    assert code == 1 and str(broken) in out
    code, out, _ = posable("evaluate", "reconstruct", broken.parent, "--workers", 1, "--json", "-")
    assert code == 1 and json.loads(out)["failures"][0]["clip"] == str(broken)


def test_a_very_long_path_is_read_written_and_told_whole(posable, far: Path):
    import posable as ps

    motion = ps.samples.walk(duration=0.2)
    ps.save(motion, far / "walk.bvh")
    code, out, err = posable("convert", far / "walk.bvh", far / "walk.npz")
    assert code == 0 and str(far / "walk.npz") in out, err
    code, out, err = posable("info", far / "walk.npz")
    assert code == 0 and str(far / "walk.npz") in out, err
    assert len(ps.load(far / "walk.npz")) == len(motion)


def test_a_narrow_terminal_folds_a_path_and_loses_nothing(monkeypatch, capsys, far: Path):
    monkeypatch.setenv("COLUMNS", "60")
    show_facts("", {"file": str(far).replace(" ", "_")})
    lines = [line for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert max(map(len, lines)) == 60
    assert "".join(line[len("file") :].strip() for line in lines) == str(far).replace(" ", "_")
