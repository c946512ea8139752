"""Long motions are retargeted in windows: as in one piece, and without a seam."""

from itertools import pairwise

import numpy as np
import pytest

import posable as ps
from posable.edit import windows
from posable.edit.contacts import Contact


@pytest.fixture
def short_windows(monkeypatch):
    monkeypatch.setattr(windows, "WHOLE", 700)
    monkeypatch.setattr(windows, "LENGTH", 400)


def boxer(fps=60.0, seconds=20.0):
    once = ps.samples.boxing(fps=fps)
    return once.replace(pose=once.pose[np.arange(round(seconds * fps)) % len(once)])


def test_windows_give_what_the_whole_gives_and_nothing_leaps_where_they_meet(short_windows, monkeypatch):
    motion, target = boxer(), ps.figure(1.5)
    source = ps.Humanoid(motion.skeleton)
    cut = ps.retarget(motion, source, target)
    monkeypatch.setattr(windows, "WHOLE", 10_000)
    whole = ps.retarget(motion, source, target)
    assert [c for c in cut.contacts if c.on == "ground"] == [c for c in whole.contacts if c.on == "ground"]
    placed = [target.skeleton.forward(one.motion.pose).positions for one in (whole, cut)]
    assert np.linalg.norm(placed[0] - placed[1], axis=-1).max() < 0.005
    steps = [np.linalg.norm(np.diff(one, 2, axis=0), axis=-1).max(axis=1) for one in placed]
    assert (steps[1] <= 1.1 * steps[0].max()).all()
    assert cut.dropped == whole.dropped and cut.added == whole.added
    assert cut.slid.max() < 0.005 and np.abs(cut.part_errors - whole.part_errors).max() < 0.005


@pytest.mark.parametrize(
    ("count", "fps"), [(0, 60.0), (700, 60.0), (701, 60.0), (5000, 120.0), (1234, 0.1), (999, 1e5)]
)
def test_every_frame_is_one_windows_own(short_windows, count, fps):
    made = windows.windows_of(count, fps)
    owned = np.concatenate([np.arange(one.begin, one.end) for one in made])
    assert (owned == np.arange(count)).all() and len(made) == (1 if count <= 700 else -(-count // 400))
    for one in made:
        assert 0 <= one.first <= one.begin - one.blended <= one.begin <= one.end <= one.last <= count
    for one, other in pairwise(made):
        assert other.begin + other.blended <= one.last, "what is blended is known to both"


def test_values_of_windows_are_blended_from_one_to_the_next(short_windows):
    whole = np.full((1200, 2), np.nan)
    for k, one in enumerate(windows.windows_of(1200, 60.0)):
        one.put(np.full((one.last - one.first, 2), float(k)), whole)
    assert np.isfinite(whole).all() and (np.diff(whole, axis=0) >= 0.0).all()
    assert whole[0, 0] == 0.0 and whole[400, 0] == pytest.approx(0.5, abs=0.03) and whole[-1, 0] == 2.0
    assert np.diff(whole[:, 0]).max() < 0.03


def test_a_contact_over_several_windows_is_one(short_windows):
    contact, brief = Contact("left_hand", "hips", 100, 1100), Contact("right_hand", "hips", 390, 405)
    found = [one.own_contacts(one.contacts([contact, brief])) for one in windows.windows_of(1200, 60.0)]
    assert windows.joined_contacts(found) == [contact, brief]
