"""Calls of the package's own functions that, together, reach every batch with the arguments that it is called with.

`python -m tools.record_calls` writes the table of those arguments while they run (`posable/compute/calls.json`), of
which the library is built. A new batch needs one line here: a call that reaches it.
"""

from functools import lru_cache
from unittest import mock

import numpy as np

from posable.compute import Batch, batch, prange
from posable.compute.types import Bools, Floats, Records
from posable.limits import kernels as limits_kernels

ROWS = 5


def use_math() -> None:
    import posable.math as pm

    rng = np.random.default_rng(0)
    p, q = pm.normalize(rng.normal(size=(2, ROWS, 4)))
    v, a = rng.normal(size=(2, ROWS, 3))
    axis = a / np.linalg.norm(a, axis=-1, keepdims=True)
    pm.multiply(p, q), pm.rotate(q, v), pm.exp(v), pm.log(q), pm.axis_angle(axis, 1.0), pm.between(a, v)
    pm.slerp(p, q, 0.3), pm.angle(p, q), pm.swing_twist(q, axis), pm.twist_swing(q, axis)
    pm.from_matrix(pm.to_matrix(q)), pm.from_euler("ZYX", v)


def use_skeleton() -> None:
    from posable.skeleton import Skeleton

    kinds = ["free", "ball", "hinge", "hinge_twist", "slide", "fixed"]
    skeleton = Skeleton("abcdef", [-1, 0, 1, 2, 3, 4], np.full((6, 3), 0.1), kinds=kinds)
    rng = np.random.default_rng(1)
    pose = skeleton.from_values(rng.normal(size=(ROWS, len(skeleton.dofs))))
    skeleton.forward(pose), skeleton.jacobian(pose, "f"), skeleton.values(pose)
    skeleton.integrate(pose, rng.normal(size=(ROWS, len(skeleton.dofs))))


@batch
def limit_tests(n: int, packed: Records, curves: Floats, out: Bools) -> None:
    """Kernels of the limits that solvers call and no batch of the package does."""
    for i in prange(n):
        q = (1.0, 0.0, 0.0, 0.0)
        out[i] = limits_kernels.excess(packed[i], curves, q)[0] <= 1e-9 and limits_kernels.allowed(packed[i], curves, q)


def use_limits() -> None:
    from posable.limits import Limits

    limits = Limits.human()
    q = np.random.default_rng(2).normal(size=(ROWS, len(limits), 4))
    q /= np.linalg.norm(q, axis=-1, keepdims=True)
    limits.excess(limits.names, q), limits.clamp(limits.names, q), limits.clamp(limits.names, q, approximate=True)
    limits.clamp_from(limits.names, limits.clamp(limits.names, q), q), limits.slack(limits.names, q)
    limit_tests(len(limits), limits.packed, limits.curves, np.empty(len(limits), np.bool_))


def use_body() -> None:
    from posable.body import carrying, figure
    from posable.body.contacts import foot_contacts

    body = figure()
    values = np.random.default_rng(2).normal(size=(ROWS, len(body.skeleton.dofs)))
    posture = body.canonical(body.skeleton.from_values(values))
    body.pose(posture)
    read = carrying.read_posture(body, body.skeleton.forward(body.pose(posture)))
    carrying.pose_posture(body, read, body.skeleton.rest, body.leg_length)
    foot_contacts(values[:, None, :3], 60.0, body.leg_length)


def use_compute() -> None:
    from posable.compute.verdict import verdict_rows

    zeros = np.zeros(1)
    verdict_rows(1, np.zeros(1, np.int64), zeros, 1.0, zeros, 1.0, zeros, np.zeros(1, np.int64))


def use_gpu_casts() -> None:
    from posable.compute import gpu_casts

    numbers, words = np.arange(float(ROWS)), np.arange(ROWS)
    gpu_casts.widen_rows(ROWS, numbers.astype(np.float32), np.empty(ROWS))
    gpu_casts.narrow_rows(ROWS, numbers, np.empty(ROWS, np.float32))
    gpu_casts.narrow_whole_rows(ROWS, words, np.empty(ROWS, np.int32))
    gpu_casts.float_field_rows(2, numbers, 1, 2, np.empty(2))
    gpu_casts.whole_field_rows(2, words.astype(np.int32), 1, 2, np.empty(2, np.int32))
    gpu_casts.byte_field_rows(2, words.astype(np.int8), 1, 2, np.empty(2, np.int8))


def use_formats() -> None:
    from posable.formats.bvh.numbers import read_decimals
    from posable.formats.euler import quaternions_from_euler

    read_decimals(b"1.5 -2e3 4 ", 3), quaternions_from_euler((2, 1, 0), np.ones((ROWS, 3)))


def use_limb() -> None:
    import posable as ps
    from posable.limb.limb import NO_ORIENTATION, _Job
    from posable.limb.solve import FIXED, SEARCH

    body = ps.figure()
    pose, arm = body.neutral_pose, body.limb("right_arm")
    answer = arm.solve([[0.3, -0.2, 0.2]] * ROWS, [1.0, 0.0, 0.0, 0.0])
    arm.forward(answer.values), body.pose_limb(pose, "right_arm", answer.values)
    arm.solve([[0.3, -0.2, 0.2]] * ROWS, limb_range=ps.LimbRange.builtin("right_arm"), softness=0.3)
    targets = _Job(np.full((ROWS, 3), 0.2), NO_ORIENTATION, np.zeros(1), np.zeros((1, 3)), arm.packed)
    arm._run_in_stages(targets, SEARCH, None), ps.Limb("right_arm", 0.3, 0.25)._run_in_stages(targets, FIXED, None)
    body.place(pose, "right_hand", ps.Target([0.2, 1.0, 0.3], pole=[1.0, 1.0, 0.0]))
    body.place(pose, "right_hand", ps.Target([[0.2, 1.0, -1.0]] * ROWS), self_collision=True)


def use_ranges() -> None:
    import posable as ps

    found = ps.LimbRange.builtin("right_arm")
    position, swivel = np.random.default_rng(3).normal(size=(ROWS, 3)), np.linspace(-3.0, 3.0, ROWS)
    found.contains(position, swivel), found.margins(position, swivel), found.spans(position)
    found.correct(position, swivel, margin=0.01, smooth=True)
    arm, table = ps.figure().limb("right_arm"), ps.SwivelTable("right_arm", np.zeros((60, 5)))
    ps.Sensorimotor().swivels(arm, position), table.swivels(arm, position)


def use_collision() -> None:
    import posable as ps
    from posable.body.collision.clearance import clearance, limb_links, limb_obstacles
    from posable.body.limb.elbows import elbow_out
    from posable.body.limb.meshes import near_meshes
    from posable.collision.meshes import MESH_ROW, seen_rows

    body = ps.figure()
    frames = body.skeleton.forward(body.neutral_pose)
    scene = ps.Scene().box("box", (1, 1, 1)).sphere("ball", 0.1).plane("floor").capsule("bar", 0.1, 1.0)
    whole = clearance(body)
    whole.touches(frames, scene), whole.depth(frames, scene), whole.touching(frames, scene)
    elbow_out(body, "left_arm", body.neutral_pose)
    scene.touches(body.volumes, frames.positions, frames.orientations)
    (
        scene.distance(body.volumes, frames.positions, frames.orientations),
        scene.in_frame(np.zeros(3), [1.0, 0.0, 0.0, 0.0]),
    )
    made = limb_links(body, "left_arm")
    limb_obstacles(body, "left_arm", frames, scene)
    p, q = np.zeros((ROWS, 3)), np.tile([1.0, 0.0, 0.0, 0.0], (ROWS, 1))
    near, seen = np.empty(ROWS, np.bool_), (np.empty((ROWS, 3, 3)), np.empty((ROWS, 3)))
    mesh = np.zeros(1, MESH_ROW)
    mesh["orientation"], mesh["half_sizes"] = q[0], 1.0
    seen_rows(ROWS, made.links[:ROWS], p, q, mesh, 0.0, near, *seen)
    links = len(made.links)
    found = (np.empty((2, links), np.int64), np.zeros((2, links, 3, 3)), np.zeros((2, links, 3)))
    model, world = body.limb("left_arm").packed, np.concatenate([p[0], q[0]])
    meshes = np.concatenate([mesh, mesh])
    near_meshes(2, (model, made.links, world), meshes, np.zeros(7), (0, links, 0.0), found)


def use_reach() -> None:
    import posable as ps

    body = ps.figure()
    behaviour = ps.Behaviour.default(body, "right_arm")
    behaviour.posture_at(np.zeros((ROWS, 2))), behaviour.locate(np.ones((ROWS, 3)), 0.6)
    scene = ps.Scene().sphere("ball", 0.1, (0.3, 1.0, 0.4))
    ps.reach.Posture.of(body, body.neutral_pose, body.neutral_pose, behaviour.parts)
    places = np.random.default_rng(4).uniform([-0.6, 0.6, 0.2], [0.0, 1.6, 0.7], (ROWS, 3))
    ps.Reacher(body, right=behaviour, scene=scene, gaze=0.5).solve(right=ps.Target(places))


def use_reconstruct() -> None:
    import posable as ps
    from posable.reconstruct.filtering import FootLock
    from posable.reconstruct.prior_layers import twin_rows

    body = ps.figure()
    # With bent arms: about a straight one the elbow may turn, and half of all digits are a rounding's.
    points = body.markers(ps.samples.walk(body)[15 : 15 + ROWS].pose)
    scene = ps.Scene().plane("floor")
    ps.SequentialIK(body, scene=scene).solve(points, {"head": [1.0, 0.0, 0.0, 0.0]})
    FootLock(ps.MARKERS, body.leg_length).step(points.copy(), 1.0 / 60.0)
    twin_rows(2 * ROWS, ROWS, np.ones(2), np.linspace(-1.0, 1.0, 2 * ROWS), np.linspace(2.0, 0.0, 2 * ROWS))


def use_classic() -> None:
    import posable as ps
    from posable.classic import FABRIK, METHODS, Effector

    body = ps.figure()
    points = body.markers(ps.samples.walk(body)[:2].pose)
    METHODS["dls"](body).solve(points), METHODS["ccd"](body).solve(points)
    FABRIK(body.skeleton, [Effector("l_wrist")]).solve(np.ones((2, 1, 3)))


def use_express() -> None:
    import posable as ps

    chain = ps.Chain.from_axes("YXXZY")
    rng = np.random.default_rng(5)
    # Signed: of two mirrored postures, equally good, a rounding would decide, and a GPU rounds otherwise.
    ps.ERIK(chain, signed=True).solve(rng.uniform(-1, 1, (ROWS, 5)), rng.normal(size=(ROWS, 4)))
    ps.ERIK(chain, signed=True).solve(rng.uniform(-1, 1, (ROWS, 5)), look_at=rng.normal(size=(ROWS, 3)))
    ps.MotionFilter(3, 20, 200).run(rng.uniform(-1, 1, (ROWS, 2)))


def use_edit() -> None:
    import posable as ps
    from posable.edit import relative_motion

    body = ps.figure()
    editor = ps.MotionEditor(ps.samples.walk(body)[:ROWS], body, limits=("clip", "body"))
    editor.report, editor.drag(frame=1, part="left_hand", displacement=(0.0, 0.02, 0.0))
    editor.retarget(body)
    ps.AutoPose(body).solve({"left_hand": (0.3, 1.2, 0.4)})
    relative_motion(np.ones((ROWS, 3)), np.eye(3)[0], np.eye(3)[1])


def use_robots() -> None:
    from pathlib import Path
    from tempfile import TemporaryDirectory

    import posable as ps
    from tests.robots.robot_files import biped

    person = ps.figure()
    with TemporaryDirectory() as folder:
        robot = biped(Path(folder))
    motion = ps.samples.walk(person)[: 3 * ROWS]
    ps.retarget(motion, person, robot, speeds=0.5), ps.retarget(motion[:ROWS], person, robot, lookahead=0)


def use_live() -> None:
    import posable as ps
    from posable.live.bones import Bones

    body = ps.figure()
    Bones(body).transforms(body.neutral_frames)


USES = [
    use_compute,
    use_gpu_casts,
    use_formats,
    use_math,
    use_skeleton,
    use_limits,
    use_limb,
    use_ranges,
    use_collision,
    use_body,
    use_reach,
    use_reconstruct,
    use_classic,
    use_express,
    use_edit,
    use_robots,
    use_live,
]


def copied(argument):
    """Arguments with arrays of their own, tuples of arrays among them."""
    if isinstance(argument, tuple):
        return argument._make(map(copied, argument)) if hasattr(argument, "_make") else tuple(map(copied, argument))
    return argument.copy() if isinstance(argument, np.ndarray) else argument


def leaves(argument):
    """All arrays and numbers of arguments, tuples taken apart."""
    return [leaf for part in argument for leaf in leaves(part)] if isinstance(argument, tuple) else [argument]


def nudged(argument, rng: np.random.Generator):
    """Arguments with arrays of numbers that differ in their last bit."""
    if isinstance(argument, tuple):
        parts = [nudged(part, rng) for part in argument]
        return argument._make(parts) if hasattr(argument, "_make") else tuple(parts)
    if isinstance(argument, np.ndarray) and argument.dtype == float:
        return argument * (1.0 + rng.choice([-1.0, 0.0, 1.0], argument.shape) * np.finfo(float).eps)
    return argument.copy() if isinstance(argument, np.ndarray) else argument


@lru_cache(maxsize=1)
def recorded() -> dict[Batch, tuple[tuple, tuple]]:
    """For every batch that the uses reach: arguments before its first call and after it, on the CPU."""
    calls: dict[Batch, tuple[tuple, tuple]] = {}
    run = Batch.__call__

    def recording(batch: Batch, *arguments) -> None:
        before = copied(arguments)
        run(batch, *arguments)
        calls.setdefault(batch, (before, copied(arguments)))

    with mock.patch.object(Batch, "__call__", recording):
        for use in USES:
            use()
    return calls
