"""A dance by formula: two bars of step and touch, then two of twisting on the balls of the feet, and round again.

It is counted in beats. The body sinks on the beat and rises between; hips go before the shoulders and the head last;
hands move from beat to beat on smooth curves, loosely, a little after the body.
"""

from __future__ import annotations

import numpy as np

from ..body.humanoid import Humanoid
from ..compute.types import Floats
from ..math import rotate
from ..skeleton import Motion
from .choreography import SIDES, Contact, Footwork, Puppet, puppet_for
from .curves import DEGREE, curve, eased, wave, yaw_pitch_roll

BEAT = 0.55
"""Seconds; 109 beats a minute."""
BEATS = 16

# One row a beat. Hands: the wrist beside the middle of the shoulders, in the frame of the chest (x to its own side).
_LEFT_HAND = (
    *((0.44, -0.12, 0.24), (0.22, -0.28, 0.26), (0.04, -0.20, 0.36), (0.22, -0.28, 0.26)),
    *((0.46, 0.28, 0.16), (0.24, -0.20, 0.28), (0.30, -0.34, 0.02), (0.24, -0.22, 0.26)),
    *((0.40, 0.30, 0.14), (0.16, 0.40, 0.16), (0.40, 0.30, 0.14), (0.16, 0.40, 0.16)),
    *((0.34, 0.12, 0.32), (0.30, -0.30, 0.12), (0.34, 0.12, 0.32), (0.24, -0.28, 0.24)),
)
_RIGHT_HAND = (
    *((0.04, -0.20, 0.36), (0.22, -0.28, 0.26), (0.44, -0.12, 0.24), (0.22, -0.28, 0.26)),
    *((0.30, -0.34, 0.02), (0.24, -0.22, 0.26), (0.46, 0.28, 0.16), (0.24, -0.20, 0.28)),
    *((0.16, 0.40, 0.16), (0.40, 0.30, 0.14), (0.16, 0.40, 0.16), (0.40, 0.30, 0.14)),
    *((0.30, -0.30, 0.12), (0.34, 0.12, 0.32), (0.30, -0.30, 0.12), (0.24, -0.26, 0.24)),
)
# Where the weight is, to the left, and the yaw of pelvis and trunk on each beat, to the left.
_WEIGHT = (0.13, 0.15, -0.13, -0.15, 0.13, 0.15, -0.13, -0.12, 0.05, -0.04, 0.05, -0.05, 0.06, -0.06, 0.04, 0.02)
_PELVIS = (12.0, 6.0, -12.0, -6.0, 14.0, 6.0, -14.0, -6.0, 22.0, -22.0, 22.0, -22.0, 24.0, -24.0, 22.0, -6.0)
_TWIST = (-4.0, -10.0, 4.0, 10.0, 6.0, -14.0, -6.0, 12.0, -34.0, 34.0, -34.0, 34.0, -36.0, 36.0, -32.0, 8.0)
_LEAN = (-7.0, 2.0, 7.0, -2.0, -9.0, 2.0, 9.0, -2.0, 5.0, -5.0, 5.0, -5.0, 6.0, -6.0, 5.0, 0.0)


def dance(body: Humanoid | None = None, duration: float | None = None, fps: float = 60.0) -> Motion:
    """Sixteen beats of dancing; it closes on itself after 8.8 s."""
    puppet = puppet_for(body, BEATS * BEAT, duration, fps, closed=True)
    beat = puppet.times / BEAT
    _trunk(puppet, beat)
    puppet.follow({side: _footwork(puppet, side) for side, _ in SIDES}, knee_out=0.10)
    for side, _ in SIDES:
        _arm(puppet, side, beat)
    return puppet.motion("dance", fps)


def _on_beats(beat: Floats, values: tuple[float, ...] | tuple[tuple[float, ...], ...], late: float = 0.0) -> Floats:
    """A smooth closed curve through one value a beat, `late` beats after it."""
    return curve(beat - late, np.arange(BEATS), np.array(values), period=float(BEATS))


def _trunk(puppet: Puppet, beat: Floats) -> None:
    s = puppet.size
    sink = wave(beat, (1, 0.5, 0.0)) + 0.5  # 1 on the beat
    twisting = 0.5 - 0.5 * np.cos(2 * np.pi * np.clip((beat % BEATS - 7.5) / 8.5, 0.0, 1.0))
    x = _on_beats(beat, _WEIGHT, late=0.0)
    low = 0.052 + 0.034 * sink + 0.040 * twisting
    ahead = wave(beat, (1, 0.008, 0.4))
    puppet.hips = np.stack([s * x, puppet.standing - s * low, s * ahead], axis=-1)
    lean = _on_beats(beat, _LEAN)
    pelvis = _on_beats(beat, _PELVIS, late=-0.08)
    puppet.local["hips"] = yaw_pitch_roll(pelvis * DEGREE, (3.0 + 2.5 * sink) * DEGREE, -0.9 * lean * DEGREE)
    bow = 4.0 + 5.0 * (wave(beat, (1, 0.5, 0.10)) + 0.5) + 5.0 * twisting
    trunk = np.stack([bow, _on_beats(beat, _TWIST, late=0.05), 1.7 * lean], axis=-1)
    puppet.bend_trunk(trunk * DEGREE, fractions=(0.40, 0.34, 0.26))
    nod = 3.0 + 5.0 * (wave(beat, (1, 0.5, 0.18)) + 0.5)
    yaw = 0.25 * _on_beats(beat, _TWIST, late=0.25) + wave(beat / BEATS, (2, 5.0, 0.1))
    puppet.look(yaw_pitch_roll(yaw * DEGREE, nod * DEGREE, 0.8 * _on_beats(beat, _LEAN, late=0.2) * DEGREE))
    for side, sign in SIDES:
        up = 5.0 + 4.0 * np.maximum(sign * lean / 6.0, -1.0) + 7.0 * twisting
        puppet.shrug(side, up * DEGREE, 4.0 * DEGREE)


# Beats at which a foot leaves the floor and lands, and where: to its left, ahead.
_LEFT_STEPS = (
    (15.42, 16.0, 0.27, 0.0),
    (2.15, 2.95, -0.10, 0.05),
    (3.42, 4.0, 0.27, 0.0),
    (6.15, 6.95, -0.10, 0.05),
    (7.42, 8.0, 0.17, 0.0),
)
_RIGHT_STEPS = (
    (0.15, 0.95, 0.10, 0.05),
    (1.42, 2.0, -0.27, 0.0),
    (4.15, 4.95, 0.10, 0.05),
    (5.42, 6.0, -0.27, 0.0),
    (8.10, 8.85, -0.17, 0.0),
)


def _footwork(puppet: Puppet, side: str) -> Footwork:
    """Step, touch, step, touch; then both feet stay and turn on their balls, heels light."""
    s, sign = puppet.size, 1.0 if side == "left" else -1.0
    steps = _LEFT_STEPS if side == "left" else _RIGHT_STEPS
    rounds = range(-2, int(np.ceil(puppet.times[-1] / (BEAT * BEATS))) + 2)
    moves = sorted((k * BEATS + up, k * BEATS + down, x, z) for k in rounds for up, down, x, z in steps)
    contacts = [
        Contact(down * BEAT, moves[i + 1][0] * BEAT, x * s, z * s, sign * 12.0 * DEGREE)
        for i, (_, down, x, z) in enumerate(moves[:-1])
    ]
    touches = [(down, moves[i + 1][0]) for i, (_, down, x, _) in enumerate(moves[:-1]) if abs(x) == 0.10]

    def pitch(t: Floats) -> Floats:
        beat = t / BEAT
        b = beat % BEATS
        light = eased(b, [8.0, 9.0, 15.2, 15.42], [0.0, 1.0, 1.0, 0.0])
        heel = light * (9.0 + 6.0 * wave(beat, (1, -1.0, 0.0)))
        for down, up in touches:  # only the ball touches, the heel stays up
            heel = np.maximum(
                heel, 24.0 * eased(beat, [down - 1.05, down - 0.1, up + 0.02, up + 0.55], [0.0, 1.0, 1.0, 0.0])
            )
        return np.asarray(-DEGREE * heel)

    def pivot(t: Floats) -> Floats:
        b = (t / BEAT) % BEATS
        fraction = eased(b, [8.85, 9.6, 15.0, 15.42], [0.0, 1.0, 1.0, 0.0])
        return np.asarray(DEGREE * 18.0 * fraction * np.cos(np.pi * t / BEAT))

    return Footwork(contacts, pitch, pivot, lift=0.05 * s, crest=0.5)


def _arm(puppet: Puppet, side: str, beat: Floats) -> None:
    sign = 1.0 if side == "left" else -1.0
    mirror = np.array([sign, 1.0, 1.0])
    wrist = _on_beats(beat, _LEFT_HAND if side == "left" else _RIGHT_HAND, late=0.10) * mirror
    wrist[:, 1] += 0.02 * wave(beat, (2, 1.0, 0.1))
    high = np.clip((wrist[:, 1] + 0.2) / 0.5, 0.0, 1.0)[:, None]
    low, raised = np.array([0.75, -0.75, -0.45]), np.array([1.0, -0.45, 0.0])
    elbow = rotate(puppet.world("upper_chest"), (low + (raised - low) * high) * mirror)
    swing = wave(beat / 2, (1, 0.18, 0.1 if side == "left" else 0.6))
    bend = np.stack([0.12 + swing, 0 * beat, 0 * beat], axis=-1)
    puppet.reach_arm(side, puppet.chest(wrist), elbow, (25.0 + 15.0 * wave(beat / 2, (1, 1.0, 0.3))) * DEGREE, bend)
    puppet.close_hand(side, 0.25 + 0.12 * wave(beat / 2, (1, 1.0, 0.2)))
