"""The input and output of the kernels of Sequential IK: the rig, the rows of a batch, and the state of a track."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..body.collision.clearance import limb_links
from ..body.measures import sole_of
from ..body.packed import PackedBody
from ..collision.kernels import GROUP, OBSTACLE
from ..collision.surfaces import PLANE
from ..collision.volumes import PACKED
from ..compute.types import Floats, Ints, Records
from ..limb.solve import REPORT
from .model import LIMBS, Trunk

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..body import Humanoid
    from ..collision import Scene
    from ..limits import Limits

HIPS, HEAD, LEFT_HAND, RIGHT_HAND, LEFT_FOOT, RIGHT_FOOT = range(6)  # of `MARKERS`: what every body has
LEFT_ELBOW, RIGHT_ELBOW, LEFT_KNEE, RIGHT_KNEE, CHEST = range(6, 11)  # what may be known besides
SLOTS = 11
BETWEEN = ("left_lower_arm", "right_lower_arm", "left_lower_leg", "right_lower_leg")
"""Roles of the slots from `LEFT_ELBOW` on; those of `LIMBS` in the same order."""
ROTATION_RATE = SWIVEL_RATE = 4.0 * np.pi  # [rad/s]: faster is a pop, not a person
CHESTS = ("chest", "upper_chest")
"""Roles that the last slot may have."""


class Figure(NamedTuple):
    """The rig: how canonical orientations drive its joints, and its four limbs (left and right arm and leg)."""

    joints: Records
    drive: Records
    """This and the next six: `PackedBody`."""
    limbs: Records
    limits: Records
    curves: Floats
    bones: Floats
    driven: Records
    remainders: Floats
    splits: Ints
    """(2, 5) where the limbs begin in `links` and in `own`."""
    tracked: Ints
    """(2, 11) which of the given points belongs to a slot, or -1; the slot's joint, -1 where it is not requested."""
    home: Floats
    """(3,) [m]: where the root is at rest."""
    stance: Floats
    """(9, 3) [m]: hips to head, hips to left and right ankle in the neutral pose; heel and tip of the left and right
    sole from the ankle; heights of the floor and of the standing hips, length of a leg; and largest rates [rad/s]
    of the pelvis, and of an elbow or knee about its limb, from frame to frame."""
    links: Records
    """Volumes of the limbs, one limb after the other."""
    groups: Records
    """(4, 3); of a hand or foot: none."""
    volumes: Records
    """(V,) of the body."""
    own: Records
    """Obstacles that the body itself is to its limbs, one limb after the other."""
    around: Records
    """Obstacles of the scene, in the world."""


class Rows(NamedTuple):
    """A row a pose."""

    points: Floats
    """(N, M, 3) [m] as given."""
    marker_orientations: Floats
    """(N, 6, 4) canonical orientations in the world of the six, NaN where unknown; or no rows."""
    goals: Floats
    """(N, 11, 3) [m] where the slots should be: given, bridged or estimated; NaN where nobody knows; scratch."""
    target_orientations: Floats
    """(N, 6, 4) target orientations, NaN where any will do; scratch; or no rows."""
    orientations: Floats
    """(N, K, 4) canonical, of everything that is driven; scratch."""
    trunk: Floats
    """(N, S + 2, 4) canonical orientations of the spine's joints and the clavicles; scratch."""
    spine: Floats
    """(N, S, 3) [m] positions of the spine's joints; scratch."""
    translation: Floats
    rotations: Floats
    positions: Floats
    world: Floats
    values: Floats
    """(N, 7) scratch."""
    offsets: Floats
    """No rows."""
    residual: Floats
    """(N, M) [m]."""
    missing: Floats
    """(N, 6) [rad] between requested orientations and the body's; NaN where none was; or no rows."""
    status: Ints
    """(N,)."""
    heading: Floats
    """(N, 3) X of the pelvis."""
    report: Records
    """(N,) scratch."""
    obstacles: Records
    """(N, O) of one limb, in its frame; scratch."""
    guess: Floats
    """(N, 4, 7) a prior's guess: positions of elbows and knees [m], orientations of hands and feet; or no rows."""
    work: Floats
    """(T, W) scratch of a prior, a row a track."""


# The state of a track after its last frame, a row of numbers each. Where each part begins:
HEADING = 0  # X of the pelvis; zero before the first frame
POLES = 3  # (4, 3) where elbows and knees pointed, in their limb's frame; zero: unknown
FEET = 15  # (2, 7) of feet nobody tracks: where they are, where their step began, how much of it is done (1: all)
GOALS = 29  # (11, 3) [m] the last goals; NaN: none
SPEED = 62  # (11, 3) [m/s] relative to the body as a whole
GAP = 95  # (11, 3) [m] by which a point was off when it returned
SINCE = 128  # (11,) [s] since it returned; below 0: it is lost
ORIENTATION, ORIENTATION_GAP, ORIENTATION_SINCE = 139, 163, 187  # (6, 4), (6, 4), (6,): the same of orientations
YAW_RATE = 193  # [rad/s] yaw rate of the body, smoothed
PAST, PAST_ROOM = 194, 68  # for a prior: clock [s], samples, newest; then (68, 19): time [s] and the six goals [m]
PAPER_SPINE, MAX_JOINTS = (
    PAST + 3 + 19 * PAST_ROOM,
    64,
)  # for the paper's spine: pelvis, chord, normal; (64, 4) bends
STATE_SIZE = PAPER_SPINE + 10 + 4 * MAX_JOINTS


def new_state(tracks: int) -> Floats:
    """(T, `STATE_SIZE`) the memory of tracks that have not begun."""
    out = np.zeros((tracks, STATE_SIZE))
    out[:, FEET:SPEED] = out[:, ORIENTATION:ORIENTATION_GAP] = np.nan
    out[:, SINCE:ORIENTATION] = out[:, ORIENTATION_SINCE:YAW_RATE] = np.inf
    out[:, ORIENTATION_GAP:ORIENTATION_SINCE:4] = 1.0
    return out


NO_STATE = new_state(0)


def rows_of(
    figure: Figure, trunk: Trunk, obstacles: int, points: Floats, orientations: Floats, work: tuple[int, int] = (0, 0)
) -> Rows:
    """Rows for so many points, nothing in them yet; `obstacles` is the most of a limb, `work` a prior's scratch."""
    n, joints, spine = len(points), len(figure.joints), len(trunk.offsets)
    return Rows(
        points,
        orientations,
        np.empty((n, SLOTS, 3)),
        np.empty(orientations.shape),
        np.empty((n, len(trunk.slots), 4)),
        np.empty((n, spine + 2, 4)),
        np.empty((n, spine, 3)),
        np.empty((n, 3)),
        np.empty((n, joints, 4)),
        np.empty((n, joints, 3)),
        np.empty((n, joints, 4)),
        np.empty((n, 7)),
        np.empty((0, joints, 3)),
        np.empty((n, points.shape[1])),
        np.full(orientations.shape[:2], np.nan),
        np.empty(n, np.int64),
        np.empty((n, 3)),
        np.zeros(n, REPORT),
        np.empty((n, obstacles), OBSTACLE),
        np.empty((n if work[0] else 0, 4, 7)),
        np.empty(work),
    )


def figure_of(
    body: Humanoid,
    limits: Limits | str | None,
    markers: Sequence[str],
    scene: Scene | None,
    elbows_out: bool,
    limit_rates: bool,
) -> Figure:
    """The rig of a body whose `markers` are tracked."""
    from ..body.roles import MARKERS

    packed = body.packed if limits == "body" else PackedBody(body, limits)
    chest = next((role for role in markers if role in CHESTS), "")
    roles = (*MARKERS, *BETWEEN, chest)
    columns = [markers.index(role) if role in markers else -1 for role in roles]
    links, groups, volumes, own, splits = _volumes(body, scene, elbows_out)
    stance = _stance(body, scene)
    stance[8, :2] = (ROTATION_RATE, SWIVEL_RATE) if limit_rates else np.inf
    return Figure(
        packed.joints,
        packed.drive,
        packed.limbs,
        packed.limits,
        packed.curves,
        packed.bones,
        packed.driven,
        packed.remainders,
        splits,
        np.array([columns, [body.roles.get(role, -1) for role in roles]]),
        np.array(body.neutral_pose.translation),
        stance,
        links,
        groups,
        volumes,
        own,
        np.zeros(0, OBSTACLE) if scene is None else np.array(scene.packed),
    )


def _stance(body: Humanoid, scene: Scene | None) -> Floats:
    """How a body stands: see `Figure.stance`."""
    positions = body.skeleton.forward(body.neutral_pose).positions
    hips = positions[body.roles["hips"]]
    out = np.zeros((9, 3))
    out[0] = positions[body.roles["head"]] - hips
    for k, side in enumerate(("left", "right")):
        sole = sole_of(body, side)
        out[1 + k] = positions[body.roles[f"{side}_foot"]] - hips
        out[3 + 2 * k], out[4 + 2 * k] = (0.0, -sole.depth, -sole.heel), (0.0, -sole.depth, sole.tip)
    around = np.zeros(0, OBSTACLE) if scene is None else scene.packed
    floors = around[(around["kind"] == PLANE) & (around["ey"] > 0.99)]
    floor = float(floors["py"].max()) if len(floors) else 0.0
    out[7] = floor, float((-out[1:3, 1] - out[[3, 5], 1]).mean()), body.leg_length
    return out


def _volumes(body: Humanoid, scene: Scene | None, elbows_out: bool) -> tuple[Records, Records, Records, Records, Ints]:
    """`links`, `groups`, `volumes`, `own` and `splits` of `Figure`. Hands and feet are left out: they stay on their
    points. An arm keeps out of the trunk up to the joint that carries it.
    """
    links, groups, own = [np.zeros(0, PACKED)], np.zeros((4, 3), GROUP), [np.zeros(0, OBSTACLE)]
    torso = body.spine[: body.chest + 1]
    for k, name in enumerate(LIMBS if elbows_out or scene is not None else ()):
        made = limb_links(body, name)
        links.append(made.links)
        groups[k, :2] = made.groups[:2]
        trunk = np.isin(body.volumes.packed["joint"][made.obstacles], torso)
        own.append(made.own[trunk & elbows_out & (k < 2)])
    splits = np.zeros((2, 5), np.int64)
    for row, parts in enumerate((links, own)):
        splits[row] = np.resize(np.cumsum([len(part) for part in parts]), 5)
    volumes = np.array(body.volumes.packed) if len(links) > 1 else np.zeros(0, PACKED)
    return np.concatenate(links), groups, volumes, np.concatenate(own), splits
