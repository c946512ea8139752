"""ERIK's Table 8 with all of its 302 million samples, and the histograms of its Figure 12 (Ribeiro 2019, section 4).

As many samples of each skeleton as the paper's table counts, drawn at random as pairs of the evaluation's two grids
(`posable.evaluate.express`): sample i has the numbers that a hash makes of i, so any part of them can be drawn by
itself, on a GPU too. Work goes in slices, of which sums, extremes and histograms stay. With a GPU and PyTorch all
samples are drawn there; on a CPU one in ten thousand:

    python -m benchmarks table8
    python -m benchmarks.bench_table8 --share 0.001 --method best    # a part; `--draw`: the picture alone

Times are whole calls of `ERIK.solve`, without drawing the samples.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import time
from typing import Any

import numpy as np

import posable as ps
from posable.compute import cuda
from posable.evaluate.express import ANGLES, BINS, PAPER_ITERATIONS, SKELETONS, VALUES, composed
from posable.evaluate.plots import COLUMNS, THRESHOLD

from .harness import RESULTS, ROOT, Sheet, save

PAPER = {"A": 251_097, "B": 2_868_593, **dict.fromkeys("CDE", 28_830_501), "F": 63_192_745, "G": 149_570_113}
"""Samples of Table 8, which its text counts as 239 million."""
SLICE = {"cpu": 1 << 14, "gpu": 1 << 21}
CPU_SHARE = 1e-4
RECORD, PICTURE = RESULTS / "table8_histograms.json", ROOT / "docs" / "_static" / "express-figure-12.png"
MIXERS = ((30, -0x40A7B892E31B1A47), (27, -0x6B2FB644ECCEEE15))  # of splitmix64, as signed numbers
WEYL = -0x61C8864680B583EB


def run() -> list[Sheet]:
    """All samples by the paper's algorithm where there is a GPU, else a small part of them."""
    has_gpu = cuda.available() and importlib.util.find_spec("torch") is not None
    known = measure("erik", 1.0 if has_gpu else CPU_SHARE, has_gpu)
    draw(known)
    return sheets(known)


def measure(method: str, share: float, on_gpu: bool) -> dict[str, Any]:
    """Solve a share of every skeleton's samples; return all that is recorded, this among it."""
    RECORD.parent.mkdir(exist_ok=True)
    known = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    found = known[method] = {}
    for name in SKELETONS:
        found[name] = solved(name, method, max(1, round(share * PAPER[name])), on_gpu)
        RECORD.write_text(json.dumps(known, indent=None) + "\n", encoding="utf-8")
        print(f"{method} {name}: {found[name]['count']:,} samples, {found[name]['seconds']:.1f} s", flush=True)
    return known


def solved(name: str, method: str, total: int, on_gpu: bool) -> dict[str, Any]:
    """Return what the first `total` samples of a skeleton come to."""
    xp: Any = importlib.import_module("torch") if on_gpu else np
    chain = SKELETONS[name]
    erik, tables = ps.ERIK(chain, method), [_placed(one, xp) for one in grids(name)]
    size, seconds = SLICE["gpu" if on_gpu else "cpu"], 0.0
    sums = squares = worst = histogram = iterations = reached = 0
    began = None
    for first in range(0, total, size):
        number = _numbers(first, min(first + size, total), xp)
        posture, target = (table[at] for table, at in zip(tables, pairs(number, *map(len, tables)), strict=True))
        _wait(xp)
        if began is None:  # what is loaded and compiled is not counted
            erik.solve(posture[:1000], target[:1000])
            _wait(xp)
        began = time.perf_counter()
        answer = erik.solve(posture, target)
        _wait(xp)
        seconds += time.perf_counter() - began
        errors = [answer.error, answer.orientation_score, 0.2 * answer.posture_error]
        sums = sums + np.array([float(one.sum()) for one in errors])
        squares = squares + np.array([float((one * one).sum()) for one in errors])
        worst = np.maximum(worst, [float(one.max()) for one in errors])
        histogram = histogram + np.stack([_counts(one, xp) for one in errors])
        taken = answer.iterations
        iterations = iterations + np.array([float(f(taken)) for f in (lambda v: v.sum(), lambda v: (v * v).sum())])
        reached += int((errors[0] <= THRESHOLD).sum())
    return {
        **{"count": total, "of": PAPER[name], "seconds": seconds, "on_gpu": on_gpu, "reached": reached},
        **{"sums": sums.tolist(), "squares": squares.tolist(), "worst": worst.tolist()},
        **{"iterations": iterations.tolist(), "histogram": histogram.astype(int).tolist()},
        "device": xp.cuda.get_device_name() if on_gpu else "CPU",
    }


def grids(name: str) -> tuple[Any, Any]:
    """Return all postures (P, N) and all targets (Q, 4) of the evaluation of a skeleton."""
    chain = SKELETONS[name]
    grid, angles = np.linspace(chain.lower[0], chain.upper[0], VALUES[name]), np.linspace(-np.pi, np.pi, ANGLES)
    inner = np.stack(np.meshgrid(*[grid] * (len(chain) - 2), indexing="ij"), -1).reshape(-1, len(chain) - 2)
    postures = np.zeros((len(inner), len(chain)))
    postures[:, 1:-1] = inner
    turns = np.stack(np.meshgrid(angles, angles, angles, indexing="ij"), -1).reshape(-1, 3)
    return postures, composed(turns)


def pairs(number: Any, postures: int, targets: int) -> tuple[Any, Any]:
    """Return which posture and which target each sample has: two hashes of its number, of 64 bits each."""
    return _shifted(mixed(2 * number), 11) % postures, _shifted(mixed(2 * number + 1), 11) % targets


def mixed(number: Any) -> Any:
    """Return splitmix64's hash of whole numbers (n,) as signed ones of 64 bits."""
    with np.errstate(over="ignore"):
        z = (number + 1) * WEYL
        for shift, factor in MIXERS:
            z = (z ^ _shifted(z, shift)) * factor
        return z ^ _shifted(z, 31)


def _shifted(number: Any, bits: int) -> Any:
    """Return numbers shifted to the right, zeros coming in."""
    return (number >> bits) & ((1 << (64 - bits)) - 1)


def _numbers(first: int, end: int, xp: Any) -> Any:
    return np.arange(first, end) if xp is np else xp.arange(first, end, device="cuda")


def _placed(array: Any, xp: Any) -> Any:
    return array if xp is np else xp.tensor(array, device="cuda")


def _counts(values: Any, xp: Any) -> Any:
    if xp is np:
        return np.histogram(values, BINS)[0]
    return xp.histc(values, len(BINS) - 1, float(BINS[0]), float(BINS[-1])).cpu().numpy()


def _wait(xp: Any) -> None:
    if xp is not np:
        xp.cuda.synchronize()


def sheets(known: dict[str, Any]) -> list[Sheet]:
    """Return the tables of what was recorded."""
    return [Sheet(f"Table 8 by {method}", [_row(*pair) for pair in found.items()]) for method, found in known.items()]


def _row(name: str, one: dict[str, Any]) -> dict[str, str]:
    n = one["count"]
    mean = [value / n for value in one["sums"]]
    deviation = [max(0.0, square / n - m * m) ** 0.5 for square, m in zip(one["squares"], mean, strict=True)]
    rounds = one["iterations"][0] / n
    spread = max(0.0, one["iterations"][1] / n - rounds**2) ** 0.5
    return {
        "skeleton": f"{name} ({len(SKELETONS[name])} joints)",
        "samples": f"{n:,}",
        "of the paper's": f"{n / one['of']:.3g}",
        "error (SD)": f"{mean[0]:.4f} ({deviation[0]:.4f})",
        "orientation (SD)": f"{mean[1]:.4f} ({deviation[1]:.4f})",
        "posture (SD)": f"{mean[2]:.4f} ({deviation[2]:.4f})",
        "largest": f"{one['worst'][0]:.3f}",
        "within 0.04": f"{100 * one['reached'] / n:.2f} %",
        "iterations (SD)": f"{rounds:.2f} ({spread:.2f})",
        "the paper's": f"{PAPER_ITERATIONS[name]}",
        "seconds": f"{one['seconds']:.1f}",
        "million a second": f"{1e-6 * n / one['seconds']:.3g}",
        "on": one["device"],
    }


def draw(known: dict[str, Any], method: str = "erik", most: float = 0.2) -> None:
    """Draw Figure 12: a line of three histograms a skeleton, with the threshold and the largest error."""
    figures = importlib.import_module("matplotlib.figure")
    found = known[method]
    sheet = figures.Figure(figsize=(9.5, 1.25 * len(found)), layout="constrained")
    axes = sheet.subplots(len(found), 3, squeeze=False)
    for row, (line, (name, one)) in enumerate(zip(axes, found.items(), strict=True)):
        end = 1.2 if name == "A" else most
        for c, axis in enumerate(line):
            axis.stairs(np.array(one["histogram"][c]) / one["count"], BINS, fill=True, color=f"C{c}")
            axis.axvline(THRESHOLD, color="0.3", linestyle="--", linewidth=0.8)
            axis.axvline(min(one["worst"][c], end), color="0.3", linewidth=0.8)
            axis.set_xlim(0.0, end)
            axis.set_xticks(np.linspace(0.0, end, 5))
            axis.set_ylim(bottom=0.0)
            axis.tick_params(labelsize=7)
            axis.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.3g} %")
            if row == 0:
                axis.set_title(COLUMNS[c], fontsize=9)
        line[0].set_ylabel(f"{name}, {one['count'] / 1e6:.3g} M", fontsize=8)
    sheet.savefig(PICTURE, dpi=110)


def main() -> None:
    """Measure with one method a share of the samples, or draw what was recorded."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--method", default="erik", choices=("erik", "best", "simple"), help="default: erik")
    parser.add_argument("--share", type=float, default=CPU_SHARE, help="of the samples; default: one in 10 000")
    parser.add_argument("--cpu", action="store_true", help="on the CPU, where there is a GPU too")
    parser.add_argument("--draw", action="store_true", help="only the table and the picture, of what was recorded")
    given = parser.parse_args()
    known = json.loads(RECORD.read_text(encoding="utf-8")) if given.draw else None
    if known is None:
        known = measure(given.method, given.share, cuda.available() and not given.cpu)
    draw(known)
    save("table8", sheets(known))


if __name__ == "__main__":
    main()
