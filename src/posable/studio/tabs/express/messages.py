"""What the express tab says about an answer, and the lines of one motor."""

from __future__ import annotations

import math

from ....compute import Status
from ...widgets.status_text import COLOURS, coloured
from .runner import Runner

ANGLE, SPEED, ACCELERATION = "angle", "speed", "acceleration"
QUANTITIES = (ANGLE, SPEED, ACCELERATION)
WORDS = {"best": "start", "erik": "iteration", "simple": "iteration", "ccd": "iteration"}


def answer_facts(runner: Runner) -> str:
    """How a method's answer is: its status, errors, iterations and time."""
    answer = runner.answer
    if answer is None:
        return f"**{runner.method}**"
    status = Status(int(answer.status))
    plural = "" if answer.iterations == 1 else "s"
    left = math.degrees(float(answer.orientation_error))
    return (
        f"**{runner.method}** {coloured(COLOURS[status], f'**{status.name}**')} · error **{answer.error:.4f}**  \n"
        f"orientation {answer.orientation_score:.4f} ({left:.1f}°) · posture {answer.posture_error:.4f}  \n"
        f"{answer.iterations} {WORDS[runner.method]}{plural} · {1000.0 * runner.seconds:.1f} ms"
    )


def motor_lines(runner: Runner, joint: int, quantity: str) -> tuple[str, list[str], list[float]]:
    """(title, labels, values) of one of `QUANTITIES` of a joint's motor; the bounds that it keeps to beside it."""
    motors, speed, force = runner.motors, runner.velocity, runner.acceleration
    if motors is None or speed is None or force is None or runner.answer is None:
        return quantity, [], []
    if quantity == SPEED:
        return "speed [rad/s]", ["sent", "limit", "−limit"], [float(speed[joint]), motors.velocity, -motors.velocity]
    if quantity == ACCELERATION:
        bound = motors.acceleration
        return "acceleration [rad/s²]", ["sent", "limit", "−limit"], [float(force[joint]), bound, -bound]
    asked, sent = float(runner.answer.angles[joint]), float(runner.angles[joint])
    return "angle [°]", ["sent", "asked"], [math.degrees(sent), math.degrees(asked)]
