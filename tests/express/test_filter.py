"""Filtered motion: no limit is ever broken, at any rate, whatever comes when; and it arrives."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posable.compute import PosableError, ShapeError, UnknownNameError
from posable.express import MotionFilter

positive = st.floats(0.05, 20.0)


def divided(times, values, order):
    """Divided differences times order!: the mean of that derivative over each stretch of order + 1 samples."""
    table = np.asarray(values)
    for k in range(1, order + 1):
        table = k * np.diff(table, axis=0) / (times[k:] - times[:-k])[:, None]
    return table


def check(times, values, limits, scale=1.0):
    """All differences of the samples within the limits, but for what rounding does to them."""
    step = np.diff(times).min()
    for order, limit in enumerate(limits, start=1):
        noise = 64 * np.finfo(float).eps * max(scale, np.abs(values).max()) / step**order
        assert np.abs(divided(times, values, order)).max(initial=0.0) <= limit * (1 + 1e-7) + noise


@settings(max_examples=150)
@given(positive, positive, positive, st.integers(0, 2**31), st.sampled_from([10.0, 30.0, 60.0, 250.0]))
def test_no_limit_is_broken_whatever_the_signal(velocity, acceleration, jerk, seed, fps):
    rng = np.random.default_rng(seed)
    signal = np.repeat(rng.uniform(-2, 2, (12, 3)), rng.integers(1, 20), axis=0)
    limits = (velocity, acceleration * 5, jerk * 50)
    out = MotionFilter(*limits, fps=fps).run(signal)
    np.testing.assert_array_equal(out[0], signal[0])
    at_rest = np.concatenate([np.repeat(out[:1], 3, axis=0), out])
    check(np.arange(len(at_rest)) / fps, at_rest, limits)


@settings(max_examples=150)
@given(st.integers(0, 2**31))
def test_no_limit_is_broken_when_setpoints_come_irregularly_and_late(seed):
    rng = np.random.default_rng(seed)
    limits = (3.0, 20.0, 200.0)
    stream = MotionFilter(*limits, position_limits=(-1.0, 1.5)).stream([0.2, -0.9])
    times, values = [-3.0, -2.0, -1.0, 0.0], [stream.values] * 4
    for _ in range(60):
        dt = float(rng.choice([0.002, 1 / 60, 0.05, 0.3, rng.uniform(0.001, 0.5)]))
        setpoint = None if rng.random() < 0.3 else rng.uniform(-2, 2, 2)
        if setpoint is not None and rng.random() < 0.2:
            setpoint[0] = np.nan
        times.append(times[-1] + dt)
        values.append(stream.step(setpoint, dt))
        assert (np.abs(stream.velocity) <= limits[0] * (1 + 1e-12)).all()
        assert (np.abs(stream.acceleration) <= limits[1] * (1 + 1e-12)).all()
    values = np.array(values)
    assert values.min() >= -1.0 and values.max() <= 1.5
    check(np.array(times), values, limits)


@given(st.integers(0, 2**31))
def test_it_arrives_and_stays(seed):
    rng = np.random.default_rng(seed)
    goal = rng.uniform(-1, 1, 4)
    signal = np.concatenate([rng.uniform(-1, 1, (1, 4)), np.tile(goal, (400, 1))])
    out = MotionFilter(3.0, 20.0, 200.0, fps=60).run(signal)
    np.testing.assert_allclose(out[-100:], np.tile(goal, (100, 1)), atol=1e-9)


def test_a_step_is_taken_with_full_effort_and_does_not_overshoot():
    signal = np.concatenate([[0.0], np.full(1000, 3.0)])
    out = MotionFilter(3.0, 20.0, 200.0, fps=200).run(signal)
    assert out.max() <= 3.0 + 1e-9
    assert np.diff(out).max() * 200 > 2.99
    # Nothing can be faster: jerk up to the acceleration, up to the speed, and the same down again.
    least = 3.0 / 3.0 + 3.0 / 20.0 + 20.0 / 200.0
    assert np.flatnonzero(out > 3.0 - 1e-6)[0] / 200 < 1.1 * least


def test_the_same_motion_comes_out_at_any_rate():
    seconds = 3.0
    ways = [
        MotionFilter(2.0, 10.0, 80.0, fps=fps).run(np.r_[0.0, np.ones(int(seconds * fps))])[:: int(fps // 30)]
        for fps in (30.0, 60.0, 240.0)
    ]
    for other in ways[1:]:
        assert np.abs(ways[0] - other[: len(ways[0])]).max() < 0.05


def test_samples_that_are_no_numbers_are_passed_over():
    signal = np.linspace(0, 1, 60)
    signal[20:30] = np.nan
    out = MotionFilter(3, 20, 200).run(signal)
    assert np.isfinite(out).all()
    assert MotionFilter(3, 20, 200).run(np.empty((0, 4))).shape == (0, 4)
    assert np.isfinite(MotionFilter(3, 20, 200).run([np.nan, 1.0, np.inf])).all()


def test_the_paper_s_filter_follows_softly_and_falls_short_of_its_limits():
    signal = np.r_[0.0, np.full(400, 1.2)]
    out = MotionFilter(3.0, 20.0, 200.0, fps=60, kind="nutty").run(signal)
    speed = np.diff(out).max() * 60
    assert 0.03 * 3.0 < speed < 0.5 * 3.0  # section 9: 9 to 27 % of the speed
    assert np.isfinite(out).all() and np.abs(out[-1]) > 0.5


@pytest.mark.parametrize("character", [{"response": 0.9}, {"smoothness": 0.5}, {"response": 0.5, "smoothness": 0.9}])
def test_the_paper_s_character_parameters_change_the_motion(character):
    signal = np.r_[0.0, np.full(200, 1.2)]
    plain = MotionFilter(3.0, 20.0, 200.0, kind="nutty").run(signal)
    other = MotionFilter(3.0, 20.0, 200.0, kind="nutty", **character).run(signal)
    assert np.abs(plain - other).max() > 1e-3


def test_wrong_settings_are_named():
    with pytest.raises(UnknownNameError, match="kind of filter 'soft'"):
        MotionFilter(1, 1, 1, kind="soft")
    with pytest.raises(PosableError, match=r"velocity is \[0.0\]"):
        MotionFilter(0, 1, 1)
    with pytest.raises(PosableError, match="position_limits are"):
        MotionFilter(1, 1, 1, position_limits=(1, 0))
    with pytest.raises(PosableError, match="response 1"):
        MotionFilter(1, 1, 1, kind="nutty", response=1)
    with pytest.raises(ShapeError, match="limits for 2 channels, the signal 3"):
        MotionFilter([1, 2], 1, 1).run(np.zeros((4, 3)))
    with pytest.raises(ShapeError, match="different numbers of channels"):
        MotionFilter([1, 2], [1, 2, 3], 1)
    with pytest.raises(PosableError, match="dt is -1"):
        MotionFilter(1, 1, 1).stream(0.0).step(1.0, dt=-1)
