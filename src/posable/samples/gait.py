"""Walking and running by formula.

Timing and shape follow published gait data (Winter 1991; Perry and Burnfield 2010; Novacheck 1998 for running): stance
lasts 62 % of a walking cycle and 36 % of a running one; the foot lands on its heel, lies flat, and rolls over its ball;
hip and knee of the swinging leg follow the published curves; the pelvis rises and sinks twice a cycle, sways towards
the standing leg, drops on the swinging side and turns with the leg that goes forward, while the shoulders turn against
it; arms swing against the legs with their elbows a little late (Murray 1967). The numbers below are our own readings
and fits of those curves. Lengths scale with the leg and times with the root of its length, so that a child walks with
a child's cadence.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..body.humanoid import Humanoid
from ..compute.types import Floats
from ..math import exp
from ..skeleton import Motion
from .choreography import LEG, SIDES, Contact, Footwork, Puppet, puppet_for
from .curves import DEGREE, curve, eased, wave, yaw_pitch_roll

Terms = tuple[tuple[int, float, float], ...]


@dataclass(frozen=True)
class Gait:
    """The numbers of a gait. Phases go from 0 to 1, 0 at the left foot's contact; lengths in metres for `LEG`.

    Series are terms (harmonic, amplitude, shift) of `curves.wave`; angles in degrees.
    """

    cycle: float
    stride: float
    stance: float
    ahead: float
    """How far the ankle lies ahead of the hips' joint when the foot lands."""
    apart: float
    toes_out: float
    foot: tuple[tuple[float, float], ...]
    """Phase and pitch of the foot against the floor, toes up positive."""
    thigh: tuple[tuple[float, float], ...]
    """Phase and angle of the thigh before the vertical, in the air."""
    knee: tuple[tuple[float, float], ...]
    low: float
    """How far the hips are below standing, on average."""
    bob: Terms
    surge: Terms
    sway: Terms
    pelvis_yaw: Terms
    drop: Terms
    tilt: tuple[float, Terms]
    against: Terms
    lean: tuple[float, Terms]
    side: Terms
    nod: tuple[float, Terms]
    arm: tuple[float, Terms]
    elbow: tuple[float, Terms]
    abduction: float
    inward: tuple[float, Terms]
    pronation: float
    grip: float = 0.0
    """How far the hands are closed, as a fraction of a fist."""


WALK = Gait(
    cycle=1.06,
    stride=1.32,
    stance=0.62,
    ahead=0.308,
    apart=0.052,
    toes_out=5.0,
    foot=(
        *((0, 15.0), (0.035, 6.0), (0.08, 0.0), (0.3, 0.0), (0.4, -6.0), (0.5, -18.0), (0.56, -34.0)),
        *((0.62, -60.0), (0.66, -69.0), (0.71, -63.0), (0.8, -27.0), (0.86, -3.0), (0.93, 14.0), (0.97, 17.0)),
    ),
    thigh=(
        *((0, 25.2), (0.05, 21.5), (0.1, 19.0), (0.3, 0.0), (0.48, -14.0), (0.56, -15.0), (0.62, -12.5)),
        *((0.66, -6.0), (0.7, 2.0), (0.75, 12.5), (0.8, 20.0), (0.87, 27.5), (0.94, 28.7)),
    ),
    knee=(
        *((0, 13.5), (0.05, 17.0), (0.15, 22.0), (0.4, 11.0), (0.5, 17.0), (0.56, 24.0), (0.62, 34.5)),
        *((0.66, 49.0), (0.7, 60.0), (0.75, 65.0), (0.8, 60.5), (0.85, 47.5), (0.9, 32.0), (0.95, 18.5)),
    ),
    low=0.0275,
    bob=((2, 0.015, 0.62),),
    surge=((2, 0.012, 0.05),),
    sway=((1, 0.022, 0.30),),
    pelvis_yaw=((1, -5.0, 0.0),),
    drop=((1, 4.2, 0.17), (3, 0.8, 0.4)),
    tilt=(2.0, ((2, 1.2, 0.1),)),
    against=((1, 9.5, 0.02),),
    lean=(1.5, ((2, 0.9, 0.35),)),
    side=((1, -5.0, 0.18),),
    nod=(1.0, ((2, 1.4, 0.55),)),
    arm=(-6.0, ((1, -20.0, 0.02), (2, 2.0, 0.1))),
    elbow=(24.0, ((1, -12.0, 0.09), (2, 2.5, 0.2))),
    abduction=6.5,
    inward=(14.0, ((1, -5.0, 0.05),)),
    pronation=16.0,
)


RUN = Gait(
    cycle=0.72,
    stride=2.25,
    stance=0.36,
    ahead=0.288,
    apart=0.030,
    toes_out=4.0,
    foot=(
        *((0, 7.0), (0.025, 2.0), (0.05, 0.0), (0.14, 0.0), (0.21, -10.0), (0.29, -32.0), (0.36, -58.0)),
        *((0.43, -88.0), (0.52, -98.0), (0.62, -84.0), (0.72, -52.0), (0.82, -20.0), (0.90, 2.0), (0.96, 9.0)),
    ),
    thigh=(
        *((0, 29.5), (0.05, 23.5), (0.15, 8.0), (0.28, -14.0), (0.36, -23.0), (0.42, -22.0), (0.50, -8.0)),
        *((0.60, 16.0), (0.70, 36.0), (0.78, 45.0), (0.86, 45.0), (0.94, 38.5)),
    ),
    knee=(
        *((0, 21.0), (0.06, 32.0), (0.15, 42.0), (0.28, 26.0), (0.36, 22.0), (0.44, 50.0), (0.52, 82.0)),
        *((0.60, 101.0), (0.67, 103.0), (0.75, 86.0), (0.83, 58.0), (0.91, 36.0), (0.96, 24.0)),
    ),
    low=0.068,
    bob=((2, 0.026, 0.78),),
    surge=((2, 0.010, 0.45),),
    sway=((1, 0.012, 0.20),),
    pelvis_yaw=((1, -7.0, 0.02),),
    drop=((1, 4.0, 0.15),),
    tilt=(6.0, ((2, 2.0, 0.3),)),
    against=((1, 17.0, 0.03),),
    lean=(5.0, ((2, 1.5, 0.4),)),
    side=((1, -4.5, 0.16),),
    nod=(2.0, ((2, 1.5, 0.7),)),
    arm=(-8.0, ((1, -38.0, 0.03), (2, 4.0, 0.1))),
    elbow=(94.0, ((1, -14.0, 0.10), (2, 6.0, 0.2))),
    abduction=15.0,
    inward=(20.0, ((1, -18.0, 0.05),)),
    pronation=8.0,
    grip=0.6,
)


def walk(body: Humanoid | None = None, duration: float | None = None, fps: float = 60.0) -> Motion:
    """A relaxed walk along +Z, 1.3 m/s for a person of 1.75 m."""
    return _gait(WALK, "walk", body, duration, fps, cycles=4)


def run(body: Humanoid | None = None, duration: float | None = None, fps: float = 60.0) -> Motion:
    """An easy run along +Z, 3.1 m/s for a person of 1.75 m, both feet off the floor twice a cycle."""
    return _gait(RUN, "run", body, duration, fps, cycles=6)


def _gait(gait: Gait, name: str, body: Humanoid | None, duration: float | None, fps: float, cycles: int) -> Motion:
    probe = puppet_for(body, 1.0, 1.0, 120.0, closed=False)  # one cycle, its times being phases
    scale = probe.leg / LEG
    cycle = gait.cycle * float(np.sqrt(scale))
    puppet = puppet_for(probe.body, cycles * cycle, duration, fps, closed=True)
    if duration is None:
        cycle = len(puppet.times) / fps / cycles  # so that the frame after the last is the first, further on
    _trunk(probe, gait, probe.times, scale)
    feet = {side: _footwork(probe, gait, side, cycle, cycle) for side, _ in SIDES}
    drop = probe.settle({side: foot.path(probe.times * cycle, probe.soles[side]) for side, foot in feet.items()})
    gait = replace(gait, low=gait.low + drop / scale)
    _trunk(puppet, gait, puppet.times / cycle, scale)
    for side, sign in SIDES:
        foot = _footwork(probe, gait, side, cycle, float(puppet.times[-1]))
        puppet.stand(side, foot.path(puppet.times, puppet.soles[side]))
        _arm(puppet, gait, side, sign, puppet.times / cycle - (0.0 if side == "left" else 0.5))
    return puppet.motion(name, fps)


def _trunk(puppet: Puppet, gait: Gait, phase: Floats, scale: float) -> None:
    """Pelvis, spine and head; phase 0 is the left foot's contact."""
    up = puppet.standing + scale * (wave(phase, *gait.bob) - gait.low)
    forward = scale * (gait.stride * phase + wave(phase, *gait.surge))
    puppet.hips = np.stack([scale * wave(phase, *gait.sway), up, forward], axis=-1)
    pelvis = _angle(phase, gait.pelvis_yaw), _angle(phase, gait.tilt[1], mean=gait.tilt[0]), _angle(phase, gait.drop)
    puppet.local["hips"] = yaw_pitch_roll(*pelvis)
    lean = _angle(phase, gait.lean[1], mean=gait.lean[0])
    puppet.bend_trunk(np.stack([lean, _angle(phase, gait.against), _angle(phase, gait.side)], axis=-1))
    nod = _angle(phase, gait.nod[1], mean=gait.nod[0])
    puppet.look(yaw_pitch_roll(0.1 * _angle(phase, gait.against), nod, 0.0))


def _footwork(probe: Puppet, gait: Gait, side: str, cycle: float, until: float) -> Footwork:
    """Contacts over all frames, the foot's pitch, and the path of the ankle in the air.

    Args:
        probe: one cycle from phase 0 to 1, its trunk already moving: it says where the hip is.
        gait: the numbers.
        side: "left" or "right".
        cycle: its seconds.
        until: time of the last frame [s].
    """
    from scipy.interpolate import CubicSpline

    sign, shift = (1.0, 0.0) if side == "left" else (-1.0, 0.5)  # shift: the phase of the foot's contact
    scale = probe.leg / LEG
    stride = gait.stride * scale
    steps = range(-2, int(np.ceil(until / cycle)) + 3)
    contacts = [
        Contact(
            start=(k + shift) * cycle,
            end=(k + shift + gait.stance) * cycle,
            x=sign * gait.apart * scale,
            z=(k + shift) * stride + gait.ahead * scale,
            yaw=sign * gait.toes_out * DEGREE,
        )
        for k in steps
    ]
    hip = probe.position(f"{side}_upper_leg") - probe.times[:, None] * np.array([0.0, 0.0, stride])
    hip[-1] = hip[0]  # a cycle apart, equal but for rounding
    ride = CubicSpline(probe.times, hip, bc_type="periodic")
    upper, lower = probe.bone(f"{side}_lower_leg"), probe.bone(f"{side}_foot")

    def pitch(t: Floats) -> Floats:
        knots, angles = np.array(gait.foot).T
        return DEGREE * eased(t / cycle - shift, knots, angles, period=1.0)

    def swing(t: Floats) -> Floats:
        phase = t / cycle
        thigh, knee = (_periodic(phase - shift, points) for points in (gait.thigh, gait.knee))
        down = -upper * np.cos(thigh) - lower * np.cos(thigh - knee)
        ahead = upper * np.sin(thigh) + lower * np.sin(thigh - knee)
        travel = phase * stride
        return np.asarray(ride(phase)) + np.stack([0 * phase, down, ahead + travel], axis=-1)

    return Footwork(contacts, pitch, lift=0.0, swing=swing)


def _arm(puppet: Puppet, gait: Gait, side: str, sign: float, phase: Floats) -> None:
    """Phase 0 is the contact of the foot on the same side, when the arm is back."""
    flexion = _angle(phase, gait.arm[1], mean=gait.arm[0])
    elbow = _angle(phase, gait.elbow[1], mean=gait.elbow[0])
    inward = _angle(phase, gait.inward[1], mean=gait.inward[0])
    puppet.arm_angles(side, flexion, gait.abduction * DEGREE, inward, elbow, gait.pronation * DEGREE)
    none = np.zeros_like(phase)
    girdle = sign * wave(phase, (1, 2.5 * DEGREE, 0.03))
    puppet.local[f"{side}_shoulder"] = exp(np.stack([none, girdle, none], axis=-1))
    flap = wave(phase, (1, 6.0 * DEGREE, 0.16)) - 6.0 * DEGREE  # a loose wrist trails behind
    puppet.local[f"{side}_hand"] = exp(np.stack([flap, none, none], axis=-1))
    if gait.grip:
        puppet.close_hand(side, gait.grip)


def _angle(phase: Floats, terms: Terms, mean: float = 0.0) -> Floats:
    return np.asarray(DEGREE * (mean + wave(phase, *terms)))


def _periodic(phase: Floats, points: tuple[tuple[float, float], ...]) -> Floats:
    knots, angles = np.array(points).T
    return DEGREE * curve(phase, knots, angles, period=1.0)
