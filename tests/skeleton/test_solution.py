"""`Solution` and its status: what a caller reads off any answer."""

import numpy as np
import pytest

from posable import MotionSolution, PoseSolution, Solution, Status
from posable.skeleton.solution import status_like


def test_a_batch_says_in_one_line_how_many_rows_have_which_status_and_the_worst_errors():
    status = np.array([0] * 998 + [2, 2], np.int8)
    solution = PoseSolution(None, status, np.linspace(0.0, 0.0031, 1000), np.zeros(1000))
    assert repr(solution) == "PoseSolution(1000 rows: 998 reached, 2 limits; worst 3.1 mm)"
    assert solution.ok.tolist() == [True] * 998 + [False] * 2


def test_a_single_solution_names_its_status_and_errors():
    solution = PoseSolution(None, Status.LIMITS, np.float64(0.012), np.float64(np.pi / 6))
    assert repr(solution) == "PoseSolution(limits; 12 mm, 30 deg)"
    assert solution.ok is False


def test_errors_of_invalid_rows_do_not_hide_those_of_the_others():
    solution = MotionSolution(None, np.array([0, 5], np.int8), np.array([0.001, np.inf]), np.zeros(2))
    assert repr(solution) == "MotionSolution(2 frames: 1 reached, 1 invalid; worst 1 mm)"


@pytest.mark.parametrize("shape", [(0,), (2, 3), (0, 4)])
def test_any_batch_shape_has_a_repr_of_one_line(shape):
    solution = PoseSolution(None, np.zeros(shape, np.int8), np.zeros(shape), np.zeros(shape))
    assert "\n" not in repr(solution)
    assert isinstance(solution, Solution)
    assert solution.ok.shape == shape


def test_statuses_take_the_shape_of_the_call():
    assert status_like(np.array([2]), ()) is Status.LIMITS
    many = status_like(np.arange(6), (2, 3))
    assert many.shape == (2, 3)
    assert many.dtype == np.int8
