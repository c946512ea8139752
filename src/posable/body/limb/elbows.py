"""An elbow that went into the torso is swivelled out of it (Unzueta et al. 2008, section 8, Figs. 8 and 9).

The paper measures how deep the arm around the elbow lies in the torso and answers in two ways. A bent arm is rotated
about the line from shoulder to hand, step by step, each by the depth over the length of the upper arm (its factor k is
1), so the hand stays where it is. A stretched arm has no such circle: the upper arm is rotated by the angle that
carries the deepest point to the outside, again and again, and the forearm follows to where the hand should be, which it
may then miss.

Decided here: depths come from our own volumes instead of mesh vertices, in the shortest direction instead of one in the
spine joint's plane; a step is half a degree longer than the paper's, which alone would only ever approach the surface;
a bent arm that does not get out on the side the depth points to tries the other one, and the answer says when neither
helps. Limits are not considered: `Limb.solve` does that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...collision.kernels import depth, overlaps
from ...compute import batch, kernel, prange
from ...compute.types import Bools, Floats, Quat, Records, Vec3
from ...limb.kernels import Reach, base_at, base_towards, forearm, reach_of, values_of, wrist_of
from ...math.quaternion import axis_angle, mul, rotate
from ...math.vector import cross, dot, norm, sub, unit
from ..collision.clearance import limb_links, limb_obstacles

if TYPE_CHECKING:
    from ...skeleton import Pose
    from ..humanoid import Humanoid

EXTRA = math.radians(0.5)  # [rad] that a step is longer than the paper's
STEPS = 200  # of half a degree at least: enough for half a turn to either side
STRETCHED = 0.1  # an elbow whose circle is smaller than this, in upper arms, is a stretched arm's

ELBOW = np.dtype(
    [(name, "f8") for name in ("swivel_change", "position_error", "depth")] + [("changed", "i8")], align=True
)
"""What `elbow_rows` reports: the fields of `ElbowSolution`."""


@dataclass(frozen=True, eq=False)
class ElbowSolution:
    """An arm (or leg) taken out of the trunk."""

    pose: Pose
    swivel_change: Floats
    """(...) [rad] by which a bent limb was swivelled; 0 for a stretched one and where nothing was to do."""
    position_error: Floats
    """(...) [m] by which the end joint now misses where it was; 0 unless the limb is stretched."""
    depth: Floats
    """(...) [m] that is left; at most 0 where it is out."""
    changed: Bools
    """(...) whether the pose was changed."""

    @property
    def ok(self) -> Bools:
        """(...) whether the limb is out of the trunk."""
        return np.asarray(self.depth <= 0.0)


def elbow_out(body: Humanoid, limb: str, pose: Pose) -> ElbowSolution:
    """`Humanoid.elbow_out`."""
    part = body.limb(limb)
    frames = body.skeleton.forward(pose)
    reading = part.read(pose, frames)
    made = limb_links(body, limb)
    trunk = np.isin(body.volumes.packed["joint"][made.obstacles], body.spine)
    rows = np.ascontiguousarray(limb_obstacles(body, limb, frames)[..., trunk])
    n = math.prod(pose.shape)
    values, report = np.empty((n, 7)), np.empty(n, ELBOW)
    model = part.packed.copy()
    model["limited"] = 0  # a captured arm may be bent further than the limits say, and keeps its bend
    elbow_rows(
        *(n, model, made.links, made.groups, rows.reshape(n, -1)),
        np.ascontiguousarray(reading.position).reshape(n, 3),
        np.ascontiguousarray(reading.orientation).reshape(n, 4),
        np.ascontiguousarray(reading.swivel).reshape(n),
        *(values, report),
    )
    found = report.reshape(pose.shape)
    changed = np.asarray(found["changed"] > 0)
    posed = part.pose(pose, values.reshape(*pose.shape, 7), reading)
    new_pose = pose.replace(rotations=np.where(changed[..., None, None], posed.rotations, pose.rotations))
    return ElbowSolution(new_pose, found["swivel_change"], found["position_error"], found["depth"], changed)


@kernel
def limb_depth(
    limb: Any, links: Records, groups: Records, obstacles: Records, base: Quat, bend: float, twist: Quat
) -> tuple[float, Vec3]:
    """(how deep [m] the upper and lower part of a limb lie in obstacles, beyond their softness; the direction out)."""
    mid = rotate(base, (0.0, 0.0, limb["upper"]))
    middle = mul(forearm(limb, base, bend), twist)
    worst, direction = 0.0, (0.0, 0.0, 0.0)
    for k in range(groups[1]["last"]):
        p, q = (0.0, 0.0, 0.0), base
        if k >= groups[1]["first"]:
            p, q = mid, middle
        for o in range(obstacles.shape[0]):
            row = obstacles[o]
            if (row["spares"] >> k) & 1 == 0 and overlaps(links[k], p, q, row, 0.0):
                deep, n = depth(links[k], p, q, row)
                if deep - row["softness"] > worst:
                    worst, direction = deep - row["softness"], n
    return worst, direction


@kernel
def swivelled_out(
    limb: Any, links: Records, groups: Records, obstacles: Records, reach: Reach, swivel: float, orientation: Quat
) -> tuple[float, float]:
    """(swivel at which a bent limb is out, depth that is left [m]); the old swivel where there is none."""
    side, left, first = 0.0, math.inf, math.inf
    for attempt in range(2):
        angle, travelled = swivel, 0.0
        for _ in range(STEPS):
            base, _ = base_at(limb, reach, angle)
            twist, _, _ = wrist_of(forearm(limb, base, reach[6]), orientation)
            left, direction = limb_depth(limb, links, groups, obstacles, base, reach[6], twist)
            if left <= 0.0:
                return angle, left
            if side == 0.0:  # the side on which the elbow moves out
                first = left
                ahead, _ = base_at(limb, reach, angle + 1e-4)
                z = (0.0, 0.0, 1.0)
                side = 1.0 if dot(direction, sub(rotate(ahead, z), rotate(base, z))) >= 0.0 else -1.0
            step = left / limb["upper"] + EXTRA
            travelled += step
            angle += side * step
            if travelled > math.pi:
                break
        side = -side
        if attempt == 1:
            break
    return swivel, first


@kernel
def swung_out(
    limb: Any, links: Records, groups: Records, obstacles: Records, target: Vec3, base: Quat, bend: float, hand: Quat
) -> tuple[Quat, float, float]:
    """(base, |v3|, depth that is left [m]) of a stretched limb whose upper part is swung out, the lower following."""
    left = math.inf
    for _ in range(STEPS):
        twist, _, _ = wrist_of(forearm(limb, base, bend), hand)
        left, direction = limb_depth(limb, links, groups, obstacles, base, bend, twist)
        if left <= 0.0:
            break
        bone = rotate(base, (0.0, 0.0, 1.0))
        axis = cross(bone, direction)
        if norm(axis) < 1e-9:  # the direction out is along the bone: rotating does not help
            break
        swing = axis_angle(unit(axis), left / limb["upper"] + EXTRA)
        bone = rotate(swing, bone)
        rest = sub(target, (bone[0] * limb["upper"], bone[1] * limb["upper"], bone[2] * limb["upper"]))
        normal = cross(bone, rest)
        if norm(normal) > 1e-9:
            y = unit(normal)
            base, _ = base_towards(bone, (limb["flex"] * y[0], limb["flex"] * y[1], limb["flex"] * y[2]))
        else:
            base = mul(swing, base)
        bend = math.atan2(norm(normal), dot(bone, rest))
    return base, bend, left


@batch(rows=64)
def elbow_rows(
    n: int,
    limb: Records,
    links: Records,
    groups: Records,
    obstacles: Records,
    position: Floats,
    orientation: Floats,
    swivel: Floats,
    values: Floats,
    report: Records,
) -> None:
    """Fill the values (N, 7) of a limb out of its obstacles (N, O), and `report` (N,) of `ELBOW`."""
    for i in prange(n):
        model = limb[0]
        e = (position[i, 0], position[i, 1], position[i, 2])
        hand = (orientation[i, 0], orientation[i, 1], orientation[i, 2], orientation[i, 3])
        reach = reach_of(model, e)
        base, _ = base_at(model, reach, swivel[i])
        bend, angle, change = reach[6], swivel[i], 0.0
        twist, swing, _ = wrist_of(forearm(model, base, bend), hand)
        left, _ = limb_depth(model, links, groups, obstacles[i], base, bend, twist)
        deep = left
        if left > 0.0:
            if reach[5] > STRETCHED * model["upper"]:
                angle, left = swivelled_out(model, links, groups, obstacles[i], reach, swivel[i], hand)
                base, _ = base_at(model, reach, angle)
                change = angle - swivel[i]
            else:
                base, bend, left = swung_out(model, links, groups, obstacles[i], e, base, bend, hand)
            twist, swing, _ = wrist_of(forearm(model, base, bend), hand)
        v = values_of(model, base, bend, twist, swing)
        for k in range(7):
            values[i, k] = v[k]
        mid, arm = rotate(base, (0.0, 0.0, model["upper"])), rotate(forearm(model, base, bend), (0.0, 0.0, 1.0))
        end = (mid[0] + arm[0] * model["lower"], mid[1] + arm[1] * model["lower"], mid[2] + arm[2] * model["lower"])
        result = report[i]
        result["swivel_change"], result["depth"], result["changed"] = change, left, deep > 0.0
        result["position_error"] = norm(sub(end, e)) if deep > 0.0 else 0.0
