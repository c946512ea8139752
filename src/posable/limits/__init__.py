"""Limits of joints: intervals, hinges, spherical ellipses and spline cones, and the limits of a human body.

`Limits.human()` limits canonical rotations by role: the identity is the H-Anim neutral pose (arms hanging, palms
in).
"""

from ..compute.arguments import explain_mistakes
from .limits import JointLimit, Limits
from .shapes import Cone, Ellipse, Hinge, Interval

__all__ = ["Cone", "Ellipse", "Hinge", "Interval", "JointLimit", "Limits"]

explain_mistakes(__name__)
