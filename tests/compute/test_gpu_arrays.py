"""Arrays on a GPU in public calls, with a library and a driver that need no GPU (`fake_cupy`, `fake_cuda`)."""

import gc
import lzma
import os
import sys

import numpy as np
import pytest

import posable as ps
from posable.compute import PosableError, cuda, cuda_driver, gpu_arrays, gpu_launch, kernels
from tests.compute import fake_cupy
from tests.compute.fake_cuda import FakeCuda
from tests.gpu_cases import CASES, body, unsure

pytestmark = pytest.mark.skipif(
    kernels.mode() != "library" or os.environ.get("NUMBA_DISABLE_JIT", "0") != "0", reason="kernels run by the JIT here"
)
DTYPES = {"float64": np.float64, "float32": np.float32}


@pytest.fixture
def gpu(tmp_path, monkeypatch):
    """A driver, code and a library in the place of the machine's."""
    cuda.write_file(
        tmp_path / cuda.file_name(), {name: lzma.compress(f"// {name}".encode()) for name in cuda.compiled_calls()}
    )
    monkeypatch.setattr(gpu_launch, "FOLDER", tmp_path)
    monkeypatch.setattr(gpu_launch, "_copies", {})
    monkeypatch.setattr(gpu_launch, "_unused", [])
    monkeypatch.delenv("POSABLE_KERNELS", raising=False)
    fake = FakeCuda()
    fake.gpus = 2
    driver = cuda_driver.Driver(fake)
    monkeypatch.setattr(cuda_driver, "driver", lambda: driver)
    fake.current = {}
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy.fake(fake.current))
    monkeypatch.setitem(gpu_arrays.LIBRARIES, "tests", gpu_arrays.Library())
    return fake


def placed(array, device: int = 0):
    return fake_cupy.ndarray(np.array(array), device)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CASES)
def test_answers_lie_where_the_targets_do_and_are_the_cpus(name, dtype, gpu):
    case = CASES[name]()
    arrays = {key: array.astype(DTYPES[dtype]) for key, array in case.arrays.items()}
    expected = case.call(**{key: array.astype(np.float64) for key, array in arrays.items()})
    wide = {key: array.astype(np.float64) for key, array in arrays.items()}
    adds_otherwise = case.rounding > 1e-15
    moved = unsure(case, wide, expected) if adds_otherwise else {}
    found = case.call(**{key: placed(array) for key, array in arrays.items()})
    assert gpu.launched and not gpu.copied_out
    for key, value in found.items():
        assert isinstance(value, fake_cupy.ndarray), key
        got, want = value.get(), np.asarray(expected[key])
        assert got.shape == want.shape, key
        if want.dtype.kind == "f":
            assert got.dtype == DTYPES[dtype], key
            tolerance = (1e-11 if adds_otherwise else 0.0) if dtype == "float64" else 1e-6
            sure = moved[key] < 1e-9 if adds_otherwise else np.ones(want.shape, np.bool_)
            assert sure.mean() > 0.3
            np.testing.assert_allclose(got[sure], want[sure], err_msg=key, rtol=tolerance, atol=tolerance)
        else:
            assert got.dtype.kind == want.dtype.kind
            np.testing.assert_array_equal(got, want, err_msg=key)


@pytest.mark.parametrize("name", CASES)
def test_nothing_waits_once_the_model_is_on_the_gpu(name, gpu):
    case = CASES[name]()
    arrays = {key: placed(array) for key, array in case.arrays.items()}
    case.call(**arrays)
    gpu.waited.clear(), gpu.copied_in.clear()
    case.call(**arrays)
    assert not gpu.waited and not gpu.copied_in and not gpu.copied_out


def test_float32_is_read_and_written_in_place(gpu):
    """No copy of it is made, in the order in which it lies, and none of the model in another dtype."""
    case = CASES["forward"]()
    arrays = {key: array.astype(np.float32) for key, array in case.arrays.items()}
    case.call(**{key: placed(array) for key, array in arrays.items()})
    assert [name.partition("@")[2] for name, *_ in gpu.launched] == ["staged+single"]
    joints = arrays["rotations"].shape[-2]
    beside = np.asfortranarray(arrays["rotations"].reshape(-1, joints, 4))
    moved = np.asfortranarray(arrays["translation"].reshape(-1, 3))
    frames = body().skeleton.forward(ps.Pose(placed(moved), fake_cupy.ndarray(beside)))
    assert gpu.launched[-1][0].endswith("@rows+single")
    assert frames.orientations._values.strides[0] == 4, "answers lie as the pose does"


@pytest.mark.parametrize("order", [(0, 2, 1), (2, 0, 1), (1, 2, 0)])
def test_a_pose_may_lie_in_any_order(order, gpu):
    case = CASES["forward"]()
    rotations = case.arrays["rotations"].reshape(-1, *case.arrays["rotations"].shape[-2:])
    translation = case.arrays["translation"].reshape(-1, 3)
    expected = case.call(translation, rotations)
    lying = np.ascontiguousarray(rotations.transpose(order)).transpose(np.argsort(order))
    found = case.call(placed(translation), fake_cupy.ndarray(lying))
    np.testing.assert_array_equal(found["positions"].get(), expected["positions"])
    np.testing.assert_array_equal(found["orientations"].get(), expected["orientations"])


def test_limbs_on_a_gpu_are_solved_in_stages(gpu):
    case = CASES["limb_search"]()
    case.call(**{key: placed(array) for key, array in case.arrays.items()})
    names = [name.rpartition(".")[2].partition("@")[0] for name, *_ in gpu.launched]
    assert names == ["begin_rows", "search_rows", "closest_rows"]


def test_the_network_of_many_bodies_is_a_product_of_matrices(gpu):
    case = CASES["bodies_with_prior"]()
    case.call(**{key: placed(array) for key, array in case.arrays.items()})
    names = [name.rpartition(".")[2].partition("@")[0] for name, *_ in gpu.launched]
    assert names == ["reconstruct_rows", "twin_rows", "twin_rows", "reconstruct_rows"]


def test_work_goes_to_the_current_stream_of_the_arrays_gpu(gpu):
    gpu.current.update({0: 0x50, 1: 0x51})
    case = CASES["forward"]()
    for device in (0, 1):
        frames = case.call(**{key: placed(array, device) for key, array in case.arrays.items()})
        assert frames["positions"].device.id == device
    assert gpu.streams == [0x50, 0x51]
    assert gpu.context is None, "the thread's context is left as it was"


def test_arrays_on_two_gpus_are_named(gpu):
    case = CASES["forward"]()
    both = {key: placed(array, k) for k, (key, array) in enumerate(case.arrays.items())}
    with pytest.raises(PosableError, match=r"lie on GPUs \[0, 1\]"):
        case.call(**both)


def test_arrays_of_the_cpu_beside_one_on_the_gpu_are_copied_there(gpu):
    case = CASES["forward"]()
    expected = case.call(**case.arrays)
    found = case.call(case.arrays["translation"], placed(case.arrays["rotations"]))
    np.testing.assert_array_equal(found["positions"].get(), expected["positions"])


def test_arrays_with_gaps_and_broadcast_ones_give_the_same(gpu):
    case = CASES["limb_swivel"]()
    position, orientation = case.arrays["position"], case.arrays["orientation"]
    expected = case.call(position=position, orientation=orientation[0, 0], swivel=0.5)
    wide = np.full((4, 10, 6), 9.0)
    wide[..., ::2] = position
    given = placed(wide)[..., ::2]
    assert not given.flags.c_contiguous
    found = case.call(position=given, orientation=placed(orientation[0, 0]), swivel=0.5)
    np.testing.assert_array_equal(found["values"].get(), expected["values"])


@pytest.mark.parametrize("name", CASES)
def test_an_empty_batch_has_an_empty_answer(name, gpu):
    case = CASES[name]()
    none = {key: array[:0] for key, array in case.arrays.items() if len(array) == len(next(iter(case.arrays.values())))}
    if len(none) < len(case.arrays):
        pytest.skip("its targets broadcast")
    expected = case.call(**none)
    for key, value in case.call(**{key: placed(array) for key, array in none.items()}).items():
        assert value.get().shape == np.shape(expected[key]), key


def test_whole_numbers_become_float64_and_other_floats_are_named(gpu):
    human = ps.Limits.human()
    q = np.array([[1, 0, 0, 0]])
    assert human.clamp("left_hand", placed(q)).get().dtype == np.float64
    with pytest.raises(PosableError, match="dtype float16; expected float32 or float64"):
        human.clamp("left_hand", placed(q.astype(np.float16)))


def test_a_call_that_knows_no_gpu_says_so_and_copies_nothing(gpu):
    with pytest.raises(PosableError, match=r"lies on a GPU where this call works on the CPU.*docs/gpu.md"):
        ps.Target.look_at(placed(np.zeros((2, 3))), placed(np.ones((2, 3))))


def refusals():
    body, chain = ps.figure(), ps.Chain.from_body(ps.figure(), "right_arm")
    scene, meshes = ps.Scene().sphere("ball", 0.1, (0.3, 1.0, 0.4)), ps.Scene()
    meshes.mesh("tetrahedron", np.eye(4, 3), np.array([[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3]]))
    behaviour = ps.Behaviour.default(body, "right_arm")
    points, postures = placed(np.ones((2, 3))), np.zeros(len(chain))
    reached = ps.Reacher(body, behaviour).solve(points)
    yield "scene, obstacles and collides need targets", lambda: body.limb("right_arm").solve(points, scene=scene)
    yield "among meshes, a Reacher needs", lambda: ps.Reacher(body, behaviour, scene=meshes).solve(points)
    yield "feet='step' needs arrays of the CPU", lambda: ps.Reacher(body, behaviour, feet="step").solve(points)
    yield "a stream of reaches needs", lambda: ps.Reacher(body, behaviour).stream().step(points[0])
    yield "names of contacts need a solution of the CPU", lambda: reached.contact
    walk = ps.samples.walk(body)[:4]
    moved = walk.replace(pose=ps.Pose(placed(walk.pose.translation), placed(walk.pose.rotations)))
    yield "retarget needs a motion of the CPU", lambda: ps.retarget(moved, body, ps.figure(height=1.5))
    yield "only chains whose joints are hinges and slides", lambda: ps.ERIK(chain).solve(postures, look_at=points)


def test_what_a_gpu_cannot_do_is_refused_with_a_sentence(gpu):
    for sentence, call in refusals():
        with pytest.raises(PosableError, match=sentence):
            call()


def test_poses_whose_rows_lie_beside_each_other_are_posed_as_they_are_and_answered_likewise(gpu):
    skeleton, rng = ps.figure().skeleton, np.random.default_rng(0)
    rotations = rng.normal(size=(7, len(skeleton), 4))
    translation = rng.normal(size=(7, 3))
    expected = skeleton.forward(ps.Pose(translation, rotations))
    given = placed(rotations.T.copy()).T
    found = skeleton.forward(ps.Pose(placed(translation.T.copy()).T, given))
    for got, want in ((found.positions, expected.positions), (found.orientations, expected.orientations)):
        assert got._values.flags.f_contiguous and not got.flags.c_contiguous
        np.testing.assert_array_equal(got.get(), want)
    address = given.data.ptr.to_bytes(8, "little")
    assert address in gpu.launched[-1][2], "nothing was copied"


def test_an_array_of_an_unknown_library_is_named_with_the_way_out(gpu, monkeypatch):
    monkeypatch.delitem(gpu_arrays.LIBRARIES, "tests")
    with pytest.raises(PosableError, match=r"on a GPU of tests.*torch.as_tensor"):
        ps.Limits.human().clamp("left_hand", placed(np.ones((2, 4))))


def test_without_code_for_gpus_the_sentence_says_how_to_make_it(gpu, monkeypatch, tmp_path):
    monkeypatch.setattr(gpu_launch, "FOLDER", tmp_path / "elsewhere")
    with pytest.raises(PosableError, match=r"_clamp_rows cannot run on a GPU: .*posable.compute.build --ptx"):
        ps.Limits.human().clamp("left_hand", placed(np.ones((2, 4))))


def test_a_pose_holds_the_arrays_it_was_given(gpu):
    case = CASES["forward"]()
    rotations = placed(case.arrays["rotations"])
    pose = ps.Pose(placed(case.arrays["translation"]), rotations)
    assert pose.rotations is rotations and pose.shape == (3, 4) and "Pose((3, 4)" in repr(pose)
    assert isinstance(pose[1].rotations, fake_cupy.ndarray) and pose[1].shape == (4,)
    assert pose.reshape(12).translation.shape == (12, 3)
    stacked = ps.Pose.stack([pose, pose])
    assert isinstance(stacked.rotations, fake_cupy.ndarray) and stacked.shape == (2, 3, 4)
    motion = ps.Motion(ps.figure().skeleton, pose[0], 60.0)
    assert len(motion) == 4 and isinstance(motion[1:3].pose.rotations, fake_cupy.ndarray)


def test_a_model_is_copied_once_and_given_back_with_its_solver(gpu):
    case = CASES["forward"]()
    skeleton = ps.figure().skeleton.scaled(1.5)
    pose = ps.Pose(*map(placed, case.arrays.values()))
    skeleton.forward(pose), skeleton.forward(pose)
    size = skeleton.packed.nbytes
    assert gpu.copied_in.count(size) == 1
    before = len(gpu.memory)
    del skeleton
    gc.collect()
    ps.figure().skeleton.forward(pose)
    assert len(gpu.memory) <= before


def test_a_repr_of_an_answer_on_a_gpu_waits_for_nothing(gpu):
    case = CASES["limb_search"]()
    arm = ps.figure().limb("right_arm")
    answer = arm.solve(*map(placed, case.arrays.values()))
    assert repr(answer) == "LimbSolution(4x10 rows on a GPU)"


def test_what_is_measured_on_a_gpu_is_solved_there(gpu, monkeypatch):
    from posable.evaluate.speed import cases

    monkeypatch.setattr(cases, "tiled", lambda array: np.resize(array, (8, *np.shape(array)[1:])))
    measured = 0
    for name in ("forward", "swivel", "limb", "reach", "six", "plain", "erik", "best"):
        ours = cases.CASES[name][1]().contenders[0]
        assert ours.gpu is not None, name
        call = ours.gpu(placed)
        gpu.launched.clear()
        answer = call()
        assert gpu.launched and not gpu.copied_out, name
        measured += not hasattr(answer, "status") or answer.status.get().shape == (8,)
    assert measured == 8
