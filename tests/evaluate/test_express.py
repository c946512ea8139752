"""The evaluation of expression while aiming: the same numbers whoever computes them, and what the paper found."""

import numpy as np
import pytest

from posable.compute import PosableError, UnknownNameError
from posable.evaluate.express import (
    composed,
    dls,
    drawn,
    evaluate_block,
    evaluate_express,
    express_table,
    gathered,
    rolled,
    sweep_size,
    swept,
)
from posable.express import ERIK, SKELETONS


def test_samples_are_the_same_in_any_blocks():
    _, postures, targets = drawn("F", 3, 0, 40)
    parts = [drawn("F", 3, first, first + 10) for first in range(0, 40, 10)]
    np.testing.assert_array_equal(postures, np.concatenate([part[1] for part in parts]))
    np.testing.assert_array_equal(targets, np.concatenate([part[2] for part in parts]))


def test_a_sweep_has_every_pair_once():
    total = sweep_size("B", 3, 4)
    _, postures, targets = swept("B", 3, 4, 0, total)
    found, times = np.unique(postures, axis=0, return_counts=True)
    assert total == len(postures) == 9 * 64 and len(found) == 9 and (times == 64).all()
    grid = np.linspace(-np.pi, np.pi, 4)
    angles = np.stack(np.meshgrid(grid, grid, grid, indexing="ij"), axis=-1).reshape(-1, 3)
    np.testing.assert_allclose(targets.reshape(9, 64, 4), np.tile(composed(angles), (9, 1, 1)), atol=1e-12)
    np.testing.assert_array_equal(swept("B", 3, 4, 100, 120)[1], postures[100:120])
    np.testing.assert_array_equal(np.unique(postures[:, 1]), [-np.pi, 0, np.pi])
    with pytest.raises(PosableError, match="the sweep has"):
        swept("B", 3, 4, 0, total + 1)


def test_blocks_put_together_are_the_whole():
    whole = gathered([evaluate_block({"skeleton": "C", "method": "erik", "first": 0, "end": 300})])
    items = [{"skeleton": "C", "method": "erik", "first": f, "end": f + 100} for f in (0, 100, 200)]
    parts = gathered([evaluate_block(item) for item in items])
    np.testing.assert_allclose(whole.mean, parts.mean, rtol=1e-12)
    np.testing.assert_allclose(whole.deviation, parts.deviation, rtol=1e-9)
    assert whole.iterations == parts.iterations and whole.samples == 300
    assert (whole.histogram.sum(axis=1) == 300).all()


def test_the_two_orders_of_a_target_s_angles_point_alike():
    angles = np.random.default_rng(0).uniform(-3, 3, (20, 3))
    angles[:, 2] = 0.0
    np.testing.assert_allclose(composed(angles, "YXY"), composed(angles, "YXZ"), atol=1e-12)
    with pytest.raises(UnknownNameError, match="order"):
        drawn("C", 0, 0, 1, "ZZZ")


def test_dls_stays_inside_limits_and_is_worse_than_erik_as_the_paper_found():
    chain, postures, targets = drawn("C", 1, 0, 150)
    angles, taken = dls(chain, postures, targets, 60)
    assert (angles >= chain.lower).all() and (angles <= chain.upper).all() and (taken <= 60).all()
    rows = {
        m: evaluate_block({"skeleton": "C", "method": m, "first": 0, "end": 150}) for m in ("dls100", "erik", "best")
    }
    mean = {m: row["sums"][0] / row["count"] for m, row in rows.items()}
    assert mean["best"] < mean["erik"] < mean["dls100"]


def test_targets_are_turned_over_about_where_they_point():
    _, _, targets = drawn("C", 2, 0, 100)
    over = rolled(targets)
    chain = SKELETONS["C"]
    one, two = (ERIK(chain).solve(np.zeros(5), t).error for t in (targets, over))
    np.testing.assert_allclose(one, two, atol=1e-3)


def test_the_table_has_a_row_for_each_skeleton_and_method():
    rows = evaluate_express("AC", ("best", "erik"), samples=60, block=30)
    assert [(row.skeleton, row.method) for row in rows] == [("A", "best"), ("A", "erik"), ("C", "best"), ("C", "erik")]
    assert len(express_table(rows).splitlines()) == 6 and "error 0.0266" in express_table(rows)
    with pytest.raises(UnknownNameError, match="method 'magic'"):
        evaluate_express("A", ("magic",), samples=1)


def test_what_is_compiled_is_not_in_the_time(monkeypatch):
    clock, rows = [0.0], []
    monkeypatch.setattr("posable.evaluate.express.time.perf_counter", lambda: clock[0])

    def solved(chain, method, postures, targets):
        clock[0] += 100.0 if not rows else 0.5
        rows.append(len(postures))
        return np.zeros((len(postures), 3)), np.ones(len(postures))

    monkeypatch.setattr("posable.evaluate.express._solved", solved)
    block = evaluate_block({"skeleton": "C", "method": "erik", "first": 0, "end": 20})
    assert block["seconds"] == 0.5 and rows[-1] == block["count"] == 20
