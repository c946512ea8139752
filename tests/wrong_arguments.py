"""Wrong arguments for every public callable, found by introspection: `python -m tests.wrong_arguments` runs them all.

A public callable is a function or class in `dir(posable)` or in a room's `__all__`, a public method of such a class, or
of a class in `MADE`. Each of its arguments is replaced by each of `WRONG`, the others stay good (`GOOD`, by the name of
the argument). A call may succeed or raise a `PosableError`; anything else is a leak.
"""

import datetime
import importlib
import inspect
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np

import posable as ps
from posable.body.limb.body_limb import BodyLimb
from posable.express.tree import TreeStream
from posable.limb.stream import LimbStream
from tests.robots.robot_files import biped

ROOMS = (
    *("skeleton", "limits", "formats", "collision", "limb", "body", "samples", "reach", "reconstruct", "classic"),
    *("express", "edit", "robots", "render", "jobs", "evaluate", "math"),
)
WRONG: dict[str, Any] = {
    "None": None,
    "text": "x",
    "no text": "",
    "bytes": b"x",
    "nan": float("nan"),
    "inf": float("inf"),
    "huge": 1e308,
    "whole and huge": 10**18,
    "beyond 64 bits": 10**40,
    "negative": -3,
    "nothing": [],
    "no rows": np.zeros((0, 3)),
    "another shape": np.zeros((2, 5, 7)),
    "ragged": [[1.0, 2.0], [3.0]],
    "objects": np.array([None, object()], dtype=object),
    "complex": 1j,
    "a date": datetime.datetime(2020, 1, 1),
    "dates": np.array(["2020-01-01"], dtype="datetime64[D]"),
    "a mapping": {"x": "y"},
    "an object": object(),
    "a class": int,
    "a set": {1, 2},
}
SECONDS = 20  # for one call; a call that takes longer counts as one that hangs
LEFT_OUT = {
    "Player.show": "opens a browser",
    "Motion.show": "opens a browser",
    "run": "starts processes; tests/jobs",
    "evaluate_express": "runs a whole evaluation",
    "evaluate_reconstruct": "runs a whole evaluation",
    "evaluate_tracks": "runs a whole evaluation",
    "evaluate_block": "runs a whole evaluation",
}


@cache
def thing(name: str) -> Any:
    """A good one of every kind, made once."""
    return MADE_BY_NAME[name]()


def robot() -> ps.Humanoid:
    """A small robot with legs and arms."""
    with tempfile.TemporaryDirectory() as folder:
        return biped(Path(folder))


MADE_BY_NAME: dict[str, Callable[[], Any]] = {
    "body": ps.figure,
    "motion": lambda: ps.samples.walk(thing("body"))[:12],
    "pose": lambda: thing("motion")[3],
    "poses": lambda: thing("motion").pose,
    "skeleton": lambda: thing("body").skeleton,
    "limb": lambda: thing("body").limb("right_arm"),
    "chain": lambda: ps.Chain.from_axes("YXZ"),
    "erik": lambda: ps.ERIK(thing("chain")),
    "tree": lambda: ps.express.Tree({"tip": thing("chain")}),
    "behaviour": lambda: ps.Behaviour.default(thing("body"), "right_arm"),
    "reacher": lambda: ps.Reacher(thing("body"), right=thing("behaviour")),
    "range": lambda: ps.LimbRange.builtin("right_arm"),
    "swivels": lambda: ps.SwivelTable("right_arm", np.zeros((60, 5))),
    "calibration": lambda: ps.Calibration.from_pose(thing("body"), thing("body").markers(thing("body").neutral_pose)),
    "sik": lambda: ps.SequentialIK(thing("body")),
    "points": lambda: thing("body").markers(thing("motion").pose),
    "editor": lambda: ps.MotionEditor(thing("motion"), thing("body"), weights="identity"),
    "scene": lambda: ps.Scene().box("box", (1, 1, 1), (3, 0, 0)),
    "frames": lambda: thing("skeleton").forward(thing("pose")),
    "volumes": lambda: thing("body").volumes,
    "character": lambda: thing("skeleton").character or ps.Character(),
    "limits": ps.Limits.human,
    "posture": lambda: ps.Posture.neutral(["hips", "spine"]),
    "canonical": lambda: thing("body").canonical(thing("pose")),
    "dls": lambda: ps.classic.DLS(thing("skeleton"), [ps.classic.Effector("l_wrist")]),
    "search": lambda: ps.limb.Search(0.0, -1.0, 1.0),
    "robot body": robot,
    "retargeter": lambda: ps.Retargeter(thing("body"), thing("robot body")),
}


def good(name: str, owner: str) -> Any:
    """A good value for an argument of this name; None where there is no list of them."""
    value = GOOD.get(f"{owner}.{name}", GOOD.get(name))
    return value() if callable(value) else value


GOOD: dict[str, Any] = {
    **{name: (lambda name=name: thing(name)) for name in MADE_BY_NAME},
    "right": lambda: ps.Target([-0.3, 1.0, 0.4]),
    "left": None,
    "Reacher.__init__.right": lambda: thing("behaviour"),
    "Reacher.__init__.left": None,
    "target": lambda: [0.1, 0.2, 0.3],
    "position": lambda: [0.1, 0.2, 0.3],
    "point": lambda: [0.1, 0.2, 0.3],
    "points": lambda: thing("points"),
    "positions": lambda: np.zeros((4, 3)) + 0.1,
    "orientation": lambda: [1.0, 0.0, 0.0, 0.0],
    "orientations": None,
    "hips": lambda: [0.0, 0.0, 0.0],
    "rotations": lambda: thing("pose").rotations,
    "translation": lambda: [0.0, 0.0, 0.0],
    "limb": "right_arm",
    "Limb.__init__.name": "right_arm",
    "BodyLimb.__init__.name": "right_arm",
    "Humanoid.limb.name": "right_arm",
    "part": "right_hand",
    "role": "head",
    "roles": lambda: ["hips", "head"],
    "parts": lambda: ["hips", "spine"],
    "joint": 3,
    "frame": 3,
    "fps": 30.0,
    "name": "something",
    "names": lambda: ["a", "b"],
    "path": "somewhere.npz",
    "upper": 0.3,
    "lower": 0.3,
    "swivel": 0.2,
    "key": 0,
    "at": lambda: [0.0, 1.2],
    "length": 0.6,
    "factor": 2.0,
    "angles": lambda: [0.1, 0.2, 0.3],
    "posture": lambda: thing("posture"),
    "q": lambda: [1.0, 0.0, 0.0, 0.0],
    "p": lambda: [1.0, 0.0, 0.0, 0.0],
    "v": lambda: [1.0, 0.0, 0.0],
    "a": lambda: [1.0, 0.0, 0.0],
    "b": lambda: [0.0, 1.0, 0.0],
    "m": lambda: np.eye(3),
    "t": 0.5,
    "axis": lambda: [0.0, 1.0, 0.0],
    "angle": 0.3,
    "order": "XYZ",
    "values": lambda: np.zeros(7),
    "Chain.checked.values": lambda: np.zeros(3),
    "Chain.finite.values": lambda: np.zeros(3),
    "Skeleton.from_values.values": lambda: np.zeros(len(thing("skeleton").dofs)),
    "Skeleton.integrate.steps": lambda: np.zeros(len(thing("skeleton").dofs)),
    "ERIK.solve.posture": lambda: [0.1, 0.2, 0.3],
    "ERIK.solve.orientation": lambda: [1.0, 0.0, 0.0, 0.0],
    "ERIK.track.orientations": lambda: np.tile([1.0, 0.0, 0.0, 0.0], (4, 1)),
    "ErikStream.step.posture": lambda: [0.1, 0.2, 0.3],
    "ErikStream.step.orientation": lambda: [1.0, 0.0, 0.0, 0.0],
    "ERIK.track.postures": lambda: [0.1, 0.2, 0.3],
    "Tree.solve.orientations": lambda: {"tip": [1.0, 0.0, 0.0, 0.0]},
    "Tree.track.orientations": lambda: {"tip": np.tile([1.0, 0.0, 0.0, 0.0], (4, 1))},
    "TreeStream.step.orientations": lambda: {"tip": [1.0, 0.0, 0.0, 0.0]},
    "postures": lambda: {},
    "chains": lambda: {"tip": thing("chain")},
    "Skeleton.__init__.names": lambda: ["a", "b"],
    "Skeleton.__init__.parents": lambda: [-1, 0],
    "Skeleton.__init__.offsets": lambda: np.zeros((2, 3)),
    "Behaviour.__init__.parts": lambda: ["hips", "spine"],
    "Humanoid.pose.posture": lambda: thing("canonical"),
    "Behaviour.set.posture": None,
    "Behaviour.add.posture": None,
    "MotionEditor.drag.displacement": lambda: [0.0, 0.01, 0.0],
    "MotionEditor.edit.displacement": lambda: [0.0, 0.01, 0.0],
    "MotionEditor.drag.target": None,
    "MotionEditor.edit.target": None,
    "MotionEditor.drag.pose": None,
    "MotionEditor.drag.orientation": None,
    "MotionEditor.edit.orientation": None,
    "MotionEditor.key.rotations": lambda: {"l_elbow": [0.1, 0.0, 0.0]},
    "MotionEditor.key.pose": None,
    "constraints": lambda: [(3, "right_hand", [0.1, 1.0, 0.3])],
    "bones": lambda: {"l_elbow": 1.1},
    "source": lambda: thing("motion"),
    "target_body": lambda: thing("body"),
    "subject": lambda: thing("body"),
    "Retargeter.__init__.source": lambda: thing("body"),
    "Retargeter.__init__.target": lambda: thing("robot body"),
    "lookahead": 0,
    "motions": lambda: thing("motion"),
    "Motion.concatenate.motions": lambda: [thing("motion"), thing("motion")],
    "velocity": 1.0,
    "acceleration": 2.0,
    "jerk": 10.0,
    "signal": lambda: np.zeros(5),
    "start": lambda: None,
    "MotionFilter.stream.start": lambda: np.zeros(1),
    "FilterStream.__init__.start": lambda: np.zeros(1),
    "motion_filter": lambda: ps.MotionFilter(1.0, 2.0, 10.0),
    "effectors": lambda: [ps.classic.Effector("l_wrist")],
    "targets": lambda: np.zeros((1, 3)),
    "size": 0.5,
    "Scene.box.size": lambda: [1.0, 1.0, 1.0],
    "portrait.size": lambda: (24, 32),
    "strip.height": 24,
    "strip.frames": 2,
    "samples": 1,
    "radius": 0.2,
    "Limits.clamp_from.start": lambda: [1.0, 0.0, 0.0, 0.0],
    "Limits.slack.start": lambda: [1.0, 0.0, 0.0, 0.0],
    "duration": 0.2,
    "low": -1.0,
    "high": 1.0,
    "height": 1.75,
    "image": lambda: np.zeros((4, 4, 3), np.uint8),
    "markers": lambda: ps.MARKERS,
    "time": 0.1,
    "direction": lambda: [0.0, 0.0, 1.0],
    "value": lambda: [0.1, 0.2, 0.3],
    "count": 3,
    "item": 3,
    "parents": lambda: [-1, 0],
    "editor": lambda: thing("editor"),
    "rows": lambda: [],
    "edits": lambda: [],
    "clip": lambda: thing("editor").clip,
    "limits": None,
    "scene": None,
    "Behaviour.fit.keys": 2,
    "Behaviour.example.name": "normal",
    "shape": 12,
    "dt": 0.02,
    "radii": lambda: (1.0, 1.0),
    "theta": lambda: (0.0, 1.0, 2.0),
    "psi": lambda: (1.0, 1.0, 1.0),
    "setpoint": 0.1,
    "dragged": lambda: np.zeros(6),
    "other": lambda: thing("skeleton"),
    "relative_motion.other": lambda: np.zeros(6),
    "drag": lambda: np.zeros(3),
    "axes": "YXZ",
    "base": 0,
    "tip": 2,
    "reading": None,
}

MADE: dict[type, Callable[[], Any]] = {
    ps.Behaviour: lambda: thing("behaviour").copy(),
    ps.CanonicalPose: lambda: thing("canonical"),
    ps.Chain: lambda: thing("chain"),
    ps.Character: lambda: thing("character"),
    ps.ERIK: lambda: thing("erik"),
    ps.Frames: lambda: thing("frames"),
    ps.Humanoid: lambda: thing("body"),
    ps.Limb: lambda: ps.Limb("right_arm", 0.3, 0.25),
    BodyLimb: lambda: thing("limb"),
    LimbStream: lambda: thing("limb").stream(),
    ps.LimbRange: lambda: thing("range"),
    ps.Limits: lambda: thing("limits"),
    ps.Motion: lambda: thing("motion"),
    ps.MotionEditor: lambda: thing("editor"),
    ps.MotionFilter: lambda: ps.MotionFilter(1.0, 2.0, 10.0),
    ps.Pose: lambda: thing("poses"),
    ps.Posture: lambda: thing("posture"),
    ps.Reacher: lambda: thing("reacher"),
    ps.Scene: lambda: ps.Scene().box("box", (1, 1, 1), (3, 0, 0)),
    ps.SequentialIK: lambda: thing("sik"),
    ps.Skeleton: lambda: thing("skeleton"),
    ps.Volumes: lambda: thing("volumes"),
    ps.JointAngles: lambda: ps.joint_angles(thing("motion")),
    ps.Calibration: lambda: thing("calibration"),
    ps.Sensorimotor: ps.Sensorimotor,
    ps.SwivelTable: lambda: thing("swivels"),
    ps.reach.ReachStream: lambda: thing("reacher").stream(),
    ps.reconstruct.ReconstructStream: lambda: thing("sik").stream(),
    ps.express.ErikStream: lambda: thing("erik").stream(),
    ps.express.FilterStream: lambda: ps.MotionFilter(1.0, 2.0, 10.0).stream(np.zeros(1)),
    ps.express.Tree: lambda: thing("tree"),
    TreeStream: lambda: thing("tree").stream(),
    ps.Retargeter: lambda: thing("retargeter"),
    ps.robots.RetargetStream: lambda: thing("retargeter").stream(30.0),
    ps.render.Player: lambda: ps.render.Player(thing("motion")),
    ps.classic.DLS: lambda: thing("dls"),
    ps.limits.Cone: lambda: ps.limits.Cone((-np.pi, 0.0, np.pi), (1.0, 1.0, 1.0)),
    ps.limits.Ellipse: lambda: ps.limits.Ellipse((1.0, 1.0)),
    ps.limits.Interval: lambda: ps.limits.Interval(-1.0, 1.0),
    ps.limits.Hinge: lambda: ps.limits.Hinge(-1.0, 1.0),
    ps.limits.JointLimit: lambda: next(iter(thing("limits").values())),
}


def public() -> dict[str, Any]:
    """Public functions and classes by their shortest names."""
    found: dict[int, tuple[str, Any]] = {}
    for name in dir(ps):
        found.setdefault(id(getattr(ps, name)), (name, getattr(ps, name)))
    for room in ROOMS:
        module = importlib.import_module(f"posable.{room}")
        for name in module.__all__:
            found.setdefault(id(getattr(module, name)), (name, getattr(module, name)))
    for kind in MADE:
        found.setdefault(id(kind), (kind.__name__, kind))
    return {
        name: value
        for name, value in found.values()
        if isinstance(value, FunctionType)
        or (isinstance(value, type) and not issubclass(value, BaseException | int) and "posable" in value.__module__)
    }


def calls() -> Iterator[tuple[str, Callable[[], Any], list[str]]]:
    """(name, what makes the callable, its arguments) of every public callable."""
    for name, value in public().items():
        if name in LEFT_OUT:
            continue
        if inspect.isabstract(value):
            continue
        yield (f"{name}.__init__" if isinstance(value, type) else name), (lambda value=value: value), named(value)
        if isinstance(value, type):
            for method, attribute in inspect.getmembers(value, callable):
                if method.startswith("_") or f"{name}.{method}" in LEFT_OUT:
                    continue
                where = next(kind for kind in value.__mro__ if method in vars(kind))
                if not where.__module__.startswith("posable"):
                    continue
                static = isinstance(vars(where)[method], staticmethod | classmethod)
                if not static and value not in MADE:
                    continue
                owner = (lambda value=value: value) if static else MADE[value]
                yield (
                    f"{name}.{method}",
                    (lambda owner=owner, method=method: getattr(owner(), method)),
                    [one for one in named(attribute) if one != "self"],
                )


def named(function: Any) -> list[str]:
    parameters = inspect.signature(function).parameters.values()
    return [one.name for one in parameters if one.kind not in (one.VAR_KEYWORD,)]


@contextmanager
def within(seconds: int) -> Iterator[None]:
    def late(*_: Any) -> None:
        raise TimeoutError(f"longer than {seconds} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def leak(name: str, make: Callable[[], Any], argument: str, wrong: Any) -> str | None:
    """What a call with one wrong argument raised, where it was no `PosableError`; None where all is well."""
    function = make()
    positional, keywords = [], {}
    parameters = inspect.signature(function).parameters.values()
    starred = any(one.kind == one.VAR_POSITIONAL for one in parameters)
    for one in parameters:
        if one.kind == one.VAR_KEYWORD:
            continue
        if one.name == argument:
            value = wrong
        elif one.default is one.empty:
            value = good(one.name, name)
        else:
            value = GOOD.get(f"{name}.{one.name}", one.default)
            value = value() if callable(value) and f"{name}.{one.name}" in GOOD else value
        if one.kind == one.KEYWORD_ONLY or (one.default is not one.empty and not starred):
            keywords[one.name] = value
        else:
            positional.append(value)
    try:
        with within(SECONDS):
            function(*positional, **keywords)
    except (ps.PosableError, ps.MissingExtraError, OSError) as error:
        if isinstance(error, OSError) and not isinstance(
            error, FileNotFoundError | IsADirectoryError | PermissionError
        ):
            return f"{type(error).__name__}: {error}"
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:120]}"
    return None


def leaks(chosen: Callable[[str], bool] = lambda name: True, wrong: dict[str, Any] = WRONG) -> list[str]:
    found = []
    for name, make, arguments in calls():
        if not chosen(name):
            continue
        for argument in arguments:
            for word, value in wrong.items():
                raised = leak(name, make, argument, value)
                if raised:
                    found.append(f"{name}({argument}={word}): {raised}")
    return found


if __name__ == "__main__":
    import resource
    import time
    import warnings

    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
    os.chdir(tempfile.mkdtemp())
    asked = sys.argv[1:]
    for name, make, arguments in calls():
        if asked and not any(one in name for one in asked):
            continue
        for argument in arguments:
            for word, value in WRONG.items():
                began = time.perf_counter()
                raised = leak(name, make, argument, value)
                took = time.perf_counter() - began
                if raised or took > 1.0:
                    print(f"{name}({argument}={word}): {raised} {took:.1f} s", flush=True)
