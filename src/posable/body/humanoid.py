"""`Humanoid`: a skeleton that knows who is who, and speaks canonical rotations.

Rigs differ; people do not. For each part the body keeps one constant rotation N, the part's world orientation in the
neutral pose (`neutral.neutral_rotations`). A part with the world orientation W has the canonical
orientation C = W N^-1, and back W = C N. Everything that is made for people (limits, behaviours, ranges, priors,
retargeting) speaks in C; `canonical` and `pose` convert, without loss.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ..compute import PosableError, ShapeError, UnknownNameError, expect
from ..compute.errors import checked_keywords
from ..compute.types import ArrayLike, Floats, Records
from ..math import conjugate, multiply, rotate
from ..skeleton import Frames, Pose, Robot, Skeleton
from ..skeleton.robot import with_free_root
from . import carrying
from .canonical import CanonicalPose, SpineShape, local_rotations, spine_orientations
from .hand.frames import finger_rotations
from .measures import body_measures, stature
from .neutral import neutral_rotations, palm_headings
from .robot import RobotParts, find_robot, is_robot
from .robot.lengths import robot_measures, robot_stature
from .roles import FINGERS, LIMB_OF, LIMBS, MARKERS, bone_segments, chest_of, parent_role, spine_chain
from .roles.fingers import find_fingers
from .roles.matching import find_roles

if TYPE_CHECKING:
    from ..collision import Scene, Volumes
    from ..limb import LimbRange, Search
    from ..limb.limb import Collides, Preferred
    from ..limb.solution import TargetLike
    from ..limits import Limits
    from .balance import Balance
    from .hand.closing import HandSolution
    from .hand.shapes import HandShape
    from .limb.body_limb import BodyLimb, PlaceSolution
    from .limb.elbows import ElbowSolution
    from .packed import PackedBody


class Humanoid:
    """A person's body on any rig, or a robot's (`robot_parts`).

    Args:
        skeleton: the rig. A robot whose root its file lets stand fixed gets one that is free.
        roles: role to joint name or index, where the names do not decide; None as a value says that the rig has no
            such joint. Without it the file's own map (VRM) or the names decide. Joints of fingers (`roles.FINGERS`) are
            roles, too; a hand of which one is named has those that are named.
        limits: what the joints may do; `Limits.human` for this body's parts when not given.
        standing: a pose in which the body stands (T-, A- or upright), for a rig whose rest pose does not.

    Raises:
        PosableError: when parts cannot be found; it says which and what came closest.
    """

    def __init__(
        self,
        skeleton: Skeleton,
        roles: Mapping[str, str | int | None] | None = None,
        limits: Limits | None = None,
        *,
        standing: Pose | None = None,
    ) -> None:
        expect(Skeleton, skeleton, "skeleton", "; that of a motion is motion.skeleton")
        if standing is not None:
            expect(Pose, standing, "standing")
        if standing is not None and standing.shape:
            raise ShapeError(f"standing is a batch of shape {standing.shape}; expected one pose")
        skeleton = with_free_root(skeleton)
        self.skeleton = skeleton
        rest = skeleton.forward(skeleton.rest if standing is None else standing)
        found = find_robot(rest, roles) if is_robot(skeleton) else None
        self.robot_parts: RobotParts | None = None if found is None else found.parts
        """Trunk, head and limbs of a robot, for solvers; None for people."""
        self.roles: dict[str, int] = find_roles(skeleton, roles) if found is None else found.roles
        """Role to joint index, in the order of `ROLES`; parts the rig lacks are not in it."""
        self.fingers: dict[str, int] = {} if found is not None else find_fingers(skeleton, self.roles, roles)
        """Role of a finger's joint to joint index, in the order of `FINGERS`; those the rig lacks are not in it."""
        self._role_names = tuple(self.roles)
        self._role_joints = np.array(list(self.roles.values()))
        to_neutral = neutral_rotations(rest, self.roles) if found is None else found.parts.to_neutral
        self.spine: tuple[int, ...] = (
            spine_chain(skeleton.parents.tolist(), self.roles) if found is None else found.spine
        )
        """Every joint from hips to head, both included; of a robot the joints that carry pelvis, chest and head."""
        self.spine_roles = (
            tuple({j: role for role, j in self.roles.items()}.get(j, "") for j in self.spine)
            if found is None
            else found.spine_roles
        )
        """The role of each joint of `spine`, "" where it has none."""
        self.chest = chest_of(self.spine, self.roles) if found is None else found.arms_at
        """Which joint of `spine` carries the arms."""
        self._spine_at = _arc_length(rest.positions[list(self.spine)], self.chest)
        # The spine as a whole stays as it is at rest: joints without a role become upright with the hips.
        constants = {j: multiply(to_neutral["hips"], rest.orientations[j]) for j in self.spine}
        self.segments: dict[str, tuple[int, ...]] = (
            bone_segments(skeleton.names, skeleton.parents.tolist(), self.roles) if found is None else found.segments
        )
        """Role to the joints of its bone, where that is a chain of segments which share its twist (MakeHuman's), or of
        joints with one axis each (a robot's); the last one has the part's orientation."""
        self._orientation_joints = np.array([self.segments.get(role, (j,))[-1] for role, j in self.roles.items()])
        for role, j in self.roles.items():
            constants |= {k: multiply(to_neutral[role], rest.orientations[k]) for k in self.segments.get(role, (j,))}
        if found is not None:
            for role, joints in found.carried.items():
                constants |= {k: multiply(to_neutral[role], rest.orientations[k]) for k in joints}
        for role, rotation in finger_rotations(rest, self.fingers, to_neutral).items():
            constants[self.fingers[role]] = multiply(rotation, rest.orientations[self.fingers[role]])
        self._neutral: dict[int, Floats] = constants
        self._limits, self._standing = limits, rest
        self._limbs: dict[str, BodyLimb] = {}
        self._drives: dict[tuple[str, ...], Records] = {}
        self._upright, self._rest_hips = to_neutral["hips"], rest.positions[self.roles["hips"]]

    def __repr__(self) -> str:
        what = "" if self.robot is None else f"robot {self.robot.name[:40]!r}, "
        hands = f" and {len(self.fingers)} of fingers" if self.fingers else ""
        joints = len(self.skeleton)
        return f"Humanoid({what}{len(self.roles)} parts{hands} on {joints} joints, {self.height:.2f} m tall)"

    @property
    def robot(self) -> Robot | None:
        """The record of a robot: what its file says of motors, limits and shapes; None for people."""
        return self.skeleton.robot

    def require_person(self, what: str) -> None:
        """Raise for a robot.

        Args:
            what: the solver that rotates joints freely, for the message: "Reacher".
        """
        if self.robot_parts is not None:
            raise PosableError(
                f"{what} rotates joints about any axis, and those of this robot have one each; use ps.retarget to put "
                "a motion on it, body.pose(posture) for a posture, ps.Chain with ps.ERIK for its head or an arm"
            )

    def index(self, role: str) -> int:
        """The joint of a role, fingers included; raises when the body has none such."""
        try:
            return self.fingers[role] if role in self.fingers else self.roles[role]
        except KeyError:
            raise UnknownNameError("role of this body", role, (*self.roles, *self.fingers)) from None

    def limb_joints(self, limb: str) -> tuple[int, int, int]:
        """The three joints of "right_arm", "left_arm", "right_leg" or "left_leg", from the body outwards."""
        if limb not in LIMBS:
            raise UnknownNameError("limb", limb, LIMBS)
        base, mid, end = (self.roles[role] for role in LIMBS[limb])
        return base, mid, end

    # Lengths

    @cached_property
    def measures(self) -> dict[str, float]:
        """The eleven body measures of Unzueta et al. [m], named as `figure` takes them."""
        if self.robot_parts is not None:
            return robot_measures(self.robot_parts, self._standing, self.roles)
        return body_measures(self.neutral_frames, self.roles)

    @cached_property
    def joint_height(self) -> float:
        """Calf + thigh + pelvis + torso + neck [m]: the height of Unzueta et al., without head and feet. Errors and
        sizes are counted in it.
        """
        return sum(self.measures[name] for name in ("calf", "thigh", "pelvis", "torso", "neck"))

    @cached_property
    def height(self) -> float:
        """Stature [m]: from the soles to the top of the head, estimated where a rig has no site there."""
        return stature(self) if self.robot_parts is None else robot_stature(self.robot_parts, self._standing)

    @cached_property
    def leg_length(self) -> float:
        """Thigh + calf [m], the mean of left and right; canonical positions of the hips are multiples of it."""
        return self.measures["thigh"] + self.measures["calf"]

    @property
    def arc_length(self) -> Floats:
        """(S,): where each joint of `spine` sits: 0 the hips, 1 the joint that carries the arms, 2 the head."""
        return self._spine_at.copy()

    # Canonical rotations

    @cached_property
    def neutral_pose(self) -> Pose:
        """Standing, arms hanging, palms in, fingers straight, facing +Z; the hips as at rest, rotated with the body."""
        return self._posed(
            CanonicalPose.neutral((*self._role_names, *self.fingers)),
            self.skeleton.rest,
            rotate(self._upright, self._rest_hips),
        )

    @cached_property
    def neutral_frames(self) -> Frames:
        """`skeleton.forward(neutral_pose)`: position and orientation of every joint in the neutral pose."""
        return self.skeleton.forward(self.neutral_pose)

    def neutral_orientation(self, part: str | int) -> Floats:
        """(4,): world orientation in the neutral pose, N in W = C N, of a part or of a joint of the spine."""
        return self._neutral[self.index(part) if isinstance(part, str) else part].copy()

    def canonical(self, pose: Pose, frames: Frames | None = None) -> CanonicalPose:
        """The posture of a pose, or of a batch, in canonical rotations, those of fingers after all other parts.

        A bone that is a chain of segments (`roles.bone_segments`) has the orientation of its last one: the others
        have only part of its twist.

        Args:
            pose: of this body's skeleton.
            frames: `skeleton.forward(pose)`, when it is at hand already.
        """
        frames = self.skeleton.forward(pose) if frames is None else frames
        if carrying.is_on_gpu(frames):
            return carrying.read_posture(self, frames)
        joints = np.concatenate([self._orientation_joints, np.array([*self.fingers.values()], np.int64)])
        world, names = self._canonical_world(frames, joints), (*self._role_names, *self.fingers)
        spine = self._canonical_world(frames, np.array(self.spine))
        bends = spine.copy()
        bends[..., 1:, :] = multiply(conjugate(spine[..., :-1, :]), spine[..., 1:, :])
        hips = frames.positions[..., self.roles["hips"], :] / self.leg_length
        shape = SpineShape(self.spine_roles, self._spine_at, self.chest, bends)
        return CanonicalPose(names, local_rotations(names, world), hips, shape)

    def pose(self, posture: CanonicalPose, base: Pose | None = None) -> Pose:
        """A pose of this body from a posture of any body.

        Parts that only the posture has are dropped and the parts below them keep their orientation in the world; parts
        that only this body has follow the part above them. Joints without a role (twist segments, metacarpals) keep
        their local rotations of `base`, of the rest pose where none is given, and so do fingers of which the posture
        says nothing; the joints of the spine are set by arc length.
        A robot comes as near as its motors do, inside their limits.

        Args:
            posture: as `canonical` gives it, or made by hand; a batch gives a batch.
            base: what joints without a role do, and offsets where a file moves joints; broadcasts with the posture.
        """
        expect(CanonicalPose, posture, "posture", "; body.canonical(pose) is one")
        if carrying.is_on_gpu(posture, base):
            return carrying.pose_posture(self, posture, self.skeleton.rest if base is None else base, self.leg_length)
        return self._posed(posture, self.skeleton.rest if base is None else base, posture.hips * self.leg_length)

    def mirrored(self, pose: Pose) -> Pose:
        """The pose with left and right exchanged, across the plane x = 0; joints without a role are as at rest."""
        return self.pose(self.canonical(pose).mirrored())

    def _posed(self, posture: CanonicalPose, base: Pose, hips: Floats) -> Pose:
        """`hips` (..., 3) [m]: where the joint of the hips goes."""
        if base.joint_count != len(self.skeleton):
            raise ShapeError(f"base has {base.joint_count} joints; this body has {len(self.skeleton)}")
        if self.robot_parts is not None:
            from .robot.posing import nearest_pose

            return nearest_pose(self, posture, base, hips)
        from .packed import drive_rows

        batch = np.broadcast_shapes(posture.shape, base.shape)
        count = len(self.skeleton)
        rotations = np.broadcast_to(base.rotations, (*batch, count, 4)).reshape(-1, count, 4).copy()
        canonical = self._driven_orientations(posture)
        if self.segments:
            canonical = self._first_segments(canonical, base)
        driven = np.broadcast_to(canonical, (*batch, *canonical.shape[-2:])).reshape(-1, *canonical.shape[-2:])
        world = np.empty_like(rotations)
        drive, orientations = self._drive, self._finger_orientations(posture)
        if orientations is not None:
            drive = self._drive_with(tuple(self._driven_fingers(posture.roles)))
            orientations = np.broadcast_to(orientations, (*batch, *orientations.shape[-2:]))
            driven = np.concatenate([driven, orientations.reshape(-1, *orientations.shape[-2:])], axis=1)
        drive_rows(len(rotations), drive, np.ascontiguousarray(driven), rotations, world)
        position = self._root_position(hips, base, world.reshape(*batch, count, 4))
        return Pose(position, rotations.reshape(*batch, count, 4), _spread(base.offsets, batch))

    def _driven_orientations(self, posture: CanonicalPose) -> Floats:
        """(..., K, 4): canonical world orientations of all parts and all joints of the spine, as `DRIVE` counts them.

        Parts that the posture lacks follow the nearest part above them that it has.
        """
        followed = [role if role in posture.roles else parent_role(role, posture.roles) for role in self._role_names]
        rows = [posture.roles.index(role or "hips") for role in followed]
        parts = posture.world()[..., rows, :]
        if "head" in posture.roles:
            spine = spine_orientations(posture, self.spine_roles, self._spine_at, self.chest)
        else:
            below = [max(k for k in range(row + 1) if self.spine_roles[k]) for row in range(len(self.spine))]
            spine = parts[..., [self._role_names.index(self.spine_roles[k]) for k in below], :]
        return np.concatenate([parts, spine], axis=-2)

    def _driven_fingers(self, roles: Sequence[str]) -> list[str]:
        """The joints of fingers that a posture with these roles decides: all of each finger that it knows."""
        known = {role.rpartition("_")[0] for role in roles if role in FINGERS}
        return [role for role in self.fingers if role.rpartition("_")[0] in known]

    def finger_drive(self, roles: Sequence[str]) -> tuple[list[str], Records]:
        """Return the joints of fingers that a posture with these roles decides; (J,) of `packed.DRIVE` with them."""
        fingers = self._driven_fingers(roles)
        return fingers, self._drive_with(tuple(fingers)) if fingers else self._drive

    @property
    def neutral_orientations(self) -> Mapping[int, Floats]:
        """Joint to its orientation (4,) in the world in the neutral pose; of joints that have a canonical frame."""
        return self._neutral

    @cached_property
    def tables(self) -> carrying.Tables:
        """The arrays from which kernels read and pose postures."""
        joints = [*self._orientation_joints.tolist(), *self.fingers.values()]
        return carrying.Tables.of(self, joints, self._neutral)

    def _finger_orientations(self, posture: CanonicalPose) -> Floats | None:
        """(..., F, 4): canonical world orientations of `_driven_fingers`; None where there are none."""
        fingers = self._driven_fingers(posture.roles)
        if not fingers:
            return None
        rows = [
            posture.index(role if role in posture.roles else parent_role(role, posture.roles) or "hips")
            for role in fingers
        ]
        return np.asarray(posture.world()[..., rows, :])

    def _drive_with(self, fingers: tuple[str, ...]) -> Records:
        """(J,) of `packed.DRIVE` that also drives these joints of fingers, their rows after all others."""
        rows = self._drives.get(fingers)
        if rows is None:
            rows = self._drive.copy()
            for k, role in enumerate(fingers, len(self._role_names) + len(self.spine)):
                joint = self.fingers[role]
                rows["row"][joint], rows["neutral"][joint] = k, self._neutral[joint]
                rows["needed"][list(self.skeleton.path(joint))] = 1
            self._drives = {fingers: rows}  # one is enough: a body is mostly posed from bodies of one kind
        return rows

    def _first_segments(self, canonical: Floats, base: Pose) -> Floats:
        """(..., K, 4) orientations of the first segments of bones that orient the last ones as requested.

        The segments between keep their rotations of `base`.
        """
        batch = np.broadcast_shapes(canonical.shape[:-2], base.shape)
        out = np.broadcast_to(canonical, (*batch, *canonical.shape[-2:])).copy()
        for role, (first, *others) in self.segments.items():
            last = self._neutral[others[-1]]
            for joint in reversed(others):
                last = multiply(last, conjugate(base.rotations[..., joint, :]))
            row = self._role_names.index(role)
            out[..., row, :] = multiply(out[..., row, :], multiply(last, conjugate(self._neutral[first])))
        return out

    @cached_property
    def _drive(self) -> Records:
        from .packed import drive_records

        return drive_records(self)

    def _root_position(self, hips: Floats, base: Pose, world: Floats) -> Floats:
        """(..., 3) [m]: the root's position that puts the hips at `hips`, through the joints between them."""
        position = hips
        for joint in self.skeleton.path(self.roles["hips"])[:0:-1]:
            offset = self.skeleton.offsets[joint] if base.offsets is None else base.offsets[..., joint, :]
            position = position - rotate(world[..., self.skeleton.parents[joint], :], offset)
        return position

    def canonical_orientation(self, frames: Frames, joint: int) -> Floats:
        """(..., 4): canonical world orientation of one joint that has a role or belongs to the spine."""
        if joint not in self._neutral:
            known = ", ".join(self.skeleton.names[j] for j in sorted(self._neutral))
            raise PosableError(f"joint {self.skeleton.names[joint]!r} has no canonical frame; these have: {known}")
        read_from = dict(zip(self._role_joints.tolist(), self._orientation_joints.tolist(), strict=True)).get(
            joint, joint
        )
        return multiply(frames.orientations[..., read_from, :], conjugate(self._neutral[read_from]))

    def _canonical_world(self, frames: Frames, joints: np.ndarray) -> Floats:
        """(..., K, 4): canonical world orientations of some joints."""
        constants = np.array([self._neutral[int(j)] for j in joints])
        return multiply(frames.orientations[..., joints, :], conjugate(constants))

    # Markers, limits, volumes

    def markers(self, pose: Pose) -> Floats:
        """(..., 6, 3) [m]: the joints of `MARKERS` in the world."""
        joints = [self.roles[role] for role in MARKERS]
        return np.ascontiguousarray(self.skeleton.forward(pose).positions[..., joints, :])

    @cached_property
    def limits(self) -> Limits:
        """The joint limits, in canonical rotations; wrists flex about the axes of the rig's palms."""
        if self._limits is not None:
            return self._limits
        if self.robot_parts is not None:
            raise PosableError(
                "limits of a robot are intervals of its motors: body.robot.lower and body.robot.upper; "
                "body.clamp(pose) brings a pose inside"
            )
        from ..limits import Limits

        return Limits.human((*self._role_names, *self.fingers), palms=palm_headings(self._standing, self.roles))

    def limits_for(self, limits: Limits | str | None) -> Limits | None:
        """The limits that an argument `limits=` of a solver means: "body" these ones, None none, or other ones."""
        if isinstance(limits, str):
            if limits != "body":
                raise UnknownNameError("limits", limits, ("body",))
            return self.limits
        return limits

    @cached_property
    def packed(self) -> PackedBody:
        """The body as compiled code reads it."""
        from .packed import PackedBody

        self.require_person("this solver")
        return PackedBody(self)

    def clamp(self, pose: Pose, limits: Limits | str = "body") -> Pose:
        """Return the pose with every part that has a limit brought inside it; joints without a role stay.

        Args:
            pose: one, or a batch.
            limits: "body": this body's; or other ones.
        """
        if self.robot_parts is not None and limits == "body":
            from .robot.posing import clamped

            return clamped(self.skeleton, pose)
        given = self.limits_for(limits)
        inside = self.limits if given is None else given
        posture = self.canonical(pose)
        rows = [row for row, role in enumerate(posture.roles) if role in inside]
        rotations = posture.rotations.copy()
        rotations[..., rows, :] = inside.clamp([posture.roles[row] for row in rows], rotations[..., rows, :])
        return self.pose(posture.replace(rotations=rotations), base=pose)

    def joint_values(self, pose: Pose) -> Floats:
        """(..., D): the values of a pose as a robot's motors count them, who may turn by more than half a turn.

        Of the values that a rotation may mean, the one nearest to the middle of the motor's limits; `skeleton.values`
        has the one nearest to zero.
        """
        from .robot.posing import joint_values

        return joint_values(self.skeleton, pose)

    # Limbs

    def limb(
        self,
        name: str,
        *,
        limits: Limits | str | None = "body",
        search: Search | None = None,
        reference: str = "transport",
    ) -> BodyLimb:
        """One of the four limbs, solved exactly: "right_arm", "left_arm", "right_leg" or "left_leg".

        Args:
            name: which one.
            limits: "body": this body's; None: none at all; or other ones.
            search: how the swivel is searched; default: as `limb.model.SEARCHES` says.
            reference: where swivel 0 is: "transport" or "paper", see `Limb`.
        """
        self.require_person("Limb")
        usual = limits == "body" and search is None and reference == "transport"
        if usual and name in self._limbs:
            return self._limbs[name]
        from .limb.body_limb import BodyLimb

        made = BodyLimb(self, name, self.limits_for(limits), search, reference)
        if usual:
            self._limbs[name] = made
        return made

    @checked_keywords
    def place(
        self,
        pose: Pose,
        part: str,
        target: TargetLike,
        *,
        swivel: ArrayLike | None = None,
        preferred: Preferred | None = None,
        scene: Scene | None = None,
        self_collision: bool = False,
        margin: float = 0.0,
        allowed_contacts: str | Collection[str] = (),
        collides: Collides | None = None,
        limb_range: LimbRange | None = None,
        softness: float = 0.0,
    ) -> PlaceSolution:
        """Return the pose with a hand or a foot at a target in the world, the rest of the body as it was.

        Args:
            pose: one, or a batch that broadcasts with the target.
            part: "right_hand", "left_hand", "right_foot" or "left_foot": its joint is the end effector.
            target: a `Target` in the world: position [m], orientation (canonical, or of the rig's joint in the world)
                and pole, the point [m] that the elbow or the knee points to; or positions (..., 3) [m] alone.
            swivel: (...) [rad] exactly this swivel of the elbow or knee; default None, which searches one.
            preferred: where the search begins: an angle [rad], one a target, a function of the targets in the limb's
                frame, a `SwivelTable` or `Sensorimotor()`; default None, the limb's own. A pole goes first.
            scene: obstacles that the limb must keep out of; default None.
            self_collision: whether it must also keep out of the rest of its body; default False.
            margin: distance to keep from both [m]; default 0.
            allowed_contacts: names of obstacles of the scene that the hand or foot may touch: what it grasps, the
                floor; default none.
            collides: a test of your own, called with (values (7,) [rad], swivel [rad]); default None.
            limb_range: where such limbs are found: targets and swivels outside it are corrected; default None.
            softness: [m] how far before full stretch the end begins to lag behind its target; default 0.
        """
        self.require_person("place")
        if part not in LIMB_OF:
            raise UnknownNameError("part that can be placed", part, LIMB_OF)
        return self.limb(LIMB_OF[part]).place(
            pose,
            target,
            swivel=swivel,
            preferred=preferred,
            scene=scene,
            self_collision=self_collision,
            margin=margin,
            allowed_contacts=allowed_contacts,
            collides=collides,
            limb_range=limb_range,
            softness=softness,
        )

    def elbow_out(self, pose: Pose, limb: str) -> ElbowSolution:
        """Return the pose with a limb's upper and lower part swivelled out of the trunk, where they were in it.

        Args:
            pose: one, or a batch.
            limb: "right_arm", "left_arm", "right_leg" or "left_leg".
        """
        from .limb.elbows import elbow_out

        self.require_person("elbow_out")
        return elbow_out(self, limb, pose)

    def pose_limb(self, pose: Pose, limb: str, values: ArrayLike) -> Pose:
        """Return the pose with a limb at its seven values (..., 7) [rad], as `limb(name).solve` gives them."""
        self.require_person("pose_limb")
        return self.limb(limb).pose(pose, values)

    def pose_hand(self, pose: Pose, side: str, shape: HandShape | str, weight: ArrayLike = 1.0) -> Pose:
        """Return the pose with the fingers of a hand in a shape, inside their limits; all else is as it was.

        Args:
            pose: one, or a batch that broadcasts with the shape and the weight.
            side: "left" or "right".
            shape: a `HandShape`, or the name of one: "open", "relaxed", "fist", "point", "pinch", ...
            weight: (...) how much of it: 0 leaves the hand as it is in the pose; default 1.
        """
        from .hand.shapes import pose_hand

        return pose_hand(self, pose, side, shape, weight)

    @checked_keywords
    def close_hand(
        self,
        pose: Pose,
        side: str,
        scene: Scene,
        *,
        start: HandShape | str | None = "ready",
        end: HandShape | str = "closed",
    ) -> HandSolution:
        """Return the pose with the fingers of a hand closed on the obstacles of a scene, each as far as their surface.

        Args:
            pose: one; the hand is where it shall grasp.
            side: "left" or "right".
            scene: what there is to hold, and what is in the way. The surface of a mesh is solid, its inside is not.
            start: the shape that the fingers begin in: a `HandShape`, the name of one, or None for that of the pose.
            end: the shape that they have where nothing stops them; default "closed", further than a fist.
        """
        from .hand.closing import close_hand

        return close_hand(self, pose, side, scene, start, end)

    def balance(self, pose: Pose) -> Balance:
        """Return the centre of mass (..., 3) [m] of a pose, or of a batch, and how far inside the feet it is [m]."""
        from .balance import balance

        self.require_person("balance, which weighs parts as a person's and")
        return balance(self, self.skeleton.forward(pose))

    @cached_property
    def volumes(self) -> Volumes:
        """The space that the body occupies: capsules and ellipsoids on its joints."""
        from .collision.volumes import body_volumes

        if self.robot_parts is not None:
            raise PosableError("the volumes of a robot are those of its file: body.robot.collisions")
        return body_volumes(self)


def _arc_length(joint_positions: Floats, chest: int) -> Floats:
    """(S,): 0 at the hips, 1 at the joint `chest` of the chain, 2 at the head; lengths share each section."""
    steps = np.linalg.norm(np.diff(joint_positions, axis=0), axis=-1)
    at = np.zeros(len(joint_positions))
    for start, first, last in ((0.0, 0, chest), (1.0, chest, len(joint_positions) - 1)):
        lengths = np.concatenate([[0.0], np.cumsum(steps[first:last])])
        whole = lengths[-1] if lengths[-1] > 1e-9 else 1.0
        at[first : last + 1] = start + lengths / whole
    at[0] = 0.0  # where nothing lies between hips and arms, both sections begin at the hips
    return at


def _spread(offsets: Floats | None, batch: tuple[int, ...]) -> Floats | None:
    return None if offsets is None else np.broadcast_to(offsets, (*batch, *offsets.shape[-2:]))
