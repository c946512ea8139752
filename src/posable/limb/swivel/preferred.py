"""Preferred swivels as functions of the target, for `solve(preferred=...)`: where an elbow or a knee would be.

Besides an angle, one for each target, or a function of the positions, `preferred` may be one of these. They are given
the limb: any proportions, either side.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ...compute import FormatError, PosableError, ShapeError, UnknownNameError
from ...compute.types import ArrayLike, Floats, Ints, Records
from ...skeleton import Motion
from ..model import LIMBS
from ..range.fit import Examples, Progress, batch_of, given_rows, read_motions
from ..range.locate import RANGE
from ..range.model import grid_of, mesh_rows, set_limb, to_right
from ..range.sphere import sphere_mesh

if TYPE_CHECKING:
    from ..limb import Limb

DIRECTIONS = 200
DISTANCES = (0.2, 0.4, 0.6, 0.8, 1.0)  # over the limb's length
SMOOTH = 10.0


class Preference(Protocol):
    """A value of `preferred` besides numbers and functions."""

    def swivels(self, limb: Limb, position: ArrayLike) -> Floats:
        """Return the preferred swivels (...) [rad] of a limb at positions (..., 3) [m] of its end, in its frame."""
        ...


class Sensorimotor:
    """The sensorimotor model of Soechting and Flanders (1989): how people raise and rotate the upper arm to point.

    People pointed at targets in the dark; they found the upper arm's elevation and yaw to be, in degrees,

        elevation = -4.0 + 1.10 R + 0.90 psi        yaw = 13.2 + 0.86 chi + 0.11 psi

    with the target's distance R [cm], azimuth chi (outwards) and elevation psi, seen from the shoulder. Kallmann 2008
    names it as a way to find the initial swivel. For arms only; a left arm is the mirror image.

    Checked: the coefficients stand like this in Simox, a robotics library (its `Soechting.h`, which takes them
    from Kondo's report "Inverse kinematics of a human arm"). The 1989 paper itself was not at hand. Simox also
    fixes what the angles are measured from. Against captured arms, in motion and not pointing, the model is nearer than
    a constant 30 degrees for some people and further off for others: docs/limbs.md has the numbers.

    Decided here: the measured people pointed with a pen, so R is counted in arm lengths, of which theirs is
    taken to be 70 cm. Only the upper arm's two angles count: the elbow goes to the side where they put it, and the
    hand stays on its target. They pointed at targets in front of them: beside and behind, and where the upper arm
    lies along the line to the target, the swivel goes over into the limb's own preferred one (`table.OWN_WEIGHT`,
    `table.IN_FRONT`).
    """

    def swivels(self, limb: Limb, position: ArrayLike) -> Floats:
        """Return the swivels (...) [rad] of an arm at positions (..., 3) [m], in its frame."""
        from .table import sensorimotor_swivels

        if not limb.name.endswith("arm"):
            raise PosableError(f"the sensorimotor model is of arms; this is a {limb.name}")
        positions, _, shape = batch_of(position, 0.0)
        out = np.empty(len(positions))
        sensorimotor_swivels(len(positions), limb.packed, positions, out)
        return out.reshape(shape)


class SwivelTable:
    """Swivels over directions and distances, learned from motions or made from a few examples.

    Made by `fit`, `from_examples`, `load` or `builtin`; immutable. The swivel changes continuously with the position.

    Args:
        name: the limb it was made for; it serves the one on the other side too, which is its mirror image.
        angles: (V, K) [rad] at V directions (`directions`, 50 or more) and K distances.
        distances: (K,) over the limb's length, growing.
        origin: notes on its source.
    """

    def __init__(
        self,
        name: str,
        angles: ArrayLike,
        distances: ArrayLike = DISTANCES,
        *,
        origin: Mapping[str, str] | None = None,
    ) -> None:
        if name not in LIMBS:
            raise UnknownNameError("limb", name, LIMBS)
        self.name, self.origin = name, dict(origin or {})
        self.distances: Floats = _checked_distances(distances)
        self.angles: Floats = np.array(angles, dtype=np.float64)
        if self.angles.ndim != 2 or self.angles.shape[1] != len(self.distances):
            raise ShapeError(f"angles have shape {self.angles.shape}; expected (V, {len(self.distances)})")
        if not np.isfinite(self.angles).all():
            raise PosableError("some angles of a table of swivels are not finite")
        self._mesh = _mesh_arrays(len(self.angles))
        self._cells = np.ascontiguousarray(np.stack([np.cos(self.angles), np.sin(self.angles)], axis=-1))
        for array in (self.angles, self.distances, self._cells):
            array.setflags(write=False)

    def __repr__(self) -> str:
        return f"SwivelTable({self.name!r}, {len(self.angles)} directions, {len(self.distances)} distances)"

    @property
    def directions(self) -> Floats:
        """(V, 3): the directions of the angles, in the frame of the limb it was made for."""
        return sphere_mesh(len(self.angles)).points * to_right(self.name)

    @classmethod
    def fit(
        cls,
        body: Any,
        limb: str,
        motions: Motion | Iterable[Motion],
        *,
        directions: int = DIRECTIONS,
        distances: ArrayLike = DISTANCES,
        smooth: float = SMOOTH,
        max_poses: int | None = None,
        seed: int = 0,
        progress: Progress | None = None,
    ) -> SwivelTable:
        """Learn from motions the median swivel of people for each direction and distance.

        Args:
            body: a `Humanoid`.
            limb: "right_arm", "left_arm", "right_leg" or "left_leg".
            motions: of this body, or of any others whose parts can be found.
            directions: of the table.
            distances: of the table, over the limb's length.
            smooth: weight of smoothness: a difference between neighbours counts as much as this many examples.
            max_poses: draw at most this many poses of each motion at random.
            seed: of that draw.
            progress: called now and then with the fraction done, 0 to 1.
        """
        if limb not in LIMBS:
            raise UnknownNameError("limb", limb, LIMBS)
        report = (lambda _: None) if progress is None else progress
        rows, _ = read_motions(body, limb, motions, max_poses, seed, lambda done: report(0.5 * done))
        return cls._learned(limb, rows, directions, distances, smooth, lambda done: report(0.5 + 0.5 * done))

    @classmethod
    def from_examples(
        cls,
        name: str,
        position: ArrayLike,
        swivel: ArrayLike,
        upper: ArrayLike,
        lower: ArrayLike,
        *,
        directions: int = DIRECTIONS,
        distances: ArrayLike = DISTANCES,
        smooth: float = SMOOTH,
        origin: Mapping[str, str] | None = None,
    ) -> SwivelTable:
        """Return the smooth table of some examples: a few designed ones, or many that were read.

        Args:
            name: which limb.
            position: (N, 3) [m] of its end, in its frame.
            swivel: (N,) [rad].
            upper: length of the upper bone [m], or (N,) of each pose.
            lower: length of the lower bone, likewise.
            directions: as for `fit`.
            distances: as for `fit`.
            smooth: as for `fit`; well below 1 for a few examples that must be met.
            origin: notes on their source.
        """
        made = cls._learned(name, given_rows(name, position, swivel, upper, lower), directions, distances, smooth)
        made.origin = dict(origin or {})
        return made

    @classmethod
    def _learned(
        cls,
        name: str,
        rows: Floats,
        directions: int,
        distances: ArrayLike,
        smooth: float,
        progress: Progress | None = None,
    ) -> SwivelTable:
        from .table import learn_swivels

        if not (math.isfinite(smooth) and smooth > 0.0):
            raise PosableError(f"smooth is {smooth}; expected more than 0")
        layers = _checked_distances(distances)
        examples = Examples.of(rows[:, :3] * to_right(name), rows[:, 3], rows[:, 4], rows[:, 5])
        if not examples.bent.any():
            raise PosableError(f"nothing to learn swivels of the {name} from: {len(rows)} poses, none of them bent")
        return cls(name, learn_swivels(examples, directions, layers, smooth, progress), layers)

    @classmethod
    def builtin(cls, name: str) -> SwivelTable:
        """Return the table that comes with Posable, learned from 78 people by `tools/fit_swivels.py`."""
        if name not in LIMBS:
            raise UnknownNameError("limb", name, LIMBS)
        kind = name.split("_")[1]
        with resources.as_file(resources.files("posable") / "assets" / "swivels" / f"{kind}.npz") as path:
            found = cls.load(path)
        return cls(name, found.angles, found.distances, origin=found.origin)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the table to a file, angles to 1e-7."""
        from .file import write

        write(path, self.name, self.angles, self.distances, self.origin)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> SwivelTable:
        """Read a table that `save` wrote."""
        from .file import read

        name, angles, distances, origin = read(path)
        try:
            return cls(name, angles, distances, origin=origin)
        except PosableError as error:  # arrays that do not fit together
            raise FormatError(path, str(error)) from error

    def swivels(self, limb: Limb, position: ArrayLike) -> Floats:
        """Return the swivels (...) [rad] of a limb at positions (..., 3) [m] of its end, in its frame."""
        from .table import table_swivels

        if limb.name.split("_")[1] != self.name.split("_")[1]:
            raise PosableError(f"this is a table of swivels of the {self.name}; the limb is a {limb.name}")
        if limb.reference != "transport":
            raise PosableError(
                f"swivels of a table are counted from the 'transport' reference, those of the limb from "
                f"{limb.reference!r}"
            )
        positions, _, shape = batch_of(position, 0.0)
        head = _header(len(self.angles), limb.name, limb.upper, limb.lower)
        out = np.empty(len(positions))
        table_swivels(len(positions), head, *self._mesh[1:], self._cells, self.distances, positions, out)
        return out.reshape(shape)


def _checked_distances(distances: ArrayLike) -> Floats:
    layers = np.array(distances, dtype=np.float64)
    if layers.ndim != 1 or not len(layers) or not np.isfinite(layers).all() or (np.diff(layers) <= 0.0).any():
        raise PosableError(f"distances are {layers.tolist()}; expected one or more growing numbers")
    return layers


@lru_cache(maxsize=8)
def _mesh_arrays(directions: int) -> tuple[Records, Records, Records, Ints]:
    """Return (header, points, faces, index) with which kernels find the triangle of a direction."""
    head = np.zeros(1, RANGE)
    points, faces = mesh_rows(sphere_mesh(directions))
    return head, points, faces, grid_of(points, faces, head)


@lru_cache(maxsize=64)
def _header(directions: int, limb: str, upper: float, lower: float) -> Records:
    """Return the header for a limb, cached because making it takes longer than a query of the table."""
    head = _mesh_arrays(directions)[0].copy()
    set_limb(head, limb, upper, lower)
    return head
