"""How a chain is drawn: a robot's own shapes where its file has them, links, drums and a head made here elsewhere.

Everything is rigid with a joint of the skeleton and posed as the bodies are (`MeshLook`): one message a colour.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .... import math as pm
from ....compute.types import ArrayLike, Floats, Ints
from ....express import Chain
from ....skeleton import Frames, SkinnedMesh
from ....skeleton.character import BONES, Skinning
from ....skeleton.robot_look import lathe
from ....skeleton.simplify import simplified
from ...core.session import Session
from ...view.body_meshes import MAX_VERTICES, MeshLook, colour_groups
from ...view.theme import Rgb

AROUND = 20
"""Corners around what is round."""
LENS: Rgb = (38, 44, 52)
"""Colour of the eye at a tip."""
UP = np.array([0.0, 1.0, 0.0])


@dataclass(frozen=True, eq=False)
class Part:
    """A rigid piece of a chain."""

    joint: int
    vertices: Floats
    """(V, 3) [m] in the joint's frame."""
    faces: Ints
    colour: Rgb


class ChainLook:
    """A chain on the stage.

    Args:
        session: the session whose stage it is on.
        name: of its node, not used before.
        chain: what is drawn; with the meshes of its robot, if it is one.
        tones: main colour, accent and darker shade.
    """

    def __init__(self, session: Session, name: str, chain: Chain, tones: tuple[Rgb, ...]) -> None:
        self.chain, self.size = chain, chain_size(chain)
        self._server = session.server
        character = chain.skeleton.character
        meshes = () if character is None else simplified(character, MAX_VERTICES)
        parts = [_of_mesh(mesh, tones[0]) for mesh in meshes if mesh.name != BONES]
        parts += _generated(chain, self.size, {part.joint for part in parts}, tones)
        counts = [len(part.vertices) for part in parts]
        first = np.cumsum(counts) - counts
        joints = np.repeat([part.joint for part in parts], counts)[:, None]
        vertices = np.concatenate([part.vertices for part in parts])
        faces = np.concatenate([part.faces + at for part, at in zip(parts, first)])
        colours = np.repeat([part.colour for part in parts], [len(part.faces) for part in parts], axis=0)
        skinning = Skinning(vertices, joints, np.ones(joints.shape), len(chain.skeleton))
        start = chain.skeleton.forward(chain.pose(chain.zero))
        self._mesh = MeshLook(session.scene, name, skinning, colour_groups(faces, colours.astype(np.float64)), start)

    def draw(self, angles: ArrayLike, position: Floats) -> None:
        """Draw it with these joint values (N,), its world's origin at a position (3,) on the stage [m]."""
        frames = self.chain.skeleton.forward(self.chain.pose(angles))
        with self._server.atomic():
            self._mesh.update(Frames(frames.skeleton, frames.positions + position, frames.orientations))

    def show(self, visible: bool, opacity: float = 1.0) -> None:
        """Show or hide it."""
        self._mesh.show(visible, opacity)

    def remove(self) -> None:
        """Take it off the stage."""
        self._mesh.remove()


def chain_size(chain: Chain) -> float:
    """Return how far it reaches when stretched [m]: the measure of everything that is drawn with it."""
    positions = chain.forward(chain.zero).positions
    return max(float(np.linalg.norm(np.diff(positions, axis=0), axis=-1).sum()), 0.05)


def chain_spacing(chain: Chain) -> float:
    """Return the distance [m] between chains next to each other: whole robots are wider than their chain is long."""
    across = chain.skeleton.forward(chain.pose(chain.zero)).positions[:, 0]
    return max(chain_size(chain), 1.15 * float(np.ptp(across)))


def chain_lift(chain: Chain) -> float:
    """Return how far it must be lifted to stand on the ground [m]: robots whose origin is their hips."""
    heights = chain.skeleton.forward(chain.pose(chain.zero)).positions[:, 1]
    return max(-float(heights.min()), 0.0)


def _generated(chain: Chain, size: float, shaped: set[int], tones: tuple[Rgb, ...]) -> list[Part]:
    """Return links between joints, a drum on each axis, a head at the tip and a foot where it stands."""
    skeleton = chain.skeleton
    parts: list[Part] = []
    # Fixed links at whose end nothing moves are sensors and frames: a robot is not drawn as a hedgehog of them.
    moving = [joint for joint in range(len(skeleton)) if skeleton.kinds[joint] != "fixed"]
    carrying = {joint for end in (*moving, chain.tip) for joint in skeleton.path(end)}
    for joint in range(len(skeleton)):
        ends = [skeleton.offsets[child] for child in skeleton.children(joint) if child in carrying]
        if joint == chain.tip:
            ends.append(chain.tip_offset)
        for end in ends:
            if joint not in shaped and np.linalg.norm(end) > 1e-4 * size:
                parts.append(_link(joint, end, size, tones[0]))
    for link in chain.links:
        if link.joint not in shaped and not link.slides:
            parts.append(_drum(joint=link.joint, axis=link.axis, radius=0.046 * size, colour=tones[2]))
    parts += _head(chain, size, tones)
    rest = skeleton.forward(skeleton.rest)
    if 0 not in shaped and rest.positions[0, 1] - rest.positions[:, 1].min() < 0.05 * size:
        foot = [(0.0, 0.0), (0.12, 0.0)], [(0.12, 0.0), (0.12, 0.02)], [(0.12, 0.02), (0.06, 0.035), (0.0, 0.035)]
        parts.append(_aligned(0, _lathe(foot, size), pm.rotate(pm.conjugate(rest.orientations[0]), UP), tones[2]))
    return parts


def _link(joint: int, end: Floats, size: float, colour: Rgb) -> Part:
    """Return a tapered, rounded bar from a joint to a position (3,) in its frame."""
    length = float(np.linalg.norm(end))
    thick = min(max(0.16 * length, 0.012 * size), 0.036 * size)
    thin, rise = 0.72 * thick, np.linspace(0.0, 0.5 * np.pi, 5)
    below = [(thick * np.cos(t), -thick * np.sin(t)) for t in rise[::-1]]
    above = [(thin * np.cos(t), length + thin * np.sin(t)) for t in rise]
    return _aligned(joint, _lathe([[*below, *above]], 1.0), end / length, colour)


def _drum(joint: int, axis: Floats, radius: float, colour: Rgb) -> Part:
    """Return a motor around an axis."""
    half, edge = 0.62, 0.86
    pieces = (
        [(0.0, -half), (edge, -half)],
        [(edge, -half), (1.0, -half + 0.14), (1.0, half - 0.14), (edge, half)],
        [(edge, half), (0.0, half)],
    )
    return _aligned(joint, _lathe(pieces, radius), axis, colour)


def _head(chain: Chain, size: float, tones: tuple[Rgb, ...]) -> list[Part]:
    """Return a lamp that points where the tip does, its eye, and a knob that shows its roll."""
    shade = (
        [(0.0, -0.045), (0.028, -0.04), (0.04, -0.02)],
        [(0.04, -0.02), (0.066, 0.055)],
        [(0.066, 0.055), (0.05, 0.055)],
    )
    eye = [[(0.052, 0.052), (0.045, 0.062), (0.026, 0.072), (0.0, 0.076)]]
    knob = [[(0.014 * np.cos(t), 0.014 * np.sin(t)) for t in np.linspace(-0.5 * np.pi, 0.5 * np.pi, 7)]]
    parts = []
    for pieces, colour in ((shade, tones[1]), (eye, LENS)):
        part = _aligned(chain.tip, _lathe(pieces, size), chain.pointing, colour)
        parts.append(Part(part.joint, part.vertices + chain.tip_offset, part.faces, part.colour))
    across = np.cross(chain.pointing, np.eye(3)[int(np.argmin(np.abs(chain.pointing)))])
    side = chain.tip_offset + 0.056 * size * across / np.linalg.norm(across)
    vertices, faces = _lathe(knob, size)
    parts.append(Part(chain.tip, vertices + side, faces, tones[2]))
    return parts


def _of_mesh(mesh: SkinnedMesh, plain: Rgb) -> Part:
    """Return a mesh of a robot, which is rigid with one joint."""
    joint = int(mesh.joints[0, 0])
    local = pm.rotate(pm.conjugate(mesh.bind_orientations[joint]), mesh.vertices - mesh.bind_positions[joint])
    red, green, blue, _ = mesh.colours[0].tolist() if len(mesh.colours) else (*plain, 255)
    return Part(joint, np.asarray(local), np.asarray(mesh.faces, dtype=np.int64), (red, green, blue))


def _aligned(joint: int, mesh: tuple[Floats, Ints], along: Floats, colour: Rgb) -> Part:
    """Return a mesh along y, rotated to a direction (3,) of a joint's frame."""
    return Part(joint, np.asarray(pm.rotate(pm.between(UP, np.asarray(along)), mesh[0])), mesh[1], colour)


def _lathe(pieces: Sequence[Sequence[tuple[float, float]]], scale: float) -> tuple[Floats, Ints]:
    """Return the surface of revolution around y of a profile.

    Args:
        pieces: lists of (radius, height), upwards; edges between pieces are sharp.
        scale: factor on both.
    """
    vertices, faces = lathe(pieces, AROUND)
    return scale * vertices[:, [1, 2, 0]], faces
