"""An overarm throw by formula: wind up, stride, hips, shoulders, arm, follow through, and stand again.

What makes it a throw is the order: weight goes back and the front knee comes up (anticipation), the foot strides, the
pelvis turns before the trunk, the trunk before the arm, the arm lies back while the trunk already turns, and after the
release everything runs out forwards over the front leg (Fleisig et al. 1999 name these phases and their timing).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..body.humanoid import Humanoid
from ..compute.types import Floats
from ..math import rotate
from ..skeleton import Motion
from .choreography import Contact, Footwork, Puppet, puppet_for
from .curves import DEGREE, curve, eased, yaw_pitch_roll

LENGTH = 3.4
"""Seconds from standing to standing."""
RELEASE = 1.70
"""When the ball leaves the hand [s]."""

# The throw as an exposure sheet: a time [s], then values. Angles in degrees, displacements in metres on a person of
# 1.75 m; wrists beside the middle of the shoulders in the frame of the chest, elbows as directions in that frame.
# fmt: off
HIPS_DISPLACEMENT = (
    (0, 0, -0.012, 0), (0.35, 0.01, -0.014, 0), (0.7, -0.075, -0.03, -0.03), (1, -0.085, -0.035, -0.02),
    (1.25, -0.07, -0.085, 0.13), (1.45, -0.035, -0.158, 0.39), (1.65, 0, -0.155, 0.53), (1.9, 0.02, -0.17, 0.61),
    (2.3, 0.015, -0.11, 0.64), (2.75, -0.02, -0.03, 0.66), (3.1, -0.025, -0.014, 0.66), (3.4, -0.025, -0.012, 0.66),
)
PELVIS_YAW = (
    (0, 0), (0.35, -1), (0.75, -62), (1.05, -86), (1.28, -80), (1.42, -58), (1.56, -8), (1.7, 18), (1.95, 28),
    (2.4, 10), (2.85, 0), (3.4, 0),
)
PELVIS_TILT = ((0, 2), (0.9, -3), (1.3, 2), (1.6, 4), (1.95, 20), (2.4, 10), (3, 2), (3.4, 2))
PELVIS_ROLL = ((0, 0), (0.9, 6), (1.3, -3), (1.6, -5), (2, 0), (3, 0), (3.4, 0))
TRUNK_TWIST = (
    (0, 0), (0.35, 1), (0.8, -10), (1.1, -18), (1.35, -26), (1.5, -40), (1.61, -12), (1.7, 16), (1.8, 26), (2, 28),
    (2.4, 10), (2.85, 1), (3.4, 0),
)
TRUNK_BOW = (
    (0, 2), (0.8, 8), (1.1, 2), (1.38, -7), (1.54, -13), (1.66, 2), (1.78, 24), (1.95, 40), (2.15, 40), (2.6, 15),
    (3, 4), (3.4, 2),
)
TRUNK_LEAN = ((0, 0), (0.9, 4), (1.35, 8), (1.55, -8), (1.68, -20), (1.95, -10), (2.4, 0), (3, 0), (3.4, 0))
GAZE_YAW = ((0, 0), (0.5, 0), (1.05, -36), (1.38, -16), (1.58, -2), (3.4, 0))
GAZE_NOD = ((0, 2), (1, 0), (1.6, -2), (1.95, 16), (2.3, 12), (2.9, 3), (3.4, 2))
GAZE_TILT = ((0, 0), (1.5, 0), (1.7, -8), (2.1, -4), (2.8, 0), (3.4, 0))
LEFT_WRIST = (
    (0, 0.1, -0.22, 0.28), (0.45, 0.1, -0.18, 0.28), (0.85, 0.09, -0.09, 0.27), (1.05, 0.13, -0.1, 0.29),
    (1.22, 0.4, -0.16, 0.28), (1.38, 0.6, -0.02, 0.16), (1.5, 0.5, -0.08, 0.24), (1.64, 0.33, -0.26, 0.18),
    (1.85, 0.35, -0.36, -0.04), (2.2, 0.36, -0.42, -0.1), (2.6, 0.27, -0.52, 0.02), (3, 0.24, -0.545, 0.07),
    (3.4, 0.24, -0.545, 0.06),
)
LEFT_ELBOW = (
    (0, 0.6, -0.9, -0.3), (1, 0.6, -0.9, -0.3), (1.38, 0.2, -0.6, -0.9), (1.64, 0.5, -0.5, -0.8), (2.2, 0.4, 0.1, -1),
    (3, 0.3, 0, -1),
)
LEFT_GRIP = ((0, 0.45), (1.1, 0.35), (1.4, 0.15), (1.7, 0.5), (3, 0.2))
RIGHT_WRIST = (
    (0, -0.08, -0.29, 0.28), (0.45, -0.08, -0.25, 0.28), (0.85, -0.07, -0.16, 0.27), (1.02, -0.15, -0.2, 0.26),
    (1.16, -0.28, -0.44, 0.08), (1.3, -0.55, -0.28, -0.14), (1.42, -0.54, 0.02, -0.12), (1.52, -0.42, 0.17, -0.11),
    (1.6, -0.38, 0.19, -0.14), (1.655, -0.36, 0.36, 0.02), (RELEASE, -0.24, 0.34, 0.4), (1.78, 0.02, 0.02, 0.56),
    (1.9, 0.14, -0.28, 0.46), (2.05, 0.08, -0.33, 0.46), (2.35, -0.14, -0.36, 0.42), (2.75, -0.25, -0.5, 0.17),
    (3.1, -0.24, -0.545, 0.06), (3.4, -0.24, -0.545, 0.06),
)
RIGHT_ELBOW = (
    (0, -0.6, -0.9, -0.3), (1, -0.6, -0.9, -0.3), (1.2, -0.5, -0.3, -0.9), (1.36, -0.4, -0.5, -0.8),
    (1.5, -0.9, -0.6, 0.1), (1.6, -0.9, -0.5, 0.5), (1.68, -0.9, -0.1, 0.1), (1.8, -0.8, 0.5, -0.3),
    (2.05, -0.9, 0.2, -0.3), (2.6, -0.5, 0, -1), (3.1, -0.3, 0, -1),
)
RIGHT_PRONATION = ((0, 10), (1, 10), (1.3, 60), (1.5, 20), (1.62, 0), (1.72, 45), (1.85, 80), (2.3, 40), (3, 20))
RIGHT_SNAP = ((0, 0), (1.2, 0), (1.45, 0.3), (1.62, 0.6), (1.72, -0.35), (1.85, -0.5), (2.3, -0.1), (3, 0), (3.4, 0))
RIGHT_SHRUG = ((0, 0), (1.2, 0), (1.5, 0.22), (1.7, 0.16), (2, 0))
RIGHT_DRAW = ((0, 0), (1.3, -0.15), (1.6, -0.1), (1.78, 0.3), (2.1, 0.25), (2.8, 0))
RIGHT_GRIP = ((0, 0.55), (1.66, 0.62), (1.74, 0.12), (2.1, 0.1), (3, 0.2))
# fmt: on


def throw(body: Humanoid | None = None, duration: float | None = None, fps: float = 60.0) -> Motion:
    """A throw of the right hand towards +Z; a longer duration goes on standing, a shorter one is cut off."""
    puppet = puppet_for(body, LENGTH, duration, fps, closed=False)
    t = puppet.times
    _trunk(puppet, t)
    puppet.follow({"left": _left_foot(puppet), "right": _right_foot(puppet)})
    _left_arm(puppet, t)
    _right_arm(puppet, t)
    return puppet.motion("throw", fps)


Keys = tuple[tuple[float, ...], ...]


def _keys(t: Floats, keys: Keys) -> Floats:
    """A smooth curve through (time, value, ...) keys: (F,) for one value, (F, n) for more."""
    return _through(curve, t, keys)


def _calm(t: Floats, keys: Keys) -> Floats:
    """As `_keys`, without overshoot."""
    return _through(eased, t, keys)


def _through(interpolate: Callable[..., Floats], t: Floats, keys: Keys) -> Floats:
    table = np.array(keys)
    values = interpolate(t, table[:, 0], table[:, 1:])
    return values[:, 0] if values.shape[1] == 1 else values


def _trunk(puppet: Puppet, t: Floats) -> None:
    puppet.hips = np.array([0.0, puppet.standing, 0.0]) + puppet.size * _keys(t, HIPS_DISPLACEMENT)
    pelvis = (DEGREE * _keys(t, keys) for keys in (PELVIS_YAW, PELVIS_TILT, PELVIS_ROLL))
    puppet.local["hips"] = yaw_pitch_roll(*pelvis)
    bend = np.stack([_keys(t, keys) for keys in (TRUNK_BOW, TRUNK_TWIST, TRUNK_LEAN)], axis=-1)
    puppet.bend_trunk(DEGREE * bend)
    puppet.look(yaw_pitch_roll(DEGREE * _calm(t, GAZE_YAW), DEGREE * _keys(t, GAZE_NOD), DEGREE * _keys(t, GAZE_TILT)))


def _left_foot(puppet: Puppet) -> Footwork:
    """Up with the knee, a long stride, and there it stays."""
    s = puppet.size
    contacts = [
        Contact(-np.inf, 0.52, 0.10 * s, 0.0, 6 * DEGREE),
        Contact(1.44, np.inf, 0.07 * s, 0.77 * s, -8 * DEGREE),
    ]

    def pitch(t: Floats) -> Floats:
        knots = [0.30, 0.52, 0.70, 0.95, 1.20, 1.36, 1.44, 1.53]
        return DEGREE * eased(t, knots, [0.0, -34.0, -46.0, -26.0, -8.0, 9.0, 8.0, 0.0])

    def yaw(t: Floats) -> Floats:  # the raised knee goes with the pelvis
        return DEGREE * eased(t, [0.54, 0.92, 1.08, 1.42], [0.0, -62.0, -62.0, 0.0])

    return Footwork(contacts, pitch, yaw, lift=0.40 * s, crest=0.46)


def _right_foot(puppet: Puppet) -> Footwork:
    """Turns on its ball, pushes off until only the toes touch, and follows to a stand."""
    s = puppet.size
    contacts = [
        Contact(-np.inf, 1.86, -0.10 * s, 0.0, -6 * DEGREE),
        Contact(2.42, np.inf, -0.13 * s, 0.68 * s, -8 * DEGREE),
    ]

    def pitch(t: Floats) -> Floats:
        knots = [0.38, 0.56, 0.80, 1.22, 1.45, 1.65, 1.86, 2.05, 2.30, 2.42, 2.62]
        return DEGREE * eased(t, knots, [0.0, -7.0, 0.0, 0.0, -22.0, -48.0, -62.0, -54.0, -14.0, -8.0, 0.0])

    def pivot(t: Floats) -> Floats:
        return DEGREE * eased(t, [0.38, 0.80, 1.26, 1.62, 1.86, 2.3], [0.0, -70.0, -70.0, -26.0, -12.0, 0.0])

    return Footwork(contacts, pitch, pivot, lift=0.12 * s, crest=0.5)


def _left_arm(puppet: Puppet, t: Floats) -> None:
    """Holds the ball with the other hand, points at the target, and is pulled in as the trunk turns."""
    wrist, elbow = _keys(t, LEFT_WRIST), _calm(t, LEFT_ELBOW)
    puppet.reach_arm("left", puppet.chest(wrist), _with_chest(puppet, elbow), pronation=20 * DEGREE)
    puppet.close_hand("left", _calm(t, LEFT_GRIP))


def _right_arm(puppet: Puppet, t: Floats) -> None:
    """Out of the other hand, down and back, up, laid back, whipped over the shoulder, and across the body."""
    wrist, elbow = _keys(t, RIGHT_WRIST), _calm(t, RIGHT_ELBOW)
    snap = _keys(t, RIGHT_SNAP)
    bend = np.stack([snap, 0 * snap, 0 * snap], axis=-1)
    puppet.shrug("right", _calm(t, RIGHT_SHRUG), _calm(t, RIGHT_DRAW))
    puppet.reach_arm("right", puppet.chest(wrist), _with_chest(puppet, elbow), DEGREE * _calm(t, RIGHT_PRONATION), bend)
    puppet.close_hand("right", _calm(t, RIGHT_GRIP))


def _with_chest(puppet: Puppet, direction: Floats) -> Floats:
    return rotate(puppet.world("upper_chest"), direction)
