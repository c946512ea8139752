"""What is said of files whose unit, or whose upper axis, is hardly right."""

from pathlib import Path

import numpy as np
import pytest

import posable as ps
from posable.compute import PosableError
from posable.reconstruct import load_points


@pytest.fixture(scope="module")
def walk() -> ps.Motion:
    return ps.samples.walk(duration=0.3)


def scaled(motion: ps.Motion, factor: float) -> ps.Motion:
    skeleton = motion.skeleton
    larger = skeleton.replace(offsets=factor * skeleton.offsets, end_offsets=factor * skeleton.end_offsets)
    pose = motion.pose.replace(translation=factor * motion.pose.translation)
    return motion.replace(skeleton=larger, pose=pose)


def positions(motion: ps.Motion) -> np.ndarray:
    return motion.skeleton.forward(motion.pose).positions


@pytest.mark.parametrize("suffix", [".bvh", ".glb", ".npz"])
@pytest.mark.parametrize(
    ("factor", "says"),
    [
        (100.0, "0.01 (centimetres)"),
        (1000.0, "0.001 (millimetres)"),
        (1 / 0.0254, "0.0254 (inches)"),
        (1 / 0.3048, "0.3048 (feet)"),
        (12.0, "0.08"),
        (0.1, "9."),
    ],
)
def test_a_giant_and_a_dwarf_are_noted_with_the_scale_that_makes_a_person(walk, tmp_path: Path, suffix, factor, says):
    path = tmp_path / f"a{suffix}"
    ps.save(scaled(walk, factor), path)
    (note,) = (note for note in ps.load(path).notes if "joints span" in note)
    assert says in note and ("giant" in note) == (factor > 1.0)
    if suffix != ".npz":  # which is in metres and takes no scale
        meant = float(note.split("scale=")[1].split()[0])
        mended = ps.load(path, scale=meant)
        assert not any("joints span" in note for note in mended.notes)
        assert 0.9 < np.ptp(positions(mended)[0], axis=0).max() < 2.5
    again = tmp_path / "again.npz"
    ps.save(ps.load(path), again)
    assert sum("joints span" in note for note in ps.load(again).notes) == 1


@pytest.mark.parametrize("suffix", [".bvh", ".glb"])
def test_the_likely_scale_is_of_the_file_whatever_scale_was_given(walk, tmp_path: Path, suffix):
    path = tmp_path / f"a{suffix}"
    ps.save(scaled(walk, 100.0), path)
    for given in (0.1, 10.0, 0.0001):
        (note,) = (note for note in ps.load(path, scale=given).notes if "joints span" in note)
        assert "scale=0.01 (centimetres)" in note and f"taken for {given:g} m" in note


@pytest.mark.parametrize("suffix", [".bvh", ".glb", ".npz"])
def test_people_and_what_is_no_person_are_not_doubted(walk, tmp_path: Path, data_dir: Path, suffix):
    for height in (0.9, 2.1):
        ps.save(ps.samples.walk(ps.figure(height=height), duration=0.1), tmp_path / f"a{suffix}")
        assert ps.load(tmp_path / f"a{suffix}").notes == ()
    assert ps.load(data_dir / "characters" / "SimpleSkin.gltf").notes == ()


def with_z_up(motion: ps.Motion, path: Path) -> None:
    """Write a BVH file of the same motion in a world with Z up; who faces +Z here faces -y there."""
    lines = []
    ps.save(motion, path)
    for line in path.read_text().splitlines():
        words = line.split()
        if words and words[0] == "OFFSET":
            x, y, z = map(float, words[1:])
            line = f"OFFSET {x!r} {-z!r} {y!r}"
        line = line.replace("Xposition Yposition Zposition", "Xposition Zposition Yposition")
        line = line.replace("Zrotation Yrotation Xrotation", "Yrotation Zrotation Xrotation")
        lines.append(line)
    at = next(k for k, line in enumerate(lines) if line.startswith("Frame Time"))
    for k in range(at + 1, len(lines)):
        numbers = list(map(float, lines[k].split()))
        numbers[2] = -numbers[2]  # written last of the position: our z is their -y
        for r in range(3, len(numbers), 3):
            numbers[r] = -numbers[r]  # and so is a turn about it
        lines[k] = " ".join(map(repr, numbers))
    path.write_text("\n".join(lines))


def test_a_file_with_z_up_is_noted_and_can_be_turned(walk, tmp_path: Path):
    path = tmp_path / "a.bvh"
    with_z_up(walk, path)
    lying = ps.load(path)
    assert any("up='z' turns it" in note for note in lying.notes)
    spread = np.ptp(positions(lying)[0], axis=0)
    assert spread[2] > 1.2 > spread[1]
    turned = ps.load(path, up="z")
    assert not any("up=" in note for note in turned.notes)
    np.testing.assert_allclose(positions(turned), positions(walk), atol=1e-6)
    with pytest.raises(PosableError, match="up axis 'x'"):
        ps.load(path, up="x")


def test_who_lies_down_is_not_turned(tmp_path: Path, walk):
    lying = walk.pose.rotations.copy()
    lying[:, 0] = np.array([np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)])  # on the side, along x
    ps.save(walk.replace(pose=walk.pose.replace(rotations=lying)), tmp_path / "a.bvh")
    assert ps.load(tmp_path / "a.bvh").notes == ()


@pytest.mark.parametrize(("units", "factor"), [("cm", 100.0), ("mm", 1000.0), ("ft", 1 / 0.3048)])
def test_points_in_another_unit_are_noted_or_refused_with_it(walk, tmp_path: Path, units, factor):
    points = ps.Humanoid(walk.skeleton).markers(walk.pose) * factor
    head = ",".join(f"{name}_{axis}" for name in ps.MARKERS for axis in "xyz")
    rows = [",".join(map(repr, row.ravel().tolist())) for row in points]
    (tmp_path / "a.csv").write_text("\n".join([head, *rows]))
    found = load_points(tmp_path / "a.csv", fps=60)
    assert f"units={units!r}" in found.notes[0]
    if factor > 10:
        with pytest.raises(PosableError, match=f"units={units!r} would make it 1.7"):
            ps.reconstruct(found)
    assert load_points(tmp_path / "a.csv", fps=60, units=units).notes == ()
    # In centimetres the numbers of millimetres are still a giant, and what is said is of the file.
    if units == "mm":
        assert "units='mm'" in load_points(tmp_path / "a.csv", fps=60, units="cm").notes[0]


def test_points_with_z_up_are_noted(walk, tmp_path: Path):
    x, y, z = np.moveaxis(ps.Humanoid(walk.skeleton).markers(walk.pose), -1, 0)
    head = ",".join(f"{name}_{axis}" for name in ps.MARKERS for axis in "xyz")
    rows = [",".join(map(repr, row.ravel().tolist())) for row in np.stack([x, -z, y], axis=-1)]
    (tmp_path / "a.csv").write_text("\n".join([head, *rows]))
    assert "up='z'" in load_points(tmp_path / "a.csv", fps=60).notes[0]
    assert load_points(tmp_path / "a.csv", fps=60, up="z").notes == ()
