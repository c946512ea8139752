"""USD files: what we write comes back, and Blender's files have the joints where Blender had them."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import posable as ps
from posable.compute import FormatError, MissingExtraError
from posable.formats import animations

from .example_motions import random_motion

DATA = Path(__file__).parents[1] / "data" / "usd"

pytest.importorskip("pxr")


@pytest.mark.parametrize("name", ["blender_plain.usdc", "blender_turned.usda"])
def test_joints_are_where_blender_has_them_in_every_frame(name):
    motion = ps.load(DATA / name)
    with np.load(DATA / f"{name}.npz") as truth:
        order = [motion.skeleton.index(one) for one in truth["names"].tolist()]
        found = motion.skeleton.forward(motion.pose).positions[:, order]
        assert motion.fps == 30 and found.shape == truth["Wave"].shape
        assert np.abs(found - truth["Wave"]).max() < 2e-6
    assert animations(DATA / name) == ["Wave"]
    assert set(ps.Humanoid(motion.skeleton).roles) >= {"hips", "left_hand", "right_foot", "head"}  # it stands at rest
    (body,) = motion.skeleton.character.meshes
    assert len(body.vertices) == 16 * 8
    carried = body.posed(motion.skeleton.forward(motion.pose))
    assert np.abs(carried[:, :8].mean(axis=1) - found[:, 0]).max() < 0.3  # the hips' own box is at the hips


def test_what_is_written_comes_back(tmp_path, data_dir):
    motions = {
        "figure": ps.samples.walk(duration=0.4),
        "knight": ps.load(data_dir / "characters" / "KayKit_Knight.glb")[:10],
        "tree": random_motion(2, moved=True, rest=True),
    }
    for name, motion in motions.items():
        ps.save(motion, tmp_path / f"{name}.usda")
        back = ps.load(tmp_path / f"{name}.usda")
        assert len(back) == len(motion) and back.fps == motion.fps
        assert back.skeleton.parents.tolist() == motion.skeleton.parents.tolist()
        ours, theirs = (one.skeleton.forward(one.pose).positions for one in (motion, back))
        assert np.abs(ours - theirs).max() < 1e-5 * max(1.0, np.abs(ours).max())
        if name == "knight":
            meshes = motion.skeleton.character.meshes
            assert len(back.skeleton.character.meshes) == len(meshes)
            for one, other in zip(meshes, back.skeleton.character.meshes):
                posed = [m.posed(s.skeleton.forward(s.pose)) for m, s in ((one, motion), (other, back))]
                assert np.abs(posed[0] - posed[1]).max() < 1e-4
                assert np.abs(one.colours[:, :3].astype(int) - other.colours[:, :3]).max() <= 1


def test_other_kinds_of_files_units_axes_and_rates_are_read(tmp_path):
    from pxr import Usd, UsdGeom

    walk = ps.samples.walk(duration=0.4)
    ps.save(walk, tmp_path / "a.usda")
    stage = Usd.Stage.Open(str(tmp_path / "a.usda"))
    UsdGeom.SetStageMetersPerUnit(stage, 0.01)
    for suffix in ("usdc", "usd"):
        stage.Export(str(tmp_path / f"b.{suffix}"))
        back = ps.load(tmp_path / f"b.{suffix}")
        assert np.abs(back.pose.translation - 0.01 * walk.pose.translation).max() < 1e-6
    assert np.abs(ps.load(tmp_path / "b.usdc", scale=1.0).pose.translation - walk.pose.translation).max() < 1e-5
    UsdGeom.SetStageUpAxis(stage, "Z")
    stage.SetTimeCodesPerSecond(2 * walk.fps)
    stage.Export(str(tmp_path / "c.usdc"))
    back = ps.load(tmp_path / "c.usdc")
    assert back.fps == 2 * walk.fps and len(back) == len(walk)
    assert np.abs(back.pose.translation - 0.01 * walk.pose.translation[:, [0, 2, 1]] * [1, 1, -1]).max() < 1e-6
    assert len(ps.load(tmp_path / "c.usdc", fps=walk.fps)) == (len(walk) + 1) // 2


def test_without_the_package_the_error_says_which_extra_to_install(monkeypatch):
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name == "pxr" else found(name, *rest))
    with pytest.raises(MissingExtraError, match=r"posable\[usd\]"):
        ps.load(DATA / "blender_plain.usdc")


LITTLE = """#usda 1.0
(%s)
def SkelRoot "Root" %s
{
    def Skeleton "Skeleton" (prepend apiSchemas = ["SkelBindingAPI"])
    {
        uniform token[] joints = %s
        uniform matrix4d[] restTransforms = %s
        rel skel:animationSource = </Root/Walk>
    }
    def SkelAnimation "Walk"
    {
        uniform token[] joints = ["a"]
        quatf[] rotations = [(1, 0, 0, 0)]
        half3[] scales = [(1, 1, 1)]
        float3[] translations.timeSamples = { %s }
    }
}
"""
ONE = "[((1,0,0,0),(0,1,0,0),(0,0,1,0),(0,1,0,1))]"


def refused(tmp_path, match, about="", root="", joints='["a"]', rest=ONE, samples="0: [(0,0,0)]"):
    (tmp_path / "a.usda").write_text(LITTLE % (about, root, joints, rest, samples))
    with pytest.raises(FormatError, match=match):
        ps.load(tmp_path / "a.usda")


def test_no_other_file_is_opened(tmp_path):
    ps.save(ps.samples.walk(duration=0.1), tmp_path / "other.usda")
    refused(tmp_path, "needs 1 other files", about="subLayers = [@./other.usda@]")
    refused(tmp_path, "needs 1 other files", root="(references = @./other.usda@)")
    refused(tmp_path, "needs 1 other files", root="(payload = @/etc/passwd@)")
    refused(tmp_path, "clips in other files", root="(clips = { dictionary a = { asset[] assetPaths = [@x.usda@] } })")


def test_what_cannot_be_is_refused(tmp_path):
    refused(tmp_path, "neither rest nor bind", rest="[]")
    refused(tmp_path, "frames of 1 joints|too many", samples="0: [(0,0,0)], 1e12: [(0,0,0)], 0.37: [(0,0,0)]")
    refused(tmp_path, "holds no skeleton", joints="[]")
    refused(tmp_path, "beyond all numbers|not finite|positions", samples="0: [(0,0,0)], 1: [(inf,0,0)]")
    (tmp_path / "a.usdc").write_bytes(b"PXR-USDC" + bytes(200))
    with pytest.raises(FormatError, match=r"a\.usdc"):
        ps.load(tmp_path / "a.usdc")


def test_broken_files_are_read_or_refused_and_end_nothing(tmp_path):
    data = (DATA / "blender_plain.usdc").read_bytes()
    rng = np.random.default_rng(0)
    ended = set()
    for case in range(12):
        broken = bytearray(data)
        for _ in range(4):
            broken[int(rng.integers(len(data)))] = int(rng.integers(256))
        if case % 3 == 0:
            del broken[int(rng.integers(len(data))) :]
        (tmp_path / "a.usdc").write_bytes(broken)
        try:
            assert ps.load(tmp_path / "a.usdc").pose.is_finite()
            ended.add("read")
        except FormatError as error:
            assert "a.usdc" in str(error)
            ended.add("refused")
    assert "refused" in ended
