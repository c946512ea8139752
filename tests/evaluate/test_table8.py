"""Samples of ERIK's Table 8: pairs of the evaluation's own grids, drawn by number, in slices of any size."""

import numpy as np
import pytest

from benchmarks import bench_table8 as table8
from posable.evaluate.express import ANGLES, VALUES, evaluate_express, swept


def splitmix(number: int) -> int:
    """The hash as its authors write it, with whole numbers of Python."""
    mask = (1 << 64) - 1
    z = ((number + 1) * 0x9E3779B97F4A7C15) & mask
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
    return z ^ (z >> 31)


def test_numbers_are_hashed_as_splitmix64_does():
    numbers = np.array([0, 1, 2, 12345, 302_374_051, 2**40])
    found = table8.mixed(numbers).astype(np.uint64)
    assert found.tolist() == [splitmix(int(one)) for one in numbers]


@pytest.mark.parametrize("name", ["A", "C", "F"])
def test_every_pair_is_one_of_the_sweep(name):
    postures, targets = table8.grids(name)
    which, aim = table8.pairs(np.arange(50), len(postures), len(targets))
    for p, q in zip(which.tolist(), aim.tolist(), strict=True):
        at = p * ANGLES**3 + q
        _, posture, target = swept(name, VALUES[name], ANGLES, at, at + 1)
        np.testing.assert_allclose(posture[0], postures[p], atol=1e-15)
        np.testing.assert_allclose(target[0], targets[q], atol=1e-15)


def test_pairs_are_drawn_evenly_and_each_by_itself():
    which, aim = table8.pairs(np.arange(200_000), 10, 7)
    counts = np.zeros((10, 7))
    np.add.at(counts, (which, aim), 1)
    expected = 200_000 / 70
    assert (np.abs(counts - expected) < 5.0 * np.sqrt(expected)).all()
    alone = table8.pairs(np.arange(777, 780), 10, 7)
    assert [one.tolist() for one in alone] == [which[777:780].tolist(), aim[777:780].tolist()]


def test_slices_add_up_to_the_whole_and_to_what_the_evaluation_finds(monkeypatch):
    whole = table8.solved("C", "erik", 3000, False)
    monkeypatch.setitem(table8.SLICE, "cpu", 700)
    parts = table8.solved("C", "erik", 3000, False)
    for name in ("count", "reached", "histogram", "iterations", "worst"):
        assert parts[name] == whole[name], name
    np.testing.assert_allclose(parts["sums"], whole["sums"], rtol=1e-12)
    (row,) = evaluate_express("C", ("erik",), 3000)
    for mean, other, deviation in zip(np.array(whole["sums"]) / 3000, row.mean, row.deviation, strict=True):
        assert abs(mean - other) < 4.0 * deviation / np.sqrt(1500.0)
    assert sum(whole["histogram"][0]) == 3000
