"""Files of limb ranges: small, exact enough, and hostile ones refused (specification limb-range, M8)."""

import io
import json
import zipfile

import numpy as np
import pytest

import posable as ps
from posable.limb.range.file import quantise

from .range_cases import LOWER, UPPER, anywhere, cone


@pytest.fixture(scope="module")
def found() -> ps.LimbRange:
    return ps.LimbRange.from_examples("left_arm", *cone(0, 20_000, 75.0), UPPER, LOWER, source="cone", trim=0.0)


@pytest.mark.parametrize("kind", ["table", "harmonics"])
def test_a_file_is_small_and_gives_back_the_same_file(found, tmp_path, kind):
    made = found if kind == "table" else found.compact(4)
    first, second = tmp_path / "first.npz", tmp_path / "second.npz"
    made.save(first)
    back = ps.LimbRange.load(first)
    back.save(second)
    assert first.read_bytes() == second.read_bytes()
    assert first.stat().st_size < (8000 if kind == "table" else 1700)
    assert back.name == "left_arm" and back.report == made.report
    assert back.settings == made.settings and (back.upper, back.lower) == (made.upper, made.lower)
    if kind == "harmonics":
        np.testing.assert_array_equal(back.table.low, made.table.low)


@pytest.mark.parametrize("name", ["right_arm", "right_leg"])
def test_built_in_ranges_are_small_and_say_where_they_come_from(name):
    from importlib import resources

    path = resources.files("posable") / "assets" / "ranges" / f"{name.split('_')[1]}.npz"
    assert len(path.read_bytes()) < 8000
    found = ps.LimbRange.builtin(name)
    assert found.report.origin["script"] == "tools/fit_ranges.py"
    assert len(found.report.origin["sha256"]) == 64 and found.report.origin["seed"] == "0"
    assert sum(count for _, count in found.report.sources) == found.report.examples + found.report.dropped
    assert len(found.report.sources) == 78


def test_quantised_answers_agree_and_reject_nothing_more(found, tmp_path):
    """M8, with outward rounding."""
    found.save(tmp_path / "range.npz")
    back = ps.LimbRange.load(tmp_path / "range.npz")
    position, swivel = anywhere(1, 50_000)
    fine, coarse = found.contains(position, swivel), back.contains(position, swivel)
    assert (fine == coarse).mean() > 0.99
    assert coarse[fine].mean() > 0.9999
    examples = cone(0, 20_000, 75.0)
    assert (found.contains(*examples) == back.contains(*examples)).mean() > 0.99
    np.testing.assert_array_equal(quantise(back.table), quantise(found.table))


def test_many_sources_are_counted_together(tmp_path):
    position, swivel = cone(2, 3000, 60.0)
    names = [f"a rather long name of a motion, number {i % 500}" for i in range(3000)]
    made = ps.LimbRange.from_examples("right_arm", position, swivel, UPPER, LOWER, source=names)
    assert len(made.report.sources) == 500
    made.save(tmp_path / "range.npz")
    back = ps.LimbRange.load(tmp_path / "range.npz")
    assert sum(count for _, count in back.report.sources) == 3000
    assert back.report.sources[-1][0].endswith("more")
    assert (tmp_path / "range.npz").stat().st_size < 8000


# Hostile files


def members(path) -> dict[str, np.ndarray]:
    with np.load(path) as archive:
        return {name: archive[name] for name in archive.files}


def header_with(path, **changes) -> np.ndarray:
    content = json.loads(members(path)["header"].tobytes())
    content |= changes
    return np.frombuffer(json.dumps(content).encode(), np.uint8)


WRONG = {
    "a missing member": lambda m, p: m.pop("rows"),
    "an unknown member": lambda m, p: m.update(extra=np.zeros(3)),
    "another format": lambda m, p: m.update(header=header_with(p, format="posable-motion")),
    "a later version": lambda m, p: m.update(header=header_with(p, version=2)),
    "an unknown limb": lambda m, p: m.update(header=header_with(p, limb="tail")),
    "no samples": lambda m, p: m.update(header=header_with(p, samples=0)),
    "too many samples": lambda m, p: m.update(header=header_with(p, samples=10**9)),
    "other samples": lambda m, p: m.update(header=header_with(p, samples=1001)),
    "negative bones": lambda m, p: m.update(header=header_with(p, upper=-1.0)),
    "a short pole": lambda m, p: m.update(header=header_with(p, pole=[1.0])),
    "another reference": lambda m, p: m.update(header=header_with(p, pole=[1.0, 0.0, 0.0])),
    "an unknown field": lambda m, p: m.update(header=header_with(p, more=1)),
    "text instead of a number": lambda m, p: m.update(header=header_with(p, trim="0")),
    "no JSON": lambda m, p: m.update(header=np.frombuffer(b"{" * 900, np.uint8)),
    "deep JSON": lambda m, p: m.update(header=np.frombuffer(b"[" * 100_000, np.uint8)),
    "nothing kept": lambda m, p: m.update(kept=m["kept"] * 0, rows=m["rows"][:0], filled=m["filled"] * 0),
    "too few rows": lambda m, p: m.update(rows=m["rows"][:-1]),
    "rows of floats": lambda m, p: m.update(rows=m["rows"].astype(float)),
    "rows turned over": lambda m, p: m.update(rows=np.asfortranarray(m["rows"])),
    "least above largest": lambda m, p: m.update(rows=m["rows"][:, [1, 0, 2, 3]]),
    "filled but not kept": lambda m, p: m.update(filled=m["filled"] | 255),
    "a pickle": lambda m, p: m.update(rows=np.array([{"a": 1}], dtype=object)),
    "harmonics without any": lambda m, p: m.update(header=header_with(p, kind="harmonics")),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_file_that_is_not_ours_is_refused_by_name(found, tmp_path, wrong):
    good, bad = tmp_path / "good.npz", tmp_path / "bad.npz"
    found.save(good)
    content = members(good)
    WRONG[wrong](content, good)
    np.savez(bad, **content)
    with pytest.raises(ps.FormatError, match=r"bad\.npz"):
        ps.LimbRange.load(bad)


def test_harmonics_that_are_no_numbers_are_refused(found, tmp_path):
    good, bad = tmp_path / "good.npz", tmp_path / "bad.npz"
    found.compact(4).save(good)
    for change in (np.full((6, 25), np.nan, "<f4"), np.zeros((5, 25), "<f4"), np.zeros((6, 24), "<f4")):
        np.savez(bad, **{**members(good), "coefficients": change})
        with pytest.raises(ps.FormatError, match="coefficients"):
            ps.LimbRange.load(bad)
    nowhere = np.zeros((6, 25), "<f4")
    nowhere[0, 0] = -1.0
    np.savez(bad, **{**members(good), "coefficients": nowhere})
    with pytest.raises(ps.FormatError, match=r"bad\.npz"):
        ps.LimbRange.load(bad)


def test_damaged_files_never_do_anything_but_refuse(found, tmp_path):
    good, bad = tmp_path / "good.npz", tmp_path / "bad.npz"
    found.save(good)
    data = good.read_bytes()
    rng = np.random.default_rng(3)
    for case in range(300):
        broken = bytearray(data)
        if case % 3 == 0:
            broken = broken[: rng.integers(0, len(data))]
        else:
            for at in rng.integers(0, len(data), 1 + case % 7):
                broken[at] = rng.integers(0, 256)
        bad.write_bytes(bytes(broken))
        try:
            back = ps.LimbRange.load(bad)
        except ps.FormatError:
            continue
        assert np.isfinite(back.correct([0.1, 0.2, 0.3], 0.0).position).all()


def test_compressed_and_giant_members_are_refused(found, tmp_path):
    good, bad = tmp_path / "good.npz", tmp_path / "bad.npz"
    found.save(good)
    np.savez_compressed(bad, **members(good))
    with pytest.raises(ps.FormatError, match="compressed"):
        ps.LimbRange.load(bad)
    with zipfile.ZipFile(bad, "w") as archive:
        data = io.BytesIO()
        np.lib.format.write_array_header_1_0(data, {"descr": "|u1", "fortran_order": False, "shape": (10**12,)})
        archive.writestr("header.npy", data.getvalue())
    with pytest.raises(ps.FormatError, match="bytes"):
        ps.LimbRange.load(bad)
    bad.write_bytes(b"0" * 2_000_000)
    with pytest.raises(ps.FormatError, match="2000000 bytes"):
        ps.LimbRange.load(bad)
    with pytest.raises(ps.FormatError, match="no such file"):
        ps.LimbRange.load(tmp_path / "nowhere.npz")
