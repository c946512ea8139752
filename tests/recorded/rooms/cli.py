"""The command line: what it writes to files, and the facts that it reports as JSON.

Facts are recorded without their names, in their order: names may be put right, what they report may not change.
"""

import contextlib
import io
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import numpy as np

import posable as ps
from posable.cli.app import run

from .. import readers
from ..calls import call
from ..inputs import body, child, orientations, sample

NEAR = 1e-5
LEFT_OUT = {"milliseconds", "microseconds", "sha256", "summary", "bytes"}  # times, and what follows from the rest


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    """A folder to work in, with a walk in it."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        ps.save(sample("walk")[:30], "walk.npz")
        yield Path(folder)


def _posable(*words: object) -> dict[str, object]:
    """Run `posable WORDS --json facts.json` in the current folder: the exit code and the facts."""
    arguments = ["posable", *map(str, words), "--json", "facts.json"]
    told = io.StringIO()
    with mock.patch.object(sys, "argv", arguments), contextlib.redirect_stdout(told), contextlib.redirect_stderr(told):
        try:
            run()
            code: object = 0
        except SystemExit as stop:
            code = stop.code or 0
    if code != 0:
        raise RuntimeError(f"{' '.join(arguments)}: {told.getvalue()}")
    numbers, texts = [], []
    for value in _values(json.loads(Path("facts.json").read_text(encoding="utf-8"))):
        (texts if isinstance(value, str) or value is None else numbers).append(value)
    return {"numbers": np.array(numbers, np.float64), "texts": [str(text) for text in texts]}


def _values(facts: object) -> Iterator[object]:
    if isinstance(facts, dict):
        for name, value in facts.items():
            if name not in LEFT_OUT:
                yield from _values(value)
    elif isinstance(facts, list):
        for value in facts:
            yield from _values(value)
    else:
        yield facts


def _made(*words: object, output: str = "out.npz") -> dict[str, object]:
    """The facts of a command, and the motion that it wrote."""
    facts = _posable(*words)
    return {"facts": facts, "motion": ps.load(output)}


def _write_points(path: str, scale: float = 1.0, up: str = "y") -> None:
    """A tracker's file: a time that jumps, a cell that is empty, two orientations."""
    pose = sample("walk").pose[:30]
    points, turns = child().markers(child().pose(body().canonical(pose))), orientations(pose)
    if up == "z":
        points = points[..., [2, 0, 1]]
    names = [f"{role}_{axis}" for role in ps.MARKERS for axis in "xyz"]
    names += [f"{role}_q{axis}" for role in ("head", "left_foot") for axis in "wxyz"] if up == "y" else []
    lines = [",".join(["time", *names])]
    for k in range(30):
        cells = [repr(float(v)) for v in (points[k] * scale).ravel()]
        if up == "y":
            cells += [repr(float(v)) for role in ("head", "left_foot") for v in turns[role][k]]
        if 8 <= k < 11:
            cells[6:9] = ["", "", ""]
        if k != 20:
            lines.append(",".join([repr(k / 30.0), *cells]))
    Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")


@call(within=NEAR)
def reconstruct_motions():
    with _folder():
        usual = ("reconstruct", "walk.npz", "out.npz")
        ps.Scene().box("table", (1.2, 0.05, 0.6), (0.0, 0.9, 0.4)).save("room.json")
        ps.save(ps.samples.walk(child(), duration=0.3), "child.npz")
        return {
            "plain": _made(*usual),
            "markers": _made(*usual, "--markers", "head,left_hand,right_hand", "--orientations", "head"),
            "steady": _made(*usual, "--smoothing", 0.05, "--lock-feet", "--floor", 0.02, "--weights", "1,0.5,0.2"),
            "method": _made(*usual, "--method", "kma"),
            "sik": _made(*usual, "--method", "sik"),
            "body": _made(*usual, "--body", "child.npz", "--scene", "room.json"),
            "unfitted": _made(*usual, "--height", 1.6, "--no-fit"),
            "height": _made(*usual, "--height", 1.6),
        }


@call(within=NEAR)
def reconstruct_points():
    with _folder():
        _write_points("plain.csv")
        _write_points("turned.csv", 100.0, "z")
        standing = child().markers(child().neutral_pose)
        ps.Calibration.from_pose(body(), np.add(standing, (0.0, 0.02, 0.05)), height=1.3).save("me.json")
        return {
            "plain": _made("reconstruct", "plain.csv", "out.npz"),
            "turned": _made("reconstruct", "turned.csv", "out.npz", "--units", "cm", "--up", "z"),
            "calibrated": _made("reconstruct", "plain.csv", "out.npz", "--calibration", "me.json"),
        }


@call(within=NEAR)
def reach():
    with _folder():
        Path("targets.csv").write_text(
            "x,y,z,hand,hold\n-0.3,1.2,0.5,right,0.1\n0.3,1.0,0.4,left,0\n", encoding="utf-8"
        )
        Path("targets.json").write_text(
            '[{"x": -0.3, "y": 0.6, "z": 0.5}, {"x": -2, "y": 1, "z": 0}]', encoding="utf-8"
        )
        ps.Scene().plane("floor").box("table", (0.6, 0.04, 0.4), (-0.3, 1.1, 0.6)).save("room.json")
        usual = ("reach", "out.npz", "--fps", 20)
        one = ("--to", "-0.3,1.2,0.5")
        return {
            "one": _made(*usual, *one, "--behaviour", "tired", "--hold", 0.1, "--gaze", 0.5),
            "turned": _made(*usual, "--to", "0.3,1.2,0.4,0.9,0.3,0.1,0.2", "--hand", "left", "--duration", 0.5),
            "csv": _made(*usual, "--targets", "targets.csv", "--speed", 1.0),
            "json": _made(*usual, "--targets", "targets.json", "--width", 0.03),
            "scene": _made(
                *usual, *one, "--scene", "room.json", "--allowed-contact", "table", "--allowed-contact", "floor"
            ),
            "start": _made(*usual, *one, "--start", "walk.npz", "--frame", -1),
        }


@call(within=NEAR)
def express():
    with _folder():
        turns = ps.math.axis_angle((0.0, 1.0, 0.0), np.radians(3.0 * np.arange(20)))
        rows = ps.math.multiply(turns, ps.math.axis_angle((1.0, 0.0, 0.0), 1.0)).tolist()
        Path("turns.csv").write_text("\n".join(["qw,qx,qy,qz", *(",".join(map(repr, row)) for row in rows)]))
        Path("points.csv").write_text("x,y,z\n" + "\n".join(f"{0.1 * k},1.2,{1.0 - 0.05 * k}" for k in range(12)))
        posture = ("--posture", "0,0.6,-0.9,0.3,0")
        found = {
            "motion": _made("express", "C", "turns.csv", "out.npz", *posture, "--fps", 30),
            "axes": _made("express", "YXXZY", "points.csv", "out.npz", "--limits=-1,1.2", "--method", "erik"),
            "smooth": _made("express", "C", "turns.csv", "out.npz", *posture, "--smooth", "3,20,200"),
        }
        _posable("express", "C", "points.csv", "angles.csv", *posture)
        return {**found, "angles": np.loadtxt("angles.csv", delimiter=",", skiprows=1)}


@call(within=NEAR)
def edit_and_retarget():
    with _folder():
        usual = ("edit", "walk.npz", "out.npz")
        lifted = _made(
            *usual,
            "--frame",
            12,
            "--part",
            "left_hand",
            "--by",
            "0,0.1,0.05",
            "--save-edits",
            "edits.json",
            "--pin",
            "head",
        )
        more = ("--frame", 20, "--part", "head", "--to", "0.05,1.5,0.9", "--limits", "body", "--weights", "clip")
        return {
            "lifted": lifted,
            "again": _made(*usual, "--edits", "edits.json", *more, "--ease", "smooth", "--spread", 0.2),
            "frames": _made(
                *usual, "--frame", 12, "--by", "0,0.1,0", "--frames", "8,20", "--mode", "phase", "--no-contacts"
            ),
            "retarget": _made("retarget", "walk.npz", "out.npz", "--height", 1.4),
            "free": _made("retarget", "walk.npz", "out.npz", "--height", 2.0, "--limits", "none", "--no-contacts"),
        }


@call(within=NEAR)
def ranges():
    with _folder():
        ps.save(sample("reach"), "reach.npz")
        fit = (
            "--limb",
            "right_arm",
            "--samples",
            300,
            "--radius",
            22,
            "--min-count",
            2,
            "--trim",
            0.01,
            "--max-poses",
            200,
        )
        fitted = _posable("range", "fit", "reach.npz", "mine.npz", *fit, "--seed", 3)
        learned = ps.LimbRange.load("mine.npz")
        return {
            "fitted": fitted,
            "report": readers.range_report(learned.report),
            "shown": _posable("range", "show", "mine.npz"),
            "checked": _posable("range", "check", "left_leg", "walk.npz"),
            "corrected": _made("range", "correct", "mine.npz", "walk.npz", "out.npz"),
            "smooth": _made(
                "range", "correct", "right_arm", "reach.npz", "out.npz", "--margin", 5, "--smooth", "--limits"
            ),
        }


@call(within=NEAR)
def evaluate():
    with _folder():
        clip = ("evaluate", "reconstruct", "walk.npz", "--workers", 1, "--method", "sik", "--method", "kma")
        express = ("evaluate", "express", "--skeleton", "C", "--samples", 30, "--seed", 1, "--workers", 1)
        return {"reconstruct": _posable(*clip, "--weights", "1,1,0.2"), "express": _posable(*express, "--order", "YXZ")}


@call()
def convert_and_info():
    with _folder():
        found = {
            "motion": _made("convert", "walk.npz", "out.bvh", "--first-frame", 5, "--resample", 15, output="out.bvh")
        }
        found["info"] = _posable("info", "walk.npz", "--joints")
        _posable("convert", "out.bvh", "out.glb")
        return {**found, "glb": ps.load("out.glb")}
