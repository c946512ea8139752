"""Joint limits."""

import numpy as np

import posable as ps
from posable.limits import Cone, Ellipse, Hinge, Interval, JointLimit

from ..calls import call
from ..inputs import directions, rotations


def _turns(count: int, seed: int) -> np.ndarray:
    """(count, 4): rotations of up to half a turn, small ones as often as large ones."""
    angles = np.random.default_rng(seed).uniform(0.0, np.pi, count)
    return ps.math.axis_angle(directions(count, seed), angles)


@call()
def human_limits():
    limits = ps.Limits.human()
    names = limits.names
    q = _turns(4 * len(names), 0).reshape(4, len(names), 4)
    start = _turns(4 * len(names), 1).reshape(4, len(names), 4)
    return {
        "names": names,
        "contains": limits.contains(names, q),
        "loosely": limits.contains(names, q, tolerance=0.3),
        "excess": limits.excess(names, q),
        "clamp": limits.clamp(names, q),
        "quick": limits.clamp(names, q, approximate=True),
        "clamp_from": limits.clamp_from(names, start, q),
        "slack": limits.slack(names, start),
    }


@call()
def one_joint():
    limits = ps.Limits.human()
    q = np.concatenate([_turns(30, 2), [[0, 0, 0, 0], [np.nan, 0, 0, 0], [1.0, 0, 0, 0]]])
    found = {}
    for role in ("left_upper_arm", "right_upper_arm", "left_lower_arm", "right_upper_leg", "head", "chest"):
        found[role] = {
            "clamp": limits.clamp(role, q),
            "excess": limits.excess(role, q),
            "contains": limits.contains(role, q),
        }
    return found


@call()
def shapes_of_limits():
    cone = Cone.from_degrees({-180.0: 30.0, -90.0: 45.0, 0.0: 60.0, 90.0: 100.0, 180.0: 30.0})
    ellipse = Ellipse.from_ranges((-0.4, 0.9), (-0.7, 0.3))
    made = ps.Limits(
        {
            "left_hand": JointLimit(ellipse, Interval(-0.5, 1.0)),
            "left_upper_arm": JointLimit(cone, Interval(-1.0, 0.5)),
            "left_lower_arm": JointLimit(Hinge(0.0, 2.4, 0.1), None, axis=(-1.0, 0.0, 0.0)),
            "head": JointLimit(None, Interval(-1.2, 1.2), direction=(0.0, 1.0, 0.0)),
        }
    )
    q = _turns(16 * 4, 3).reshape(16, 4, 4)
    scaled = made.replace(left_hand=JointLimit(ellipse, Interval(-0.5, 1.0)).scaled(0.5))
    return {
        "clamp": made.clamp(made.names, q),
        "excess": made.excess(made.names, q),
        "quick": made.clamp(made.names, q, approximate=True),
        "scaled": scaled.clamp("left_hand", q[:, 0]),
        "mirrored": made.mirrored().clamp(made.mirrored().names, q),
        "cone": cone.limit(np.linspace(-3.0, 3.0, 13)),
        "boundary": ellipse.boundary(np.linspace(0.0, 6.0, 13)),
        "interval": Interval(-0.5, 1.0).clamp(np.linspace(-4.0, 4.0, 9)),
    }


@call()
def limits_of_spines():
    trunk = ps.Limits.for_spine([0.11, 0.11, 0.12, 0.09], 3)
    q = rotations(7, 4) * 0.2 + [1.0, 0, 0, 0]
    q /= np.linalg.norm(q, axis=-1, keepdims=True)
    made = ps.Limits({f"joint{k}": limit for k, limit in enumerate(trunk)})
    return {"clamp": made.clamp(made.names, q), "excess": made.excess(made.names, q)}


@call()
def many_rows():
    """Enough rows to be shared between threads."""
    limits, q, start = ps.Limits.human(), _turns(2000, 5), _turns(2000, 6)
    return {
        "clamp": limits.clamp("left_upper_arm", q),
        "excess": limits.excess("left_upper_arm", q),
        "contains": limits.contains("left_upper_arm", q),
        "clamp_from": limits.clamp_from("left_upper_arm", start, q),
    }
