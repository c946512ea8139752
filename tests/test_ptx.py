"""Every kernel compiles for a GPU, on a machine without one; where there is one, it gives the CPU's answers.

Batches are found by looking through the package. What they are called with is recorded while the public functions in
`USES` run, so a new batch needs one line there: a call that reaches it. Tuple kernels are compiled from their
annotations; row kernels are compiled as part of the batches that call them.
"""

import importlib
import inspect
import os
import subprocess
import sys
import typing
from pathlib import Path

import numpy as np
import pytest

import posable
from posable.compute import Batch, batch, prange
from posable.compute.types import Bools, Floats, Quat, Records, Vec3
from posable.limits import kernels as limits_kernels

if os.environ.get("NUMBA_DISABLE_JIT", "0") != "0":
    pytest.skip("with the JIT off there is nothing to compile", allow_module_level=True)

numba = pytest.importorskip("numba")
if sys.platform == "darwin":
    pytest.skip("NVIDIA has no wheels for this system", allow_module_level=True)

from numba.core.dispatcher import Dispatcher  # noqa: E402

from posable.compute import cuda  # noqa: E402

CAPABILITY = (9, 0)
ROWS = 5
LARGE = {
    "posable.body.limb.elbows.elbow_rows",
    "posable.classic.kernels.solve_rows",
    "posable.edit.drag_kernels.drag_rows",
    "posable.express.aim_kernels.aim_rows",
    "posable.express.rows.solve_rows",
    "posable.limb.nearest_clear.keep_rows",
    "posable.limb.solve.solve_rows",
    "posable.reach.kernels.reach_rows",
    "posable.reconstruct.kernels.reconstruct_rows",
}
"""Whole solvers, whose optimised PTX takes up to minutes to compile and to assemble: done in the soak."""


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
    from posable.body import figure

    body = figure()
    values = np.random.default_rng(2).normal(size=(ROWS, len(body.skeleton.dofs)))
    body.pose(body.canonical(body.skeleton.from_values(values)))


def use_compute() -> None:
    from posable.compute.verdict import verdict_rows

    zeros = np.zeros(1)
    verdict_rows(1, np.zeros(1, np.int64), zeros, 1.0, zeros, 1.0, zeros, np.zeros(1, np.int64))


def use_formats() -> None:
    from posable.formats.bvh.numbers import read_decimals
    from posable.formats.euler import quaternions_from_euler

    read_decimals(b"1.5 -2e3 4 ", 3), quaternions_from_euler((2, 1, 0), np.ones((ROWS, 3)))


def use_limb() -> None:
    import posable as ps

    body = ps.figure()
    pose, arm = body.neutral_pose, body.limb("right_arm")
    answer = arm.solve([[0.3, -0.2, 0.2]] * ROWS, [1.0, 0.0, 0.0, 0.0])
    arm.forward(answer.values), body.pose_limb(pose, "right_arm", answer.values)
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

    body = ps.figure()
    points = body.markers(ps.samples.walk(body)[:ROWS].pose)
    scene = ps.Scene().plane("floor")
    ps.SequentialIK(body, scene=scene).solve(points, {"head": [1.0, 0.0, 0.0, 0.0]})


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
    relative_motion(np.ones((ROWS, 3)), np.eye(3)[0], np.eye(3)[1])


USES = [
    use_compute,
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
]


def modules():
    """The modules that compile something."""
    package = Path(posable.__file__).parent
    for path in sorted(package.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        if "@kernel" in source or "@batch" in source:
            parts = [part for part in path.relative_to(package).with_suffix("").parts if part != "__init__"]
            yield importlib.import_module(".".join(("posable", *parts)))


def owned(kind: type) -> dict[str, object]:
    """Everything of this kind that the package defines, by full name."""
    found = {}
    for module in modules():
        for name, value in vars(module).items():
            source = getattr(value, "function", None) or getattr(value, "py_func", None)
            if isinstance(value, kind) and source.__module__ == module.__name__:
                found[f"{module.__name__}.{name}"] = value
    return found


def copied(argument):
    """Arguments with arrays of their own, tuples of arrays among them."""
    if isinstance(argument, tuple):
        return argument._make(map(copied, argument)) if hasattr(argument, "_make") else tuple(map(copied, argument))
    return argument.copy() if isinstance(argument, np.ndarray) else argument


def leaves(argument):
    """All arrays and numbers of arguments, tuples taken apart."""
    return [leaf for part in argument for leaf in leaves(part)] if isinstance(argument, tuple) else [argument]


@pytest.fixture(scope="module")
def recorded() -> dict[Batch, tuple[tuple, tuple]]:
    """For every batch that the uses reach: arguments before the call and after it, on the CPU."""
    calls = {}
    run = Batch.__call__

    def recording(batch: Batch, *arguments) -> None:
        before = copied(arguments)
        run(batch, *arguments)
        calls.setdefault(batch, (before, copied(arguments)))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Batch, "__call__", recording)
        for use in USES:
            use()
    return calls


BATCHES = {**owned(Batch), "limit_tests": limit_tests}


def tuple_kernels() -> dict[str, tuple[Dispatcher, tuple]]:
    """The kernels on scalars and tuples alone, with the types their annotations name."""
    from numba import types

    numba_types = {
        float: types.float64,
        int: types.int64,
        bool: types.boolean,
        Vec3: types.UniTuple(types.float64, 3),
        Quat: types.UniTuple(types.float64, 4),
    }
    found = {}
    for name, kernel in owned(Dispatcher).items():
        hints = typing.get_type_hints(kernel.py_func)
        wanted = [hints[parameter] for parameter in inspect.signature(kernel.py_func).parameters]
        if all(hint in numba_types for hint in wanted):
            found[name] = (kernel, tuple(numba_types[hint] for hint in wanted))
    return found


TUPLE_KERNELS = tuple_kernels()


def called_by(function) -> set[Dispatcher]:
    """The kernels that a function names, and those that they name, and so on."""
    reached, waiting = set(), [function]
    while waiting:
        current = waiting.pop()
        names = current.__code__.co_names
        known = [current.__globals__.get(name) for name in names]
        known += [getattr(module, name, None) for module in known if inspect.ismodule(module) for name in names]
        new = {value for value in known if isinstance(value, Dispatcher)} - reached
        reached |= new
        waiting += [kernel.py_func for kernel in new]
    return reached


@pytest.fixture(scope="module")
def ptxas() -> Path | None:
    """NVIDIA's assembler, which comes in the same wheel as the compiler."""
    import nvidia

    found = [path / "cuda_nvcc" / "bin" / "ptxas" for path in map(Path, nvidia.__path__)]
    return next((path for path in found if path.exists()), None)


def assembles(ptxas: Path, code: str, folder: Path) -> None:
    source = folder / "kernel.ptx"
    source.write_text(code)
    command = [ptxas, "-arch", "sm_90", source, "-o", folder / "kernel.cubin"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_every_batch_is_reached_by_a_use(recorded):
    missing = sorted(name for name, loop in BATCHES.items() if loop not in recorded)
    assert not missing, f"add a call to USES that reaches {', '.join(missing)}"


def test_records_are_aligned_so_that_a_gpu_reads_whole_numbers(recorded):
    for name, loop in BATCHES.items():
        for argument in leaves(recorded[loop][0]) if loop in recorded else ():
            dtype = getattr(argument, "dtype", None)
            if dtype is not None and dtype.names:
                assert dtype.isalignedstruct, f"{name}: give {dtype} align=True, or each number is read byte by byte"


@pytest.mark.parametrize("name", sorted(BATCHES.keys() - LARGE))
def test_a_batch_compiles_to_ptx_that_assembles(name, recorded, ptxas, tmp_path):
    check_assembles(name, recorded, ptxas, tmp_path)


@pytest.mark.parametrize("name", sorted(LARGE))
def test_a_large_batch_compiles_to_ptx(name, recorded):
    arguments, _ = recorded[BATCHES[name]]
    assert ".visible .entry" in cuda.ptx(BATCHES[name], *arguments, capability=CAPABILITY, optimised=False)


@pytest.mark.soak
@pytest.mark.parametrize("name", sorted(LARGE))
def test_a_large_batch_compiles_to_ptx_that_assembles(name, recorded, ptxas, tmp_path):
    check_assembles(name, recorded, ptxas, tmp_path)


def check_assembles(name: str, recorded, ptxas: Path | None, folder: Path) -> None:
    assert BATCHES[name] in recorded, "no call in USES reaches it"
    arguments, _ = recorded[BATCHES[name]]
    code = cuda.ptx(BATCHES[name], *arguments, capability=CAPABILITY)
    assert ".visible .entry" in code
    assert ".target sm_90" in code
    if ptxas is not None:
        assembles(ptxas, code, folder)


@pytest.mark.parametrize("name", TUPLE_KERNELS)
def test_a_tuple_kernel_compiles_for_a_gpu(name):
    kernel, signature = TUPLE_KERNELS[name]
    with cuda._named_gpu(CAPABILITY):
        code, _ = cuda._cuda().compile_ptx(kernel.py_func, signature, cc=CAPABILITY, device=True)
    assert ".visible .func" in code


def test_every_kernel_on_arrays_is_part_of_a_batch():
    reached = set().union(*(called_by(loop.function) for loop in BATCHES.values()))
    missing = sorted(
        name for name, kernel in owned(Dispatcher).items() if name not in TUPLE_KERNELS and kernel not in reached
    )
    assert not missing, f"no GPU test sees {', '.join(missing)}: call them from a batch"


@pytest.mark.parametrize("name", sorted(BATCHES))
def test_a_gpu_gives_the_answers_of_the_cpu(name, recorded):
    if not cuda.available():
        pytest.skip("no GPU")
    arguments, expected = recorded[BATCHES[name]]
    arguments = copied(arguments)
    cuda.launch(BATCHES[name], *arguments)
    names = inspect.signature(BATCHES[name].function).parameters
    for parameter, *both in zip(names, arguments, expected, strict=True):
        for got, want in zip(*map(leaves, both), strict=True):
            if parameter == "work" or not isinstance(want, np.ndarray):
                continue  # what a search left in its working memory is no answer
            for field in want.dtype.names or (...,):
                # A GPU multiplies and adds in one rounding, and searches end on another bit.
                np.testing.assert_allclose(
                    got[field], want[field], rtol=1e-9, atol=1e-9, err_msg=f"{parameter} {field}"
                )


def test_without_a_gpu_a_launch_says_so():
    if cuda.available():
        pytest.skip("there is a GPU")
    with pytest.raises(posable.compute.PosableError, match="no GPU"):
        cuda.launch(next(iter(BATCHES.values())), 1)
