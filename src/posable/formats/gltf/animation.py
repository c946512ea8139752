"""Animations of a glTF document: key frames of node transforms, sampled at even times.

A glTF animation has keys at any times, a `Motion` has frames. The frame rate is the one we wrote into the file, or
the lowest usual one at whose frames all keys lie, or 60 where none fits. The first frame is the first key: a clip
that starts at 0.04 s has no frames before it. Sampling follows glTF 2.0, appendix C.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ... import math as pm
from ...compute import PosableError, UnknownNameError
from ...compute.types import Floats
from .accessors import Accessors
from .checked_json import Place
from .document import Document
from .nodes import mark

PATHS = {"translation": 3, "rotation": 4, "scale": 3}
USUAL_RATES = (24.0, 25.0, 30.0, 48.0, 50.0, 60.0, 72.0, 75.0, 90.0, 100.0, 120.0, 144.0, 150.0, 200.0, 240.0)
FREE_ROWS = 1_000_000  # frames times tracks that any file may ask for, however few keys it has
ROWS_PER_KEY = 32


@dataclass(frozen=True)
class Channel:
    """The keys of one transform of one node: `times` (K,) [s], `values` (K, width), or (K, 3, width) for splines."""

    node: int
    path: str
    times: Floats
    values: Floats
    interpolation: str

    def sample(self, times: Floats) -> Floats:
        """The transform at some times (F,), held before the first and after the last key: (F, width)."""
        values = self.values if self.interpolation != "CUBICSPLINE" else self.values[:, 1]
        last = len(self.times) - 1
        after = np.clip(np.searchsorted(self.times, times, side="right"), 1, max(last, 1))
        before = np.minimum(after - 1, last)
        after = np.minimum(after, last)
        span = self.times[after] - self.times[before]
        share = np.clip((times - self.times[before]) / np.where(span > 0, span, 1.0), 0.0, 1.0)
        # Key times are float32: a frame that is a key but for that rounding is the key, exactly.
        slack = np.finfo(np.float32).eps * np.maximum(np.abs(times), 1.0) / np.where(span > 0, span, 1.0)
        share = np.where(share < slack, 0.0, np.where(share > 1 - slack, 1.0, share))
        if self.interpolation == "STEP":
            return np.where((share >= 1.0)[:, None], values[after], values[before])
        if self.interpolation == "LINEAR":
            if self.path == "rotation":
                between = np.asarray(pm.slerp(values[before], values[after], share))
                return np.where(
                    (share > 0)[:, None], np.where((share < 1)[:, None], between, values[after]), values[before]
                )
            return np.asarray(values[before] + share[:, None] * (values[after] - values[before]))
        t, span = share[:, None], span[:, None]
        spline = (
            (2 * t**3 - 3 * t**2 + 1) * values[before]
            + span * (t**3 - 2 * t**2 + t) * self.values[before, 2]
            + (-2 * t**3 + 3 * t**2) * values[after]
            + span * (t**3 - t**2) * self.values[after, 0]
        )
        return np.asarray(pm.normalize(spline)) if self.path == "rotation" else spline


def animation_names(document: Document) -> list[str]:
    """The names of a document's animations, in order; `animation_2` where one has none."""
    places = document.root.items("animations")
    return [place.text("name") or f"animation_{i}" for i, place in enumerate(places)]


def chosen_animation(document: Document, wanted: str | int | None) -> int | None:
    """The index of the animation a caller asked for by name or number: the first by default, None if there is none."""
    names = animation_names(document)
    if wanted is None:
        return 0 if names else None
    if isinstance(wanted, str):
        if wanted in names:
            return names.index(wanted)
        raise UnknownNameError("animation", wanted, names)
    if isinstance(wanted, bool) or not isinstance(wanted, int) or not -len(names) <= wanted < len(names):
        raise PosableError(f"animation {wanted!r} of {document.path}: it has {len(names)}, counted from 0")
    return wanted % len(names)


def read_channels(document: Document, accessors: Accessors, animation: int) -> list[Channel]:
    """The channels of one animation that move nodes (those of morph targets and extensions are passed over)."""
    place = document.root.items("animations")[animation]
    samplers = place.items("samplers")
    found = []
    for channel in place.items("channels"):
        sampler = channel.index("sampler", len(samplers), f"samplers in {place.where}")
        target = channel.object("target")
        node = target.index("node", document.count("nodes"), "nodes")
        path = target.text("path")
        if sampler is None:
            channel.fail("is missing", "sampler")
        if node is not None and path in PATHS:
            found.append(_read_channel(samplers[sampler], accessors, node, path))
    return found


def _read_channel(sampler: Place, accessors: Accessors, node: int, path: str) -> Channel:
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


def frame_times(channels: list[Channel], animation: Place, fps: float | None, tracks: int) -> tuple[Floats, float]:
    """The times (F,) [s] to sample `tracks` joints at, and the frame rate; `fps` overrides the file's."""
    keys = np.unique(np.concatenate([channel.times for channel in channels]))
    start, duration = float(keys[0]), float(keys[-1] - keys[0])
    ours = mark(animation)
    rate = fps or (ours.number("fps") if ours.has("fps") else _rate_of(keys - start))
    if not 0 < rate < 1e6:
        ours.fail(f"is {rate}; expected a positive number of frames a second", "fps")
    frames = round(min(duration * rate, 1e15)) + 1
    if frames * tracks > FREE_ROWS + ROWS_PER_KEY * sum(len(channel.times) for channel in channels):
        animation.fail(
            f"lasts {duration:g} s and has few keys; {frames} frames at {rate:g} fps are too many: give a lower fps"
        )
    return start + np.arange(frames) / rate, rate


def _rate_of(keys: Floats) -> float:
    """The lowest usual frame rate at whose frames all keys lie; 60 where none does."""
    tolerance = 2e-3 + 4 * float(np.finfo(np.float32).eps) * float(keys[-1]) * np.array(USUAL_RATES)
    for rate, slack in zip(USUAL_RATES, tolerance):
        frames = keys * rate
        if (np.abs(frames - np.round(frames)) <= max(slack, 2e-3)).all():
            return rate
    return 60.0
