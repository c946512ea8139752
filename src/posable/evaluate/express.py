"""How well methods hold a posture while aiming: the evaluation of Ribeiro 2019, section 4 (Tables 8 and 9).

Postures sweep the range of every joint but a twister at either end, orientations three angles over a full circle
(Figs. 7 to 9). A sample is a random pair of the two grids; sample i is drawn from `default_rng([seed, i])`, so that
blocks may be computed by anybody and put together in order. `evaluate_block` is one block as plain numbers and arrays,
for `posable.jobs.run`; `evaluate_express` does all.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import math as pm
from ..compute import PosableError, UnknownNameError
from ..compute.types import Bools, Floats, Ints
from ..express import ERIK, SKELETONS, Chain

VALUES = {"A": 33, "B": 19, "C": 15, "D": 15, "E": 15, "F": 9, "G": 5}
"""Values a joint of the posture grids."""
ANGLES = 19
"""Values of each of a target's angles."""
METHODS = ("best", "erik", "simple", "ccd", "dls100", "dls200", "dls400")
ORDERS = ("YXY", "YXZ")
BINS = np.linspace(0.0, 1.2, 241)
"""Edges of the histograms (Figs. 10 to 13)."""
HOPELESS = 0.12
"""Orientation error, three times the threshold: samples that DLS without a posture leaves above it are passed over."""
PAPER_ITERATIONS = {"A": 4.14, "B": 3.42, "C": 2.31, "D": 2.02, "E": 1.93, "F": 1.61, "G": 1.35}
PAPER_C = {
    "erik": (0.026614, 0.005819, 0.020795),
    "dls100": (0.087067, 0.052744, 0.034323),
    "dls200": (0.086973, 0.052652, 0.034321),
    "dls400": (0.086831, 0.052523, 0.034308),
}
"""Table 9: combined, orientation, weighted posture."""
MOST_PAIRS = 1_000_000_000
"""Of one skeleton, by one method: a week of one core."""
STEP = 0.5
"""The longest step of one of the two tasks of DLS [rad]."""
Y, Z = np.array([0.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0])


def drawn(skeleton: str, seed: int, first: int, end: int, order: str = "YXY") -> tuple[Chain, Floats, Floats]:
    """(chain, postures (n, N), orientations (n, 4)) of samples first to end - 1 of a seed."""
    chain = _known(skeleton)
    if order not in ORDERS:
        raise UnknownNameError("order of a target's angles", order, ORDERS)
    grid = np.linspace(chain.lower[0], chain.upper[0], VALUES[skeleton])
    grid_angles = np.linspace(-math.pi, math.pi, ANGLES)
    postures, angles = np.zeros((end - first, len(chain))), np.empty((end - first, 3))
    for row, i in enumerate(range(first, end)):
        rng = np.random.default_rng([seed, i])
        postures[row, 1:-1] = grid[rng.integers(0, len(grid), len(chain) - 2)]
        angles[row] = grid_angles[rng.integers(0, ANGLES, 3)]
    return chain, postures, composed(angles, order)


def swept(
    skeleton: str, values: int, angles: int, first: int, end: int, order: str = "YXY"
) -> tuple[Chain, Floats, Floats]:
    """The same of the whole sweep at a resolution: pairs first to end - 1, orientations fastest."""
    chain = _known(skeleton)
    total = sweep_size(skeleton, values, angles)
    if not 0 <= first <= end <= total:
        raise PosableError(f"pairs {first} to {end}; the sweep has {total}")
    grid, grid_angles = np.linspace(chain.lower[0], chain.upper[0], values), np.linspace(-math.pi, math.pi, angles)
    at = np.arange(first, end)
    which = np.unravel_index(at % angles**3, (angles,) * 3)
    postures = np.zeros((len(at), len(chain)))
    inner = np.unravel_index(at // angles**3, (values,) * (len(chain) - 2))
    postures[:, 1:-1] = grid[np.stack(inner, axis=-1)]
    return chain, postures, composed(grid_angles[np.stack(which, axis=-1)], order)


def sweep_size(skeleton: str, values: int, angles: int) -> int:
    """How many pairs of postures and orientations a sweep has."""
    return int(values ** (len(_known(skeleton)) - 2) * angles**3)


def composed(angles: Floats, order: str = "YXY") -> Floats:
    """(n, 4): yaw about the vertical, pitch, and roll about the pointing axis (YXY) or about Z (YXZ)."""
    axes = np.eye(3)
    composed_rotation: Any = None
    for k, letter in enumerate(order):
        rotation = pm.axis_angle(axes["XYZ".index(letter)], angles[:, k])
        composed_rotation = rotation if composed_rotation is None else pm.multiply(composed_rotation, rotation)
    return np.asarray(composed_rotation)


def evaluate_block(item: Mapping[str, Any], *, seed: int = 0, order: str = "YXY") -> dict[str, Any]:
    """One block of samples by one method.

    Args:
        item: "skeleton", "method", "first" and "end": samples first to end - 1; with "values" and "angles" they are
            pairs of the whole sweep at that resolution instead of drawn ones.
        seed: of the samples.
        order: how a target's three angles are composed.

    Returns:
        "count", "drawn" (before DLS's hopeless samples are left out), "sums" and "squares" (3,) of the error, the
        orientation error and the weighted posture error, "worst" (3,), "histogram" (3, B), "iterations" (their sum),
        "reached", and "seconds", which alone differs from run to run.
    """
    name, method = str(item["skeleton"]), str(item["method"])
    if method not in METHODS:
        raise UnknownNameError("method", method, METHODS)
    if "values" in item:
        chain, postures, targets = swept(name, item["values"], item["angles"], item["first"], item["end"], order)
    else:
        chain, postures, targets = drawn(name, seed, item["first"], item["end"], order)
    _solved(chain, method, postures[:1], targets[:1])  # what is compiled is not counted
    began = time.perf_counter()
    errors, taken = _solved(chain, method, postures, targets)
    seconds = time.perf_counter() - began
    counted = np.ones(len(postures), dtype=np.bool_)
    if method.startswith("dls"):
        angles, _ = dls(chain, postures, targets, 100, posture_task=False)
        counted = _scores(chain, angles, postures, targets)[:, 1] <= HOPELESS
    rows = errors[counted]
    return {
        "skeleton": name,
        "method": method,
        "drawn": len(postures),
        "count": len(rows),
        "sums": rows.sum(axis=0),
        "squares": (rows**2).sum(axis=0),
        "worst": rows.max(axis=0, initial=0.0),
        "histogram": np.stack([np.histogram(rows[:, c], BINS)[0] for c in range(3)]),
        "iterations": int(taken[counted].sum()),
        "reached": int((rows[:, 0] <= 0.04).sum()),
        "seconds": seconds,
    }


def _solved(chain: Chain, method: str, postures: Floats, targets: Floats) -> tuple[Floats, Any]:
    """(error, orientation, weighted posture) (n, 3) and iterations (n,)."""
    if method.startswith("dls"):
        angles, taken = dls(chain, postures, targets, int(method[3:]))
        return _scores(chain, angles, postures, targets), taken
    answer = ERIK(chain, method).solve(postures, targets)
    columns = (answer.error, answer.orientation_score, 0.2 * answer.posture_error)
    return np.stack(columns, axis=-1), np.asarray(answer.iterations)


def _scores(chain: Chain, angles: Floats, postures: Floats, targets: Floats) -> Floats:
    ends = chain.forward(angles).orientations[:, -1]
    error, off, shape = combined(chain, angles, ends, postures, targets, shape_weights(chain))
    return np.stack([error, off, 0.2 * shape], axis=-1)


def _known(skeleton: str) -> Chain:
    if skeleton not in SKELETONS:
        raise UnknownNameError("skeleton", skeleton, SKELETONS)
    return SKELETONS[skeleton]


@dataclass(frozen=True)
class ExpressRow:
    """One skeleton by one method."""

    skeleton: str
    method: str
    samples: int
    left_out: float
    """Fraction of samples that DLS cannot orient even without a posture."""
    mean: tuple[float, ...]
    """Error, orientation error, weighted posture error."""
    deviation: tuple[float, ...]
    worst: tuple[float, ...]
    iterations: float
    reached: float
    """Fraction within the threshold."""
    microseconds: float
    """A sample, the mean; without what is compiled."""
    histogram: Any


def gathered(blocks: Sequence[Mapping[str, Any]]) -> ExpressRow:
    """The blocks of one skeleton and method put together, in their order."""
    if not blocks:
        raise PosableError("no blocks to put together")
    count = sum(int(block["count"]) for block in blocks)
    total = sum(int(block["drawn"]) for block in blocks)
    sums = np.sum([block["sums"] for block in blocks], axis=0)
    squares = np.sum([block["squares"] for block in blocks], axis=0)
    worst = np.max([block["worst"] for block in blocks], axis=0)
    whole = max(count, 1)
    deviation = np.sqrt(np.maximum(0.0, squares / whole - (sums / whole) ** 2))
    return ExpressRow(
        blocks[0]["skeleton"],
        blocks[0]["method"],
        count,
        1.0 - count / max(total, 1),
        tuple((sums / whole).tolist()),
        tuple(deviation.tolist()),
        tuple(worst.tolist()),
        sum(block["iterations"] for block in blocks) / whole,
        sum(block["reached"] for block in blocks) / whole,
        1e6 * sum(block["seconds"] for block in blocks) / max(total, 1),
        np.sum([block["histogram"] for block in blocks], axis=0),
    )


def evaluate_express(
    skeletons: Sequence[str] = tuple(SKELETONS),
    methods: Sequence[str] = ("best", "erik"),
    samples: int = 8000,
    *,
    seed: int = 0,
    order: str = "YXY",
    block: int = 2000,
    **scale: Any,
) -> list[ExpressRow]:
    """All skeletons by all methods.

    Args:
        skeletons: of A to G.
        methods: of `METHODS`.
        samples: how many pairs of each.
        seed: of the samples.
        order: how a target's angles are composed.
        block: samples a task.
        **scale: for `posable.jobs.run`: `workers`, `store`, `engine`, `progress`. Without any, this process does it.
    """
    items = express_items(skeletons, methods, samples, block)
    if scale:
        from ..jobs import run

        report = run(evaluate_block, items, settings={"seed": seed, "order": order}, **scale)
        if not report.ok:
            raise PosableError(f"{len(report.failures)} blocks failed; the first: {report.failures[0].error}")
        done: list[Mapping[str, Any]] = list(report.results)
    else:
        done = [evaluate_block(item, seed=seed, order=order) for item in items]
    return express_rows(done)


def express_items(
    skeletons: Sequence[str],
    methods: Sequence[str],
    samples: int,
    block: int = 2000,
    sweep: tuple[int, int] | None = None,
) -> list[dict[str, Any]]:
    """The blocks of an evaluation: of so many samples each, or with `sweep` of all pairs at (values, angles)."""
    for method in methods:
        if method not in METHODS:
            raise UnknownNameError("method", method, METHODS)
    items: list[dict[str, Any]] = []
    for name in skeletons:
        _known(name)  # refused before any work
        total = samples if sweep is None else sweep_size(name, *sweep)
        if total > MOST_PAIRS:
            raise PosableError(f"{total} pairs of skeleton {name}; expected at most {MOST_PAIRS}")
        grid = {} if sweep is None else {"values": sweep[0], "angles": sweep[1]}
        for method in methods:
            items += [
                {"skeleton": name, "method": method, "first": first, "end": min(first + block, total), **grid}
                for first in range(0, total, block)
            ]
    return items


def express_rows(blocks: Sequence[Mapping[str, Any]]) -> list[ExpressRow]:
    """Blocks of any skeletons and methods put together."""
    pairs = dict.fromkeys((one["skeleton"], one["method"]) for one in blocks)
    return [gathered([one for one in blocks if (one["skeleton"], one["method"]) == pair]) for pair in pairs]


def row_facts(row: ExpressRow) -> dict[str, Any]:
    """A row as people read it, with the paper's own numbers where it has them."""
    published = f"{PAPER_ITERATIONS[row.skeleton]} iterations" if row.method == "erik" else ""
    if row.skeleton == "C" and row.method in PAPER_C:
        published = ", ".join(filter(None, (published, f"error {PAPER_C[row.method][0]:.4f}")))
    return {
        "skeleton": row.skeleton,
        "method": row.method,
        "samples": row.samples,
        "error (SD)": f"{row.mean[0]:.4f} ({row.deviation[0]:.4f})",
        "orientation": f"{row.mean[1]:.4f}",
        "posture": f"{row.mean[2]:.4f}",
        "within 0.04": f"{100 * row.reached:.1f} %",
        "iterations": f"{row.iterations:.2f}",
        "the paper's": published,
        "µs": f"{row.microseconds:.0f}",
    }


def express_table(rows: Sequence[ExpressRow]) -> str:
    """The rows as a table in Markdown."""
    facts = [row_facts(row) for row in rows]
    names = list(facts[0]) if facts else []
    lines = [f"| {' | '.join(names)} |", "|---" * len(names) + "|"]
    return "\n".join(lines + [f"| {' | '.join(str(value) for value in row.values())} |" for row in facts])


def evaluate_tracks(
    skeleton: str, method: str, tracks: int = 100, *, frames: int = 90, seed: int = 0, jump: float = math.radians(10.0)
) -> dict[str, float]:
    """Evaluate tracks of targets that rotate by a degree a frame about an axis of their own, each with one posture.

    Returns:
        "jumps": the fraction of frames in which a joint moves by more than `jump` [rad]; "error": its mean.
    """
    chain, postures, starts = drawn(skeleton, seed, 0, tracks)
    axes = np.stack([np.random.default_rng([seed, i, 1]).normal(size=3) for i in range(tracks)])
    axes /= np.linalg.norm(axes, axis=-1, keepdims=True)
    rotations = pm.axis_angle(axes[:, None], np.radians(np.arange(frames)))
    answer = ERIK(chain, method).track(postures[:, None], pm.multiply(rotations, starts[:, None]), fps=60.0)
    moved = np.abs(np.diff(answer.angles, axis=-2)) > jump
    return {"jumps": float(moved.any(axis=-1).mean()), "error": float(answer.error.mean())}


def dls(
    chain: Chain,
    postures: Floats,
    targets: Floats,
    iterations: int,
    *,
    posture_task: bool = True,
    threshold: float = 0.04,
    weights: Floats | None = None,
) -> tuple[Floats, Ints]:
    """Damped least squares with two priorities: what the paper compares ERIK with (Ribeiro 2019, 4.0.4).

    The first task is the tip's orientation, the second the posture, in the null space of the first, each with
    Maciejewski's damping (Eq. 15). Printed Eq. 25 subtracts the first step twice; here it is subtracted once
    (specification express, section 7). The paper's aid is included: targets are rolled by pi so that the tip need not
    twist to reach them. Decided here: a task's step is at most `STEP` long (its b_max, which the paper does not give),
    angles are clamped after every step, and the angles with the least error are returned.

    Returns:
        (angles (n, N), iterations (n,)) for postures (n, N) and orientations (n, 4), from the zero pose.
    """
    count, joints = postures.shape
    goals, joint_weights = rolled(targets), shape_weights(chain) if weights is None else weights
    shaping = np.ones(joints)
    for end in (0, joints - 1):
        if abs(chain.links[end].axis[1]) > 0.999:
            shaping[end] = 0.0  # a twister at an end does not change the shape
    angles = np.tile(chain.zero, (count, 1))
    best, least, taken = angles.copy(), np.full(count, np.inf), np.full(count, iterations)
    for step in range(iterations + 1):
        axes, ends = _axes(chain, angles)
        error = combined(chain, angles, ends, postures, targets, joint_weights)[0]
        better = error < least
        best[better], least[better] = angles[better], error[better]
        taken = np.where((least <= threshold) & (taken == iterations), step, taken)
        if step == iterations or (least <= threshold).all():
            break
        away = np.asarray(pm.log(pm.multiply(goals, pm.conjugate(ends))))
        first, null = _damped(axes, away)
        move = first
        if posture_task:
            rest = (postures - angles - first) * shaping
            second, _ = _damped(shaping[:, None] * null, rest)
            move = first + second
        going = (least > threshold)[:, None]
        angles = np.where(going, np.clip(angles + move, chain.lower, chain.upper), angles)
    return best, taken


def rolled(targets: Floats) -> Floats:
    """Return targets rolled by pi about where they point, so that what faces ahead has its z down, and back, up."""
    ahead = np.asarray(pm.rotate(targets, Y))[:, 2] >= 0.0
    up = np.asarray(pm.rotate(targets, Z))[:, 1] > 0.0
    flip: Bools = ahead == up
    return np.where(flip[:, None], pm.multiply(targets, (0.0, 0.0, 1.0, 0.0)), targets)


def shape_weights(chain: Chain, aggravation: float = 1.5) -> Floats:
    """Return (N,) weights of the joints in the posture error; 0 for twisters."""
    bends = np.array([abs(link.axis[1]) < 0.999 for link in chain.links])
    joint_weights = np.zeros(len(chain))
    joint_weights[bends] = aggravation ** np.arange(int(bends.sum()))
    return np.asarray(joint_weights / max(joint_weights.sum(), 1e-300))


def combined(
    chain: Chain, angles: Floats, ends: Floats, postures: Floats, targets: Floats, joint_weights: Floats
) -> tuple[Floats, Floats, Floats]:
    """(error, orientation error, posture error): specification express, section 2."""
    over = np.asarray(pm.multiply(ends, (0.0, 0.0, 1.0, 0.0)))
    apart = [np.linalg.norm(targets - sign * end, axis=-1) for end in (ends, over) for sign in (1.0, -1.0)]
    off = np.min(apart, axis=0) / np.sqrt(2.0)
    shape = np.abs(np.cos(angles) - np.cos(postures)) @ joint_weights / 2.0
    return off + 0.2 * shape, off, shape


def _axes(chain: Chain, angles: Floats) -> tuple[Floats, Floats]:
    """(the axes in the world (n, 3, N): the Jacobian of the orientation; orientations of the tip (n, 4))."""
    frame = np.tile([1.0, 0.0, 0.0, 0.0], (len(angles), 1))
    columns = []
    for k, link in enumerate(chain.links):
        columns.append(pm.rotate(frame, link.axis))
        frame = np.asarray(pm.multiply(frame, pm.axis_angle(link.axis, angles[:, k])))
    return np.stack(columns, axis=-1), frame


def _damped(jacobian: Floats, error: Floats) -> tuple[Floats, Floats]:
    """(the damped step for a task, the projector on the null space of its Jacobian)."""
    u, s, vt = np.linalg.svd(jacobian, full_matrices=False)
    d = np.linalg.norm(error, axis=-1) / STEP
    smallest = np.where(s > 1e-9, s, np.inf).min(axis=-1)
    damping = np.where(
        smallest <= d / 2, d / 2, np.where(smallest >= d, 0.0, np.sqrt(np.maximum(0.0, smallest * (d - smallest))))
    )
    factor = np.where(s > 1e-9, s / (s * s + damping[:, None] ** 2 + 1e-300), 0.0)
    step = np.einsum("nki,nk,nk->ni", vt, factor, np.einsum("nik,ni->nk", u, error))
    used = vt * (s > 1e-6)[:, :, None]
    null = np.eye(vt.shape[-1]) - np.einsum("nki,nkj->nij", used, used)
    return step, null
