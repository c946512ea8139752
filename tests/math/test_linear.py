"""Cholesky and singular values on caller-owned arrays, against NumPy."""

import numpy as np
import pytest

from posable.compute import batch, prange
from posable.math.linear import (
    add_gram,
    cholesky,
    cholesky_floored,
    cholesky_solve,
    cholesky_whiten,
    padded_rows,
    svd_rows,
    weighted_gram,
)


@batch
def solve_all(n, a, b, sizes, good):
    for i in prange(n):
        good[i] = cholesky(a[i], sizes[i])
        if good[i]:
            cholesky_solve(a[i], sizes[i], b[i])


@batch
def decompose_all(n, a, rows, columns, u, s):
    for i in prange(n):
        svd_rows(a[i], rows, columns, u[i], s[i])


def test_cholesky_solves_what_numpy_solves():
    rng = np.random.default_rng(0)
    n = 2000
    sizes = rng.integers(1, 13, n)
    a, b = np.zeros((n, 12, 12)), np.zeros((n, 12))
    for i, m in enumerate(sizes):
        half = rng.normal(size=(m, m + 3))
        a[i, :m, :m] = half @ half.T
        b[i, :m] = rng.normal(size=m)
    expected = [np.linalg.solve(a[i, :m, :m], b[i, :m]) for i, m in enumerate(sizes)]
    good = np.zeros(n, np.bool_)
    solve_all(n, a, b, sizes, good)
    assert good.all()
    for i, m in enumerate(sizes):
        np.testing.assert_allclose(b[i, :m], expected[i], rtol=1e-7, atol=1e-9)


def test_a_matrix_that_is_not_positive_definite_is_refused():
    a = np.array([[[1.0, 2.0], [2.0, 1.0]], [[0.0, 0.0], [0.0, 0.0]], [[np.nan, 0.0], [0.0, 1.0]]])
    good = np.ones(3, np.bool_)
    solve_all(3, a, np.zeros((3, 2)), np.full(3, 2), good)
    assert not good.any()


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (3, 34), (15, 34), (36, 60), (6, 6), (9, 4)])
def test_singular_values_are_those_of_numpy(rows, columns):
    rng = np.random.default_rng(rows * 100 + columns)
    n = 60
    whole = rng.normal(size=(n, rows, columns)) * 10.0 ** rng.uniform(-3, 3, (n, 1, 1))
    whole[: n // 3, rows // 2] = whole[: n // 3, 0]  # singular ones among them
    whole[0] = 0.0
    a, u, s = whole.copy(), np.zeros((n, rows, rows)), np.zeros((n, rows))
    decompose_all(n, a, rows, columns, u, s)
    least = min(rows, columns)
    for i in range(n):
        expected = np.linalg.svd(whole[i], compute_uv=False)
        scale = max(expected[0], 1e-300)
        np.testing.assert_allclose(np.sort(s[i])[::-1][:least] / scale, expected / scale, atol=1e-12)
        np.testing.assert_allclose(u[i] @ a[i], whole[i], atol=1e-12 * scale)
        np.testing.assert_allclose(u[i] @ u[i].T, np.eye(rows), atol=1e-12)
        inner = a[i] @ a[i].T
        np.testing.assert_allclose(inner - np.diag(np.diag(inner)), 0.0, atol=1e-12 * scale * scale)


def test_small_singular_values_keep_their_digits():
    rng = np.random.default_rng(5)
    graded = np.diag([1.0, 1e-4, 1e-8, 1e-12]) @ np.linalg.qr(rng.normal(size=(9, 9)))[0][:4]
    a, left, s = graded[None].copy(), np.zeros((1, 4, 4)), np.zeros((1, 4))
    decompose_all(1, a, 4, 9, left, s)
    np.testing.assert_allclose(np.sort(s[0])[::-1], [1.0, 1e-4, 1e-8, 1e-12], rtol=1e-9)


@pytest.mark.parametrize(("rows", "n"), [(1, 3), (8, 8), (13, 5), (30, 62)])
def test_a_gram_matrix_added_eight_rows_at_a_time_is_that_of_the_formula(rows, n):
    y, out = np.zeros((padded_rows(rows), n)), np.ones((n, n))
    y[:rows] = np.random.default_rng(rows).normal(size=(rows, n))
    add_gram(y, len(y), n, out)
    np.testing.assert_allclose(out, 1.0 + y.T @ y, atol=1e-12)


def test_a_weighted_gram_matrix_and_its_factor_whiten_rows():
    rng = np.random.default_rng(1)
    jacobian, v = rng.normal(size=(6, 11)), np.array([0.0, *rng.uniform(0.1, 2.0, 10)])
    small, tall = np.full((6, 6), np.nan), jacobian.copy()
    trace = weighted_gram(np.ascontiguousarray(jacobian.T), v, 6, 11, small)
    expected = (jacobian * v) @ jacobian.T
    np.testing.assert_allclose(np.triu(small), np.triu(expected), atol=1e-13)
    assert trace == pytest.approx(np.trace(expected))
    assert cholesky(small, 6)  # the lower triangle is not read
    np.testing.assert_allclose(np.triu(small).T @ np.triu(small), expected, atol=1e-13)
    cholesky_whiten(small, 6, tall, 11)
    np.testing.assert_allclose(tall.T @ tall, jacobian.T @ np.linalg.solve(expected, jacobian), atol=1e-11)


def test_the_floored_factor_is_the_same_and_goes_on_where_rounding_left_nothing():
    half = np.random.default_rng(2).normal(size=(5, 8))
    a, b = half @ half.T, half @ half.T
    assert cholesky(a, 5)
    cholesky_floored(b, 5)
    np.testing.assert_allclose(np.triu(b), np.triu(a), rtol=1e-14)
    singular = np.ones((3, 3))
    cholesky_floored(singular, 3)
    assert np.isfinite(singular).all()
    assert not cholesky(np.ones((3, 3)), 3)
