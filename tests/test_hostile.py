"""Numbers that are no input are INVALID in every solver, spoil nothing that comes after, and need no other code."""

import os
import signal
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import posable as ps
from posable.compute import Batch
from posable.express import Tree

SOURCE = Path(__file__).resolve().parents[1] / "src"
FAR = [1.01e6, -2e6, 1e9, 1e150, -1e300, 1e308, np.inf, -np.inf, np.nan]  # [m]: beyond the extent of the world
NEAR = [0.0, -0.0, 5e-324, 1e-300, -1e-12, 1.0, 9.9e5, -9.9e5]  # within it


@pytest.fixture(scope="module")
def body() -> ps.Humanoid:
    return ps.figure()


@pytest.fixture(scope="module")
def walk(body: ps.Humanoid) -> ps.Motion:
    return ps.samples.walk(body)[:20]


def finite(solution: Any) -> bool:
    """Whether all numbers of the returned posture are finite."""
    for name in ("values", "angles"):
        if hasattr(solution, name):
            found = getattr(solution, name)
            return all(np.isfinite(one).all() for one in (found.values() if isinstance(found, dict) else [found]))
    pose = solution.motion.pose if hasattr(solution, "motion") else solution.pose
    return pose.is_finite()


def spoiled(good: Any, value: float, at: tuple[int, ...]) -> np.ndarray:
    out = np.array(good, dtype=np.float64)
    out[at] = value
    return out


def chains(body: ps.Humanoid) -> dict[str, ps.Chain]:
    return {name: ps.Chain.from_body(body, name) for name in ("spine", "right_arm")}


# Each returns a call with a number in one of its positions: name to (body, walk) to call.
Call = Callable[[float], Any]
POSITIONS: dict[str, Callable[[ps.Humanoid, ps.Motion], Call]] = {
    "a limb": lambda b, w: lambda x: b.limb("right_arm").solve([0.2, x, 0.1]),
    "a limb with a learned range": lambda b, w: (
        lambda x: b.limb("right_arm").solve([0.2, x, 0.1], limb_range=arm_range().for_limb(b.limb("right_arm")))
    ),
    "a limb that tracks": lambda b, w: lambda x: b.limb("right_arm").track([[0.2, x, 0.1]], fps=60),
    "a placement": lambda b, w: lambda x: b.place(w[0], "left_hand", [0.3, 1.0, x]),
    "a placement with a scene": lambda b, w: (
        lambda x: b.place(
            w[0], "left_hand", [0.3, 1.0, x], scene=ps.Scene().box("box", (1, 1, 1), (3, 0, 0)), self_collision=True
        )
    ),
    "the pole of a placement": lambda b, w: (
        lambda x: b.place(w[0], "left_hand", ps.Target([0.3, 1.0, 0.3], pole=[x, 0.5, -1.0]))
    ),
    "where a placement starts": lambda b, w: (
        lambda x: b.place(w[0].replace(translation=[x, 0.0, 0.0]), "left_hand", [0.3, 1.0, 0.3])
    ),
    "a reach": lambda b, w: lambda x: reacher(b).solve(right=[-0.3, x, 0.4], start=w[0]),
    "one of two reaches": lambda b, w: lambda x: reacher(b).solve(right=[-0.3, 1.0, 0.4], left=[x, 1.0, 0.4]),
    "where a reach starts": lambda b, w: (
        lambda x: reacher(b).solve(right=[-0.3, 1.0, 0.4], start=w[0].replace(translation=[0.0, x, 0.0]))
    ),
    "six points": lambda b, w: lambda x: ps.SequentialIK(b).solve(spoiled(b.markers(w[0]), x, (1, 0))),
    "six points without a prior": lambda b, w: (
        lambda x: ps.SequentialIK(b, prior=None).solve(spoiled(b.markers(w[0]), x, (4, 1)))
    ),
    "a track of points": lambda b, w: lambda x: ps.SequentialIK(b).track(spoiled(b.markers(w[:3].pose), x, (1, 3, 2))),
    "damped least squares": lambda b, w: (
        lambda x: ps.classic.DLS(
            b.skeleton, [ps.classic.Effector("l_wrist")], stop=ps.classic.Stop(iterations=5)
        ).solve([[0.3, x, 0.2]])
    ),
    "FABRIK": lambda b, w: (
        lambda x: ps.classic.FABRIK(
            b.skeleton, [ps.classic.Effector("l_wrist")], stop=ps.classic.Stop(iterations=5)
        ).solve([[x, 1.0, 0.2]])
    ),
    "where damped least squares starts": lambda b, w: (
        lambda x: ps.classic.DLS(
            b.skeleton, [ps.classic.Effector("l_wrist")], stop=ps.classic.Stop(iterations=5)
        ).solve([[0.3, 1.0, 0.2]], start=b.skeleton.rest.replace(translation=[0.0, x, 0.0]))
    ),
    "where a track of FABRIK starts": lambda b, w: (
        lambda x: ps.classic.FABRIK(
            b.skeleton, [ps.classic.Effector("l_wrist")], stop=ps.classic.Stop(iterations=5)
        ).track([[[0.3, 1.0, 0.2]]] * 3, start=b.skeleton.rest.replace(translation=[0.0, x, 0.0]))
    ),
    "six points by KMA": lambda b, w: lambda x: ps.classic.METHODS["kma"](b).solve(spoiled(b.markers(w[0]), x, (3, 0))),
    "six points by prioritised IK": lambda b, w: (
        lambda x: ps.classic.METHODS["pik_from_sik"](b).solve(spoiled(b.markers(w[0]), x, (3, 0)))
    ),
    "a track of six points by TGB": lambda b, w: (
        lambda x: ps.classic.METHODS["tgbsik"](b).track(spoiled(b.markers(w[:3].pose), x, (1, 3, 0)))
    ),
    "a point that a chain looks at": lambda b, w: (
        lambda x: ps.ERIK(ps.Chain.from_axes("YXXZY")).solve([0, 0.6, -0.9, 0.3, 0], look_at=(0.5, x, 2.0))
    ),
    "a point that a tree looks at": lambda b, w: lambda x: Tree(chains(b)).solve({}, look_at={"right_arm": (x, 1, 1)}),
    "a drag": lambda b, w: lambda x: editor(b, w).drag(frame=3, part="left_hand", target=[0.3, x, 0.3]),
    "a displacement": lambda b, w: lambda x: editor(b, w).drag(frame=3, part="left_hand", displacement=[0.0, x, 0.0]),
}
FIRST_FRAME = {"a limb that tracks", "a track of points"}


@cache
def arm_range() -> ps.LimbRange:
    return ps.LimbRange.builtin("right_arm")


@cache
def reacher(body: ps.Humanoid) -> ps.Reacher:
    return ps.Reacher(body, *(ps.Behaviour.default(body, arm) for arm in ("right_arm", "left_arm")))


@cache
def editor(body: ps.Humanoid, motion: ps.Motion) -> ps.MotionEditor:
    return ps.MotionEditor(motion, body, weights="identity")


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("name", POSITIONS)
def test_a_position_beyond_the_extent_is_invalid_and_the_pose_finite(body, walk, name):
    call = POSITIONS[name](body, walk)
    for value in FAR:
        solution = call(value)
        assert ps.Status.INVALID in np.atleast_1d(solution.status), (value, solution)
        if name not in ("where a placement starts", "where a reach starts"):
            assert finite(solution), value
    for value in NEAR:
        solution = call(value)
        assert ps.Status.INVALID not in np.atleast_1d(solution.status), (value, solution)
        assert finite(solution), value


@pytest.mark.parametrize("value", [2e6, 1e308, np.nan])
def test_what_is_made_once_refuses_lengths_beyond_the_extent(body, walk, value):
    for make in (
        lambda: ps.Skeleton(["a", "b"], [-1, 0], [[0.0, 0.0, 0.0], [0.0, value, 0.0]]),
        lambda: ps.Limb("right_arm", value, 0.3),
        lambda: ps.Scene().box("box", (1, 1, 1), (value, 0, 0)),
        lambda: ps.Scene().sphere("ball", value),
        lambda: body.skeleton.scaled(100.0 * value),
        lambda: ps.Scene().capsule("post", 0.1, value),
    ):
        with pytest.raises(ps.PosableError):
            make()


def streams(body: ps.Humanoid, walk: ps.Motion) -> dict[str, tuple[Callable[[], Any], Callable[[Any, Any, int], Any]]]:
    """Name to (what makes a stream, what steps it: with a number that spoils the step, or None for a good one)."""
    markers = body.markers(ps.samples.walk(body).pose)
    arm, chain = body.limb("right_arm"), ps.Chain.from_axes("YXXZY")
    level = np.tile([1.0, 0.0, 0.0, 0.0], (1, 1))[0]

    def points(stream, x, k):
        given = markers[k % len(markers)]
        return stream.step(given if x is None else spoiled(given, x, (k % 6, k % 3)))

    def with_orientations(stream, x, k):
        given = {"head": level if x is None else level * x}
        return stream.step(markers[k % len(markers)], given)

    return {
        "six points": (lambda: ps.SequentialIK(body).stream(60.0), points),
        "smoothed points": (lambda: ps.SequentialIK(body).stream(60.0, smoothing=0.05, lock_feet=True), points),
        "orientations": (lambda: ps.SequentialIK(body).stream(60.0), with_orientations),
        "smoothed orientations": (lambda: ps.SequentialIK(body).stream(60.0, smoothing=0.05), with_orientations),
        "a limb": (lambda: arm.stream(60.0), lambda s, x, k: s.step([0.2, 0.1, 0.3 if x is None else x])),
        "a reach": (
            lambda: reacher(body).stream(60.0),
            lambda s, x, k: s.step(right=[-0.3, 1.1 if x is None else x, 0.3]),
        ),
        "a chain": (
            lambda: ps.ERIK(chain).stream(60.0),
            lambda s, x, k: s.step([0, 0.6, -0.9, 0.3, 0], look_at=(0.5, 1.0 if x is None else x, 2.0)),
        ),
        "a tree": (
            lambda: Tree({"tip": chain}).stream(60.0),
            lambda s, x, k: s.step({}, look_at={"tip": (0.5, 1.0 if x is None else x, 2.0)}),
        ),
        "motors": (
            lambda: ps.MotionFilter(1.0, 4.0, 20.0).stream([0.0]),
            lambda s, x, k: s.step([0.3 if x is None else x]),
        ),
        "motors by the paper": (
            lambda: ps.MotionFilter(1.0, 4.0, 20.0, kind="nutty").stream([0.0]),
            lambda s, x, k: s.step([0.3 if x is None else x]),
        ),
    }


STREAMS = list(streams(ps.figure(), None))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", STREAMS)
def test_nothing_that_a_stream_is_given_spoils_what_comes_after(body, walk, name):
    make, step = streams(body, walk)[name]
    stream = make()
    for k, x in enumerate([None, None, *FAR, None, 1e6, None, *FAR, None]):
        step(stream, x, k)
    calm, fresh = (
        200,
        make(),
    )  # from 1,000 km away, and a pelvis that lost where front is finds it while the body walks on
    for k in range(calm):
        after, wanted = step(stream, None, k), step(fresh, None, k)
    if isinstance(after, np.ndarray):
        np.testing.assert_allclose(after, wanted, atol=0.02)
        return
    assert finite(after) and after.status == wanted.status
    assert after.position_error == pytest.approx(wanted.position_error, abs=1e-6)


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_refuses_a_time_that_is_none(body, walk, name):
    make, _ = streams(body, walk)[name]
    for dt in (0.0, -0.1, np.nan, np.inf, 1e-300, 1e300, "soon"):
        stream = make()
        given: tuple[Any, ...] = ()
        if name in ("a chain", "motors", "motors by the paper", "a limb"):
            given = ([0.1] * (5 if name == "a chain" else 1 if "motors" in name else 3),)
        elif name == "a tree":
            given = ({},)
        elif name != "a reach":
            given = (body.markers(walk[0]),)
        more = {"look_at": {"tip": (0, 1, 1)}} if name == "a tree" else {}
        more = {"direction": (0, 1, 1)} if name == "a chain" else more
        with pytest.raises(ps.PosableError, match="dt is"):
            stream.step(*given, dt=dt, **more)


# Arrays of every kind


def variants(array: np.ndarray) -> dict[str, np.ndarray]:
    """The same numbers (of which float32 has all) in arrays of other kinds."""
    locked = array.copy()
    locked.flags.writeable = False
    wide = np.repeat(array[..., None], 2, axis=-1)
    return {
        "read-only": locked,
        "not contiguous": wide[..., 0],
        "reversed": np.ascontiguousarray(array[..., ::-1])[..., ::-1],
        "float32": array.astype(np.float32),
        "big-endian": array.astype(">f8"),
        "objects": array.astype(object),
        "Fortran order": np.asfortranarray(array),
    }


def quarter(array: np.ndarray) -> np.ndarray:
    """The array with its numbers rounded to multiples of 1/64, which every kind of float has."""
    return np.round(np.asarray(array) * 64.0) / 64.0


def test_arrays_of_every_kind_give_the_same_answers_from_the_same_code(body, walk):
    markers = quarter(body.markers(walk.pose))
    targets = quarter(np.random.default_rng(0).normal(size=(8, 3)) * 0.3)
    lifted = targets + np.array([0.0, 1.0, 0.25])
    q = np.tile([0.5, 0.5, -0.5, 0.5], (8, 1))
    arm, erik, both = body.limb("right_arm"), ps.ERIK(ps.Chain.from_axes("YXXZY")), reacher(body)
    dls = ps.classic.DLS(body.skeleton, [ps.classic.Effector("l_wrist")], stop=ps.classic.Stop(iterations=3))
    sik, edits = ps.SequentialIK(body), editor(body, walk)
    span = arm_range()
    calls: dict[str, tuple[np.ndarray, Callable[[Any], Any]]] = {
        "a limb": (targets, lambda v: arm.solve(v).values),
        "a limb's orientation": (q, lambda v: arm.solve(targets, v).values),
        "one limb": (targets[0], lambda v: arm.solve(v).values),
        "a placement": (lifted, lambda v: body.place(walk[0], "left_hand", ps.Target(v)).pose.rotations),
        "a pole": (
            lifted,
            lambda v: body.place(walk[0], "left_hand", ps.Target(targets, pole=v)).pose.rotations,
        ),
        "a reach": (lifted[0], lambda v: both.solve(right=v).pose.rotations),
        "reaches": (lifted, lambda v: both.solve(right=ps.Target(v)).pose.rotations),
        "points": (markers, lambda v: sik.solve(v).pose.rotations),
        "one set of points": (markers[0], lambda v: sik.solve(v).pose.rotations),
        "a track": (markers, lambda v: sik.track(v).motion.pose.rotations),
        "directions": (targets, lambda v: erik.solve([0, 0.5, -1.0, 0.25, 0], direction=v).angles),
        "points looked at": (lifted, lambda v: erik.solve([0, 0.5, -1.0, 0.25, 0], look_at=v).angles),
        "effectors": (lifted[:, None], lambda v: dls.solve(v).pose.rotations),
        "a drag": (targets[0] / 8.0, lambda v: edits.drag(frame=3, part="head", displacement=v).pose.rotations),
        "a range": (targets, lambda v: span.correct(v, np.zeros(8)).position),
        "limits": (q, lambda v: body.limits.clamp("head", v)),
        "rotations": (q, ps.math.log),
        "a pose": (
            quarter(walk.pose.translation),
            lambda v: body.skeleton.forward(ps.Pose(v, walk.pose.rotations)).positions,
        ),
    }
    compiled = {one for one in _batches() if "_jit" in vars(one)}
    for name, (array, call) in calls.items():
        wanted = call(array)
        for kind, other in variants(array).items():
            np.testing.assert_array_equal(call(other), wanted, err_msg=f"{name}, {kind}")
        np.testing.assert_array_equal(
            call(np.round(array).astype(np.int64)), call(np.round(array)), err_msg=f"{name}, whole numbers"
        )
    if os.environ.get("POSABLE_KERNELS", "") != "jit" and not compiled:
        assert not [one.__name__ for one in _batches() if "_jit" in vars(one)]  # nothing went to Numba


def _batches() -> list[Batch]:
    return [
        value
        for name, module in list(sys.modules.items())
        if name.startswith("posable.")
        for value in vars(module).values()
        if isinstance(value, Batch)
    ]


# Processes, signals, memory


def run(code: str, **variables: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "POSABLE_KERNELS": "", **variables}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


FORKS = """
import multiprocessing, os, warnings, numpy as np, posable.math as pm
warnings.simplefilter("ignore")
v = np.random.default_rng(0).normal(size=(50_000, 3))
wanted = pm.exp(v)
def same(_):
    return bool(np.array_equal(pm.exp(v), wanted))
child = os.fork()
if child == 0:
    grandchild = os.fork()
    if grandchild == 0:
        os._exit(0 if same(0) else 1)
    os._exit(os.waitpid(grandchild, 0)[1] or (0 if same(0) else 1))
print(os.waitpid(child, 0)[1])
with multiprocessing.get_context("fork").Pool(3) as pool:
    print(pool.map(same, range(6)))
print(same(0))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.parametrize("kernels", ["", "jit"])
def test_processes_that_are_forked_after_a_large_batch_compute_and_end(kernels):
    expected = ["0", str([True] * 6), "True"]
    assert run(FORKS, POSABLE_THREADS="3", POSABLE_KERNELS=kernels).splitlines() == expected


def test_a_read_only_array_compiles_nothing_once_more():
    code = """
import numpy as np, posable.math as pm
v = np.random.default_rng(0).normal(size=(40, 3))
wanted = pm.exp(v)
locked = v.copy(); locked.flags.writeable = False
assert np.array_equal(pm.exp(locked), wanted) and np.array_equal(pm.exp(np.asfortranarray(v)), wanted)
pm._exp(40, locked, np.empty((40, 4)))
print(len(pm._exp.jit.signatures))
try:
    out = np.empty((40, 4)); out.flags.writeable = False
    pm._exp(40, v, out)
except ValueError as error:
    print(error)
"""
    count, why = run(code, POSABLE_KERNELS="jit").splitlines()
    assert count == "1" and "read-only" in why


@pytest.mark.skipif(os.name != "posix", reason="signals are sent by kill")
def test_a_long_batch_ends_soon_after_ctrl_c():
    """Half a minute of work on two threads; after the signal both stop with the piece they are at."""
    code = """
import signal, sys, numpy as np, posable as ps
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts what runs in the background without it
body = ps.figure()
arm = body.limb("right_arm")
targets = np.random.default_rng(0).normal(size=(20_000, 3))
arm.solve(targets[:2000])
print("ready", flush=True)
try:
    while True:
        arm.solve(np.tile(targets, (100, 1)))
except KeyboardInterrupt:
    print("interrupted", arm.solve(targets[:3]).status.shape, flush=True)
"""
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "POSABLE_THREADS": "2"}
    child = subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout is not None and child.stdout.readline().strip() == "ready"
        time.sleep(0.5)
        child.send_signal(signal.SIGINT)
        assert child.communicate(timeout=120)[0].strip() == "interrupted (3,)"
    finally:
        child.kill()


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_does_not_grow(body, walk, name):
    grows(*streams(body, walk)[name], steps=150)


@pytest.mark.soak
@pytest.mark.parametrize("name", STREAMS)
def test_an_hour_of_a_stream_does_not_grow(body, walk, name, drawn):
    grows(*streams(body, walk)[name], steps=drawn(216_000))


def grows(make: Callable[[], Any], step: Callable[[Any, Any, int], Any], steps: int) -> None:
    stream = make()
    for k in range(40):
        step(stream, None, k)
    tracemalloc.start()
    try:
        for k in range(20):
            step(stream, None, k)
        before = tracemalloc.get_traced_memory()[0]
        for k in range(steps):
            step(stream, FAR[k % len(FAR)] if k % 17 == 0 else None, k)
        assert tracemalloc.get_traced_memory()[0] - before < 100_000
    finally:
        tracemalloc.stop()
