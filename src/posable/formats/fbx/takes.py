"""Takes of an FBX document: stacks of layers of curves that move its models.

The layer at the bottom replaces what a model states; those above it add to that, or blend with it, by their weights.
Rotations of such a layer are composed as rotations or added as angles, scales multiplied or added, as the layer says.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ... import math as pm
from ...compute import FormatError, PosableError, UnknownNameError
from ...compute.types import Floats, Ints
from ..euler import euler_from_quaternions
from ..gltf.animation import USUAL_RATES
from .curves import Curve, read_curve
from .document import Document, FbxObject
from .models import ModelTree, euler_rotations

PATHS = {"Lcl Translation": "translation", "Lcl Rotation": "rotation", "Lcl Scaling": "scale"}
ADDED, BLENDED = 0, 2  # modes of a layer; others replace
MORE_RATES = (96.0, 24 / 1.001, 30 / 1.001, 60 / 1.001, 120 / 1.001)
FALLBACK_FPS = 60.0
OFF_FRAME = 2e-3  # frames that a key may lie beside one
FREE_ROWS, BYTES_A_ROW = 1 << 20, 2  # of frames times joints that any file may have, and of the file for more of them


@dataclass(frozen=True, eq=False)
class Track:
    """One of the three properties of a model in one layer: a curve or a number for each axis."""

    curves: tuple[Curve | None, Curve | None, Curve | None]
    values: Floats

    def sample(self, ticks: Ints) -> Floats:
        """(F, 3)."""
        columns = [
            np.full(len(ticks), value) if curve is None else curve.sample(ticks)
            for curve, value in zip(self.curves, self.values.tolist())
        ]
        return np.stack(columns, axis=-1)


@dataclass(frozen=True, eq=False)
class Layer:
    """The tracks of a layer by model and property, and how they join what is below."""

    tracks: dict[tuple[int, str], Track]
    mode: int
    weight: float
    weights: Curve | None
    """Its weight over time [%], where it changes."""
    rotations_compose: bool
    scales_multiply: bool


@dataclass(frozen=True, eq=False)
class Take:
    """A take: its layers from the bottom up, and its first and last time in ticks."""

    name: str
    layers: tuple[Layer, ...]
    first: int
    last: int
    item: FbxObject

    @property
    def nodes(self) -> set[int]:
        """The models that it moves."""
        return {node for layer in self.layers for node, _ in layer.tracks}

    def curves(self, nodes: set[int]) -> list[Curve]:
        """The curves that move some models."""
        tracks = (track for layer in self.layers for (node, _), track in layer.tracks.items() if node in nodes)
        return [curve for track in tracks for curve in track.curves if curve is not None]

    def transforms(self, tree: ModelTree, node: int, ticks: Ints) -> tuple[Floats, Floats, Floats] | None:
        """Translation (F, 3), rotation (F, 4) and scale (F, 3) of a model; None where it does not move."""
        if not any((node, path) in layer.tracks for layer in self.layers for path in PATHS.values()):
            return None
        values = self.stated(tree, node, ticks)
        return tree.moved(node, values["translation"], values["rotation"], values["scale"])

    def stated(self, tree: ModelTree, node: int, ticks: Ints) -> dict[str, Floats]:
        """The three properties (F, 3) of a model as the file has them: rotations are angles [degrees]."""
        own = {"translation": tree.lcl[node], "rotation": tree.euler[node], "scale": tree.scale[node]}
        return {path: self._layered(tree, node, path, own[path], ticks) for path in own}

    def _layered(self, tree: ModelTree, node: int, path: str, stated: Floats, ticks: Ints) -> Floats:
        result: Floats = np.broadcast_to(stated, (len(ticks), 3))
        for depth, layer in enumerate(self.layers):
            track = layer.tracks.get((node, path))
            if track is None:
                continue
            value = track.sample(ticks)
            result = value if depth == 0 else _joined(layer, path, result, value, tree.axes[node], ticks)
        return result


def _joined(layer: Layer, path: str, below: Floats, value: Floats, axes: tuple[int, int, int], ticks: Ints) -> Floats:
    if layer.mode not in (ADDED, BLENDED):
        return value
    weight = np.full((len(ticks), 1), layer.weight)
    if layer.weights is not None:
        weight = np.clip(layer.weights.sample(ticks)[:, None] / 100.0, 0.0, 1.0)
    if path == "rotation" and layer.rotations_compose:
        base, rotation = euler_rotations(below, axes), euler_rotations(value, axes)
        if layer.mode == ADDED:
            still = np.broadcast_to([1.0, 0.0, 0.0, 0.0], rotation.shape)
            return _degrees(pm.multiply(base, pm.slerp(still, rotation, weight[:, 0])), axes)
        return _degrees(pm.slerp(base, rotation, weight[:, 0]), axes)
    if path == "scale" and layer.scales_multiply:
        remaining = np.ones_like(weight) if layer.mode == ADDED else 1.0 - weight
        return np.asarray(_power(below, remaining) * _power(value, weight))
    return np.asarray(below * (1.0 if layer.mode == ADDED else 1.0 - weight) + value * weight)


def _power(values: Floats, exponent: Floats) -> Floats:
    return np.asarray(np.sign(values) * np.abs(values) ** exponent)


def _degrees(rotations: Floats, axes: tuple[int, int, int]) -> Floats:
    """The angles about x, y and z (F, 3) of rotations, where they are multiplied in the order of `axes`."""
    angles = euler_from_quaternions("".join("XYZ"[axis] for axis in axes), np.asarray(rotations))
    found = np.empty(angles.shape)
    found[..., list(axes)] = np.degrees(angles)
    return found


def take_names(document: Document) -> list[str]:
    """The names of a document's takes, in order; `take_2` where one has none."""
    return [stack.name or f"take_{i}" for i, stack in enumerate(document.of_kind("AnimationStack"))]


def read_takes(document: Document, tree: ModelTree, requested: str | int | None) -> list[Take]:
    """The take that a caller requested, by name or number; without a request all of them, to choose from."""
    stacks, names = document.of_kind("AnimationStack"), take_names(document)
    if isinstance(requested, str):
        if requested not in names:
            raise UnknownNameError("animation", requested, names)
        chosen = [names.index(requested)]
    elif requested is None:
        chosen = list(range(len(stacks)))
    elif isinstance(requested, bool) or not isinstance(requested, int) or not -len(names) <= requested < len(names):
        raise PosableError(f"animation {requested!r} of {document.path}: it has {len(names)}, counted from 0")
    else:
        chosen = [requested % len(names)]
    return [_read_take(document, tree, stacks[k], names[k]) for k in chosen]


def _read_take(document: Document, tree: ModelTree, stack: FbxObject, name: str) -> Take:
    layers = tuple(_read_layer(document, tree, layer) for layer, _ in document.on(stack, "AnimationLayer"))
    first, last = (stack.integer(name, 0) for name in ("LocalStart", "LocalStop"))
    return Take(name, layers, first, last, stack)


def _read_layer(document: Document, tree: ModelTree, layer: FbxObject) -> Layer:
    tracks: dict[tuple[int, str], Track] = {}
    weights: Curve | None = None
    for node_object, _ in document.on(layer, "AnimationCurveNode"):
        targets = [
            (tree.index[model.number], PATHS[name])
            for model, name in document.holders(node_object, "Model")
            if name in PATHS
        ]
        if not targets:
            if any(one is layer and name == "Weight" for one, name in document.holders(node_object, "AnimationLayer")):
                weights = next(
                    (read_curve(document, one) for one, _ in document.on(node_object, "AnimationCurve")), None
                )
            continue
        default = 1.0 if targets[0][1] == "scale" else 0.0
        values = np.array([float(node_object.numbers(f"d|{axis}", (default,))[0]) for axis in "XYZ"])
        curves: dict[str, Curve | None] = {}
        for curve, name in document.on(node_object, "AnimationCurve"):
            if name in ("d|X", "d|Y", "d|Z") and name not in curves:
                curves[name] = read_curve(document, curve)
        for target in targets:
            tracks[target] = Track((curves.get("d|X"), curves.get("d|Y"), curves.get("d|Z")), values)
    weight = float(layer.numbers("Weight", (100.0,))[0]) / 100.0
    mode = layer.integer("BlendMode", ADDED)
    muted = layer.integer("Mute", 0) != 0
    composed = layer.integer("RotationAccumulationMode", 0) == 0
    multiplied = layer.integer("ScaleAccumulationMode", 0) == 0
    return Layer({} if muted else tracks, mode, min(max(weight, 0.0), 1.0), weights, composed, multiplied)


def frame_ticks(document: Document, take: Take, moving: set[int], joints: int, fps: float | None) -> tuple[Ints, float]:
    """The times (F,) in ticks at which a take is sampled, and the frame rate.

    From the beginning of the take to its end, as it states them; from the first key to the last where it does not.
    """
    curves = take.curves(moving)
    inputs = {id(curve.times): curve.times for curve in curves}  # most curves share theirs
    first, last = take.first, take.last
    if last <= first:
        first = min((int(times[0]) for times in inputs.values()), default=0)
        last = max((int(times[-1]) for times in inputs.values()), default=0)
    seconds = (last - first) / document.ticks
    rate = fps or _rate_of(list(inputs.values()), first, document)
    frames = round(min(seconds * rate, 1e15)) + 1
    tracks = sum(node in moving for layer in take.layers for node, _ in layer.tracks)
    if frames * max(joints, tracks // 3) > FREE_ROWS + len(document.source.data) // BYTES_A_ROW:
        message = (
            f"lasts {seconds:g} s and has few keys; {frames} frames at {rate:g} fps are too many: give a lower fps"
        )
        raise FormatError(document.path, message, f"AnimationStack {take.name[:60]!r}")
    ticks = first + np.round(np.arange(frames) * (document.ticks / rate)).astype(np.int64)
    return ticks, rate


def _rate_of(inputs: list[Ints], first: int, document: Document) -> float:
    """The file's own rate where all keys lie on its frames, else the lowest usual one that does, else the file's."""
    rates = ([document.fps] if document.fps else []) + [*USUAL_RATES, *MORE_RATES]
    for rate in rates:
        if all(_on_frames(times, first, document.ticks / rate) for times in inputs):
            return rate
    return document.fps or FALLBACK_FPS


def _on_frames(times: Ints, first: int, ticks: float) -> bool:
    frames = (times - first) / ticks
    return bool((np.abs(frames - np.round(frames)) <= OFF_FRAME + 1e-9 * np.abs(frames)).all())
