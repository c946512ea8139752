"""The models of an FBX document as a tree of transforms, and which of them are joints.

A model's transform is `T Roff Rp Rpre R inv(Rpost) inv(Rp) Soff Sp S inv(Sp)`: translation, rotation offset and pivot,
pre-rotation, rotation, post-rotation, scaling offset and pivot, scale. It becomes one rotation `Rpre R inv(Rpost)`, the
scale S, and a translation that the pivots bend. R turns about the axes of `RotationOrder`, the first of them first;
pre- and post-rotation always about x, y, z, and they count where `RotationActive` says so.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ... import math as pm
from ...compute import FormatError
from ...compute.types import Floats
from ..euler import compose_rotations
from ..trees import COMPONENTWISE, INHERITED, OWN, Tree, walked
from .document import Document, FbxObject

MAX_NODES = 10_000
ORDERS = ((2, 1, 0), (1, 2, 0), (0, 2, 1), (2, 0, 1), (1, 0, 2), (0, 1, 2), (2, 1, 0))
"""The axes of each `RotationOrder` as a product of rotations has them: XYZ turns about x first, so it is Rz Ry Rx."""
JOINTS = ("LimbNode", "Limb", "Root")
INHERIT = (COMPONENTWISE, INHERITED, OWN)
PIVOTS = ("RotationOffset", "RotationPivot", "ScalingOffset", "ScalingPivot")


@dataclass
class ModelTree(Tree):
    """The models of a document; what does not change of their transforms is kept beside them."""

    models: list[FbxObject] = field(default_factory=list)
    index: dict[int, int] = field(default_factory=dict)
    """A model's place by its number."""
    euler: Floats = field(default_factory=lambda: np.empty((0, 3)))
    """(N, 3) Lcl Rotation [degrees] as the models state it; with `lcl`, what curves replace."""
    lcl: Floats = field(default_factory=lambda: np.empty((0, 3)))
    """(N, 3) Lcl Translation in the file's unit."""
    axes: list[tuple[int, int, int]] = field(default_factory=list)
    before: Floats = field(default_factory=lambda: np.empty((0, 4)))
    """(N, 4) pre-rotations."""
    behind: Floats = field(default_factory=lambda: np.empty((0, 4)))
    """(N, 4) inverse post-rotations."""
    pivots: Floats = field(default_factory=lambda: np.empty((0, 4, 3)))
    """(N, 4, 3) in the order of `PIVOTS`."""

    def name(self, node: int) -> str:
        """The model's name, or `model_7` where it has none."""
        return self.models[node].name or f"model_{node}"

    def moved(self, node: int, translation: Floats, euler: Floats, scale: Floats) -> tuple[Floats, Floats, Floats]:
        """The translation (..., 3), rotation (..., 4) and scale of a model for values of its three properties."""
        rotation = self.rotated(node, euler)
        offset, pivot, scaling_offset, scaling_pivot = self.pivots[node]
        if self.pivots[node].any():
            inner = scaling_offset + scaling_pivot - pivot - scale * scaling_pivot
            translation = translation + offset + pivot + pm.rotate(rotation, inner)
        return np.asarray(translation), rotation, scale

    def rotated(self, node: int, euler: Floats) -> Floats:
        """The rotation (..., 4) of a model for values (..., 3) [degrees] of Lcl Rotation."""
        rotation = euler_rotations(euler, self.axes[node])
        return np.asarray(pm.multiply(pm.multiply(self.before[node], rotation), self.behind[node]))


def read_models(document: Document) -> ModelTree:
    """The tree of a document's models; one that hangs on itself is an error, of two parents the first counts."""
    models = document.of_kind("Model")
    count = len(models)
    if not 0 < count <= MAX_NODES:
        raise FormatError(document.path, f"has {count} models; a skeleton needs 1 to {MAX_NODES}", "Objects")
    index = {model.number: node for node, model in enumerate(models)}
    parents = [-1] * count
    children: list[list[int]] = [[] for _ in models]
    for node, model in enumerate(models):
        above = [index[one.number] for one, name in document.holders(model, "Model") if not name]
        if above:
            parents[node] = above[0]
    for number in (0, *index):  # in the order of the connections, as other programs list them
        for one, name in document.below.get(number, ()):
            node = index.get(one, -1)
            if node >= 0 and not name and parents[node] == index.get(number, -1) and number:
                children[parents[node]].append(node)
    children = [list(dict.fromkeys(some)) for some in children]
    order, _ = walked(parents, children)
    if len(order) < count:
        lost = min(set(range(count)) - set(order))
        raise FormatError(document.path, f"{models[lost].name[:60]!r} hangs on itself", "Connections")
    made: dict[str, Any] = {"models": models, "index": index}
    tree = ModelTree(parents, children, order, np.zeros((count, 3)), np.zeros((count, 4)), np.ones((count, 3)), **made)
    _read_transforms(tree)
    return tree


def _read_transforms(tree: ModelTree) -> None:
    count = len(tree.models)
    tree.euler, tree.lcl, tree.pivots = np.zeros((count, 3)), np.zeros((count, 3)), np.zeros((count, 4, 3))
    tree.before, tree.behind = (np.tile([1.0, 0.0, 0.0, 0.0], (count, 1)) for _ in range(2))
    tree.inherit = np.zeros(count, np.int64)
    zero = (0.0, 0.0, 0.0)
    for node, model in enumerate(tree.models):
        tree.lcl[node] = model.numbers("Lcl Translation", zero)
        tree.euler[node] = model.numbers("Lcl Rotation", zero)
        scale = model.numbers("Lcl Scaling", (1.0, 1.0, 1.0))
        tree.pivots[node] = [model.numbers(name, zero) for name in PIVOTS]
        active = model.integer("RotationActive", 1) != 0 and model.integer("RotationSpaceForLimitOnly", 0) == 0
        order = model.integer("RotationOrder", 0) if active else 0
        tree.axes.append(ORDERS[order] if 0 <= order < len(ORDERS) else ORDERS[0])
        if active:
            tree.before[node] = euler_rotations(model.numbers("PreRotation", zero), ORDERS[0])
            tree.behind[node] = pm.conjugate(euler_rotations(model.numbers("PostRotation", zero), ORDERS[0]))
        inherit = model.integer("InheritType", 1)
        tree.inherit[node] = INHERIT[inherit] if 0 <= inherit < 3 else INHERITED
        transform = tree.moved(node, tree.lcl[node], tree.euler[node], scale)
        tree.translation[node], tree.rotation[node], tree.scale[node] = transform


def euler_rotations(degrees: Floats, axes: tuple[int, int, int]) -> Floats:
    """The rotations (..., 4) of angles (..., 3) about x, y and z, multiplied in the order of `axes`."""
    values = np.ascontiguousarray(degrees, dtype=np.float64).reshape(-1, 3)
    rotations = compose_rotations(values, [axes], [axes], np.pi / 180.0)
    return rotations.reshape(*np.shape(degrees)[:-1], 4)


def joint_nodes(tree: ModelTree, skinned: set[int], animated: set[int]) -> list[int]:
    """The models that make the skeleton, the root first: bones and what skins name, else what is animated, else all."""
    named = {node for node, model in enumerate(tree.models) if model.sort in JOINTS} | skinned
    return tree.joints_of(named or animated or set(range(len(tree.models))), bool(named))
