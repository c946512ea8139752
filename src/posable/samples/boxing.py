"""Shadow boxing by formula: guard, footwork, jab, jab and cross, slip, hook, uppercut, and back to where it began.

An orthodox stance: left side forward, the right heel off the floor, knees soft, the whole body bouncing a little. A
punch starts in the floor: the rear foot turns on its ball, the hips turn, the shoulders follow, the fist goes out and
comes back faster than it went; the other hand stays at the chin.
"""

from __future__ import annotations

import numpy as np

from ..body.humanoid import Humanoid
from ..compute.types import Floats
from ..math import rotate
from ..skeleton import Motion
from .choreography import SIDES, Contact, Footwork, Puppet, puppet_for
from .curves import DEGREE, Y, about, eased, pulse, toward, wave, yaw_pitch_roll

PERIOD = 6.4
"""Seconds of the whole round."""

JAB, JAB_AGAIN, CROSS, SLIP, HOOK, UPPERCUT = 0.75, 1.95, 2.35, 3.35, 4.05, 5.05
"""When each fist is furthest out, and the head lowest in the slip [s]."""


def boxing(body: Humanoid | None = None, duration: float | None = None, fps: float = 60.0) -> Motion:
    """Shadow boxing towards +Z; it closes on itself after 6.4 s."""
    puppet = puppet_for(body, PERIOD, duration, fps, closed=True)
    t = puppet.times % PERIOD
    _trunk(puppet, t)
    puppet.follow({side: _footwork(puppet, side) for side, _ in SIDES}, knee_out=0.10)
    _arms(puppet, t)
    for side, _ in SIDES:
        puppet.close_hand(side, 1.0)
    return puppet.motion("boxing", fps)


def _pulse(t: Floats, peak: float, rise: float, fall: float) -> Floats:
    return pulse(t, peak, rise, fall, period=PERIOD)


def _trunk(puppet: Puppet, t: Floats) -> None:
    s = puppet.size
    jab = _pulse(t, JAB, 0.24, 0.34) + _pulse(t, JAB_AGAIN, 0.22, 0.26)
    cross, hook = _pulse(t, CROSS - 0.03, 0.30, 0.45), _pulse(t, HOOK - 0.02, 0.26, 0.50)
    load = _pulse(t, HOOK - 0.30, 0.35, 0.28)  # wound up to the left before the hook
    slip, upper = _pulse(t, SLIP, 0.34, 0.42), _pulse(t, UPPERCUT - 0.03, 0.24, 0.50)
    dip = _pulse(t, UPPERCUT - 0.34, 0.36, 0.30)
    beat = t / (PERIOD / 12)
    bounce = wave(beat, (1, 0.011, 0.0))
    weight = (
        0.06 * cross
        + 0.05 * jab
        + 0.04 * hook
        + 0.05 * upper
        - 0.02 * load
        - 0.04 * dip
        + wave(t / PERIOD, (5, 0.012, 0.1))
    )
    sway = wave(t / PERIOD, (3, 0.012, 0.3)) - 0.07 * slip + 0.03 * load - 0.05 * dip + 0.03 * upper
    height = puppet.standing - s * (
        0.092 - bounce + 0.07 * slip + 0.02 * cross + 0.10 * dip + 0.03 * load - 0.02 * upper
    )
    puppet.hips = np.stack([s * (-0.02 + sway), height, s * weight + _advance(t) * s], axis=-1)
    hips_yaw = -40.0 + 46.0 * cross - 9.0 * jab - 30.0 * hook + 14.0 * load + 8.0 * slip - 14.0 * dip + 34.0 * upper
    lean = 6.0 + 3.0 * jab + 5.0 * cross + 4.0 * slip + 6.0 * dip - 3.0 * upper
    puppet.local["hips"] = yaw_pitch_roll(hips_yaw * DEGREE, lean * DEGREE * 0.5, -4.0 * DEGREE * slip)
    twist = (
        6.0
        + 26.0 * cross
        - 14.0 * jab
        - 30.0 * hook
        + 18.0 * load
        - 12.0 * dip
        + 22.0 * upper
        + wave(beat / 2, (1, 2.0, 0.1))
    )
    side = 18.0 * slip + 10.0 * dip - 7.0 * hook - 6.0 * upper
    bow = 12.0 + 6.0 * slip + 8.0 * cross + 4.0 * jab + 10.0 * dip - 8.0 * upper
    puppet.bend_trunk(np.stack([bow, twist, -side], axis=-1) * DEGREE)
    eyes = wave(t / PERIOD, (2, 2.0, 0.2))
    puppet.look(yaw_pitch_roll((eyes - 6.0 * hook) * DEGREE, (8.0 + 3.0 * dip) * DEGREE, -8.0 * DEGREE * slip))
    puppet.shrug("left", (8.0 + 8.0 * jab + 8.0 * hook) * DEGREE, (6.0 + 14.0 * jab + 6.0 * hook) * DEGREE)
    puppet.shrug("right", (8.0 + 10.0 * cross + 4.0 * upper) * DEGREE, (6.0 + 16.0 * cross + 8.0 * upper) * DEGREE)


def _advance(t: Floats) -> Floats:
    """How far the body has stepped in towards +Z: in with the first jab, out again before the hook."""
    return np.asarray(0.16 * eased(t, [0.40, 0.85, 5.70, 6.15], [0.0, 1.0, 1.0, 0.0]))


def _footwork(puppet: Puppet, side: str) -> Footwork:
    """Left foot ahead, right foot behind and on its ball; both step in with the jab and back at the end."""
    s = puppet.size
    if side == "left":
        x, z, yaw, steps = 0.10, 0.20, -18.0, ((0.48, 0.72), (5.86, 6.10))
    else:
        x, z, yaw, steps = -0.15, -0.26, -58.0, ((0.74, 0.98), (5.62, 5.86))
    near, far = Contact(0, 0, x * s, z * s, yaw * DEGREE), Contact(0, 0, x * s, (z + 0.16) * s, yaw * DEGREE)
    rounds = range(-1, int(np.ceil(puppet.times[-1] / PERIOD)) + 2)
    contacts = []
    for k in rounds:
        start, end = k * PERIOD, (k + 1) * PERIOD
        contacts.append(Contact(start + steps[0][1], start + steps[1][0], far.x, far.z, far.yaw))
        contacts.append(Contact(start + steps[1][1], end + steps[0][0], near.x, near.z, near.yaw))

    def pitch(t: Floats) -> Floats:
        t = t % PERIOD
        bounce = wave(t / (PERIOD / 12), (1, 1.0, 0.0))
        if side == "left":
            up = 3.0 + 2.0 * bounce + 16.0 * _pulse(t, HOOK, 0.28, 0.5) + 6.0 * _pulse(t, SLIP, 0.3, 0.4)
        else:
            up = 15.0 + 3.0 * bounce + 22.0 * _pulse(t, CROSS, 0.30, 0.5) + 18.0 * _pulse(t, UPPERCUT, 0.28, 0.5)
        return np.asarray(-DEGREE * up)

    def pivot(t: Floats) -> Floats:
        t = t % PERIOD
        if side == "left":
            return np.asarray(DEGREE * (-34.0 * _pulse(t, HOOK, 0.28, 0.55)))
        return np.asarray(DEGREE * (34.0 * _pulse(t, CROSS, 0.32, 0.5) + 26.0 * _pulse(t, UPPERCUT, 0.28, 0.55)))

    return Footwork(contacts, pitch, pivot, lift=0.045 * s, crest=0.5)


def _arms(puppet: Puppet, t: Floats) -> None:
    """Fists beside the chest, rotated with the shoulders; in the world's axes while a punch is thrown."""
    s, frames = puppet.span, len(t)
    heading = _heading(puppet)
    chest = (puppet.position("left_upper_arm") + puppet.position("right_upper_arm")) / 2
    jab = np.maximum(_pulse(t, JAB, 0.17, 0.28), _pulse(t, JAB_AGAIN, 0.16, 0.24))
    cross, hook = _pulse(t, CROSS, 0.19, 0.34), _pulse(t, HOOK, 0.20, 0.36)
    load, upper = _pulse(t, HOOK - 0.26, 0.26, 0.22), _pulse(t, UPPERCUT, 0.20, 0.40)
    dip = _pulse(t, UPPERCUT - 0.26, 0.30, 0.22)
    beat = t / (PERIOD / 12)
    drift = s * wave(beat, (1, 0.010, 0.15))

    def at(x: float, y: float, z: float) -> Floats:
        return chest + rotate(heading, np.tile([x * s, y * s, z * s], (frames, 1)))

    def ahead(x: float, y: float, z: float) -> Floats:
        return np.asarray(chest + np.array([x * s, y * s, z * s]))

    left = at(0.13, 0.05, 0.36)
    left = toward(left, ahead(0.02, 0.06, 0.80), jab)
    left = toward(left, at(0.30, -0.06, 0.18), load)
    left = toward(left, at(-0.02, 0.06, 0.46), hook)
    right = at(-0.10, 0.07, 0.26)
    right = toward(right, ahead(0.02, 0.05, 0.80), cross)
    right = toward(right, at(-0.16, -0.26, 0.16), dip)
    right = toward(right, at(0.02, 0.18, 0.44), upper)
    left[:, 1] += drift
    right[:, 1] += drift
    elbow = np.stack([0.35 + 0.9 * hook + 0.5 * load, -1.0 + 0.95 * hook, -0.35 - 0.1 * jab], axis=-1)
    puppet.reach_arm("left", left, rotate(heading, elbow), DEGREE * (10.0 + 70.0 * jab + 30.0 * hook))
    elbow = np.stack([-0.35 - 0.2 * cross, -1.0 + 0 * t, -0.35 - 0.3 * dip], axis=-1)
    puppet.reach_arm("right", right, rotate(heading, elbow), DEGREE * (10.0 + 75.0 * cross - 75.0 * upper))


def _heading(puppet: Puppet) -> Floats:
    """(F, 4) the rotation of the chest about the vertical."""
    ahead = rotate(puppet.world("upper_chest"), np.array([0.0, 0.0, 1.0]))
    return about(Y, np.arctan2(ahead[:, 0], ahead[:, 2]))
