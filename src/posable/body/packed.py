"""`PackedBody`: a body as compiled code reads it. Made once by `Humanoid.packed` and read by every solver.

```python
packed = body.packed                                    # with the body's limits; PackedBody(body, limits) for others
packed.limbs[0]["upper"], packed.drive[j]["neutral"]    # records with named fields
kernel(n, packed.joints, packed.limbs, packed.driven, ...)
```

Each field is one array of records; solvers hand those that they need to their kernels. Everything is computed when
it is first read. The arrays can be written to only because Numba compiles a kernel once more for read-only ones:
nobody does. Sides come left first, as in `MARKERS`.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ..compute import PosableError, batch, kernel, prange
from ..compute.types import Floats, Ints, Records
from ..limb.model import ROLES
from ..limits.limits import ROW
from ..limits.nearest import FREE
from ..math.quaternion import conj, mul
from ..skeleton.forward import quat_at, quat_from, set_quat
from .measures import sole_of
from .roles import parent_role

if TYPE_CHECKING:
    from ..limits import Limits
    from .humanoid import Humanoid

LIMBS = ("left_arm", "right_arm", "left_leg", "right_leg")
"""The order of `PackedBody.limbs`: that of their ends in `MARKERS`."""
SIDES = ("left", "right")
COINCIDENT = 1e-6  # of the joint height: a joint of the spine this near to the hips does not bend it
TWISTERS = ("twist", "roll")  # parts of joint names that say: this joint only hands out a bone's twist

DRIVE = np.dtype(
    [("parent", "i8"), ("row", "i8"), ("needed", "i8"), ("above", "i8"), ("limit", "i8")]
    + [(name, "f8", 4) for name in ("neutral", "above_neutral", "local")],
    align=True,
)
"""How a joint follows canonical orientations C, which are W = C N in the world:

- `parent`: its parent in the rig, -1 for the root;
- `row`: its row of the canonical orientations (all parts in the order of `body.roles`, then all joints of the spine; a
  joint that is both takes the spine's), -1 where it keeps its local rotation;
- `needed`: 1 where it is driven or lies above a joint that is;
- `above`: the joint of the part that carries it in the body, whatever lies between them in the rig; -1 for the hips,
  the joint itself where it is no part;
- `limit`: its row of `PackedBody.limits`, which speaks of C_above^-1 C; -1 where nothing limits it;
- `neutral`: N, its world orientation in the neutral pose (the identity where nothing drives it);
- `above_neutral`: N of the joint `above`;
- `local`: its local rotation in the neutral pose, of fingers at rest."""

DRIVEN = np.dtype([("joint", "i8"), ("lower", "i8"), ("fraction", "f8"), ("neutral", "f8", 4)], align=True)
"""A joint that a limb rotates, its end aside: 1 where it lies on the lower bone, the fraction of that bone's twist that
it carries, its world orientation in the neutral pose."""

SPINE = np.dtype(
    [("joint", "i8"), ("bends", "i8"), ("limit", "i8"), ("below", "i8"), ("arc_length", "f8"), ("offset", "f8", 3)],
    align=True,
)
"""A joint from hips to head: whether it bends (those between the two that do not coincide with the hips), its row of
`PackedBody.limits` (-1: none) and the row of the spine that it is limited against (-1: none), where it sits (0 the
hips, 1 the joint that carries the arms, 2 the head), and its offset [m] from the joint before in the neutral pose."""

SOLE = np.dtype([(name, "f8") for name in ("depth", "heel", "ball", "tip", "hinge")], align=True)
"""The underside of a foot [m]: `measures.Sole`."""

STANCE = np.dtype(
    [(name, "i8") for name in ("hips", "head", "chest")]
    + [(name, "f8") for name in ("joint_height", "leg_length", "hip_height")]
    + [(name, "f8", 2) for name in ("arm_lengths", "leg_lengths")]
    + [(name, "f8", 3) for name in ("root", "hips_to_head")]
    + [(name, "f8", (2, 3)) for name in ("hips_to_legs", "hips_to_ankles", "chest_to_clavicles", "clavicles_to_arms")],
    align=True,
)
"""How a body stands in its neutral pose, one row.

Joints of hips and head; the row of `PackedBody.spine` that carries the arms. Lengths [m]: `joint_height` and
`leg_length` of the body, the hips' joint above the soles, both bones of the arms and of the legs. Positions and
displacements [m]: the root's position, and from the first joint named to the second, left then right. Without clavicles
their joint is the shoulder's."""


class PackedBody:
    """A body's records, see the module's docstring.

    Args:
        body: whose.
        limits: "body": the body's own; None: none; or other ones. They decide `limits`, `curves`, `bones` and what of
            `limbs`, `drive` and `spine` speaks of them.
    """

    def __init__(self, body: Humanoid, limits: Limits | str | None = "body") -> None:
        self.body = body
        self._given = limits
        self._limits = body.limits_for(limits) if limits != "body" else None

    def __repr__(self) -> str:
        return f"PackedBody({self.body!r})"

    @property
    def joints(self) -> Records:
        """(J,) of `skeleton.dofs.JOINT`: the rig."""
        return self.body.skeleton.packed

    @cached_property
    def drive(self) -> Records:
        """(J,) of `DRIVE`: how each joint follows canonical orientations."""
        body, limits = self.body, self._joint_limits
        rows = drive_records(body)
        rows["local"] = body.neutral_pose.rotations
        fingers = [*body.fingers.values()]
        rows["local"][fingers] = body.skeleton.rest.rotations[fingers]  # nobody straightens them who does not mean to
        for k, (role, joint) in enumerate(body.roles.items()):
            if role != "hips" and limits is not None and role in limits:
                rows["limit"][joint] = k
        return rows

    @cached_property
    def limbs(self) -> Records:
        """(4,) of `limb.model.LIMB`, in the order of `LIMBS`: model, search, joints, and which rows are its own:
        `driven[first_driven:last_driven]`, `limits[first_limit:first_limit + 3]`, `bones[first_bone:last_bone]`.
        """
        limbs = [self.body.limb(name, limits=self._given) for name in LIMBS]
        rows = np.concatenate([limb.packed for limb in limbs])
        ends = np.cumsum([len(limb.bones) for limb in limbs])
        rows["first_bone"], rows["last_bone"] = [0, *ends[:-1]], ends
        rows["first_limit"] = [list(self.body.roles).index(ROLES[name][0]) for name in LIMBS]
        return rows

    @cached_property
    def driven(self) -> Records:
        """(D,) of `DRIVEN`: the joints that the limbs rotate, their ends aside, one limb after the other."""
        return np.concatenate(self.driven_by)

    @cached_property
    def driven_by(self) -> tuple[Records, ...]:
        """(4,) the rows of `driven` of each limb, in the order of `LIMBS`."""
        return tuple(_driven(self.body, name) for name in LIMBS)

    @cached_property
    def remainders(self) -> Floats:
        """(1, D, 4): the rotations of `driven` that the limbs' seven values cannot express, in the neutral pose."""
        limbs = [self.body.limb(name, limits=self._given) for name in LIMBS]
        return np.concatenate([limb.read(self.body.neutral_pose).remainders for limb in limbs])[None]

    @cached_property
    def limits(self) -> Records:
        """(R,) of `limits.limits.ROW`: a row a part, in the order of `body.roles`; free where nothing limits it."""
        limits = self._joint_limits
        rows = np.zeros(len(self.body.roles), ROW)
        rows["kind"] = FREE
        for k, role in enumerate(self.body.roles):
            if limits is not None and role in limits:
                rows[k] = limits.packed[limits.index(role)]
        return rows

    @cached_property
    def curves(self) -> Floats:
        """The boundaries that `limits` refer to."""
        limits = self._joint_limits
        return np.zeros(1) if limits is None else np.array(limits.curves)

    @cached_property
    def bones(self) -> Floats:
        """(B, 4): orientations of base joints spread over their limits (`limb.model.allowed_bones`), limb by limb."""
        return np.concatenate([self.body.limb(name, limits=self._given).bones for name in LIMBS])

    @cached_property
    def volumes(self) -> Records:
        """(V,) of `collision.volumes.PACKED`."""
        return np.array(self.body.volumes.packed)

    @cached_property
    def soles(self) -> Records:
        """(2,) of `SOLE`: left, right."""
        soles = [sole_of(self.body, side) for side in SIDES]
        return np.array([tuple(getattr(sole, name) for name in SOLE.names or ()) for sole in soles], SOLE)

    @cached_property
    def spine(self) -> Records:
        """(S,) of `SPINE`: every joint from hips to head."""
        body, limits = self.body, self._joint_limits
        rows = np.zeros(len(body.spine), SPINE)
        positions = body.neutral_frames.positions[list(body.spine)]
        rows["joint"], rows["arc_length"] = body.spine, body.arc_length
        rows["offset"] = np.diff(positions, axis=0, prepend=positions[:1])
        rows["bends"] = np.linalg.norm(positions - positions[0], axis=-1) > COINCIDENT * body.joint_height
        rows["bends"][[0, -1]] = 0
        rows["limit"] = rows["below"] = -1
        below, parts = 0, list(body.roles)
        for k, role in enumerate(body.spine_roles):
            if k and role:
                if limits is not None and role in limits:
                    rows["limit"][k], rows["below"][k] = parts.index(role), below
                below = k
        return rows

    @cached_property
    def stance(self) -> Records:
        """(1,) of `STANCE`: how the body stands."""
        body, positions = self.body, self.body.neutral_frames.positions
        hips, chest = positions[body.roles["hips"]], positions[body.spine[body.chest]]
        row = np.zeros(1, STANCE)
        row["hips"], row["head"], row["chest"] = body.roles["hips"], body.roles["head"], body.chest
        row["joint_height"], row["leg_length"] = body.joint_height, body.leg_length
        row["root"], row["hips_to_head"] = body.neutral_pose.translation, positions[body.roles["head"]] - hips
        for k, side in enumerate(SIDES):
            shoulder = positions[body.roles[f"{side}_upper_arm"]]
            clavicle = positions[body.roles[f"{side}_shoulder"]] if f"{side}_shoulder" in body.roles else shoulder
            row["arm_lengths"][0, k] = body.limb(f"{side}_arm").length
            row["leg_lengths"][0, k] = body.limb(f"{side}_leg").length
            row["hips_to_legs"][0, k] = positions[body.roles[f"{side}_upper_leg"]] - hips
            row["hips_to_ankles"][0, k] = positions[body.roles[f"{side}_foot"]] - hips
            row["chest_to_clavicles"][0, k], row["clavicles_to_arms"][0, k] = clavicle - chest, shoulder - clavicle
        row["hip_height"] = (-row["hips_to_ankles"][0, :, 1] + self.soles["depth"]).mean()
        return row

    @property
    def _joint_limits(self) -> Limits | None:
        return self.body.limits if self._given == "body" else self._limits


def drive_records(body: Humanoid) -> Records:
    """(J,) of `DRIVE`, without the neutral pose, which is made with them, and without limits."""
    rows = np.zeros(len(body.skeleton), DRIVE)
    rows["parent"], rows["row"], rows["limit"] = body.skeleton.parents, -1, -1
    rows["above"] = np.arange(len(rows))
    for name in ("neutral", "above_neutral", "local"):
        rows[name] = (1.0, 0.0, 0.0, 0.0)
    for k, joint in enumerate((*body.roles.values(), *body.spine)):
        rows["row"][joint], rows["neutral"][joint] = k, body.neutral_orientation(joint)
        rows["needed"][list(body.skeleton.path(joint))] = 1
    for role, joint in body.roles.items():
        above = parent_role(role, body.roles)
        rows["above"][joint] = -1 if above is None else body.roles[above]
        rows["above_neutral"][joint] = body.neutral_orientation(role if above is None else above)
    return rows


def attach(body: Humanoid, name: str, row: Records) -> None:
    """Write where a limb sits in its body into its row (1,) of `limb.model.LIMB`."""
    carrier = parent_role(ROLES[name][0], body.roles)
    if carrier is None:
        raise PosableError(f"no part of this body carries the {name}")
    row["base"], row["mid"], row["end"] = body.limb_joints(name)
    row["carrier"], row["carrier_neutral"] = body.index(carrier), body.neutral_orientation(carrier)
    row["end_neutral"] = body.neutral_orientation(ROLES[name][2])
    ends = np.cumsum([0, *map(len, body.packed.driven_by)])
    row["first_driven"], row["last_driven"] = ends[LIMBS.index(name)], ends[LIMBS.index(name) + 1]


def _driven(body: Humanoid, limb: str) -> Records:
    """The joints that a limb rotates: those on the path from its base to its end, and twist joints next to them."""
    base, mid, end = body.limb_joints(limb)
    skeleton, frames = body.skeleton, body.neutral_frames
    path = [j for j in skeleton.path(end) if j >= base and base in skeleton.path(j)]
    rows: list[tuple[int, int, float, Floats]] = []
    for lower, (first, last) in enumerate(((base, mid), (mid, end))):
        bone = frames.positions[last] - frames.positions[first]
        length = max(float(np.linalg.norm(bone)), 1e-9)
        along = path[path.index(first) : path.index(last)]
        branches = [k for j in along for k in skeleton.children(j) if k not in path and _is_twister(body, k)]
        whole = tuple(along) in body.segments.values()
        at = {j: float((frames.positions[j] - frames.positions[first]) @ bone) / length**2 for j in [*along, *branches]}
        for j in sorted([*along, *branches]):
            rows.append((j, lower, _twist_fraction(j, along, branches, at, whole), frames.orientations[j]))
    out = np.zeros(len(rows), DRIVEN)
    for row, (joint, lower, fraction, neutral) in zip(out, rows, strict=True):
        row["joint"], row["lower"], row["fraction"], row["neutral"] = joint, lower, fraction, neutral
    return out


def _twist_fraction(joint: int, along: list[int], branches: list[int], at: dict[int, float], whole: bool) -> float:
    """The fraction of a bone's twist that a joint carries: all of it where it is alone, else as at the middle of its
    stretch.

    Segments of one bone (`whole`) carry what there is at the end of their stretch. So the last one has all of it: it
    shows the orientation of the bone, and the elbow and the wrist are left with what is theirs.
    """
    if len(along) == 1 and not branches:
        return 1.0
    if joint in branches:
        return min(max(at[joint], 0.0), 1.0)
    after = [at[j] for j in along if at[j] > at[joint] + 1e-6]
    end = min(after, default=1.0)
    return min(max(end if whole else 0.5 * (at[joint] + end), 0.0), 1.0) if len(along) > 1 else 0.0


def _is_twister(body: Humanoid, joint: int) -> bool:
    name = body.skeleton.names[joint].lower()
    return any(word in name for word in TWISTERS) and joint not in body.roles.values()


@kernel
def chain_row(i: int, parents: Ints, local: Floats, world: Floats) -> None:
    """Orientation of every part in the world, from rotations in the frames of the parts above; -1 has none above.

    Row i of rotations (N, R, 4) of R parts, parents before children.
    """
    for k in range(parents.shape[0]):
        q = quat_at(local, i, k)
        if parents[k] >= 0:
            q = mul(quat_at(world, i, parents[k]), q)
        set_quat(world, i, k, q)


@kernel
def drive_row(i: int, drive: Records, canonical: Floats, rotations: Floats, world: Floats) -> None:
    """Local rotations of the joints that a posture decides, W = C N in the world; the others keep theirs.

    `drive` (J,) of `packed.DRIVE` gives each joint's row of `canonical` (N, K, 4); `rotations` (N, J, 4) are changed in
    place, `world` (N, J, 4) is filled for those joints and all above them.
    """
    for j in range(drive.shape[0]):
        row = drive[j]
        if row["needed"] == 0:
            continue
        parent, k = row["parent"], row["row"]
        if k >= 0:
            orientation = mul(quat_at(canonical, i, k), quat_from(row["neutral"]))
            if parent >= 0:
                set_quat(rotations, i, j, mul(conj(quat_at(world, i, parent)), orientation))
            else:
                set_quat(rotations, i, j, orientation)
        elif parent >= 0:
            orientation = mul(quat_at(world, i, parent), quat_at(rotations, i, j))
        else:
            orientation = quat_at(rotations, i, j)
        set_quat(world, i, j, orientation)


@batch
def chain_rows(n: int, parents: Ints, local: Floats, world: Floats) -> None:
    """`chain_row` over all rows."""
    for i in prange(n):
        chain_row(i, parents, local, world)


@batch
def drive_rows(n: int, drive: Records, canonical: Floats, rotations: Floats, world: Floats) -> None:
    """`drive_row` over all rows."""
    for i in prange(n):
        drive_row(i, drive, canonical, rotations, world)
