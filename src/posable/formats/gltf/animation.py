"""Animations of a glTF document: key frames of node transforms, sampled at even times, and written from a motion.

A glTF animation has keys at any times, a `Motion` has frames. The frame rate is the one we wrote into the file, or
the lowest usual one at whose frames all keys lie, or 60 where none fits. The first frame is the first key: a clip
that starts at 0.04 s has no frames before it. Sampling follows glTF 2.0, appendix C.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ... import math as pm
from ...compute import PosableError, UnknownNameError
from ...compute.types import Floats
from ...skeleton import Motion
from .accessors import Accessors, Budget, Packer
from .checked_json import JsonObject
from .document import Document
from .nodes import mark

PATHS = {"translation": 3, "rotation": 4, "scale": 3}
USUAL_RATES = (24.0, 25.0, 30.0, 48.0, 50.0, 60.0, 72.0, 75.0, 90.0, 100.0, 120.0, 144.0, 150.0, 200.0, 240.0)
STILL_POSITION = 1e-7  # [m]: a joint that leaves its node's translation by no more needs no keys
STILL_ROTATION = 1e-9  # of a quaternion's components
KEY, ROW = 64, 90  # bytes of memory that a key and a track's frame take, with what is made on the way


@dataclass(frozen=True)
class Channel:
    """The keys of one transform of one node: `times` (K,) [s], `values` (K, width), or (K, 3, width) for splines."""

    node: int
    path: str
    times: Floats
    values: Floats
    interpolation: str

    def sample(self, times: Floats) -> Floats:
        """The transform at some times (F,), constant before the first and after the last key: (F, width)."""
        values = self.values if self.interpolation != "CUBICSPLINE" else self.values[:, 1]
        last = len(self.times) - 1
        after = np.clip(np.searchsorted(self.times, times, side="right"), 1, max(last, 1))
        before = np.minimum(after - 1, last)
        after = np.minimum(after, last)
        span = self.times[after] - self.times[before]
        fraction = np.clip((times - self.times[before]) / np.where(span > 0, span, 1.0), 0.0, 1.0)
        # Key times are float32: a frame that is a key but for that rounding is the key, exactly.
        slack = np.finfo(np.float32).eps * np.maximum(np.abs(times), 1.0) / np.where(span > 0, span, 1.0)
        fraction = np.where(fraction < slack, 0.0, np.where(fraction > 1 - slack, 1.0, fraction))
        if self.interpolation == "STEP":
            return np.where((fraction >= 1.0)[:, None], values[after], values[before])
        if self.interpolation == "LINEAR":
            if self.path == "rotation":
                between = np.asarray(pm.slerp(values[before], values[after], fraction))
                return np.where(
                    (fraction > 0)[:, None], np.where((fraction < 1)[:, None], between, values[after]), values[before]
                )
            return np.asarray(values[before] + fraction[:, None] * (values[after] - values[before]))
        t, span = fraction[:, None], span[:, None]
        spline = (
            (2 * t**3 - 3 * t**2 + 1) * values[before]
            + span * (t**3 - 2 * t**2 + t) * self.values[before, 2]
            + (-2 * t**3 + 3 * t**2) * values[after]
            + span * (t**3 - t**2) * self.values[after, 0]
        )
        return np.asarray(pm.normalize(spline)) if self.path == "rotation" else spline


def animation_names(document: Document) -> list[str]:
    """The names of a document's animations, in order; `animation_2` where one has none."""
    animations = document.root.items("animations")
    return [animation.text("name") or f"animation_{i}" for i, animation in enumerate(animations)]


def chosen_animation(document: Document, requested: str | int | None) -> int | None:
    """The index of the animation a caller requested by name or number: the first by default, None if there is none."""
    names = animation_names(document)
    if requested is None:
        return 0 if names else None
    if isinstance(requested, str):
        if requested in names:
            return names.index(requested)
        raise UnknownNameError("animation", requested, names)
    if isinstance(requested, bool) or not isinstance(requested, int) or not -len(names) <= requested < len(names):
        raise PosableError(f"animation {requested!r} of {document.path}: it has {len(names)}, counted from 0")
    return requested % len(names)


def read_channels(document: Document, accessors: Accessors, animation: int) -> list[Channel]:
    """The channels of one animation that move nodes (those of morph targets and extensions are passed over)."""
    entry = document.root.item("animations", animation)
    samplers = entry.items("samplers")
    read: dict[tuple[Any, ...], Channel] = {}  # channels may share a sampler, and samplers their keys
    found: dict[tuple[int, str], Channel] = {}
    nodes = document.count("nodes")
    for channel in entry.items("channels"):
        sampler = channel.index("sampler", len(samplers), f"samplers in {entry.where}")
        target = channel.object("target")
        node = target.index("node", nodes, "nodes")
        path = target.text("path")
        if sampler is None:
            channel.fail("is missing", "sampler")
        if node is None or path not in PATHS:
            continue
        keys = samplers[sampler].value
        shared = (*(_hashable(keys.get(name)) for name in ("input", "output", "interpolation")), path == "rotation")
        if shared not in read:
            read[shared] = _read_channel(samplers[sampler], accessors, node, path)
        found[node, path] = replace(read[shared], node=node, path=path)  # the last one of a target counts
    return list(found.values())


def _hashable(value: Any) -> Any:
    return value if isinstance(value, int | str | float | None) else id(value)


def _read_channel(sampler: JsonObject, accessors: Accessors, node: int, path: str) -> Channel:
    source = [sampler.index(key, len(accessors), "accessors") for key in ("input", "output")]
    if source[0] is None or source[1] is None:
        sampler.fail("needs an input and an output")
    times = accessors.floats(source[0], ("SCALAR",), sampler, "input")
    kind = "VEC4" if path == "rotation" else "VEC3"
    values = accessors.floats(source[1], (kind,), sampler, "output")
    interpolation = sampler.text("interpolation", "LINEAR")
    if interpolation not in ("STEP", "LINEAR", "CUBICSPLINE"):
        sampler.fail(f"is {interpolation!r}; expected STEP, LINEAR or CUBICSPLINE", "interpolation")
    if len(times) > 1 and (np.diff(times) < 0).any():
        row = int(np.argmax(np.diff(times) < 0)) + 1
        sampler.fail(f"goes back in time at key {row}", "input")
    per_key = 3 if interpolation == "CUBICSPLINE" else 1
    if len(values) != per_key * len(times):
        sampler.fail(f"has {len(values)} values for {len(times)} keys; expected {per_key * len(times)}", "output")
    if path == "rotation":
        if not accessors.budget.take(KEY * len(values)):
            sampler.fail(f"has {len(values)} keys: the file asks for more than its size warrants", "output")
        values = values[:, [3, 0, 1, 2]]
        keys = values[1::3] if per_key == 3 else values
        length = np.linalg.norm(keys, axis=1)
        if not ((length > 1e-6) & (length < 1e6)).all():
            sampler.fail(f"rotation {int(np.argmin(length))} is no unit quaternion", "output")
        if per_key == 1:
            values = values / length[:, None]
    if per_key == 3:
        values = values.reshape(len(times), 3, -1)
    return Channel(node, path, times, values, interpolation)


def frame_times(
    channels: list[Channel], animation: JsonObject, fps: float | None, tracks: int, budget: Budget
) -> tuple[Floats, float]:
    """The times (F,) [s] to sample `tracks` nodes at, and the frame rate; `fps` overrides the file's."""
    inputs = {id(channel.times): channel.times for channel in channels}  # most channels share theirs
    keys = np.unique(np.concatenate(list(inputs.values())))
    start, duration = float(keys[0]), float(keys[-1] - keys[0])
    ours = mark(animation)
    rate = fps or (ours.number("fps") if ours.has("fps") else rate_of(keys - start))
    if not 0 < rate < 1e6:
        ours.fail(f"is {rate}; expected a positive number of frames a second", "fps")
    frames = round(min(duration * rate, 1e15)) + 1
    if not budget.take(ROW * frames * tracks):
        animation.fail(
            f"lasts {duration:g} s and has few keys; {frames} frames at {rate:g} fps are too many: give a lower fps"
        )
    return start + np.arange(frames) / rate, rate


def rate_of(keys: Floats) -> float:
    """The lowest usual frame rate at whose frames all keys lie; 60 where none does."""
    tolerance = 2e-3 + 4 * float(np.finfo(np.float32).eps) * float(keys[-1]) * np.array(USUAL_RATES)
    for rate, slack in zip(USUAL_RATES, tolerance):
        frames = keys * rate
        if (np.abs(frames - np.round(frames)) <= max(slack, 2e-3)).all():
            return rate
    return 60.0


class Tracks:
    """Builds one animation; a transform that does not change over time gets one key, one that is the node's none."""

    def __init__(self, motion: Motion, packer: Packer) -> None:
        self.motion, self.packer = motion, packer
        with np.errstate(over="ignore"):  # refused below
            self.times = motion.times.astype(np.float32)
        if len(motion) > 1 and not (np.isfinite(self.times).all() and (np.diff(self.times) > 0).all()):
            raise PosableError(
                f"{motion.duration:g} s at {motion.fps:g} frames a second: glTF keeps times as float32, which cannot "
                "tell such frames apart; save a part of the motion, or resample it"
            )
        self.samplers: list[dict[str, Any]] = []
        self.channels: list[dict[str, Any]] = []
        self.inputs: dict[int, int] = {}  # keys to the accessor of their times

    def add_translation(self, node: int, translations: Floats, still: Floats, *, always: bool = False) -> None:
        """Keys for a node's translation (F, 3) in the file's unit, which is `still` (3,) at rest.

        `always` keeps every frame: a motion in which nothing moves still has its length.
        """
        size = max(1.0, float(np.abs(still).max()))
        if not always:
            if (np.abs(translations - still) <= STILL_POSITION * size).all():
                return
            if (np.abs(translations - translations[0]) <= STILL_POSITION * size).all():
                translations = translations[:1]
        self._add(node, "translation", translations, "VEC3")

    def add_rotation(self, node: int, rotations: Floats, still: Floats) -> None:
        """Keys for a node's rotation (F, 4) wxyz, which is `still` (4,) at rest."""
        against = np.einsum("fi,fi->f", rotations[1:], rotations[:-1]) < 0
        sign = np.concatenate([[1.0], np.cumprod(np.where(against, -1.0, 1.0))])
        rotations = rotations * sign[:, None]  # q and -q are one rotation: neighbours on the same side, for plain lerps
        if min(np.abs(rotations - still).max(), np.abs(rotations + still).max()) <= STILL_ROTATION:
            return
        if np.abs(rotations - rotations[0]).max() <= STILL_ROTATION:
            rotations = rotations[:1]
        self._add(node, "rotation", rotations[:, [1, 2, 3, 0]], "VEC4")

    def animation(self) -> dict[str, Any]:
        """The finished animation, with our mark: the frame rate, which float32 times cannot tell exactly."""
        return {
            "name": self.motion.name or "motion",
            "samplers": self.samplers,
            "channels": self.channels,
            "extras": {"posable": {"fps": float(self.motion.fps)}},
        }

    def _add(self, node: int, path: str, values: Floats, kind: str) -> None:
        keys = len(values)
        if keys not in self.inputs:
            self.inputs[keys] = self.packer.add(self.times[:keys], "SCALAR", bounds=True)
        if not np.abs(values).max() < np.finfo(np.float32).max:
            raise PosableError(f"{self.motion.name!r} has a {path} of {np.abs(values).max():g}, which glTF cannot hold")
        output = self.packer.add(values.astype(np.float32), kind)
        self.channels.append({"sampler": len(self.samplers), "target": {"node": node, "path": path}})
        self.samplers.append({"input": self.inputs[keys], "interpolation": "LINEAR", "output": output})
