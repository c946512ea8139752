"""What `posable evaluate` has its worker processes do."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

PLOTS = ("position_frames", "orientation_frames")


def judge_clip(
    path: Path, methods: Sequence[str], weights: str | Sequence[float] = "paper", plots: str | None = None
) -> dict[str, Any]:
    """What `evaluate_clip` says of a clip; in a folder for plots, its errors over time and its frames."""
    from ..evaluate.reconstruct import evaluate_clip

    facts = evaluate_clip(path, methods, weights=weights, per_frame=plots is not None)
    if plots is not None:
        from ..evaluate.reconstruct_plots import picture_frames, plot_errors

        plot_errors(facts, Path(plots) / f"{facts['clip']}_errors.png")
        picture_frames(path, methods, Path(plots) / f"{facts['clip']}_frames.png", weights=weights)
        for measured in facts["methods"].values():
            for name in PLOTS:
                del measured[name]
    return facts
