"""The input and output of the kernels of Sequential IK: the figure, the rows of a batch, the state of a track."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..body.collision.clearance import limb_links
from ..body.packed import LIMBS, SIDES, PackedBody
from ..body.roles import MARKERS
from ..collision.kernels import GROUP, OBSTACLE
from ..collision.surfaces import PLANE
from ..collision.volumes import PACKED
from ..compute import kernel
from ..compute.extent import vec_in_extent
from ..compute.gpu_arrays import GpuArray, empty, full, repeated, zeros
from ..compute.types import Floats, Ints, Quat, Records, Vec3
from ..limb.solve import REPORT
from ..math import axis_angle, between, conjugate, multiply, rotate, slerp
from ..math.vector import norm, sub
from ..skeleton.forward import vec_at

if TYPE_CHECKING:
    from ..body import Humanoid
    from ..collision import Scene
    from ..limits import Limits

HIPS, HEAD, LEFT_HAND, RIGHT_HAND, LEFT_FOOT, RIGHT_FOOT = range(6)  # of `MARKERS`: every body has them
LEFT_ELBOW, RIGHT_ELBOW, LEFT_KNEE, RIGHT_KNEE, CHEST, LEFT_SHOULDER, RIGHT_SHOULDER = range(6, 13)  # may be, too
SLOTS = 13
BETWEEN = ("left_lower_arm", "right_lower_arm", "left_lower_leg", "right_lower_leg")
"""Roles of the slots from `LEFT_ELBOW` on, in the order of `LIMBS`."""
CHESTS = ("chest", "upper_chest")
"""Roles that the slot `CHEST` may have."""
SHOULDERS = ("left_upper_arm", "right_upper_arm")
"""Roles of the last slots."""
ROTATION_RATE = SWIVEL_RATE = 4.0 * np.pi  # [rad/s]: faster is a pop, not a person
MAX_BEND = 1.6  # [rad] of the pelvis: specification reconstruct, 4.2
IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])

SETTINGS = np.dtype(
    [(name, "i8") for name in ("paper_spine", "chest", "bending")]
    + [("clavicle_limits", "i8", 2), ("weights", "f8", 3)]
    + [(name, "f8") for name in ("floor", "neutral_chord", "longest_chord", "max_bend", "max_stretch")]
    + [(name, "f8") for name in ("pelvis_rate", "swivel_rate")],
    align=True,
)
"""How a body is reconstructed, one row.

Whether the spine is the paper's to the letter; the row of the spine that is tracked as the chest; how many of the
spine's joints bend; the rows of `Figure.limits` of left and right clavicle (-1: free). The weights of wrists, ankles
and the frame before in the pelvis' heading. Height of the floor [m]; distance from hips to head in the neutral pose
and with the spine as straight as its limits allow [m]; the largest bend of the pelvis [rad] and the largest fraction of
the way to a straight spine inside the limits; the largest rates [rad/s] of the pelvis, and of an elbow or knee about
its limb, from frame to frame."""

PAST_SAMPLES = 68  # half a second at 120 a second, and a few more
SAID = 63  # numbers that a prior says, but for the errors it expects
MAX_JOINTS = 64  # of a spine that is posed by the paper's method; of any that catches up, those nearest the hips

TRACK = np.dtype(
    [
        *(("heading", "f8", 3), ("shown_heading", "f8", 3), ("yaw_rate", "f8"), ("poles", "f8", (4, 3))),
        *(("feet", "f8", (2, 3)), ("step_starts", "f8", (2, 3)), ("step_fractions", "f8", 2)),
        *(("free_feet", "f8", (2, 3)), ("standing", "i8", 2)),
        *(
            ("goals", "f8", (SLOTS, 3)),
            ("velocities", "f8", (SLOTS, 3)),
            ("bridged", "f8", (SLOTS, 3)),
            ("returning", "f8", (SLOTS, 3)),
        ),
        *(("seen", "f8", SLOTS), ("orientations", "f8", (SLOTS, 4)), ("bridged_orientations", "f8", (SLOTS, 4))),
        ("orientation_gaps", "f8", (SLOTS, 4)),
        *(("orientations_seen", "f8", SLOTS), ("clock", "f8"), ("samples", "i8"), ("newest", "i8")),
        *(("sample_times", "f8", PAST_SAMPLES), ("sample_points", "f8", (PAST_SAMPLES, SLOTS, 3))),
        ("sample_orientations", "f8", (PAST_SAMPLES, SLOTS, 4)),
        *(("limb_rotations", "f8", (4, 3, 4)), ("clavicles", "f8", (2, 4)), ("behind", "f8", 6)),
        *(("carriers", "f8", (4, 4)), ("mids", "f8", (4, 3)), ("hips", "f8", 3)),
        *(("known", "i8"), ("since_change", "f8"), ("late", "i8"), ("bends", "f8", (MAX_JOINTS, 4))),
        *(("said", "f8", SAID), ("said_gaps", "f8", SAID)),
        *(("paper_pelvis", "f8", 4), ("paper_chord", "f8", 3), ("paper_normal", "f8", 3)),
    ],
    align=True,
)
"""The state of a track after its last frame.

- `heading`: X of the pelvis, zero before the first frame; `shown_heading`: that when anything last showed a prior
  where left is; `yaw_rate` [rad/s], smoothed;
- `poles`: directions of elbows and knees in their limb's frame; zero: unknown;
- `feet`, `step_starts` [m], `step_fractions`: of untracked feet: positions (NaN: none yet), where their steps began,
  and the fraction of each that is done (1: all of it); `free_feet` [m]: where a prior has them (NaN: none yet),
  `standing`: whether they are planted;
- `goals` [m]: the last targets (NaN: none); `velocities` [m/s], relative to the body as a whole; `bridged` [m]: where a
  point that returned would be, had it not, `returning` where it was; `seen` [s]: time since it returned, below 0
  while it is lost;
- `orientations`, `bridged_orientations`, `orientations_seen`: the same for orientations; `orientation_gaps`: those
  against the given ones, on one side of the sphere as they change;
- `clock` [s], `samples`, `newest`, `sample_times` [s], `sample_points` [m], `sample_orientations`: a ring of targets
  for a prior;
- `limb_rotations`: local ones of the joints of arms and legs, `clavicles`: against what carries them (NaN: none yet);
  `behind` [s]: for how long they have had to catch up, limbs before clavicles (0: they have not);
- `carriers`: orientations in the world of what arms and legs begin on; `mids` [m]: where elbows and knees were from the
  hips, and `hips` where those were (NaN: not yet);
- `known`: `Rows.known` (-1: no frame yet); `since_change` [s]: time since it changed; `late`: 1 while the trunk catches
  up with that; `bends`: orientations of the spine's joints against those below them (NaN: none yet), of the paper's
  spine against the pelvis;
- `said`: what the prior said, in the world (NaN: nothing yet); `said_gaps`: by how much that was something else before
  what is known changed;
- `paper_pelvis`, `paper_chord` [m], `paper_normal`: for the paper's spine."""


def new_state(tracks: int, like: Any = None) -> Records:
    """Return the states (T,) of `TRACK` of tracks that have not begun; on a GPU where the array `like` is."""
    if isinstance(like, GpuArray):
        return repeated(new_state(1), tracks, like)  # type: ignore[return-value]
    out = np.zeros(tracks, TRACK)
    unknown = (
        "feet",
        "free_feet",
        "step_starts",
        "step_fractions",
        "goals",
        "orientations",
        "limb_rotations",
        "clavicles",
    )
    for name in (*unknown, "carriers", "mids", "hips", "bends", "said"):
        out[name] = np.nan
    out["seen"] = out["orientations_seen"] = np.inf
    out["bridged_orientations"][..., 0] = out["orientation_gaps"][..., 0] = 1.0
    out["known"], out["since_change"] = -1, np.inf
    return out


NO_STATE = new_state(0)


RESULTS = ("points", "translation", "rotations", "residual", "missing", "status")
"""What of `Rows` is an answer; all else is scratch, where it is not given."""


SCRATCH = (
    *("goals", "target_orientations", "orientations", "trunk", "spine", "positions", "world", "values", "heading"),
    *("obstacles", "guess", "work"),
)
"""What of `Rows` nobody reads afterwards."""


class Figure(NamedTuple):
    """The body, which of its parts are tracked, and what its limbs stay out of. The first eleven are `PackedBody`'s."""

    joints: Records
    drive: Records
    limbs: Records
    limits: Records
    curves: Floats
    bones: Floats
    driven: Records
    remainders: Floats
    spine: Records
    soles: Records
    stance: Records
    settings: Records
    """(1,) of `SETTINGS`."""
    tracked: Ints
    """(3, 13) the column of the given points that belongs to a slot, the slot's joint, and that which has its
    orientation; -1: none."""
    neutrals: Floats
    """(13, 4) the orientations of the last ones in the neutral pose."""
    sources: Ints
    """(K,) for every driven orientation of the body, the row of `Rows.trunk` that it takes."""
    splits: Ints
    """(3, 5) the first rows of the limbs in `links` and in `own`, and in `own` of the other limb of each pair."""
    links: Records
    """Volumes of the limbs, one limb after the other."""
    groups: Records
    """(4, 3); of a hand or foot: none."""
    volumes: Records
    """(V,) of the body."""
    own: Records
    """Obstacles that the body itself is to its limbs, limb by limb; of each, the other one of its pair comes last."""
    around: Records
    """Obstacles of the scene, in the world."""


class Rows(NamedTuple):
    """A row a pose."""

    points: Floats
    """(N, M, 3) [m] as given."""
    marker_orientations: Floats
    """(N, 13, 4) canonical orientations of the slots in the world, NaN where unknown; or no rows."""
    goals: Floats
    """(N, 13, 3) [m] targets of the slots: given, bridged or estimated; NaN where unknown; scratch."""
    target_orientations: Floats
    """(N, 13, 4) target orientations, NaN where there is none; scratch; or no rows."""
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
    """(N, 13) [rad] between target orientations and the body's; NaN where there was none; or no rows."""
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
    known: Ints
    """(N,) bits: of the slots whose points are given, neither bridged nor estimated; from bit `SLOTS` on of those
    whose orientations are."""
    work: Floats
    """(T, W) scratch of a prior, a row a track."""


def empty_rows(
    figure: Figure, points: Floats, orientations: Floats, obstacles: int, work: tuple[int, int] = (0, 0)
) -> Rows:
    """Return room for these points and orientations, on a GPU where they are.

    `obstacles` is the largest number that a limb has, `work` the shape of a prior's scratch.
    """
    n, joints, spine = len(points), len(figure.joints), len(figure.spine)

    def scratch(*shape: int, dtype: Any = np.float64) -> Any:
        return empty(shape, points, dtype)

    return Rows(
        points=points,
        marker_orientations=orientations,
        goals=scratch(n, SLOTS, 3),
        target_orientations=scratch(*orientations.shape),
        orientations=scratch(n, len(figure.sources), 4),
        trunk=scratch(n, spine + 2, 4),
        spine=scratch(n, spine, 3),
        translation=empty((n, 3), points),
        rotations=empty((n, joints, 4), points),
        positions=scratch(n, joints, 3),
        world=scratch(n, joints, 4),
        values=scratch(n, 7),
        offsets=np.empty((0, joints, 3)),
        residual=empty((n, points.shape[1]), points),
        missing=full(orientations.shape[:2], np.nan, points),
        status=scratch(n, dtype=np.int64),
        heading=scratch(n, 3),
        report=zeros((n,), points, REPORT),
        obstacles=scratch(n, obstacles, dtype=OBSTACLE),
        guess=scratch(n if work[0] else 0, 4, 7),
        known=zeros((n,), points, np.int64),
        work=scratch(*work),
    )


def pack_figure(
    body: Humanoid,
    limits: Limits | str | None,
    markers: Sequence[str],
    scene: Scene | None,
    *,
    weights: Floats,
    elbows_out: bool,
    limit_rates: bool,
    paper_spine: bool,
) -> Figure:
    """Return the figure of a body whose `markers` are tracked; arguments as for `SequentialIK`."""
    packed = body.packed if isinstance(limits, str) and limits == "body" else PackedBody(body, limits)
    chest = next((role for role in markers if role in CHESTS), "")
    roles = (*MARKERS, *BETWEEN, chest, *SHOULDERS)
    columns = [markers.index(role) if role in markers else -1 for role in roles]
    joints = [body.roles.get(role, -1) for role in roles]
    oriented = [body.segments[role][-1] if role in body.segments else j for role, j in zip(roles, joints, strict=True)]
    splits, links, groups, volumes, own = _volumes(body, scene, elbows_out)
    around = np.zeros(0, OBSTACLE) if scene is None else np.array(scene.packed)
    floors = around[(around["kind"] == PLANE) & (around["ey"] > 0.99)]
    row, joint_limits, parts = np.zeros(1, SETTINGS), body.limits_for(limits), list(body.roles)
    row["paper_spine"], row["weights"], row["bending"] = paper_spine, weights, packed.spine["bends"].sum()
    row["chest"] = list(body.spine).index(body.roles[chest]) if chest else body.chest
    clavicles = [f"{side}_shoulder" for side in SIDES]
    limited = joint_limits is not None and all(role in joint_limits for role in clavicles)
    row["clavicle_limits"] = [parts.index(role) for role in clavicles] if limited else -1
    row["floor"] = floors["py"].max() if len(floors) else 0.0
    row["neutral_chord"] = np.linalg.norm(packed.stance["hips_to_head"][0])
    row["max_bend"], row["max_stretch"], row["longest_chord"] = _spine_range(packed, joint_limits)
    row["pelvis_rate"], row["swivel_rate"] = (ROTATION_RATE, SWIVEL_RATE) if limit_rates else (np.inf, np.inf)
    return Figure(
        joints=packed.joints,
        drive=packed.drive,
        limbs=packed.limbs,
        limits=packed.limits,
        curves=packed.curves,
        bones=packed.bones,
        driven=packed.driven,
        remainders=packed.remainders,
        spine=packed.spine,
        soles=packed.soles,
        stance=packed.stance,
        settings=row,
        tracked=np.array([columns, joints, oriented]),
        neutrals=np.array([IDENTITY if j < 0 else body.neutral_orientation(j) for j in oriented]),
        sources=_sources(body),
        splits=splits,
        links=links,
        groups=groups,
        volumes=volumes,
        own=own,
        around=around,
    )


def _volumes(body: Humanoid, scene: Scene | None, elbows_out: bool) -> tuple[Ints, Records, Records, Records, Records]:
    """Return `splits`, `links`, `groups`, `volumes` and `own` of `Figure`. Hands and feet are left out: they stay on
    their points. An arm stays out of everything else of the body, a leg out of the other leg.
    """
    links, groups, own = [np.zeros(0, PACKED)], np.zeros((4, 3), GROUP), [np.zeros(0, OBSTACLE)]
    before = np.zeros(4, np.int64)
    for k, name in enumerate(LIMBS if elbows_out or scene is not None else ()):
        made = limb_links(body, name)
        links.append(made.links)
        groups[k, :2] = made.groups[:2]
        other = np.isin(made.obstacles, limb_links(body, LIMBS[k ^ 1]).volumes)
        rest = ~other & (k < 2)
        own.append(np.concatenate([made.own[rest & elbows_out], made.own[other & elbows_out]]))
        before[k] = np.count_nonzero(rest & elbows_out)
    splits = np.zeros((3, 5), np.int64)
    for row, parts in enumerate((links, own)):
        splits[row] = np.resize(np.cumsum([len(part) for part in parts]), 5)
    splits[2, :4] = splits[1, :4] + before
    volumes = body.packed.volumes if len(links) > 1 else np.zeros(0, PACKED)
    return splits, np.concatenate(links), groups, volumes, np.concatenate(own)


def _sources(body: Humanoid) -> Ints:
    """Return `Figure.sources`: spine joint k takes row k; clavicles are rows S and S + 1; arms follow them, legs the
    hips.
    """
    spine = list(body.spine)
    sources = []
    for role, joint in body.roles.items():
        if joint in spine:
            sources.append(spine.index(joint))
        elif "leg" in role or "foot" in role or "toes" in role:
            sources.append(0)
        else:
            sources.append(len(spine) if role.startswith("left") else len(spine) + 1)
    return np.array([*sources, *range(len(spine))], dtype=np.int64)


def _spine_range(packed: PackedBody, limits: Limits | None) -> tuple[float, float, float]:
    """Return (the largest bend of the pelvis [rad], the largest stretch (0 to 1), the chord's length [m] at it) at
    which every part of the spine is inside its limits.
    """
    roles, spine = packed.body.spine_roles, packed.spine
    bends = np.cumsum(spine["bends"]) * 2.0
    count = max(int(spine["bends"].sum()), 1)

    def bent(x: float) -> Floats:
        return axis_angle([1.0, 0.0, 0.0], bends * x / count)

    def inside(world: Floats) -> bool:
        before = IDENTITY
        for role, orientation in zip(roles, world, strict=True):
            if not role:
                continue
            local = multiply(conjugate(before), orientation)
            if limits is not None and role != "hips" and role in limits and not limits.contains(role, local):
                return False
            before = orientation
        return True

    stretch = _largest(lambda x: inside(stretched_spine(spine, x)), 1.0)
    longest = rotate(stretched_spine(spine, stretch)[:-1], spine["offset"][1:]).sum(axis=0)
    return _largest(lambda x: inside(bent(x)), MAX_BEND), stretch, float(np.linalg.norm(longest))


def stretched_spine(spine: Records, fraction: float) -> Floats:
    """Return the orientations (S, 4) of a spine's joints in the pelvis' frame, each segment above the hips rotated by a
    fraction of the way to the neutral chord.
    """
    offsets = spine["offset"]
    whole, orientations = offsets.sum(axis=0), np.tile(IDENTITY, (len(spine), 1))
    for k in range(1, len(spine) - 1):
        if spine["bends"][k] and np.linalg.norm(offsets[k + 1]) > 0.0:
            orientations[k] = slerp(IDENTITY, between(offsets[k + 1], whole), fraction)
        else:
            orientations[k] = orientations[k - 1]
    orientations[-1] = orientations[-2]
    return orientations


def _largest(fits: Callable[[float], bool], most: float) -> float:
    """Return the largest number up to `most` that fits, where all smaller ones do, by bisection."""
    if fits(most):
        return most
    low, high = 0.0, most
    for _ in range(40):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


@kernel
def vec_of(vectors: Floats, k: int) -> Vec3:
    """Return row k of (R, 3)."""
    return (vectors[k, 0], vectors[k, 1], vectors[k, 2])


@kernel
def put_vec(vectors: Floats, k: int, v: Vec3) -> None:
    """Store a vector as row k of (R, 3)."""
    vectors[k, 0], vectors[k, 1], vectors[k, 2] = v[0], v[1], v[2]


@kernel
def quat_of(quaternions: Floats, k: int) -> Quat:
    """Return row k of (R, 4)."""
    return (quaternions[k, 0], quaternions[k, 1], quaternions[k, 2], quaternions[k, 3])


@kernel
def put_quat(quaternions: Floats, k: int, q: Quat) -> None:
    """Store a quaternion as row k of (R, 4)."""
    quaternions[k, 0], quaternions[k, 1], quaternions[k, 2], quaternions[k, 3] = q[0], q[1], q[2], q[3]


@kernel
def set_vec(out: Floats, i: int, k: int, v: Vec3) -> None:
    """Store a vector as vector k of row i of (N, R, 3)."""
    out[i, k, 0], out[i, k, 1], out[i, k, 2] = v[0], v[1], v[2]


@kernel
def vec_from(v: Floats) -> Vec3:
    """Return a vector that is a field of a record."""
    return (v[0], v[1], v[2])


@kernel
def distance_to(at: Vec3, point: Vec3) -> float:
    """Return how far a joint is from its point [m]; infinite where the point is lost."""
    distance = norm(sub(at, point))
    return distance if vec_in_extent(point) and math.isfinite(distance) else math.inf


@kernel
def knows(i: int, rows: Rows, slot: int) -> bool:
    """Return whether a slot has a target orientation."""
    return rows.target_orientations.shape[0] > 0 and math.isfinite(rows.target_orientations[i, slot, 0])


@kernel
def given(i: int, rows: Rows, slot: int) -> bool:
    """Return whether a point is given, neither bridged nor estimated."""
    return bool((rows.known[i] >> slot) & 1)


@kernel
def given_orientation(i: int, rows: Rows, slot: int) -> bool:
    """Return whether the orientation of a slot is given, not bridged."""
    return bool((rows.known[i] >> (SLOTS + slot)) & 1)


@kernel
def hips_fraction(i: int, rows: Rows) -> float:
    """Return what fraction of the error between hips and head the hips take: half, or all where a prior has estimated
    them, or none where it has estimated the head.
    """
    if rows.guess.shape[0] == 0 or given(i, rows, HIPS) == given(i, rows, HEAD):
        return 0.5
    return 0.0 if given(i, rows, HIPS) else 1.0


@kernel
def across(i: int, rows: Rows, left: int, right: int) -> Vec3:
    """Return the displacement from the right one of a pair to the left one; zero where one of them is not known."""
    d = sub(vec_at(rows.goals, i, left), vec_at(rows.goals, i, right))
    if math.isfinite(d[0]):
        return d
    return (0.0, 0.0, 0.0)
