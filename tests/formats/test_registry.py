import inspect
import os
import pathlib
import subprocess
import sys

import pytest

import posable as ps
from posable import formats
from posable.compute import FormatError, PosableError, files

from .example_motions import LITTLE_BVH, random_motion


@pytest.fixture
def clip(tmp_path):
    path = tmp_path / "little.bvh"
    path.write_text(LITTLE_BVH)
    return path


def test_an_unknown_suffix_lists_the_known_ones(tmp_path):
    for name in ("dance.xyz", "dance"):
        with pytest.raises(FormatError) as caught:
            ps.load(tmp_path / name)
        assert all(suffix in str(caught.value) for suffix in formats.suffixes())
        with pytest.raises(FormatError, match=r"\.bvh"):
            ps.save(random_motion(1), tmp_path / name)


def test_a_missing_file_is_said_to_be_missing_and_its_neighbours_are_shown(clip):
    with pytest.raises(FormatError, match=r"no such file; the folder has little\.bvh"):
        ps.load(clip.with_name("big.bvh"))
    with pytest.raises(FormatError, match="no such file"):
        ps.load(clip.parent / "nowhere" / "big.bvh")


def test_a_folder_is_not_a_file(tmp_path):
    (tmp_path / "a.bvh").mkdir()
    with pytest.raises(FormatError, match="is a folder"):
        ps.load(tmp_path / "a.bvh")
    with pytest.raises(PosableError, match="folder"):
        ps.save(random_motion(1), tmp_path / "a.bvh")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names on this system")
def test_a_pipe_is_refused_instead_of_waited_for(tmp_path):
    os.mkfifo(tmp_path / "a.bvh")
    with pytest.raises(FormatError, match="not a regular file"):
        ps.load(tmp_path / "a.bvh")


def test_a_disk_that_fails_while_reading_gives_our_error(clip, monkeypatch):
    def failing(name, flags):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(files, "_open_at_once", failing)
    with pytest.raises(FormatError, match="cannot be read: Input/output error"):
        ps.load(clip)


def test_the_suffix_may_be_in_capitals(clip):
    loud = clip.rename(clip.with_name("LITTLE.BVH"))
    assert len(ps.load(loud)) == 2


def test_what_is_only_read_cannot_be_written(tmp_path):
    with pytest.raises(PosableError, match=r"read only; write one of .*\.bvh"):
        ps.save(random_motion(1), tmp_path / "a.amc")
    assert ".amc" in formats.suffixes()
    assert ".amc" not in formats.suffixes(written=True)


def test_options_of_another_format_are_refused_by_name(clip, tmp_path):
    with pytest.raises(PosableError, match="asf='x' is not for loading BVH files; they take: repair, scale"):
        ps.load(clip, asf="x")
    ps.save(random_motion(1), tmp_path / "a.npz")
    with pytest.raises(PosableError, match="scale"):
        ps.load(tmp_path / "a.npz", scale=2.0)
    with pytest.raises(PosableError, match="character='x' is not for saving BVH files; they take: order, scale"):
        ps.save(random_motion(1), tmp_path / "a.bvh", character="x")


def test_a_mistyped_option_is_answered_with_the_nearest_one(clip, tmp_path):
    with pytest.raises(PosableError, match=r"unknown option 'sacle'; did you mean 'scale'\?"):
        ps.load(clip, sacle=0.01)
    with pytest.raises(TypeError, match="did you mean 'order'"):
        ps.save(random_motion(1), tmp_path / "a.bvh", ordre="XYZ")


def test_every_option_of_a_format_is_a_named_parameter():
    for call, options in ((ps.load, "load_options"), (ps.save, "save_options")):
        named = set(inspect.signature(call).parameters) - {"path", "motion", "fps", "first_frame"}
        assert named == set().union(*(getattr(kind, options) for kind in formats.FORMATS))
        assert all(f"\n        {name}: " in call.__doc__ for name in named)


@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), "fast"])
@pytest.mark.parametrize("name", ["fps", "scale"])
def test_impossible_rates_and_scales_are_refused(clip, name, value):
    with pytest.raises(PosableError, match=f"{name}="):
        ps.load(clip, **{name: value})


def test_fps_and_first_frame_mean_the_same_for_every_format(clip, tmp_path):
    whole = ps.load(clip)
    ps.save(whole, tmp_path / "little.npz")
    for path in (clip, tmp_path / "little.npz"):
        motion = ps.load(path, fps=50, first_frame=1)
        assert (motion.fps, len(motion)) == (50.0, 1)
        assert (motion.pose.rotations == whole.pose.rotations[1:]).all()
        for frame in (2, 3, -1, 0.5, 10**30):
            with pytest.raises(PosableError, match=f"first_frame={frame}: the file has 2 frames"):
                ps.load(path, first_frame=frame)


def test_a_format_is_imported_only_when_its_suffix_is_used(clip):
    code = f"""
import sys, posable.formats
def loaded():
    return {{name for name in sys.modules if name.startswith("posable.formats.")}}
assert not loaded(), loaded()
posable.formats.load({str(clip)!r})
assert "posable.formats.bvh" in loaded()
assert not any(other in name for name in loaded() for other in ("gltf", "npz", "asf", "urdf")), loaded()
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("suffix", [".bvh", ".npz"])
def test_a_failed_save_leaves_the_old_file_as_it_was(tmp_path, suffix, monkeypatch):
    path = tmp_path / f"keep{suffix}"
    ps.save(random_motion(1), path)
    before = path.read_bytes()
    motion = random_motion(2)
    motion.pose.translation[3, 1] = float("nan")
    with pytest.raises(PosableError, match="not finite"):
        ps.save(motion, path)

    def full_disk(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pathlib.Path, "replace", full_disk)
    with pytest.raises(PosableError, match=r"cannot write .*No space left"):
        ps.save(random_motion(3), path)
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
