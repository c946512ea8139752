"""`LimbRange`: the poses that people take with a limb, learned; it tests a pose and corrects it (Mukai).

A pose of a limb is the position of its end, in the limb's frame, and its swivel. The range says for each direction
whether people reach there, how near and how far, and with which swivels. Lengths are counted in limb lengths, so a
range learned from some bodies holds for another; a left limb's range is the mirror image of the right one's, bit for
bit.

Decided here, where the specification (limb-range, section 1) and the solver differ: swivels are the solver's own,
measured from the limb's transported reference (`kernels.reference`), not from a pole at the mean direction of the
examples. So a swivel means the same to both, and a file records the reference it was learned with.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import resources
from typing import Any, cast

import numpy as np

from ...compute import FormatError, PosableError, ShapeError, UnknownNameError
from ...compute.gpu_arrays import GpuArray, empty, unwrapped
from ...compute.types import ArrayLike, Bools, Floats, Ints
from ...skeleton import Motion
from ..limb import Limb
from ..model import LIMBS
from .fit import Examples, Progress, batch_of, given_rows, learn_table, read_motions
from .kernels import DIRECTION, DISTANCE, SWIVEL, contains_rows, correct_rows, margins_rows, spans_rows
from .locate import Packed
from .model import Table, boundary_loops, find_region, pack, set_limb, to_right
from .sphere import sphere_mesh

RADIUS = math.radians(10.0)
TRIM = 0.005  # with less, a few badly tracked frames leave room for a knee turned backwards
READING_FRACTION = 0.6  # of the progress reported while fitting from motions


class LimbRange:
    """The range of an arm or a leg. Made by `fit`, `from_examples`, `load` or `builtin`; immutable.

    Positions are in the limb's frame (`limb.model`) in metres, swivels are those of `Limb.solve`; leading axes
    broadcast. A query takes the same time however many samples there are.
    """

    def __init__(
        self,
        name: str,
        table: Table,
        *,
        upper: float,
        lower: float,
        settings: dict[str, Any],
        report: RangeReport,
        coefficients: Floats | None = None,
    ) -> None:
        if name not in LIMBS:
            raise UnknownNameError("limb", name, LIMBS)
        self.name, self.upper, self.lower = name, float(upper), float(lower)
        self.table, self.coefficients, self.settings = table, coefficients, settings
        """The table is that of the right limb; `settings`: radius [rad], min_count, trim, fill_holes, reference."""
        self.valid: Bools = find_region(table.reached, settings["fill_holes"])
        """(T,): which triangles of `sphere_mesh` belong to the range."""
        area = float(self.mesh_areas[self.valid].sum() / (4.0 * math.pi))
        self.report = replace(
            report, samples=len(table), reached=int(table.reached.sum()), filled=int(table.filled.sum()), area=area
        )

    def __repr__(self) -> str:
        report = self.report
        return f"LimbRange({self.name!r}, {report.examples} examples, {100 * report.area:.0f} % of the sphere)"

    # Making one

    @classmethod
    def fit(
        cls,
        body: Any,
        limb: str,
        motions: Motion | Iterable[Motion],
        *,
        samples: int = 1000,
        radius: float = RADIUS,
        min_count: int = 5,
        trim: float = TRIM,
        fill_holes: bool = True,
        kind: str = "table",
        degree: int = 4,
        max_poses: int | None = None,
        seed: int = 0,
        progress: Progress | None = None,
    ) -> LimbRange:
        """Learn a range from motions.

        Args:
            body: the `Humanoid` whose limb the range is for.
            limb: "right_arm", "left_arm", "right_leg" or "left_leg".
            motions: of this body, or of any others whose parts can be found.
            samples: number of directions of the table; default 1000.
            radius: how far from a direction an example counts for it [rad]; default 10 degrees.
            min_count: number of examples a direction needs; default 5.
            trim: fraction of the examples left out at each end of distances and swivels, default 0.005; 0 keeps the
                worst frame.
            fill_holes: whether directions that lie inside the range without examples belong to it; default True.
            kind: "table" (default), or "harmonics" for the compact form, which is looser.
            degree: largest degree of the harmonics, a number from 0; default 4.
            max_poses: largest number of poses drawn at random of each motion, so that long ones do not dominate; by
                default all.
            seed: number that fixes that random draw; default 0.
            progress: called now and then with the fraction done, 0 to 1; default none.
        """
        own = body.limb(limb, limits=None)
        report = (lambda _: None) if progress is None else progress
        rows, sources = read_motions(body, limb, motions, max_poses, seed, lambda done: report(READING_FRACTION * done))
        return cls._learned(
            limb, rows, sources, own.upper, own.lower, samples=samples, radius=radius, min_count=min_count, trim=trim,
            fill_holes=fill_holes, kind=kind, degree=degree,
            progress=lambda done: report(READING_FRACTION + (1.0 - READING_FRACTION) * done),
        )  # fmt: skip

    @classmethod
    def from_examples(
        cls,
        name: str,
        position: ArrayLike,
        swivel: ArrayLike,
        upper: ArrayLike,
        lower: ArrayLike,
        *,
        samples: int = 1000,
        radius: float = RADIUS,
        min_count: int = 5,
        trim: float = TRIM,
        fill_holes: bool = True,
        kind: str = "table",
        degree: int = 4,
        source: ArrayLike = "examples",
        origin: Mapping[str, str] | None = None,
        progress: Progress | None = None,
    ) -> LimbRange:
        """Learn a range from poses of a limb that were read already.

        Args:
            name: which limb.
            position: (N, 3) [m] of its end, in its frame.
            swivel: (N,) [rad].
            upper: length of the upper bone [m], or (N,) of each pose; the range is for a limb of their mean.
            lower: length of the lower bone, likewise.
            samples: as of `fit`, like the next six.
            radius: [rad].
            min_count: examples.
            trim: fraction.
            fill_holes: bool.
            kind: "table" or "harmonics".
            degree: largest degree of the harmonics, a number from 0; default 4.
            source: name of the source of the poses, or (N,) of each, for the report.
            origin: further notes for the report.
            progress: called with the fraction done.
        """
        rows = given_rows(name, position, swivel, upper, lower)
        try:
            names, of = np.unique(np.broadcast_to(np.asarray(source, dtype=np.str_), len(rows)), return_counts=True)
        except ValueError:
            raise ShapeError(f"sources must be one, or one for each of the {len(rows)} poses") from None
        means = rows[:, 4:].mean(axis=0) if len(rows) else np.ones(2)
        made = cls._learned(
            name, rows, list(zip(names.tolist(), of.tolist(), strict=True)),
            float(means[0]), float(means[1]), samples=samples, radius=radius, min_count=min_count, trim=trim,
            fill_holes=fill_holes, kind=kind, degree=degree, progress=progress,
        )  # fmt: skip
        made.report = replace(made.report, origin=dict(origin or {}))
        return made

    @classmethod
    def _learned(
        cls, name: str, rows: Floats, sources: list[tuple[str, int]], upper: float, lower: float, **how: Any
    ) -> LimbRange:
        """Learn from rows of position, swivel, upper and lower bone."""
        kind, degree = how.pop("kind"), how.pop("degree")
        if kind not in ("table", "harmonics"):
            raise UnknownNameError("kind of range", kind, ("table", "harmonics"))
        for what, length in (("upper", upper), ("lower", lower)):
            if not (np.isfinite(length) and 1e-6 < length < 1e6):
                raise PosableError(f"the {what} bone is {length} m long; expected between 1e-6 and 1e6")
        examples = Examples.of(rows[:, :3] * to_right(name), rows[:, 3], rows[:, 4], rows[:, 5])
        if not len(examples):
            raise PosableError(f"nothing to learn the range of the {name} from: {len(rows)} poses, none of them usable")
        table, _ = learn_table(examples, **how)
        report = RangeReport(len(examples), int(examples.bent.sum()), len(rows) - len(examples), tuple(sources))
        settings = {key: how[key] for key in ("radius", "min_count", "trim", "fill_holes")} | {"reference": "transport"}
        made = cls(name, table, upper=upper, lower=lower, settings=settings, report=report)
        return made.compact(degree) if kind == "harmonics" else made

    @classmethod
    def builtin(cls, name: str, limb: Limb | None = None) -> LimbRange:
        """Return the range that comes with Posable, learned from 78 people; for a limb's lengths when one is given.

        Made by `tools/fit_ranges.py`; `report` says from what.
        """
        if name not in LIMBS:
            raise UnknownNameError("limb", name, LIMBS)
        kind = name.split("_")[1]
        with resources.as_file(resources.files("posable") / "assets" / "ranges" / f"{kind}.npz") as path:
            found = cls.load(path)
        found = found if found.name == name else found.mirrored()
        return found if limb is None else found.for_limb(limb)

    # Queries

    def contains(self, position: ArrayLike, swivel: ArrayLike | None = None) -> Any:
        """Return whether people take such a pose: bool, or an array of them (...).

        Args:
            position: (..., 3) [m] of the end.
            swivel: (...) [rad]; without it only the position counts. A nearly straight limb may have any.
        """
        positions, swivels, shape = batch_of(position, 0.0 if swivel is None else swivel)
        out = empty((len(positions),), (positions, swivels), np.bool_)
        contains_rows(len(positions), self.packed, positions, swivels, swivel is not None, out)
        return unwrapped(out.reshape(shape)) if shape or isinstance(out, GpuArray) else bool(out[0])

    def margins(self, position: ArrayLike, swivel: ArrayLike) -> Margins:
        """Return how far inside or outside a pose is, by direction, distance and swivel."""
        positions, swivels, shape = batch_of(position, swivel)
        out = empty((len(positions), 3), (positions, swivels))
        margins_rows(len(positions), self.packed, positions, swivels, out)
        return Margins(*(unwrapped(out[:, k].reshape(shape)) for k in range(3)))

    def correct(
        self, position: ArrayLike, swivel: ArrayLike, *, margin: float = 0.0, smooth: bool = False
    ) -> Correction:
        """Return the nearest pose inside the range; one inside stays as it is, and so does one that is not finite.

        The direction goes to the nearest one of the boundary, then the distance and the swivel to the nearest of
        their ranges there. So a target that circles behind the body makes the limb jump from one side to the other.

        Args:
            position: (..., 3) [m] of the end.
            swivel: (...) [rad].
            margin: how far inside to stay: directions and swivels [rad], distances by that much of the limb's length;
                where the range is too narrow for it, as far as possible.
            smooth: never jump: the result then changes continuously with the target, at the price that targets far
                outside lead well into the range instead of to its edge, and that nearly straight limbs keep to the
                swivels of bent ones.
        """
        if not (math.isfinite(margin) and margin >= 0.0):
            raise PosableError(f"margin is {margin}; expected 0 or more, in radians")
        if smooth and not self.can_be_smooth:
            raise PosableError("this range has holes or islands and no smooth correction; fit it with fill_holes=True")
        given = batch_of(position, swivel)
        n, shape = len(given[0]), given[2]
        like = given[:2]
        positions, swivels, bits = empty((n, 3), like), empty((n,), like), empty((n,), like, np.int64)
        correct_rows(n, self.packed, *given[:2], float(margin), bool(smooth), positions, swivels, bits)
        found = positions.reshape(*shape, 3), swivels.reshape(shape), (bits != 0).reshape(shape), bits.reshape(shape)
        return Correction(*map(unwrapped, found))

    def spans(self, direction: ArrayLike) -> Spans:
        """Return the distances and swivels of the range in directions (..., 3) of any length."""
        rows, _, shape = batch_of(direction, 0.0)
        on_gpu = isinstance(rows, GpuArray)  # nobody waits there to look at the numbers: NaN then
        if not on_gpu and not (np.isfinite(rows).all() and (np.abs(rows).max(axis=-1, initial=0.0) > 0.0).all()):
            raise PosableError("a direction is zero or not finite; expected vectors with a direction")
        out = empty((len(rows), 5), rows)
        spans_rows(len(rows), self.packed, rows, out)
        lengths = (1.0, self.upper + self.lower, self.upper + self.lower, 1.0, 1.0)
        return Spans(*(unwrapped((out[:, k] * lengths[k]).reshape(shape)) for k in range(5)))

    def is_bent(self, position: ArrayLike) -> Any:
        """Return whether the limb is bent enough at positions (..., 3) [m] for its swivel to count: bool (...)."""
        positions, _, shape = batch_of(position, 0.0)
        n = len(positions)
        examples = Examples.of(positions, np.zeros(n), *np.full((2, n), [[self.upper], [self.lower]]))
        out = np.zeros(n, np.bool_)
        out[np.flatnonzero(examples.used)] = examples.bent
        return out.reshape(shape) if shape else bool(out[0])

    # Other limbs

    def for_limb(self, limb: Limb) -> LimbRange:
        """Return the same range for a limb of other proportions."""
        if limb.name != self.name:
            raise PosableError(f"this is the range of a {self.name}; the limb is a {limb.name}; mirrored() swaps sides")
        if limb.reference != self.settings["reference"]:
            raise PosableError(
                f"swivels of this range are counted from the {self.settings['reference']!r} reference, "
                f"those of the limb from {limb.reference!r}"
            )
        return self.scaled(limb.upper, limb.lower)

    def scaled(self, upper: float, lower: float) -> LimbRange:
        """Return the same range for other bones [m]."""
        return self._copied(self.name, upper, lower)

    def mirrored(self) -> LimbRange:
        """Return the range of the limb on the other side: the mirror image."""
        side, kind = self.name.split("_")
        return self._copied(f"{'left' if side == 'right' else 'right'}_{kind}", self.upper, self.lower)

    def compact(self, degree: int = 4) -> LimbRange:
        """Return the range as spherical harmonics, some hundred bytes: looser, with nearly all poses still inside."""
        from .fit import expand, fit_harmonics

        mesh = sphere_mesh(len(self.table))
        margins = self.spans(mesh.points * to_right(self.name)).margin
        coefficients = fit_harmonics(self.table, margins, degree)
        table = expand(coefficients, len(self.table), self.settings["fill_holes"])
        return self._copied(self.name, self.upper, self.lower, table, coefficients)

    def _copied(
        self, name: str, upper: float, lower: float, table: Table | None = None, coefficients: Floats | None = None
    ) -> LimbRange:
        made = LimbRange(
            name,
            table or self.table,
            upper=upper,
            lower=lower,
            settings=self.settings,
            report=self.report,
            coefficients=self.coefficients if table is None else coefficients,
        )
        if table is None:  # only the header differs
            head = self.packed[0].copy()
            set_limb(head, name, made.upper, made.lower)
            made.__dict__["packed"] = (head, *self.packed[1:])
        return made

    # Arrays for kernels and pictures

    @cached_property
    def packed(self) -> Packed:
        """The five arrays that `kernels.correct_one` and the other kernels take."""
        return pack(self.table, self.valid, self.name, self.upper, self.lower)

    @property
    def can_be_smooth(self) -> bool:
        """Whether `correct` can be smooth: the boundary is one loop, or there is none."""
        head, _, _, edges, _ = self.packed
        return bool(head["flat_grid"][0] > 0) or not len(edges)

    @property
    def mesh_areas(self) -> Floats:
        """(T,) [sr] of the triangles."""
        return sphere_mesh(len(self.table)).areas

    @property
    def directions(self) -> Floats:
        """(V, 3): the sampled directions, in the limb's frame."""
        return sphere_mesh(len(self.table)).points * to_right(self.name)

    def boundary(self) -> list[Floats]:
        """Return the boundary as closed loops of directions (N, 3) in the limb's frame, the longest first."""
        points = self.directions
        return [points[loop] for loop in boundary_loops(self.valid, len(self.table))]

    # Files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the range, quantised, to a file of less than 8 kB (at 1000 samples); it loads on any machine."""
        from .file import header_of, write

        header = header_of(self.name, self.upper, self.lower, self.settings, self.report, self.coefficients is not None)
        write(path, header, self.table, self.coefficients)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> LimbRange:
        """Read a range that `save` wrote."""
        from .file import read, report_of
        from .fit import expand

        header, table, coefficients = read(path)
        settings = {key: getattr(header, key) for key in ("radius", "min_count", "trim", "fill_holes", "reference")}
        try:
            if coefficients is not None:
                table = expand(coefficients, header.samples, header.fill_holes)
            return cls(
                header.limb,
                cast("Table", table),
                upper=header.upper,
                lower=header.lower,
                settings=settings,
                report=report_of(header),
                coefficients=coefficients,
            )
        except PosableError as error:  # a table without a region
            raise FormatError(path, str(error)) from error


@dataclass(frozen=True)
class RangeReport:
    """The examples that a range was learned from, and how much of the sphere it covers."""

    examples: int = 0
    """Poses used."""
    bent: int = 0
    """Poses of them with a swivel; a straight limb has none."""
    dropped: int = 0
    """Poses left out: numbers that are not finite, or the end at the base joint."""
    sources: tuple[tuple[str, int], ...] = ()
    """Name and number of poses of each source."""
    samples: int = 0
    """Directions of the table."""
    reached: int = 0
    """Directions that people reach."""
    filled: int = 0
    """Directions of them that lie in a hole and have values from around it."""
    area: float = 0.0
    """Fraction of the sphere that is reached."""
    origin: dict[str, str] = field(default_factory=dict)
    """Further notes: the data's hash, the script, the seed."""


@dataclass(frozen=True, eq=False)
class Correction:
    """A limb's pose brought into the range."""

    position: Floats
    """(..., 3) [m]."""
    swivel: Floats
    """(...) [rad]."""
    changed: Bools
    """(...): whether anything had to change; where not, both are as they were, bit for bit."""
    bits: Ints

    @property
    def causes(self) -> dict[str, Bools]:
        """(...) each: whether the "direction", the "distance", the "swivel" changed."""
        names = (("direction", DIRECTION), ("distance", DISTANCE), ("swivel", SWIVEL))
        return {name: np.asarray(self.bits & bit != 0) for name, bit in names}


@dataclass(frozen=True, eq=False)
class Margins:
    """How far inside a range a pose is; negative: how far outside."""

    direction: Floats
    """(...) [rad]: to the boundary of the directions; pi where every direction is reached."""
    distance: Floats
    """(...) [m]: to the nearer end of the distances."""
    swivel: Floats
    """(...) [rad]: to the nearer end of the swivels; pi for a straight limb, and where any swivel is right."""


@dataclass(frozen=True, eq=False)
class Spans:
    """The distances and swivels of a range in some directions; outside it, those of its nearest direction."""

    margin: Floats
    """(...) [rad]: how far inside, negative outside."""
    low: Floats
    """(...) [m]: smallest distance."""
    high: Floats
    """(...) [m]: largest distance."""
    mid: Floats
    """(...) [rad]: the middle of the swivels."""
    half: Floats
    """(...) [rad]: half their width; pi where any is right."""
