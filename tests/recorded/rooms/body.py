"""Bodies: roles, canonical postures, limbs of a body, what touches, the figure and its motions."""

import tempfile
from functools import cache
from pathlib import Path

import numpy as np

import posable as ps
import posable.math as pm
from posable.body import find_roles
from posable.body.collision.clearance import SelfCollision, clearance
from posable.body.contacts import foot_contacts
from posable.body.limb.elbows import elbow_out
from posable.limb import Search

from .. import readers
from ..calls import call
from ..flat import stacked
from ..inputs import body, child, directions, few, orientations, room, rotations, sample

PARTS = ("right_hand", "left_hand", "right_foot", "left_foot")


def _described(person: ps.Humanoid) -> dict[str, object]:
    return {
        "roles": [list(pair) for pair in person.roles.items()],
        "spine": person.spine,
        "arc_length": person.arc_length,
        "measures": person.measures,
        "height": person.joint_height,
        "leg_length": person.leg_length,
        "neutral_pose": person.neutral_pose,
        "markers": person.markers(person.neutral_pose),
        "neutral_head": person.neutral_orientation("head"),
        "limb_joints": person.limb_joints("left_arm"),
        "limits": person.limits.names,
        "volumes": person.volumes.start,
        "radii": person.volumes.radii,
    }


def _targets(person: ps.Humanoid, part: str, count: int = 8, seed: int = 0) -> np.ndarray:
    """(count, 3): around where the part is, near and out of reach."""
    frames = person.skeleton.forward(person.neutral_pose)
    ends = {"right_hand": "right_arm", "left_hand": "left_arm", "right_foot": "right_leg", "left_foot": "left_leg"}
    base, _, _ = person.limb_joints(ends[part])
    length = person.limb(ends[part]).length
    far = np.random.default_rng(seed).uniform(0.4, 1.08, (count, 1)) * length
    return frames.positions[base] + directions(count, seed) * far


@call()
def the_figure():
    return {"figure": _described(body()), "offsets": body().skeleton.offsets, "ends": body().skeleton.end_offsets}


@call()
def figures_of_other_measures():
    return {
        "child": _described(child()),
        "tall": _described(ps.figure(2.05)),
        "odd": _described(ps.figure(1.7, foot=0.3, torso_width=0.4, hand=0.2, neck=0.12)),
    }


@call()
def roles_found():
    skeleton = body().skeleton
    named = ps.Humanoid(skeleton, roles={"left_toes": None, "head": "skullbase"})
    standing = ps.Humanoid(skeleton, standing=sample("walk")[3])
    return {
        "found": [list(pair) for pair in find_roles(skeleton).items()],
        "named": [list(pair) for pair in named.roles.items()],
        "named_neutral": named.neutral_pose,
        "standing": standing.neutral_pose,
    }


@call()
def canonical_postures():
    pose = few(sample("dance"), 3)
    posture = body().canonical(pose)
    raised = ps.CanonicalPose.neutral().rotated(left_upper_arm=pm.axis_angle([0, 0, 1], 2.6))
    return {
        "posture": readers.canonical(posture),
        "back": body().pose(posture, base=pose),
        "world": posture.world(),
        "mirrored": readers.canonical(posture.mirrored()),
        "mirrored_pose": body().mirrored(pose),
        "on_a_child": child().pose(posture),
        "raised": body().pose(raised),
        "rotation": raised.rotation("left_upper_arm"),
        "clamped": body().clamp(
            body().pose(posture.rotated(left_lower_arm=rotations(1, 3)[0], head=rotations(1, 4)[0]))
        ),
        "orientations": orientations(pose),
        "markers": body().markers(pose),
    }


@call()
def limbs_read_and_posed():
    pose = few(sample("boxing"), 4)
    found = {}
    for name in ("right_arm", "left_leg"):
        limb = body().limb(name)
        reading = limb.read(pose)
        frame, origin = limb.frame(body().skeleton.forward(pose))
        found[name] = {
            "reading": readers.limb_reading(reading),
            "frame": frame,
            "origin": origin,
            "posed": body().pose_limb(pose, name, reading.values * 0.8),
            "kept": limb.pose(pose, reading.values, reading),
        }
    return found


@call()
def placed():
    pose = body().neutral_pose
    found = {}
    for part in PARTS:
        targets = _targets(body(), part)
        turned = rotations(8, 5)
        found[part] = readers.placement(body().place(pose, part, ps.Target(targets)))
        found[part + " turned"] = readers.placement(body().place(pose, part, ps.Target(targets, turned)))
    found["one"] = readers.placement(body().place(pose, "right_hand", ps.Target([-0.3, 1.3, 0.35])))
    found["nan"] = readers.placement(body().place(pose, "left_hand", ps.Target([0.3, np.nan, 0.35])))
    return found


@call()
def placed_with_options():
    poses = few(sample("reach"), 8)
    targets = _targets(body(), "right_hand", seed=1)
    scene = room()
    learned = ps.LimbRange.builtin("right_arm")

    def place(target: ps.Target, **options: object) -> dict[str, object]:
        return readers.placement(body().place(poses, "right_hand", target, **options))

    own = body().limb("right_arm", limits=None, search=Search(0.3, -2.0, 2.0), reference="paper")
    return {
        "pole": place(ps.Target(targets, pole=[-2.0, 1.0, 0.0])),
        "poles": place(ps.Target(targets, rotations(8, 6), pole=directions(8, 7))),
        "swivel": place(ps.Target(targets), swivel=np.linspace(-0.5, 1.5, 8)),
        "preferred": place(ps.Target(targets), preferred=ps.SwivelTable.builtin("right_arm")),
        "scene": place(ps.Target(targets), scene=scene),
        "itself": place(ps.Target(targets), scene=scene, self_collision=True, margin=0.02, allowed_contacts=("table",)),
        "range": place(ps.Target(targets), limb_range=learned),
        "soft": place(ps.Target(targets), softness=0.04),
        "own_limb": readers.placement(own.place(poses, ps.Target(targets))),
    }


@call(extra="coal")
def placed_among_meshes():
    vertices = [(0, 0, 0), (0.3, 0, 0), (0, 0.5, 0), (0, 0, 0.3)]
    scene = ps.Scene().mesh("statue", vertices, [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)], (-0.35, 0.9, 0.1))
    answer = body().place(
        body().neutral_pose, "right_hand", ps.Target(_targets(body(), "right_hand", 6, 2)), scene=scene
    )
    return readers.placement(answer)


@call()
def placed_in_a_stream():
    limb = body().limb("left_arm")
    stream = limb.stream(fps=30.0)
    poses = few(sample("walk"), 8)
    steps = []
    for k in range(8):
        target = ps.Target([0.3 + 0.03 * k, 1.2, 0.3 + 0.05 * k], pole=[1.0, 0.5, 0.0])
        steps.append(limb.place(poses[k], target, stream=stream, self_collision=True, dt=0.05 if k == 4 else None))
    return stacked(map(readers.placement, steps))


@call()
def touching_itself():
    poses = few(sample("reach"), 12)
    frames = body().skeleton.forward(poses)
    folded = body().pose(ps.CanonicalPose.neutral().rotated(left_upper_arm=pm.axis_angle([0, 0, 1], -0.6)))
    own = SelfCollision.of(body())
    rest = clearance(body(), leave_out=("right_arm", "left_arm"))
    whole, scene = clearance(body()), room()
    return {
        "pairs": own.pairs,
        "touches": own.touches(frames),
        "folded": own.touches(body().skeleton.forward(folded)),
        "names": [list(pair) for pair in own.touching(body().skeleton.forward(folded))],
        "rest": rest.touches(frames, scene, 0.05),
        "depth": whole.depth(frames, scene),
        "depth_alone": whole.depth(frames),
        "contacts": whole.contacts(frames, scene, 0.02),
        "touching": [list(pair) for pair in whole.touching(frames, scene)],
    }


@call()
def elbows_turned_out():
    inward = pm.axis_angle([0, 0, 1], np.linspace(0.0, 0.9, 6))
    folded = pm.axis_angle([-1, 0, 0], np.linspace(0.2, 1.8, 6))
    posture = ps.CanonicalPose.neutral()
    pose = ps.Pose.stack(
        [body().pose(posture.rotated(right_upper_arm=inward[k], right_lower_arm=folded[k])) for k in range(6)]
    )
    return {"right_arm": readers.elbow(elbow_out(body(), "right_arm", pose))}


@call()
def feet_that_stand():
    found = {}
    for name in ("walk", "run", "dance"):
        motion = sample(name)
        ankles = body().markers(motion.pose)[:, 4:]
        found[name] = foot_contacts(ankles, motion.fps, body().leg_length)
    return found


@cache
def _knight(path: Path) -> ps.Humanoid:
    return ps.Humanoid(ps.load(path).skeleton)


@call("characters/KayKit_Knight.glb", fitted={"body.volumes": 1e-4, "body.radii": 1e-4})  # [m] of a 1 m figure
def knight(path):
    person = _knight(path)
    posed = person.pose(body().canonical(few(sample("boxing"), 3)))
    targets = _targets(person, "right_hand", 6)
    return {
        "body": _described(person),
        "posed": posed,
        "posture": readers.canonical(person.canonical(posed)),
        "placed": readers.placement(person.place(posed[0], "right_hand", ps.Target(targets), self_collision=True)),
        "walk": ps.samples.walk(person, duration=0.5, fps=20.0),
        "pairs": SelfCollision.of(person).pairs,
    }


@call("characters/VRMC_materials_mtoon_UV_Animation_Test.vrm")
def vrm(path):
    person = ps.Humanoid(ps.load(path).skeleton)
    posed = person.pose(body().canonical(few(sample("dance"), 3)))
    targets = _targets(person, "left_foot", 6)
    return {
        "body": _described(person),
        "placed": readers.placement(person.place(posed[1], "left_foot", ps.Target(targets))),
    }


@call(
    "characters/makehuman/default.mhskel", "characters/makehuman/base.obj", "characters/makehuman/default_weights.mhw"
)
def makehuman(path, _obj, _weights):
    """A rig whose bones are chains of segments that share their twist."""
    person = ps.Humanoid(ps.load(path).skeleton)
    posed = person.pose(body().canonical(few(sample("reach"), 3)))
    targets = _targets(person, "right_hand", 6)
    return {
        "body": _described(person),
        "posture": readers.canonical(person.canonical(posed)),
        "placed": readers.placement(person.place(posed[0], "right_hand", ps.Target(targets, rotations(6, 8)))),
    }


@call("cmu/17_10.bvh")
def captured(path):
    motion = ps.load(path, repair="cmu", first_frame=1)[::100]
    person = ps.Humanoid(motion.skeleton)
    with tempfile.TemporaryDirectory() as folder:
        ps.save(motion, Path(folder) / "a.npz")
        again = ps.Humanoid(ps.load(Path(folder) / "a.npz").skeleton)
    return {
        "body": _described(person),
        "posture": readers.canonical(person.canonical(motion.pose)),
        "clamped": person.clamp(motion.pose),
        "elbow": readers.elbow(elbow_out(person, "left_arm", motion.pose)),
        "again": again.neutral_pose,
    }


@call()
def many_rows():
    """Enough rows to be shared between threads."""
    poses = sample("reach").pose[np.arange(600) % 300]
    targets = _targets(body(), "right_hand", 600, 3)
    reading = body().limb("right_arm").read(poses)
    many = sample("dance").pose[np.arange(1100) % 250]
    return {
        "placed": readers.placement(body().place(poses, "right_hand", ps.Target(targets))),
        "apart": readers.placement(body().place(poses, "right_hand", ps.Target(targets), self_collision=True)),
        "posed": body().pose_limb(poses, "right_arm", reading.values),
        "postures": readers.canonical(body().canonical(many)),
        "back": body().pose(body().canonical(many)),
        "touches": SelfCollision.of(body()).touches(body().skeleton.forward(poses[:100])),
        "depth": clearance(body()).depth(body().skeleton.forward(poses[:100]), room()),
    }
