"""What the reconstruct tab says about a reconstructed body, as lines of the panel."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....body import MARKERS
from ....compute import Status
from ....compute.types import Floats
from ...view.theme import plain
from ...widgets.status_text import COLOURS, coloured, status_text
from .job import Reconstructed


def now_facts(status: Status, residual: Floats, error: float, height: float) -> str:
    """Of this moment: the status, which point is missed most, and how far the joints are from the original's.

    Args:
        status: of the frame.
        residual: (6,) [m]; not finite for lost points.
        error: mean distance of the joints from the original's [m].
        height: of the body [m].
    """
    told = status_text(status, "a point is lost" if status == Status.INVALID else None)
    known = np.where(np.isfinite(residual), residual, 0.0)
    worst = int(np.argmax(known))
    if known[worst] >= 5e-5:
        told += f", the {MARKERS[worst].replace('_', ' ')} {1000.0 * known[worst]:.1f} mm"
    return f"{told}  \nnow **{100.0 * error / height:.2f} %** of the height from the original ({1000.0 * error:.0f} mm)"


def whole_facts(reconstructed: Reconstructed) -> str:
    """Of the whole motion: the paper's number, the worst moment, and what it took."""
    worst = int(np.argmax(reconstructed.errors))
    each = 1e6 * reconstructed.seconds / max(len(reconstructed.errors), 1)
    took = f"{each:.0f} µs" if each < 1000.0 else f"{each / 1000.0:.1f} ms"
    met = float(np.mean(reconstructed.status == Status.REACHED))
    return (
        f"whole motion **{100.0 * reconstructed.overall:.2f} %** (RMS), "
        f"at worst {100.0 * reconstructed.errors[worst]:.1f} % at "
        f"{worst / reconstructed.motion.fps:.2f} s  \npoints met in {100.0 * met:.0f} % of frames · {took} a frame"
    )


def touching_facts(pairs: Sequence[tuple[str, str]]) -> str:
    """Which volumes of the body sink into each other."""
    if not pairs:
        return "no volumes touch"
    named = ", ".join(f"{plain(a.replace('_', ' '))} and {plain(b.replace('_', ' '))}" for a, b in pairs[:4])
    more = f" and {len(pairs) - 4} more" if len(pairs) > 4 else ""
    return coloured(COLOURS[Status.COLLISION], f"touching: {named}{more}")
