"""Reaching around by formula: high, low, across, behind, and with both hands.

The eyes go first, the trunk turns and the weight shifts, the hand follows on a curved path with the bell-shaped speed
of human reaching (Flash and Hogan 1985), the free arm balances, and heels or knees give what the arm lacks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..body.humanoid import Humanoid
from ..compute.types import Floats
from ..math import rotate
from ..skeleton import Motion
from .choreography import SIDES, Contact, Footwork, Puppet, puppet_for
from .curves import DEGREE, pulse, toward, wave, yaw_pitch_roll

PERIOD = 10.4
"""Seconds of the whole round."""


@dataclass(frozen=True)
class Reach:
    """One reach; positions in metres on a person of 1.75 m who stands at the origin and faces +Z, angles in degrees."""

    time: float
    """When the hand arrives [s]."""
    hands: tuple[str, ...]
    position: tuple[float, float, float]
    """Where the wrist goes; with both hands, the left one's, mirrored for the right."""
    hips: tuple[float, float, float]
    """How the hips shift."""
    yaw: float
    """Of the pelvis, to the left."""
    trunk: tuple[float, float, float]
    """Bow forward, twist to the left, lean to the right."""
    gaze: tuple[float, float]
    """Yaw to the left and pitch down."""
    elbow: tuple[float, float, float]
    """Where the elbow points when the hand is there, on the left side, mirrored for the right."""
    heels: float = 0.0
    """How far the heels rise."""
    rise: float = 0.95
    shrug: float = 10.0
    other: tuple[float, float, float] = (0.05, 0.05, 0.05)
    """How the hand that does not reach moves meanwhile from where it hangs: outward, up, ahead."""


# fmt: off
REACHES = (
    Reach(1.25, ("right",), (-0.30, 2.03, 0.36), (-0.03, 0.035, 0.05), 10, (-6, 12, -9), (-16, -32), (0.8, -0.45, 0.35),
          heels=24, shrug=24),
    Reach(3.15, ("left",), (0.30, 0.34, 0.52), (0.02, -0.40, -0.10), 14, (60, 10, -8), (14, 44), (0.9, 0.1, -0.6),
          rise=1.05, other=(0.27, 0.13, -0.14)),
    Reach(5.10, ("right",), (0.62, 1.18, 0.26), (0.07, -0.03, 0.02), 26, (10, 34, 3), (58, 12), (0.8, -0.8, -0.1)),
    Reach(6.95, ("left",), (0.46, 1.62, -0.36), (0.05, -0.02, -0.03), 30, (-4, 36, 6), (72, -8), (0.1, -1.0, 0.2)),
    Reach(8.85, ("left", "right"), (0.13, 1.28, 0.66), (0.0, -0.02, 0.06), 0, (12, 0, 0), (0, 6), (0.6, -0.9, -0.1)),
)
# fmt: on


def reach(body: Humanoid | None = None, duration: float | None = None, fps: float = 60.0) -> Motion:
    """Reaches in five directions without a step; it closes on itself after 10.4 s."""
    puppet = puppet_for(body, PERIOD, duration, fps, closed=True)
    t = puppet.times % PERIOD
    _trunk(puppet, t)
    puppet.follow({side: _footwork(puppet, sign) for side, sign in SIDES}, knee_out=0.14)
    for side, sign in SIDES:
        _arm(puppet, side, sign, t)
    return puppet.motion("reach", fps)


def _fraction(t: Floats, move: Reach, lead: float = 0.0) -> Floats:
    """How far a reach has got, 0 to 1 and back; earlier by `lead` seconds."""
    return pulse(t + lead, move.time, move.rise, move.rise, hold=0.22, period=PERIOD)


def _trunk(puppet: Puppet, t: Floats) -> None:
    s, phase = puppet.size, t / PERIOD
    breath = wave(phase, (3, 1.0, 0.0))
    sway = np.stack([wave(phase, (2, 0.006, 0.1)), -0.006 + 0.002 * breath, wave(phase, (3, 0.005, 0.6))], axis=-1)
    yaw, trunk, gaze = 0 * t, np.stack([2.0 + 0.8 * breath, 0 * t, 0 * t], axis=-1), np.zeros((len(t), 2))
    for move in REACHES:
        fraction = _fraction(t, move, lead=0.06)
        sway += fraction[:, None] * np.array(move.hips)
        yaw += _fraction(t, move, lead=0.03) * move.yaw
        trunk += _fraction(t, move)[:, None] * np.array(move.trunk)
        gaze += _fraction(t, move, lead=0.24)[:, None] * np.array(move.gaze)
    puppet.hips = np.array([0.0, puppet.standing, 0.0]) + s * sway
    puppet.local["hips"] = yaw_pitch_roll(yaw * DEGREE, trunk[:, 0] * 0.30 * DEGREE, 0.25 * trunk[:, 2] * DEGREE)
    puppet.bend_trunk(trunk * np.array([0.9, 1.0, 1.0]) * DEGREE)
    gaze += np.stack([wave(phase, (4, 2.0, 0.2)), wave(phase, (5, 1.0, 0.5))], axis=-1)
    puppet.look(yaw_pitch_roll(gaze[:, 0] * DEGREE, gaze[:, 1] * DEGREE, 0.3 * trunk[:, 2] * DEGREE))


def _footwork(puppet: Puppet, sign: float) -> Footwork:
    s = puppet.size
    contact = Contact(-np.inf, np.inf, sign * 0.115 * s, 0.0, sign * 11.0 * DEGREE)

    def pitch(t: Floats) -> Floats:
        up = sum(_fraction(t % PERIOD, move, lead=0.04) * move.heels for move in REACHES)
        return np.asarray(-DEGREE * up)

    return Footwork([contact], pitch)


def _arm(puppet: Puppet, side: str, sign: float, t: Floats) -> None:
    """Hangs, follows the trunk loosely while the other hand reaches, and goes out and back on a curved path."""
    s = puppet.span
    mirror = np.array([sign, 1.0, 1.0])
    mine = [(move, _fraction(t, move)) for move in REACHES if side in move.hands]
    # A hanging arm keeps to the vertical, whatever the trunk does.
    shoulder = puppet.position(f"{side}_upper_arm")
    heading = puppet.world("hips")
    loose = np.tile([0.045, -0.545, 0.07], (len(t), 1))
    for move in REACHES:
        if side not in move.hands:
            loose += _fraction(t, move)[:, None] * np.array(move.other)
    loose[:, 2] += wave(t / PERIOD, (3, 0.008, 0.1 if sign > 0 else 0.3))
    wrist = shoulder + s * rotate(heading, mirror * loose)
    elbow = np.tile([sign * 0.45, -0.15, -1.0], (len(t), 1))
    pronation, lift, open_ = 20.0 + 0 * t, 0 * t, 0 * t
    for move, fraction in mine:
        position = puppet.size * np.array(move.position) * (mirror if len(move.hands) == 2 else 1.0)
        wrist = toward(wrist, np.broadcast_to(position, wrist.shape), fraction)
        arc = fraction * (1.0 - fraction) * 4.0
        wrist = wrist + s * arc[:, None] * rotate(heading, np.array([sign * 0.07, 0.0, 0.10]))
        up = 1.0 if move.position[1] > 1.5 else 0.0
        elbow += fraction[:, None] * (mirror * np.array(move.elbow) - elbow)
        elbow += arc[:, None] * mirror * np.array([-0.1, -0.7, 0.0])  # low on the way
        pronation += fraction * (38.0 * (1 - up))
        lift += fraction * move.shrug
        open_ += fraction
    puppet.shrug(side, lift * DEGREE, 0.5 * lift * DEGREE)
    bend = np.stack([-0.06 + 0.25 * open_, 0 * t, 0 * t], axis=-1)
    puppet.reach_arm(side, wrist, elbow, pronation * DEGREE, bend)
    puppet.close_hand(side, 0.22 - 0.16 * open_)
