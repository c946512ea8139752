"""Whatever bytes a file has, a reader gives a whole, finite motion or one `PosableError`; nothing else, ever.

Thousands of mutations in `make test`, millions in `make soak`.
"""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import posable as ps
from posable.compute import FormatError, PosableError

from .example_motions import LITTLE_BVH, random_motion
from .fbx_files import little
from .mjcf_files import TRICKY
from .test_asf import LITTLE_AMC, LITTLE_ASF

CASES = 1500
SOAK_CASES = 400_000
SPICE = [b"0", b"-1", b"1e308", b"-1e308", b"nan", b"inf", b"99999999999", b"{", b"}", b"JOINT", b"End Site", b"ROOT"]
SPICE += [b"OFFSET", b"CHANNELS", b"MOTION", b"Frames:", b"\0", b"\xff", b"\r", b"\n", b" ", b"begin", b"end", b":root"]


def _check(path, options=None):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a reader that overflows on the way has not understood the file
        try:
            motion = ps.load(path, **(options or {}))
        except PosableError as error:
            assert isinstance(error, FormatError)
            assert path.name in str(error) or path.stem.split("_")[0] in str(error)
            return False
    assert motion.pose.is_finite()
    assert np.isfinite(motion.skeleton.offsets).all()
    assert np.isfinite(motion.fps) and motion.fps > 0
    assert np.abs(np.linalg.norm(motion.pose.rotations, axis=-1) - 1).max(initial=0) < 1e-6
    return True


def _mutated(data, rng):
    """`data` with a few bytes or words changed, cut out, doubled or moved."""
    data = bytearray(data)
    for _ in range(rng.integers(1, 5)):
        if not data:
            break
        at, length = int(rng.integers(len(data))), int(rng.geometric(0.05))
        match rng.integers(7):
            case 0:
                data[at] ^= 1 << int(rng.integers(8))
            case 1:
                del data[at : at + length]
            case 2:
                data[at:at] = SPICE[rng.integers(len(SPICE))]
            case 3:
                data[at : at + length] = SPICE[rng.integers(len(SPICE))]
            case 4:
                other = int(rng.integers(len(data)))
                data[at:at] = data[other : other + length]
            case 5:
                del data[at:]
            case _:
                data[at : at + length] = rng.bytes(length)
    return bytes(data)


def _fuzz(tmp_path, name, seeds, cases, seed=0, options=None):
    path = tmp_path / name
    accepted = 0
    for case in range(cases):
        rng = np.random.default_rng([seed, case])
        path.write_bytes(_mutated(seeds[case % len(seeds)], rng))
        accepted += _check(path, options)
    return accepted


def _bvh_seeds(tmp_path):
    ps.save(random_motion(1, frames=3, joints=4, moved=True), tmp_path / "seed.bvh", scale=0.01)
    return [LITTLE_BVH.encode(), (tmp_path / "seed.bvh").read_bytes(), LITTLE_BVH.replace("\n", "\r\n").encode()]


def _npz_seed(tmp_path):
    ps.save(random_motion(1, frames=2, joints=3, moved=True), tmp_path / "seed.npz")
    return [(tmp_path / "seed.npz").read_bytes()]


def _fuzz_all(tmp_path, cases, seed):
    accepted = _fuzz(tmp_path, "a.bvh", _bvh_seeds(tmp_path), cases, seed)
    (tmp_path / "07.asf").write_text(LITTLE_ASF)
    accepted += _fuzz(tmp_path, "07_01.amc", [LITTLE_AMC.encode()], cases, seed)
    (tmp_path / "07_01.amc").write_text(LITTLE_AMC)
    for case in range(cases):
        rng = np.random.default_rng([seed, case])
        (tmp_path / "07.asf").write_bytes(_mutated(LITTLE_ASF.encode(), rng))
        accepted += _check(tmp_path / "07_01.amc")
    accepted += _fuzz(tmp_path, "a.npz", _npz_seed(tmp_path), cases, seed)
    return accepted


def _fuzz_fbx(tmp_path, cases, seed):
    seeds = [little("binary"), little("text"), little("packed", 7700), little("binary", 7500)]
    return _fuzz(tmp_path, "a.fbx", seeds, cases, seed)


def test_mutated_fbx_files_give_a_motion_or_one_error(tmp_path):
    assert CASES // 10 < _fuzz_fbx(tmp_path, 2 * CASES, seed=0) < 2 * CASES


@pytest.mark.soak
def test_hundreds_of_thousands_of_mutated_fbx_files_give_a_motion_or_one_error(tmp_path):
    _fuzz_fbx(tmp_path, SOAK_CASES, seed=1)


def _fuzz_robots(tmp_path, cases, seed):
    from .test_urdf import LITTLE

    accepted = _fuzz(tmp_path, "a.xml", [TRICKY.encode()], cases, seed)
    return accepted + _fuzz(tmp_path, "a.urdf", [LITTLE.encode()], cases, seed)


def test_mutated_robots_give_a_motion_or_one_error(tmp_path):
    assert 0 < _fuzz_robots(tmp_path, CASES, seed=0) < 2 * CASES


@pytest.mark.soak
def test_hundreds_of_thousands_of_mutated_robots_give_a_motion_or_one_error(tmp_path):
    _fuzz_robots(tmp_path, SOAK_CASES, seed=1)


def test_mutated_meshes_give_triangles_or_one_error(tmp_path):
    from posable.formats.robot.meshes import read_triangles

    corners = np.zeros((20, 50), np.uint8)
    corners[:, 12:48] = np.random.default_rng(0).normal(size=(20, 9)).astype("<f4").view(np.uint8)
    binary = b"\0" * 80 + (20).to_bytes(4, "little") + corners.tobytes()
    words = b"solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\n"
    obj = b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\nf -3/1 -2/2 -1/3\n"
    ended = set()
    for case in range(CASES):
        rng = np.random.default_rng([0, case])
        kind, seed = [("stl", binary), ("stl", words), ("obj", obj)][case % 3]
        path = tmp_path / f"{case}.{kind}"
        data = bytearray(_mutated(seed, rng)[: len(seed)])
        path.write_bytes(data if case % 2 else data + seed[len(data) :])  # every other one has its right length
        try:
            vertices, faces = read_triangles(path)
        except FormatError as error:
            ended.add("refused")
            assert path.name in str(error)
            continue
        ended.add("read")
        assert np.isfinite(vertices).all() and faces.shape[1] == 3 and 0 <= faces.min() <= faces.max() < len(vertices)
    assert ended == {"read", "refused"}


def test_mutated_files_give_a_motion_or_one_error(tmp_path):
    accepted = _fuzz_all(tmp_path, CASES, seed=0)
    assert 0 < accepted < 4 * CASES  # some mutations do no harm, some do


@pytest.mark.soak
def test_millions_of_mutated_files_give_a_motion_or_one_error(tmp_path, drawn):
    _fuzz_all(tmp_path, drawn(SOAK_CASES, each=4), seed=1)


def test_mutated_clips_give_a_motion_or_one_error(cmu, tmp_path):
    data = (cmu / "09_01.bvh").read_bytes()
    head = data[: data.index(b"Frames:")]
    few = head + b"Frames: 3\nFrame Time: .0083333\n" + b"\n".join(data.splitlines()[-3:]) + b"\n"
    for options in (None, {"repair": "cmu"}):
        _fuzz(tmp_path, "09_01.bvh", [few], 300, seed=2, options=options)


@pytest.mark.parametrize("suffix", [".bvh", ".amc", ".asf", ".npz", ".xml", ".urdf"])
def test_any_bytes_at_all_give_a_motion_or_one_error(tmp_path_factory, suffix):
    path = tmp_path_factory.mktemp("any") / f"a{suffix}"
    path.with_suffix(".asf").write_text(LITTLE_ASF)

    @given(st.binary(max_size=300))
    @settings(max_examples=200)
    def check(data):
        path.write_bytes(data)
        _check(path)

    check()


TOKENS = """HIERARCHY,ROOT,JOINT,{,},OFFSET,CHANNELS,MOTION,Frames:,End Site,Hips,0,1,3,6,-1.5,1e5,Xrotation,Zposition
Frame Time: 0.1,OFFSET 0 1 0,CHANNELS 3 Xrotation Yrotation Zrotation,Frames: 2,nan"""
tokens = st.sampled_from(TOKENS.replace("\n", ",").split(","))


@given(st.lists(tokens, max_size=60), st.sampled_from([" ", "\n", "\t"]))
def test_bvh_words_in_any_order_give_a_motion_or_one_error(tmp_path_factory, words, blank):
    path = tmp_path_factory.mktemp("words") / "a.bvh"
    path.write_text(blank.join(["HIERARCHY", "ROOT", "r", "{", *words]))
    _check(path)
