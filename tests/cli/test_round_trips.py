"""Every kind of file that is read, converted to every kind that is written and back, by the command line."""

from pathlib import Path

import numpy as np
import pytest

import posable as ps

from ..formats.test_c3d import labelled, plain
from ..formats.test_fbx import DATA as FBX_FILES

WRITTEN = ("bvh", "glb", "gltf", "npz", "usda")
PEOPLE = ("amass.npz", "vrma")
"""Formats of their own joints: a person's posture goes into them."""
REAL = ("cmu/17_10.bvh", "characters/KayKit_Knight.glb", "characters/Fox.glb", "robots/nao_v50.urdf")


def made(kind: str, folder: Path) -> Path:
    """A file of a kind of which there is no real one at hand."""
    walk, path = ps.samples.walk(duration=0.5), folder / f"made.{kind}"
    if kind == "c3d":
        places = np.stack(list(labelled(walk).values()), axis=1)
        turned = 1000.0 * np.stack([places[..., 0], -places[..., 2], places[..., 1]], axis=-1)
        path.write_bytes(plain(turned, labels=list(labelled(walk)), rate=walk.fps))
    else:
        ps.save(walk, path)
    return path


@pytest.fixture(params=["fbx", "c3d", "vrma", "npz", *REAL])
def source(request, tmp_path, data_dir) -> Path:
    if request.param == "fbx":
        return FBX_FILES / "blender_default.fbx"
    return made(request.param, tmp_path) if "/" not in request.param else data_dir / request.param


def positions(motion: ps.Motion, names: list[str]) -> np.ndarray:
    frames = np.unique(np.linspace(0, len(motion) - 1, 20).astype(int))
    placed = motion.skeleton.forward(motion.pose[frames]).positions
    return placed[:, [motion.skeleton.index(name) for name in names]]


@pytest.mark.parametrize("kind", WRITTEN)
def test_joints_are_where_they_were_in_every_frame_when_a_file_comes_back(source, kind, posable, tmp_path):
    if kind == "usda":
        pytest.importorskip("pxr")
    there, back = tmp_path / f"there.{kind}", tmp_path / "back.npz"
    for one, other in ((source, there), (there, back)):
        code, _, said = posable("convert", one, other)
        assert code == 0, said
    before, after = ps.load(source), ps.load(back)
    assert len(after) == len(before) and after.fps == pytest.approx(before.fps, rel=1e-6)
    names = list(before.skeleton.names)
    written = names if kind != "usda" else ["".join(c if c.isalnum() else "_" for c in name) for name in names]
    assert sorted(after.skeleton.names) == sorted(written)
    assert np.abs(positions(before, names) - positions(after, written)).max() < 1e-5


@pytest.mark.parametrize("kind", PEOPLE)
def test_files_of_people_take_people_and_say_so_of_others(source, kind, posable, tmp_path):
    there = tmp_path / f"there.{kind}"
    layout = ("--layout", "amass") if kind.startswith("amass") else ()
    code, _, said = posable("convert", source, there, *layout)
    if source.stem in ("Fox", "nao_v50"):
        told = [line for line in said.splitlines() if not line.startswith("note:")]
        assert code == 1 and len(told) == 1 and "holds the motion of a person" in told[0] and not there.exists()
        return
    assert code == 0, said
    before, after = ps.load(source), ps.load(there)
    assert len(after) == len(before) and after.fps == pytest.approx(before.fps, rel=1e-5)
    for limb in ("left_arm", "right_arm", "left_leg", "right_leg"):
        one, other = (directions(motion, limb) for motion in (before, after))
        assert (one * other).sum(axis=-1).min() > np.cos(np.radians(1.0)), limb


def directions(motion: ps.Motion, limb: str) -> np.ndarray:
    """Of the two bones of a limb, in the world, as canonical ones: (F, 2, 3)."""
    body = ps.Humanoid(motion.skeleton)
    frames = body.skeleton.forward(motion.pose)
    parts = [limb.replace("_", f"_{part}_") for part in ("upper", "lower")]
    down = [body.canonical_orientation(frames, body.roles[part]) for part in parts]
    return ps.math.rotate(np.stack(down, axis=1), [0.0, -1.0, 0.0])
