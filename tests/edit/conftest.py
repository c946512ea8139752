"""The clips that the specification names, as it measures them: 60 frames a second, bones put back.

What is measured on a clip (residuals, ratios, drift) is measured on the whole of it; the rest on a part that moves.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pytest

import posable as ps
import posable.math as pm
from posable.edit.clip import read_clip, smoothed
from posable.limits import Cone

WINDOWS = {"124_01": (95, 195), "05_02": (280, 380), "09_01": (0, 74)}  # frames at 60 a second: they all move there
DIRECTIONS = np.array([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]], dtype=float)
PAPER = {"mode": "frozen", "scope": "whole"}
"""Drags as the paper has them: with all of the body, by the weights and velocities of the frame."""


@dataclass
class Case:
    """A clip, its body, and its editors, made when first used."""

    name: str
    motion: ps.Motion

    @cached_property
    def body(self):
        return ps.Humanoid(self.motion.skeleton)

    @cached_property
    def editor(self):
        return ps.MotionEditor(self.motion, self.body, limits="clip")

    @cached_property
    def unlimited(self):
        made = ps.MotionEditor(self.motion, self.body, limits=None, contacts=())
        made.logs = self.editor.logs
        return made

    @cached_property
    def bodily(self):
        made = ps.MotionEditor(self.motion, self.body, limits="body")
        made.logs = self.editor.logs
        return made

    @cached_property
    def smooth(self):
        return self.motion.replace(pose=smoothed(self.motion))

    @cached_property
    def clip(self):
        return read_clip(self.motion, self.body)

    def positions_of(self, part, motion=None):
        motion = self.motion if motion is None else motion
        return self.body.skeleton.forward(motion.pose).positions[:, self.body.roles[part]]


@pytest.fixture(scope="session")
def wholes(cmu):
    clips = {name: ps.load(cmu / f"{name}.bvh", repair="cmu", first_frame=1) for name in WINDOWS}
    return {name: Case(name, motion[::2]) for name, motion in clips.items()}


@pytest.fixture(params=list(WINDOWS))
def whole(request, wholes):
    return wholes[request.param]


@pytest.fixture(scope="session")
def cases(wholes):
    return {name: Case(name, wholes[name].motion[slice(*part)]) for name, part in WINDOWS.items()}


@pytest.fixture(params=list(WINDOWS))
def case(request, cases):
    return cases[request.param]


@pytest.fixture
def pitch(cases):
    return cases["124_01"]


def excess(body, limits, pose, left_out=("hips",)):
    """(..., K) [rad]: how far each part with limits is outside of them."""
    posture = body.canonical(pose)
    roles = [role for role in posture.roles if role in limits and role not in left_out]
    return limits.excess(roles, posture.rotations[..., [posture.roles.index(role) for role in roles], :])


def stiffer(limits):
    """The limits of somebody whose elbows, knees, wrists, ankles and spine hardly bend."""
    return limits.replace(
        **{role: limit.scaled(0.01) for role, limit in limits.items() if not isinstance(limit.swing, Cone)}
    )


def degrees_apart(a, b):
    """(..., J): angles between the rotations of two poses."""
    rotation = pm.log(pm.multiply(pm.conjugate(a.rotations), b.rotations))
    return np.degrees(np.linalg.norm(rotation, axis=-1))
