"""Whole solvers with arrays on a GPU that is none (`test_gpu_arrays`): in blocks, alone, beside arrays of the CPU."""

import numpy as np
import pytest

import posable as ps
from posable.compute import PosableError
from posable.express import aim, erik
from posable.reach import reacher
from tests.compute import test_gpu_arrays
from tests.compute.test_gpu_arrays import gpu, placed  # noqa: F401
from tests.gpu_cases import CASES, body, other_rig, reached

pytestmark = [test_gpu_arrays.pytestmark, pytest.mark.usefixtures("gpu")]


def same(found, expected) -> None:
    for name, want in expected.items():
        got = found[name].get() if hasattr(found[name], "get") else np.asarray(found[name])
        np.testing.assert_array_equal(got, np.asarray(want), err_msg=name)


def on_gpu(pose: ps.Pose) -> ps.Pose:
    return ps.Pose(*(None if one is None else placed(one) for one in (pose.translation, pose.rotations, pose.offsets)))


def places(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).uniform([-0.6, 0.6, 0.2], [0.0, 1.6, 0.7], (*shape, 3))


@pytest.mark.parametrize("name", ["reach", "reach_with_both_hands", "aims_best", "aims_at_points", "tracked_points"])
def test_answers_do_not_hang_on_the_blocks_that_they_are_solved_in(name, monkeypatch):
    for module in (reacher, erik, aim):
        monkeypatch.setattr(module, "BLOCK_ON_GPU", 3)
    case = CASES[name]()
    same(case.call(**{key: placed(array) for key, array in case.arrays.items()}), case.call(**case.arrays))


def test_one_reach_alone_is_as_among_others_also_after_one_on_the_cpu():
    solver = ps.Reacher(body(), ps.Behaviour.default(body(), "right_arm"))
    for weight in (None, 0.0, 1.0):
        expected = reached(solver.solve(places(), weight=weight))  # it keeps its rows for the next
        same(reached(solver.solve(placed(places()), weight=weight)), expected)


@pytest.mark.parametrize("moves", [False, True])
def test_starts_and_targets_may_lie_on_either_side(moves):
    solver = ps.Reacher(body(), ps.Behaviour.default(body(), "right_arm"))
    start, offsets = ps.samples.walk(body()).pose[:3], None
    if moves:
        offsets = np.broadcast_to(1.02 * body().skeleton.offsets, (3, len(body().skeleton), 3)).copy()
    start = start.replace(offsets=offsets)
    expected = solver.solve(places(3), start=start)
    for target, pose in ((placed(places(3)), start), (places(3), on_gpu(start)), (placed(places(3)), on_gpu(start))):
        answer = solver.solve(target, start=pose)
        same(reached(answer), reached(expected))
        assert repr(answer) == "ReachSolution(3 rows on a GPU)"
        if moves:
            same({"offsets": answer.pose.offsets}, {"offsets": expected.pose.offsets})


def test_a_body_with_fingers_and_turned_joints_reaches():
    rig = other_rig()
    solver = ps.Reacher(rig, ps.Behaviour.default(rig, "right_arm"))
    same(reached(solver.solve(placed(places(4)))), reached(solver.solve(places(4))))


def test_what_needs_a_look_at_each_row_is_refused():
    solver = ps.Reacher(body(), ps.Behaviour.default(body(), "right_arm"))
    with pytest.raises(PosableError, match="balance needs a pose of the CPU"):
        _ = solver.solve(placed(places(2))).balance
    with pytest.raises(PosableError):
        solver.animate(placed(places()))


@pytest.mark.parametrize(
    "options",
    [
        {"preferred": np.linspace(-1.0, 1.0, 6)},
        {"preferred": 0.3},
        {"swivel": 0.2},
        {"softness": 0.1, "wrist": (0.1, 0.2, 0.1)},
    ],
    ids=["preferred", "one preferred", "swivel", "softness"],
)
def test_a_limb_inside_a_range_takes_numbers_of_the_cpu_beside(options):
    arm, known = body().limb("right_arm"), ps.LimbRange.builtin("right_arm")
    position = 0.3 * np.random.default_rng(1).normal(size=(6, 3))
    answers = [arm.solve(where, limb_range=known, **options) for where in (placed(position), position)]
    names = ("values", "status", "in_range", "position_error")
    same(*({name: getattr(one, name) for name in names} for one in answers))


@pytest.mark.parametrize("method", ["best", "erik", "simple", "ccd"])
@pytest.mark.parametrize("shape", [(4,), (3, 1)], ids=["one track", "tracks of a frame"])
def test_tracks_of_any_shape_and_method(method, shape):
    solver = ps.ERIK(ps.Chain.from_axes("YXXZY", limits=(-1.5708, 1.5708)), method, signed=True)
    orientation = np.random.default_rng(0).normal(size=(*shape, 4))
    tracks = [solver.track(np.zeros(5), q) for q in (placed(orientation), orientation)]
    same(*({name: getattr(one, name) for name in ("angles", "jumped", "error", "status")} for one in tracks))


def test_a_track_that_misses_its_first_target_begins_where_solve_reaches_it():
    """Otherwise no track of `CASES` would tell."""
    solver = ps.ERIK(ps.Chain.from_axes("YXXZY", limits=(-1.5708, 1.5708)), signed=True)
    rng = np.random.default_rng(3)
    orientation, posture = np.repeat(rng.normal(size=(400, 1, 4)), 3, axis=1), rng.uniform(-1.5, 1.5, (400, 1, 5))
    _, report = solver._run(posture[:, 0].copy(), orientation[:, 0].copy(), False)
    missed = report["status"] != 0
    tracks = [solver.track(posture, q) for q in (placed(orientation), orientation)]
    assert missed.any() and (tracks[1].status[missed] == 0).any()
    np.testing.assert_allclose(tracks[0].angles.get(), tracks[1].angles, rtol=0, atol=1e-9)
    same(*({"status": one.status} for one in tracks))


def test_postures_are_carried_one_by_one_without_a_spine_and_over_bases_of_their_own():
    source, target = ps.figure(height=1.6), other_rig()
    walk = ps.samples.walk(source).pose[:4]
    there, here = source.canonical(on_gpu(walk)), source.canonical(walk)
    base = target.pose(here)

    def posed(posture, **more):
        pose = target.pose(posture, **more)
        return {"rotations": pose.rotations, "translation": pose.translation}

    same(posed(there, base=base), posed(here, base=base))
    same(posed(there[1:3]), posed(here[1:3]))
    plain = [ps.body.CanonicalPose(one.roles, one.rotations, one.hips) for one in (there, here)]
    same(*map(posed, plain))
    single = walk[0]
    same(posed(source.canonical(on_gpu(single))), posed(source.canonical(single)))
