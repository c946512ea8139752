"""All measures of a retargeting onto a robot in one record, and as rows of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...body import Humanoid
from ...compute import PosableError, ShapeError, expect
from ...compute.types import Floats
from ...skeleton import Motion
from . import key_points
from .footing import FootContact, foot_contacts, sole_points, stands
from .motors import JointRates, joint_rates
from .touching import self_depths

DEEP = 0.005  # [m]: what goes through itself by less is not counted


@dataclass(frozen=True, eq=False)
class RetargetMeasures:
    """How good the motion of a robot is that was made of a person's. Lengths in metres, angles in radians."""

    frames: int
    fps: float
    key_points: tuple[str, ...]
    """(K,) the points that are compared."""
    posture_errors: Floats
    """(F, K) how far each is from where the person's posture on the robot's bones has it [m]."""
    scaled_errors: Floats
    """(F, K) how far from the person's, scaled by the ratio of leg lengths [m]."""
    contacts: tuple[FootContact, ...]
    sole_heights: Floats
    """(F, 2) of the lowest corner of each sole above the floor [m]."""
    self_depths: Floats
    """(F,) how deep the robot goes through itself [m]; negative: how far apart its nearest links are, at most 1 m."""
    deepest: tuple[str, str] | None
    """The two links that go deepest through each other, or come nearest; None where none could touch."""
    rates: JointRates
    seconds: float | None = None
    """How long the retargeting took on one core, where that was measured."""

    @property
    def broken(self) -> int:
        """The number of frames in which a joint is outside of its limits."""
        return int((self.rates.excess > 0.0).any(axis=1).sum())

    @property
    def penetrating(self) -> int:
        """The number of frames in which the robot is over 5 mm deep in itself."""
        return int((self.self_depths > DEEP).sum())

    def facts(self) -> dict[str, Any]:
        """Return the measures as plain numbers, by names that say their unit."""
        slides = [one.slide for one in self.contacts]
        rates, rotates = self.rates, self.rates.rotates
        found: dict[str, Any] = {
            "frames": self.frames,
            "fps": self.fps,
            "posture_error_cm": _rounded(100.0 * _mean(self.posture_errors)),
            "scaled_error_cm": _rounded(100.0 * _mean(self.scaled_errors)),
            "worst_posture_error_cm": _rounded(100.0 * float(self.posture_errors.max(initial=0.0))),
            "contacts": len(self.contacts),
            "mean_slide_mm": _rounded(1000.0 * float(np.mean(slides)) if slides else 0.0),
            "worst_slide_mm": _rounded(1000.0 * max(slides, default=0.0)),
            "penetration_in_contact_mm": _rounded(1000.0 * max((c.penetration for c in self.contacts), default=0.0)),
            "height_in_contact_mm": _rounded(1000.0 * max((c.height for c in self.contacts), default=0.0)),
            "under_floor_mm": _rounded(1000.0 * max(0.0, -float(self.sole_heights.min(initial=0.0)))),
            "self_penetration_percent": _rounded(100.0 * self.penetrating / max(self.frames, 1)),
            "deepest_mm": _rounded(1000.0 * max(0.0, float(self.self_depths.max(initial=0.0)))),
            "deepest_links": None if self.deepest is None or not self.penetrating else list(self.deepest),
            "frames_outside_limits": self.broken,
            "outside_limits_deg": _rounded(float(np.degrees(rates.excess[:, rotates].max(initial=0.0)))),
            "frames_too_fast": int(rates.too_fast.any(axis=1).sum()),
            "jumps": int(rates.jumps.sum()),
        }
        for name, values in (("speed", rates.speeds), ("acceleration", rates.accelerations), ("jerk", rates.jerks)):
            rows = values[:, rotates]
            found[f"{name}_p95"] = _rounded(float(np.percentile(rows, 95.0)) if rows.size else 0.0)
            found[f"{name}_max"] = _rounded(float(rows.max(initial=0.0)))
        if self.seconds is not None:
            found["microseconds_a_frame"] = _rounded(1e6 * self.seconds / max(self.frames, 1))
            found["frames_a_second"] = _rounded(self.frames / max(self.seconds, 1e-9))
        return found


def evaluate_retarget(
    motion: Motion, source: Humanoid, robot_motion: Motion, target: Humanoid, *, seconds: float | None = None
) -> RetargetMeasures:
    """Measure a robot's motion against the person's that it was made of, frame by frame.

    The floor of the robot is at height 0. How the measures are defined is in `posable.evaluate.robots`.

    Args:
        motion: of the person.
        source: the person's body.
        robot_motion: of the robot, as many frames at the same rate.
        target: the robot's body.
        seconds: how long the retargeting took [s]; not measured by default.
    """
    for name, one in (("motion", motion), ("robot_motion", robot_motion)):
        expect(Motion, one, name)
    for name, body in (("source", source), ("target", target)):
        expect(Humanoid, body, name, ": Humanoid(skeleton)")
    if target.robot_parts is None:
        raise PosableError(
            f"the target with the root {target.skeleton.names[0]!r} is no robot; expected a robot's body"
        )
    if len(motion) != len(robot_motion) or abs(motion.fps - robot_motion.fps) > 1e-3 * motion.fps:
        both = " and the robot's ".join(f"{len(one)} frames at {one.fps:g} a second" for one in (motion, robot_motion))
        raise ShapeError(f"the person's motion has {both}; expected the same")
    person = key_points.points_of(source, motion.pose)
    robot = key_points.points_of(target, robot_motion.pose)
    standing = [key_points.standing_points(body) for body in (source, target)]
    names = key_points.measured_names(person, robot)
    posed = key_points.posture_points(person, standing[0], standing[1])
    ratio = key_points.leg_length(standing[1]) / key_points.leg_length(standing[0])
    scaled = {name: ratio * points for name, points in person.items()}
    tips, heights = sole_points(robot_motion, target)
    depths, links = self_depths(robot_motion)
    return RetargetMeasures(
        len(motion),
        float(motion.fps),
        tuple(names),
        key_points.errors(names, posed, robot),
        key_points.errors(names, scaled, robot),
        foot_contacts(stands(motion, source), motion.fps, tips, heights),
        heights,
        depths,
        links[int(np.argmax(depths))] if len(links) else None,
        joint_rates(robot_motion),
        seconds,
    )


COLUMNS = {
    "posture_error_cm": "posture (cm)",
    "scaled_error_cm": "scaled (cm)",
    "mean_slide_mm": "slide (mm)",
    "worst_slide_mm": "worst slide (mm)",
    "penetration_in_contact_mm": "sunk (mm)",
    "height_in_contact_mm": "above (mm)",
    "self_penetration_percent": "in itself (%)",
    "deepest_mm": "deepest (mm)",
    "frames_outside_limits": "beyond limits",
    "speed_p95": "speed 95 % (rad/s)",
    "speed_max": "fastest (rad/s)",
    "acceleration_p95": "accel. 95 % (rad/s²)",
    "jerk_p95": "jerk 95 % (rad/s³)",
    "jumps": "jumps",
    "microseconds_a_frame": "µs a frame",
}
"""The measures of a table, with their headings."""


def retarget_table(measured: Sequence[Mapping[str, Any]], names: Sequence[str] = ("clip",)) -> list[dict[str, str]]:
    """Return rows of a table for people: the facts of several motions, what names them first.

    Those of a single motion without a name are a row for each measure.
    """
    if len(measured) == 1 and not any(name in measured[0] for name in names):
        facts = measured[0]
        return [{"measure": COLUMNS[key], "value": _short(facts[key])} for key in COLUMNS if key in facts]
    return [
        {name: str(facts[name]) for name in names if name in facts}
        | {heading: _short(facts[key]) for key, heading in COLUMNS.items() if key in facts}
        for facts in measured
    ]


def _mean(values: Floats) -> float:
    return float(values.mean()) if values.size else 0.0


def _rounded(value: float) -> float:
    return round(value, 4)


def _short(value: float) -> str:
    if isinstance(value, int) or abs(value) >= 100.0:
        return f"{value:.0f}"
    return f"{value:.1f}" if abs(value) >= 10.0 else f"{value:.2f}"
