"""Walking and running by formula.

Timing and shape follow published gait data (Winter 1991; Perry and Burnfield 2010; Novacheck 1998 for running): stance
lasts 62 % of a walking cycle and 36 % of a running one; the foot lands on its heel, lies flat, and rolls over its ball;
the pelvis rises and sinks twice a cycle, sways towards the standing leg, drops on the swinging side and turns with the
leg that goes forward, while the shoulders turn against it; arms swing against the legs with their elbows a little late
(Murray 1967). Amplitudes are our own fits in terms of those curves. Lengths scale with the leg and times with the root
of its length, so that a child walks with a child's cadence.
"""

from __future__ import annotations

import numpy as np

from ..compute.types import Floats
from ..skeleton import Motion
from .choreography import SIDES, Contact, FootPath, Puppet, eased, foot_path, wave, yaw_pitch_roll
from .humanoid import Humanoid

DEGREE = np.pi / 180.0
LEG = 0.859  # of the built-in figure [m], for which lengths below are written


def walk(body: Humanoid | None = None, duration: float | None = None, fps: float = 60.0) -> Motion:
    """A relaxed walk along +Z, 1.3 m/s for a person of 1.75 m."""
    puppet, cycle = _gait_puppet(body, duration, fps, cycle=1.1, cycles=4)
    scale = puppet.leg / LEG
    stride = 1.40 * scale
    phase = puppet.times / cycle
    _walking_trunk(puppet, phase, stride, scale)
    for side, sign in SIDES:
        shift = 0.0 if side == "left" else 0.5
        puppet.stand(side, _walking_foot(puppet, side, sign, shift, cycle, stride, scale))
        _walking_arm(puppet, side, (phase - shift) % 1.0)
    return puppet.motion("walk", fps)


def _walking_trunk(puppet: Puppet, phase: Floats, stride: float, scale: float) -> None:
    """Pelvis, spine and head; phase 0 is the left heel's contact."""
    bob = wave(phase, (2, 0.021 * scale, 0.62))  # highest over the standing leg, lowest with both feet down
    surge = wave(phase, (2, 0.012 * scale, 0.05))
    sway = wave(phase, (1, 0.022 * scale, 0.30))  # towards the standing leg: left first
    puppet.hips = np.stack([sway, puppet.standing - 0.030 * scale + bob, stride * phase + surge], axis=-1)
    turn = wave(phase, (1, -5.0 * DEGREE, 0.0))  # the left side is forward when the left heel lands
    drop = wave(phase, (1, 4.2 * DEGREE, 0.17), (3, 0.8 * DEGREE, 0.4))
    tilt = 2.0 * DEGREE + wave(phase, (2, 1.2 * DEGREE, 0.1))
    puppet.local["hips"] = yaw_pitch_roll(turn, tilt, drop)
    against = wave(phase, (1, 9.5 * DEGREE, 0.02))  # shoulders turn against the pelvis
    lean = 1.5 * DEGREE + wave(phase, (2, 0.9 * DEGREE, 0.35))
    side = wave(phase, (1, -5.0 * DEGREE, 0.18))
    puppet.bend_trunk(np.stack([lean, against, side], axis=-1))
    nod = 1.0 * DEGREE + wave(phase, (2, 1.4 * DEGREE, 0.55))
    puppet.look(yaw_pitch_roll(wave(phase, (1, 1.0 * DEGREE, 0.1)), nod, 0.0))


def _walking_foot(
    puppet: Puppet, side: str, sign: float, shift: float, cycle: float, stride: float, scale: float
) -> FootPath:
    first = int(np.floor(puppet.times[0] / cycle)) - 2
    last = int(np.ceil(puppet.times[-1] / cycle)) + 2
    ahead, apart, out = 0.345 * scale, 0.052 * scale, 5.0 * DEGREE
    contacts = [
        Contact((k + shift) * cycle, (k + shift + 0.62) * cycle, sign * apart, (k + shift) * stride + ahead, sign * out)
        for k in range(first, last + 1)
    ]
    # Degrees of the foot against the floor: heel first, flat, up on the ball, swung through.
    knots = np.array([0.0, 0.08, 0.30, 0.42, 0.52, 0.62, 0.68, 0.80, 0.90, 0.96, 1.0])
    angles = np.array([21.0, 0.0, 0.0, -9.0, -28.0, -60.0, -66.0, -22.0, 14.0, 22.0, 21.0]) * DEGREE

    def pitch(t: Floats) -> Floats:
        return eased((t / cycle - shift) % 1.0, knots, angles)

    return foot_path(puppet.times, contacts, pitch, puppet.soles[side], lift=0.012 * scale)


def _walking_arm(puppet: Puppet, side: str, phase: Floats) -> None:
    """Phase 0 is the contact of the heel on the same side, when the arm is back."""
    flexion = -6.0 * DEGREE + wave(phase, (1, -20.0 * DEGREE, 0.02), (2, 2.0 * DEGREE, 0.1))
    elbow = 24.0 * DEGREE + wave(phase, (1, -12.0 * DEGREE, 0.09), (2, 2.5 * DEGREE, 0.2))
    abduction = 6.5 * DEGREE + wave(phase, (2, 1.0 * DEGREE, 0.0))
    inward = 14.0 * DEGREE + wave(phase, (1, -5.0 * DEGREE, 0.05))
    puppet.arm_angles(side, flexion, abduction, inward, elbow, 16.0 * DEGREE)
    sign = 1.0 if side == "left" else -1.0
    girdle = np.stack([0 * phase, sign * wave(phase, (1, 2.5 * DEGREE, 0.03)), 0 * phase], axis=-1)
    from ..math import exp

    puppet.local[f"{side}_shoulder"] = exp(girdle)
    flap = np.stack([-6.0 * DEGREE + wave(phase, (1, 6.0 * DEGREE, 0.16)), 0 * phase, 0 * phase], axis=-1)
    puppet.local[f"{side}_hand"] = exp(flap)


def _gait_puppet(
    body: Humanoid | None, duration: float | None, fps: float, cycle: float, cycles: int
) -> tuple[Puppet, float]:
    """A puppet with its times, and the seconds of a cycle on its legs; without a duration, whole cycles that close."""
    if body is None:
        from .hanim import figure

        body = figure()
    seconds = cycle * np.sqrt(Puppet(body, np.zeros(1)).leg / LEG)
    if duration is None:
        frames = max(1, round(cycles * seconds * fps))
        seconds = frames / fps / cycles  # so that the frame after the last is the first, further on
        return Puppet(body, np.arange(frames) / fps), seconds
    return Puppet(body, np.arange(round(duration * fps) + 1) / fps), seconds
