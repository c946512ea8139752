"""Weights from motion: what they are, what they explain, and how far that reaches."""

import numpy as np
import pytest

import posable as ps
from posable.compute import threads
from posable.edit.clip import read_clip
from posable.edit.fit_kernels import add_curvature, explained, fit_scratch
from posable.edit.weights import _run, exact_weights, explain, explained_rates, fit_weights, load_weights


def plain_rates(jacobian, rates, v):
    """f = V J^T (J V J^T)^-1 J rates, slowly."""
    weighted = (v[:, None] * jacobian.T) @ np.linalg.pinv(jacobian @ (v[:, None] * jacobian.T), rcond=1e-13)
    return weighted @ (jacobian @ rates)


def random_case(seed, rows=30, n=60):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(rows, n)), rng.normal(size=n), np.exp(rng.uniform(-2, 2, size=n))


@pytest.mark.parametrize("seed", range(5))
def test_explained_rates_are_those_of_the_formula_and_move_the_parts_exactly(seed):
    jacobian, rates, v = random_case(seed)
    found, _ = explained_rates(jacobian[None], rates[None], v, mu=0.0)
    np.testing.assert_allclose(found[0], plain_rates(jacobian, rates, v), rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(jacobian @ found[0], jacobian @ rates, rtol=1e-9, atol=1e-9)


def test_only_the_ratios_of_weights_matter():
    jacobian, rates, v = random_case(7)
    once, _ = explained_rates(jacobian[None], rates[None], v)
    again, _ = explained_rates(jacobian[None], rates[None], 1e3 * v)
    np.testing.assert_allclose(once, again, rtol=1e-10, atol=1e-12)


def test_the_gradient_is_the_derivative_of_the_cost():
    jacobian, rates, v = random_case(3)
    rows, n = jacobian.shape
    work = fit_scratch(1, rows, n, 1)
    explained(0, jacobian, rates, v, 0.0, work)
    add_curvature(0, jacobian, rates, v, work)
    curvature = work.curvature[0]

    def half_cost(x):
        return 0.5 * explained_rates(jacobian[None], rates[None], np.exp(x), mu=0.0)[1][0] ** 2

    h, x = 1e-5, np.log(v)
    slopes = [(half_cost(x + h * e) - half_cost(x - h * e)) / (2 * h) for e in np.eye(n)]
    np.testing.assert_allclose(work.gradient[0], slopes, atol=1e-6 * np.abs(slopes).max())
    np.testing.assert_allclose(curvature, curvature.T, atol=1e-9)
    assert (np.linalg.eigvalsh(curvature) > -1e-9).all()


def test_the_papers_manipulator_moves_its_light_joints():
    angles = np.cumsum(np.radians([60.0, 30.0, 30.0, 30.0]))  # Figure 1: four links of 0.25 m
    x, y = 0.25 * np.cos(angles), 0.25 * np.sin(angles)
    jacobian = np.array([[-y[k:].sum() for k in range(4)], [x[k:].sum() for k in range(4)]])
    rates = np.linalg.pinv(jacobian) @ [-0.05, 0.0]
    heavy_first = np.array([10.0, 10.0, 0.1, 0.1])
    first, _ = explained_rates(jacobian[None], rates[None], 1.0 / heavy_first, mu=0.0)
    last, _ = explained_rates(jacobian[None], rates[None], 1.0 / heavy_first[::-1], mu=0.0)
    np.testing.assert_allclose(first[0], [0.0290, 0.0135, 0.1724, -0.3222], atol=1e-4)
    np.testing.assert_allclose(last[0], [0.1138, -0.0697, -0.0016, -0.0014], atol=1e-4)


@pytest.mark.parametrize("decades", [1, 2, 3])
def test_planted_weights_are_explained(decades, pitch):
    rng = np.random.default_rng(decades)
    jacobian = pitch.clip.jacobians(np.array([20 * decades]))
    n = jacobian.shape[2]
    v = 10.0 ** rng.uniform(-decades / 2, decades / 2, size=n)
    rates = plain_rates(jacobian[0], rng.normal(size=n), v)[None]
    x = np.zeros(n)
    for _ in range(4):  # 24 iterations at a time
        x = _run((jacobian, rates), np.zeros((1, 1), np.int64), x, 1e-3, 0.0)[0]
    assert explained_rates(jacobian, rates, np.exp(x))[1][0] <= 0.005


def test_real_motions_are_explained_as_the_specification_measures(whole):
    clip, inner = whole.clip, slice(6, -6)
    plain = {"124_01": 0.70, "05_02": 0.71, "09_01": 0.50}[whole.name]
    assert np.median(whole.editor.report.identity[inner]) == pytest.approx(plain, abs=0.05)
    paper = np.exp(fit_weights(clip, "frame")[:, clip.parts.fitted])
    assert np.median(explain(clip, np.arange(len(clip)), paper)[1]) <= 0.10


def test_window_weights_hold_six_frames_away_and_the_papers_do_not(whole):
    clip = whole.clip
    logs = whole.editor.logs[:, clip.parts.fitted]
    frames = np.arange(12, len(clip) - 12, 3)  # where windows were fitted: nothing interpolated
    for away in (-6, 6):
        there = explain(clip, frames + away, np.exp(logs[frames]))[1]
        plain = explain(clip, frames + away, np.ones((len(frames), logs.shape[1])))[1]
        assert np.median(there) <= 0.30 < np.median(plain)


def test_ten_segments_are_no_trouble(pitch):
    more = ("left_lower_arm", "right_lower_arm", "left_lower_leg", "right_lower_leg", "chest")
    clip = read_clip(pitch.motion[:20], pitch.body, (*ps.edit.EFFECTORS, *more))
    logs = fit_weights(clip)
    assert np.isfinite(logs).all() and clip.jacobians(np.arange(2)).shape[1] == 60


def test_weights_for_the_clip_are_one_row_and_locked_dof_have_none(pitch):
    logs = fit_weights(pitch.clip, "clip")
    assert (logs == logs[0]).all()
    editor = ps.MotionEditor(pitch.motion, pitch.body, weights="clip")
    assert np.isinf(editor.weights[:, ~pitch.clip.parts.free]).all()
    np.testing.assert_allclose(editor.weights[:, pitch.clip.parts.free].mean(axis=1), 1.0)


def test_exact_weights_rarely_exist(pitch):
    kappas = [exact_weights(pitch.clip, frame) for frame in range(10, 90, 16)]
    assert all(kappa > 1e3 for kappa in kappas)
    assert any(np.isinf(kappa) for kappa in kappas)


def test_weights_of_several_motions_explain_them_all(pitch):
    first, second = pitch.motion[:50], pitch.motion[50:]
    alone = ps.MotionEditor(first, pitch.body)
    together = ps.MotionEditor(first, pitch.body, similar=[second])
    other = read_clip(second, pitch.body)
    frames = np.arange(len(other))
    columns = alone.clip.parts.fitted

    def explained_there(editor):
        mean = editor.logs[:, columns].mean(axis=0)
        return np.median(explain(other, frames, np.tile(np.exp(mean), (len(frames), 1)))[1])

    assert explained_there(together) < explained_there(alone)


def test_similar_motions_need_the_same_joints(pitch):
    body = ps.figure()
    with pytest.raises(ps.PosableError, match="same joints"):
        _ = ps.MotionEditor(pitch.motion, pitch.body, similar=[ps.samples.walk(body)]).logs


def test_unknown_kinds_of_weights_are_named(pitch):
    with pytest.raises(ps.UnknownNameError, match="window"):
        _ = ps.MotionEditor(pitch.motion, pitch.body, weights="widow").logs


def test_weights_are_the_same_on_any_number_of_cores(pitch):
    with threads(1):
        alone = fit_weights(read_clip(pitch.motion[:60], pitch.body))
    np.testing.assert_array_equal(alone, fit_weights(read_clip(pitch.motion[:60], pitch.body)))


def test_weights_are_stored_in_a_file_and_read_from_it(pitch, tmp_path):
    path, fractions = tmp_path / "pitch.weights.npz", []
    first = ps.MotionEditor(pitch.motion[:40], pitch.body, cache=path, progress=fractions.append)
    stored = first.logs
    assert path.exists() and fractions[-1] == 1.0
    again = ps.MotionEditor(pitch.motion[:40], pitch.body, cache=path, progress=lambda _: pytest.fail("fitted again"))
    np.testing.assert_allclose(again.logs, stored, rtol=1e-6, atol=1e-6)
    other = ps.MotionEditor(pitch.motion[10:50], pitch.body, cache=path)
    assert other.logs.shape == (40, stored.shape[1])  # it belonged to another motion: made again


@pytest.mark.parametrize("spoil", ["cut", "zip of text", "empty"])
def test_a_broken_file_of_weights_is_refused(pitch, tmp_path, spoil):
    path = tmp_path / "weights.npz"
    editor = ps.MotionEditor(pitch.motion[:12], pitch.body, weights="clip", cache=path)
    _ = editor.logs
    data = path.read_bytes()
    path.write_bytes({"cut": data[: len(data) // 2], "zip of text": b"PK\x03\x04 nonsense", "empty": b""}[spoil])
    with pytest.raises(ps.FormatError, match="weights"):
        load_weights(path, editor.clip, "clip")
