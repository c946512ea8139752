"""One call after another: solvers use scratch again between single calls, which no answer shows."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import posable as ps

SOURCE = Path(__file__).parents[1] / "src"


@pytest.fixture(scope="module")
def body():
    return ps.figure()


def reaching(body):
    """A reacher, and calls of it: near, far, out of reach, oriented, with a pole, invalid; one hand and both."""
    right, left = (ps.Behaviour.default(body, arm) for arm in ("right_arm", "left_arm"))
    reacher = ps.Reacher(body, right=right, left=left)
    turned = [0.5, 0.5, 0.5, 0.5]
    tasks = [
        {"right": [-0.3, 1.25, 0.3]},
        {"right": [-0.3, 0.9, 0.6], "left": [0.3, 0.2, 0.4]},
        {"left": ps.Target([0.3, 1.3, 0.4], turned)},
        {"right": [-2.0, 1.2, 2.0], "left": ps.Target([0.2, 1.0, 0.3], pole=[1.0, 1.0, -1.0])},
        {"right": [np.nan, 0.0, 0.0], "left": [0.3, 1.0, 0.3]},
        {"right": [0.0, 1.2, 0.0]},
        {"left": [0.0, 1.0, -0.05], "right": [0.0, 1.1, -0.05]},
    ]
    return lambda: ps.Reacher(body, right=right, left=left).solve, reacher.solve, tasks


def reconstructing(body):
    """A solver of bodies from points, and calls of it."""
    solver = ps.SequentialIK(body)
    markers = body.markers(ps.samples.walk(body, duration=1.0).pose)
    lost = markers[3].copy()
    lost[2] = np.nan
    tasks = [{"points": points} for points in (markers[0], markers[20], lost, 3.0 * markers[5], markers[40])]
    return lambda: ps.SequentialIK(body).solve, solver.solve, tasks


def numbers(solution) -> bytes:
    """All numbers of a solution, to the last bit."""
    hands = [getattr(solution, side, None) for side in ("right", "left")]
    arrays = [solution.pose.translation, solution.pose.rotations]
    for one in (solution, *(hand for hand in hands if hand is not None)):
        arrays += [np.asarray(one.status, np.int8), one.position_error, one.orientation_error]
    arrays += [hand.swivel for hand in hands if hand is not None]
    return b"".join(np.ascontiguousarray(array).tobytes() for array in arrays) + repr(solution).encode()


@pytest.mark.parametrize("kind", [reaching, reconstructing])
def test_an_answer_does_not_depend_on_the_calls_before_it(body, kind):
    fresh, solve, tasks = kind(body)
    wanted = [numbers(fresh()(**task)) for task in tasks]
    rng = np.random.default_rng(0)
    for k in rng.integers(len(tasks), size=40).tolist():
        assert numbers(solve(**tasks[k])) == wanted[k], k


@pytest.mark.parametrize("kind", [reaching, reconstructing])
def test_later_calls_leave_earlier_answers_alone(body, kind):
    _, solve, tasks = kind(body)
    first = [solve(**task) for task in tasks]
    before = [numbers(solution) for solution in first]
    for task in reversed(tasks):
        solve(**task)
    assert [numbers(solution) for solution in first] == before


@pytest.mark.parametrize("kind", [reaching, reconstructing])
def test_threads_may_use_one_solver_at_once(body, kind):
    fresh, solve, tasks = kind(body)
    wanted = [numbers(fresh()(**task)) for task in tasks]
    wrong: list[int] = []

    def work() -> None:
        wrong.extend(k for _ in range(30) for k, task in enumerate(tasks) if numbers(solve(**task)) != wanted[k])

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(120.0)
    assert not wrong


FIRST_ANSWERS = {
    "a hand": "body.place(body.neutral_pose, 'right_hand', ps.Target([-0.3, 1.25, 0.3]))",
    "six points": "ps.SequentialIK(body).solve(body.markers(body.neutral_pose))",
    "an aim": "ps.ERIK(ps.Chain.from_axes('YXXZY')).solve([0, 0.6, -0.9, 0.3, 0], direction=(0.3, 0.6, 0.5))",
}


@pytest.mark.parametrize("answer", FIRST_ANSWERS)
def test_a_first_answer_does_not_wait_for_scipy(answer):
    code = f"import sys, posable as ps\nbody = ps.figure()\n{FIRST_ANSWERS[answer]}\nprint('scipy' in sys.modules)"
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
