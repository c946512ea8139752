"""Trees of nodes with scales, as glTF and FBX files have them, and the skeletons without scales that are made of them.

A file of nodes has no skeleton of its own. Ours is made of the nodes that are meant to be joints, those of one tree
(the one with most of them), with every node between them and their nearest common ancestor. Nodes above that ancestor
(axis conversions, an "Armature" with a scale) are folded into the root. A `Skeleton` knows no scale: a uniform one is
baked into the offsets of the joints below it, any other is applied to the joint's own children and reported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from .. import math as pm
from ..compute.types import Bools, Floats, Ints
from ..skeleton import Pose

SCALE_NOISE = 1e-3  # exporters write 1.0000012; a scale this close to uniform is meant to be
STILL = 1e-5  # [m], relative to the longest offset beyond a metre: exporters' rounding is no movement of a joint
BLOCK = 2048  # frames at once
INHERITED, COMPONENTWISE, OWN = 0, 1, 2
"""How a node takes the scale of its parent: all of it, each axis by itself, or none but what the parent itself took."""


@dataclass
class Tree:
    """Nodes: parents, children and their transforms relative to the parent.

    `translation` (N, 3) in the file's unit, `rotation` (N, 4) wxyz, `scale` (N, 3). `order` lists every node after its
    parent, in the order of the file. `inherit` (N,) says how a node takes its parent's scale; all of it without.
    """

    parents: list[int]
    children: list[list[int]]
    order: list[int]
    translation: Floats
    rotation: Floats
    scale: Floats
    inherit: Ints | None = None
    notes: list[str] = field(default_factory=list)

    def name(self, node: int) -> str:
        """The node's name."""
        raise NotImplementedError

    def names(self, nodes: list[int]) -> list[str]:
        """The names of some nodes, made different where the file repeats one."""
        taken: set[str] = set()
        found = []
        for node in nodes:
            name = self.name(node)
            if name in taken:
                name = f"{name}_{node}"
                while name in taken:
                    name += "_"
            taken.add(name)
            found.append(name)
        return found

    def ancestors(self, node: int) -> list[int]:
        """The nodes above a node, outermost first."""
        chain = []
        while (node := self.parents[node]) >= 0:
            chain.append(node)
        return chain[::-1]

    def joints_of(self, chosen: set[int], noted: bool) -> list[int]:
        """The nodes of the skeleton that chosen ones make, in the file's order, the root first.

        Args:
            chosen: nodes that are joints.
            noted: whether those that lie in another tree are noted.
        """
        top = [0] * len(self.parents)  # the outermost ancestor of each node
        for node in self.order:
            top[node] = node if self.parents[node] < 0 else top[self.parents[node]]
        tops = Counter(top[node] for node in self.order if node in chosen)
        main = tops.most_common(1)[0][0]
        left_out = tops.total() - tops[main]
        if left_out and noted:
            self.notes.append(f"{left_out} joints are not under {self.name(main)!r} and were left out")
        below = [int(node in chosen and top[node] == main) for node in range(len(top))]  # chosen ones at or below each
        for node in reversed(self.order):
            if self.parents[node] >= 0:
                below[self.parents[node]] += below[node]
        needed = [node for node in self.order if below[node] and top[node] == main]
        root = [node for node in needed if below[node] == below[main]][-1]
        return needed[needed.index(root) :]


def walked(parents: list[int], children: list[list[int]]) -> tuple[list[int], list[int]]:
    """Return every node after its parent, and how deep each lies; nodes of a circle are in no list of nodes."""
    order: list[int] = []
    depth = [0] * len(parents)
    waiting = [node for node in reversed(range(len(parents))) if parents[node] < 0]
    while waiting:
        node = waiting.pop()
        order.append(node)
        depth[node] = depth[parents[node]] + 1 if parents[node] >= 0 else 0
        waiting.extend(reversed(children[node]))
    return order, depth


def split_matrices(matrices: Floats) -> tuple[Floats, Floats, Bools]:
    """(scale (N, 3), rotations wxyz (N, 4), exact (N,)) of 3x3 matrices (N, 3, 3) taken as rotation times scale.

    Where one is not (shear), the rotation is the nearest one. A mirroring matrix gets a negative x scale.
    """
    scale = np.linalg.norm(matrices, axis=1)
    rotations = np.tile([1.0, 0.0, 0.0, 0.0], (len(matrices), 1))
    exact = np.count_nonzero(matrices, axis=(1, 2)) <= 3
    regular = np.flatnonzero(((scale > 1e-12) & (scale < 1e30)).all(axis=1))
    if len(regular):
        some, size = matrices[regular], scale[regular]
        size[:, 0] = np.where(np.linalg.det(some / size[:, None]) < 0, -size[:, 0], size[:, 0])
        u, _, vt = np.linalg.svd(some / size[:, None])
        u[:, :, 2] *= np.sign(np.linalg.det(u @ vt))[:, None]
        nearest = u @ vt
        away = np.abs(nearest * size[:, None] - some).max(axis=(1, 2))
        scale[regular], exact[regular] = size, away <= 1e-4 * np.abs(size).max(axis=1)
        rotations[regular] = pm.from_matrix(nearest)
    return scale, rotations, exact


@dataclass(frozen=True)
class Folded:
    """The transforms of a skeleton's joints in our terms, over no axis (the rest pose) or over frames.

    `translation` (..., 3) [m] and `rotations[..., 0, :]` place the root in the world; `offsets` (..., J, 3) [m];
    `scale` (..., J, 3) is the scale that each joint hands to what hangs on it.
    """

    translation: Floats
    rotations: Floats
    offsets: Floats
    scale: Floats

    def is_finite(self) -> bool:
        """Whether all numbers are finite."""
        arrays = (self.translation, self.rotations, self.offsets, self.scale)
        return all(bool(np.isfinite(array).all()) for array in arrays)


def fold(
    tree: Tree,
    joints: list[int],
    world: tuple[Floats, float],
    tracks: dict[tuple[int, str], Floats],
    frames: int | None = None,
) -> Folded:
    """Fold nodes with scales into joints without: `tracks` holds the (F, 3) or (F, 4) transforms that move.

    `world` is a rotation and a scale [m per unit] above everything: VRM 0 files face away, and a file may have another
    unit.
    """
    lead = () if frames is None else (frames,)
    parent_of = {node: j for j, node in enumerate(joints)}
    rotations = np.empty((*lead, len(joints), 4))
    offsets = np.empty((*lead, len(joints), 3))
    scale = np.empty((*lead, len(joints), 3))

    def local(node: int, path: str) -> Floats:
        return np.asarray(tracks.get((node, path), getattr(tree, path)[node]))

    taken: dict[int, Floats] = {}  # the scale that each node takes from above, which is not its own

    def scale_at(node: int, above: Floats) -> Floats:
        how = INHERITED if tree.inherit is None else int(tree.inherit[node])
        if how == OWN and tree.parents[node] in taken:
            taken[node] = taken[tree.parents[node]]
        else:
            taken[node] = above if how == COMPONENTWISE else _uniform(above)
        return np.asarray(taken[node] * local(node, "scale"))

    rotation, size = world
    position: Floats = np.zeros(3)
    carried: Floats = np.full(3, size)  # the scale that reaches the next node
    for node in [*tree.ancestors(joints[0]), joints[0]]:
        position = position + pm.rotate(rotation, carried * local(node, "translation"))
        rotation = pm.multiply(rotation, local(node, "rotation"))
        carried = scale_at(node, carried)
    rotations[..., 0, :], offsets[..., 0, :], scale[..., 0, :] = rotation, position, carried
    for j, node in enumerate(joints[1:], start=1):
        above = scale[..., parent_of[tree.parents[node]], :]
        offsets[..., j, :] = above * local(node, "translation")
        rotations[..., j, :] = local(node, "rotation")
        scale[..., j, :] = scale_at(node, above)
    return Folded(offsets[..., 0, :].copy(), rotations, offsets, scale)


def sampled(
    tree: Tree,
    joints: list[int],
    world: tuple[Floats, float],
    still: Folded,
    frames: int,
    tracks_of: Callable[[int, int], dict[tuple[int, str], Floats]],
    check: Callable[[Folded], None],
    noise: float = STILL,
) -> tuple[Pose, Floats]:
    """Return the poses of all frames, and how far each joint's scale (J, 3) leaves that at rest.

    They are made block by block: only what stays is as long as the motion. Joint offsets are there only if some joint
    leaves its position by more than the `noise` [m]. `tracks_of` gives what moves from one frame to another, `check`
    raises where transforms are not finite.
    """
    translation, rotations = np.empty((frames, 3)), np.empty((frames, len(joints), 4))
    offsets: Floats | None = None
    swing = np.zeros(still.scale.shape)

    def folded_frames(until: int) -> Iterator[tuple[slice, Folded]]:
        for first in range(0, until, BLOCK):
            last = min(first + BLOCK, frames)
            yield slice(first, last), fold(tree, joints, world, tracks_of(first, last), last - first)

    for here, folded in folded_frames(frames):
        check(folded)
        translation[here], rotations[here] = folded.translation, folded.rotations
        swing = np.maximum(swing, np.abs(folded.scale - still.scale).max(axis=0))
        if offsets is None and moves(still, folded.offsets, noise):
            offsets = np.empty((frames, len(joints), 3))
            for before, earlier in folded_frames(here.start):
                offsets[before] = earlier.offsets
        if offsets is not None:
            offsets[here] = folded.offsets
    return Pose(translation, rotations, offsets), swing


def moves(still: Folded, offsets: Floats, noise: float = STILL) -> bool:
    """Whether some joint leaves the position it has at rest by more than the `noise` [m], or of the longest offset."""
    away = np.abs(offsets[:, 1:] - still.offsets[1:])
    longest = max(1.0, float(np.abs(still.offsets).max()))
    return bool(away.size and away.max() > noise * longest)


def scale_notes(still: Folded, swing: Floats, names: Sequence[str]) -> list[str]:
    """Notes on joints that are scaled unevenly, and on those whose scale changes by a `swing` (J, 3)."""
    notes = []
    for j in np.flatnonzero(uneven(still.scale) > SCALE_NOISE)[:3]:
        notes.append(
            f"{names[j]!r} is scaled unevenly {np.round(still.scale[j], 4).tolist()}; only its bones have that"
        )
    changes = swing.max(axis=1) / np.maximum(np.abs(still.scale).max(axis=1), 1e-12)
    for j in np.flatnonzero(changes > SCALE_NOISE)[:3]:
        notes.append(f"{names[j]!r} changes its scale in this animation; joints below move, meshes stay as large")
    return notes


def uneven(scale: Floats) -> Floats:
    """How far a scale (..., 3) is from a uniform, positive one, relative to its size."""
    size = np.abs(scale).max(axis=-1)
    return np.asarray((scale.max(axis=-1) - scale.min(axis=-1)) / np.where(size > 0, size, 1.0))


def _uniform(scale: Floats) -> Floats:
    """The uniform scale nearest to a scale (..., 3)."""
    return np.asarray(scale.mean(axis=-1, keepdims=True))
