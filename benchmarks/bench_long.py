"""Long clips: what it takes to read, write, retarget and render them, from a minute to an hour at 120 frames a second.

The built-in boxer (29 joints) boxes on and on. Each step is a command as a user gives it, in a process of its own whose
peak of resident memory is measured. The motion itself is 32 bytes a joint and frame; the last column is how many of it
the memory grows by, from the shortest clip to the longest. FBX and C3D files, which are not written by Posable, are
written by what the tests write theirs with.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

import posable as ps
from tests.formats.fbx_files import Scene
from tests.formats.test_c3d import labelled, plain

from .harness import RESULTS, Sheet

FPS = 120.0
MINUTES = tuple(float(word) for word in os.environ.get("POSABLE_LONG_MINUTES", "1 5 15 60").split())
"""How long the clips are; a machine with little room or time measures fewer."""
STEPS = os.environ.get("POSABLE_LONG_STEPS", "info write retarget render").split()
"""Words of the names of the steps that are measured."""
MEASURED = RESULTS / "long_measured.json"
"""What was measured so far: a run that was stopped goes on. Without this file all is measured anew."""
RETARGETED = 15.0
"""Minutes of the longest clip that is retargeted: an hour takes as long as all other steps together."""
FILMED = ("--size", "64x64", "--workers", "1")
"""Small pictures: time is that of the motion, and memory of a picture no matter."""


def run() -> list[Sheet]:
    """Return the peaks of memory, and the times, of every step."""
    known = json.loads(MEASURED.read_text(encoding="utf-8")) if MEASURED.exists() else {}
    with tempfile.TemporaryDirectory() as place:
        for minutes in MINUTES:
            folder = Path(place)
            for step, arguments in _steps(folder, minutes):
                found = known.setdefault(step, {})
                if f"{minutes:g}" in found or not any(word in step for word in STEPS):
                    continue
                peak, taken = found[f"{minutes:g}"] = _measured(arguments)
                MEASURED.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
                print(f"{minutes:g} min: {step}: {peak:.0f} MB, {taken:.1f} s", flush=True)
            for path in folder.iterdir():
                path.unlink()
    memory, seconds = (
        {step: {float(m): one[k] for m, one in found.items()} for step, found in known.items() if found} for k in (0, 1)
    )
    return [
        _sheet("Peak memory of a command [MB]", memory, "times the motion", _growth),
        _sheet("Time of a command [s]", seconds, "frames a second, of the longest", _rate),
    ]


def _steps(folder: Path, minutes: float) -> list[tuple[str, list[str]]]:
    """Write the files of one length; return the commands, by what they do."""
    motion = boxing_for(minutes)
    clip = folder / "boxing.npz"
    ps.save(motion, clip)
    write_fbx(folder / "boxing.fbx", len(motion))
    write_c3d(folder / "boxing.c3d", motion)
    del motion
    kinds = ("bvh", "glb", "usda")
    steps = [("info of npz", ["info", str(clip)])]
    for kind in kinds:
        file = str(folder / f"boxing.{kind}")
        steps += [(f"write {kind}", ["convert", str(clip), file]), (f"info of {kind}", ["info", file])]
    amass = str(folder / "amass.npz")
    steps += [("write AMASS", ["convert", str(clip), amass, "--layout", "amass"]), ("info of AMASS", ["info", amass])]
    steps += [(f"info of {kind}", ["info", str(folder / f"boxing.{kind}")]) for kind in ("fbx", "c3d")]
    if minutes <= RETARGETED:
        steps += [("retarget", ["retarget", str(clip), str(folder / "taller.npz"), "--height", "1.9"])]
    film = ["render", str(clip), str(folder / "film.gif"), "--rate", "0.1", *FILMED]
    steps += [("render, a picture every 10 s", film)]
    return steps


def boxing_for(minutes: float) -> ps.Motion:
    """The built-in boxing over and over: its last frame is followed by its first."""
    once = ps.samples.boxing(fps=FPS)
    frames = np.arange(round(60.0 * minutes * FPS)) % len(once)
    return once.replace(pose=once.pose[frames])


def write_fbx(path: Path, frames: int, joints: int = 29) -> None:
    """Write a chain of joints, each with three curves of a key a frame."""
    scene, times, at = Scene(TimeMode=14, CustomFrameRate=FPS), np.arange(frames) / FPS, 0
    _, layer = scene.take("Long", 0.0, float(times[-1]))
    for joint in range(joints):
        at = scene.model(f"j{joint}", at, LclTranslation=(0.0, 0.05, 0.0))
        scene.animate(layer, at, "Rotation", times, 30.0 * np.sin(times[:, None] * [1.0, 1.3, 1.7] + joint))
    scene.save(path, "binary")


def write_c3d(path: Path, motion: ps.Motion) -> None:
    """Write the markers of a person, a part of the frames at once."""
    some = labelled(motion[:1])
    said = {"frames": min(len(motion), 0xFFFF), "long": len(motion), "rate": FPS}
    head = plain(np.stack(list(some.values()), axis=1), labels=list(some), units="mm", **said)
    with path.open("wb") as file:
        file.write(head[:1024])
        for first in range(0, len(motion), 4096):
            places = np.stack(list(labelled(motion[first : first + 4096]).values()), axis=1)
            turned = 1000.0 * np.stack([places[..., 0], -places[..., 2], places[..., 1]], axis=-1)
            file.write(np.concatenate([turned, np.zeros((*turned.shape[:2], 1))], axis=-1).astype("<f4").tobytes())
        file.write(b"\0" * (-file.tell() % 512))


PEAK = """
import os, resource, sys, time
begun = time.monotonic()
code = os.waitstatus_to_exitcode(os.waitpid(os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ), 0)[1])
print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, time.monotonic() - begun)
"""
"""A small program that starts the command: a process counts as its own what the one that started it had."""


def _measured(arguments: Sequence[str]) -> tuple[float, float]:
    """Return the peak of resident memory [MB] of a command, and its time [s]."""
    command = [sys.executable, "-S", "-c", PEAK, sys.executable, "-m", "posable", *arguments]
    said = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    if said[-3] not in ("0", "1"):  # 1: the motion has something to complain of
        raise RuntimeError(f"posable {' '.join(arguments)} ended with {said[-3]}")
    return float(said[-2]) * (1 if sys.platform == "darwin" else 1024) / 1e6, float(said[-1])


def _growth(peaks: dict[float, float]) -> str:
    frames = 60.0 * FPS * (max(peaks) - min(peaks))
    motion = frames * (32 * len(ps.samples.boxing().skeleton) + 24)
    return f"{(peaks[max(peaks)] - peaks[min(peaks)]) * 1e6 / motion:.1f}" if frames else ""


def _rate(times: dict[float, float]) -> str:
    return f"{60.0 * FPS * max(times) / times[max(times)]:,.0f}"


def _sheet(
    title: str, found: dict[str, dict[float, float]], last: str, told: Callable[[dict[float, float]], str]
) -> Sheet:
    rows, lengths = [], sorted({minutes for values in found.values() for minutes in values})
    for step, values in found.items():
        cells = {f"{minutes:g} min": f"{values[minutes]:,.0f}" if minutes in values else "" for minutes in lengths}
        rows.append({"": step, **cells, last: told(values)})
    return Sheet(title, rows)
